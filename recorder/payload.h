/* Payloads of markers: values as bytes, without formatting. */
#ifndef GREC_PAYLOAD_H
#define GREC_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gecko_recorder.h"
#include "leb128.h"
#include "stack.h"
#include "trace_format.h"

/* What measuring found out. */
struct payload {
    const struct grec_value *values; /* borrowed */
    uint32_t count;                  /* of values to write: no more than the type has fields */
    uint32_t bytes_max;
};

/* type NULL: no fields. [signal-safe] */
struct payload payload_measure(const struct grec_marker_type *type, const struct grec_value *values, size_t count);

/* The entry that the payload is of. */
struct payload_context {
    uint64_t now_ticks; /* its time */
    uint32_t depth;     /* of the recording call */
};

/* The payload, with or without tags as is_tagged says; texts are cut to the room. [signal-safe] */
void payload_write(struct room *room, const struct payload *payload, bool is_tagged, struct payload_context context);
/* Whether it needs tags. */
bool payload_needs_tags(const struct payload *payload, const struct grec_marker_type *type);

/* A number. There is room for LEB128_BYTES_MAX bytes. [signal-safe] */
static inline unsigned char *payload_write_number(unsigned char *at, const struct grec_value *value) {
    if (__builtin_expect(value->kind == GREC_VALUE_INTEGER, 1))
        return leb128_write(at, leb128_zigzag(value->as.integer));
    if (value->kind == GREC_VALUE_UNSIGNED) return leb128_write(at, value->as.number);
    memcpy(at, &value->as.real, sizeof value->as.real);
    return at + sizeof value->as.real;
}

#endif
