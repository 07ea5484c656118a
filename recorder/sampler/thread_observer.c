#include "thread_observer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recorder/state/clock.h"
#include "recorder/state/process.h"
#include "recorder/unwind/mappings.h"
#include "recorder/unwind/unwind_table.h"
#include "recorder/write/thread_registry.h"
#include "recorder/write/writer.h"
#include "sampled_thread.h"
#include "task_list.h"
#include "task_wait.h"
#include "thread_signal.h"
#include "told_time.h"
#include "waiting_stack.h"

enum {
    /* The most rounds in a row in which stacks are dropped because unwind tables were missing, so that a later stack is
       complete. A stack through many libraries needs a few tries. On a busy machine, a thread leaves many stacks before
       the first tables are there. */
    DROPPED_COUNT_MAX = 64,
    /* A thread that has run for less than this, and waits in the same call with the same arguments and stack pointer,
       is in the same place. */
    SAME_WAIT_NS_MAX = 200000,
    /* An idle thread is looked at less often: after N * IDLE_PART looks that found no work, N rounds are skipped before
       the next look, up to a limit. */
    IDLE_PART = 8,
    UNLOOKED_COUNT_MAX = 16,
    TEXT_BYTES = 160,
};

struct round {
    struct recording recording;
    uint64_t now_ticks;
    uint32_t running_count; /* threads that have run since the round before */
    uint32_t thread_count;
    const struct sampled_thread *last; /* the last of them; NULL: none */
};

static struct {
    uint32_t epoch;
    uint32_t own_tid;
    bool is_refusal_reported; /* the log says that memory of threads cannot be read */
    uint64_t tick_ns;         /* the time between two clock ticks */
    uint64_t lost_count;      /* stacks for which there was no room */
    int64_t unseen_ns;        /* what threads have used that ended without a sample, until another one's has it */
    int64_t lent_ns;          /* what samples of ended threads stand for beyond what these have used */
    struct thread_observer_starter starter;
    struct thread_observer_rules rules;
} observer;

static uint64_t ns_of_ticks(uint64_t ticks) {
    return (uint64_t)((double)ticks * 1e9 / (double)recorder_clock.ticks_per_second);
}

static void report_error(const char *what) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
    recording_write_message(text);
}

/* ---- Processor time. ---- */

static void count_switches(struct sampled_thread *thread) {
    uint64_t wait_count, preemption_count;
    if (!task_read_switches(thread->tid, &wait_count, &preemption_count)) return;
    if (thread->wait_count || thread->preemption_count)
        cpu_share_add_switches(&thread->share, wait_count - thread->wait_count,
                               preemption_count - thread->preemption_count);
    thread->wait_count = wait_count;
    thread->preemption_count = preemption_count;
    thread->is_switching = cpu_share_is_switching(&thread->share, thread->is_switching);
}

static void count_faults(struct sampled_thread *thread) {
    uint64_t count = task_read_fault_count(thread->tid);
    if (count > thread->fault_count) cpu_share_add_faults(&thread->share, count - thread->fault_count);
    thread->fault_count = count;
}

/* Finds out what the kernel does for the thread, as far as that matters for its samples. Asking takes 15 to 30 µs, and
 * is more often worth that while little is known. */
static void ask_kernel(struct sampled_thread *thread) {
    enum { PERIOD_NS_MIN = 5000000, PERIOD_NS_MAX = 50000000 };
    if (!thread->signal || thread->cpu_ns < thread->next_count_cpu_ns) return;
    uint64_t period_ns = (uint64_t)thread->share.used_ns / 2;
    if (period_ns < PERIOD_NS_MIN) period_ns = PERIOD_NS_MIN;
    thread->next_count_cpu_ns = thread->cpu_ns + (period_ns < PERIOD_NS_MAX ? period_ns : PERIOD_NS_MAX);
    count_switches(thread);
    if (cpu_share_has_excess(&thread->share, observer.tick_ns)) count_faults(thread);
}

/* Returns the processor time that a thread had used before it was sampled. */
static uint64_t first_cpu_ns(const struct sampled_thread *thread) {
    uint64_t listed_ns = task_list_cpu_ns(thread->tid);
    uint64_t started_ns = thread->tid == observer.starter.tid ? observer.starter.cpu_ns : 0;
    uint64_t before_ns = thread->tid == thread->before.tid ? thread->before.cpu_ns : 0;
    uint64_t first_ns = listed_ns > started_ns ? listed_ns : started_ns;
    return first_ns > before_ns ? first_ns : before_ns;
}

/* Counts the processor time that the thread has used since it was last read, and returns it. Of a thread that has begun
 * since, that is all of it. */
static uint64_t count_used(struct sampled_thread *thread, uint64_t cpu_ns) {
    uint64_t known_ns = thread->is_cpu_read ? thread->cpu_ns : first_cpu_ns(thread);
    bool is_counted = !thread->is_left_out && (thread->is_cpu_read || observer.rules.finds_new_threads);
    /* At first, there are no tables yet: a stack would be cut. */
    if (!thread->is_cpu_read) thread->is_new = is_counted && !observer.rules.only_opens_clocks;
    uint64_t used_ns = is_counted && cpu_ns > known_ns ? cpu_ns - known_ns : 0;
    thread->cpu_ns = cpu_ns;
    thread->is_cpu_read = true;
    thread->is_left_out = false;
    cpu_share_add(&thread->share, used_ns);
    return used_ns;
}

