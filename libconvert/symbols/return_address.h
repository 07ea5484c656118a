/* Decides to which function an address before a return address belongs. */
#pragma once

#include "symbol_table.h"

/* Returns the address to look up for `address`, which may be a return address minus 1: itself or the next address.
 *
 * Usually the byte before a return address belongs to the call. Two kinds of return addresses in a recording of perf
 * belong to the function that starts there instead. One follows a call in hand-written assembly, where a label without
 * a size is the place to which the call returns. The other was not stored by a call: walks by frame pointers also find
 * pointers to functions. */
uint64_t return_address_place(const struct symbol_table *table, const struct debug_file *file, uint64_t address);
