/* This process, as its chunks describe it. A forked child finds out by itself that it is another process: the facts are
 * in a page that the kernel clears in children. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared.h"

enum { PROCESS_NAME_BYTES = 64 };

struct process_state {
    uint32_t pid; /* 0: not yet filled in */
    uint32_t parent_pid;
    uint64_t start_ns;      /* when the recorder first saw the process, by CLOCK_MONOTONIC. Tells it from processes that
                               have the same pid in other pid namespaces */
    uint64_t pid_namespace; /* the one that the pid belongs to; 0: not known */
    uint32_t outer_pid;     /* the pid in an outer namespace; 0: there is none, or it is not known */
    uint64_t chunk_count;   /* see process_count_chunk */
    char name[PROCESS_NAME_BYTES];
};

/* Whether the trace contains what a process has done so far, in the programs that it executed before this one. */
enum process_past { PAST_IS_TOLD, PAST_IS_UNKNOWN, PAST_IS_SILENT };

/* Maps the page, once. Returns false when there is no memory. */
bool process_init(void);

/* Returns this process; NULL before process_init. [signal-safe] */
const struct process_state *process_self(void) GREC_SHARED(process_self);

/* Returns the calling thread's id: gettid() is missing in older C libraries. [signal-safe] */
static inline uint32_t process_own_tid(void) { return (uint32_t)syscall(SYS_gettid); }

/* Returns the calling thread's id in the outermost pid namespace that the kernel shows; 0: the kernel shows only the
 * thread's own namespace. Takes 20 µs. [signal-safe] */
uint32_t process_read_outer_tid(void);

/* Returns true to the first caller in each process, unless process_self was called there before. [signal-safe] */
bool process_is_new(void) GREC_SHARED(process_is_new);

/* Counts one more chunk that the process has taken. Call this, and the next one, after process_init. [signal-safe] */
void process_count_chunk(void);

/* Call this when the process begins to record into a trace. */
void process_forget_chunks(void);

/* Maps memory that the kernel clears in forked children. Returns NULL when there is no memory. [signal-safe] */
void *process_map_wiped(size_t bytes_count);
