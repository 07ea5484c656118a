/* Interposes functions of the C library that any signal handler cuts short in the middle of their work, even one with
 * SA_RESTART: they return how much they have done so far. `dd if=/dev/zero bs=1M count=100` would copy less. Functions
 * for sockets also end with EINTR after any handler if the socket has a time limit. The sampler does not signal a
 * thread in such a call. Only the shared library has these functions. */

/* With these, headers define some of the functions themselves, or give them other names. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <fcntl.h>
#include <limits.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder/preload/next_function.h"
#include "recorder/preload/spared_call.h"

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

/* A pipe transfers that much whole, or not at all (pipe(7)), and so do most devices. */
enum { WHOLE_BYTES = PIPE_BUF };

/* The kernel transfers no more by one call. */
static const size_t TRANSFER_BYTES_MAX = 0x7ffff000;

/* Processor time that the kernel uses for a transfer at most, with the slowest of devices (/dev/urandom). */
static uint64_t transfer_ns(size_t bytes_count) {
    enum { NS_PER_BYTE = 20 };
    return SPARED_WAIT_NS + NS_PER_BYTE * (bytes_count < TRANSFER_BYTES_MAX ? bytes_count : TRANSFER_BYTES_MAX);
}

/* Most forked children that make only short transfers end before their samplers begin. */
#define TRANSFER(bytes_count, callee, ...) \
    SPARING(transfer_ns(bytes_count), (bytes_count) > WHOLE_BYTES, callee, __VA_ARGS__)

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

/* Programs that are built with _FORTIFY_SOURCE call these. */
ssize_t __read_chk(int file, void *bytes, size_t count, size_t bytes_max);
ssize_t __recv_chk(int file, void *bytes, size_t count, size_t bytes_max, int flags);
ssize_t __recvfrom_chk(int file, void *restrict bytes, size_t count, size_t bytes_max, int flags,
                       struct sockaddr *restrict from, socklen_t *restrict from_bytes);

/* ---- Files of any kind. ---- */

INTERPOSING ssize_t read(int file, void *bytes, size_t count) {
    return TRANSFER(count, next_read(), file, bytes, count);
}

INTERPOSING ssize_t __read_chk(int file, void *bytes, size_t count, size_t bytes_max) {
    return TRANSFER(count, NEXT(__read_chk), file, bytes, count, bytes_max);
}

INTERPOSING ssize_t write(int file, const void *bytes, size_t count) {
    return TRANSFER(count, next_write(), file, bytes, count);
}

/* The lengths are not looked at, because their addresses may be invalid. */
INTERPOSING ssize_t writev(int file, const struct iovec *parts, int part_count) {
    return TRANSFER(TRANSFER_BYTES_MAX, NEXT(writev), file, parts, part_count);
}

INTERPOSING ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
    return TRANSFER(count, NEXT(sendfile), to, from, offset, count);
}

INTERPOSING ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
    return TRANSFER(count, NEXT(getrandom), bytes, count, flags);
}

/* ---- Sockets, which may have a time limit. ---- */

#define SOCKET_TRANSFER(bytes_count, callee, ...) SPARING(transfer_ns(bytes_count), true, callee, __VA_ARGS__)

INTERPOSING int accept(int file, struct sockaddr *restrict from, socklen_t *restrict from_bytes) {
    return SOCKET_TRANSFER(0, NEXT(accept), file, from, from_bytes);
}

INTERPOSING int accept4(int file, struct sockaddr *restrict from, socklen_t *restrict from_bytes, int flags) {
    return SOCKET_TRANSFER(0, NEXT(accept4), file, from, from_bytes, flags);
}

INTERPOSING int connect(int file, const struct sockaddr *to, socklen_t to_bytes) {
    return SOCKET_TRANSFER(0, NEXT(connect), file, to, to_bytes);
}

INTERPOSING ssize_t send(int file, const void *bytes, size_t count, int flags) {
    return SOCKET_TRANSFER(count, next_send(), file, bytes, count, flags);
}

INTERPOSING ssize_t sendto(int file, const void *bytes, size_t count, int flags, const struct sockaddr *to,
                           socklen_t to_bytes) {
    return SOCKET_TRANSFER(count, NEXT(sendto), file, bytes, count, flags, to, to_bytes);
}

INTERPOSING ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
    return SOCKET_TRANSFER(TRANSFER_BYTES_MAX, NEXT(sendmsg), file, message, flags);
}

INTERPOSING int sendmmsg(int file, struct mmsghdr *messages, unsigned count, int flags) {
    return SOCKET_TRANSFER(TRANSFER_BYTES_MAX, NEXT(sendmmsg), file, messages, count, flags);
}

INTERPOSING ssize_t recv(int file, void *bytes, size_t count, int flags) {
    return SOCKET_TRANSFER(count, NEXT(recv), file, bytes, count, flags);
}

INTERPOSING ssize_t recvfrom(int file, void *restrict bytes, size_t count, int flags, struct sockaddr *restrict from,
                             socklen_t *restrict from_bytes) {
    return SOCKET_TRANSFER(count, NEXT(recvfrom), file, bytes, count, flags, from, from_bytes);
}

INTERPOSING ssize_t __recv_chk(int file, void *bytes, size_t count, size_t bytes_max, int flags) {
    return SOCKET_TRANSFER(count, NEXT(__recv_chk), file, bytes, count, bytes_max, flags);
}

INTERPOSING ssize_t __recvfrom_chk(int file, void *restrict bytes, size_t count, size_t bytes_max, int flags,
                                   struct sockaddr *restrict from, socklen_t *restrict from_bytes) {
    return SOCKET_TRANSFER(count, NEXT(__recvfrom_chk), file, bytes, count, bytes_max, flags, from, from_bytes);
}

INTERPOSING ssize_t recvmsg(int file, struct msghdr *message, int flags) {
    return SOCKET_TRANSFER(TRANSFER_BYTES_MAX, NEXT(recvmsg), file, message, flags);
}

INTERPOSING int recvmmsg(int file, struct mmsghdr *messages, unsigned count, int flags, struct timespec *limit) {
    return SOCKET_TRANSFER(TRANSFER_BYTES_MAX, NEXT(recvmmsg), file, messages, count, flags, limit);
}

/* ---- Allocating files. ----
 *
 * In memory, the kernel gives up at any signal, and frees what it has allocated. A file that takes longer than an
 * interval would never be allocated. */

INTERPOSING int fallocate(int file, int mode, off_t offset, off_t bytes_count) {
    return SPARING(SPARED_ALLOCATION_NS, true, next_fallocate(), file, mode, offset, bytes_count);
}

INTERPOSING int posix_fallocate(int file, off_t offset, off_t bytes_count) {
    return SPARING(SPARED_ALLOCATION_NS, true, NEXT(posix_fallocate), file, offset, bytes_count);
}

/* On 64-bit machines, off64_t is off_t. */
GREC_API int fallocate64(int file, int mode, off64_t offset, off64_t bytes_count) __attribute__((alias("fallocate")));
GREC_API int posix_fallocate64(int file, off64_t offset, off64_t bytes_count) __attribute__((alias("posix_fallocate")));
GREC_API ssize_t sendfile64(int to, int from, off64_t *offset, size_t count) __attribute__((alias("sendfile")));

#endif
