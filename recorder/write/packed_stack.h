/* A stack in bytes, as entries of the trace have it, so that it can be written at any time later. Its addresses are
 * differences, so only the first one is written again. It has native frames if there is a sampler; else, only labels.
 *
 * The bytes follow the struct in memory. The running address of the first frame is its own address, so that address
 * takes one byte. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/state/leb128.h"
#include "recorder/state/shared.h"
#include "recorder/trace_format.h"

struct recording;
struct writer;

struct packed_stack {
    uint64_t first_address;
    uint64_t last_address;
    uint32_t bytes_count;
    uint32_t address_at;  /* where the first address begins; bytes_count if there is none */
    uint32_t address_end; /* where the first address ends; bytes_count if there is none */
    uint32_t mapping_id;  /* the last mapping that the process had defined; 0: there are no addresses */
};

static inline unsigned char *packed_stack_bytes(const struct packed_stack *stack) {
    return (unsigned char *)(uintptr_t)(stack + 1);
}

static inline bool packed_stack_has_address(const struct packed_stack *stack) {
    return stack->address_at < stack->bytes_count;
}

/* Packs the calling thread's stack from the caller of the public function that has the frame address `entry`
 * (__builtin_frame_address). bytes_max: the room behind the struct; frames that do not fit are left out, the outermost
 * ones, or of labels alone the innermost. Call this, and the functions below, in a recording call. [signal-safe] */
void packed_stack_take(struct packed_stack *stack, uint32_t bytes_max, const void *entry);

/* packed_stack_take in memory of the recorder: give it back by scratch_give in the same recording call. Returns NULL if
 * there is no memory. [signal-safe] */
struct packed_stack *packed_stack_take_own(uint32_t bytes_max, const void *entry);

/* What packed_stack_announce writes at most. */
enum { PACKED_STACK_ROOM_BYTES = 2 + LEB128_BYTES_MAX };

/* Returns how many bytes packed_stack_announce and packed_stack_write write at most, together. NULL: an empty stack. */
uint32_t packed_stack_bytes_max(const struct packed_stack *stack);

/* Writes what must come before an entry with the stack, whose addresses refer to mappings up to that one. Call this
 * after recording_reserve. NULL: an empty stack. [signal-safe] */
void packed_stack_announce(const struct packed_stack *stack, uint32_t mapping_id, struct writer *writer);

/* Writes the stack into an entry, and returns where it ends. NULL: an empty stack. [signal-safe] */
unsigned char *packed_stack_write(unsigned char *at, const struct packed_stack *stack, struct writer *writer);

/* Writes an entry that has a time, these numbers, and the stack of packed_stack_take; entry NULL: an empty stack.
 * Returns false, and counts the loss, if there is no room. [signal-safe] */
bool packed_stack_record(struct recording *recording, enum trace_entry_kind kind, const uint64_t *numbers, size_t count,
                         const void *entry) GREC_SHARED(packed_stack_record);
