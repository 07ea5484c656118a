/* XXH3-64, compiled in: the recorder links with nothing but libc. */
#ifndef GREC_HASH_H
#define GREC_HASH_H

#include <stddef.h>
#include <stdint.h>

/* [signal-safe] */
uint64_t hash_bytes(const void *bytes, size_t bytes_count);

#endif
