/* Frames and stacks. */
#ifndef GECKO_FRAMES_H
#define GECKO_FRAMES_H

#include "funcs.h"

enum { ADDRESS_NONE = -1, INLINE_DEPTH_MAX = 255 };

/* An address is relative to the start of its library, where that has its first segment, rounded down to 4096. It lies
 * in the instruction that runs: a reader takes 1 off a return address, which is behind the call. (perf has offsets in
 * the file instead: profile_meta.has_file_offsets.) */
struct frame {
    func_id func;
    int32_t address;                /* see above; ADDRESS_NONE unless the library is known */
    lib_id lib;                     /* none unless the address is known */
    native_symbol_id native_symbol; /* none, or one of the frame's library */
    uint32_t line;                  /* the line that runs, 1-based; 0 unknown */
    uint32_t column;                /* 1-based; 0 unknown */
    uint8_t inline_depth;           /* 0: the physical frame; 1, 2…: inlined into the frame of one less */
    uint8_t category;
    uint8_t subcategory;
    uint8_t
        inherits_category; /* 1: they are those of the frame that it is called from, of a root 0 and 0, and here 0 */
};
_Static_assert(sizeof(struct frame) == 28, "rows are compared as bytes: no padding");

/* A stack is its caller's stack and its innermost frame. Parents come before their children. */
struct stack {
    stack_id prefix; /* none for a root */
    frame_id frame;
};

#endif
