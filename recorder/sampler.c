#include "sampler.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "counters.h"
#include "cpu_balance.h"
#include "cpu_turns.h"
#include "definitions.h"
#include "libc_thread.h"
#include "libraries.h"
#include "mappings.h"
#include "own_signal.h"
#include "own_thread.h"
#include "process_counters.h"
#include "sampled_thread.h"
#include "session.h"
#include "task_file.h"
#include "task_list.h"
#include "task_wait.h"
#include "thread_registry.h"
#include "thread_stack.h"
#include "waiting_stack.h"
#include "work_alarm.h"
#include "writer.h"

enum {
    /* A thread that does not answer for so long, though it runs, blocks the signal. */
    UNREACHED_MS = 500,
    UNREACHED_PERIOD_MS = 100,   /* between two looks whether it still does */
    SLOW_PERIOD_NS = 1000000000, /* of what changes seldom */
    /* Stacks in a row that are asked for again since tables were to come: one of many libraries needs a few. */
    DROPPED_COUNT_MAX = 64,
    ANSWER_CPU_NS_MAX = 200000, /* what answering takes, on a bad day */
    STRETCHED_NS_MAX = 1000000, /* between two rounds, of a program that uses little processor time */
    QUIET_AFTER_NS = 50000000,  /* without a thread that runs: the sampler sleeps too… */
    QUIET_ROUND_NS = 1000000000, /* …and looks this often at least */
    QUIET_CPU_NS = 3000, /* less than a thread needs to wake up and go to sleep again */
    /* A process that a recorded one has made is sampled when it has used so much, or lived for so long. */
    LATE_CPU_NS = 5000000,
    LATE_LIFE_NS = 100000000,
    LATE_LOOK_NS = 10000000,
    /* A thread that was in a poll or select so recently may have been woken from one, and not run since. */
    LATE_WAIT_MS = 100,
    SPARED_COUNT_MAX = 8,
    TEXT_BYTES = 160,
};

struct round {
    struct recording recording;
    uint64_t now_ticks;
    bool is_balance_kept; /* threads that were found asleep sleep on */
    struct cpu_balance balance;
    uint64_t found_ns;      /* that some of them have used */
    uint32_t running_count; /* of all threads: they used some */
};

enum sampler_phase { SAMPLER_WAITS = 0, SAMPLER_HAS_BEGUN, SAMPLER_NEVER_BEGINS };

