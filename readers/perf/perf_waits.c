#include "perf_waits.h"

struct unseen_tid {
    int64_t tid;
    uint64_t machine; /* 64 bits: the key is hashed as bytes */
};

void perf_waits_init(struct perf_waits *waits, struct perf_activity *activity, struct perf_tallies *tallies) {
    struct profile *profile = activity->profile;
    *waits =
        (struct perf_waits){.profile = profile, .filter = activity->filter, .activity = activity, .tallies = tallies};
    waits->first_forgotten = ID_NONE;
    column_init(&waits->rows, sizeof(struct perf_wait), profile->failure);
    value_table_init(&waits->unseen_ends, sizeof(struct unseen_tid), sizeof(int64_t), profile->failure);
    value_table_init(&waits->running, sizeof(uint64_t), sizeof(struct perf_running), profile->failure);
}

void perf_waits_fini(struct perf_waits *waits) {
    column_fini(&waits->rows);
    value_table_fini(&waits->unseen_ends);
    value_table_fini(&waits->running);
}

static struct perf_wait *last_of(const struct perf_waits *waits, const struct perf_task *task) {
    return task->last_wait == ID_NONE ? NULL : perf_waits_at(waits, task->last_wait);
}

/* Returns whether the thread does not run, as far as is known. */
static bool is_open(const struct perf_wait *wait) { return wait && wait->end_ns == TIME_NONE; }

static bool is_earlier(struct perf_waits *waits, const struct perf_wait *last, int64_t time_ns,
                       struct position position) {
    bool is_jump = last && (time_ns < last->start_ns || (last->end_ns != TIME_NONE && time_ns < last->end_ns));
    perf_tally(waits->tallies, TALLY_SWITCH_JUMP, is_jump, position);
    return is_jump;
}

/* The thread has its name of the time of the wait until it is renamed. */
static bool is_left_out(const struct perf_waits *waits, const struct perf_task *task, int64_t time_ns) {
    return waits->filter && !filter_keeps_thread(waits->filter, waits->profile, task->thread, time_ns);
}

/* Returns whether filters leave nothing of the last wait, so that the next one can have its row. The first one shows
 * since when the thread is known, and the last one of those that are left out ends the processor time before it. */
static bool is_spent(const struct perf_waits *waits, const struct perf_task *task, const struct perf_wait *last,
                     const struct perf_wait *next) {
    if (!waits->filter || task->last_wait == task->first_wait || last->end_ns == TIME_NONE) return false;
    if (!filter_length_ns(waits->filter, last->start_ns, last->end_ns)) return true;
    return last->is_left_out && is_left_out(waits, task, next->start_ns);
}

/* Returns a row for a wait; ID_NONE if memory ran out (latched). */
static uint32_t add_row(struct perf_waits *waits) {
    uint32_t row = waits->first_forgotten;
    if (row == ID_NONE) return column_push(&waits->rows) ? (uint32_t)waits->rows.count - 1 : ID_NONE;
    waits->first_forgotten = perf_waits_at(waits, row)->next;
    return row;
}

static void add(struct perf_waits *waits, struct perf_task *task, const struct perf_wait *wait) {
    struct perf_wait *last = last_of(waits, task);
    bool is_reused = last && is_spent(waits, task, last, wait);
    /* If filters keep no time between both, the row tells on which processor the thread ran in what they keep before.
     */
    bool is_same_gap = is_reused && !filter_length_ns(waits->filter, last->start_ns, wait->start_ns);
    int16_t processor = is_same_gap ? last->processor : wait->processor;
    uint32_t row = is_reused ? task->last_wait : add_row(waits);
    if (row == ID_NONE) return;
    struct perf_wait *added = perf_waits_at(waits, row);
    *added = *wait;
    added->processor = processor;
    added->next = ID_NONE;
    if (is_reused) return;
    *(last ? &last->next : &task->first_wait) = row;
    task->last_wait = row;
}

static void mark(const struct perf_waits *waits, const struct perf_task *task, const struct perf_wait *wait,
                 int64_t end_ns) {
    if (waits->has_records && wait->start_ns != TIME_NONE && !perf_wait_is_end(wait) && wait->start_ns <= end_ns)
        perf_activity_mark_off_cpu(waits->activity, task, wait->start_ns, end_ns, wait->state == PERF_STATE_PREEMPTED);
}

static void end(const struct perf_waits *waits, const struct perf_task *task, struct perf_wait *wait, int64_t end_ns) {
    int64_t start_ns = wait->start_ns == TIME_NONE ? end_ns : wait->start_ns;
    wait->end_ns = end_ns;
    mark(waits, task, wait, end_ns);
    wait->is_left_out = is_left_out(waits, task, start_ns);
}

