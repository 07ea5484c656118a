/* The inline functions of the header, for Rust, Python, Go and other languages. A label belongs to the caller's frame,
 * which ends above that of the function here. */
#define GREC_INLINE __attribute__((visibility("default")))
#define GREC_IN_CALLER_
#define GREC_LABEL_ADDRESS_(own) ((const char *)(own) + 2 * sizeof(void *))
#include "recorder/gecko_recorder.h"