static struct {
    struct own_thread thread;
    uint32_t phase; /* enum sampler_phase */
    uint32_t epoch;
    uint32_t own_tid;
    pid_t pid;
    uint32_t end_word; /* a futex; not 0: the thread is to end */
    uint64_t interval_ns;
    uint64_t next_slow_ns;
    bool takes_all_threads;
    bool begins_late;
    bool can_be_quiet;
    int signal;            /* that threads are interrupted by; 0: none */
    uint32_t signal_count; /* that there were so far */
    bool has_paused;
    bool has_said_forbidden;
    bool has_stuck_handler; /* of a thread that was stopped in the middle of it */
    void (*callback)(void *context); /* after each round */
    void *callback_context;
    uint64_t tick_count;
    uint64_t late_tick_count;
    uint32_t running_count; /* threads, in the last round */
    uint64_t worked_ns;     /* when a thread was last found to have run */
    uint64_t round_ns;      /* when the last round was, for next_step_ns */
    uint64_t round_cpu_ns;  /* what the program had used, for take_program_cpu_ns */
} sampler;

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout) {
    return syscall(SYS_futex, word, operation, value, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

static struct timespec timespec_of(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

static uint64_t ticks_of_ms(uint64_t ms) { return recorder_clock.ticks_per_second / 1000 * ms; }

static uint64_t ns_of_ticks(uint64_t ticks) {
    return (uint64_t)((double)ticks * 1e9 / (double)recorder_clock.ticks_per_second);
}

/* ---- The signal. ---- */

static bool answer(int number, void *interrupted) {
    struct thread_record *record = thread_registry_find_asked();
    if (!record || !sample_slot_take_signal(&record->sample, number)) return false;
    sample_slot_answer(&record->sample, &record->labels, interrupted);
    return true;
}

static void say_signal(int number) {
    char text[TEXT_BYTES];
    const char *first = own_signal_name(own_signal_first());
    if (number)
        snprintf(text, sizeof text, "the program uses %s: its threads are interrupted by %s", first,
                 own_signal_name(number));
    else
        snprintf(text, sizeof text, "the program uses %s: its threads are sampled without stacks", first);
    recording_write_message(text);
}

/* The program may take the signal for itself at any time. */
static void find_signal(void) {
    int number = own_signal_find();
    bool is_as_before = sampler.signal_count && number == sampler.signal;
    if (is_as_before) return;
    sampler.signal = number;
    sampler.signal_count++;
    if (number != own_signal_first()) say_signal(number);
}

/* ---- Looking at a thread. ---- */

static void forget(struct sampled_thread *thread, uint32_t tid) {
    *thread = (struct sampled_thread){.epoch = sampler.epoch, .tid = tid};
}

/* The record has another thread now, or none. */
static void end_thread(struct sampled_thread *thread, struct round *round, uint32_t tid) {
    if (thread->epoch == sampler.epoch && thread->tid) sampled_thread_write_end(thread, &round->recording);
    forget(thread, tid);
}

static struct sample_facts facts_of(const struct thread_record *record, uint64_t ticks) {
    uint64_t busy_since = __atomic_load_n(&record->busy_since_ticks, __ATOMIC_RELAXED);
    struct sample_facts facts = {.ticks = ticks, .has_delay = busy_since != 0};
    if (!facts.has_delay || busy_since == EVENT_LOOP_IDLE) return facts;
    uint64_t now = ticks ? ticks : clock_ticks();
    facts.delay_ns = now > busy_since ? ns_of_ticks(now - busy_since) : 0;
    return facts;
}

/* Before threads are looked at: asks those that ran when they were looked at last. */
static void weigh(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct round *round = context;
    struct sampled_thread *thread = &record->sampled;
    uint32_t tid = thread_registry_tid(writers);
    /* Pages of records that nobody has are not written to: after a fork that would copy them. */
    if (!tid) return;
    thread->is_asked = false;
    if (thread->epoch != sampler.epoch || thread->tid != tid || !thread->is_looked_at) return;
    thread->is_asked = thread->is_awake && task_read_cpu_ns(tid, &thread->asked_cpu_ns);
    cpu_balance_add(&round->balance, thread->is_asked ? thread->asked_cpu_ns : thread->cpu_ns, !thread->is_awake);
}

static bool ask_for_cpu(struct sampled_thread *thread, const struct round *round, uint64_t *cpu_ns) {
    *cpu_ns = thread->is_asked ? thread->asked_cpu_ns : thread->cpu_ns;
    if (thread->is_asked || (round->is_balance_kept && thread->is_looked_at && !thread->is_awake)) return true;
    return task_read_cpu_ns(thread->tid, cpu_ns);
}

/* What it has used since it was looked at the last time; false: it is gone. */
static bool read_used_ns(struct sampled_thread *thread, struct round *round, uint64_t *used) {
    uint64_t cpu_ns, used_ns = 0;
    if (!ask_for_cpu(thread, round, &cpu_ns)) return false;
    if (thread->is_looked_at && cpu_ns > thread->cpu_ns) used_ns = cpu_ns - thread->cpu_ns;
    if (thread->is_looked_at && !thread->is_awake) round->found_ns += used_ns;
    thread->cpu_ns = cpu_ns;
    thread->is_looked_at = true;
    thread->is_awake = used_ns != 0;
    round->running_count += thread->is_awake;
    thread->unwritten_cpu_ns += used_ns;
    *used = used_ns;
    return true;
}

static bool is_asleep(const struct thread_record *record) {
    return __atomic_load_n(&record->is_asleep, __ATOMIC_RELAXED) != 0;
}

static bool is_on_processor(const struct sampled_thread *thread) {
    uint64_t cpu_ns;
    return task_read_cpu_ns(thread->tid, &cpu_ns) && cpu_ns != thread->cpu_ns;
}

/* A poll whose time limit has passed still returns EINTR if a signal comes before its thread runs again, and the kernel
 * does not tell such a thread from one that works. So a thread that polls is asked while it is on a processor: its time
 * goes on between two questions. Where the sampler itself has taken the thread's processor that is never so, hence the
 * maximum. */
static bool is_to_be_spared(struct sampled_thread *thread, const struct round *round) {
    bool has_polled = thread->late_wait_ticks && round->now_ticks - thread->late_wait_ticks < ticks_of_ms(LATE_WAIT_MS);
    if (!has_polled || thread->spared_count == SPARED_COUNT_MAX || is_on_processor(thread)) {
        thread->spared_count = 0;
        return false;
    }
    thread->spared_count++;
    return true;
}

/* The thread finds in its slot what its handler must not ask the system for. */
static void prepare(struct sample_slot *slot, const struct sampled_thread *thread) {
    __atomic_store_n(&slot->control_block, thread->control_block, __ATOMIC_RELAXED);
    if (slot->own_stack.high || !thread->control_block) return;
    bool is_first = thread->tid == (uint32_t)sampler.pid;
    if (!thread_stack_find(thread->control_block, is_first, &slot->own_stack))
        slot->own_stack = (struct stack_limits){0, 0};
}

static bool is_spared(const struct thread_record *record) {
    return __atomic_load_n(&record->is_spared, __ATOMIC_SEQ_CST) != 0;
}

/* A thread that is to be spared says so and then looks whether a signal is on its way; here it is the other way round. */
static bool send_signal(struct thread_record *record, const struct sampled_thread *thread) {
    struct sample_slot *slot = &record->sample;
    __atomic_store_n(&slot->signal, (uint32_t)sampler.signal, __ATOMIC_SEQ_CST);
    if (!is_spared(record) && syscall(SYS_tgkill, sampler.pid, thread->tid, sampler.signal) == 0) return true;
    __atomic_store_n(&slot->signal, 0, __ATOMIC_SEQ_CST);
    return false;
}

static void ask(struct thread_record *record, struct sampled_thread *thread) {
    struct sample_slot *slot = &record->sample;
    prepare(slot, thread);
    thread->request_ticks = clock_ticks();
    __atomic_store_n(&slot->state, SAMPLE_SLOT_REQUESTED, __ATOMIC_SEQ_CST);
    if (send_signal(record, thread)) return;
    sample_slot_cancel(slot);
    thread->request_ticks = 0;
}

static void name_thread(struct sampled_thread *thread, const char *name, uint32_t bytes_count) {
    if (bytes_count == thread->name_bytes_count && !memcmp(name, thread->name, bytes_count)) return;
    memcpy(thread->name, name, bytes_count);
    thread->name_bytes_count = bytes_count;
    thread->is_renamed = true;
}

/* The thread may end meanwhile, and the next owner of its record name that. */
static bool take_own_name(const struct thread_record *record, struct sampled_thread *thread) {
    char name[THREAD_NAME_BYTES];
    thread->is_named = __atomic_load_n(&record->is_named, __ATOMIC_ACQUIRE);
    if (!thread->is_named) return false;
    uint32_t bytes_count = __atomic_load_n(&record->name_bytes_count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < bytes_count; i++) name[i] = __atomic_load_n(&record->name[i], __ATOMIC_RELAXED);
    name_thread(thread, name, bytes_count);
    return true;
}

/* One that has ended and recorded once more is another one in the trace. */
static void identify(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    char name[TASK_NAME_BYTES];
    uint64_t uid = thread_record_uid(record);
    if (thread->uid && thread->uid != uid) end_thread(thread, round, thread->tid);
    bool is_named = take_own_name(record, thread);
    if (thread->uid) return;
    thread->uid = uid;
    thread->start_ticks = __atomic_load_n(&record->start_ticks, __ATOMIC_RELAXED);
    if (!thread->start_ticks) thread->start_ticks = clock_ticks();
    if (!is_named) name_thread(thread, name, task_read_name(thread->tid, name));
}

/* Whether the options want it, by the name that is known of it. */
static bool is_wanted(struct sampled_thread *thread) {
    thread->is_unwanted = !session_wants_thread(thread->name, thread->name_bytes_count);
    return !thread->is_unwanted;
}

static void say_unreached(const struct thread_record *record, struct sampled_thread *thread) {
    char text[TEXT_BYTES];
    const char *reason = is_spared(record)    ? "has too small an alternate stack for"
                         : thread->is_foreign ? "was not made by the C library, and is not sent"
                                              : "blocks";
    thread->is_said_unreached = true;
    snprintf(text, sizeof text, "thread %u \"%.*s\" %s %s: it is sampled without stacks", thread->tid,
             (int)thread->name_bytes_count, thread->name, reason, own_signal_name(sampler.signal));
    recording_write_message(text);
}

/* It will be whole when it is asked for again, whatever the thread does until then; behind the last round it would show
 * a piece of the program's end as its root. */
static void drop_stack(struct sampled_thread *thread) {
    thread->dropped_count++;
    thread->has_stack = false;
}

static bool may_drop_stack(const struct sampled_thread *thread) { return thread->dropped_count < DROPPED_COUNT_MAX; }

/* It ends where a table was to be built, or on a stack that was not known, and the next round begins with more or this
 * one began with it. */
static bool awaits_more(const struct sample_slot *slot) {
    bool has_more = unwind_snapshot_has_wanted() || unwind_snapshot_build_count() != slot->build_count ||
                    mappings_are_wanted() || mappings_read_count() != slot->read_count;
    return slot->is_truncated && has_more;
}

static void write_answer(struct thread_record *record, struct sampled_thread *thread, struct round *round,
                         uint64_t ticks) {
    static struct merged_stack stack;
    const struct sample_slot *slot = &record->sample;
    identify(record, thread, round);
    if (!is_wanted(thread)) return;
    struct sample_facts facts = facts_of(record, ticks);
    for (uint32_t i = 0; i < slot->labels.left_out_count; i++) session_count_cut_text();
    merged_stack_make(&stack, slot->walked, slot->walked_count, &slot->labels.labels, round->recording.depth);
    stack.is_truncated = slot->is_truncated;
    sampled_thread_write(thread, &round->recording, &stack, &facts);
    thread->dropped_count = 0;
    thread->is_cpu_known = true;
}

/* A signal that it blocks would stay pending, for a sigwait of the program's to find. Soon after the first time it is
 * looked again: a new thread blocks all signals, and is not known to the C library, until it runs. One that has come for
 * its record is known. */
static bool is_reachable(const struct thread_writers *writers, struct sampled_thread *thread, uint64_t now_ticks) {
    if (thread->signal_count != sampler.signal_count) {
        thread->signal_count = sampler.signal_count;
        thread->is_reachable = false;
        thread->next_check_ticks = 0;
    }
    if (thread->is_reachable || now_ticks < thread->next_check_ticks) return thread->is_reachable;
    thread->is_foreign = !libc_thread_find(thread->tid, &thread->control_block) && thread_registry_is_held(writers);
    thread->is_reachable = !thread->is_foreign && !task_blocks_signal(thread->tid, sampler.signal);
    uint64_t since_ticks = thread->unreached_ticks ? thread->unreached_ticks : now_ticks;
    uint64_t past_ticks = now_ticks - since_ticks, period_ticks = ticks_of_ms(UNREACHED_PERIOD_MS);
    thread->next_check_ticks = now_ticks + (past_ticks < period_ticks ? past_ticks : period_ticks);
    return thread->is_reachable;
}

static bool can_be_asked(const struct thread_writers *writers, const struct thread_record *record,
                         struct sampled_thread *thread, const struct round *round) {
    if (!sampler.signal || thread->request_ticks) return false;
    if (!is_spared(record) && is_reachable(writers, thread, round->now_ticks)) {
        thread->unreached_ticks = 0;
        return true;
    }
    if (!thread->unreached_ticks) thread->unreached_ticks = round->now_ticks;
    return false;
}

static bool is_overdue(const struct sampled_thread *thread, const struct round *round) {
    uint64_t since_ticks = thread->request_ticks ? thread->request_ticks : thread->unreached_ticks;
    return since_ticks && round->now_ticks - since_ticks > ticks_of_ms(UNREACHED_MS);
}

static bool is_answer_due(const struct sampled_thread *thread, const struct round *round) {
    bool is_asked = sampler.signal && thread->request_ticks;
    return is_asked && !thread->is_unreached && !is_overdue(thread, round);
}

static void write_as_before(const struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    if (!thread->uid || (!thread->has_stack && !thread->is_unreached)) return;
    struct sample_facts facts = facts_of(record, 0);
    sampled_thread_write_last(thread, &round->recording, &facts);
    thread->is_cpu_known = true;
}

/* It cannot be reached: there is no signal to be had, or it blocks it, or a handler would overflow its stack, or have no
 * thread-local storage. One that was found just now may be about to end, and have had its track. */
static void leave_unreached(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    if (thread->found_ticks == round->now_ticks) return;
    identify(record, thread, round);
    if (!is_wanted(thread)) return;
    thread->is_unreached = true;
    if (sampler.signal && is_overdue(thread, round) && !thread->is_said_unreached) say_unreached(record, thread);
}

static void write_without_stack(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    leave_unreached(record, thread, round);
    if (!thread->is_unreached) return;
    if (thread->has_stack) thread->chunk_of_stack = 0;
    thread->has_stack = false;
    write_as_before(record, thread, round);
}

static void say_refused(struct sampled_thread *thread) {
    char text[TEXT_BYTES];
    if (thread->is_said_refused || !thread->uid) return;
    thread->is_said_refused = true;
    snprintf(text, sizeof text,
             "thread %u \"%.*s\" had too little room on its stack for a handler of %s: a sample has no stack",
             thread->tid, (int)thread->name_bytes_count, thread->name, own_signal_name(sampler.signal));
    recording_write_message(text);
}

/* What the thread has left, if it has answered. A thread that had no room for a handler may have some next time. */
static void collect(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    struct sample_slot *slot = &record->sample;
    if (!thread->request_ticks) return;
    uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    if (state == SAMPLE_SLOT_REQUESTED || state == SAMPLE_SLOT_ANSWERING) return;
    uint64_t ticks = thread->request_ticks;
    thread->request_ticks = 0;
    thread->is_unreached = false;
    if (state == SAMPLE_SLOT_ANSWERED) {
        if (awaits_more(slot) && may_drop_stack(thread))
            drop_stack(thread);
        else
            write_answer(record, thread, round, ticks);
    }
    if (state == SAMPLE_SLOT_REFUSED) {
        write_without_stack(record, thread, round);
        say_refused(thread);
    }
    __atomic_store_n(&slot->state, SAMPLE_SLOT_FREE, __ATOMIC_RELEASE);
}

static void say_error(const char *what) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
    recording_write_message(text);
}

static void say_forbidden(void) {
    if (sampler.has_said_forbidden) return;
    sampler.has_said_forbidden = true;
    say_error("stacks of threads that wait cannot be read: /proc/thread-self/mem");
}

static void check_waits(void) {
    if (!task_wait_is_told(sampler.own_tid))
        say_error("what threads wait in is not told, so only those on a processor are interrupted: "
                  "/proc/self/task/TID/syscall");
}

/* The signal could cut short what it waits in. The innermost frame says so, where it would. */
static void write_wait(struct thread_record *record, struct sampled_thread *thread, struct round *round,
                       const struct task_wait *wait) {
    static struct merged_stack stack;
    identify(record, thread, round);
    if (!is_wanted(thread)) return;
    switch (waiting_stack_take(&stack, thread->tid, wait, &record->labels, round->recording.depth)) {
        case WAITING_STACK_TAKEN:
            if (!stack.is_truncated || !unwind_snapshot_has_wanted() || !may_drop_stack(thread)) break;
            drop_stack(thread);
            return;
        case WAITING_STACK_MOVED:
            thread->wait_fingerprint = 0;
            return;
        case WAITING_STACK_FORBIDDEN:
            say_forbidden();
            merged_stack_make_empty(&stack);
            break;
    }
    if (wait->label) merged_stack_add_innermost(&stack, wait->label, round->recording.depth);
    struct sample_facts facts = facts_of(record, 0);
    sampled_thread_write(thread, &round->recording, &stack, &facts);
    thread->dropped_count = 0;
    thread->is_cpu_known = true;
}

/* Answering the signal takes processor time too: that alone does not change a stack. */
static bool waits_as_before(const struct sampled_thread *thread, const struct task_wait *wait, uint64_t used) {
    return thread->has_stack && wait->fingerprint && wait->fingerprint == thread->wait_fingerprint &&
           used < ANSWER_CPU_NS_MAX;
}

/* It may wait in a call that a signal would cut short, as far as is known. */
static void write_unasked(struct thread_record *record, struct sampled_thread *thread, struct round *round) {
    if (thread->has_stack)
        write_as_before(record, thread, round);
    else
        write_without_stack(record, thread, round);
}

/* Of a thread that may have another stack than before. */
static void look_closer(const struct thread_writers *writers, struct thread_record *record,
                        struct sampled_thread *thread, struct round *round, uint64_t used) {
    if (is_answer_due(thread, round)) return;
    /* What it waits in comes last: it may begin to wait until the signal is there. */
    bool is_askable = can_be_asked(writers, record, thread, round);
    struct task_wait wait = task_wait_find(thread->tid);
    if (!wait.is_told && is_askable && !is_on_processor(thread)) {
        write_unasked(record, thread, round);
        return;
    }
    if (waits_as_before(thread, &wait, used)) {
        write_as_before(record, thread, round);
        return;
    }
    thread->wait_fingerprint = wait.fingerprint;
    if (wait.is_cut_when_late) thread->late_wait_ticks = round->now_ticks;
    if (wait.is_left_in_peace || (!is_askable && wait.pc))
        write_wait(record, thread, round, &wait);
    else if (!is_askable)
        write_without_stack(record, thread, round);
    else if (!is_to_be_spared(thread, round))
        ask(record, thread);
}

static bool is_muted(const struct thread_writers *writers) {
    return __atomic_load_n(&writers->generation, __ATOMIC_ACQUIRE) == session_generation &&
           __atomic_load_n(&writers->is_muted, __ATOMIC_RELAXED);
}

/* A held record must not come to be found by another thread of the same number. */
static void drop_if_ended(struct thread_writers *writers) {
    uint64_t cpu_ns;
    if (thread_registry_is_held(writers) && !task_read_cpu_ns(thread_registry_tid(writers), &cpu_ns))
        thread_registry_drop(writers);
}

static void look_at(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct round *round = context;
    struct sampled_thread *thread = &record->sampled;
    uint32_t tid = thread_registry_tid(writers);
    if (thread->epoch != sampler.epoch) forget(thread, 0);
    if (thread->tid != tid) {
        end_thread(thread, round, tid);
        thread->found_ticks = round->now_ticks;
        sample_slot_clear(&record->sample);
    }
    if (thread->is_unwanted) drop_if_ended(writers);
    if (!tid || tid == sampler.own_tid || thread->is_unwanted || is_muted(writers)) return;
    /* The answer to the round before: nobody waits for it meanwhile. */
    collect(record, thread, round);
    /* What it would answer now is no whole stack. */
    if (thread->is_unwanted || unwind_snapshot_has_wanted()) return;
    bool is_known = thread->has_stack || thread->is_unreached;
    /* The first look after the hint finds where it sleeps. */
    bool was_asleep = thread->is_asleep;
    thread->is_asleep = is_asleep(record);
    if (is_known && was_asleep && thread->is_asleep) {
        write_as_before(record, thread, round);
        return;
    }
    uint64_t used;
    if (!read_used_ns(thread, round, &used)) {
        /* It ended without giving its record back, which the next thread takes. */
        end_thread(thread, round, tid);
        thread->is_unwanted = true;
        thread_registry_drop(writers);
        return;
    }
    if (is_known && !used)
        write_as_before(record, thread, round);
    else
        look_closer(writers, record, thread, round, used);
}

/* ---- Rounds. ---- */

static void write_tick(struct recording *recording, const uint64_t ns[3]) {
    if (!recording_reserve(recording, 2 + 4 * LEB128_BYTES_MAX)) return;
    uint64_t time = recording_time(recording->writer);
    unsigned char *at = leb128_write(short_block_begin(recording->writer, TRACE_TICK), time);
    for (int i = 0; i < 3; i++) at = leb128_write(at, ns[i]);
    short_block_end(recording->writer, at);
}

/* The system's name may change, and with it whether the thread is wanted. */
static void look_again(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = &record->sampled;
    char name[TASK_NAME_BYTES];
    (void)writers;
    (void)context;
    if (thread->epoch != sampler.epoch || !thread->tid) return;
    thread->is_unwanted = false;
    /* One that is left in peace does not tell by itself that it has named itself since. */
    if (thread->uid) take_own_name(record, thread);
    if (thread->is_named || !thread->name_bytes_count) return;
    uint32_t bytes_count = task_read_name(thread->tid, name);
    if (bytes_count) name_thread(thread, name, bytes_count);
}

/* What changes seldom, and costs more. */
static void look_around(uint64_t now_ns) {
    if (now_ns < sampler.next_slow_ns) return;
    sampler.next_slow_ns = now_ns + SLOW_PERIOD_NS;
    libraries_find_dumps();
    thread_registry_each_record(look_again, NULL);
}

static void look_in_pause(struct thread_writers *writers, struct thread_record *record, void *context) {
    (void)record;
    (void)context;
    drop_if_ended(writers);
}

/* The processor time that passed in a pause is no sample's. */
static void forget_times(struct thread_writers *writers, struct thread_record *record, void *context) {
    (void)writers;
    (void)context;
    record->sampled.is_looked_at = record->sampled.is_cpu_known = false;
    record->sampled.unwritten_cpu_ns = 0;
}

static void forget_pause(void) {
    thread_registry_each_record(forget_times, NULL);
    task_list_forget_times();
    sampler.has_paused = false;
}

/* The answers to the last round. */
static void end_with(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sampled_thread *thread = &record->sampled;
    uint32_t tid = thread_registry_tid(writers);
    if (thread->epoch == sampler.epoch && tid && thread->tid == tid) collect(record, thread, context);
}

/* A handler that has begun is awaited: it reads what sampler_forget frees. */
static void end_request(struct thread_writers *writers, struct thread_record *record, void *context) {
    enum { TRY_COUNT = 20000, NAP_US = 50 };
    (void)context;
    if (!thread_registry_tid(writers)) return;
    sample_slot_cancel(&record->sample);
    for (int i = 0; sample_slot_is_answering(&record->sample); i++) {
        if (i == TRY_COUNT) {
            sampler.has_stuck_handler = true;
            return;
        }
        usleep(NAP_US);
    }
}

/* Nobody looks any more whether their threads have ended. */
static void drop(struct thread_writers *writers, struct thread_record *record, void *context) {
    (void)record;
    (void)context;
    thread_registry_drop(writers);
}

static void end_with_threads(void) {
    struct round round = {.recording = recording_enter()};
    if (!round.recording.thread) return;
    thread_registry_each_record(end_with, &round);
    recording_leave(&round.recording);
}

static void sample_threads(void) {
    struct round round = {.recording = recording_enter()};
    if (!round.recording.thread) return;
    round.now_ticks = clock_ticks();
    thread_registry_each_record(weigh, &round);
    round.is_balance_kept = cpu_balance_is_kept(&round.balance);
    thread_registry_each_record(look_at, &round);
    if (!round.is_balance_kept) cpu_balance_settle(&round.balance, round.found_ns);
    recording_leave(&round.recording);
    sampler.running_count = round.running_count;
    if (round.running_count) sampler.worked_ns = clock_ns_of(CLOCK_MONOTONIC);
}

static void tick(uint64_t now_ns) {
    uint64_t times_ns[4] = {now_ns};
    if (!grec_is_recording()) {
        sampler.has_paused = true;
        sampler.worked_ns = now_ns;
        thread_registry_each_record(look_in_pause, NULL);
        return;
    }
    if (sampler.has_paused) forget_pause();
    find_signal();
    libraries_refresh(false);
    mappings_read_wanted(now_ns);
    task_list_refresh(now_ns);
    look_around(now_ns);
    times_ns[1] = clock_ns_of(CLOCK_MONOTONIC);
    process_counters_sample(now_ns);
    counters_sample();
    times_ns[2] = clock_ns_of(CLOCK_MONOTONIC);
    sample_threads();
    times_ns[3] = clock_ns_of(CLOCK_MONOTONIC);
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    const uint64_t spent_ns[] = {times_ns[1] - times_ns[0], times_ns[2] - times_ns[1], times_ns[3] - times_ns[2]};
    write_tick(&recording, spent_ns);
    recording_leave(&recording);
    session_reserve_ahead();
    libraries_reclaim();
}

/* What was achieved stands in the log of the recorder. */
static void say_achieved(void) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "sampler: %llu rounds, every %llu µs asked for, %llu left out",
             (unsigned long long)sampler.tick_count, (unsigned long long)sampler.interval_ns / 1000,
             (unsigned long long)sampler.late_tick_count);
    recording_write_message(text);
}