/* Finds the processor time that the thread has used since the round before. Returns false if the thread has ended. */
static bool read_used_ns(struct sampled_thread *thread, struct round *round, uint64_t *used_ns) {
    uint64_t cpu_ns;
    *used_ns = 0;
    thread->read_ticks = clock_ticks();
    if (!task_read_cpu_ns(thread->tid, &cpu_ns)) return false;
    *used_ns = count_used(thread, cpu_ns);
    if (*used_ns) thread->used_ticks = round->now_ticks;
    thread->idle_count = *used_ns ? 0 : thread->idle_count + 1;
    round->running_count += *used_ns != 0;
    if (*used_ns) ask_kernel(thread);
    return true;
}

/* Returns whether the thread need not be looked at in this round. A thread that says that it sleeps is looked at seldom
 * at once. A thread that leaves a stack is looked at again. */
static bool is_passed_over(const struct thread_record *record, struct sampled_thread *thread) {
    if (thread->unlooked_count && !observer.rules.looks_at_all) {
        thread->unlooked_count--;
        return true;
    }
    bool says_it_sleeps = __atomic_load_n(&record->is_asleep, __ATOMIC_RELAXED) != 0;
    uint32_t count = says_it_sleeps ? UNLOOKED_COUNT_MAX : thread->idle_count / IDLE_PART;
    thread->unlooked_count = count < UNLOOKED_COUNT_MAX ? count : UNLOOKED_COUNT_MAX;
    return false;
}

/* ---- Which thread it is. ---- */

/* In a forked child, the clocks are those of the parent's thread. */
static void forget(struct sampled_thread *thread, uint32_t tid) {
    struct sampled_before before = {.tid = 0};
    if (thread->epoch == observer.epoch) {
        thread_signal_leave(thread);
        before = thread->before;
        if (thread->cpu_ns) before = (struct sampled_before){thread->tid, thread->cpu_ns};
    } else {
        thread->clocks = (struct thread_clocks){0};
    }
    memset(thread, 0, offsetof(struct sampled_thread, last));
    thread->epoch = observer.epoch;
    thread->tid = tid;
    thread->before = before;
}

/* Returns the processor time below which a thread is not worth a sample of its own: enough of the threads that use this
 * much have one by chance. */
static uint64_t short_ns(void) {
    enum { SHORT_NS_MAX = 1000000 };
    uint64_t interval_ns = observer.rules.interval_ns;
    if (interval_ns <= SHORT_NS_MAX) return interval_ns;
    return interval_ns / 2 > SHORT_NS_MAX ? interval_ns / 2 : SHORT_NS_MAX;
}

/* Keeps what a short thread has used for the first sample of another one, if chance has given it no sample. Returns
 * false if that is an interval and more, so that they had no chance: without events, clock ticks find late parts of
 * short threads alone. */
static bool keep_unseen(int64_t used_ns) {
    enum { KEPT_TICK_COUNT = 16 };
    uint64_t interval_ns = observer.rules.interval_ns;
    uint64_t limit_ns = KEPT_TICK_COUNT * (interval_ns > observer.tick_ns ? interval_ns : observer.tick_ns);
    if (observer.rules.takes_no_stacks || thread_clocks_refusal()) limit_ns = interval_ns;
    if (observer.unseen_ns + used_ns >= (int64_t)limit_ns) return false;
    observer.unseen_ns += used_ns;
    return true;
}

/* Returns what threads without a sample have used, which is for another one from now on. */
static int64_t take_unseen(void) {
    int64_t taken_ns = observer.unseen_ns;
    observer.unseen_ns = 0;
    return taken_ns;
}

/* Returns whether the trace may have samples of the thread. */
static bool is_in_trace(const struct sampled_thread *thread) {
    return thread->uid && recording_wants_thread(thread->name, thread->name_bytes_count);
}

/* Keeps what samples of a thread that ends stand for beyond what it has used, up to a limit: threads of another kind
 * would have to give up more. */
static void keep_lent(struct sampled_thread *thread) {
    enum { INTERVAL_COUNT_MAX = 4 };
    int64_t limit_ns = (int64_t)observer.rules.interval_ns * INTERVAL_COUNT_MAX;
    if (thread->share.owed_ns >= 0 || !is_in_trace(thread)) return;
    int64_t lent_ns = observer.lent_ns - thread->share.owed_ns;
    observer.lent_ns = lent_ns < limit_ns ? lent_ns : limit_ns;
    thread->share.owed_ns = 0;
}

/* Returns what the first sample of a thread gives up, which stands for that much. */
static int64_t take_lent(int64_t cpu_ns) {
    int64_t taken_ns = cpu_ns / 2 < observer.lent_ns ? cpu_ns / 2 : observer.lent_ns;
    observer.lent_ns -= taken_ns;
    return taken_ns;
}

/* Returns what the first sample of a thread stands for if the thread has used this much by then. Threads without a
 * sample were short, and those to which samples have lent time were not. Each kind balances its own time: otherwise,
 * functions of one kind would have the time of the other. */
static uint64_t balance(const struct sampled_thread *thread, uint64_t cpu_ns) {
    int64_t balanced_ns = (int64_t)cpu_ns;
    if (!is_in_trace(thread)) return cpu_ns;
    if (cpu_ns >= observer.rules.interval_ns / 2) balanced_ns -= take_lent(balanced_ns);
    if (cpu_ns < short_ns()) balanced_ns += take_unseen();
    return (uint64_t)balanced_ns;
}

