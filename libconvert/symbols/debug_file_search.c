#include "debug_file_search.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kept_files.h"
#include "libconvert/base/path.h"

static const char system_folder[] = "/usr/lib/debug";

/* Where a file was found. */
struct found_place {
    const char *root; /* the path is one below this folder; NULL: of this machine */
    char path[PATH_MAX];
};

struct search {
    struct debug_files *files;
    const struct debug_folders *folders;
    const struct lib *lib;
    struct failure *failure;
    const char *root;               /* paths are tried below this folder; NULL: as they are */
    struct found_place first_place; /* where files->first was found, if that is open */
    struct found_place second_place;
    bool has_refused;
    bool is_probe; /* only finds out whether one of the paths exists */
    bool exists;
    char path[PATH_MAX]; /* see make_path */
};

/* ---- Taking a file. ---- */

/* Returns the build id that a file must have; empty if any file will do. */
static struct text expected_id(const struct search *search) {
    return search->lib->code_id.bytes_count ? search->lib->code_id : text_of(search->files->first.build_id);
}

static bool is_found(const struct search *search) { return search->files->first.elf; }

static bool is_better(const struct debug_file *file, const struct debug_file *than) {
    if (file->has_dwarf != than->has_dwarf) return file->has_dwarf;
    return file->has_symbol_table && !than->has_symbol_table && !than->has_dwarf;
}

/* Returns the file with the most symbols so far. */
static struct debug_file *best(struct debug_files *files) { return files->second.elf ? &files->second : &files->first; }

/* Returns whether nothing better can be found. */
static bool is_done(const struct search *search) { return is_found(search) && best(search->files)->has_dwarf; }

/* Keeps the open file as one of the library's, or closes it. */
static void keep(struct search *search, struct debug_file *file, const struct found_place *place) {
    struct debug_files *files = search->files;
    if (!is_found(search)) {
        files->first = *file;
        files->is_verified = search->lib->code_id.bytes_count > 0;
        search->first_place = *place;
    } else if (is_better(file, best(files))) {
        if (files->second.elf) debug_file_close(&files->second);
        files->second = *file;
        search->second_place = *place;
    } else {
        debug_file_close(file);
    }
}

/* Opens the file at the path below the search's root. */
static bool open_below_root(struct search *search, const char *path, struct debug_file *file,
                            struct found_place *place) {
    *place = (struct found_place){.root = search->root};
    errno = 0;
    return debug_file_open(file, search->root, path, place->path);
}

static bool exists(struct search *search, const char *path) {
    struct debug_file file;
    struct found_place place;
    if (!search->root) return access(path, F_OK) == 0;
    bool is_open = open_below_root(search, path, &file, &place);
    if (is_open) debug_file_close(&file);
    return is_open;
}

/* `path` may be NULL. `checksum` is the one that a link gives for the file, or NULL. */
static void try_path(struct search *search, const char *path, const uint32_t *checksum) {
    if (!path) return;
    if (search->is_probe) {
        search->exists = search->exists || exists(search, path);
        return;
    }
    if (is_done(search) || failure_is_set(search->failure)) return;
    struct debug_file file;
    struct found_place place;
    bool is_open = open_below_root(search, path, &file, &place);
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
        keep(search, &file, &place);
        return;
    }
    search->has_refused = true;
    debug_file_close(&file);
}

/* ---- Places. ---- */

/* Returns the path that the format makes, which stays until the next call; NULL if it would be too long. */
static const char *make_path(struct search *search, const char *format, ...) __attribute__((format(printf, 2, 3)));

static const char *make_path(struct search *search, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int bytes_count = vsnprintf(search->path, PATH_MAX, format, arguments);
    va_end(arguments);
    return bytes_count > 0 && bytes_count < PATH_MAX ? search->path : NULL;
}

#define try_place(search, checksum, ...) try_path(search, make_path(search, __VA_ARGS__), checksum)

static void try_build_id(struct search *search, const char *folder) {
    struct text id = expected_id(search);
    if (id.bytes_count <= 2) return;
    try_place(search, NULL, "%s/.build-id/%.2s/%.*s.debug", folder, id.bytes, TEXT_ARGS(text_from(id, 2)));
}

