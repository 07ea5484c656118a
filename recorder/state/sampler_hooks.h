/* The functions of the sampler that the recorder calls. The sampler is a library of its own, libgecko_sampler. The
 * recorder calls it only through this table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "process.h"
#include "recorder/gecko_recorder.h"
#include "shared.h"

enum { SAMPLER_INTERVAL_US_MIN = 100, SAMPLER_INTERVAL_US_DEFAULT = 1000 };

/* What can change while the sampler runs. */
struct sampler_settings {
    uint32_t interval_us;
    /* enum grec_option_flag: which threads are sampled, which counters there are, and whether there are stacks. Without
     * GREC_SAMPLER, the sampler's thread only prepares chunks, and waits for commands and for settings with that flag.
     */
    uint32_t flags;
    bool is_paused;         /* the sampler records counters alone */
    enum process_past past; /* unless this is PAST_IS_TOLD, samples also stand for processor time before the start */
};

struct packed_stack;
struct recording;

struct sampler_hooks {
    char version[16]; /* GREC_VERSION: the two libraries must have the same version */

    /* Call this once, before the other functions. */
    void (*init)(void);

    /* ---- The sampler's thread. Call these with the session's mutex held, unless said otherwise. ---- */

    /* Starts the thread for the recording that is on. begins_late: it begins only if the process runs long enough,
     * which most child processes do not. Returns false if the system has no thread. */
    bool (*start)(const struct sampler_settings *settings, bool begins_late);
    /* Whether the thread has been started and not stopped. */
    bool (*is_started)(void);
    /* Whether the thread that was last started has begun to make rounds. */
    bool (*has_begun)(void);
    /* Changes the settings of the running sampler, if there is one, from its next round on. [signal-safe] */
    void (*change)(const struct sampler_settings *settings);
    /* Stops the sampler. Its signals may still be pending. is_process_ending: a sampler that has not begun yet is left
     * asleep, which saves time. */
    void (*stop)(bool is_process_ending);
    /* Ends a sampler that makes rounds. Returns false if it has not ended by the limit. [signal-safe] */
    bool (*finish)(uint64_t limit_ns);
    /* Frees what the handlers use. Call this when no thread is in a recording call. */
    void (*forget)(void);
    /* How many threads the sampler has in this process. [any thread] [signal-safe] */
    uint32_t (*thread_count)(void);
    /* Whether the sampler's thread samples, or does so from now on. [any thread] [signal-safe] */
    bool (*samples_threads)(void);
    /* Whether the thread has the trace's file open in a descriptor table of its own. [any thread] [signal-safe] */
    bool (*has_trace_file)(void);
    /* If the sampler has stopped before it began, writes samples of the processor time that threads have used. Then, if
     * this process has no sample in the recording, writes a marker that shows when it recorded. start_ns: since when;
     * 0: since the recording's start. end: until when. is_confined: a filter of system calls may forbid reading what
     * threads have used. Call this when the sampler has stopped. */
    void (*mark_unsampled)(uint64_t start_ns, grec_time end, bool is_confined);
    /* Call this in each thread of the program as it ends by pthread_exit or returns from its function. is_first: it is
     * the first thread of the process. */
    void (*end_of_thread)(bool is_first);

    /* ---- Signals. ---- */

    /* Whether the text names a signal that the sampler may use. */
    bool (*is_signal_name)(const char *text);
    /* Call this before a filter of system calls is installed under which no handler can return. */
    void (*forbid_signal)(void);

    /* ---- Forks. ---- */

    /* Call these before a fork, and after it in both processes. prepare_fork returns whether the child can have a
     * sampler. */
    bool (*prepare_fork)(void);
    void (*finish_fork)(bool is_child);
    /* Waits until the C library has made the sampler's thread, if it is making one. The wait is bounded. */
    void (*await_begin)(void);
    /* In a forked child: it has no sampler yet; and, if it records, it has mapped what its parent has defined. */
    void (*leave_parent)(void);
    void (*enter_child)(void);

    /* ---- Stacks of the calling thread, for markers and other entries. ---- */

    /* Packs the calling thread's stack from the caller of the public function that has the frame address `entry`
     * (__builtin_frame_address), with its labels. Returns false if there are no native frames, because the program's
     * tables are not built yet. Outermost frames that do not fit into bytes_max bytes are left out. [any thread]
     * [signal-safe] */
    bool (*pack_stack)(struct packed_stack *stack, uint32_t bytes_max, const void *entry);
    /* Returns the id of the last mapping that this process has defined or inherited. Call this in a recording call of
     * depth 0. [any thread] [signal-safe] */
    uint32_t (*last_mapping_id)(void);

    /* ---- Single allocations: see recorder/sampler/allocations.h. ---- */

    void (*add_allocation)(const void *address, size_t bytes_count, const void *entry);
    void (*remove_allocation)(const void *address, const void *entry);
    void (*forget_allocations)(void);
    void (*resume_allocations)(void);

    /* ---- Others. ---- */

    /* Makes the sampler take a sample of another thread, or make two rounds. Call these outside recording calls. */
    enum grec_error (*sample_thread)(struct grec_thread thread);
    enum grec_error (*wait_for_rounds)(void);
    /* Writes the parts to the program's standard error, if the calling thread is the sampler's, which may lack it.
     * Returns false in any other thread. [any thread] [signal-safe] */
    bool (*report)(const struct iovec *parts, int count);
};

/* The sampler's; NULL: its library is not loaded. Other threads may read it by sampler_table while it is loaded. */
extern const struct sampler_hooks *sampler_hooks GREC_SHARED(sampler_hooks);

static inline const struct sampler_hooks *sampler_table(void) {
    return __atomic_load_n(&sampler_hooks, __ATOMIC_ACQUIRE);
}

/* The table in libgecko_sampler. */
extern const struct sampler_hooks grec_sampler_hooks_ __attribute__((weak, visibility("default")));

static inline bool sampler_samples_threads_now(void) { return sampler_table() && sampler_table()->samples_threads(); }

/* How many threads the recorder has in this process. [signal-safe] */
static inline uint32_t sampler_thread_count(void) { return sampler_table() ? sampler_table()->thread_count() : 0; }
