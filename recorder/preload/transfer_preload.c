/* Interposes functions of the C library that any signal handler cuts short in the middle of their work, even one with
 * SA_RESTART: they return how much they have done so far. `dd if=/dev/zero bs=1M count=100` then copies less. If the
 * sampler's handler has run meanwhile, the rest is done here. If the program must learn of handlers of its own, the
 * sampler does not signal the thread meanwhile. Only the shared library has these functions. */

/* With these, headers define some of the functions themselves, or give them other names. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder/preload/next_function.h"
#include "recorder/preload/spared_call.h"
#include "recorder/sample/own_signal.h"

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

/* The kernel transfers no more by one call. */
static const size_t TRANSFER_BYTES_MAX = 0x7ffff000;

/* Whether the sampler has cut a transfer short. answer_count: of the calling thread, before the transfer. */
static bool is_cut(ssize_t done, size_t count, uint32_t answer_count) {
    return done > 0 && (size_t)done < count && (size_t)done < TRANSFER_BYTES_MAX &&
           own_signal_answer_count() != answer_count;
}

/* Signal handlers may call these, the recorder itself the last one. So they are looked up before any can run. */
static __typeof__(&read) next_read(void) { return NEXT(read); }
static __typeof__(&write) next_write(void) { return NEXT(write); }
static __typeof__(&send) next_send(void) { return NEXT(send); }
static __typeof__(&fallocate) next_fallocate(void) { return NEXT(fallocate); }

__attribute__((constructor)) static void look_up(void) {
    next_read();
    next_write();
    next_send();
    next_fallocate();
}

/* A kind of transfer whose rest is done here. */
struct transfer {
    ssize_t (*part)(int file, void *bytes, size_t count, int flags);
    bool (*takes_rest)(int file); /* NULL: always */
};

/* Does the rest of a transfer that is_cut. Returns how much is done then. Leaves errno as it is. */
PASSING_ON static ssize_t finish(const struct transfer *transfer, int file, void *bytes, size_t count, int flags,
                                 ssize_t done) {
    int saved_errno = errno;
    ssize_t more = !transfer->takes_rest || transfer->takes_rest(file);
    while (more > 0 && (size_t)done < count) {
        more = transfer->part(file, (char *)bytes + done, count - (size_t)done, flags);
        if (more > 0) done += more;
    }
    errno = saved_errno;
    return done;
}

/* ---- Reading from devices that have no end and never wait. ----
 *
 * A handler of the program may have run too. Reading the rest is right even then, because it never waits. */

/* Numbers of the kernel's admin-guide/devices.txt. */
static bool is_endless(int file) {
    enum { MEMORY_MAJOR = 1, ZERO_MINOR = 5, FULL_MINOR = 7, RANDOM_MINOR = 8, URANDOM_MINOR = 9 };
    struct stat status;
    if (own_signal_is_silenced() || fstat(file, &status) != 0 || !S_ISCHR(status.st_mode) ||
        major(status.st_rdev) != MEMORY_MAJOR)
        return false;
    unsigned number = minor(status.st_rdev);
    return number == ZERO_MINOR || number == FULL_MINOR || number == RANDOM_MINOR || number == URANDOM_MINOR;
}

PASSING_ON static ssize_t read_part(int file, void *bytes, size_t count, int flags) {
    (void)flags;
    return next_read()(file, bytes, count);
}

static const struct transfer reading = {read_part, is_endless};

INTERPOSING ssize_t read(int file, void *bytes, size_t count) {
    uint32_t answer_count = own_signal_answer_count();
    ssize_t done = next_read()(file, bytes, count);
    return is_cut(done, count, answer_count) ? finish(&reading, file, bytes, count, 0, done) : done;
}

/* Programs that are built with _FORTIFY_SOURCE call this one. */
ssize_t __read_chk(int file, void *bytes, size_t count, size_t bytes_max);

INTERPOSING ssize_t __read_chk(int file, void *bytes, size_t count, size_t bytes_max) {
    uint32_t answer_count = own_signal_answer_count();
    ssize_t done = NEXT(__read_chk)(file, bytes, count, bytes_max);
    return is_cut(done, count, answer_count) ? finish(&reading, file, bytes, count, 0, done) : done;
}

static __typeof__(&getrandom) next_getrandom(void) { return NEXT(getrandom); }

PASSING_ON static ssize_t random_part(int file, void *bytes, size_t count, int flags) {
    (void)file;
    return next_getrandom()(bytes, count, (unsigned)flags);
}

static const struct transfer drawing = {random_part, NULL};

INTERPOSING ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
    uint32_t answer_count = own_signal_answer_count();
    ssize_t done = next_getrandom()(bytes, count, flags);
    return is_cut(done, count, answer_count) ? finish(&drawing, -1, bytes, count, (int)flags, done) : done;
}

/* ---- Writing to files that may make the writer wait for a reader. ----
 *
 * If the program has handlers, one of them may have cut the call short, and the program may rely on that. The rest must
 * not be written then: with SA_RESTART, a handler that runs before its first byte would no longer end the call. */

static bool is_socket_without_limit(int file) {
    struct timeval limit = {.tv_sec = 0};
    socklen_t limit_bytes = sizeof limit;
    return getsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, &limit_bytes) == 0 && !limit.tv_sec && !limit.tv_usec;
}

/* If the file does not let its writers wait, writing more fails at once. */
static bool makes_writers_wait(int file) {
    struct stat status;
    if (own_signal_may_program_handle() || fstat(file, &status) != 0) return false;
    return S_ISFIFO(status.st_mode) || (S_ISSOCK(status.st_mode) && is_socket_without_limit(file)) || isatty(file);
}

