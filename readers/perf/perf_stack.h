/* Stacks of frame lines. The numbers of lines go in, innermost first; stacks of the profile come out. */
#pragma once

#include "libconvert/profile/profile.h"
#include "perf_recording.h"
#include "perf_symbols.h"
#include "readers/code/code_maps.h"
#include "readers/code/jit_code.h"

/* Bounds memory. The kernel's own limit (kernel.perf_event_max_stack) is far lower. */
enum { PERF_STACK_FRAMES_MAX = 65535 };

struct perf_stack {
    struct perf_recording *recording; /* borrowed */
    struct profile *profile;          /* borrowed */
    struct perf_symbols symbols;
    struct code_maps maps; /* library ids are always 1 */
    struct jit jit;        /* the perf maps that the user names */
    struct column libs;    /* struct perf_stack_lib, by row of symbols.libraries */
    uint32_t *meanings;    /* owned; by line number: a symbol, or a source line with SOURCE_BIT */
    uint32_t meaning_count;
    size_t meaning_capacity;
    struct column sources;         /* struct perf_stack_source */
    struct perf_stack_line *lines; /* lines of the stack that is made; innermost first */
    uint32_t count;
    size_t capacity;
    frame_id *frames; /* root first */
    size_t frames_capacity;
    uint32_t change_count; /* mappings of the kernel, and files with a build id, so far */
    bool has_symbols;      /* perf has printed symbols, or that it found none */
};

/* Initializes the stack, and makes it the recording's code. */
void perf_stack_init(struct perf_stack *stack, struct perf_recording *recording, const struct reader_options *options);
void perf_stack_fini(struct perf_stack *stack); /* accepts a zeroed one */
