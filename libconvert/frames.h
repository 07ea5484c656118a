/* Frames and stacks. */
#ifndef GECKO_FRAMES_H
#define GECKO_FRAMES_H

#include "funcs.h"

enum { ADDRESS_NONE = -1, INLINE_DEPTH_MAX = 255 };

struct frame {
    func_id func;
    int32_t address;                /* relative to the library; ADDRESS_NONE unless the library is known */
    lib_id lib;                     /* none unless the address is known */
    native_symbol_id native_symbol; /* none, or one of the frame's library */
    uint32_t line;                  /* the line that runs, 1-based; 0 unknown */
    uint32_t column;                /* 1-based; 0 unknown */
    uint8_t inline_depth;           /* 0: the physical frame; 1, 2…: inlined into the frame of one less */
    uint8_t category;
    uint8_t subcategory;
    uint8_t reserved; /* 0 */
};
_Static_assert(sizeof(struct frame) == 28, "rows are compared as bytes: no padding");

/* A stack is its caller's stack and its innermost frame. Parents come before their children. */
struct stack {
    stack_id prefix; /* none for a root */
    frame_id frame;
};

#endif
