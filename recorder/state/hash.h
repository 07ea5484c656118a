/* XXH3-64, the hash of the trace format. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared.h"

/* Returns the hash with seed 0. [signal-safe] */
uint64_t hash_bytes(const void *bytes, size_t bytes_count) GREC_SHARED(hash_bytes);
