#include "source_packages.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/base/regular_file.h"

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

bool source_package_folder(enum source_package_folder folder, char path[PATH_MAX]) {
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

/* The list of a toolchain's components has versions that name the commit that it was built from:
 * "1.95.0 (59807616e 2026-04-14)". */
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

bool source_package_toolchain(struct text commit, char path[PATH_MAX]) {
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
