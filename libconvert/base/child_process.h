/* Runs work in a child process, for libraries that crash or exit when an allocation fails, a file is damaged, or a
 * mapped file is truncated. The parent survives and learns how the child ended.
 *
 * The child is a fork of the caller and sees a copy of the caller's memory. If the caller has several threads, the
 * child has only the calling one, and any lock that another thread held stays locked. The work may therefore use only
 * the allocator (glibc and musl make it usable after a fork) and libraries that lock nothing but their own objects. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct memory_limit;

enum { CHANNEL_BYTES = 32 * 1024 };

/* One end of the connection between parent and child. An end may alternate between sending and receiving. */
struct channel {
    int descriptor;
    bool is_sending; /* whether bytes[start..end] were sent but not flushed, or received but not taken */
    size_t start;
    size_t end;
    char bytes[CHANNEL_BYTES];
};

/* Sends the bytes; some of them may stay buffered until channel_flush. An end that has received must have taken
 * everything that the other end sent. Returns false if the other process has ended. Never raises SIGPIPE. */
bool channel_send(struct channel *channel, const void *bytes, size_t bytes_count);
bool channel_flush(struct channel *channel);

/* Flushes, then receives exactly that many bytes. Returns false if the other process ended before it had sent them. */
bool channel_receive(struct channel *channel, void *bytes, size_t bytes_count);

struct child_process {
    pid_t pid;              /* 0: a thread does the work instead, which happens only under sanitizers */
    pthread_t thread;       /* set if pid is 0 */
    struct channel channel; /* the parent's end */
};

enum child_end {
    CHILD_DONE,       /* the work returned */
    CHILD_NO_MEMORY,  /* child_leave, or exit, which some libraries call when memory runs out */
    CHILD_LOST_BYTES, /* SIGBUS: a mapped file was truncated, or its disk failed */
    CHILD_CRASHED     /* any other signal */
};

/* The work of the child. Whatever it has sent is flushed after it returns. */
typedef void child_work(void *context, struct channel *channel);

/* Starts a child that does the work and then ends without running the caller's exit handlers. If no child can be
 * started, returns false with errno set; otherwise the caller must call child_await. Thread-safe.
 *
 * The child has no open files except standard error and its end of the channel. It takes no signals, writes no core
 * file, and is killed when the thread that started it ends. If there is a limit, the child can allocate that much,
 * whatever is in use; then its allocations fail. What it can read therefore does not depend on what other threads use.
 * A thread in place of the child has no limit. */
bool child_start(struct child_process *child, child_work *work, void *context, const struct memory_limit *limit);

/* Closes the channel, waits for the child and returns how it ended. A child that is still sending notices the close and
 * ends with CHILD_NO_MEMORY. If another part of the program has already waited for the child, returns CHILD_CRASHED. */
enum child_end child_await(struct child_process *child);

/* Ends this process with CHILD_NO_MEMORY. Only the work may call it. */
__attribute__((noreturn)) void child_leave(void);