static void write_between_samples(struct sampled_thread *thread, struct round *round, uint64_t cpu_ns) {
    static struct grec_label unknown = GREC_LABEL_AT("(between samples)", NULL, NULL, 0);
    static struct merged_stack stack;
    merged_stack_make_empty(&stack);
    if (!observer.rules.takes_no_stacks) merged_stack_add_innermost(&stack, &unknown);
    struct sample_facts facts = {.ticks = thread->used_ticks, .cpu_ns = cpu_ns};
    sampled_thread_write(thread, &round->recording, thread->state == SAMPLED_UNREACHED ? NULL : &stack, &facts);
    thread->sampled_ns += cpu_ns;
}

/* Writes the processor time that no sample stands for when the thread or the recording ends. It was used between two
 * samples, mostly in the kernel. A little of it belongs to all samples. If it is much, as in a process that ends soon,
 * it may have been used elsewhere: it becomes a sample, which counts as an interval, unless it is less than
 * least_ns. */
static void write_rest_of(struct sampled_thread *thread, struct round *round, uint64_t least_ns) {
    enum { LITTLE_PART = 4 };
    if (thread->share.owed_ns <= 0 || !is_in_trace(thread)) return;
    uint64_t rest_ns = (uint64_t)thread->share.owed_ns;
    bool is_little = rest_ns <= thread->sampled_ns / LITTLE_PART || (thread->sampled_ns && rest_ns < short_ns());
    if (!is_little && rest_ns < least_ns) return;
    thread->share.owed_ns = 0;
    if (is_little)
        sampled_thread_write_rest(thread, &round->recording, rest_ns);
    else
        write_between_samples(thread, round, rest_ns);
}

static void write_rest(struct sampled_thread *thread, struct round *round) {
    write_rest_of(thread, round, observer.rules.interval_ns / 2);
}

/* Writes the rest of a thread that ends. A thread that has no sample may leave the rest to other threads. */
static void write_last_rest(struct sampled_thread *thread, struct round *round) {
    int64_t rest_ns = thread->share.owed_ns;
    bool is_unseen = rest_ns > 0 && !thread->sampled_ns && (uint64_t)rest_ns < short_ns();
    if (is_unseen && is_in_trace(thread) && thread->state != SAMPLED_UNREACHED) {
        if (keep_unseen(rest_ns)) return;
        thread->share.owed_ns += take_unseen();
    }
    write_rest(thread, round);
}

static void write_end(struct sampled_thread *thread, struct round *round) {
    write_last_rest(thread, round);
    sampled_thread_write_end(thread, &round->recording);
}

/* Ends the thread in the trace. The record belongs to `tid` now; 0: to no thread. */
static void end_thread(struct sampled_thread *thread, struct round *round, uint32_t tid) {
    if (thread->epoch == observer.epoch && thread->tid) {
        write_end(thread, round);
        keep_lent(thread);
    }
    forget(thread, tid);
}

static void set_name(struct sampled_thread *thread, const char *name, uint32_t bytes_count) {
    if (bytes_count == thread->name_bytes_count && !memcmp(name, thread->name, bytes_count)) return;
    memcpy(thread->name, name, bytes_count);
    thread->name_bytes_count = bytes_count;
    thread->is_renamed = true;
}

/* Takes the name that the program has given to the thread. Returns false if there is none. */
static bool take_own_name(const struct thread_record *record, struct sampled_thread *thread) {
    char name[THREAD_NAME_BYTES];
    thread->is_named = __atomic_load_n(&record->is_named, __ATOMIC_ACQUIRE);
    if (thread->is_named) set_name(thread, name, thread_record_copy_name(record, name));
    return thread->is_named;
}

static void read_system_name(struct sampled_thread *thread, uint64_t now_ticks) {
    char name[TASK_NAME_BYTES];
    uint32_t bytes_count = task_read_name(thread->tid, name);
    thread->named_ticks = now_ticks;
    if (bytes_count) set_name(thread, name, bytes_count);
}

/* Returns the id of the thread that has the record, or had it last; 0: none. */
static uint32_t last_tid(const struct thread_writers *writers) {
    uint32_t tid = thread_registry_tid(writers);
    return tid ? tid : thread_registry_absent_tid(writers);
}

static uint64_t start_of(const struct thread_record *record) {
    return __atomic_load_n(&record->start_ticks, __ATOMIC_RELAXED);
}

/* Finds the thread's number in the trace, and its name. Returns false if the record has just been given back and taken
 * again, and what it says may be of the next owner. */
static bool identify(const struct thread_writers *writers, struct thread_record *record, struct sampled_thread *thread,
                     const struct round *round) {
    uint64_t uid = thread_record_uid(record), start_ticks = start_of(record);
    if (last_tid(writers) != thread->tid || (thread->uid && thread->uid != uid)) return false;
    bool is_named = take_own_name(record, thread);
    if (thread->uid) return true;
    thread->uid = uid;
    thread->start_ticks = start_ticks ? start_ticks : clock_ticks();
    if (!is_named) read_system_name(thread, round->now_ticks);
    return true;
}

/* A thread mostly names itself, soon after it has begun, and may end before names are read again, or before its first
 * sample is written. So the name is read when the thread is found, and often if the thread has run since. Reading it
 * takes some microseconds. */
