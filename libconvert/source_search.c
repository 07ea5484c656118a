#include "source_search.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libconvert/base/path.h"
#include "libconvert/base/regular_file.h"
#include "libconvert/symbols/sysroot.h"
#include "source_names.h"
#include "source_rules.h"

/* The most components of a path that are left out below a folder, one after the other. */
enum { LEFT_OUT_MAX = 32 };

struct attempt {
    const struct source_search *search;
    bool is_vouched;
    int file; /* -1: not found yet */
    struct stat *status;
    enum source_outcome outcome; /* what became of the first file that is there */
    int error;
};

static struct text map_from(const char *map) { return text_slice(text_of(map), 0, text_find(text_of(map), '=')); }

static struct text map_to(const char *map) { return text_from(text_of(map), map_from(map).bytes_count + 1); }

/* ---- Packages of source code. ---- */

/* Folders with source files of packages, and of Rust's standard library: those that the variables of cargo, rustup and
 * Go name, or that they use by default. */
enum source_package_folder {
    PACKAGES_CARGO,     /* crates: REGISTRY/CRATE-VERSION/… */
    PACKAGES_CARGO_GIT, /* checkouts of repositories */
    PACKAGES_RUSTUP,    /* toolchains of Rust: NAME/lib/rustlib/src/rust/library/… */
    PACKAGES_GO,        /* modules: HOST/NAME@VERSION/… */
    PACKAGE_FOLDER_COUNT
};

/* Lists of a toolchain's components have some hundreds of kilobytes. */
enum { MANIFEST_BYTES_MAX = 8 << 20 };

/* A folder below the one that a variable names. The first row of a folder whose variable is set applies. */
static const struct {
    enum source_package_folder folder;
    const char *variable;
    const char *below;
} places[] = {
    {PACKAGES_CARGO, "CARGO_HOME", "/registry/src"},
    {PACKAGES_CARGO, "HOME", "/.cargo/registry/src"},
    {PACKAGES_CARGO_GIT, "CARGO_HOME", "/git/checkouts"},
    {PACKAGES_CARGO_GIT, "HOME", "/.cargo/git/checkouts"},
    {PACKAGES_RUSTUP, "RUSTUP_HOME", "/toolchains"},
    {PACKAGES_RUSTUP, "HOME", "/.rustup/toolchains"},
    {PACKAGES_GO, "GOMODCACHE", ""},
    {PACKAGES_GO, "GOPATH", "/pkg/mod"},
    {PACKAGES_GO, "HOME", "/go/pkg/mod"},
};

/* Writes the path of the folder, which need not exist. Returns false if no variable names it. */
static bool source_package_folder(enum source_package_folder folder, char path[PATH_MAX]) {
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = places[i].folder == folder ? getenv(places[i].variable) : NULL;
        if (!value || *value != '/') continue;
        /* GOPATH is a list, and modules are in its first folder. */
        size_t value_bytes = folder == PACKAGES_GO ? strcspn(value, ":") : strlen(value);
        return snprintf(path, PATH_MAX, "%.*s%s", (int)value_bytes, value, places[i].below) < PATH_MAX;
    }
    return false;
}

/* ---- Toolchains of Rust. ---- */

/* Returns whether the list of a toolchain's components has a version that names the commit, such as "1.95.0 (59807616e
 * 2026-04-14)". */
static bool names_commit(const char *path, struct text commit) {
    char version[] = "(59807616e";
    struct stat status;
    memcpy(version + 1, commit.bytes, sizeof version - 2);
    int file = regular_file_open(path, &status);
    if (file < 0) return false;
    size_t bytes_count = (size_t)status.st_size;
    char *bytes = status.st_size <= MANIFEST_BYTES_MAX ? malloc(bytes_count + 1) : NULL;
    bool is_found = bytes && regular_file_read(file, bytes, &bytes_count) &&
                    memmem(bytes, bytes_count, version, sizeof version - 1);
    free(bytes);
    close(file);
    return is_found;
}

/* Writes the folder of the source code of the toolchain that was built from that commit, 40 hexadecimal digits. Returns
 * false if no toolchain of this machine was. */
static bool source_package_toolchain(struct text commit, char path[PATH_MAX]) {
    char folder[PATH_MAX], manifest[PATH_MAX];
    DIR *toolchains = source_package_folder(PACKAGES_RUSTUP, folder) ? opendir(folder) : NULL;
    bool is_found = false;
    for (const struct dirent *entry; toolchains && !is_found && (entry = readdir(toolchains));) {
        if (*entry->d_name == '.') continue;
        int length =
            snprintf(manifest, PATH_MAX, "%s/%s/lib/rustlib/multirust-channel-manifest.toml", folder, entry->d_name);
        if (length >= PATH_MAX || !names_commit(manifest, commit)) continue;
        is_found = snprintf(path, PATH_MAX, "%s/%s/lib/rustlib/src/rust", folder, entry->d_name) < PATH_MAX;
    }
    if (toolchains) closedir(toolchains);
    return is_found;
}

/* ---- Whether a file may be given out. ---- */

