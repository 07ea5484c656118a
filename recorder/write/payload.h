/* Payloads of markers: values as bytes. The recorder formats nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"
#include "recorder/state/leb128.h"
#include "recorder/trace_format.h"
#include "stack.h"

/* A payload that was measured. */
struct payload {
    const struct grec_value *values; /* borrowed */
    uint32_t count;                  /* values to write, at most as many as the type has fields */
    uint32_t bytes_max;
};

/* Measures a payload, and counts values beyond the fields of the type. type NULL: no fields. [signal-safe] */
struct payload payload_measure(const struct grec_marker_type *type, const struct grec_value *values, size_t count);

/* Writes a payload, with or without tags; texts are cut to the room. now_ticks: the time of its entry. [signal-safe] */
void payload_write(struct room *room, const struct payload *payload, bool is_tagged, uint64_t now_ticks);

/* Whether a value has another kind than its field, so that the payload needs tags. */
bool payload_needs_tags(const struct payload *payload, const struct grec_marker_type *type);

/* Writes a number. LEB128_BYTES_MAX bytes must be reserved. [signal-safe] */
static inline unsigned char *payload_write_number(unsigned char *at, const struct grec_value *value) {
    if (__builtin_expect(value->kind == GREC_VALUE_INTEGER, 1))
        return leb128_write(at, leb128_zigzag(value->as.integer));
    if (value->kind == GREC_VALUE_UNSIGNED) return leb128_write(at, value->as.number);
    memcpy(at, &value->as.real, sizeof value->as.real);
    return at + sizeof value->as.real;
}
