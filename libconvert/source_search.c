#include "source_search.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libconvert/base/path.h"
#include "libconvert/base/regular_file.h"
#include "libconvert/symbols/sysroot.h"

/* The most components of a path that are left out below a folder, one after the other. */
enum { LEFT_OUT_MAX = 32 };

struct attempt {
    int file;  /* -1: not found yet */
    int error; /* the errno to report */
    struct stat *status;
};

/* Keeps the error of the first file that is there and cannot be opened. */
static void note_error(struct attempt *attempt) {
    bool is_absent = errno == ENOENT || errno == ENOTDIR;
    if (attempt->file < 0 && !is_absent && attempt->error == ENOENT) attempt->error = errno;
}

/* Tries the file `path` in the folder, or by itself if the folder is empty. */
static void try_file(struct attempt *attempt, struct text folder, struct text path) {
    char name[PATH_MAX];
    size_t bytes_count = folder.bytes_count + 1 + path.bytes_count;
    if (attempt->file >= 0 || bytes_count >= sizeof name) return;
    snprintf(name, sizeof name, "%.*s%s%.*s", (int)folder.bytes_count, folder.bytes, folder.bytes_count ? "/" : "",
             (int)path.bytes_count, path.bytes);
    attempt->file = regular_file_open(name, attempt->status);
    note_error(attempt);
}

/* Tries the absolute path in the file system below the sysroot. */
static void try_sysroot(struct attempt *attempt, const char *sysroot, struct text path) {
    char name[PATH_MAX], real_path[PATH_MAX];
    if (!sysroot || attempt->file >= 0 || path.bytes_count >= sizeof name) return;
    snprintf(name, sizeof name, "%.*s", (int)path.bytes_count, path.bytes);
    attempt->file = sysroot_open(sysroot, name, real_path);
    if (attempt->file >= 0 && fstat(attempt->file, attempt->status) != 0) {
        close(attempt->file);
        attempt->file = -1;
    }
    note_error(attempt);
}

static struct text map_from(const char *map) { return text_slice(text_of(map), 0, text_find(text_of(map), '=')); }

static struct text without_slashes_at_end(struct text path) {
    while (path.bytes_count > 1 && text_ends_with(path, TEXT("/"))) path.bytes_count--;
    return path;
}

bool source_map_is_valid(const char *map) {
    struct text from = map_from(map);
    return from.bytes_count && from.bytes_count + 1 < strlen(map);
}

/* Tries where the first fitting map leads. */
static void try_maps(struct attempt *attempt, const struct source_search *search, struct text path) {
    for (size_t i = 0; i < search->map_count; i++) {
        struct text from = without_slashes_at_end(map_from(search->maps[i]));
        struct text to = text_from(text_of(search->maps[i]), map_from(search->maps[i]).bytes_count + 1);
        if (!text_starts_with(path, from)) continue;
        struct text rest = text_from(path, from.bytes_count);
        bool is_whole_component = text_starts_with(rest, TEXT("/")) || text_ends_with(from, TEXT("/"));
        if (!is_whole_component || path_leads_up(rest)) continue;
        try_file(attempt, to, rest);
        return;
    }
}

static void try_folder(struct attempt *attempt, const char *folder, struct text path) {
    if (path_leads_up(path)) return;
    for (size_t i = 0; i <= LEFT_OUT_MAX && path.bytes_count; i++) {
        while (text_starts_with(path, TEXT("/"))) path = text_from(path, 1);
        if (path.bytes_count) try_file(attempt, text_of(folder), path);
        path = text_from(path, text_find(path, '/'));
    }
}

int source_search_open(const struct source_search *search, struct text path, struct stat *status) {
    struct attempt attempt = {.file = -1, .error = ENOENT, .status = status};
    if (text_starts_with(path, TEXT("file:///"))) path = text_from(path, sizeof "file://" - 1);
    if (text_find(path, '\0') == path.bytes_count && path.bytes_count) {
        try_maps(&attempt, search, path);
        if (text_starts_with(path, TEXT("/"))) {
            try_sysroot(&attempt, search->sysroot, path);
            try_file(&attempt, TEXT(""), path);
        }
        for (size_t i = 0; i < search->folder_count; i++) try_folder(&attempt, search->folders[i], path);
    }
    if (attempt.file < 0) errno = attempt.error;
    return attempt.file;
}