/* Returns what follows the folder in the path, which is resolved; nothing if the file is not in the folder. */
static struct text rest_below(struct text folder, struct text path) {
    char name[PATH_MAX], resolved[PATH_MAX];
    if (!text_copy(folder, name, sizeof name) || !realpath(name, resolved)) return (struct text){0};
    struct text start = text_of(resolved);
    if (text_equal(start, TEXT("/"))) return text_from(path, 1);
    bool is_below = text_starts_with(path, start) && text_starts_with(text_from(path, start.bytes_count), TEXT("/"));
    return is_below ? text_from(path, start.bytes_count + 1) : (struct text){0};
}

/* Returns what follows the innermost of the user's folders in the path; nothing if it is in none of them. */
static struct text rest_below_folders(const struct source_search *search, struct text path) {
    struct text shortest = {0};
    for (size_t i = 0; i < search->folder_count + search->map_count; i++) {
        struct text folder =
            i < search->folder_count ? text_of(search->folders[i]) : map_to(search->maps[i - search->folder_count]);
        struct text rest = rest_below(folder, path);
        if (rest.bytes_count && (!shortest.bytes || rest.bytes_count < shortest.bytes_count)) shortest = rest;
    }
    return shortest;
}

/* Returns what follows a folder of packages in the path; nothing if it is in none of them. */
static struct text rest_below_packages(struct text path) {
    char folder[PATH_MAX];
    struct text rest = {0};
    for (int i = 0; i < PACKAGE_FOLDER_COUNT && !rest.bytes_count; i++)
        if (source_package_folder((enum source_package_folder)i, folder)) rest = rest_below(text_of(folder), path);
    return rest;
}

/* Judges a file by its path without links. `inner` is the part of the path that the user has not named, if the file is
 * outside of the search's folders. */
static enum source_outcome judge(const struct attempt *attempt, struct text path, struct text inner) {
    struct text rest = rest_below_folders(attempt->search, path);
    if (!rest.bytes_count && !attempt->is_vouched) return SOURCE_UNVOUCHED;
    if (!source_name_is_code(path)) return SOURCE_NOT_CODE;
    if (!rest.bytes_count) rest = rest_below_packages(path);
    return source_path_is_hidden(rest.bytes_count ? rest : inner) ? SOURCE_HIDDEN : SOURCE_FOUND;
}

/* Stores the path without links. Returns false if another file has the name by now. */
static bool resolve(const char *name, const struct stat *opened, char path[PATH_MAX]) {
    struct stat named;
    return realpath(name, path) && stat(path, &named) == 0 && named.st_dev == opened->st_dev &&
           named.st_ino == opened->st_ino;
}

/* ---- Places. ---- */

/* Keeps the outcome of the first file that exists. */
static void note_outcome(struct attempt *attempt, enum source_outcome outcome, int error) {
    if (attempt->outcome != SOURCE_MISSING) return;
    attempt->outcome = outcome;
    attempt->error = error;
}

/* Takes the file, which was opened by that name below the root, unless it must be left out. An empty root is that of
 * this machine. */
static void take_file(struct attempt *attempt, int file, const char *root, const char *name) {
    char path[PATH_MAX], full_name[2 * PATH_MAX];
    snprintf(full_name, sizeof full_name, "%s%s", root, name);
    bool is_resolved = fstat(file, attempt->status) == 0 && resolve(full_name, attempt->status, path);
    enum source_outcome outcome =
        is_resolved ? judge(attempt, text_of(path), text_of(*root ? name : path)) : SOURCE_UNREADABLE;
    if (outcome == SOURCE_FOUND) {
        attempt->file = file;
        return;
    }
    note_outcome(attempt, outcome, EINVAL);
    close(file);
}

static void note_error(struct attempt *attempt) {
    if (errno != ENOENT && errno != ENOTDIR) note_outcome(attempt, SOURCE_UNREADABLE, errno);
}

/* Tries the file `path` in the folder, or by itself if the folder is empty. */
static void try_file(struct attempt *attempt, struct text folder, struct text path) {
    char name[PATH_MAX];
    size_t bytes_count = folder.bytes_count + 1 + path.bytes_count;
    if (attempt->file >= 0 || bytes_count >= sizeof name) return;
    snprintf(name, sizeof name, "%.*s%s%.*s", TEXT_ARGS(folder), folder.bytes_count ? "/" : "", TEXT_ARGS(path));
    int file = regular_file_open(name, attempt->status);
    if (file >= 0)
        take_file(attempt, file, "", name);
    else
        note_error(attempt);
}

/* Tries the absolute path in the file system below the sysroot. */
static void try_sysroot(struct attempt *attempt, const char *sysroot, struct text path) {
    char name[PATH_MAX], real_path[PATH_MAX];
    if (!sysroot || attempt->file >= 0 || !text_copy(path, name, sizeof name)) return;
    int file = sysroot_open(sysroot, name, real_path);
    if (file >= 0)
        take_file(attempt, file, sysroot, real_path);
    else
        note_error(attempt);
}

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
        if (!text_starts_with(path, from)) continue;
        struct text rest = text_from(path, from.bytes_count);
        bool is_whole_component = text_starts_with(rest, TEXT("/")) || text_ends_with(from, TEXT("/"));
        if (!is_whole_component || path_leads_up(rest)) continue;
        try_file(attempt, map_to(search->maps[i]), rest);
        return;
    }
}

