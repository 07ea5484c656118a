/* The ledger of a conversion: how much was read, how much of it was kept, lost or left out by filters, and why.
 *
 * For each unit, read = kept + lost + filtered. Notes are not part of these sums: they record something remarkable that
 * loses nothing a profile has a place for, such as a time that went backwards or a processor number. */
#pragma once

#include "libconvert/base/arena.h"
#include "libconvert/base/column.h"

/* Short names of the public units and fates. */
#define LEDGER_LINES      GECKO_CONVERT_LINES
#define LEDGER_SAMPLES    GECKO_CONVERT_SAMPLES
#define LEDGER_RECORDS    GECKO_CONVERT_RECORDS
#define LEDGER_PERIODS    GECKO_CONVERT_PERIODS
#define LEDGER_VALUES     GECKO_CONVERT_VALUES
#define LEDGER_UNIT_COUNT GECKO_CONVERT_UNIT_COUNT
#define LEDGER_KEPT       GECKO_CONVERT_FATE_KEPT
#define LEDGER_LOST       GECKO_CONVERT_FATE_LOST
#define LEDGER_NOTED      GECKO_CONVERT_FATE_NOTED
#define LEDGER_FILTERED   GECKO_CONVERT_FATE_FILTERED

enum { LEDGER_CAUSES_MAX = 1000 };

struct ledger_entry {
    enum gecko_convert_unit unit;
    enum gecko_convert_fate fate;
    struct text cause; /* "sample of event context-switches" */
    uint64_t count;
    bool has_first;
    struct position first; /* place of the first occurrence */
};

struct ledger {
    struct arena causes;
    struct column entries; /* struct ledger_entry, one for each unit, fate and cause, in order of appearance */
    uint64_t read[LEDGER_UNIT_COUNT];
};

void ledger_init(struct ledger *ledger, struct failure *failure);
void ledger_fini(struct ledger *ledger);

/* Returns "line" for a count of 1 and "lines" for all other counts. Static. */
const char *ledger_unit_noun(enum gecko_convert_unit unit, uint64_t count);

/* Returns how important a loss of that unit is; 0 is the most important. A lost sample takes its lines and its period
 * with it, so the loss of the sample is reported first. */
unsigned ledger_unit_rank(enum gecko_convert_unit unit);

/* Counts what was read. */
void ledger_read(struct ledger *ledger, enum gecko_convert_unit unit, uint64_t count);

/* Enters what became of `count` of a unit. `first` is the place of the first one, or NULL if there is none to point to.
 * A count of 0 enters nothing. Entries with the same unit, fate and cause are added up. A hot loop counts on its own
 * and enters the sum. An input may have a cause for each of its names: from LEDGER_CAUSES_MAX entries on, new
 * ones that are no notes are added up as "other causes". */
void ledger_enter(struct ledger *ledger, enum gecko_convert_unit unit, enum gecko_convert_fate fate, struct text cause,
                  uint64_t count, const struct position *first);

/* Counts what was read, and enters what became of it. */
void ledger_account(struct ledger *ledger, enum gecko_convert_unit unit, enum gecko_convert_fate fate,
                    struct text cause, uint64_t count, const struct position *first);

/* Adds what another ledger counts, without the places, which have a meaning only within their input. */
void ledger_add(struct ledger *ledger, const struct ledger *other);

/* What became of one unit, and why. */
struct ledger_cause {
    enum gecko_convert_unit unit;
    enum gecko_convert_fate fate;
    struct text cause;
};

/* How often a cause occurred. A loop that is too hot for ledger_enter counts in a row for each cause. */
struct ledger_tally {
    uint64_t count;
    bool has_first;
    struct position first; /* the one with the lowest offset */
};

static inline void ledger_tally_add(struct ledger_tally *tally, uint64_t count, struct position position) {
    if (!count) return;
    if (!tally->has_first || position.offset < tally->first.offset) tally->first = position;
    tally->has_first = true;
    tally->count += count;
}

/* Enters the tally of each cause, and counts as read what is kept or lost. */
void ledger_enter_tallies(struct ledger *ledger, const struct ledger_cause *causes, const struct ledger_tally *tallies,
                          size_t cause_count);

/* Enters as lost or filtered what was entered as kept before: up to `count` of the unit, from the first entries on. */
void ledger_take_kept(struct ledger *ledger, enum gecko_convert_unit unit, enum gecko_convert_fate fate,
                      struct text cause, uint64_t count);

/* Returns how many of the unit met that fate. */
uint64_t ledger_sum(const struct ledger *ledger, enum gecko_convert_unit unit, enum gecko_convert_fate fate);

/* Returns whether read = kept + lost + filtered in every unit. */
bool ledger_is_balanced(const struct ledger *ledger);

/* Returns whether anything was lost, in any unit. */
bool ledger_has_losses(const struct ledger *ledger);

static inline const struct ledger_entry *ledger_at(const struct ledger *ledger, size_t i) {
    return column_at(&ledger->entries, i);
}