/* Adds the time before the thread ran for the first time in the recording. */
static void add_first(struct perf_waits *waits, struct perf_task *task, int64_t end_ns) {
    struct perf_wait wait = perf_wait_since(TIME_NONE, -1);
    wait.state = task->is_forked ? PERF_STATE_PREEMPTED : PERF_STATE_UNKNOWN;
    add(waits, task, &wait);
    struct perf_wait *added = last_of(waits, task);
    if (added) end(waits, task, added, end_ns);
}

/* ---- Threads that are not known yet. ---- */

void perf_waits_end_unseen(struct perf_waits *waits, uint32_t machine, int64_t tid, int64_t time_ns) {
    const struct unseen_tid key = {tid, machine};
    value_table_intern(&waits->unseen_ends, &key, &time_ns);
}

static void add_unseen(struct perf_waits *waits, struct perf_task *task, int64_t before_ns) {
    if (task->last_wait != ID_NONE || !value_table_count(&waits->unseen_ends)) return;
    const struct thread *thread = profile_thread_at(waits->profile, task->thread);
    const struct unseen_tid key = {thread->tid, task->machine};
    const int64_t *end_ns = value_table_find(&waits->unseen_ends, &key);
    if (end_ns && *end_ns < before_ns && *end_ns >= thread->start_ns) add_first(waits, task, *end_ns);
}

/* ---- Switches that are lost. ---- */

/* Switches of all threads follow each other. The idle thread is among them, unless all processors were busy. A few may
 * be lost. */
static bool has_links(const struct perf_waits *waits) {
    enum { LINKS_MIN = 16, LINKS_PER_GAP_MIN = 100 };
    uint32_t gap_count = waits->link_counts[false], link_count = waits->link_counts[true];
    return link_count >= LINKS_MIN && link_count / LINKS_PER_GAP_MIN >= gap_count;
}

/* If the recording has only switches of some threads, others are not lost. */
static bool can_miss(const struct perf_waits *waits) {
    return !waits->has_records && (waits->has_ends || has_links(waits));
}

void perf_waits_miss_start(struct perf_waits *waits, struct perf_task *task, int64_t since_ns, int64_t time_ns) {
    const struct thread *thread = profile_thread_at(waits->profile, task->thread);
    add_unseen(waits, task, time_ns);
    bool is_new = task->last_wait == ID_NONE && !task->has_samples && perf_activity_has_switches(thread->tid);
    if (is_new && can_miss(waits) && since_ns > thread->start_ns) add_first(waits, task, since_ns);
}

/* ---- Threads. ---- */

static void complete(struct perf_wait *wait, const struct perf_wait *more) {
    if (wait->state == PERF_STATE_UNKNOWN) wait->state = more->state;
    if (wait->processor < 0) wait->processor = more->processor;
    if (wait->series) return;
    wait->series = more->series;
    wait->sample = more->sample;
}

static bool is_same(const struct perf_wait *last, const struct perf_wait *wait) {
    bool have_same_stack = last->series && last->series == wait->series && last->sample == wait->sample;
    return have_same_stack || wait->start_ns - last->start_ns <= PERF_SWITCH_NS_MAX;
}

void perf_waits_begin(struct perf_waits *waits, struct perf_task *task, const struct perf_wait *wait,
                      struct position position) {
    if (wait->start_ns != TIME_NONE) add_unseen(waits, task, wait->start_ns);
    struct perf_wait *last = last_of(waits, task);
    if (wait->start_ns == TIME_NONE || is_earlier(waits, last, wait->start_ns, position)) return;
    if (is_open(last) && is_same(last, wait)) {
        complete(last, wait);
        return;
    }
    if (is_open(last)) {
        last->is_guessed = true;
        end(waits, task, last, wait->start_ns);
    }
    add(waits, task, wait);
}

void perf_waits_end(struct perf_waits *waits, struct perf_task *task, int64_t time_ns, struct position position) {
    struct perf_wait *last = last_of(waits, task);
    if (time_ns == TIME_NONE || is_earlier(waits, last, time_ns, position)) return;
    if (!last && !task->has_samples)
        add_first(waits, task, time_ns);
    else if (is_open(last))
        end(waits, task, last, time_ns);
}

void perf_waits_see_running(struct perf_waits *waits, struct perf_task *task, int32_t processor, int64_t time_ns) {
    const uint64_t key = (uint64_t)processor;
    const struct perf_running *running = value_table_find(&waits->running, &key);
    bool is_other = running && running->tid != profile_thread_at(waits->profile, task->thread)->tid;
    if (time_ns != TIME_NONE) perf_waits_miss_start(waits, task, is_other ? running->since_ns : TIME_NONE, time_ns);
    struct perf_wait *last = last_of(waits, task);
    if (!is_open(last) || time_ns == TIME_NONE || time_ns - PERF_SWITCH_NS_MAX <= last->start_ns) return;
    last->is_guessed = true;
    end(waits, task, last, time_ns);
}

/* ---- All threads of a processor. ---- */