/* False: the thread is to end. */
static bool sleep_until(uint64_t deadline_ns) {
    for (;;) {
        uint64_t now_ns = clock_ns_of(CLOCK_MONOTONIC), look_ns = now_ns + OWN_THREAD_LOOK_NS;
        if (__atomic_load_n(&sampler.end_word, __ATOMIC_ACQUIRE)) return false;
        if (own_thread_is_alone(&sampler.thread, now_ns)) return false;
        if (now_ns >= deadline_ns) return true;
        struct timespec until = timespec_of(deadline_ns < look_ns ? deadline_ns : look_ns);
        futex(&sampler.end_word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, &until);
    }
}

/* What the process has used since this was asked the last time, without this thread. */
static uint64_t take_program_cpu_ns(void) {
    uint64_t own_ns = clock_ns_of(CLOCK_THREAD_CPUTIME_ID), cpu_ns = clock_ns_of(CLOCK_PROCESS_CPUTIME_ID) - own_ns;
    uint64_t used_ns = cpu_ns - sampler.round_cpu_ns;
    sampler.round_cpu_ns = cpu_ns;
    return used_ns;
}

/* Up to a millisecond, the sampler looks once for each interval of processor time that the program uses: where many
 * processes share the processors, each with a sampler, all samplers together look no more often than one of a program
 * that keeps them busy alone. */