/* perf keeps copies of the files that it has recorded, and "perf archive" packs them: a folder for each build id. */
static void try_perf_cache(struct search *search, const char *folder) {
    struct text id = expected_id(search);
    if (id.bytes_count <= 2) return;
    static const char *const names[] = {"debug", "elf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        try_place(search, NULL, "%s/.build-id/%.2s/%.*s/%s", folder, id.bytes, TEXT_ARGS(text_from(id, 2)), names[i]);
}

bool debug_copies_folder(char folder[PATH_MAX]) {
    const char *home = getenv("HOME");
    return home && snprintf(folder, PATH_MAX, "%s/.debug", home) < PATH_MAX;
}

static bool find_copy(const char *folder, struct text id, const char *name, char path[PATH_MAX]) {
    int wanted =
        snprintf(path, PATH_MAX, "%s/.build-id/%.2s/%.*s/%s", folder, id.bytes, TEXT_ARGS(text_from(id, 2)), name);
    return wanted < PATH_MAX && access(path, R_OK) == 0;
}

bool debug_copies_find(const struct debug_folders *folders, struct text build_id, const char *name,
                       char path[PATH_MAX]) {
    char own[PATH_MAX];
    if (build_id.bytes_count <= 2) return false;
    for (size_t i = 0; i < folders->count; i++)
        if (find_copy(folders->paths[i], build_id, name, path)) return true;
    return debug_copies_folder(own) && find_copy(own, build_id, name, path);
}

static void try_fetched(struct search *search) {
    struct text id = expected_id(search);
    const char *folder = search->folders->fetched;
    if (!folder || !id.bytes_count) return;
    try_place(search, NULL, "%s/%.*s/executable", folder, TEXT_ARGS(id));
    try_place(search, NULL, "%s/%.*s/debuginfo", folder, TEXT_ARGS(id));
}

static void try_kept(struct search *search) {
    struct text id = expected_id(search);
    char path[KEPT_PATH_BYTES];
    if (kept_files_find(id.bytes_count ? id : search->lib->path, path)) try_path(search, path, NULL);
}

static void try_folder(struct search *search, const char *folder) {
    struct text path = search->lib->path, name = search->lib->name;
    try_build_id(search, folder);
    try_perf_cache(search, folder);
    if (path_leads_up(path)) return; /* a trace must not lead out of the folder */
    try_place(search, NULL, "%s/%.*s", folder, TEXT_ARGS(path));
    try_place(search, NULL, "%s/%.*s.debug", folder, TEXT_ARGS(path));
    try_place(search, NULL, "%s/%.*s", folder, TEXT_ARGS(name));
    try_place(search, NULL, "%s/%.*s.debug", folder, TEXT_ARGS(name));
}

static void try_sysroot(struct search *search) {
    struct text path = search->lib->path;
    search->root = search->folders->sysroot;
    if (text_starts_with(path, TEXT("/"))) try_place(search, NULL, "%.*s", TEXT_ARGS(path));
    try_build_id(search, system_folder);
    search->root = NULL;
}

/* Tries the places at which the file system in `root`, or this machine's, has debug information for the link. */
static void try_link_below(struct search *search, const char *root, struct text link, uint32_t checksum) {
    struct text home = search->lib->path;
    home = text_slice(home, 0, text_find_last(home, '/'));
    search->root = root;
    if (search->first_place.root == root) {
        struct text place = text_of(search->first_place.path);
        struct text beside = text_slice(place, 0, text_find_last(place, '/'));
        try_place(search, &checksum, "%.*s/%.*s", TEXT_ARGS(beside), TEXT_ARGS(link));
        try_place(search, &checksum, "%.*s/.debug/%.*s", TEXT_ARGS(beside), TEXT_ARGS(link));
    }
    for (size_t i = 0; !root && i < search->folders->count; i++) {
        const char *folder = search->folders->paths[i];
        try_place(search, &checksum, "%s/%.*s", folder, TEXT_ARGS(link));
        if (!path_leads_up(home))
            try_place(search, &checksum, "%s/%.*s/%.*s", folder, TEXT_ARGS(home), TEXT_ARGS(link));
    }
    if (!path_leads_up(home))
        try_place(search, &checksum, "%s/%.*s/%.*s", system_folder, TEXT_ARGS(home), TEXT_ARGS(link));
    search->root = NULL;
}

static void follow_link(struct search *search) {
    struct text link;
    uint32_t checksum;
    if (!is_found(search) || !debug_file_link(&search->files->first, &link, &checksum)) return;
    const char *sysroot = search->folders->sysroot;
    if (sysroot) try_link_below(search, sysroot, link, checksum);
    try_link_below(search, NULL, link, checksum);
}

/* ---- The supplement. ---- */

/* The supplement must be the right one, since its text is found by offset. */
static void try_supplement(struct search *search, const char *build_id, const char *path) {
    struct debug_files *files = search->files;
    if (files->supplement.elf || !path) return;
    errno = 0;
    bool is_open = debug_file_open_supplement(&files->supplement, search->root, path);
    if (errno == ENOMEM) failure_set_memory(search->failure);
    bool is_right = is_open && files->supplement.has_dwarf && strcmp(files->supplement.build_id, build_id) == 0;
    if (is_open && !is_right) debug_file_close(&files->supplement);
}

static void find_supplement(struct search *search) {
    struct debug_files *files = search->files;
    const struct debug_file *dwarf = is_found(search) ? debug_files_dwarf(files) : NULL;
    struct text link;
    char id[DEBUG_BUILD_ID_DIGITS_MAX + 1], real_path[PATH_MAX];
    /* libdw does not read the supplements of DWARF 5, but those that dwz has always made. */
    files->lacks_supplement = dwarf && debug_file_section(dwarf, ".debug_sup").bytes_count;
    if (!dwarf || !debug_file_supplement_link(dwarf, &link, id)) return;
    const struct found_place *place = dwarf == &files->second ? &search->second_place : &search->first_place;
    /* A file of this machine that is found by its build id may be a symbolic link. */
    const char *path = place->root ? place->path : realpath(place->path, real_path);
    search->root = place->root;
    if (text_starts_with(link, TEXT("/")))
        try_supplement(search, id, make_path(search, "%.*s", TEXT_ARGS(link)));
    else if (path)
        try_supplement(search, id,
                       make_path(search, "%.*s/%.*s", (int)text_find_last(text_of(path), '/'), path, TEXT_ARGS(link)));
    search->root = NULL;
    for (size_t i = 0; i < search->folders->count; i++)
        try_supplement(search, id,
                       make_path(search, "%s/.build-id/%.2s/%s.debug", search->folders->paths[i], id, id + 2));
    try_supplement(search, id, make_path(search, "%s/.build-id/%.2s/%s.debug", system_folder, id, id + 2));
    files->lacks_supplement = !files->supplement.elf;
}

/* Returns whether the library can be in a file at all. */
static bool has_path(const struct lib *lib) {
    bool has_zero = text_find(lib->path, '\0') < lib->path.bytes_count;
    return lib->path.bytes_count && !has_zero && !text_starts_with(lib->name, TEXT("["));
}

static void try_places(struct search *search) {
    struct text path = search->lib->path;
    char own_copies[PATH_MAX];
    if (search->folders->sysroot) try_sysroot(search);
    /* Without a build id, only the kept file is known to be the one that ran: others may be at its path by now. */
    if (!expected_id(search).bytes_count) try_kept(search);
    if (text_starts_with(path, TEXT("/"))) try_place(search, NULL, "%.*s", TEXT_ARGS(path));
    for (size_t i = 0; i < search->folders->count; i++) try_folder(search, search->folders->paths[i]);
    try_build_id(search, system_folder);
    if (debug_copies_folder(own_copies)) try_perf_cache(search, own_copies);
    try_fetched(search);
    if (expected_id(search).bytes_count) try_kept(search);
}

bool debug_files_exist(const struct lib *lib, const struct debug_folders *folders) {
    struct debug_files files = {.is_verified = false};
    struct failure failure = {.code = 0};
    struct search search = {.files = &files, .lib = lib, .folders = folders, .failure = &failure, .is_probe = true};
    if (has_path(lib)) try_places(&search);
    return search.exists;
}

enum debug_search_outcome debug_files_open(struct debug_files *files, const struct lib *lib,
                                           const struct debug_folders *folders, struct failure *failure) {
    *files = (struct debug_files){.first.descriptor = -1, .second.descriptor = -1, .supplement.descriptor = -1};
    struct search search = {.files = files, .lib = lib, .folders = folders, .failure = failure};
    if (!has_path(lib)) return DEBUG_FILE_MISSING;
    try_places(&search);
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

struct debug_file *debug_files_dwarf(struct debug_files *files) {
    return best(files)->has_dwarf ? best(files) : NULL;
}

const struct debug_file *debug_files_symbols(struct debug_files *files) {
    return best(files)->has_symbol_table ? best(files) : &files->first;
}
