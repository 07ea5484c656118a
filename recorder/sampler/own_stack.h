/* The calling thread's own stack, with native frames: the sampler's part of packed_stack.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packed_stack;

/* See struct sampler_hooks. [any thread] [signal-safe] */
bool own_stack_pack(struct packed_stack *packed, uint32_t bytes_max, const void *entry);
uint32_t own_stack_last_mapping_id(void);
