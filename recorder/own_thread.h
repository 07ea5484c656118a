/* A thread of the recorder's own. It blocks all signals, and keeps no process alive: when the last of the program's
 * threads has ended, it ends too. So the C library calls exit, as it does behind the last thread that returns, or the
 * process ends as the first thread did. */
#ifndef GREC_OWN_THREAD_H
#define GREC_OWN_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "kept_file.h"

enum { OWN_THREAD_LOOK_NS = 100000000 };

struct own_thread {
    pthread_t handle;
    bool is_running; /* has been started, and not joined */
    void (*run)(void);
    sigset_t signals_before; /* of who started it */
    /* The thread's own. */
    pid_t tid;
    struct kept_file process_file;
    uint64_t next_look_ns;
};

/* False: there is no thread to be had. */
bool own_thread_start(struct own_thread *thread, void (*run)(void));

/* Waits for its end, which it was told of; the thread itself, in which the process may come to its end, does not. */
void own_thread_join(struct own_thread *thread);

/* After that: waits until the kernel does not count it among the process's threads any more, a moment later. */
void own_thread_await_gone(const struct own_thread *thread);

/* In a forked child, which has none of them. */
void own_thread_forget(struct own_thread *thread);

/* How many threads of its own the recorder has in this process. [signal-safe] */
uint32_t own_thread_count(void);

/* Asked by the thread: the program's have all ended, so this one is to return. Looks once in OWN_THREAD_LOOK_NS. */
bool own_thread_is_alone(struct own_thread *thread, uint64_t now_ns);

#endif
