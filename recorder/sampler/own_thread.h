/* A thread of the recorder. It blocks all signals, has a descriptor table of its own (own_files.h), and keeps no
 * process alive: when the last of the program's threads has ended, it ends too.
 *
 * If the program's first thread ends by pthread_exit, the C library calls exit in the last thread of the process. That
 * thread must have the program's descriptors. So the first thread, as it ends, starts one more: the keeper shares the
 * program's table, sleeps, and calls exit when only the recorder's threads are left. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/state/own_files.h"

#define KEEPER_THREAD_NAME "grec-keeper"

/* The time between two checks of a thread whether it is alone. */
enum { OWN_THREAD_CHECK_NS = 100000000 };

struct own_thread {
    pthread_t handle;
    bool is_running;    /* started, and not joined */
    uint32_t has_begun; /* a futex: 1 once the thread has descriptors of its own, and its name */
    const char *name;   /* static */
    void (*run)(void);
    int trace_file;
    bool begins_late;
    /* Used by the thread itself. */
    pid_t tid;
    struct own_file process_file;
    uint64_t next_check_ns;
};

/* Call this in the first thread of the process, before it can start others. Does nothing in any other thread. */
void own_thread_init(void);

/* Starts the thread, with the trace's file open in its table (-1: there is none), and waits until it has that table and
 * its name. Returns false if the system has no thread.
 *
 * begins_late: the thread has nothing to do at first, and may end before it has. Then nothing waits for it, and the
 * trace's file may not be open in its table. */
bool own_thread_start(struct own_thread *thread, const char *name, void (*run)(void), int trace_file, bool begins_late);

/* Waits until the thread has descriptors of its own. The wait is bounded. */
void own_thread_await_begin(struct own_thread *thread);

/* Waits until the thread, which was told to end, has ended. Does not wait if the calling thread is that thread: the
 * process may end in it. */
void own_thread_join(struct own_thread *thread);

/* Waits until the thread, which was told to end, has ended, and leaves its stack to the end of the process. Returns
 * false after the limit. [signal-safe] */
bool own_thread_await_end(struct own_thread *thread, uint64_t limit_ns);

/* Call this in a forked child, which has none of its parent's threads. */
void own_thread_forget(struct own_thread *thread);

/* Returns how many threads the recorder has in this process. [signal-safe] */
uint32_t own_thread_count(void);

/* Returns whether all of the program's threads have ended: then the calling thread must return. Checks once in
 * OWN_THREAD_CHECK_NS. Call this in the thread itself. */
bool own_thread_is_alone(struct own_thread *thread, uint64_t now_ns);

/* Call this in a thread of the program as it ends by pthread_exit or returns from its function. In the first thread of
 * the process, starts the keeper if the recorder has threads. In another one, notes if the first has already ended. */
void own_thread_end_of_another(bool is_first);
