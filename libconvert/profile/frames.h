/* Frames and stacks. */
#pragma once

#include "funcs.h"

enum { ADDRESS_NONE = -1, INLINE_DEPTH_MAX = 255 };

/* An address is relative to the start of its library: the address of its first segment, rounded down to 4096. It lies
 * within the instruction that runs. A return address is that of the next instruction, so readers subtract 1 from it.
 * (perf gives offsets in the file instead: profile_meta.has_file_offsets.) */
struct frame {
    func_id func;
    int32_t address;                /* relative to the start of the library; ADDRESS_NONE if the library is unknown */
    lib_id lib;                     /* none if the address is unknown */
    native_symbol_id native_symbol; /* none, or one of the frame's library */
    uint32_t line;                  /* the line that runs, from 1; 0: unknown */
    uint32_t column;                /* from 1; 0: unknown */
    uint8_t inline_depth;           /* 0: the physical frame; n: inlined into the frame of depth n - 1 */
    uint8_t category;
    uint8_t subcategory;
    uint8_t inherits_category; /* 1: the frame has the categories of its caller; both are 0 here */
};
_Static_assert(sizeof(struct frame) == 28, "rows are compared as bytes: no padding");

/* A stack is the stack of the caller and the innermost frame. Callers have lower numbers than their callees. */
struct stack {
    stack_id prefix; /* none for a root */
    frame_id frame;
    stack_id first_child; /* private to stack_table, as is the next one */
    stack_id last_child;  /* the child that was last asked for */
};
