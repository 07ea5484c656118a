/* Finds, from a function's code, the size of its frame at one of its instructions. This is needed if the unwind table
 * names a register whose value is unknown. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { FRAME_CODE_BYTES_MAX = 32 * 1024 };

/* Bytes from the registers up to the value that sp had before the function was called. */
struct frame_depth {
    uint32_t sp_bytes;
    uint32_t fp_bytes; /* FRAME_DEPTH_UNKNOWN: not used as a frame pointer there */
};

#define FRAME_DEPTH_UNKNOWN UINT32_MAX

/* Finds the depth after the instruction that ends at `end`. If that is a call, finds the depth after its return. `code`
 * is a function that is entered by a call. Returns false if the depth of sp differs between the paths to that
 * instruction, if no path is found, or if an instruction is unknown. Supports x86-64 only. Call this in one thread at a
 * time. */
bool frame_depth_find(const unsigned char *code, uint32_t bytes_count, uint32_t end, struct frame_depth *depth);
