/* The id of the last mapping that this process has defined in the trace. Addresses in later entries are resolved by the
 * mappings up to that id. */
#pragma once

#include <stdint.h>

/* Returns the id; 0: nothing was defined. [any thread] [signal-safe] */
uint32_t last_mapping_id(void);

/* Sets the id of a mapping that this process has just defined. Call this in the sampler's thread. */
void last_mapping_set(uint32_t id);

/* A new recording has no mappings yet. Call this while no thread is in a recording call. */
void last_mapping_forget(void);

/* Call this in a forked child that records: it has mapped what its parent has defined. */
void last_mapping_enter_child(void);

/* In a forked child, defines once that it has inherited its parent's mappings. Call this in any thread, in a recording
 * call, before an address is written. [signal-safe] */
void last_mapping_inherit(void);
