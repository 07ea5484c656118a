#include "losses.h"

void losses_enter(struct ledger *ledger, const char *cause, uint64_t count) {
    ledger_account(ledger, LEDGER_VALUES, LEDGER_LOST, text_of(cause), count, NULL);
}

void losses_note(struct ledger *ledger, const char *cause, uint64_t count) {
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, text_of(cause), count, NULL);
}

uint64_t losses_count_contents(const struct profile *profile) {
    uint64_t count = 0;
    COLUMN_EACH(const struct text, text, &profile->source_contents) count += text->bytes != NULL;
    return count;
}