static void follow_name(struct sampled_thread *thread, const struct round *round) {
    enum { PERIOD_MS = 10 };
    uint64_t period_ticks = recorder_clock.ticks_per_second / 1000 * PERIOD_MS;
    bool is_due = thread->used_ticks >= thread->named_ticks && round->now_ticks - thread->named_ticks >= period_ticks;
    if (is_due && !thread->is_named) read_system_name(thread, round->now_ticks);
}

/* Returns false if the thread's name leaves it out. */
static bool is_wanted(struct sampled_thread *thread) {
    if (recording_wants_thread(thread->name, thread->name_bytes_count)) return true;
    thread->state = SAMPLED_LEFT_OUT;
    thread_signal_leave(thread);
    return false;
}

/* ---- Samples that another thread has demanded. ---- */

static uint32_t demand_of(const struct thread_record *record) {
    return __atomic_load_n(&record->demand, __ATOMIC_ACQUIRE);
}

/* Notes that samples from now on meet the demand. */
static void see_demand(struct thread_record *record, struct sampled_thread *thread) {
    if (demand_of(record) != THREAD_DEMANDED) return;
    thread->written_count = 0;
    thread->unlooked_count = 0;
    __atomic_store_n(&record->demand, (uint32_t)THREAD_DEMAND_SEEN, __ATOMIC_RELEASE);
}