PASSING_ON static ssize_t write_part(int file, void *bytes, size_t count, int flags) {
    (void)flags;
    return next_write()(file, bytes, count);
}

PASSING_ON static ssize_t send_part(int file, void *bytes, size_t count, int flags) {
    return next_send()(file, bytes, count, flags);
}

static const struct transfer writing = {write_part, makes_writers_wait}, sending = {send_part, makes_writers_wait};

/* ---- Transfers during which the sampler does not signal the thread. ---- */

static bool may_wait(int file) {
    if (!own_signal_may_come() || own_signal_is_silenced()) return own_signal_may_come();
    int saved_errno = errno, flags = fcntl(file, F_GETFL);
    struct stat status;
    bool may_wait = flags >= 0 && !(flags & O_NONBLOCK) && fstat(file, &status) == 0 &&
                    (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISCHR(status.st_mode));
    errno = saved_errno;
    return may_wait;
}

/* A program that never had a handler is signalled, and the rest is written here. A pipe takes up to PIPE_BUF bytes
 * whole, or none. */
static bool must_spare_writer(int file, size_t count) {
    return count > PIPE_BUF && own_signal_has_seen_handler() && may_wait(file);
}

INTERPOSING ssize_t write(int file, const void *bytes, size_t count) {
    if (must_spare_writer(file, count)) return SPARING(SPARED_TRANSFER, true, next_write(), file, bytes, count);
    uint32_t answer_count = own_signal_answer_count();
    ssize_t done = next_write()(file, bytes, count);
    return is_cut(done, count, answer_count) ? finish(&writing, file, (void *)(uintptr_t)bytes, count, 0, done) : done;
}

INTERPOSING ssize_t send(int file, const void *bytes, size_t count, int flags) {
    if (must_spare_writer(file, count)) return SPARING(SPARED_TRANSFER, true, next_send(), file, bytes, count, flags);
    uint32_t answer_count = own_signal_answer_count();
    ssize_t done = next_send()(file, bytes, count, flags);
    if (!is_cut(done, count, answer_count)) return done;
    return finish(&sending, file, (void *)(uintptr_t)bytes, count, flags, done);
}

/* The lengths are not looked at, because their addresses may be invalid. */
INTERPOSING ssize_t writev(int file, const struct iovec *parts, int part_count) {
    return SPARING(SPARED_TRANSFER, may_wait(file), NEXT(writev), file, parts, part_count);
}

INTERPOSING ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
    return SPARING(SPARED_TRANSFER, may_wait(file), NEXT(sendmsg), file, message, flags);
}

INTERPOSING ssize_t sendto(int file, const void *bytes, size_t count, int flags, const struct sockaddr *to,
                           socklen_t to_bytes) {
    return SPARING(SPARED_TRANSFER, count > PIPE_BUF && may_wait(file), NEXT(sendto), file, bytes, count, flags, to,
                   to_bytes);
}

/* Only with MSG_WAITALL do these wait for more after the first bytes. */
INTERPOSING ssize_t recv(int file, void *bytes, size_t count, int flags) {
    return SPARING(SPARED_TRANSFER, flags & MSG_WAITALL, NEXT(recv), file, bytes, count, flags);
}

INTERPOSING ssize_t recvfrom(int file, void *restrict bytes, size_t count, int flags, struct sockaddr *restrict from,
                             socklen_t *restrict from_bytes) {
    return SPARING(SPARED_TRANSFER, flags & MSG_WAITALL, NEXT(recvfrom), file, bytes, count, flags, from, from_bytes);
}

INTERPOSING ssize_t recvmsg(int file, struct msghdr *message, int flags) {
    return SPARING(SPARED_TRANSFER, flags & MSG_WAITALL, NEXT(recvmsg), file, message, flags);
}

/* ---- Allocating files. ----
 *
 * In memory, the kernel gives up at any signal, and frees what it has allocated. A file that takes longer than an
 * interval would never be allocated, so the thread is not signalled during the second try. */

struct spared_try {
    uint32_t answer_count; /* of the calling thread, before the first try */
    bool was_spared;
};

static struct spared_try first_try(void) { return (struct spared_try){.answer_count = own_signal_answer_count()}; }

static bool begin_second_try(struct spared_try *spared, int error) {
    if (error != EINTR || own_signal_answer_count() == spared->answer_count) return false;
    spared->was_spared = own_signal_spare_thread(true);
    return true;
}

static void end_second_try(const struct spared_try *spared) {
    int saved_errno = errno;
    if (!spared->was_spared) own_signal_spare_thread(false);
    errno = saved_errno;
}

INTERPOSING int fallocate(int file, int mode, off_t offset, off_t bytes_count) {
    struct spared_try spared = first_try();
    int result = next_fallocate()(file, mode, offset, bytes_count);
    if (result == 0 || !begin_second_try(&spared, errno)) return result;
    result = next_fallocate()(file, mode, offset, bytes_count);
    end_second_try(&spared);
    return result;
}

INTERPOSING int posix_fallocate(int file, off_t offset, off_t bytes_count) {
    struct spared_try spared = first_try();
    int error = NEXT(posix_fallocate)(file, offset, bytes_count);
    if (!begin_second_try(&spared, error)) return error;
    error = NEXT(posix_fallocate)(file, offset, bytes_count);
    end_second_try(&spared);
    return error;
}

/* On 64-bit machines, off64_t is off_t. */
GREC_API int fallocate64(int file, int mode, off64_t offset, off64_t bytes_count) __attribute__((alias("fallocate")));
GREC_API int posix_fallocate64(int file, off64_t offset, off64_t bytes_count) __attribute__((alias("posix_fallocate")));

#endif
