#include "thread_observer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu_balance.h"
#include "recorder/state/clock.h"
#include "recorder/unwind/mappings.h"
#include "recorder/unwind/unwind_table.h"
#include "recorder/write/thread_registry.h"
#include "recorder/write/writer.h"
#include "task_list.h"
#include "task_wait.h"
#include "thread_signal.h"
#include "waiting_stack.h"

enum {
    /* How many stacks in a row are dropped and asked for again because unwind tables were missing. A stack through many
       libraries needs a few tries. */
    DROPPED_COUNT_MAX = 64,
    ANSWER_CPU_NS_MAX = 200000, /* processor time that answering takes at most */
    /* A thread that was in a poll or select so recently may have been woken from it, and not have run since. */
    LATE_WAIT_MS = 100,
    POSTPONED_COUNT_MAX = 8,
    TEXT_BYTES = 160,
};

struct round {
    struct recording recording;
    uint64_t now_ticks;
    bool is_balance_kept; /* no thread that was idle has run */
    struct cpu_balance balance;
    uint64_t found_ns;      /* processor time that idle threads turned out to have used */
    uint32_t running_count; /* threads that have run since the round before */
    bool hides_thread;      /* a thread that has run could not be asked, since it was on no processor */
};

static struct {
    uint32_t epoch;
    uint32_t own_tid;
    bool is_refusal_reported; /* that memory of threads cannot be read */
    bool takes_no_stacks;
    bool takes_demanded_alone;
} observer;

static uint64_t ticks_of_ms(uint64_t ms) { return recorder_clock.ticks_per_second / 1000 * ms; }

static uint64_t ns_of_ticks(uint64_t ticks) {
    return (uint64_t)((double)ticks * 1e9 / (double)recorder_clock.ticks_per_second);
}

static void report_error(const char *what) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
    recording_write_message(text);
}

/* ---- Processor time. ---- */

/* Reads the times of the threads that ran in the round before, for the balance of all. */
static void add_to_balance(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct round *round = context;
    struct sampled_thread *thread = &record->sampled;
    uint32_t tid = thread_registry_tid(writers);
    /* Store nothing into records without a thread: after a fork, a store would copy their pages. */
    if (!tid) return;
    thread->has_new_cpu = false;
    if (thread->epoch != observer.epoch || thread->tid != tid || thread->activity == ACTIVITY_UNREAD) return;
    bool is_idle = thread->activity == ACTIVITY_IDLE;
    thread->has_new_cpu = !is_idle && task_read_cpu_ns(tid, &thread->new_cpu_ns);
    cpu_balance_add(&round->balance, thread->has_new_cpu ? thread->new_cpu_ns : thread->cpu_ns, is_idle);
}

static bool read_cpu_ns(const struct sampled_thread *thread, const struct round *round, uint64_t *cpu_ns) {
    *cpu_ns = thread->has_new_cpu ? thread->new_cpu_ns : thread->cpu_ns;
    if (thread->has_new_cpu || (round->is_balance_kept && thread->activity == ACTIVITY_IDLE)) return true;
    return task_read_cpu_ns(thread->tid, cpu_ns);
}

/* Finds the processor time that the thread has used since the round before. Returns false if the thread has ended. */
static bool read_used_ns(struct sampled_thread *thread, struct round *round, uint64_t *used_ns) {
    uint64_t cpu_ns;
    *used_ns = 0;
    if (!read_cpu_ns(thread, round, &cpu_ns)) return false;
    if (thread->activity != ACTIVITY_UNREAD && cpu_ns > thread->cpu_ns) *used_ns = cpu_ns - thread->cpu_ns;
    if (thread->activity == ACTIVITY_IDLE) round->found_ns += *used_ns;
    thread->cpu_ns = cpu_ns;
    thread->activity = *used_ns ? ACTIVITY_RUNNING : ACTIVITY_IDLE;
    round->running_count += *used_ns != 0;
    thread->unwritten_cpu_ns += *used_ns;
    return true;
}