static void finish_demand(struct thread_record *record, const struct sampled_thread *thread) {
    uint32_t seen = THREAD_DEMAND_SEEN;
    if (demand_of(record) == THREAD_DEMAND_SEEN && thread->written_count)
        __atomic_compare_exchange_n(&record->demand, &seen, (uint32_t)THREAD_NOT_DEMANDED, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
}

/* ---- Writing samples. ---- */

/* Whether the thread has an event loop. What it said before the recording does not count: what it has said since the
 * last recording was not heard. */
static bool has_event_loop(uint64_t busy_since_ticks) {
    return busy_since_ticks && busy_since_ticks >= recording_pool.header->start_ticks;
}

static struct sample_facts facts_of(uint64_t busy_since_ticks, uint64_t ticks, uint64_t cpu_ns) {
    struct sample_facts facts = {.ticks = ticks, .cpu_ns = cpu_ns, .has_delay = has_event_loop(busy_since_ticks)};
    if (!facts.has_delay || busy_since_ticks == EVENT_LOOP_IDLE) return facts;
    uint64_t now = ticks ? ticks : clock_ticks();
    facts.delay_ns = now > busy_since_ticks ? ns_of_ticks(now - busy_since_ticks) : 0;
    return facts;
}

static uint64_t busy_since(const struct thread_record *record) {
    return __atomic_load_n(&record->busy_since_ticks, __ATOMIC_RELAXED);
}

static void write_stack(struct sampled_thread *thread, struct round *round, const struct merged_stack *stack,
                        const struct sample_facts *facts) {
    sampled_thread_write(thread, &round->recording, stack, facts);
    thread->sampled_ns += facts->cpu_ns;
    thread->dropped_count = 0;
    thread->written_count++;
}

/* Writes that the thread is where its last sample shows it. No processor time was used in between. */
static void write_as_before(const struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    struct sample_facts facts = facts_of(busy_since(record), 0, 0);
    thread->heard_ticks = round->now_ticks;
    sampled_thread_write_last(thread, &round->recording, &facts);
    thread->written_count++;
}

/* Writes a sample that has processor time and no stack. */
static void write_time(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    static struct merged_stack stack;
    int64_t owed_ns = thread->share.owed_ns;
    if (!is_wanted(thread)) return;
    thread->share.owed_ns = 0;
    struct sample_facts facts = facts_of(busy_since(record), 0, owed_ns > 0 ? (uint64_t)owed_ns : 0);
    merged_stack_make_empty(&stack);
    write_stack(thread, round, observer.rules.takes_no_stacks ? &stack : NULL, &facts);
}

/* ---- Stacks that threads have left. ---- */

/* Returns whether the stack is incomplete because a table or a mapping was missing that the next walk will have. Such a
 * stack is dropped. What it stands for stays owed. */
static bool awaits_more(const struct sampled_thread *thread, const struct ring_sample *sample) {
    bool has_more = unwind_snapshot_has_wanted() || unwind_snapshot_build_count() != sample->build_count ||
                    mappings_are_wanted() || mappings_read_count() != sample->read_count;
    return sample->is_truncated && has_more && thread->dropped_count < DROPPED_COUNT_MAX;
}

static void write_sample(struct sampled_thread *thread, struct round *round, const struct ring_sample *sample,
                         uint64_t cpu_ns) {
    static struct merged_stack stack;
    const struct label_copy *labels = &sample->labels;
    struct sample_facts facts = facts_of(sample->busy_since_ticks, sample->ticks, cpu_ns);
    if (!is_wanted(thread)) return;
    if (sample->has_no_room) thread_signal_report_refused(thread);
    recording_count_loss(LOSS_TEXT, labels->left_out_count);
    merged_stack_make(&stack, sample->walked, sample->walked_count, labels->labels, labels->count);
    stack.is_truncated = sample->is_truncated;
    write_stack(thread, round, sample->has_no_room ? NULL : &stack, &facts);
    thread->wait_fingerprint = 0;
}

/* A demanded sample is written whatever it stands for. Returns false if the stack is dropped. */
static bool collect_one(struct thread_record *record, struct sampled_thread *thread, struct round *round,
                        const struct ring_sample *sample) {
    bool is_first = sample->origin == SAMPLE_OF_FIRST;
    const struct shared_sample shared = {.origin = sample->origin,
                                         .has_event = thread->clocks.has_event,
                                         .is_of_ended = thread->has_ended,
                                         .interval_ns = thread->interval_ns,
                                         .tick_ns = observer.tick_ns,
                                         .passed_ns = (sample->missed_count + 1) * thread->interval_ns};
    uint64_t cpu_ns = cpu_share_take(&thread->share, &shared);
    if (is_first) thread_clocks_close_first(&thread->clocks);
    if (is_first && cpu_ns) cpu_ns = balance(thread, cpu_ns);
    bool is_demanded = demand_of(record) == THREAD_DEMAND_SEEN && !thread->written_count;
    if (!cpu_ns && !is_demanded) return true;
    if (awaits_more(thread, sample)) {
        thread->share.owed_ns += (int64_t)cpu_ns;
        return false;
    }
    write_sample(thread, round, sample, cpu_ns);
    return true;
}

static void collect(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    const struct ring_sample *sample;
    bool has_dropped = false;
    if (!sample_ring_has_samples(&thread->ring)) return;
    thread->heard_ticks = round->now_ticks;
    thread->unlooked_count = 0;
    observer.lost_count += sample_ring_take_lost_count(&thread->ring);
    /* Processor time was read before a later sample was taken, so that sample has to wait for the next round. */
    while ((sample = sample_ring_first(&thread->ring)) && sample->ticks <= thread->read_ticks) {
        if (thread->state != SAMPLED_LEFT_OUT) has_dropped |= !collect_one(record, thread, round, sample);
        sample_ring_drop(&thread->ring);
    }
    thread->dropped_count += has_dropped;
}

/* ---- Threads that wait. ---- */

static void report_forbidden(void) {
    if (observer.is_refusal_reported) return;
    observer.is_refusal_reported = true;
    report_error("stacks of threads that wait cannot be read: /proc/self/task/TID/mem");
}

/* The innermost frame names the wait. If the thread has moved meanwhile, the next round looks again. */
static void write_wait(struct thread_record *record, struct sampled_thread *thread, struct round *round,
                       const struct task_wait *wait) {
    static struct merged_stack stack;
    if (!is_wanted(thread)) return;
    switch (waiting_stack_take(&stack, record, thread->tid, wait)) {
        case WAITING_STACK_TAKEN:
            if (!stack.is_truncated || !unwind_snapshot_has_wanted() || thread->dropped_count == DROPPED_COUNT_MAX)
                break;
            thread->dropped_count++;
            return;
        case WAITING_STACK_MOVED: return;
        case WAITING_STACK_FORBIDDEN:
            report_forbidden();
            merged_stack_make_empty(&stack);
            break;
    }
    merged_stack_add_innermost(&stack, wait->label);
    struct sample_facts facts = facts_of(busy_since(record), 0, 0);
    write_stack(thread, round, &stack, &facts);
    thread->state = SAMPLED_IN_WAIT;
    thread->wait_fingerprint = wait->fingerprint;
    thread->heard_ticks = round->now_ticks;
}

static bool waits_as_before(const struct sampled_thread *thread, const struct task_wait *wait, uint64_t used_ns) {
    return thread->state == SAMPLED_IN_WAIT && wait->fingerprint == thread->wait_fingerprint &&
           used_ns < SAME_WAIT_NS_MAX;
}

/* ---- Threads that run. ---- */

/* A thread that was found in this round gets no sample without a stack: it may be about to end, and would have a track
 * for that sample alone. What a thread still owes from the time when it had stacks belongs to those. */
static void write_unreached(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    if (thread->found_ticks == round->now_ticks) return;
    bool had_stacks = thread->state == SAMPLED_AT_WORK || thread->state == SAMPLED_IN_WAIT;
    if (thread->was_reached && had_stacks) write_rest_of(thread, round, 0);
    thread->was_reached = false;
    thread_signal_report_unreached(record, thread);
    /* The viewer counts samples, and each as an interval. */
    bool is_due = thread->share.owed_ns >= (int64_t)observer.rules.interval_ns || demand_of(record);
    if (is_due) write_time(record, thread, round);
}

/* Opens the clocks of a thread that runs, or closes those that can no longer interrupt it. */
static void follow(const struct thread_writers *writers, struct thread_record *record, struct sampled_thread *thread,
                   struct round *round) {
    if (thread_signal_follow(writers, record, thread, observer.rules.interval_ns, round->now_ticks) ==
        THREAD_IS_UNREACHED)
        write_unreached(record, thread, round);
}

static void look_at(const struct thread_writers *writers, struct thread_record *record, struct sampled_thread *thread,
                    struct round *round, uint64_t used_ns) {
    if (observer.rules.takes_no_stacks && !demand_of(record)) {
        thread_signal_leave(thread);
        write_time(record, thread, round);
        return;
    }
    struct task_wait wait = task_wait_find(thread->tid);
    if (!wait.is_told && !used_ns) {
        write_time(record, thread, round);
        return;
    }
    if (used_ns || !wait.pc) follow(writers, record, thread, round);
    if (!wait.pc) return;
    if (waits_as_before(thread, &wait, used_ns))
        write_as_before(record, thread, round);
    else
        write_wait(record, thread, round, &wait);
}

/* ---- A round. ---- */

static bool is_muted(const struct thread_writers *writers) {
    return thread_writers_know_filter(writers) && __atomic_load_n(&writers->is_muted, __ATOMIC_RELAXED);
}

/* A record that is held for a thread, or that the thread has released, must not be found by a later thread with the
 * same id. */
static void drop_if_ended(struct thread_writers *writers) {
    uint32_t tid = thread_registry_absent_tid(writers);
    uint64_t cpu_ns;
    if (tid && !task_read_cpu_ns(tid, &cpu_ns)) thread_registry_drop(writers);
}

/* Takes what the thread has left: its last name, when it has ended, and what it has used up to then. What it left
 * before it registered again tells nothing of this end. */
static void take_left(const struct thread_record *record, struct sampled_thread *thread) {
    struct thread_left left = thread_record_left(record, thread->tid);
    if (left.ticks < thread->start_ticks) left = (struct thread_left){.cpu_ns = 0};
    thread->has_ended = !left.cpu_ns;
    if (*left.name && !thread->is_named) set_name(thread, left.name, (uint32_t)strlen(left.name));
    thread->ended_ticks = left.ticks;
    if (left.cpu_ns <= thread->cpu_ns) return;
    count_used(thread, left.cpu_ns);
    thread->used_ticks = left.ticks;
}

/* Ends the record's thread if its id is another one, and gives the record to the thread with this id; 0: to no
 * thread. */
static void become(struct thread_record *record, struct sampled_thread *thread, struct round *round, uint32_t tid) {
    if (thread->epoch != observer.epoch) forget(thread, 0);
    if (thread->tid == tid) return;
    take_left(record, thread);
    if (thread->has_ended) thread->used_ticks = round->now_ticks;
    /* All stacks are the old thread's, also those of this round: the clocks of the new one are not open yet. */
    thread->read_ticks = clock_ticks();
    collect(record, thread, round);
    end_thread(thread, round, tid);
    thread->found_ticks = round->now_ticks;
    thread->interval_ns = observer.rules.interval_ns;
    if (!tid) task_list_look_again();
}

/* A thread that was unregistered and has registered since has a new number: it is another thread in the trace. What it
 * has done since is not the former one's. Its clocks stay open. */
static void begin_new_life(const struct thread_writers *writers, struct thread_record *record,
                           struct sampled_thread *thread, struct round *round) {
    bool is_known = thread->epoch == observer.epoch && thread->uid && thread->tid == last_tid(writers);
    if (!is_known || thread_record_uid(record) == thread->uid || thread->tid != last_tid(writers)) return;
    uint64_t start_ticks = start_of(record);
    take_left(record, thread);
    thread->read_ticks = start_ticks ? start_ticks : round->now_ticks;
    if (!thread->ended_ticks) thread->ended_ticks = thread->read_ticks;
    collect(record, thread, round);
    write_end(thread, round);
    if (thread->share.owed_ns > 0) thread->share.owed_ns = 0;
    thread->uid = thread->ended_ticks = thread->sampled_ns = thread->chunk_of_name = thread->chunk_of_stack = 0;
    thread->state = SAMPLED_NOTHING;
    thread->has_ended = false;
    thread->found_ticks = round->now_ticks;
}

/* Whether the last thread of the record has begun and ended since the round before. */
static bool is_unseen(const struct thread_record *record, const struct sampled_thread *thread, uint32_t tid) {
    uint64_t seen_ns = thread->before.tid == tid ? thread->before.cpu_ns : 0;
    uint64_t left_ns = thread_record_left(record, tid).cpu_ns;
    return thread->tid != tid && left_ns > seen_ns;
}

/* Ends the threads that have left the record since the round before. Returns what is known of the one that has it now;
 * NULL: there is none. */
static struct sampled_thread *catch_up(struct thread_writers *writers, struct thread_record *record,
                                       struct round *round) {
    uint32_t tid = thread_registry_tid(writers), gone_tid = tid ? 0 : last_tid(writers);
    /* Store nothing into records without a thread: after a fork, a store would copy their pages. */
    if (tid == observer.own_tid || (!tid && !gone_tid && !(record->sampled && record->sampled->tid))) return NULL;
    struct sampled_thread *thread = sampled_thread_of(record);
    if (!thread) return NULL;
    begin_new_life(writers, record, thread, round);
    if (gone_tid && is_unseen(record, thread, gone_tid)) become(record, thread, round, gone_tid);
    if (gone_tid && gone_tid == thread->tid) identify(writers, record, thread, round);
    become(record, thread, round, tid);
    if (gone_tid) drop_if_ended(writers);
    return tid ? thread : NULL;
}

/* Returns what the sampler that runs now knows of a thread; NULL: nothing. */
static struct sampled_thread *known_thread(const struct thread_record *record) {
    struct sampled_thread *thread = record->sampled;
    return thread && thread->epoch == observer.epoch && thread->tid ? thread : NULL;
}

/* The processor time that is used from now on belongs to no sample. */
static void leave_alone(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = known_thread(record);
    (void)context;
    drop_if_ended(writers);
    if (!thread) return;
    thread_signal_leave(thread);
    thread->is_cpu_read = false;
    thread->share = (struct cpu_share){0};
    if (thread->state == SAMPLED_IN_WAIT) thread->state = SAMPLED_AT_WORK;
    while (sample_ring_first(&thread->ring)) sample_ring_drop(&thread->ring);
}

/* What the thread uses until it comes to be wanted belongs to no sample, but what it owes is of the time before. */
static void leave_out(struct thread_writers *writers, struct thread_record *record, struct sampled_thread *thread,
                      struct round *round) {
    if (thread->is_left_out) return;
    write_rest(thread, round);
    leave_alone(writers, record, NULL);
    thread->is_left_out = true;
}

/* Ends a thread that has ended since its id was read, or without giving back its record, which the next thread takes.
 */
static void end_found(struct thread_writers *writers, struct thread_record *record, struct sampled_thread *thread,
                      struct round *round) {
    take_left(record, thread);
    collect(record, thread, round);
    end_thread(thread, round, thread->tid);
    thread->state = SAMPLED_LEFT_OUT;
    thread_registry_drop(writers);
}

/* While a thread is in the kernel, the event that signals once is raised in vain, again and again. A thread that goes
 * on for an interval has other stacks. */
static void stop_trying(struct sampled_thread *thread) {
    int64_t limit_ns = thread->found_ns + (int64_t)thread->interval_ns;
    if (thread->clocks.has_first && thread->share.owed_ns > limit_ns) thread_clocks_close_first(&thread->clocks);
}

static void observe_thread(struct thread_writers *writers, struct thread_record *record, struct sampled_thread *thread,
                           struct round *round) {
    uint64_t used_ns;
    if (thread->state == SAMPLED_LEFT_OUT) drop_if_ended(writers);
    if (thread->state == SAMPLED_LEFT_OUT || is_muted(writers)) {
        leave_out(writers, record, thread, round);
        return;
    }
    if (observer.rules.takes_demanded_alone && !demand_of(record)) {
        leave_alone(writers, record, NULL);
        return;
    }
    see_demand(record, thread);
    bool has_stacks = sample_ring_has_samples(&thread->ring);
    if (thread->state == SAMPLED_IN_WAIT && !has_stacks && is_passed_over(record, thread)) {
        write_as_before(record, thread, round);
        return;
    }
    if (!read_used_ns(thread, round, &used_ns)) {
        end_found(writers, record, thread, round);
        return;
    }
    /* A short thread is soon over. The beginning that passes until its clocks run has no stack. */
    if (thread->is_new && !thread->uid && !observer.rules.takes_no_stacks)
        thread_signal_follow(writers, record, thread, observer.rules.interval_ns, round->now_ticks);
    follow_name(thread, round);
    if (!identify(writers, record, thread, round)) return;
    if (observer.rules.writes_rest) write_rest(thread, round);
    if (observer.rules.only_opens_clocks) {
        if (!observer.rules.takes_no_stacks)
            thread_signal_follow(writers, record, thread, observer.rules.interval_ns, round->now_ticks);
        return;
    }
    collect(record, thread, round);
    if (thread->state == SAMPLED_LEFT_OUT) return;
    stop_trying(thread);
    if (thread->state == SAMPLED_IN_WAIT && !used_ns)
        write_as_before(record, thread, round);
    else
        look_at(writers, record, thread, round, used_ns);
}

static void observe(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = catch_up(writers, record, context);
    struct round *round = context;
    if (!thread) return;
    round->thread_count++;
    round->last = thread;
    observe_thread(writers, record, thread, round);
    finish_demand(record, thread);
}

/* Stores how much of the only thread's processor time the trace has, for the program that the thread may execute. If
 * there are several, it is not known which one will. */
static void tell_time(const struct round *round) {
    const struct sampled_thread *thread = round->thread_count == 1 ? round->last : NULL;
    bool is_known = thread && thread->tid == process_self()->pid && thread->is_cpu_read && !thread->is_left_out;
    int64_t told_ns = is_known ? (int64_t)thread->cpu_ns - thread->share.owed_ns : 0;
    told_time_store(told_ns > 0 ? (uint64_t)told_ns : 0);
}

void thread_observer_limit(const struct thread_observer_rules *rules) { observer.rules = *rules; }

uint32_t thread_observer_round(void) {
    struct round round = {.recording = recording_enter()};
    if (!round.recording.thread) return 0;
    round.now_ticks = clock_ticks();
    thread_registry_each_record(observe, &round);
    tell_time(&round);
    recording_leave(&round.recording);
    return round.running_count;
}

/* ---- Beside the rounds. ---- */

static void write_used(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = catch_up(writers, record, context);
    uint64_t used_ns;
    if (!thread || is_muted(writers) || !read_used_ns(thread, context, &used_ns)) return;
    if (!identify(writers, record, thread, context)) return;
    if (is_in_trace(thread)) thread->share.owed_ns += take_unseen();
    write_rest(thread, context);
}

void thread_observer_write_rests(void) {
    struct round round = {.recording = recording_enter(), .now_ticks = clock_ticks()};
    if (!round.recording.thread) return;
    thread_registry_each_record(write_used, &round);
    recording_leave(&round.recording);
}

/* If the system's name of a thread changes, the thread may come to be wanted. */
static void refresh_name(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = known_thread(record);
    (void)context;
    if (!thread || thread_registry_tid(writers) != thread->tid) return;
    if (thread->state == SAMPLED_LEFT_OUT) thread->state = SAMPLED_NOTHING;
    /* A thread that waits is not identified in each round, and may have named itself before it began to wait. */
    if (thread->uid) take_own_name(record, thread);
    if (!thread->is_named && thread->name_bytes_count) read_system_name(thread, clock_ticks());
}

void thread_observer_refresh_names(void) { thread_registry_each_record(refresh_name, NULL); }

void thread_observer_pause(void) {
    thread_registry_each_record(leave_alone, NULL);
    told_time_store(0);
}

bool thread_observer_is_walking(const struct thread_record *record) {
    const struct sampled_thread *thread = __atomic_load_n(&record->sampled, __ATOMIC_ACQUIRE);
    return thread && sample_ring_is_walking(&thread->ring);
}

static bool has_stuck_handler;

bool thread_observer_has_stuck_handler(void) { return has_stuck_handler; }

static void stop_clocks(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = known_thread(record);
    (void)writers;
    (void)context;
    if (thread) thread_signal_leave(thread);
}

/* The handler reads tables that may be freed after this. */
static void await_handler(struct thread_writers *writers, struct thread_record *record, void *context) {
    enum { TRY_COUNT = 20000, NAP_US = 50 };
    (void)writers;
    (void)context;
    for (int i = 0; thread_observer_is_walking(record); i++) {
        if (i == TRY_COUNT) {
            has_stuck_handler = true;
            return;
        }
        usleep(NAP_US);
    }
}

/* Keeps what is too little for a sample of the thread. */
static void leave_rest(struct sampled_thread *thread) {
    if (thread->share.owed_ns <= 0 || !is_in_trace(thread)) return;
    observer.unseen_ns += thread->share.owed_ns;
    thread->share.owed_ns = 0;
}

/* Writes what the thread has left, with the processor time that it has used since the last round. */
static void collect_last(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = catch_up(writers, record, context);
    uint64_t used_ns;
    if (!thread || thread->state == SAMPLED_LEFT_OUT || is_muted(writers)) return;
    if (!read_used_ns(thread, context, &used_ns)) {
        end_found(writers, record, thread, context);
        return;
    }
    if (!identify(writers, record, thread, context)) return;
    collect(record, thread, context);
    write_rest(thread, context);
    leave_rest(thread);
    sampled_thread_write_name(thread, &((struct round *)context)->recording);
}

uint64_t thread_observer_gather_unseen(uint64_t used_ns, uint64_t interval_ns) {
    uint64_t *unseen_ns = &recording_pool.shared->unseen_ns;
    if (used_ns >= interval_ns / 2) return used_ns;
    if (__atomic_add_fetch(unseen_ns, used_ns, __ATOMIC_RELAXED) < interval_ns) return 0;
    return __atomic_exchange_n(unseen_ns, 0, __ATOMIC_RELAXED);
}

/* Writes what threads without a sample have used, since no thread begins any more that could take it. Other threads
 * have used it, so it is a sample of its own unless it is little. */
static void write_unseen(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = known_thread(record);
    (void)writers;
    if (observer.unseen_ns <= observer.lent_ns || !thread || !is_in_trace(thread) || thread->state == SAMPLED_LEFT_OUT)
        return;
    uint64_t unseen_ns = (uint64_t)(take_unseen() - observer.lent_ns);
    observer.lent_ns = 0;
    if (thread->sampled_ns && unseen_ns < observer.rules.interval_ns / 2) {
        sampled_thread_write_rest(thread, &((struct round *)context)->recording, unseen_ns);
        return;
    }
    unseen_ns = thread_observer_gather_unseen(unseen_ns, observer.rules.interval_ns);
    if (unseen_ns) write_between_samples(thread, context, unseen_ns);
}

/* A rest can be divided only among samples that have processor time. */
static void write_unseen_to_sampled(struct thread_writers *writers, struct thread_record *record, void *context) {
    const struct sampled_thread *thread = known_thread(record);
    if (thread && thread->sampled_ns) write_unseen(writers, record, context);
}

static void drop(struct thread_writers *writers, struct thread_record *record, void *context) {
    (void)record;
    (void)context;
    thread_registry_drop(writers);
}

void thread_observer_drop_records(void) { thread_registry_each_record(drop, NULL); }

static void report_lost(void) {
    char text[TEXT_BYTES];
    if (!observer.lost_count) return;
    snprintf(text, sizeof text,
             "%llu stacks were left out, because the sampler had no time to take them: later ones stand for their time",
             (unsigned long long)observer.lost_count);
    recording_write_message(text);
}

void thread_observer_finish(void) {
    thread_registry_each_record(stop_clocks, NULL);
    thread_registry_each_record(await_handler, NULL);
    struct round round = {.recording = recording_enter()};
    if (round.recording.thread) {
        thread_observer_refresh_names();
        thread_registry_each_record(collect_last, &round);
        thread_registry_each_record(write_unseen_to_sampled, &round);
        thread_registry_each_record(write_unseen, &round);
        recording_leave(&round.recording);
    }
    report_lost();
    told_time_store(0);
    /* From now on nobody notices when the threads of held records end. */
    thread_observer_drop_records();
}

void thread_observer_begin(const struct thread_observer_starter *starter) {
    observer.epoch++;
    observer.starter = *starter;
    observer.is_refusal_reported = false;
    observer.lost_count = 0;
    observer.unseen_ns = (int64_t)starter->unseen_ns;
    observer.lent_ns = 0;
    has_stuck_handler = false;
}

void thread_observer_open(void) {
    observer.own_tid = process_own_tid();
    observer.tick_ns = thread_clocks_tick_ns();
    if (!task_wait_is_told((uint32_t)getpid()))
        report_error("the kernel does not show what threads wait in: /proc/self/task/TID/syscall");
}
