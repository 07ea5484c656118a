/* The objects that the dynamic linker has loaded into this process: as definitions in the trace, with their build ids,
 * and as tables to unwind by. Of the sampler's thread alone, unless said otherwise. */
#ifndef GREC_LIBRARIES_H
#define GREC_LIBRARIES_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind_table.h"

/* Looks whether something was loaded or unloaded since the last time, and then defines what is there now. `is_start`:
 * the first look of a sampler. Not within a recording call. */
void libraries_refresh(bool is_start);

/* Reads the list of mappings, and defines what JIT runtimes have mapped to be found: files jit-PID.dump. */
void libraries_find_dumps(void);

/* Frees tables and lists of mappings that nobody reads any more. Between rounds. */
void libraries_reclaim(void);

/* The id of the last mapping that was defined; 0: none. In any thread. [signal-safe] */
uint32_t libraries_last_mapping(void);

/* In a forked child that records: what is mapped is what its parent has defined, until something else is. */
void libraries_enter_child(void);

/* Defines that, once it is of use. In any thread, in a recording call of depth 0. [signal-safe] */
void libraries_inherit(void);

/* Around a fork: a child that were made while the sampler is in the dynamic linker would find its lock taken for good.
 * False: that could not be had soon, and the child must not have a sampler. */
bool libraries_prepare_fork(void);
void libraries_settle_fork(bool is_child);

/* When no handler walks a stack any more: forgets everything. */
void libraries_forget(void);

#endif
