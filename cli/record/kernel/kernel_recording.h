/* Records with the kernel, through perf_event_open: samples with stacks, and what tasks do. The result is a perf.data
 * stream, as `perf record -o -` writes it. */
#pragma once

#include "kernel_events.h"

struct kernel_recording_options {
    struct kernel_event_options events; /* stack_bytes 0: as much as the rings can hold */
    const char *const *command;         /* the program and its arguments, for the header; borrowed */
    size_t command_count;
};

/* The last processes that began without executing a program, or that named themselves. Servers replace the arguments of
 * such processes with titles shortly after they begin. */
struct kernel_forks {
    struct kernel_fork {
        uint32_t pid; /* 0: none, or it has executed a program */
        uint64_t time_ns;
    } rows[256];
    uint64_t begun_count;   /* processes so far; a process's number modulo the size of `rows` is its row */
    uint64_t written_count; /* processes whose titles were written or dropped */
};

struct kernel_recording {
    struct kernel_recording_options options;
    struct kernel_forks forks;
    struct kernel_rings rings;
    struct kernel_events events;
    struct kernel_stream stream;
    int period_ms;       /* how often to take records, so that no ring fills up */
    int poll_fd;         /* await this too, since the rings may fill up sooner; -1: no need */
    uint64_t flushed_ns; /* when the stream was last written, on CLOCK_MONOTONIC */
    uint64_t sample_count;
    uint64_t lost_count;           /* lost records that the kernel has reported so far */
    struct proc_ids elsewhere;     /* processes in other namespaces that have executed a program; the user takes them */
    uint32_t executing;            /* the process that has just executed a program; 0: none */
    uint64_t refused_count;        /* programs that the kernel refused to record */
    uint64_t hidden_count;         /* processes whose mappings this user may not see */
    bool has_kernel;               /* the kernel's own code is sampled */
    bool lacks_kernel;             /* the kernel refuses to sample its own code */
    const char *nameless_reason;   /* why the kernel's code, which is sampled, has no names; NULL: it has names */
    const char *permission_advice; /* how to allow recording, after a failure due to permissions; otherwise NULL */
};

/* Opens the events for the tasks; system-wide: `tasks` is empty. Returns false after a failure. Call
 * kernel_recording_fini in any case. */
bool kernel_recording_init(struct kernel_recording *recording, const struct kernel_recording_options *options,
                           const struct proc_ids *tasks, struct failure *failure);
void kernel_recording_fini(struct kernel_recording *recording);

/* Writes the head of the stream to `fd`, which is borrowed. Recording begins at once, or when the tasks execute a
 * program. Describes the running processes: the given ones or, if the recording is system-wide, all. Failures to write,
 * now and later, are latched. */
void kernel_recording_begin(struct kernel_recording *recording, int fd, const struct proc_ids *processes,
                            struct failure *failure);

/* Also records a task that is about to execute a program. Closes the files of tasks that have ended. A failure is
 * latched. */
void kernel_recording_add(struct kernel_recording *recording, pid_t task, struct failure *failure);

/* Takes the records from the rings. Call this every `period_ms`, and when `poll_fd` is readable. Records are written at
 * most a second later. */
void kernel_recording_take(struct kernel_recording *recording);

/* Ends the recording and completes the stream. */
void kernel_recording_end(struct kernel_recording *recording);
