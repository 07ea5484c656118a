/* What collapsed stacks show besides the names of functions: the value of --frames. */
#pragma once

#include <stdbool.h>

/* Bits. The parts of a thread make up the first frame: "comm", "comm-pid" or "comm-pid/tid". */
enum frame_part {
    FRAME_PART_COMM = 1,
    FRAME_PART_PID = 2,
    FRAME_PART_TID = 4,
    FRAME_PART_KERNEL = 8,    /* code of the kernel ends in "_[k]" */
    FRAME_PART_JIT = 16,      /* generated code and scripts end in "_[j]" */
    FRAME_PART_INLINE = 32,   /* inlined functions end in "_[i]" */
    FRAME_PART_ADDRESSES = 64 /* functions without a name show their address: "[libc.so.6 <1a2b>]" */
};

#define FRAME_PARTS_NAMES "comm, pid, tid, kernel, jit, inline, addresses, or none"

/* Sets *parts to the bits of the names in a comma-separated list. "pid" and "tid" imply "comm", and "tid" implies
 * "pid". NULL: the default, "comm". Returns false if a name is unknown. */
bool frame_parts_parse(const char *list, unsigned *parts);
