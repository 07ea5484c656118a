/* Turns the call frame information of an object (.eh_frame, .debug_frame) into rules. A rule describes how to find the
 * caller at some address. The object may be in this process or a file, for any machine defined here. What a rule cannot
 * express becomes "unknown", never a guess.
 *
 * Every read is checked against the image's segments, so a broken object costs rules but never causes a fault. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind_rule.h"

/* A common information entry: what the entries of several functions share. */
struct unwind_cie {
    uint64_t address;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t pointer_encoding;
    bool has_augmentation;
    bool is_signal;
    uint64_t program_start;
    uint64_t program_end;
    bool is_good;
};

/* The functions of an object, sorted. */
struct unwind_index {
    const struct unwind_image *image;
    struct unwind_function *functions; /* mapped */
    uint64_t count;
    uint64_t capacity;
    uint64_t first_entry;  /* address of the first entry, of whatever kind; 0: unknown */
    struct unwind_cie cie; /* the one that was parsed last */
};

/* Lists the functions. The image must stay at its address until unwind_index_fini. If memory runs out, functions are
 * missing from the list. */
void unwind_index_init(struct unwind_index *index, const struct unwind_image *image);
void unwind_index_fini(struct unwind_index *index);

/* Returns how many bytes the functions take. */
size_t unwind_index_functions_bytes(const struct unwind_index *index);

/* Finds the bytes that hold the entries of all functions, and the common entries before them. Returns false if they are
 * not readable. */
bool unwind_index_find_entries(const struct unwind_index *index, uint64_t *start, uint64_t *end);

/* Finds the function at an address, by its own entry. Returns false if no function has that address. */
bool unwind_index_find_function(struct unwind_index *index, uint64_t address, uint64_t *start, uint64_t *end);

/* Finds the rule at an address, and the start of the function. Returns false if no function has that address.
 * [signal-safe] */
bool unwind_index_find(struct unwind_index *index, uint64_t address, struct unwind_rule *rule, uint64_t *start);
