#include "ledger.h"

void ledger_init(struct ledger *ledger, struct failure *failure) {
    *ledger = (struct ledger){0};
    arena_init(&ledger->causes, failure);
    column_init(&ledger->entries, sizeof(struct ledger_entry), failure);
}

void ledger_fini(struct ledger *ledger) {
    arena_fini(&ledger->causes);
    column_fini(&ledger->entries);
}

const char *gecko_convert_unit_name(enum gecko_convert_unit unit) {
    static const char *const names[LEDGER_UNIT_COUNT] = {
        [LEDGER_LINES] = "lines",     [LEDGER_SAMPLES] = "samples", [LEDGER_RECORDS] = "records",
        [LEDGER_PERIODS] = "periods", [LEDGER_VALUES] = "values",
    };
    return names[unit];
}

const char *ledger_unit_noun(enum gecko_convert_unit unit, uint64_t count) {
    static const char *const singular[LEDGER_UNIT_COUNT] = {
        [LEDGER_LINES] = "line",     [LEDGER_SAMPLES] = "sample", [LEDGER_RECORDS] = "record",
        [LEDGER_PERIODS] = "period", [LEDGER_VALUES] = "value",
    };
    return count == 1 ? singular[unit] : gecko_convert_unit_name(unit);
}

unsigned ledger_unit_rank(enum gecko_convert_unit unit) {
    static const unsigned ranks[LEDGER_UNIT_COUNT] = {
        [LEDGER_SAMPLES] = 0, [LEDGER_RECORDS] = 1, [LEDGER_VALUES] = 2, [LEDGER_LINES] = 3, [LEDGER_PERIODS] = 4,
    };
    return ranks[unit];
}

const char *gecko_convert_fate_name(enum gecko_convert_fate fate) {
    static const char *const names[] = {
        [LEDGER_KEPT] = "kept", [LEDGER_LOST] = "lost", [LEDGER_NOTED] = "noted", [LEDGER_FILTERED] = "filtered"};
    return names[fate];
}

void ledger_read(struct ledger *ledger, enum gecko_convert_unit unit, uint64_t count) { ledger->read[unit] += count; }

void ledger_enter(struct ledger *ledger, enum gecko_convert_unit unit, enum gecko_convert_fate fate, struct text cause,
                  uint64_t count, const struct position *first) {
    static const struct text others = TEXT("other causes");
    if (!count) return;
    COLUMN_EACH(struct ledger_entry, entry, &ledger->entries) {
        if (entry->unit == unit && entry->fate == fate && text_equal(entry->cause, cause)) {
            entry->count += count;
            return;
        }
    }
    if (fate != LEDGER_NOTED && ledger->entries.count >= LEDGER_CAUSES_MAX && !text_equal(cause, others))
        return ledger_enter(ledger, unit, fate, others, count, first);
    struct ledger_entry added = {.unit = unit, .fate = fate, .count = count, .has_first = first};
    added.cause = arena_copy(&ledger->causes, cause);
    if (first) added.first = *first;
    if (added.cause.bytes) column_add(&ledger->entries, &added);
}

void ledger_account(struct ledger *ledger, enum gecko_convert_unit unit, enum gecko_convert_fate fate,
                    struct text cause, uint64_t count, const struct position *first) {
    ledger_read(ledger, unit, count);
    ledger_enter(ledger, unit, fate, cause, count, first);
}

void ledger_add(struct ledger *ledger, const struct ledger *other) {
    for (enum gecko_convert_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++)
        ledger_read(ledger, unit, other->read[unit]);
    COLUMN_EACH(const struct ledger_entry, entry, &other->entries)
        ledger_enter(ledger, entry->unit, entry->fate, entry->cause, entry->count, NULL);
}

void ledger_enter_tallies(struct ledger *ledger, const struct ledger_cause *causes, const struct ledger_tally *tallies,
                          size_t cause_count) {
    for (size_t i = 0; i < cause_count; i++) {
        const struct position *first = tallies[i].has_first ? &tallies[i].first : NULL;
        if (causes[i].fate != LEDGER_NOTED) ledger_read(ledger, causes[i].unit, tallies[i].count);
        ledger_enter(ledger, causes[i].unit, causes[i].fate, causes[i].cause, tallies[i].count, first);
    }
}

void ledger_take_kept(struct ledger *ledger, enum gecko_convert_unit unit, enum gecko_convert_fate fate,
                      struct text cause, uint64_t count) {
    uint64_t left = count;
    for (size_t i = 0; i < ledger->entries.count && left; i++) {
        struct ledger_entry *entry = column_at(&ledger->entries, i);
        if (entry->unit != unit || entry->fate != LEDGER_KEPT) continue;
        uint64_t taken = entry->count < left ? entry->count : left;
        entry->count -= taken;
        left -= taken;
    }
    ledger_enter(ledger, unit, fate, cause, count - left, NULL);
}

uint64_t ledger_sum(const struct ledger *ledger, enum gecko_convert_unit unit, enum gecko_convert_fate fate) {
    uint64_t sum = 0;
    COLUMN_EACH(const struct ledger_entry, entry, &ledger->entries)
        if (entry->unit == unit && entry->fate == fate) sum += entry->count;
    return sum;
}

bool ledger_is_balanced(const struct ledger *ledger) {
    for (enum gecko_convert_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++)
        if (ledger->read[unit] != ledger_sum(ledger, unit, LEDGER_KEPT) + ledger_sum(ledger, unit, LEDGER_LOST) +
                                      ledger_sum(ledger, unit, LEDGER_FILTERED))
            return false;
    return true;
}

bool ledger_has_losses(const struct ledger *ledger) {
    for (enum gecko_convert_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++)
        if (ledger_sum(ledger, unit, LEDGER_LOST)) return true;
    return false;
}
