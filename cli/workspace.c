#include "workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/base/text.h"
#include "writer/sink.h"

enum { ATTEMPTS_MAX = 100, DEPTH_MAX = 100, ENTRIES_BYTES = 4096, FOLDER_MODE = 0700 };

static void fail(struct workspace *workspace, struct failure *failure) {
    if (errno == ENOMEM)
        failure_set_memory(failure);
    else
        failure_set(failure, FAILURE_IO, "cannot use the folder %s: %s", workspace->path, strerror(errno));
}

static void empty_folder(int descriptor, unsigned depth);

/* Removes one entry of the folder. Links are removed, never followed. */
static void remove_entry(int folder, const char *name, unsigned depth) {
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
    if (unlinkat(folder, name, 0) == 0 || depth == DEPTH_MAX) return;
    int below = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0) return;
    empty_folder(below, depth + 1);
    close(below);
    unlinkat(folder, name, AT_REMOVEDIR);
}

/* Uses no memory except the stack, unlike readdir: a batch that ran out of memory must still clean up. */
static void empty_folder(int descriptor, unsigned depth) {
    _Alignas(struct dirent64) char entries[ENTRIES_BYTES];
    for (ssize_t bytes_count; (bytes_count = getdents64(descriptor, entries, sizeof entries)) > 0;) {
        const struct dirent64 *entry;
        for (ssize_t at = 0; at < bytes_count; at += entry->d_reclen) {
            entry = (const struct dirent64 *)(entries + at);
            remove_entry(descriptor, entry->d_name, depth);
        }
    }
}

static void empty_workspace(const struct workspace *workspace) {
    int descriptor = openat(workspace->descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    empty_folder(descriptor, 0);
    close(descriptor);
}

/* Returns true if the locked folder is still the one at the path. Its previous owner may have removed it meanwhile. */
static bool is_at_path(const struct workspace *workspace) {
    struct stat locked, found;
    return fstat(workspace->descriptor, &locked) == 0 && lstat(workspace->path, &found) == 0 &&
           locked.st_dev == found.st_dev && locked.st_ino == found.st_ino;
}

/* In /tmp, another user could create the folder first and then replace the files that are written into it. */
static bool is_ours(const struct workspace *workspace) {
    struct stat status;
    return fstat(workspace->descriptor, &status) == 0 && status.st_uid == geteuid();
}

static void close_folder(struct workspace *workspace) {
    close(workspace->descriptor);
    workspace->descriptor = -1;
}

/* Returns false if the attempt has to be repeated or has failed (latched). */
static bool take(struct workspace *workspace, struct failure *failure) {
    bool is_new = mkdir(workspace->path, FOLDER_MODE) == 0;
    if (!is_new && errno != EEXIST) {
        fail(workspace, failure);
        return false;
    }
    workspace->descriptor = open(workspace->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (workspace->descriptor < 0) {
        if (errno != ENOENT) fail(workspace, failure);
        return false;
    }
    if (!is_new && !is_ours(workspace)) {
        failure_set(failure, FAILURE_IO, "cannot use the folder %s: it belongs to another user", workspace->path);
        close_folder(workspace);
        return false;
    }
    workspace->is_locked = flock(workspace->descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!workspace->is_locked && errno == EWOULDBLOCK)
        failure_set(failure, FAILURE_IO, "%s is in use: another gecko-convert writes to the same place",
                    workspace->path);
    if (!failure_is_set(failure) && is_at_path(workspace)) return true;
    close_folder(workspace);
    return false;
}

void workspace_init(struct workspace *workspace, const char *path, struct failure *failure) {
    *workspace = (struct workspace){.path = strdup(path), .descriptor = -1};
    if (!workspace->path) failure_set_memory(failure);
    if (!workspace->path || !sink_make_folders(path, failure)) return;
    bool is_taken = false;
    for (unsigned i = 0; i < ATTEMPTS_MAX && !is_taken && !failure_is_set(failure); i++)
        is_taken = take(workspace, failure);
    if (!is_taken && !failure_is_set(failure)) {
        errno = ENOENT;
        fail(workspace, failure);
    }
    if (is_taken && workspace->is_locked) empty_workspace(workspace);
}

void workspace_remove(struct workspace *workspace) {
    if (!workspace->path || workspace->descriptor < 0) return;
    for (unsigned i = 0; i < ATTEMPTS_MAX; i++) {
        if (workspace->is_locked) empty_workspace(workspace);
        if (rmdir(workspace->path) == 0 || errno != ENOTEMPTY || !workspace->is_locked) break;
    }
}

void workspace_fini(struct workspace *workspace) {
    if (!workspace->path) return;
    workspace_remove(workspace);
    if (workspace->descriptor >= 0) close(workspace->descriptor);
    free(workspace->path);
    *workspace = (struct workspace){.descriptor = -1};
}
