/* Counters of a native trace. A counter of a process is changed by its threads, each in its own chunks; only when all
 * is read, the changes of all threads are put in order and become changes from one to the next. */
#ifndef GECKO_NATIVE_COUNTERS_H
#define GECKO_NATIVE_COUNTERS_H

#include "libconvert/profile.h"

/* How an entry tells the counter's value. */
enum native_count { NATIVE_COUNT_CHANGE, NATIVE_COUNT_VALUE, NATIVE_COUNT_SUM };

struct native_counters {
    struct profile *profile; /* borrowed */
    struct row_table keys;   /* row numbers are those of `counters` */
    struct column counters;  /* struct counter *: the profile's. Until they settle, a sample's change is what the entry
                                tells, and its reserved member how: enum native_count */
};

void native_counters_init(struct native_counters *counters, struct profile *profile);
void native_counters_fini(struct native_counters *counters);

/* An entry of the process's counter with that definition, whose number is `definition_row`. `number`: how many changes,
 * of a sum the number of all so far. */
void native_counters_add(struct native_counters *counters, process_id process, uint32_t definition_row,
                         const struct counter *definition, int64_t ticks, enum native_count count, int64_t value,
                         uint64_t number);

/* Makes changes of all entries, once. `is_complete`: nothing of the trace was recycled, so that counters begin at 0. */
void native_counters_settle(struct native_counters *counters, bool is_complete);

#endif
