#include "hash.h"

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t bytes_count) { return XXH3_64bits(bytes, bytes_count); }
