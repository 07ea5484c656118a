#include "losses.h"

static size_t row_count(const struct profile *profile, enum row_kind kind) {
    switch (kind) {
        case ROWS_FRAMES:
            return row_table_count(&profile->frames);
        case ROWS_FUNCS:
            return row_table_count(&profile->funcs);
        case ROWS_LIBS:
            return libs_count(&profile->libs);
        case ROWS_SOURCE_CONTENTS:
            return profile->source_contents.count;
        case ROWS_PROCESSES:
            return profile->processes.count;
        case ROWS_THREADS:
            return profile->thread_order.count;
        case ROWS_COUNTERS:
            return profile->counters.count;
        case ROWS_PAUSED_RANGES:
            return profile->paused_ranges.count;
        case ROWS_OVERHEADS:
            return profile->overheads.count;
        case ROWS_LOGS:
            return profile->profiling_log.count;
        case ROWS_EXTRA:
            return profile->meta.extra.count;
        case ROWS_META:
            return 1;
    }
    return 0;
}

bool loss_of_row(const struct profile *profile, uint32_t row) {
    (void)profile;
    (void)row;
    return true;
}

void losses_enter_values(struct ledger *ledger, const char *cause, uint64_t count) {
    ledger_read(ledger, LEDGER_VALUES, count);
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_LOST, text_of(cause), count, NULL);
}

void losses_enter(const struct profile *profile, const struct loss *losses, size_t loss_count, struct ledger *ledger) {
    for (size_t i = 0; i < loss_count; i++) {
        uint64_t count = 0;
        size_t rows = row_count(profile, losses[i].rows);
        for (uint32_t row = 0; row < rows; row++) count += losses[i].has(profile, row);
        if (losses[i].is_noted)
            ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, text_of(losses[i].cause), count, NULL);
        else
            losses_enter_values(ledger, losses[i].cause, count);
    }
}
