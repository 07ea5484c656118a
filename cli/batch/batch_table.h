/* The outcome of a batch for people: a line for each file or member, the failed ones last, and a line of totals. */
#pragma once

#include "batch_plan.h"

/* Prints to standard error; only failures if `is_quiet`. */
void batch_table_print(struct batch_plan *plan, uint64_t duration_ns, bool is_quiet);