/* Tries the part of the path after `marker`, which ends the path of a folder of packages, in that folder of this
 * machine. */
static void try_package(struct attempt *attempt, enum source_package_folder packages, const char *marker,
                        struct text path) {
    char folder[PATH_MAX];
    size_t at = text_find_part(path, text_of(marker));
    if (at == path.bytes_count || !source_package_folder(packages, folder)) return;
    struct text rest = text_from(path, at + strlen(marker));
    if (!path_leads_up(rest)) try_file(attempt, text_of(folder), rest);
}

/* "/rustc/COMMIT/library/core/src/option.rs" is in the toolchain that was built from the commit. */
static void try_toolchain(struct attempt *attempt, struct text path) {
    enum { COMMIT_DIGITS = 40 };
    char folder[PATH_MAX];
    if (attempt->file >= 0 || !text_starts_with(path, TEXT("/rustc/")) || path_leads_up(path)) return;
    struct text rest = text_from(path, sizeof "/rustc/" - 1), commit = text_take_until(&rest, '/');
    bool is_named = commit.bytes_count == COMMIT_DIGITS && rest.bytes_count;
    if (is_named && source_package_toolchain(commit, folder)) try_file(attempt, text_of(folder), rest);
}

static void try_packages(struct attempt *attempt, struct text path) {
    try_toolchain(attempt, path);
    try_package(attempt, PACKAGES_CARGO, "/registry/src/", path);
    try_package(attempt, PACKAGES_GO, "/pkg/mod/", path);
    /* `go build -trimpath` leaves out the folder before modules. */
    bool is_module = !text_starts_with(path, TEXT("/")) && text_find(path, '@') < path.bytes_count;
    if (is_module) try_package(attempt, PACKAGES_GO, "", path);
}

static void try_folder(struct attempt *attempt, const char *folder, struct text path) {
    if (path_leads_up(path)) return;
    for (size_t i = 0; i <= LEFT_OUT_MAX && path.bytes_count; i++) {
        while (text_starts_with(path, TEXT("/"))) path = text_from(path, 1);
        if (path.bytes_count) try_file(attempt, text_of(folder), path);
        path = text_from(path, text_find(path, '/'));
    }
}

/* ---- The search. ---- */

const char *source_outcome_name(enum source_outcome outcome) {
    static const char *const names[SOURCE_OUTCOME_COUNT] = {
        [SOURCE_FOUND] = "embedded",
        [SOURCE_MISSING] = "not found",
        [SOURCE_UNREADABLE] = "not readable",
        [SOURCE_NOT_CODE] = "not source code by its name",
        [SOURCE_HIDDEN] = "hidden, or in a hidden folder",
        [SOURCE_UNVOUCHED] = "named by the input alone, not below a --source-dir",
        [SOURCE_NOT_TEXT] = "not text",
        [SOURCE_TOO_LARGE] = "beyond the size limit",
    };
    return names[outcome];
}

int source_search_open(const struct source_search *search, struct text path, bool is_vouched, struct stat *status,
                       enum source_outcome *outcome) {
    struct attempt attempt = {.search = search,
                              .is_vouched = is_vouched,
                              .file = -1,
                              .status = status,
                              .outcome = SOURCE_MISSING,
                              .error = ENOENT};
    char local_bytes[SOURCE_NAME_BYTES];
    struct text local = source_name_local(path, local_bytes);
    if (local.bytes_count) path = local;
    if (text_starts_with(path, TEXT("file:///"))) path = text_from(path, sizeof "file://" - 1);
    if (text_find(path, '\0') == path.bytes_count && path.bytes_count) {
        try_maps(&attempt, search, path);
        if (text_starts_with(path, TEXT("/"))) {
            try_sysroot(&attempt, search->sysroot, path);
            try_file(&attempt, TEXT(""), path);
        }
        try_packages(&attempt, path);
        for (size_t i = 0; i < search->folder_count; i++) try_folder(&attempt, search->folders[i], path);
    }
    *outcome = attempt.file < 0 ? attempt.outcome : SOURCE_FOUND;
    if (attempt.file < 0) errno = attempt.error;
    return attempt.file;
}

int source_search_fetch(struct debug_server *server, struct text build_id, struct text path, struct stat *status,
                        enum source_outcome *outcome) {
    bool is_allowed = source_name_is_code(path) && !source_path_is_hidden(path);
    *outcome = SOURCE_MISSING;
    if (!is_allowed || !text_starts_with(path, TEXT("/"))) return -1;
    int file = debug_server_open_source(server, build_id, path);
    if (file >= 0 && fstat(file, status) == 0) {
        *outcome = SOURCE_FOUND;
        return file;
    }
    if (file >= 0) close(file);
    errno = ENOENT;
    return -1;
}
