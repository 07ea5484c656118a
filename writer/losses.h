/* Counts what an output format cannot represent. */
#ifndef GECKO_WRITER_LOSSES_H
#define GECKO_WRITER_LOSSES_H

#include "libconvert/profile/profile.h"

/* A property that some rows of the profile have, and for which the format has no place. */
struct loss {
    const char *cause;
    uint64_t count;
    bool is_noted; /* nothing is lost, but the user should know */
};

/* Enters the counts in the ledger. */
void losses_enter(struct ledger *ledger, const struct loss *losses, size_t loss_count);

/* Enters that many values as read and lost. */
void losses_enter_values(struct ledger *ledger, const char *cause, uint64_t count);

/* Returns how many source files have their text in the profile. */
uint64_t losses_count_contents(const struct profile *profile);

#endif
