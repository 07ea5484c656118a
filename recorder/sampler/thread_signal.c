#include "thread_signal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libc_thread.h"
#include "own_signal.h"
#include "recorder/state/clock.h"
#include "recorder/unwind/thread_stack.h"
#include "recorder/write/thread_registry.h"
#include "recorder/write/writer.h"
#include "sampled_thread.h"
#include "task_list.h"

enum {
    NEW_CPU_MS = 10,     /* a new thread lets signals in before it has used this much processor time */
    SILENT_CPU_MS = 125, /* with this much, and no stack for this long, a thread may block the signal by now */
    SILENT_MS = 500,
    UNREACHED_CHECK_MS = 100, /* between two checks whether a thread still cannot be reached */
    DEMANDED_INTERVAL_NS = 100000,
    TEXT_BYTES = 320, /* more than a message with the longest name takes */
};

static struct {
    pid_t pid;
    int number;            /* 0: none is free */
    uint32_t change_count; /* how often `number` was determined; 0: never */
    bool is_refusal_reported;
} signal_state;

static const int64_t NS_PER_MS = 1000000;

static uint64_t ticks_of_ms(uint64_t ms) { return recorder_clock.ticks_per_second / 1000 * ms; }

/* ---- The handler. ---- */

/* The record that is held for the calling thread, when that was last looked up. */
static __thread struct thread_record *held_record_self;

static bool is_held_for(const struct thread_record *record, uint64_t control_block) {
    return __atomic_load_n(&record->control_block, __ATOMIC_RELAXED) == control_block;
}

static void find_held(struct thread_writers *writers, struct thread_record *record, void *context) {
    (void)writers;
    if (is_held_for(record, *(const uint64_t *)context)) held_record_self = record;
}

/* Returns the calling thread's record, claimed or held for it. NULL: the sampler has not found the thread yet. */
static struct thread_record *find_own_record(void) {
    uint64_t control_block = (uint64_t)(uintptr_t)pthread_self();
    if (thread_record_self) return thread_record_self;
    if (held_record_self && is_held_for(held_record_self, control_block)) return held_record_self;
    held_record_self = NULL;
    thread_registry_each_record(find_held, &control_block);
    return held_record_self;
}

struct late_signal {
    const siginfo_t *info;
    bool is_of_clocks;
};

static void compare_clocks(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct late_signal *late = context;
    const struct sampled_thread *thread = __atomic_load_n(&record->sampled, __ATOMIC_ACQUIRE);
    (void)writers;
    late->is_of_clocks |= thread && thread_clocks_find(&thread->clocks, late->info) != NO_THREAD_CLOCK;
}

/* Whether the signal is of clocks that a thread had, or has. The clocks of a thread run on for a moment after it has
 * released its record. */
static bool is_late(const siginfo_t *info) {
    struct late_signal late = {.info = info};
    thread_registry_each_record(compare_clocks, &late);
    return late.is_of_clocks;
}

/* Threads that the C library has not made may have no thread-local storage, and get no signals of clocks. */
static bool answer(const siginfo_t *info, const void *interrupted) {
    if (!thread_clocks_may_send(info)) return false;
    struct thread_record *record = find_own_record();
    struct sampled_thread *thread = record ? __atomic_load_n(&record->sampled, __ATOMIC_ACQUIRE) : NULL;
    enum thread_clock clock = thread ? thread_clocks_find(&thread->clocks, info) : NO_THREAD_CLOCK;
    if (clock == NO_THREAD_CLOCK) return is_late(info);
    struct sample_source source = {
        .origin = clock == THREAD_CLOCK_FIRST ? SAMPLE_OF_FIRST : SAMPLE_OF_EVENT,
        .busy_since_ticks = __atomic_load_n(&record->busy_since_ticks, __ATOMIC_RELAXED),
        .labels = &record->labels,
        .interrupted = interrupted,
    };
    if (clock == THREAD_CLOCK_TIMER) {
        source.origin = sample_is_after_call(interrupted) ? SAMPLE_OF_CALL : SAMPLE_OF_TICK;
        source.missed_count = info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0;
    }
    sample_ring_put(&thread->ring, &source);
    return true;
}

/* ---- Which signal. ---- */

void thread_signal_take(void (*await_round)(void)) {
    own_signal_begin(answer, await_round);
    thread_clocks_begin();
}

void thread_signal_begin(void) {
    signal_state.pid = getpid();
    signal_state.change_count = 0;
    signal_state.is_refusal_reported = false;
    thread_signal_refresh();
}

