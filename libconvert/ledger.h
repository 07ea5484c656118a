/* The ledger of a conversion: what was read, what of it went out, what was lost and why.
 *
 * For each unit the sums balance: read = kept + lost. Notes stand beside that: things worth saying that lose
 * nothing that a profile has a place for (a time that jumped back, a processor number). */
#ifndef GECKO_LEDGER_H
#define GECKO_LEDGER_H

#include "arena.h"
#include "column.h"

enum ledger_unit {
    LEDGER_LINES,   /* lines of the input */
    LEDGER_SAMPLES, /* samples: event lines with a stack, lines of a collapsed file */
    LEDGER_RECORDS, /* records that are no samples */
    LEDGER_PERIODS, /* sum of the samples' periods, in the unit of their event */
    LEDGER_VALUES,  /* properties that an output format cannot carry, counted by the rows that have them */
    LEDGER_UNIT_COUNT
};

enum ledger_fate { LEDGER_KEPT, LEDGER_LOST, LEDGER_NOTED };

struct ledger_entry {
    enum ledger_unit unit;
    enum ledger_fate fate;
    struct text cause; /* "sample of event context-switches" */
    uint64_t count;
    bool has_first;
    struct position first; /* of the first occurrence */
};

struct ledger {
    struct arena causes;
    struct column entries; /* struct ledger_entry, one for each unit, fate and cause, in order of appearance */
    uint64_t read[LEDGER_UNIT_COUNT];
};

void ledger_init(struct ledger *ledger, struct failure *failure);
void ledger_fini(struct ledger *ledger);

/* Name of a unit in reports: "lines". */
const char *ledger_unit_name(enum ledger_unit unit);
/* "line" of 1, "lines" of all other counts. */
const char *ledger_unit_noun(enum ledger_unit unit, uint64_t count);

/* How telling a loss of that unit is, 0 the most: a lost sample takes its lines and its period along, which are not to
 * be said before it. */
unsigned ledger_unit_rank(enum ledger_unit unit);

const char *ledger_fate_name(enum ledger_fate fate);

/* Counts what was read. */
void ledger_read(struct ledger *ledger, enum ledger_unit unit, uint64_t count);

/* Enters what became of it. `first` may be NULL: no place to point to. A count of 0 enters nothing. Entries of
 * the same unit, fate and cause are summed. For hot loops: count locally, enter once. */
void ledger_enter(struct ledger *ledger, enum ledger_unit unit, enum ledger_fate fate, struct text cause,
                  uint64_t count, const struct position *first);

/* Sum of what has that fate. */
uint64_t ledger_sum(const struct ledger *ledger, enum ledger_unit unit, enum ledger_fate fate);

/* read = kept + lost in every unit. */
bool ledger_is_balanced(const struct ledger *ledger);

/* Anything lost, in any unit. */
bool ledger_has_losses(const struct ledger *ledger);

static inline const struct ledger_entry *ledger_at(const struct ledger *ledger, size_t i) {
    return column_at(&ledger->entries, i);
}

#endif
