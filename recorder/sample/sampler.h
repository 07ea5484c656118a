/* The sampler: a thread that makes a round at each interval. Threads that run interrupt themselves by clocks of their
 * own (thread_clocks.h), and leave their stacks (sample_ring.h). In each round, the sampler writes those, and looks
 * where the other threads wait (thread_observer.h). */
#ifndef GREC_SAMPLER_H
#define GREC_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLER_INTERVAL_US_MIN = 100, SAMPLER_INTERVAL_US_DEFAULT = 1000 };

/* What can change while the sampler runs. */
struct sampler_settings {
    uint32_t interval_us;
    /* enum grec_option_flag: which threads are sampled, which counters there are, and whether there are stacks. Without
     * GREC_SAMPLER, the sampler only waits for commands and for settings with that flag. */
    uint32_t flags;
    bool is_paused; /* the sampler records counters alone */
};

struct sampler_options {
    struct sampler_settings settings;
    bool begins_late;     /* begins only if the process runs long enough, which most child processes do not */
    bool prepares_chunks; /* reserves chunks ahead of need, since the process has no helper thread */
};

/* Starts the sampler for the recording that is on. Returns false if the system has no thread. */
bool sampler_start(const struct sampler_options *options);

/* Whether the sampler that was last started has begun to make rounds. */
bool sampler_has_begun(void);

/* Whether the sampler has been started and not stopped. Call this in the threads that start and stop it. */
bool sampler_is_started(void);

/* Waits until the C library has made the sampler's thread, if it is making one. The wait is bounded. errno stays as it
 * is. */
void sampler_await_begin(void);

/* Changes the settings of the running sampler, if there is one, from its next round on. [signal-safe] */
void sampler_change(const struct sampler_settings *settings);

/* Stops the sampler. Its signals may still be pending. is_process_ending: a sampler that has not begun yet is left
 * asleep, which saves time. */
void sampler_stop(bool is_process_ending);

/* Frees what the handlers use. Call this when no thread is in a recording call. */
void sampler_forget(void);

/* Makes the sampler make rounds at once, until is_done returns true, or, with is_done NULL, until two rounds that began
 * later have ended: the second has the answers of threads to the first. Returns false if the sampler ended, recording
 * was paused, or the limit has passed before. Call this in threads of the program, outside recording calls. */
bool sampler_demand_rounds(uint64_t limit_ns, bool (*is_done)(void *context), void *context);

/* For tests: calls the function in the sampler's thread after each round. */
void sampler_call_after_rounds(void (*callback)(void *context), void *context);

/* Call this in a forked child, which has no sampler yet. */
void sampler_leave_parent(void);

#endif