static uint64_t next_step_ns(uint64_t now_ns) {
    if (sampler.interval_ns >= STRETCHED_NS_MAX) return sampler.interval_ns;
    uint64_t passed_ns = now_ns - sampler.round_ns, used_ns = take_program_cpu_ns();
    sampler.round_ns = now_ns;
    uint64_t factor_max = STRETCHED_NS_MAX / sampler.interval_ns, factor = used_ns ? passed_ns / used_ns : factor_max;
    return sampler.interval_ns * (factor < 1 ? 1 : factor < factor_max ? factor : factor_max);
}

/* Instants that were missed are left out: they would come in a burst. */
static uint64_t next_deadline(uint64_t deadline_ns) {
    uint64_t now_ns = clock_ns_of(CLOCK_MONOTONIC);
    deadline_ns += next_step_ns(now_ns);
    if (deadline_ns <= now_ns) {
        uint64_t missed = (now_ns - deadline_ns) / sampler.interval_ns + 1;
        sampler.late_tick_count += missed;
        deadline_ns += missed * sampler.interval_ns;
    }
    return deadline_ns;
}

/* Where all processors are busy the kernel lets a thread that wakes up wait for up to a few milliseconds, unless its
 * own slices are shorter than those of the others (since Linux 6.12; nothing is changed where it cannot be). */