static void report_change(int number) {
    char text[TEXT_BYTES];
    const char *first = own_signal_name(own_signal_first());
    if (own_signal_is_forbidden())
        snprintf(text, sizeof text,
                 "a filter of system calls lets no handler return: threads are sampled without stacks");
    else if (number)
        snprintf(text, sizeof text, "the program uses %s: its threads are interrupted by %s", first,
                 own_signal_name(number));
    else
        snprintf(text, sizeof text, "the program uses %s: its threads are sampled without stacks", first);
    recording_write_message(text);
}

void thread_signal_refresh(void) {
    int number = own_signal_find();
    if (signal_state.change_count && number == signal_state.number) return;
    signal_state.number = number;
    signal_state.change_count++;
    if (number != own_signal_first()) report_change(number);
}

/* ---- Who can be reached. ---- */

static bool is_spared(const struct thread_record *record) {
    return __atomic_load_n(&record->is_spared, __ATOMIC_SEQ_CST) != 0;
}

/* If the recorder interposes the functions that change masks, no thread blocks the signal for long. A thread also
 * blocks it while it handles it. */
static bool blocks_signal(const struct sampled_thread *thread) {
    return !own_signal_is_interposed() && task_blocks_signal(thread->tid, signal_state.number) &&
           !sample_ring_is_walking(&thread->ring) && !sample_ring_has_samples(&thread->ring);
}

static enum sampled_reach find_reach(const struct thread_writers *writers, struct sampled_thread *thread) {
    bool is_known = libc_thread_find(thread->tid, &thread->control_block) || !thread_registry_is_held(writers);
    if (!is_known) return REACH_FOREIGN;
    return blocks_signal(thread) ? REACH_BLOCKED : REACH_OPEN;
}

static bool is_silent(const struct sampled_thread *thread, uint64_t now_ticks) {
    bool owes_much = thread->share.owed_ns > SILENT_CPU_MS * NS_PER_MS;
    return owes_much && now_ticks - thread->heard_ticks > ticks_of_ms(SILENT_MS);
}

/* A signal that the thread blocks would stay pending, and a sigwait of the program could find it. A new thread blocks
 * all signals, and is unknown to the C library, until it runs: so the first checks follow each other quickly. A thread
 * that has claimed its record is known. */
static bool is_reachable(const struct thread_writers *writers, const struct thread_record *record,
                         struct sampled_thread *thread, uint64_t now_ticks) {
    if (!signal_state.number || is_spared(record)) return false;
    if (thread->reach == REACH_OPEN && is_silent(thread, now_ticks)) {
        thread->reach = REACH_UNCHECKED;
        thread->heard_ticks = now_ticks;
    }
    if (thread->reach == REACH_OPEN || now_ticks < thread->next_check_ticks) return thread->reach == REACH_OPEN;
    thread->reach = find_reach(writers, thread);
    uint64_t since_ticks = thread->unreached_ticks ? thread->unreached_ticks : now_ticks;
    uint64_t past_ticks = now_ticks - since_ticks, period_ticks = ticks_of_ms(UNREACHED_CHECK_MS);
    thread->next_check_ticks = now_ticks + (past_ticks < period_ticks ? past_ticks : period_ticks);
    return thread->reach == REACH_OPEN;
}

/* ---- Clocks. ---- */

/* Reports once that stacks are taken only at clock ticks. */
static void report_refusal(void) {
    char text[TEXT_BYTES];
    int error = thread_clocks_refusal();
    if (!error || signal_state.is_refusal_reported) return;
    signal_state.is_refusal_reported = true;
    snprintf(text, sizeof text, "perf_event_open: %s: threads are sampled at clock ticks, every %llu µs",
             error == ECANCELED ? "turned off by GECKO_RECORDER_EVENTS" : strerror(error),
             (unsigned long long)thread_clocks_tick_ns() / 1000);
    recording_write_message(text);
}

/* The handler must not ask the system for anything: it finds the thread's record and the ends of its stack here. The
 * ring may have been another thread's. */
static void prepare_handler(struct thread_record *record, struct sampled_thread *thread) {
    bool is_first = thread->tid == (uint32_t)signal_state.pid;
    __atomic_store_n(&record->control_block, thread->control_block, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->ring.lost_event_count, 0, __ATOMIC_RELAXED);
    if (!thread->control_block || !thread_stack_find(thread->control_block, is_first, &thread->ring.limits))
        thread->ring.limits = (struct stack_limits){0, 0};
}

/* Returns the processor time after which a new thread leaves its first stack; 0: an interval of it. A round finds a
 * thread at any time of its life, so a stack soon after that is as likely to be one part of the life as another. While
 * the thread is in the kernel, the event is raised in vain each time this has passed again, which takes some
 * microseconds. */
