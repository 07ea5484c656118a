/* What the Gecko format does not carry of a profile. */
#ifndef GECKO_LOSSES_H
#define GECKO_LOSSES_H

#include "gecko_tables.h"
#include "gecko_weights.h"

/* Enters it in the ledger. `has_cpu_deltas`: samples have their CPU time. */
void gecko_losses_enter(const struct gecko_tables *tables, const struct gecko_weights *weights, bool has_cpu_deltas,
                        struct ledger *ledger);

#endif
