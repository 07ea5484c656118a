#include "pool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* ---- The descriptor. ---- */

int pool_file_move_away(int file) {
    enum { HIGH = 500, AFTER_STANDARD_ERROR = 3 };
    int moved = fcntl(file, F_DUPFD_CLOEXEC, HIGH);
    if (moved < 0) moved = fcntl(file, F_DUPFD_CLOEXEC, AFTER_STANDARD_ERROR);
    int saved_errno = errno;
    close(file);
    errno = saved_errno;
    return moved;
}

/* Retries, because a process that tests for the lock holds one for a moment, or longer on a busy machine. Without the
 * lock, another recording could replace the trace. */
static void lock_file(int file) {
    enum { TRIES = 1000, NAP_US = 1000 };
    for (int i = 0; i < TRIES && flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++) usleep(NAP_US);
}

/* Processes of several pid namespaces may have one pid, and all of them can have a read lock. */
void pool_file_lock_for_process(const struct pool *pool) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = getpid(), .l_len = 1};
    fcntl(pool->file, F_SETLK, &lock);
}

/* No process has the pid 0, so pool_file_lock_for_process never locks this byte. */
enum { SAVER_BYTE = 0 };

void pool_file_set_saver(const struct pool *pool, bool is_saver) {
    short type = is_saver ? F_WRLCK : F_UNLCK;
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = SAVER_BYTE, .l_len = 1};
    int file = pool_file_number(pool);
    if (file >= 0) fcntl(file, F_SETLK, &lock);
}

/* A thread may have a descriptor table of its own. Locks belong to tables, so such a thread sees the lock of its own
 * process as one of another. */
bool pool_has_other_saver(const struct pool *pool) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SAVER_BYTE, .l_len = 1};
    int file = pool_file_number(pool);
    return file >= 0 && fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid != getpid();
}

int pool_file_mapped(const struct pool *pool) { return pool->file >= 0 ? pool->file : pool->memory_file; }

bool pool_file_is(const struct pool *pool, const struct stat *status) {
    return pool_file_mapped(pool) >= 0 && status->st_dev == pool->file_device && status->st_ino == pool->file_number;
}

bool pool_file_remember(struct pool *pool) {
    struct stat status;
    if (fstat(pool_file_mapped(pool), &status) != 0) return false;
    pool->file_device = status.st_dev;
    pool->file_number = status.st_ino;
    return true;
}

bool pool_file_adopt(struct pool *pool, int file) {
    pool->file = file < 0 ? -1 : pool_file_move_away(file);
    if (pool->file < 0 || !pool_file_remember(pool)) return false;
    lock_file(pool->file);
    pool_file_lock_for_process(pool);
    return true;
}

int pool_file_number(const struct pool *pool) {
    struct stat status;
    int file = pool_file_mapped(pool);
    if (fstat(file, &status) == 0 && pool_file_is(pool, &status)) return file;
    errno = EBADF;
    return -1;
}

/* Opens the file by its path. Returns -1 with errno set if another file, or none, is there now. */
static int open_again(const struct pool *pool) {
    struct stat status;
    int file = pool->file >= 0 ? open(pool->path, O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0 && fstat(file, &status) == 0 && pool_file_is(pool, &status)) return file;
    if (file >= 0) close(file);
    errno = EBADF;
    return -1;
}

/* In a table of the thread's own, no other file can have the number. */
bool pool_restore_file(const struct pool *pool) {
    if (pool_file_number(pool) >= 0) return true;
    int file = open_again(pool);
    if (file < 0) return false;
    if (file == pool->file) return true;
    dup3(file, pool->file, O_CLOEXEC);
    close(file);
    return true;
}

/* ---- Disk space. ---- */

bool pool_file_is_beyond_limit(uint64_t end) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur) return false;
    errno = EFBIG;
    return true;
}

/* Zero-fills from the current end of the file, which other threads may have moved: they may already write where the end
 * was before. */
static ssize_t append_zeros(int file, uint64_t bytes_count) {
    /* Nobody writes here. A constant array would take up room in the library's file. */
    static unsigned char zeros[16 * 1024];
    struct iovec part = {zeros, bytes_count < sizeof zeros ? (size_t)bytes_count : sizeof zeros};
    return pwritev2(file, &part, 1, 0, RWF_APPEND);
}

static bool grow_to(int file, uint64_t end) {
    struct stat status;
    while (fstat(file, &status) == 0) {
        if ((uint64_t)status.st_size >= end) return true;
        if (append_zeros(file, end - (uint64_t)status.st_size) < 0 && errno != EINTR) return false;
    }
    return false;
}

/* If several threads append at once, the file may reach its size limit although each of them has checked. The kernel
 * then signals the thread, which takes the signal here. */
static bool write_zeros(int file, uint64_t end) {
    sigset_t signals, before;
    struct timespec now = {0, 0};
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    bool is_good = grow_to(file, end);
    int saved_errno = errno;
    if (!is_good && saved_errno == EFBIG && !sigismember(&before, SIGXFSZ)) sigtimedwait(&signals, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved_errno;
    return is_good;
}

static bool allocate(int file, uint64_t from, uint64_t end) {
    int result;
    do {
        result = fallocate(file, 0, (off_t)from, (off_t)(end - from));
    } while (result != 0 && errno == EINTR);
    if (result == 0) return true;
    return errno == EOPNOTSUPP && write_zeros(file, end);
}

/* If the program has closed the descriptor, opens the file for a moment. The thread may be cancelled only after its
 * recording call. */
bool pool_file_reserve(const struct pool *pool, uint64_t from, uint64_t end) {
    int cancel_state;
    if (pool->file < 0) return true;
    if (pool_file_is_beyond_limit(end)) return false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    int own = pool_file_number(pool), file = own >= 0 ? own : open_again(pool);
    bool is_good = file >= 0 && allocate(file, from, end);
    int saved_errno = errno;
    if (own < 0 && file >= 0) close(file);
    pthread_setcancelstate(cancel_state, NULL);
    errno = saved_errno;
    return is_good;
}
