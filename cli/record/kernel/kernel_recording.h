/* Records by the kernel, through perf_event_open: samples with stacks, and what tasks do. The result is a perf.data
 * stream, as `perf record -o -` writes it. */
#pragma once

#include "kernel_events.h"

struct kernel_recording_options {
    struct kernel_event_options events; /* stack_bytes 0: as much as the rings are good for */
    const char *const *command;         /* the program and its arguments, for the header; borrowed */
    size_t command_count;
};

/* The last processes that began without executing a program, or that named themselves. Servers give those titles in
 * place of their arguments, after they have begun. */
struct kernel_forks {
    struct kernel_fork {
        uint32_t pid; /* 0: none, or it has executed a program */
        uint64_t time_ns;
    } rows[256];
    uint64_t begun_count; /* tasks that have begun; a task's number modulo the size of `rows` is its row */
    uint64_t written_count;
};

struct kernel_recording {
    struct kernel_recording_options options;
    struct kernel_forks forks;
    struct kernel_rings rings;
    struct kernel_events events;
    struct kernel_stream stream;
    uint64_t flushed_ns; /* when the stream was last written, on CLOCK_MONOTONIC */
    uint64_t sample_count;
    uint64_t lost_count;           /* records that found no room; so far those that the kernel has told of */
    uint32_t executing;            /* the process that has just executed a program; 0: none */
    uint64_t refused_count;        /* programs whose recording the kernel has ended as they began */
    uint64_t hidden_count;         /* processes whose mappings this user may not see */
    bool has_kernel;               /* the kernel's own code is sampled */
    bool lacks_kernel;             /* the kernel refuses to sample its own code */
    const char *nameless_reason;   /* why the kernel's code, which is sampled, has no names; NULL: it has */
    const char *permission_advice; /* what would allow it, if a failure is due to permissions; otherwise NULL */
};

/* Opens the events for the tasks; system-wide: `tasks` is empty. Returns false after a failure. Call
 * kernel_recording_fini in any case. */
bool kernel_recording_init(struct kernel_recording *recording, const struct kernel_recording_options *options,
                           const struct proc_ids *tasks, struct failure *failure);
void kernel_recording_fini(struct kernel_recording *recording);

/* Writes the head of the stream to `fd`, which is borrowed. Recording begins at once, or when the tasks execute a
 * program. Processes that run already are described: these, or all if the recording is system-wide. Failures of
 * writing, now and later, are latched. */
void kernel_recording_begin(struct kernel_recording *recording, int fd, const struct proc_ids *processes,
                            struct failure *failure);

/* Also records a task that is about to execute a program. Tasks that have ended need no files any more. A failure is
 * latched. */
void kernel_recording_add(struct kernel_recording *recording, pid_t task, struct failure *failure);

/* Takes the records that there are; to be called when the rings' poll_fd is readable, and often. They are written at
 * most a second later. */
void kernel_recording_take(struct kernel_recording *recording);

/* Ends the recording and completes the stream. */
void kernel_recording_end(struct kernel_recording *recording);
