/* Counts what an output format cannot represent. */
#ifndef GECKO_WRITER_LOSSES_H
#define GECKO_WRITER_LOSSES_H

#include "libconvert/profile/profile.h"

/* The tables of a profile that have properties to lose. */
enum row_kind {
    ROWS_FRAMES,
    ROWS_FUNCS,
    ROWS_LIBS,
    ROWS_SOURCE_CONTENTS,
    ROWS_PROCESSES,
    ROWS_THREADS, /* the threads to write, in their order */
    ROWS_COUNTERS,
    ROWS_PAUSED_RANGES,
    ROWS_OVERHEADS,
    ROWS_LOGS, /* the profiling log */
    ROWS_EXTRA,
    ROWS_META /* one row, the profile's metadata */
};

/* A property that some rows of a table have, and for which the format has no place. */
struct loss {
    const char *cause;
    enum row_kind rows;
    bool (*has)(const struct profile *profile, uint32_t row);
    bool is_noted; /* nothing is lost, but the user should know */
};

/* Returns true: every row has the property. */
bool loss_of_row(const struct profile *profile, uint32_t row);

/* Enters in the ledger how many rows have each property. */
void losses_enter(const struct profile *profile, const struct loss *losses, size_t loss_count, struct ledger *ledger);

/* Enters that many values as read and lost. */
void losses_enter_values(struct ledger *ledger, const char *cause, uint64_t count);

#endif
