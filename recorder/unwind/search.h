/* Binary search in ranges that are sorted by their start. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns the index of the last item that starts at or below the address; `count` if there is none. Each item has
 * item_bytes bytes, and its first 8 bytes are its start. The search has no branch that could be mispredicted.
 * [signal-safe] */
static inline uint32_t search_ranges(const void *items, uint32_t count, size_t item_bytes, uint64_t address) {
    const unsigned char *first = items, *found = first;
    if (!count || address < *(const uint64_t *)(const void *)found) return count;
    for (uint32_t left = count; left > 1;) {
        uint32_t half = left / 2;
        const unsigned char *middle = found + half * item_bytes;
        found = *(const uint64_t *)(const void *)middle <= address ? middle : found;
        left -= half;
    }
    return (uint32_t)((size_t)(found - first) / item_bytes);
}