struct perf_running perf_waits_link(struct perf_waits *waits, int32_t processor, int64_t from_tid,
                                    struct perf_running to) {
    const uint64_t key = (uint64_t)processor;
    struct perf_running before = {PID_UNKNOWN, TIME_NONE};
    if (processor < 0) return before;
    uint32_t known_count = value_table_count(&waits->running);
    struct perf_running *running = value_table_intern(&waits->running, &key, &to);
    if (!running || value_table_count(&waits->running) > known_count) return before;
    /* Two events can report one switch. */
    bool is_again = running->tid == to.tid && to.since_ns - running->since_ns <= PERF_SWITCH_NS_MAX;
    if (is_again && running->tid != from_tid) return before;
    before = *running;
    waits->link_counts[before.tid == from_tid]++;
    *running = to;
    return before;
}

int64_t perf_waits_running(const struct perf_waits *waits, int32_t processor) {
    const uint64_t key = (uint64_t)processor;
    const struct perf_running *running = value_table_find(&waits->running, &key);
    return running ? running->tid : PID_UNKNOWN;
}

/* Of both records of a switch, the first one has ended the thread's wait. */
void perf_waits_miss_stop(struct perf_waits *waits, struct perf_task *task, struct perf_running before) {
    const struct perf_wait *last = last_of(waits, task);
    if (!last || is_open(last) || !can_miss(waits)) return;
    bool ran_there = last->end_ns <= before.since_ns && before.since_ns - last->end_ns <= PERF_SWITCH_NS_MAX;
    int64_t seen_ns = time_later(last->end_ns, task->last_time_ns);
    const struct perf_wait wait = perf_wait_since(seen_ns, -1);
    if (ran_there) add(waits, task, &wait);
}

void perf_waits_judge_ends(struct perf_waits *waits) { waits->has_ends |= has_links(waits); }

void perf_waits_forget_tallies(struct perf_waits *waits) {
    waits->tallies->rows[TALLY_SWITCH_JUMP].count = 0;
    waits->tallies->rows[TALLY_BAD_SWITCH].count = 0;
}

/* A thread whose PERF_RECORD_EXIT was written still frees what it has, and may wait. It has ended when it stops for
 * good. */
static void end_thread(const struct perf_task *task, const struct perf_wait *last, struct thread *thread) {
    bool has_ended = thread->end_ns != TIME_NONE || (is_open(last) && perf_wait_is_end(last));
    if (!has_ended) return;
    int64_t seen_ns = is_open(last) ? last->start_ns : time_later(last->end_ns, task->last_time_ns);
    thread->end_ns = time_later(thread->end_ns, seen_ns);
}

void perf_waits_end_threads(const struct perf_waits *waits, const struct perf_tasks *tasks) {
    COLUMN_EACH(const struct perf_task, task, &tasks->rows) {
        const struct perf_wait *last = last_of(waits, task);
        if (last) end_thread(task, last, profile_thread_at(waits->profile, task->thread));
    }
}

/* Returns whether filters keep something of the waits, or of the time between them. */
static bool are_kept(const struct perf_waits *waits, const struct perf_task *task) {
    const struct thread *thread = profile_thread_at(waits->profile, task->thread);
    int64_t start_ns = thread->start_ns, end_ns = thread->end_ns;
    bool is_kept = false;
    for (uint32_t row = task->first_wait; row != ID_NONE && !is_kept; row = perf_waits_at(waits, row)->next) {
        const struct perf_wait *wait = perf_waits_at(waits, row);
        is_kept = is_open(wait) ? !is_left_out(waits, task, wait->start_ns) : !wait->is_left_out;
    }
    filter_cut(waits->filter, &start_ns, &end_ns);
    return is_kept && start_ns < end_ns;
}

bool perf_waits_forget(struct perf_waits *waits, struct perf_task *task) {
    struct perf_wait *last = last_of(waits, task);
    if (!last) return true;
    end_thread(task, last, profile_thread_at(waits->profile, task->thread));
    if (are_kept(waits, task)) return false;
    last->next = waits->first_forgotten;
    waits->first_forgotten = task->first_wait;
    task->first_wait = task->last_wait = ID_NONE;
    return true;
}

void perf_waits_finish(const struct perf_waits *waits, const struct perf_tasks *tasks, int64_t end_ns) {
    COLUMN_EACH(const struct perf_task, task, &tasks->rows) {
        struct perf_wait *last = last_of(waits, task);
        if (!is_open(last)) continue;
        last->is_left_out = is_left_out(waits, task, last->start_ns);
        bool has_ended = profile_thread_at(waits->profile, task->thread)->end_ns != TIME_NONE;
        if (!has_ended) mark(waits, task, last, end_ns);
    }
}

void perf_waits_take_stacks(struct perf_waits *waits) {
    COLUMN_EACH(struct perf_wait, wait, &waits->rows) {
        wait->stack = wait->series ? samples_at(&wait->series->samples, wait->sample)->stack : stack_none();
        wait->series = NULL;
    }
}
