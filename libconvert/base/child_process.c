#include "child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"
#include "memory.h"

enum { EXIT_NO_MEMORY = 4 };

/* ---- The connection. ---- */

/* Returns how many bytes were sent; 0: the other process has ended. write would raise SIGPIPE, which ends a program
 * that does not expect it. */
static size_t send_some(struct channel *channel, const char *bytes, size_t bytes_count) {
    ssize_t count;
    do {
        count = send(channel->descriptor, bytes, bytes_count, MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    return count > 0 ? (size_t)count : 0;
}

bool channel_flush(struct channel *channel) {
    while (channel->is_sending && channel->start < channel->end) {
        size_t count = send_some(channel, channel->bytes + channel->start, channel->end - channel->start);
        if (!count) return false;
        channel->start += count;
    }
    if (channel->is_sending) channel->start = channel->end = 0;
    return true;
}

bool channel_send(struct channel *channel, const void *bytes, size_t bytes_count) {
    const char *next = bytes;
    if (!channel->is_sending) channel->start = channel->end = 0;
    channel->is_sending = true;
    while (bytes_count) {
        size_t room = CHANNEL_BYTES - channel->end, count = bytes_count < room ? bytes_count : room;
        if (!channel->end && bytes_count >= CHANNEL_BYTES) {
            count = send_some(channel, next, bytes_count); /* sections of a library have megabytes */
            if (!count) return false;
        } else {
            memcpy(channel->bytes + channel->end, next, count);
            channel->end += count;
            if (channel->end == CHANNEL_BYTES && !channel_flush(channel)) return false;
        }
        next += count;
        bytes_count -= count;
    }
    return true;
}

/* Returns how many bytes were received; 0: the other process has ended. */
static size_t receive_some(struct channel *channel, char *bytes, size_t bytes_max) {
    ssize_t count;
    do {
        count = recv(channel->descriptor, bytes, bytes_max, 0);
    } while (count < 0 && errno == EINTR);
    return count > 0 ? (size_t)count : 0;
}

bool channel_receive(struct channel *channel, void *bytes, size_t bytes_count) {
    char *next = bytes;
    if (!channel_flush(channel)) return false;
    channel->is_sending = false;
    while (bytes_count) {
        size_t left = channel->end - channel->start, count = bytes_count < left ? bytes_count : left;
        if (!left && bytes_count < CHANNEL_BYTES) {
            channel->start = 0;
            channel->end = receive_some(channel, channel->bytes, CHANNEL_BYTES);
            if (!channel->end) return false;
        } else if (!left) {
            count = receive_some(channel, next, bytes_count); /* sections of a library have megabytes */
            if (!count) return false;
        } else {
            memcpy(next, channel->bytes + channel->start, count);
            channel->start += count;
        }
        next += count;
        bytes_count -= count;
    }
    return true;
}

/* ---- A thread in place of the child. ---- */

/* The allocators of the address and thread sanitizers (gcc 12, LLVM 14) may stay locked in the child of a program with
 * several threads. Under these sanitizers a thread does the work of such a child. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZED_ALLOCATOR
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZED_ALLOCATOR
#endif
#endif

#ifdef HAS_SANITIZED_ALLOCATOR
#include <sys/single_threaded.h>
static bool needs_thread(void) { return !__libc_single_threaded; }
#else
static bool needs_thread(void) { return false; }
#endif

struct thread_work {
    child_work *work;
    void *context;
    int descriptor;
};

static _Thread_local struct thread_work *own_work;

__attribute__((noreturn)) static void end_thread(enum child_end end) {
    close(own_work->descriptor);
    free(own_work);
    pthread_exit((void *)(intptr_t)end);
}

static void *run_thread(void *context) {
    own_work = context;
    struct channel channel = {.descriptor = own_work->descriptor};
    own_work->work(own_work->context, &channel);
    end_thread(channel_flush(&channel) ? CHILD_DONE : CHILD_NO_MEMORY);
}

static bool start_thread(struct child_process *child, child_work *work, void *context, int descriptor) {
    struct thread_work *own = malloc(sizeof *own);
    if (own) *own = (struct thread_work){work, context, descriptor};
    child->pid = 0;
    errno = own ? pthread_create(&child->thread, NULL, run_thread, own) : ENOMEM;
    if (errno == 0) return true;
    free(own);
    return false;
}

static enum child_end await_thread(struct child_process *child) {
    void *end;
    pthread_join(child->thread, &end);
    return (enum child_end)(intptr_t)end;
}

/* ---- In the child. ---- */

static bool is_child;

void child_leave(void) {
    if (own_work) end_thread(CHILD_NO_MEMORY);
    _exit(EXIT_NO_MEMORY);
}

/* In the child, exit would run the exit handlers of the parent's program and flush its buffered output a second time.
 */
static void handle_exit(void) {
    if (is_child) child_leave();
}

/* A descriptor inherited from the parent may hold a file lock. It may also be the end of another child's channel, which
 * its parent expects to be closed when that child ends. */
static void close_descriptors(int from, int to) {
    if (from > to || syscall(SYS_close_range, from, to, 0) == 0) return;
    long limit = sysconf(_SC_OPEN_MAX);
    for (int descriptor = from; descriptor <= to && descriptor < limit; descriptor++) close(descriptor);
}

static int keep_descriptor(int descriptor) {
    int kept = descriptor > STDERR_FILENO ? descriptor : fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (kept < 0) child_leave();
    close_descriptors(0, STDERR_FILENO - 1);
    close_descriptors(STDERR_FILENO + 1, kept - 1);
    close_descriptors(kept + 1, INT_MAX);
    return kept;
}

/* RLIMIT_DATA counts all private memory that can be written, touched or not, and with it what the child inherited. The
 * limit is therefore added to what is in use. */
static void limit_memory(const struct memory_limit *limit) {
    uint64_t own_bytes = machine_data_bytes(), allowed_bytes;
    struct rlimit data;
    if (!own_bytes || getrlimit(RLIMIT_DATA, &data) != 0) return;
    if (__builtin_add_overflow(own_bytes, limit->limit_bytes, &allowed_bytes)) return;
    if (data.rlim_cur == RLIM_INFINITY || allowed_bytes < data.rlim_cur) data.rlim_cur = allowed_bytes;
    setrlimit(RLIMIT_DATA, &data);
}

/* Runs with all signals blocked. If a fault raises a blocked signal, the kernel ends the process and does not call the
 * program's handler. */
__attribute__((noreturn)) static void run_child(pid_t parent, int descriptor, child_work *work, void *context,
                                                const struct memory_limit *limit) {
    is_child = true;
    if (limit) limit_memory(limit);
    signal(SIGABRT, SIG_DFL); /* abort unblocks this signal */
    struct rlimit core;
    if (getrlimit(RLIMIT_CORE, &core) == 0) setrlimit(RLIMIT_CORE, &(struct rlimit){0, core.rlim_max});
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) child_leave();
    struct channel channel = {.descriptor = keep_descriptor(descriptor)};
    work(context, &channel);
    if (!channel_flush(&channel)) child_leave();
    _exit(EXIT_SUCCESS);
}

/* ---- In the parent. ---- */

/* Returns false if memory ran out. */
static bool watch_exit(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static bool is_watched;
    pthread_mutex_lock(&mutex);
    is_watched = is_watched || atexit(handle_exit) == 0;
    bool is_good = is_watched;
    pthread_mutex_unlock(&mutex);
    if (!is_good) errno = ENOMEM;
    return is_good;
}

/* Returns false with errno set if no child can be started. */
static bool start_process(struct child_process *child, child_work *work, void *context,
                          const struct memory_limit *limit, int descriptor) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    child->pid = fork();
    if (child->pid == 0) run_child(parent, descriptor, work, context, limit);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return child->pid > 0;
}

bool child_start(struct child_process *child, child_work *work, void *context, const struct memory_limit *limit) {
    int ends[2];
    if (!watch_exit() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    bool is_thread = needs_thread();
    bool is_started =
        is_thread ? start_thread(child, work, context, ends[1]) : start_process(child, work, context, limit, ends[1]);
    int error = errno;
    if (!is_started || !is_thread) close(ends[1]);
    if (!is_started) close(ends[0]);
    child->channel.descriptor = ends[0];
    child->channel.is_sending = false;
    child->channel.start = child->channel.end = 0;
    errno = error;
    return is_started;
}

enum child_end child_await(struct child_process *child) {
    int status;
    close(child->channel.descriptor);
    if (!child->pid) return await_thread(child);
    pid_t awaited;
    do {
        awaited = waitpid(child->pid, &status, 0);
    } while (awaited < 0 && errno == EINTR);
    if (awaited < 0) return CHILD_CRASHED;
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGBUS ? CHILD_LOST_BYTES : CHILD_CRASHED;
    if (WEXITSTATUS(status) == EXIT_NO_MEMORY) return CHILD_NO_MEMORY;
    return WEXITSTATUS(status) == EXIT_SUCCESS ? CHILD_DONE : CHILD_CRASHED;
}
