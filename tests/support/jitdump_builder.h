/* Writes jitdumps in memory for tests, and traces that match them. The builder follows Linux's
 * tools/perf/Documentation/jitdump-specification.txt and shares no declaration with the reader. */
#pragma once

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "trace_builder.h"

static inline uint64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Makes the trace look as if this machine recorded it just now. Returns its start on the monotonic clock, in
 * nanoseconds. */
static inline uint64_t trace_of_this_boot(struct trace_builder *trace) {
    uint64_t start_ns = now_ns(CLOCK_MONOTONIC);
    trace_write(trace, BUILD_AT_START_NS, start_ns, 8);
    trace_write(trace, BUILD_AT_START_REALTIME, now_ns(CLOCK_REALTIME), 8);
    trace_hash_header(trace);
    return start_ns;
}

struct dump {
    unsigned char bytes[4096];
    size_t count;
};

static inline void dump_number(struct dump *dump, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++) dump->bytes[dump->count++] = (unsigned char)(value >> (8 * i));
}

static inline void dump_header(struct dump *dump, uint32_t pid, uint64_t flags) {
    dump->count = 0;
    dump_number(dump, 0x4a695444, 4);
    dump_number(dump, 1, 4);
    dump_number(dump, 40, 4);
    dump_number(dump, 62, 4);
    dump_number(dump, 0, 4);
    dump_number(dump, pid, 4);
    dump_number(dump, 0, 8);
    dump_number(dump, flags, 8);
}

static inline void dump_head(struct dump *dump, uint32_t kind, size_t bytes_count, uint64_t time_ns) {
    dump_number(dump, kind, 4);
    dump_number(dump, bytes_count, 4);
    dump_number(dump, time_ns, 8);
}

static inline void dump_load(struct dump *dump, uint64_t time_ns, uint64_t address, uint64_t size, const char *name) {
    dump_head(dump, 0, 56 + strlen(name) + 1 + 3, time_ns);
    dump_number(dump, 10, 4);
    dump_number(dump, 20, 4);
    dump_number(dump, address, 8);
    dump_number(dump, address, 8);
    dump_number(dump, size, 8);
    dump_number(dump, 1, 8);
    memcpy(dump->bytes + dump->count, name, strlen(name) + 1);
    dump->count += strlen(name) + 1;
    dump_number(dump, 0xc3c3c3, 3);
}

/* Adds the call frame information of the next code, with the size of a table that is left out. */
static inline void dump_unwinding(struct dump *dump, const char *eh_frame, uint64_t size, uint64_t table_size) {
    dump_head(dump, 4, 40 + strlen(eh_frame), 0);
    dump_number(dump, size, 8);
    dump_number(dump, table_size, 8);
    dump_number(dump, size, 8);
    memcpy(dump->bytes + dump->count, eh_frame, strlen(eh_frame));
    dump->count += strlen(eh_frame);
}

static inline void dump_move(struct dump *dump, uint64_t time_ns, uint64_t from, uint64_t to, uint64_t size) {
    dump_head(dump, 1, 64, time_ns);
    dump_number(dump, 10, 4);
    dump_number(dump, 20, 4);
    dump_number(dump, 0, 8);
    dump_number(dump, from, 8);
    dump_number(dump, to, 8);
    dump_number(dump, size, 8);
    dump_number(dump, 1, 8);
}
