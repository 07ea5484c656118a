/* Enters in the ledger what the Gecko format cannot represent. */
#pragma once

#include "gecko_tables.h"
#include "gecko_weights.h"

/* Enters all losses of the profile. `has_cpu_deltas` says whether samples have their CPU time. */
void gecko_losses_enter(const struct gecko_tables *tables, const struct gecko_weights *weights, bool has_cpu_deltas,
                        struct ledger *ledger);