static void ask_for_short_slices(void) {
    enum { SLICE_NS = 100000 };
    struct {
        uint32_t bytes_count;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns;
        uint64_t deadline_ns;
        uint64_t period_ns;
    } attributes = {.bytes_count = 0};
    attributes.bytes_count = sizeof attributes;
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
    attributes.runtime_ns = SLICE_NS;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static bool is_quiet(uint64_t now_ns) {
    uint64_t after_ns = sampler.interval_ns > QUIET_AFTER_NS / 2 ? 2 * sampler.interval_ns : QUIET_AFTER_NS;
    return sampler.can_be_quiet && sampler.interval_ns < OWN_THREAD_LOOK_NS &&
           now_ns > sampler.worked_ns + after_ns;
}

/* Until the program has used some processor time, or a round is due all the same. False: the thread is to end. */
static bool sleep_quietly(uint64_t now_ns) {
    uint64_t end_ns = now_ns + QUIET_ROUND_NS;
    take_program_cpu_ns();
    if (own_thread_is_alone(&sampler.thread, now_ns)) return false;
    do {
        work_alarm_wait(sampler.interval_ns, OWN_THREAD_LOOK_NS, &sampler.end_word);
        if (__atomic_load_n(&sampler.end_word, __ATOMIC_ACQUIRE)) return false;
        now_ns = clock_ns_of(CLOCK_MONOTONIC);
    } while (take_program_cpu_ns() < QUIET_CPU_NS && now_ns < end_ns);
    sampler.round_ns = now_ns;
    return true;
}

/* False: the thread is to end. */
static bool await_round(uint64_t *deadline_ns) {
    uint64_t now_ns = clock_ns_of(CLOCK_MONOTONIC);
    if (!is_quiet(now_ns)) return sleep_until(*deadline_ns);
    bool is_due = sleep_quietly(now_ns);
    *deadline_ns = clock_ns_of(CLOCK_MONOTONIC);
    return is_due;
}

static bool is_worth_it(uint64_t start_ns) {
    return clock_ns_of(CLOCK_PROCESS_CPUTIME_ID) >= LATE_CPU_NS ||
           clock_ns_of(CLOCK_MONOTONIC) - start_ns >= LATE_LIFE_NS;
}

/* False: the thread is to end. */
static bool begin(void) {
    uint64_t start_ns = clock_ns_of(CLOCK_MONOTONIC);
    uint32_t phase = SAMPLER_WAITS;
    while (sampler.begins_late && !is_worth_it(start_ns))
        if (!sleep_until(clock_ns_of(CLOCK_MONOTONIC) + LATE_LOOK_NS)) return false;
    return __atomic_compare_exchange_n(&sampler.phase, &phase, (uint32_t)SAMPLER_HAS_BEGUN, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static void call_back(void) {
    void (*callback)(void *) = __atomic_load_n(&sampler.callback, __ATOMIC_ACQUIRE);
    if (callback) callback(__atomic_load_n(&sampler.callback_context, __ATOMIC_RELAXED));
}

static void forget_files(void) {
    task_file_forget_all();
    task_list_forget();
    process_counters_forget();
    waiting_stack_forget();
    libc_thread_forget();
    mappings_forget_file();
}

static void run(void) {
    pthread_setname_np(pthread_self(), SAMPLER_THREAD_NAME);
    if (!begin()) return;
    prctl(PR_SET_TIMERSLACK, 1);
    ask_for_short_slices();
    pool_restore_file(&session_pool);
    sampler.pid = getpid();
    sampler.own_tid = (uint32_t)syscall(SYS_gettid);
    sampler.can_be_quiet = work_alarm_open();
    libraries_refresh(true);
    mappings_read(NULL);
    process_counters_open();
    task_list_open(sampler.takes_all_threads);
    find_signal();
    check_waits();
    uint64_t deadline_ns = clock_ns_of(CLOCK_MONOTONIC) + sampler.interval_ns;
    sampler.worked_ns = deadline_ns;
    while (await_round(&deadline_ns)) {
        tick(clock_ns_of(CLOCK_MONOTONIC));
        sampler.tick_count++;
        call_back();
        cpu_turns_take(deadline_ns, sampler.running_count);
        deadline_ns = next_deadline(deadline_ns);
    }
    thread_registry_each_record(end_request, NULL);
    if (own_thread_is_alone(&sampler.thread, 0)) pool_wake_helper(&session_pool);
    end_with_threads();
    thread_registry_each_record(drop, NULL);
    say_achieved();
    task_list_close(clock_ns_of(CLOCK_MONOTONIC));
    work_alarm_close();
    forget_files();
}

bool sampler_start(const struct sampler_options *options) {
    char text[32];
    /* Before the program's next instruction: it may be about to block all signals for good. */
    own_signal_begin(answer);
    sampler.epoch++;
    sampler.end_word = 0;
    sampler.phase = SAMPLER_WAITS;
    sampler.begins_late = options->begins_late;
    sampler.tick_count = sampler.late_tick_count = 0;
    sampler.next_slow_ns = 0;
    sampler.has_said_forbidden = false;
    sampler.signal_count = 0;
    sampler.interval_ns = (uint64_t)options->interval_us * 1000;
    __atomic_store_n(&sampler.takes_all_threads, options->takes_all_threads, __ATOMIC_RELAXED);
    snprintf(text, sizeof text, "%llu", (unsigned long long)sampler.interval_ns);
    definition_add_meta("samplingInterval", text);
    sampled_threads_begin();
    cpu_balance_begin();
    /* A program that registers its threads may take stacks of its own, as it starts too. */
    if (!options->takes_all_threads) unwind_snapshot_want_all();
    return own_thread_start(&sampler.thread, run, session_pool.file);
}

void sampler_stop(bool is_process_ending) {
    uint32_t phase = SAMPLER_WAITS;
    if (!sampler.thread.is_running) return;
    __atomic_compare_exchange_n(&sampler.phase, &phase, (uint32_t)SAMPLER_NEVER_BEGINS, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
    __atomic_store_n(&sampler.end_word, 1, __ATOMIC_SEQ_CST);
    if (phase == SAMPLER_WAITS && is_process_ending) return;
    futex(&sampler.end_word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL);
    work_alarm_ring();
    own_thread_join(&sampler.thread);
    own_signal_end();
}

void sampler_call_after_rounds(void (*callback)(void *context), void *context) {
    __atomic_store_n(&sampler.callback_context, context, __ATOMIC_RELAXED);
    __atomic_store_n(&sampler.callback, callback, __ATOMIC_RELEASE);
}

void sampler_forget(void) {
    if (sampler.has_stuck_handler) return;
    libraries_forget();
    unwind_snapshot_forget();
    mappings_forget();
}

void sampler_leave_parent(void) {
    own_signal_enter_child();
    own_thread_forget(&sampler.thread);
    forget_files();
}
