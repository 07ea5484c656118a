/* The name of code that is in no file on the disk: the kernel's, the vDSO's, and code that processes generated. */
#pragma once

#include <stdint.h>

#include "libconvert/base/text.h"

struct code_name {
    struct text name;   /* borrowed from the source of names; empty: unknown */
    uint64_t start;     /* start of the function, at most 1 above the looked-up address; has the same base as that */
    struct text module; /* kernel module; empty: the kernel itself */
    struct text file;   /* the perf map or jitdump that names generated code; empty: other code */
};