static bool is_on_processor(const struct sampled_thread *thread) {
    uint64_t cpu_ns;
    return task_read_cpu_ns(thread->tid, &cpu_ns) && cpu_ns != thread->cpu_ns;
}

/* ---- Which thread it is. ---- */

static void forget(struct sampled_thread *thread, uint32_t tid) {
    *thread = (struct sampled_thread){.epoch = observer.epoch, .tid = tid};
}

/* Ends the thread in the trace. The record belongs to `tid` now; 0: to no thread. */
static void end_thread(struct sampled_thread *thread, struct round *round, uint32_t tid) {
    if (thread->epoch == observer.epoch && thread->tid) sampled_thread_write_end(thread, &round->recording);
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

/* A thread that was unregistered and has recorded since has a new number in the trace: it is another thread there. */
static void identify(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    char name[TASK_NAME_BYTES];
    uint64_t uid = thread_record_uid(record);
    if (thread->uid && thread->uid != uid) end_thread(thread, round, thread->tid);
    bool is_named = take_own_name(record, thread);
    if (thread->uid) return;
    thread->uid = uid;
    thread->start_ticks = __atomic_load_n(&record->start_ticks, __ATOMIC_RELAXED);
    if (!thread->start_ticks) thread->start_ticks = clock_ticks();
    if (!is_named) set_name(thread, name, task_read_name(thread->tid, name));
}

/* Identifies the thread. Returns false if its name leaves it out. */
static bool is_wanted(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    identify(record, thread, round);
    bool is_wanted = recording_wants_thread(thread->name, thread->name_bytes_count);
    if (!is_wanted) thread->state = SAMPLED_LEFT_OUT;
    return is_wanted;
}

/* ---- Samples that another thread has demanded. ---- */

static uint32_t demand_of(const struct thread_record *record) {
    return __atomic_load_n(&record->demand, __ATOMIC_ACQUIRE);
}

/* Notes that samples from now on meet the demand. */
static void see_demand(struct thread_record *record) {
    if (demand_of(record) != THREAD_DEMANDED) return;
    record->sampled.written_count = 0;
    __atomic_store_n(&record->demand, (uint32_t)THREAD_DEMAND_SEEN, __ATOMIC_RELEASE);
}

static void finish_demand(struct thread_record *record) {
    uint32_t seen = THREAD_DEMAND_SEEN;
    if (demand_of(record) == THREAD_DEMAND_SEEN && record->sampled.written_count)
        __atomic_compare_exchange_n(&record->demand, &seen, (uint32_t)THREAD_NOT_DEMANDED, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
}

/* ---- Samples. ---- */

static struct sample_facts facts_of(const struct thread_record *record, uint64_t ticks) {
    uint64_t busy_since = __atomic_load_n(&record->busy_since_ticks, __ATOMIC_RELAXED);
    struct sample_facts facts = {.ticks = ticks, .has_delay = busy_since != 0};
    if (!facts.has_delay || busy_since == EVENT_LOOP_IDLE) return facts;
    uint64_t now = ticks ? ticks : clock_ticks();
    facts.delay_ns = now > busy_since ? ns_of_ticks(now - busy_since) : 0;
    return facts;
}

/* Whether a sample of the thread can be written without a new stack. */
static bool has_sample(const struct sampled_thread *thread) {
    return thread->state == SAMPLED_KNOWN || thread->state == SAMPLED_UNREACHED;
}

static void write_stack(struct thread_record *record, struct sampled_thread *thread, struct round *round,
                        const struct merged_stack *stack, uint64_t ticks) {
    struct sample_facts facts = facts_of(record, ticks);
    sampled_thread_write(thread, &round->recording, stack, &facts);
    thread->dropped_count = 0;
    thread->written_count++;
    thread->is_cpu_known = true;
}

static void write_as_before(const struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    if (!thread->uid || !has_sample(thread)) return;
    struct sample_facts facts = facts_of(record, 0);
    sampled_thread_write_last(thread, &round->recording, &facts);
    thread->written_count++;
    thread->is_cpu_known = true;
}

/* Writes a sample without a stack, for a thread that cannot be asked and whose stack cannot be read. A thread that was
 * found in this round gets no sample: it may be about to end, and would have a track for that sample alone. */
static void write_without_stack(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    if (thread->found_ticks == round->now_ticks || !is_wanted(record, thread, round)) return;
    if (thread_signal_is_overdue(record, round->now_ticks)) thread_signal_report_unreached(record);
    if (thread->state == SAMPLED_KNOWN) thread->chunk_of_stack = 0;
    thread->state = SAMPLED_UNREACHED;
    write_as_before(record, thread, round);
}

/* ---- Stacks that are dropped, and asked for again. ---- */

/* Drops an incomplete stack: the next round takes a complete one. Do not drop a stack after the last round. There is no
 * next one, and the sample would show the end of the program at its root. */
static void drop_stack(struct sampled_thread *thread) {
    thread->dropped_count++;
    thread->state = SAMPLED_UNKNOWN;
}

static bool may_drop_stack(const struct sampled_thread *thread) { return thread->dropped_count < DROPPED_COUNT_MAX; }

/* Returns whether the stack is incomplete because a table or a mapping was missing that the next walk will have. */
static bool awaits_more(const struct sample_slot *slot) {
    bool has_more = unwind_snapshot_has_wanted() || unwind_snapshot_build_count() != slot->build_count ||
                    mappings_are_wanted() || mappings_read_count() != slot->read_count;
    return slot->is_truncated && has_more;
}

/* ---- Answers of threads. ---- */

static bool is_answer_due(const struct thread_record *record, const struct round *round) {
    const struct sampled_thread *thread = &record->sampled;
    return thread_signal_is_available() && thread->request_ticks && thread->state != SAMPLED_UNREACHED &&
           !thread_signal_is_overdue(record, round->now_ticks);
}

static void write_answer(struct thread_record *record, struct sampled_thread *thread, struct round *round,
                         uint64_t ticks) {
    static struct merged_stack stack;
    const struct sample_slot *slot = &record->sample;
    if (!is_wanted(record, thread, round)) return;
    recording_count_loss(LOSS_TEXT, slot->labels.left_out_count);
    merged_stack_make(&stack, slot->walked, slot->walked_count, &slot->labels.labels, round->recording.depth);
    stack.is_truncated = slot->is_truncated;
    bool has_waited = slot->walked_count &&
                      task_wait_was_interrupted(thread->asked_wait, thread->asked_wait_pc, slot->walked[0].address);
    if (has_waited) merged_stack_add_innermost(&stack, thread->asked_wait, round->recording.depth);
    write_stack(record, thread, round, &stack, ticks);
}

/* Takes the answer to the round before, if the thread has given one. A thread whose stack had no room for a handler may
 * have room next time. */
static void collect(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    struct sample_slot *slot = &record->sample;
    if (!thread->request_ticks) return;
    uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    if (state == SAMPLE_SLOT_REQUESTED || state == SAMPLE_SLOT_ANSWERING) return;
    uint64_t ticks = thread->request_ticks;
    thread->request_ticks = 0;
    if (thread->state == SAMPLED_UNREACHED) thread->state = SAMPLED_UNKNOWN;
    if (state == SAMPLE_SLOT_ANSWERED) {
        if (awaits_more(slot) && may_drop_stack(thread))
            drop_stack(thread);
        else
            write_answer(record, thread, round, ticks);
    }
    if (state == SAMPLE_SLOT_REFUSED) {
        write_without_stack(record, thread, round);
        thread_signal_report_refused(record);
    }
    __atomic_store_n(&slot->state, SAMPLE_SLOT_FREE, __ATOMIC_RELEASE);
}

/* ---- Threads that wait. ---- */

static void report_forbidden(void) {
    if (observer.is_refusal_reported) return;
    observer.is_refusal_reported = true;
    report_error("stacks of threads that wait cannot be read: /proc/thread-self/mem");
}

/* A signal could cut the wait short, so the stack is read from outside. The innermost frame names the wait. */
static void write_wait(struct thread_record *record, struct sampled_thread *thread, struct round *round,
                       const struct task_wait *wait) {
    static struct merged_stack stack;
    if (!is_wanted(record, thread, round)) return;
    switch (waiting_stack_take(&stack, record, wait, round->recording.depth)) {
        case WAITING_STACK_TAKEN:
            if (!stack.is_truncated || !unwind_snapshot_has_wanted() || !may_drop_stack(thread)) break;
            drop_stack(thread);
            return;
        case WAITING_STACK_MOVED:
            thread->wait_fingerprint = 0;
            return;
        case WAITING_STACK_FORBIDDEN:
            report_forbidden();
            merged_stack_make_empty(&stack);
            break;
    }
    if (wait->label) merged_stack_add_innermost(&stack, wait->label, round->recording.depth);
    write_stack(record, thread, round, &stack, 0);
}

/* Returns whether the thread is still in the same wait. Answering the signal uses a little processor time too, which
 * does not change the stack. */
static bool waits_as_before(const struct sampled_thread *thread, const struct task_wait *wait, uint64_t used_ns) {
    return thread->state == SAMPLED_KNOWN && wait->fingerprint && wait->fingerprint == thread->wait_fingerprint &&
           used_ns < ANSWER_CPU_NS_MAX;
}

/* If the time limit of a poll has passed, and a signal comes before the thread runs again, the poll returns EINTR. The
 * kernel does not distinguish such a thread from one that works. So a thread that polls is asked only while it is on a
 * processor, which shows as processor time that grows between two readings. If the sampler itself has taken the
 * thread's processor, the time never grows, so the number of postponements is limited. */
static bool is_postponed(struct sampled_thread *thread, const struct round *round) {
    bool has_polled = thread->late_wait_ticks && round->now_ticks - thread->late_wait_ticks < ticks_of_ms(LATE_WAIT_MS);
    if (!has_polled || thread->postponed_count == POSTPONED_COUNT_MAX || is_on_processor(thread)) {
        thread->postponed_count = 0;
        return false;
    }
    thread->postponed_count++;
    return true;
}

/* Writes a sample without asking the thread: the kernel does not show what it waits in, and a signal could cut that
 * wait short. */
static void write_unasked(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    if (thread->state == SAMPLED_KNOWN)
        write_as_before(record, thread, round);
    else
        write_without_stack(record, thread, round);
}

static void write_time_alone(struct thread_record *record, struct round *round) {
    static struct merged_stack stack;
    if (!is_wanted(record, &record->sampled, round)) return;
    merged_stack_make_empty(&stack);
    write_stack(record, &record->sampled, round, &stack, 0);
}

/* Whether the thread has used more processor time in this call than the kernel does. */
static bool has_left_kernel(const struct sampled_thread *thread, struct spared_call *call) {
    uint64_t seen_cpu_ns = __atomic_load_n(&call->seen_cpu_ns, __ATOMIC_RELAXED);
    if (seen_cpu_ns) return thread->cpu_ns - seen_cpu_ns > __atomic_load_n(&call->cpu_ns_max, __ATOMIC_RELAXED);
    __atomic_store_n(&call->seen_cpu_ns, thread->cpu_ns, __ATOMIC_RELAXED);
    return false;
}

/* A jump out of a handler, or the end of a thread by pthread_cancel, leaves a call without ending it. The thread then
 * works, or waits in a function that the one which made the call has returned to. Or a handler of the program works:
 * then it has interrupted the call already. */
static void forget_left_call(struct thread_record *record, const struct task_wait *wait) {
    struct spared_call *call = &record->spared_call;
    uint64_t sp = __atomic_load_n(&call->sp, __ATOMIC_RELAXED);
    if (sp && ((wait->pc && wait->sp > sp) || has_left_kernel(&record->sampled, call)))
        __atomic_compare_exchange_n(&call->sp, &sp, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Writes a sample, or asks for a stack, of a thread whose stack may have changed. */
static void renew_stack(const struct thread_writers *writers, struct thread_record *record, struct round *round,
                        uint64_t used_ns) {
    struct sampled_thread *thread = &record->sampled;
    if (is_answer_due(record, round)) return;
    if (observer.takes_no_stacks && !demand_of(record)) {
        write_time_alone(record, round);
        return;
    }
    bool can_ask = thread_signal_can_ask(writers, record, round->now_ticks);
    /* Find the wait last: the thread may begin to wait before the signal arrives. */
    struct task_wait wait = task_wait_find(thread->tid);
    forget_left_call(record, &wait);
    if (!wait.pc && !can_ask) waiting_stack_find_spared_call(record, &wait);
    if (!wait.is_told && can_ask && !is_on_processor(thread)) {
        round->hides_thread = true;
        write_unasked(record, thread, round);
        return;
    }
    if (waits_as_before(thread, &wait, used_ns)) {
        write_as_before(record, thread, round);
        return;
    }
    thread->wait_fingerprint = wait.fingerprint;
    thread->asked_wait = wait.label;
    thread->asked_wait_pc = wait.pc;
    if (wait.is_cut_when_late) thread->late_wait_ticks = round->now_ticks;
    if (wait.forbids_signals || (!can_ask && wait.pc))
        write_wait(record, thread, round, &wait);
    else if (!can_ask)
        write_without_stack(record, thread, round);
    else if (!is_postponed(thread, round))
        thread_signal_ask(record);
}

/* ---- A round. ---- */

static bool is_muted(const struct thread_writers *writers) {
    return thread_writers_know_filter(writers) && __atomic_load_n(&writers->is_muted, __ATOMIC_RELAXED);
}

/* A record that is held for a thread must not be found by a later thread with the same id. */
static void drop_if_ended(struct thread_writers *writers) {
    uint64_t cpu_ns;
    if (thread_registry_is_held(writers) && !task_read_cpu_ns(thread_registry_tid(writers), &cpu_ns))
        thread_registry_drop(writers);
}

/* Returns whether the thread has been asleep, by its own hint, since the round before. The first round after the hint
 * finds where the thread sleeps. */
static bool sleeps_on(const struct thread_record *record, struct sampled_thread *thread) {
    bool was_asleep = thread->is_asleep;
    thread->is_asleep = __atomic_load_n(&record->is_asleep, __ATOMIC_RELAXED) != 0;
    return was_asleep && thread->is_asleep;
}

static void observe_thread(struct thread_writers *writers, struct thread_record *record, struct round *round) {
    struct sampled_thread *thread = &record->sampled;
    uint32_t tid = thread_registry_tid(writers);
    if (thread->epoch != observer.epoch) forget(thread, 0);
    if (thread->tid != tid) {
        end_thread(thread, round, tid);
        thread->found_ticks = round->now_ticks;
        sample_slot_clear(&record->sample);
    }
    if (thread->state == SAMPLED_LEFT_OUT) drop_if_ended(writers);
    if (!tid || tid == observer.own_tid || thread->state == SAMPLED_LEFT_OUT || is_muted(writers)) return;
    collect(record, thread, round);
    if (observer.takes_demanded_alone && !demand_of(record)) return;
    see_demand(record);
    /* While tables are missing, an answer would be no whole stack. */
    if (thread->state == SAMPLED_LEFT_OUT || unwind_snapshot_has_wanted()) return;
    bool had_sample = has_sample(thread), is_asleep = sleeps_on(record, thread);
    if (had_sample && is_asleep) {
        write_as_before(record, thread, round);
        return;
    }
    uint64_t used_ns;
    if (!read_used_ns(thread, round, &used_ns)) {
        /* The thread ended without giving back its record, which the next thread takes. */
        end_thread(thread, round, tid);
        thread->state = SAMPLED_LEFT_OUT;
        thread_registry_drop(writers);
        return;
    }
    if (had_sample && !used_ns)
        write_as_before(record, thread, round);
    else
        renew_stack(writers, record, round, used_ns);
}

static void observe(struct thread_writers *writers, struct thread_record *record, void *context) {
    observe_thread(writers, record, context);
    finish_demand(record);
}

void thread_observer_limit(bool takes_no_stacks, bool takes_demanded_alone) {
    observer.takes_no_stacks = takes_no_stacks;
    observer.takes_demanded_alone = takes_demanded_alone;
}

uint32_t thread_observer_round(bool *hides_thread) {
    struct round round = {.recording = recording_enter()};
    *hides_thread = false;
    if (!round.recording.thread) return 0;
    round.now_ticks = clock_ticks();
    thread_registry_each_record(add_to_balance, &round);
    round.is_balance_kept = cpu_balance_is_kept(&round.balance);
    thread_registry_each_record(observe, &round);
    if (!round.is_balance_kept) cpu_balance_update(&round.balance, round.found_ns);
    recording_leave(&round.recording);
    *hides_thread = round.hides_thread;
    return round.running_count;
}

/* ---- Beside the rounds. ---- */

/* If the system's name of a thread changes, the thread may come to be wanted. */
static void refresh_name(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = &record->sampled;
    char name[TASK_NAME_BYTES];
    (void)writers;
    (void)context;
    if (thread->epoch != observer.epoch || !thread->tid) return;
    if (thread->state == SAMPLED_LEFT_OUT) thread->state = SAMPLED_UNKNOWN;
    /* A thread that waits is not identified in each round, and may have named itself before it began to wait. */
    if (thread->uid) take_own_name(record, thread);
    if (thread->is_named || !thread->name_bytes_count) return;
    uint32_t bytes_count = task_read_name(thread->tid, name);
    if (bytes_count) set_name(thread, name, bytes_count);
}

void thread_observer_refresh_names(void) { thread_registry_each_record(refresh_name, NULL); }

static void drop_ended(struct thread_writers *writers, struct thread_record *record, void *context) {
    (void)record;
    (void)context;
    drop_if_ended(writers);
}

void thread_observer_pause(void) { thread_registry_each_record(drop_ended, NULL); }

static void forget_times(struct thread_writers *writers, struct thread_record *record, void *context) {
    (void)writers;
    (void)context;
    record->sampled.activity = ACTIVITY_UNREAD;
    record->sampled.is_cpu_known = false;
    record->sampled.unwritten_cpu_ns = 0;
}

void thread_observer_resume(void) { thread_registry_each_record(forget_times, NULL); }

static void collect_last(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = &record->sampled;
    uint32_t tid = thread_registry_tid(writers);
    if (thread->epoch == observer.epoch && tid && thread->tid == tid) collect(record, thread, context);
}

static void drop(struct thread_writers *writers, struct thread_record *record, void *context) {
    (void)record;
    (void)context;
    thread_registry_drop(writers);
}

void thread_observer_finish(void) {
    struct round round = {.recording = recording_enter()};
    if (round.recording.thread) {
        thread_registry_each_record(collect_last, &round);
        recording_leave(&round.recording);
    }
    /* From now on nobody notices when the threads of held records end. */
    thread_registry_each_record(drop, NULL);
}

void thread_observer_begin(void) {
    observer.epoch++;
    observer.is_refusal_reported = false;
    cpu_balance_begin();
}

void thread_observer_open(void) {
    observer.own_tid = (uint32_t)syscall(SYS_gettid);
    if (!task_wait_is_told(observer.own_tid))
        report_error(
            "what threads wait in is not told, so only those on a processor are interrupted: "
            "/proc/self/task/TID/syscall");
}
