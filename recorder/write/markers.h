/* The room that markers leave for stacks. */
#ifndef GREC_MARKERS_H
#define GREC_MARKERS_H

#include <stdint.h>

/* Returns how many bytes the stack of a marker may take in this recording, whatever its payload is. [signal-safe] */
uint32_t marker_stack_bytes_max(void);

#endif
