/* The room that markers leave for stacks. */
#ifndef GREC_MARKER_ROOM_H
#define GREC_MARKER_ROOM_H

#include <stdint.h>

/* Returns how many bytes the stack of a marker may take in this recording, whatever its payload is. [signal-safe] */
uint32_t marker_stack_bytes_max(void);

#endif
