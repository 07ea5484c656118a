#include "trace_counters.h"

struct counter_key {
    uint32_t process;
    uint32_t definition_row;
};

void trace_counters_init(struct trace_counters *counters, struct profile *profile) {
    *counters = (struct trace_counters){.profile = profile};
    value_table_init(&counters->counters, sizeof(struct counter_key), sizeof(struct counter *), profile->failure);
}

void trace_counters_fini(struct trace_counters *counters) { value_table_fini(&counters->counters); }

static struct counter *find(struct trace_counters *counters, process_id process, uint32_t definition_row,
                            const struct counter *definition) {
    struct counter_key key = {process.index, definition_row};
    struct counter *none = NULL, **slot = value_table_intern(&counters->counters, &key, &none);
    if (!slot || *slot) return slot ? *slot : NULL;
    struct counter added = *definition;
    added.process = process;
    return *slot = profile_add_counter(counters->profile, &added);
}

void trace_counters_add(struct trace_counters *counters, process_id process, uint32_t definition_row,
                        const struct counter *definition, int64_t ticks, enum trace_count count, int64_t value,
                        uint64_t number, bool is_of_sampler) {
    struct counter *counter = find(counters, process, definition_row, definition);
    struct counter_sample *sample = counter ? column_push(&counter->samples) : NULL;
    bool is_of_round = is_of_sampler && definition->graph == COUNTER_RATE;
    if (counter && count != COUNTER_ENTRY_SUM && count != COUNTER_ENTRY_START && !is_of_round)
        counter->has_each_change = true;
    /* Numbers are stored modulo 2^32, which keeps their differences correct. */
    if (sample)
        *sample = (struct counter_sample){
            .time_ticks = ticks, .change = value, .number = (uint32_t)number, .reserved = count};
}

static int compare_times(const void *a, const void *b) { return ORDER_BY(struct counter_sample, time_ticks, a, b); }

/* Takes the level from before the recording out of the entries. */
static uint64_t take_start(struct counter *counter) {
    uint64_t level = 0;
    COLUMN_EACH(struct counter_sample, sample, &counter->samples) {
        if (sample->reserved != COUNTER_ENTRY_START) continue;
        level += (uint64_t)sample->change;
        *sample = (struct counter_sample){.time_ticks = sample->time_ticks, .reserved = COUNTER_ENTRY_CHANGE};
    }
    return level;
}

/* Returns what the first level says of the time before: the level at the start of what is left in the trace. Keeps
 * `level`, that of the start, if nothing is said. */
static uint64_t level_before(const struct counter *counter, uint64_t level) {
    uint64_t sum = 0;
    COLUMN_EACH(const struct counter_sample, sample, &counter->samples) {
        if (sample->reserved == COUNTER_ENTRY_LEVEL) return (uint64_t)sample->change - sum;
        if (sample->reserved != COUNTER_ENTRY_CHANGE) return level;
        sum += (uint64_t)sample->change;
    }
    return level;
}

static bool has_gaps(const struct trace_gaps *gaps) { return gaps->has_recycled || gaps->has_lost; }

/* level: before all entries. A level that was recorded during a change may lack it, and the next one corrects that. */
static void convert(struct counter *counter, uint64_t level, const struct trace_gaps *gaps) {
    uint64_t sum = level; /* may wrap around if the trace is damaged */
    uint32_t number = 0;
    bool has_sum = false;
    COLUMN_EACH(struct counter_sample, sample, &counter->samples) {
        enum trace_count count = sample->reserved;
        uint64_t value = (uint64_t)sample->change;
        if (count == COUNTER_ENTRY_LEVEL && !has_gaps(gaps)) value = sum;
        if (count != COUNTER_ENTRY_CHANGE) sample->change = (int64_t)(value - sum);
        if (count == COUNTER_ENTRY_SUM) sample->number -= number;
        /* If events were recycled, the first sum includes changes before this time. It is not a change of a rate, but
         * it is a level. */
        if (count == COUNTER_ENTRY_SUM && gaps->has_recycled && !has_sum) {
            if (counter->graph == COUNTER_RATE) sample->change = 0;
            number += sample->number;
            sample->number = 0;
        }
        has_sum |= count == COUNTER_ENTRY_SUM;
        sum = count == COUNTER_ENTRY_CHANGE ? sum + value : value;
        number += sample->number;
        sample->reserved = 0;
    }
}

/* Shows a level before all entries from that time on, or from the first entry if that is earlier. */
static void show_start(struct counter *counter, uint64_t level, int64_t from_ticks) {
    if (!level || !counter->samples.count) return;
    int64_t first_ticks = ((const struct counter_sample *)column_at(&counter->samples, 0))->time_ticks;
    column_add(&counter->samples,
               &(struct counter_sample){.time_ticks = time_earlier(from_ticks, first_ticks), .change = (int64_t)level});
}

void trace_counters_finish(struct trace_counters *counters, const struct trace_tasks *tasks,
                           const struct trace_gaps *gaps) {
    for (uint32_t i = 0; i < value_table_count(&counters->counters); i++) {
        struct counter *counter = *(struct counter **)value_table_at(&counters->counters, i);
        if (!counter) continue;
        const struct trace_process *process = column_at(&tasks->processes, counter->process.index);
        column_sort(&counter->samples, compare_times);
        uint64_t level = take_start(counter);
        if (has_gaps(gaps)) level = level_before(counter, level);
        convert(counter, level, gaps);
        show_start(counter, level, time_later(process->first_ticks, gaps->complete_from_ticks));
    }
}
