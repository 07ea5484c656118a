/* The room that markers leave for stacks. */
#pragma once

#include <stdint.h>

/* Returns how many bytes the stack of a marker may take in this recording, whatever its payload is. [signal-safe] */
uint32_t marker_stack_bytes_max(void);
