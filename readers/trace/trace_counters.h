/* The counters of a recorder trace. Several threads change a counter of their process, each in its own chunks. Once the
 * whole trace is read, the entries of all threads are sorted by time and become changes from one to the next. */
#pragma once

#include "libconvert/base/value_table.h"
#include "libconvert/profile/profile.h"
#include "trace_tasks.h"

/* How an entry gives the counter's value. */
enum trace_count {
    COUNTER_ENTRY_CHANGE,
    COUNTER_ENTRY_VALUE,
    COUNTER_ENTRY_SUM,
    COUNTER_ENTRY_START, /* the level before all changes */
    COUNTER_ENTRY_LEVEL, /* the sum of all changes, which are entries too, unless some are missing */
};

static inline bool trace_count_is_change(enum trace_count count) {
    return count == COUNTER_ENTRY_CHANGE || count == COUNTER_ENTRY_VALUE;
}

struct trace_counters {
    struct profile *profile; /* borrowed */
    /* For each struct counter_key, a struct counter *, which the profile owns; see trace_counters_add. */
    struct value_table counters;
};

void trace_counters_init(struct trace_counters *counters, struct profile *profile);
void trace_counters_fini(struct trace_counters *counters);

/* Adds an entry of the process's counter with that definition, whose number is `definition_row`. `number` is the number
 * of changes; for a sum, it is the number of all changes so far. The sampler adds what a rate has changed by since its
 * previous round, unlike other threads, which add each change. Until trace_counters_finish, a sample of the counter
 * holds `value` as its change and `count` in its reserved member. */
void trace_counters_add(struct trace_counters *counters, process_id process, uint32_t definition_row,
                        const struct counter *definition, int64_t ticks, enum trace_count count, int64_t value,
                        uint64_t number, bool is_of_sampler);

/* What is missing in the trace. */
struct trace_gaps {
    bool has_recycled;
    int64_t complete_from_ticks; /* if has_recycled: later entries were not recycled */
    bool has_lost;               /* there was no room for some entries */
};

/* Converts all entries to changes. Call it once. tasks: the processes. */
void trace_counters_finish(struct trace_counters *counters, const struct trace_tasks *tasks,
                           const struct trace_gaps *gaps);
