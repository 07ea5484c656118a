/* Records by the kernel, through perf_event_open: samples with stacks, and what tasks do. The result is a perf.data
 * stream, as `perf record -o -` writes it. */
#ifndef GECKO_KERNEL_RECORDING_H
#define GECKO_KERNEL_RECORDING_H

#include "kernel_events.h"

struct kernel_recording_options {
    struct kernel_events_wanted events;
    const char *const *command; /* the program and its arguments, for the header; borrowed */
    size_t command_count;
};

struct kernel_recording {
    struct kernel_rings rings;
    struct kernel_events events;
    struct kernel_stream stream;
    size_t trailer_bytes;
    uint64_t sample_count;
    uint64_t lost_count; /* records that found no room; so far those that the kernel has told of */
    bool has_kernel;     /* samples of the kernel's code are taken */
    bool names_kernel;   /* and its addresses are known */
    bool is_refused;     /* a failure is due to permissions */
};

/* Opens the events for the tasks (system-wide: `tasks` is empty), and writes the head of the stream to `fd`, which is
 * borrowed. What is recorded begins when the tasks execute a program, or by kernel_recording_begin. Returns false after
 * a failure. Call kernel_recording_fini in any case. */
bool kernel_recording_init(struct kernel_recording *recording, const struct kernel_recording_options *options,
                           const struct proc_ids *tasks, int fd, struct failure *failure);
void kernel_recording_fini(struct kernel_recording *recording);

/* Begins to record tasks that run already, and describes these processes. */
void kernel_recording_begin(struct kernel_recording *recording, const struct proc_ids *processes);

/* Returns a descriptor that is readable when records should be taken from the kernel. */
int kernel_recording_poll_fd(const struct kernel_recording *recording);

/* Takes the records that there are, and writes them. */
void kernel_recording_take(struct kernel_recording *recording);

/* Ends the recording and completes the stream. Failures of writing are latched in the failure of _init. */
void kernel_recording_end(struct kernel_recording *recording);

#endif
