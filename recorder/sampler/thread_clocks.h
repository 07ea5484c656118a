/* The clocks of a thread by which it interrupts itself, so that it leaves its stack where its processor time goes:
 *
 * - an event of the kernel (perf_event_open) that counts the thread's processor time, and signals the thread each time
 *   an interval of it has passed, if the thread is in its own code at that moment;
 * - a timer on the thread's processor time. The kernel checks it at each clock tick, and signals the thread on its way
 *   back to its own code. So it also fires while the thread is in the kernel.
 *
 * Neither cuts a system call short. The event's signal is raised while the thread runs its own code, and arrives at
 * once. The timer's signal is sent after the call (x86-64 and aarch64 since Linux 5.9; before, and on other machines, a
 * tick in the middle of a call may cut it short).
 *
 * The event's first signal comes after a whole interval, which many threads do not live for. So a new thread also has
 * an event that signals it once, earlier, unless a quarter of the descriptors that the process may have are in use.
 *
 * Where the kernel refuses events, where descriptors have run out, and in threads for which events would cost too much,
 * the timer does for both. Call these in the sampler's thread alone, unless said otherwise. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct thread_event {
    int file;        /* its descriptor, in the table of the sampler's thread */
    int signal_file; /* 1 + the descriptor that its signals name, which may still come when it is closed; 0: none yet */
};

/* All zero: neither clock runs. */
struct thread_clocks {
    bool has_event;
    bool has_first;
    bool has_timer;
    struct thread_event event;
    struct thread_event first; /* the one that signals once */
    int timer;
    uint32_t tid;
};

/* Call this in the thread that starts the sampler, since it reads the environment. Forgets that the kernel has refused
 * events. Under a filter of system calls, events count as refused unless the environment asks for them. */
void thread_clocks_begin(void);

/* How the clocks of a thread are opened. */
struct thread_clocks_rules {
    int signal; /* what they send to the thread */
    uint64_t interval_ns;
    uint64_t first_ns; /* processor time until they signal for the first time; 0: an interval */
    bool wants_event;
};

/* Opens the clocks of a thread of this process. clocks: must stay where it is while they run, since the timer's signals
 * carry its address. Returns false if neither clock can be opened. */
bool thread_clocks_open(struct thread_clocks *clocks, uint32_t tid, const struct thread_clocks_rules *rules);

/* Closes the event that signals once. Call this when it has. */
void thread_clocks_close_first(struct thread_clocks *clocks);

/* Closes the clocks. Signals that are on their way still arrive. */
void thread_clocks_close(struct thread_clocks *clocks);

/* Returns why the kernel refuses events: an errno value; 0: it does not. */
int thread_clocks_refusal(void);

/* Returns the time between two clock ticks. The timers fire no more often. */
uint64_t thread_clocks_tick_ns(void);

enum thread_clock { NO_THREAD_CLOCK, THREAD_CLOCK_EVENT, THREAD_CLOCK_FIRST, THREAD_CLOCK_TIMER };

/* Whether a signal may be of a thread's clocks, which other programs and threads do not send. [signal-safe] */
static inline bool thread_clocks_may_send(const siginfo_t *info) {
    return info->si_code == SI_TIMER || info->si_code == POLL_IN || info->si_code == POLL_HUP;
}

/* Returns which of the clocks has sent the signal that a handler was called with. [signal-safe] */
enum thread_clock thread_clocks_find(const struct thread_clocks *clocks, const siginfo_t *info);
