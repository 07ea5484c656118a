/* The files that processes write about code that they generate: perf maps (/tmp/perf-PID.map, lines "START SIZE name"
 * in hex) and jitdumps (jit-PID.dump: tools/perf/Documentation/jitdump-specification.txt in Linux). */
#ifndef GECKO_NATIVE_JITDUMP_H
#define GECKO_NATIVE_JITDUMP_H

#include "input.h"

/* What a file says, in its order: which code is there from that time on. */
struct native_jit_record {
    int64_t time_ns; /* of CLOCK_MONOTONIC; INT64_MIN: not known */
    uint64_t address;
    uint64_t size_bytes; /* not 0 */
    struct text name;    /* valid during the call; empty: that of the code that was moved */
    uint64_t moved_from; /* its address before */
};

typedef void native_jit_visitor(void *context, const struct native_jit_record *record);

/* Each returns how many parts of the file were damaged. A jitdump of another pid or of another kind of machine is one
 * damaged part. Failures of the input are latched in it. */
uint64_t native_jitdump_read(struct input *input, int64_t pid, native_jit_visitor *visit, void *context);
uint64_t native_perf_map_read(struct input *input, native_jit_visitor *visit, void *context);

#endif
