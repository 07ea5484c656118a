/* How large a function's frame is at one of its instructions, found by its code, where the tables only say it by a
 * register that is not known. */
#ifndef GREC_FRAME_DEPTH_H
#define GREC_FRAME_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

enum { FRAME_CODE_BYTES_MAX = 32 * 1024 };

/* By how many bytes a register is below what sp was before the function was called. */
struct frame_depth {
    uint32_t sp_bytes;
    uint32_t fp_bytes; /* FRAME_DEPTH_UNKNOWN: it is no frame pointer */
};

#define FRAME_DEPTH_UNKNOWN UINT32_MAX

/* `code` is a function that is entered by a call. Finds what holds behind the instruction that ends at `end`; a call
 * there has returned. False: that of sp is not the same on all ways to there, or there is no way that can be seen, or
 * an instruction that this does not know. For x86-64 alone. One thread at a time. */
bool frame_depth_find(const unsigned char *code, uint32_t bytes_count, uint32_t end, struct frame_depth *depth);

#endif
