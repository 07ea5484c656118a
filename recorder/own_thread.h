/* A thread of the recorder's own. It blocks all signals, has a descriptor table of its own (own_files.h), and keeps no
 * process alive: when the last of the program's threads has ended, it ends too.
 *
 * If the program's first thread ends by pthread_exit, the C library calls exit behind the last thread of all. That must
 * not happen in a thread without the program's descriptors. So the first thread, as it ends, starts one more: the
 * keeper shares the program's table, sleeps, and calls exit when only the recorder's threads are left. */
#ifndef GREC_OWN_THREAD_H
#define GREC_OWN_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "own_files.h"

enum { OWN_THREAD_LOOK_NS = 100000000 };

struct own_thread {
    pthread_t handle;
    bool is_running; /* has been started, and not joined */
    void (*run)(void);
    int trace_file;
    /* The thread's own. */
    pid_t tid;
    struct own_file process_file;
    uint64_t next_look_ns;
};

/* Starts the thread, which has the trace's file open (-1: there is none). Returns false if there is no thread to be
 * had. */
bool own_thread_start(struct own_thread *thread, void (*run)(void), int trace_file);

/* Waits until the thread, which was told to end, is gone from the process. Does not wait if the calling thread is that
 * one: the process may come to its end in it. */
void own_thread_join(struct own_thread *thread);

/* In a forked child, which has none of them. */
void own_thread_forget(struct own_thread *thread);

/* How many threads of its own the recorder has in this process. [signal-safe] */
uint32_t own_thread_count(void);

/* Asked by the thread: the program's have all ended, so this one is to return. Looks once in OWN_THREAD_LOOK_NS. */
bool own_thread_is_alone(struct own_thread *thread, uint64_t now_ns);

/* Called by the program's first thread as it ends by pthread_exit: starts the keeper if there are threads of the
 * recorder. */
void own_thread_end_first(void);

/* How many of the recorder's threads have the trace open in tables of their own. [any thread] */
uint32_t own_thread_file_count(void);

#endif
