/* Moves the rows of threads, counters and logs into the whole profile. Columns move as they are where the whole
 * profile's are empty, which is the usual case. */
#include "libconvert/base/memory.h"
#include "merge_steps.h"

struct moving {
    const struct merge *merge;
    const struct merge_tasks *tasks;
    struct profile *whole;

    /* Of the current input. */
    struct merge_input *input;
    struct profile *part;
    size_t number;
};

static process_id moved_process(const struct moving *moving, process_id process) {
    if (process_is_none(process)) return process;
    return moving->tasks->processes[moving->tasks->first_processes[moving->number] + process.index];
}

static thread_id moved_thread(const struct moving *moving, thread_id thread) {
    if (thread_is_none(thread)) return thread;
    return moving->tasks->threads[moving->tasks->first_threads[moving->number] + thread.index];
}

/* ---- Threads. ---- */

/* Large weights are in a table of their input. */
static void take_large_weights(const struct moving *moving, struct samples *samples) {
    if (!row_table_count(&moving->part->large_weights)) return;
    COLUMN_EACH(struct sample, sample, &samples->rows)
        sample->weight = profile_weight_encode(moving->whole, profile_weight_decode(moving->part, sample->weight));
}

static void move_marker(const struct moving *moving, struct marker *marker) {
    thread_id *origin = profile_origin_thread(moving->whole, marker);
    if (origin) *origin = moved_thread(moving, *origin);
    if (marker->schema == MARKER_SCHEMA_NONE) return;
    marker->schema = moving->input->schemas[marker->schema];
    if (marker->schema == MARKER_SCHEMA_NONE)
        ledger_account(&moving->whole->ledger, LEDGER_VALUES, LEDGER_LOST,
                       TEXT("payload of a marker type of which inputs have too many variants"), 1, NULL);
}

static void move_thread(struct moving *moving, uint32_t number) {
    struct thread *from = column_at(&moving->part->threads, number);
    thread_id whole = moved_thread(moving, (thread_id){number});
    struct thread *to = profile_thread_at(moving->whole, whole);
    take_large_weights(moving, &from->samples);
    samples_take(&to->samples, &from->samples);
    for (size_t i = 0; i < from->markers.count; i++) move_marker(moving, column_at(&from->markers, i));
    column_take(&to->markers, &from->markers);
    COLUMN_EACH(struct allocation, allocation, &from->allocations)
        allocation->thread = moved_thread(moving, allocation->thread);
    column_take(&to->allocations, &from->allocations);
}

/* ---- Processes. ---- */

/* Moves the samples to another part of the same counter. A process counts from 0 in each recording, so the later part
 * begins with the fall from the last value of the earlier one. Returns false, and does nothing, if both parts have
 * samples at the same time: then they count different things. */
static bool join_counters(const struct merge *merge, struct counter *to, struct counter *from) {
    struct counter_span a = counter_span_of(to), b = counter_span_of(from);
    bool overlap = a.first && b.first && a.last_ns >= b.first->time_ns && b.last_ns >= a.first->time_ns;
    /* Whether two runs happen to have samples at different times does not matter. */
    if (merge->runs ? merge->runs->layout == MERGE_LAYOUT_OVER : overlap) return false;
    if (a.first && b.first && to->graph == COUNTER_ACCUMULATED) {
        bool is_later = merge->runs || b.first->time_ns >= a.last_ns; /* runs come in the order of time */
        struct counter_sample *first = is_later ? b.first : a.first;
        first->change = (int64_t)((uint64_t)first->change - (uint64_t)(is_later ? a.sum : b.sum));
    }
    column_take(&to->samples, &from->samples);
    return true;
}

/* Two counters of one run are not the same, even if nothing tells them apart. */
static bool join_known_counter(const struct moving *moving, struct counter *counter) {
    COLUMN_EACH(struct counter, known, &moving->whole->counters) {
        bool is_of_run = moving->merge->runs && known->run_number == counter->run_number;
        if (is_of_run || !counter_is_same(known, counter) || !join_counters(moving->merge, known, counter)) continue;
        known->run_number = counter->run_number;
        return true;
    }
    return false;
}

/* A written profile leaves out numbers of operations that only say that a sample is a change. So does a run, since a
 * merge of recordings must have the same bytes as a merge of their profiles. */
