#include "thread_signal.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc_thread.h"
#include "own_signal.h"
#include "recorder/state/clock.h"
#include "recorder/unwind/thread_stack.h"
#include "recorder/write/thread_registry.h"
#include "recorder/write/writer.h"
#include "task_list.h"

enum {
    /* How long a thread that runs may go without answering before it counts as one that blocks the signal. */
    UNREACHED_MS = 500,
    UNREACHED_CHECK_MS = 100, /* between two checks whether it still does */
    TEXT_BYTES = 160,
};

static struct {
    pid_t pid;
    int number;            /* the signal that asks threads for stacks; 0: none is free */
    uint32_t change_count; /* how often `number` was determined; 0: never */
    bool has_stuck_handler;
} signal_state;

static uint64_t ticks_of_ms(uint64_t ms) { return recorder_clock.ticks_per_second / 1000 * ms; }

/* ---- Which signal. ---- */

static bool answer(int number, void *interrupted) {
    struct thread_record *record = thread_registry_find_asked();
    if (!record || !sample_slot_take_signal(&record->sample, number)) return false;
    sample_slot_answer(&record->sample, &record->labels, interrupted);
    return true;
}

void thread_signal_take(void) { own_signal_begin(answer); }

void thread_signal_begin(void) {
    signal_state.pid = getpid();
    signal_state.change_count = 0;
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

bool thread_signal_is_available(void) { return signal_state.number != 0; }

/* ---- Who can be asked. ---- */

static bool is_spared(const struct thread_record *record) {
    return __atomic_load_n(&record->is_spared, __ATOMIC_SEQ_CST) != 0;
}

static bool is_in_spared_call(const struct thread_record *record) {
    return __atomic_load_n(&record->spared_call.sp, __ATOMIC_SEQ_CST) != 0;
}

static enum sampled_reach find_reach(const struct thread_writers *writers, struct sampled_thread *thread) {
    bool is_known = libc_thread_find(thread->tid, &thread->control_block) || !thread_registry_is_held(writers);
    if (!is_known) return REACH_FOREIGN;
    return task_blocks_signal(thread->tid, signal_state.number) ? REACH_BLOCKED : REACH_OPEN;
}

/* A signal that the thread blocks would stay pending, and a sigwait of the program could find it. A new thread blocks
 * all signals, and is unknown to the C library, until it runs: so the first checks follow each other quickly. A thread
 * that has claimed its record is known. */
static bool is_reachable(const struct thread_writers *writers, struct sampled_thread *thread, uint64_t now_ticks) {
    if (thread->signal_change_count != signal_state.change_count) {
        thread->signal_change_count = signal_state.change_count;
        thread->reach = REACH_UNCHECKED;
        thread->next_check_ticks = 0;
    }
    if (thread->reach == REACH_OPEN || now_ticks < thread->next_check_ticks) return thread->reach == REACH_OPEN;
    thread->reach = find_reach(writers, thread);
    uint64_t since_ticks = thread->unreached_ticks ? thread->unreached_ticks : now_ticks;
    uint64_t past_ticks = now_ticks - since_ticks, period_ticks = ticks_of_ms(UNREACHED_CHECK_MS);
    thread->next_check_ticks = now_ticks + (past_ticks < period_ticks ? past_ticks : period_ticks);
    return thread->reach == REACH_OPEN;
}

bool thread_signal_can_ask(const struct thread_writers *writers, struct thread_record *record, uint64_t now_ticks) {
    struct sampled_thread *thread = &record->sampled;
    if (!signal_state.number || thread->request_ticks || is_in_spared_call(record)) return false;
    if (!is_spared(record) && is_reachable(writers, thread, now_ticks)) {
        thread->unreached_ticks = 0;
        return true;
    }
    if (!thread->unreached_ticks) thread->unreached_ticks = now_ticks;
    return false;
}

bool thread_signal_is_overdue(const struct thread_record *record, uint64_t now_ticks) {
    const struct sampled_thread *thread = &record->sampled;
    uint64_t since_ticks = thread->request_ticks ? thread->request_ticks : thread->unreached_ticks;
    return since_ticks && now_ticks - since_ticks > ticks_of_ms(UNREACHED_MS);
}

/* ---- Asking. ---- */

/* The handler must not ask the system for anything: the thread finds in its slot what it needs. */
static void prepare(struct sample_slot *slot, const struct sampled_thread *thread) {
    __atomic_store_n(&slot->control_block, thread->control_block, __ATOMIC_RELAXED);
    if (slot->own_stack.high || !thread->control_block) return;
    bool is_first = thread->tid == (uint32_t)signal_state.pid;
    if (!thread_stack_find(thread->control_block, is_first, &slot->own_stack))
        slot->own_stack = (struct stack_limits){0, 0};
}

/* A thread that becomes spared, or gives the signal another handler, stores that, and then looks whether a signal is on
 * its way. The order is the opposite here, so at least one of the two sees the other's store. */
static bool send_signal(struct thread_record *record) {
    struct sample_slot *slot = &record->sample;
    __atomic_store_n(&slot->signal, (uint32_t)signal_state.number, __ATOMIC_SEQ_CST);
    bool is_allowed = !is_spared(record) && !is_in_spared_call(record) && own_signal_is_current(signal_state.number);
    bool is_sent = is_allowed && syscall(SYS_tgkill, signal_state.pid, record->sampled.tid, signal_state.number) == 0;
    if (!is_sent) __atomic_store_n(&slot->signal, 0, __ATOMIC_SEQ_CST);
    return is_sent;
}

void thread_signal_ask(struct thread_record *record) {
    struct sampled_thread *thread = &record->sampled;
    prepare(&record->sample, thread);
    thread->request_ticks = clock_ticks();
    __atomic_store_n(&record->sample.state, SAMPLE_SLOT_REQUESTED, __ATOMIC_SEQ_CST);
    if (send_signal(record)) return;
    sample_slot_cancel(&record->sample);
    thread->request_ticks = 0;
}

static void take_back(struct thread_writers *writers, struct thread_record *record, void *context) {
    enum { TRY_COUNT = 20000, NAP_US = 50 };
    (void)context;
    if (!thread_registry_tid(writers)) return;
    sample_slot_cancel(&record->sample);
    for (int i = 0; sample_slot_is_answering(&record->sample); i++) {
        if (i == TRY_COUNT) {
            signal_state.has_stuck_handler = true;
            return;
        }
        usleep(NAP_US);
    }
}

void thread_signal_take_back_all(void) { thread_registry_each_record(take_back, NULL); }

bool thread_signal_has_stuck_handler(void) { return signal_state.has_stuck_handler; }

/* ---- Reports. ---- */

void thread_signal_report_unreached(struct thread_record *record) {
    char text[TEXT_BYTES];
    struct sampled_thread *thread = &record->sampled;
    if (!signal_state.number || thread->is_unreached_reported) return;
    thread->is_unreached_reported = true;
    const char *reason = is_spared(record)                ? "has too small an alternate stack for"
                         : thread->reach == REACH_FOREIGN ? "was not made by the C library, and is not sent"
                                                          : "blocks";
    snprintf(text, sizeof text, "thread %u \"%.*s\" %s %s: it is sampled without stacks", thread->tid,
             (int)thread->name_bytes_count, thread->name, reason, own_signal_name(signal_state.number));
    recording_write_message(text);
}

void thread_signal_report_refused(struct thread_record *record) {
    char text[TEXT_BYTES];
    struct sampled_thread *thread = &record->sampled;
    if (thread->is_refusal_reported || !thread->uid) return;
    thread->is_refusal_reported = true;
    snprintf(text, sizeof text,
             "thread %u \"%.*s\" had too little room on its stack for a handler of %s: a sample has no stack",
             thread->tid, (int)thread->name_bytes_count, thread->name, own_signal_name(signal_state.number));
    recording_write_message(text);
}
