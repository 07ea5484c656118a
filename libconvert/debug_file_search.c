#include "debug_file_search.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char system_folder[] = "/usr/lib/debug";

struct search {
    struct debug_files *files;
    const struct debug_folders *folders;
    const struct lib *lib;
    struct failure *failure;
    char first_path[PATH_MAX]; /* where files->first is; empty: not found yet */
    char second_path[PATH_MAX];
    bool has_refused;
};

/* ---- Taking a file. ---- */

/* The build id that a file must have; empty when any will do. */
static struct text expected_id(const struct search *search) {
    return search->lib->code_id.bytes_count ? search->lib->code_id : text_of(search->files->first.build_id);
}

static bool is_found(const struct search *search) { return search->files->first.elf; }

static bool says_more(const struct debug_file *file, const struct debug_file *than) {
    if (file->has_dwarf != than->has_dwarf) return file->has_dwarf;
    return file->has_symbol_table && !than->has_symbol_table && !than->has_dwarf;
}

/* The richest file so far. */
static const struct debug_file *best(const struct debug_files *files) {
    return files->second.elf ? &files->second : &files->first;
}

/* True when nothing better can be found. */
static bool is_done(const struct search *search) { return is_found(search) && best(search->files)->has_dwarf; }

/* Takes the open file as one of the library's, or closes it. */
static void keep(struct search *search, struct debug_file *file, const char *path) {
    struct debug_files *files = search->files;
    if (!is_found(search)) {
        files->first = *file;
        files->is_verified = search->lib->code_id.bytes_count > 0;
        snprintf(search->first_path, sizeof search->first_path, "%s", path);
    } else if (says_more(file, best(files))) {
        if (files->second.elf) debug_file_close(&files->second);
        files->second = *file;
        snprintf(search->second_path, sizeof search->second_path, "%s", path);
    } else {
        debug_file_close(file);
    }
}

/* `checksum`: that of the file, where a link tells it; NULL: none. */
static void try_path(struct search *search, const char *path, const uint32_t *checksum) {
    if (is_done(search) || failure_is_set(search->failure)) return;
    struct debug_file file;
    errno = 0;
    bool is_open = debug_file_open(&file, path);
    if (errno == ENOMEM) failure_set_memory(search->failure);
    if (!is_open) return;
    struct text expected = expected_id(search), id = text_of(file.build_id);
    bool is_right;
    if (expected.bytes_count && (id.bytes_count || !checksum))
        is_right = text_equal(id, expected);
    else if (checksum)
        is_right = debug_file_has_checksum(&file, *checksum);
    else
        is_right = !is_found(search);
    if (is_right) {
        keep(search, &file, path);
        return;
    }
    search->has_refused = true;
    debug_file_close(&file);
}

/* ---- Places. ---- */

/* False when the path would be too long. */
static bool make_path(char path[PATH_MAX], const char *format, va_list arguments) {
    int bytes_count = vsnprintf(path, PATH_MAX, format, arguments);
    return bytes_count > 0 && bytes_count < PATH_MAX;
}