static void forget_plain_numbers(const struct counter *counter) {
    if (counter_has_numbers(counter)) return;
    COLUMN_EACH(struct counter_sample, counter_sample, &counter->samples) counter_sample->number = 0;
}

static void move_counters(struct moving *moving) {
    COLUMN_EACH(struct counter, from, &moving->part->counters) {
        from->process = moved_process(moving, from->process);
        from->run_number = moving->number + 1;
        if (moving->merge->runs) forget_plain_numbers(from);
        if (join_known_counter(moving, from)) continue;
        struct counter *to = profile_add_counter(moving->whole, from);
        if (to) column_take(&to->samples, &from->samples);
    }
}

/* The rows of the column begin with their process. */
static void move_process_rows(const struct moving *moving, struct column *to, struct column *from) {
    COLUMN_EACH(process_id, process, from) *process = moved_process(moving, *process);
    column_take(to, from);
}

/* Moves the lines of a further run without those that have a key, which the first run's log has. */
static void move_log_of_run(const struct moving *moving, struct column *to, const struct column *from) {
    uint64_t lost_count = 0;
    for (size_t i = 0; i < from->count; i++) {
        struct log_line line = *(const struct log_line *)column_at(from, i);
        line.process = moved_process(moving, line.process);
        if (line.key.bytes_count)
            lost_count++;
        else
            column_add(to, &line);
    }
    struct ledger *ledger = &moving->whole->ledger;
    ledger_account(ledger, LEDGER_VALUES, LEDGER_LOST, TEXT("number in the log of a further run"), lost_count, NULL);
}

/* Keys must be unique within the log of a process, and several inputs have the same ones. */
static void move_log(const struct moving *moving, struct column *to, struct column *from) {
    if (moving->merge->runs && moving->number) {
        move_log_of_run(moving, to, from);
        return;
    }
    COLUMN_EACH(struct log_line, line, from)
        if (line->key.bytes_count && !moving->merge->runs)
            line->key =
                profile_text_format(moving->whole, "%.*s: %.*s", TEXT_ARGS(moving->input->name), TEXT_ARGS(line->key));
    move_process_rows(moving, to, from);
}

/* ---- The ledger. ---- */

/* Places are valid within one input, so the causes of losses name theirs. */
static void move_ledger(struct moving *moving) {
    struct ledger *from = &moving->part->ledger, *to = &moving->whole->ledger;
    struct text name = moving->input->name;
    for (enum gecko_convert_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++) ledger_read(to, unit, from->read[unit]);
    COLUMN_EACH(const struct ledger_entry, entry, &from->entries) {
        struct text cause = entry->cause;
        if (entry->fate != LEDGER_KEPT)
            cause = profile_text_format(moving->whole, "%.*s: %.*s", TEXT_ARGS(name), TEXT_ARGS(cause));
        bool has_first = entry->has_first && entry->fate != LEDGER_KEPT;
        ledger_enter(to, entry->unit, entry->fate, cause, entry->count, has_first ? &entry->first : NULL);
    }
}

/* ---- The whole. ---- */

static void move_input(struct moving *moving) {
    struct profile *part = moving->part, *whole = moving->whole;
    for (uint32_t i = 0; i < part->threads.count && !failure_is_set(whole->failure); i++) move_thread(moving, i);
    if (failure_is_set(whole->failure)) return;
    move_counters(moving);
    move_process_rows(moving, &whole->paused_ranges, &part->paused_ranges);
    move_process_rows(moving, &whole->overheads, &part->overheads);
    move_log(moving, &whole->profiling_log, &part->profiling_log);
    move_log(moving, &whole->gathering_log, &part->gathering_log);
    if (!moving->merge->runs) move_ledger(moving); /* merge_meta adds up the ledgers of runs */
}

void merge_rows(struct merge *merge, const struct merge_tasks *tasks, struct profile *whole) {
    struct moving moving = {.merge = merge, .tasks = tasks, .whole = whole};
    for (size_t i = 0; i < merge->input_count && !failure_is_set(whole->failure); i++) {
        moving.input = &merge->inputs[i];
        moving.part = &merge->inputs[i].profile;
        moving.number = i;
        move_input(&moving);
        /* Rows were copied from the heap of the thread that read them to that of this one. A look for free memory goes
         * through the whole heap. */
        if (i % (merge->input_count / 16 + 1) == 0) memory_give_back_freed();
    }
}
