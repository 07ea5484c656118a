#include "losses.h"

void losses_enter_values(struct ledger *ledger, const char *cause, uint64_t count) {
    ledger_account(ledger, LEDGER_VALUES, LEDGER_LOST, text_of(cause), count, NULL);
}

void losses_enter(struct ledger *ledger, const struct loss *losses, size_t loss_count) {
    for (size_t i = 0; i < loss_count; i++) {
        if (losses[i].is_noted)
            ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, text_of(losses[i].cause), losses[i].count, NULL);
        else
            losses_enter_values(ledger, losses[i].cause, losses[i].count);
    }
}

uint64_t losses_count_contents(const struct profile *profile) {
    uint64_t count = 0;
    COLUMN_EACH(const struct text, text, &profile->source_contents) count += text->bytes != NULL;
    return count;
}