/* Tries the path that the format and its texts make. */
static void try_place(struct search *search, const uint32_t *checksum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void try_place(struct search *search, const uint32_t *checksum, const char *format, ...) {
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    bool is_path = make_path(path, format, arguments);
    va_end(arguments);
    if (is_path) try_path(search, path, checksum);
}

#define WIDTH(text) (int)(text).bytes_count, (text).bytes

static void try_build_id(struct search *search, const char *folder) {
    struct text id = expected_id(search);
    if (id.bytes_count <= 2) return;
    try_place(search, NULL, "%s/.build-id/%.2s/%.*s.debug", folder, id.bytes, WIDTH(text_from(id, 2)));
}

/* A trace is not to lead out of the folder. */
static bool leads_up(struct text path) {
    while (path.bytes_count) {
        size_t slash = text_find(path, '/');
        if (text_equal(text_slice(path, 0, slash), TEXT(".."))) return true;
        path = text_from(path, slash + 1);
    }
    return false;
}

static void try_folder(struct search *search, const char *folder) {
    struct text path = search->lib->path, name = search->lib->name;
    try_build_id(search, folder);
    if (leads_up(path)) return;
    try_place(search, NULL, "%s/%.*s", folder, WIDTH(path));
    try_place(search, NULL, "%s/%.*s.debug", folder, WIDTH(path));
    try_place(search, NULL, "%s/%.*s", folder, WIDTH(name));
    try_place(search, NULL, "%s/%.*s.debug", folder, WIDTH(name));
}

static void follow_link(struct search *search) {
    struct text link;
    uint32_t checksum;
    if (!is_found(search) || !debug_file_link(&search->files->first, &link, &checksum)) return;
    struct text place = text_of(search->first_path), home = search->lib->path;
    struct text beside = text_slice(place, 0, text_find_last(place, '/'));
    home = text_slice(home, 0, text_find_last(home, '/'));
    try_place(search, &checksum, "%.*s/%.*s", WIDTH(beside), WIDTH(link));
    try_place(search, &checksum, "%.*s/.debug/%.*s", WIDTH(beside), WIDTH(link));
    for (size_t i = 0; i < search->folders->count; i++) {
        const char *folder = search->folders->paths[i];
        try_place(search, &checksum, "%s/%.*s", folder, WIDTH(link));
        if (!leads_up(home)) try_place(search, &checksum, "%s/%.*s/%.*s", folder, WIDTH(home), WIDTH(link));
    }
    if (!leads_up(home)) try_place(search, &checksum, "%s/%.*s/%.*s", system_folder, WIDTH(home), WIDTH(link));
}

/* ---- The supplement. ---- */

/* Only the right one will do: its text is found by offset. */
static void try_supplement(struct search *search, const char *build_id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void try_supplement(struct search *search, const char *build_id, const char *format, ...) {
    struct debug_files *files = search->files;
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    bool is_path = make_path(path, format, arguments);
    va_end(arguments);
    if (files->supplement.elf || !is_path) return;
    errno = 0;
    bool is_open = debug_file_open_supplement(&files->supplement, path);
    if (errno == ENOMEM) failure_set_memory(search->failure);
    bool is_right = is_open && files->supplement.has_dwarf && strcmp(files->supplement.build_id, build_id) == 0;
    if (is_open && !is_right) debug_file_close(&files->supplement);
}

static void find_supplement(struct search *search) {
    struct debug_files *files = search->files;
    const struct debug_file *dwarf = is_found(search) ? debug_files_dwarf(files) : NULL;
    struct text link;
    char id[DEBUG_BUILD_ID_DIGITS_MAX + 1], place[PATH_MAX];
    if (!dwarf || !debug_file_supplement_link(dwarf, &link, id)) return;
    const char *path = dwarf == &files->second ? search->second_path : search->first_path;
    if (text_starts_with(link, TEXT("/"))) {
        try_supplement(search, id, "%.*s", WIDTH(link));
    } else if (realpath(path, place)) { /* a file that is found by its build id may be a symbolic link */
        int folder_bytes = (int)text_find_last(text_of(place), '/');
        try_supplement(search, id, "%.*s/%.*s", folder_bytes, place, WIDTH(link));
    }
    for (size_t i = 0; i < search->folders->count; i++)
        try_supplement(search, id, "%s/.build-id/%.2s/%s.debug", search->folders->paths[i], id, id + 2);
    try_supplement(search, id, "%s/.build-id/%.2s/%s.debug", system_folder, id, id + 2);
    files->lacks_supplement = !files->supplement.elf;
}

enum debug_search_outcome debug_files_open(struct debug_files *files, const struct lib *lib,
                                           const struct debug_folders *folders, struct failure *failure) {
    *files = (struct debug_files){.first.descriptor = -1, .second.descriptor = -1, .supplement.descriptor = -1};
    struct search search = {.files = files, .lib = lib, .folders = folders, .failure = failure};
    struct text path = lib->path;
    bool has_zero = text_find(path, '\0') < path.bytes_count;
    if (!path.bytes_count || has_zero || text_starts_with(lib->name, TEXT("["))) return DEBUG_FILE_MISSING;
    if (text_starts_with(path, TEXT("/"))) try_place(&search, NULL, "%.*s", WIDTH(path));
    for (size_t i = 0; i < folders->count; i++) try_folder(&search, folders->paths[i]);
    try_build_id(&search, system_folder);
    follow_link(&search);
    find_supplement(&search);
    if (failure_is_set(failure)) {
        debug_files_close(files);
        return DEBUG_FILE_MISSING;
    }
    if (is_found(&search)) return DEBUG_FILE_FOUND;
    return search.has_refused ? DEBUG_FILE_REFUSED : DEBUG_FILE_MISSING;
}

void debug_files_close(struct debug_files *files) {
    debug_file_close(&files->first);
    debug_file_close(&files->second);
    debug_file_close(&files->supplement);
}

bool debug_files_are_whole(const struct debug_files *files) {
    const struct debug_file *all[] = {&files->first, &files->second, &files->supplement};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->elf && !debug_file_is_whole(all[i])) return false;
    return true;
}

const struct debug_file *debug_files_dwarf(const struct debug_files *files) {
    return best(files)->has_dwarf ? best(files) : NULL;
}

const struct debug_file *debug_files_symbols(const struct debug_files *files) {
    return best(files)->has_symbol_table ? best(files) : &files->first;
}
