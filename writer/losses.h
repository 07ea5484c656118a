/* Counts what an output format cannot represent. */
#pragma once

#include "libconvert/profile/profile.h"

/* Enters values that the format cannot represent in the ledger, as read and lost. */
void losses_enter(struct ledger *ledger, const char *cause, uint64_t count);

/* Notes values in the ledger that are written differently: nothing is lost, but the user should know. */
void losses_note(struct ledger *ledger, const char *cause, uint64_t count);

/* Returns how many source files have their text in the profile. */
uint64_t losses_count_contents(const struct profile *profile);
