#include "perf_tallies.h"

#define CAUSE(tally, unit, fate, cause) [tally] = {LEDGER_##unit, LEDGER_##fate, TEXT(cause)},
static const struct ledger_cause causes[TALLY_COUNT] = {PERF_TALLIES(CAUSE)};

void perf_tallies_add(struct perf_tallies *tallies, const struct perf_tallies *more) {
    for (size_t i = 0; i < TALLY_COUNT; i++)
        ledger_tally_add(&tallies->rows[i], more->rows[i].count, more->rows[i].first);
}

void perf_tallies_enter(const struct perf_tallies *tallies, struct ledger *ledger) {
    ledger_enter_tallies(ledger, causes, tallies->rows, TALLY_COUNT);
}
