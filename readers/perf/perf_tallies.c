#include "perf_tallies.h"

#define CAUSE(tally, unit, fate, cause) [tally] = {LEDGER_##unit, LEDGER_##fate, TEXT(cause)},
static const struct ledger_cause causes[TALLY_COUNT] = {PERF_TALLIES(CAUSE)};

void perf_tally_generated(struct perf_tallies *tallies, const uint64_t notes[JIT_NOTE_COUNT]) {
    uint64_t refused_count = notes[JIT_NOTE_OWNER] + notes[JIT_NOTE_KIND] + notes[JIT_NOTE_SIZE];
    perf_tally(tallies, TALLY_JIT_REFUSED, refused_count, (struct position){0});
    perf_tally(tallies, TALLY_JIT_DAMAGED, notes[JIT_NOTE_DAMAGED], (struct position){0});
}

void perf_tallies_add(struct perf_tallies *tallies, const struct perf_tallies *more) {
    for (size_t i = 0; i < TALLY_COUNT; i++)
        ledger_tally_add(&tallies->rows[i], more->rows[i].count, more->rows[i].first);
}

void perf_tallies_enter(const struct perf_tallies *tallies, struct ledger *ledger) {
    ledger_enter_tallies(ledger, causes, tallies->rows, TALLY_COUNT);
}
