#include "pool_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pool_file.h"

bool pool_path_make_absolute(const char *path, char absolute[POOL_PATH_BYTES]) {
    char directory[POOL_PATH_BYTES] = "";
    if (*path != '/' && !getcwd(directory, sizeof directory)) return false;
    int bytes = snprintf(absolute, POOL_PATH_BYTES, "%s%s%s", directory, *path == '/' ? "" : "/", path);
    if (bytes >= 0 && bytes < POOL_PATH_BYTES) return true;
    errno = ENAMETOOLONG;
    return false;
}

/* ---- Whether another process holds a file. ----
 *
 * Each process of a recording holds two locks on the file. The first belongs to the open file, which forked children
 * share: it is held as long as one of them lives and has not left the recording. The second belongs to the process: a
 * process does not see its own. The kernel releases both when a process ends in any way or executes another program. */

static bool is_locked_by_others(const struct pool *pool) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET}; /* all bytes */
    return fcntl(pool->file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Retries, because a child that is about to execute another program has its parent's file for a moment. If the file may
 * not be tested for the lock, it counts as locked. */
static bool is_locked(int file) {
    enum { TRIES = 20, NAP_US = 1000 };
    for (int i = 0; i < TRIES; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0) return false;
        if (errno != EWOULDBLOCK) return errno == EBADF;
        usleep(NAP_US);
    }
    return true;
}

/* A child that does not record may have the file open too. A process that was told to stop counts until it leaves: it
 * would not be part of a recording that replaces this one. */
static bool has_processes(int file) {
    struct pool_bookkeeping shared;
    bool is_known = pread(file, &shared, sizeof shared, TRACE_HEADER_BYTES) == (ssize_t)sizeof shared &&
                    shared.version == POOL_BOOKKEEPING_VERSION;
    return !is_known || shared.process_count > 0;
}

/* If such a file were replaced, the other process would record into a file without a name. own: the recording of this
 * process; NULL: none. Its file must not be opened here, because closing it would release the lock of the process. A
 * network file system grants a lock only to those who may write. */
static bool is_held_by_others(const char *path, const struct stat *status, const struct pool *own) {
    struct trace_header header;
    if (own && pool_file_is(own, status)) return is_locked_by_others(own);
    int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    bool is_trace = pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                    !memcmp(header.magic, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    bool is_held = is_trace && has_processes(file) && is_locked(file);
    close(file);
    return is_held;
}

/* A new file is renamed into place, so an older one stays whole until then. */
bool pool_path_is_replaceable(const char *path, const struct pool *own) {
    struct stat status;
    if (stat(path, &status) != 0) return true;
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        return false;
    }
    if (!is_held_by_others(path, &status, own)) return true;
    errno = EBUSY;
    return false;
}

/* ---- Traces that are not complete. ---- */

void pool_path_name_temporary(const char *path, char temporary[POOL_TEMPORARY_PATH_BYTES]) {
    snprintf(temporary, POOL_TEMPORARY_PATH_BYTES, "%s.%ld.part", path, (long)getpid());
}

/* A trace holds arguments, texts and addresses of its program, so only its owner may read it, as with perf.data. */
int pool_path_create_beside(const char *path, char temporary[POOL_TEMPORARY_PATH_BYTES]) {
    pool_path_name_temporary(path, temporary);
    unlink(temporary);
    return open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
}
