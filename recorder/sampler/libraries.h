/* The objects that the dynamic linker has loaded into this process: their definitions in the trace, with build ids, and
 * their unwind tables. Call these in the sampler's thread alone, unless said otherwise. */
#pragma once

#include <stdbool.h>

/* If objects were loaded or unloaded since the last call, defines what is loaded now. is_start: this is the first call
 * of a sampler. Do not call this in a recording call. */
void libraries_refresh(bool is_start);

/* Reads the list of mappings, and defines what the dynamic linker does not know: files jit-PID.dump, which JIT runtimes
 * map so that profilers find them, and code of loaded objects that is mapped a second time. */
void libraries_read_list(void);

/* Frees tables and lists of mappings that no thread reads any more. Call this between rounds. */
void libraries_reclaim(void);

/* Call these around fork. If the sampler held the dynamic linker's lock at that moment, the child would inherit the
 * lock and deadlock. libraries_prepare_fork returns false if the sampler did not leave the linker in time: the child
 * must not have a sampler then. Otherwise it knows which mappings its parent has defined. */
bool libraries_prepare_fork(void);
void libraries_finish_fork(bool is_child);

/* Forgets all objects. Call this when no handler walks a stack any more. */
void libraries_forget(void);