static uint64_t first_ns(const struct sampled_thread *thread, uint64_t interval_ns) {
    enum { SOON_PART = 50, SOON_NS_MIN = 10000 };
    bool is_wanted = thread->state == SAMPLED_NOTHING && thread->is_new && !thread_clocks_refusal();
    if (!is_wanted) return 0;
    return interval_ns / SOON_PART > SOON_NS_MIN ? interval_ns / SOON_PART : SOON_NS_MIN;
}

static bool open_clocks(struct thread_record *record, struct sampled_thread *thread, uint64_t interval_ns) {
    prepare_handler(record, thread);
    thread->signal = signal_state.number;
    if (thread->interval_ns != interval_ns) thread->is_renamed = true;
    thread->interval_ns = interval_ns;
    thread->was_switching = thread->is_switching;
    thread->heard_ticks = clock_ticks();
    sample_ring_open(&thread->ring);
    const struct thread_clocks_rules rules = {.signal = thread->signal,
                                              .interval_ns = interval_ns,
                                              .first_ns = first_ns(thread, interval_ns),
                                              .wants_event = !thread->is_switching};
    thread->found_ns = thread->share.owed_ns;
    bool is_open = thread_clocks_open(&thread->clocks, thread->tid, &rules);
    if (!thread->fault_count) thread->fault_count = task_read_fault_count(thread->tid);
    report_refusal();
    return is_open;
}

void thread_signal_leave(struct sampled_thread *thread) {
    if (!thread->signal) return;
    thread_clocks_close(&thread->clocks);
    sample_ring_close(&thread->ring);
    thread->signal = 0;
}

static bool is_demanded(const struct thread_record *record) {
    return __atomic_load_n(&record->demand, __ATOMIC_ACQUIRE) != THREAD_NOT_DEMANDED;
}

enum thread_reach thread_signal_follow(const struct thread_writers *writers, struct thread_record *record,
                                       struct sampled_thread *thread, uint64_t interval_ns, uint64_t now_ticks) {
    if (is_demanded(record) && interval_ns > DEMANDED_INTERVAL_NS) interval_ns = DEMANDED_INTERVAL_NS;
    bool was_reached = thread->state != SAMPLED_UNREACHED;
    bool is_new = was_reached && thread->share.owed_ns < NEW_CPU_MS * NS_PER_MS;
    /* The thread may have unblocked the signal since the last check. */
    if (was_reached && !is_new) thread->next_check_ticks = 0;
    bool can_reach = is_reachable(writers, record, thread, now_ticks);
    bool is_right = thread->signal == signal_state.number && thread->interval_ns == interval_ns &&
                    thread->was_switching == thread->is_switching;
    if (can_reach && thread->signal && is_right) return THREAD_IS_REACHED;
    thread_signal_leave(thread);
    if (can_reach && open_clocks(record, thread, interval_ns)) {
        thread->unreached_ticks = 0;
        thread->was_reached = true;
        return THREAD_IS_REACHED;
    }
    thread_signal_leave(thread);
    if (!thread->unreached_ticks) thread->unreached_ticks = now_ticks;
    return signal_state.number && is_new && !is_spared(record) ? THREAD_IS_NEW : THREAD_IS_UNREACHED;
}

/* ---- Reports. ---- */

void thread_signal_report_unreached(const struct thread_record *record, struct sampled_thread *thread) {
    char text[TEXT_BYTES];
    if (!signal_state.number || thread->is_unreached_reported || !thread->uid) return;
    thread->is_unreached_reported = true;
    const char *reason = is_spared(record)                ? "has too small an alternate stack for"
                         : thread->reach == REACH_FOREIGN ? "was not made by the C library, and is not sent"
                                                          : "blocks";
    snprintf(text, sizeof text, "thread %u \"%.*s\" %s %s: it is sampled without stacks", thread->tid,
             (int)thread->name_bytes_count, thread->name, reason, own_signal_name(signal_state.number));
    recording_write_message(text);
}

void thread_signal_report_refused(struct sampled_thread *thread) {
    char text[TEXT_BYTES];
    if (thread->is_refusal_reported || !thread->uid) return;
    thread->is_refusal_reported = true;
    snprintf(text, sizeof text,
             "thread %u \"%.*s\" had too little room on its stack for a handler of %s: a sample has no stack",
             thread->tid, (int)thread->name_bytes_count, thread->name, own_signal_name(thread->signal));
    recording_write_message(text);
}
