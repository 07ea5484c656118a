/* Counts what an output format cannot represent. */
#pragma once

#include "libconvert/profile/profile.h"

/* Enters that many values in the ledger, for which the format has no place, as read and lost. */
void losses_enter(struct ledger *ledger, const char *cause, uint64_t count);

/* Notes that many values, of which nothing is lost, but of which the user should know. */
void losses_note(struct ledger *ledger, const char *cause, uint64_t count);

/* Returns how many source files have their text in the profile. */
uint64_t losses_count_contents(const struct profile *profile);
