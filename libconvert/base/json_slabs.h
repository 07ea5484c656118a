/* The container of JsonSlabs, version 1: JSON whose long arrays of numbers are stored apart from it, in binary. The
 * front-end reads it with the package json-slabs, whose FORMAT.md describes it.
 *
 * A header, a table of slabs, and the slabs. A slab is an array of numbers of one type, or JSON, in which {"$s":
 * number} stands for another slab. One of the slabs is the document. All numbers are little-endian, and offsets count
 * from the start of the file. */
#pragma once

#include <stdint.h>

#include "text.h"

#define JSON_SLABS_MAGIC TEXT("\xdc\xdfJSLB\1\0")
#define JSON_SLABS_KEY   "$s"

enum { JSON_SLABS_VERSION = 1, JSON_SLABS_HEADER_BYTES = 20, JSON_SLABS_ENTRY_BYTES = 12 };

/* Offsets of the 32-bit numbers in the header and in an entry of the table. */
enum { JSON_SLABS_VERSION_AT = 8, JSON_SLABS_COUNT_AT = 12, JSON_SLABS_ROOT_AT = 16 };
enum { JSON_SLABS_TYPE_AT = 0, JSON_SLABS_OFFSET_AT = 4, JSON_SLABS_BYTES_AT = 8 };

/* A file stores the type minus 1. */
enum slab_type {
    SLAB_NONE,
    SLAB_INT8,
    SLAB_UINT8,
    SLAB_INT16,
    SLAB_UINT16,
    SLAB_INT32,
    SLAB_UINT32,
    SLAB_FLOAT32,
    SLAB_FLOAT64,
    SLAB_INT64,
    SLAB_UINT64,
    SLAB_JSON,
    SLAB_TYPE_COUNT
};

/* Returns the size of an element, at a multiple of which the slab begins. */
static inline uint32_t slab_element_bytes(enum slab_type type) {
    static const uint8_t sizes[SLAB_TYPE_COUNT] = {
        [SLAB_INT8] = 1,  [SLAB_UINT8] = 1,  [SLAB_INT16] = 2,   [SLAB_UINT16] = 2,
        [SLAB_INT32] = 4, [SLAB_UINT32] = 4, [SLAB_FLOAT32] = 4, [SLAB_FLOAT64] = 8,
        [SLAB_INT64] = 8, [SLAB_UINT64] = 8, [SLAB_JSON] = 1,
    };
    return sizes[type];
}
