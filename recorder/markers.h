/* What others have to know of markers. */
#ifndef GREC_MARKERS_H
#define GREC_MARKERS_H

#include <stdint.h>

/* The bytes that the stack of a marker may take, whatever its payload is, in the recording that is on. [signal-safe] */
uint32_t marker_stack_bytes_max(void);

#endif
