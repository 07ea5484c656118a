/* Builds perf.data files in memory: a header, one event, records, and the sections that a test adds. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "libconvert/base/text.h"

enum {
    BUILDER_HEADER_BYTES = 104,
    BUILDER_ATTR_BYTES = 128,
    BUILDER_RECORDS_AT = BUILDER_HEADER_BYTES + BUILDER_ATTR_BYTES + 16,
    BUILDER_BYTES_MAX = 256 * 1024
};

/* The fields of the builder's samples: IP, TID, TIME, CALLCHAIN, PERIOD. */
static const uint64_t BUILDER_SAMPLE_TYPE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 8;

struct perf_data_builder {
    char bytes[BUILDER_BYTES_MAX];
    size_t bytes_count;
    size_t record_at; /* offset of the record being built */
};

static inline void builder_put(struct perf_data_builder *builder, const void *bytes, size_t bytes_count) {
    if (builder->bytes_count + bytes_count > sizeof builder->bytes) return;
    memcpy(builder->bytes + builder->bytes_count, bytes, bytes_count);
    builder->bytes_count += bytes_count;
}
static inline void builder_u64(struct perf_data_builder *builder, uint64_t value) { builder_put(builder, &value, 8); }
static inline void builder_u32(struct perf_data_builder *builder, uint32_t value) { builder_put(builder, &value, 4); }
static inline void builder_set_u64(struct perf_data_builder *builder, size_t at, uint64_t value) {
    memcpy(builder->bytes + at, &value, 8);
}

/* Begins a file with one event, cpu-clock at 1000 Hz. Every record has a trailer. */
static inline void builder_begin(struct perf_data_builder *builder) {
    memset(builder, 0, sizeof *builder);
    memcpy(builder->bytes, "PERFILE2", 8);
    builder_set_u64(builder, 8, BUILDER_HEADER_BYTES);
    builder_set_u64(builder, 16, BUILDER_ATTR_BYTES + 16);
    builder_set_u64(builder, 24, BUILDER_HEADER_BYTES);
    builder_set_u64(builder, 32, BUILDER_ATTR_BYTES + 16);
    builder_set_u64(builder, 40, BUILDER_RECORDS_AT);
    char *attr = builder->bytes + BUILDER_HEADER_BYTES;
    uint32_t head[2] = {1, BUILDER_ATTR_BYTES};
    uint64_t words[] = {0, 1000, BUILDER_SAMPLE_TYPE, 0, 1 << 10 | 1 << 18};
    memcpy(attr, head, sizeof head);
    memcpy(attr + 8, words, sizeof words);
    builder->bytes_count = BUILDER_RECORDS_AT;
}

static inline void builder_begin_record(struct perf_data_builder *builder, uint32_t type, uint16_t misc) {
    builder->record_at = builder->bytes_count;
    builder_u32(builder, type);
    builder_put(builder, &misc, 2);
    builder_put(builder, "\0\0", 2);
}

static inline void builder_end_record(struct perf_data_builder *builder) {
    uint16_t size_bytes = (uint16_t)(builder->bytes_count - builder->record_at);
    memcpy(builder->bytes + builder->record_at + 6, &size_bytes, 2);
}

/* Ends a record other than a sample with a trailer: pid, tid and time. */
static inline void builder_end_with_trailer(struct perf_data_builder *builder, uint32_t pid, uint32_t tid,
                                            uint64_t time_ns) {
    builder_u32(builder, pid);
    builder_u32(builder, tid);
    builder_u64(builder, time_ns);
    builder_end_record(builder);
}

/* Appends a text and at least one NUL, padded to a multiple of eight bytes. */
static inline void builder_name(struct perf_data_builder *builder, const char *name) {
    builder_put(builder, name, strlen(name));
    do builder_put(builder, "", 1);
    while ((builder->bytes_count - builder->record_at) % 8);
}

static inline void builder_comm(struct perf_data_builder *builder, uint32_t pid, uint32_t tid, const char *name,
                                uint64_t time_ns) {
    builder_begin_record(builder, 3, 0);
    builder_u32(builder, pid);
    builder_u32(builder, tid);
    builder_name(builder, name);
    builder_end_with_trailer(builder, pid, tid, time_ns);
}

static inline void builder_mmap(struct perf_data_builder *builder, uint32_t pid, uint64_t start, uint64_t size_bytes,
                                uint64_t offset, const char *path, uint64_t time_ns) {
    builder_begin_record(builder, 1, pid == UINT32_MAX ? 1 : 2);
    builder_u32(builder, pid);
    builder_u32(builder, pid);
    builder_u64(builder, start);
    builder_u64(builder, size_bytes);
    builder_u64(builder, offset);
    builder_name(builder, path);
    builder_end_with_trailer(builder, pid, pid, time_ns);
}

/* Appends a task record of the type 7 for a fork, or 4 for an exit. */
static inline void builder_task(struct perf_data_builder *builder, uint32_t type, uint32_t pid, uint32_t parent_pid,
                                uint32_t tid, uint32_t parent_tid, uint64_t time_ns) {
    builder_begin_record(builder, type, 0);
    builder_u32(builder, pid);
    builder_u32(builder, parent_pid);
    builder_u32(builder, tid);
    builder_u32(builder, parent_tid);
    builder_u64(builder, time_ns);
    builder_end_with_trailer(builder, parent_pid, parent_tid, time_ns);
}

static inline void builder_sample(struct perf_data_builder *builder, uint32_t pid, uint32_t tid, uint64_t time_ns,
                                  const uint64_t *chain, size_t chain_count) {
    builder_begin_record(builder, 9, 2);
    builder_u64(builder, chain_count > 1 ? chain[1] : 0);
    builder_u32(builder, pid);
    builder_u32(builder, tid);
    builder_u64(builder, time_ns);
    builder_u64(builder, 1000000);
    builder_u64(builder, chain_count);
    builder_put(builder, chain, chain_count * sizeof *chain);
    builder_end_record(builder);
}

static inline void builder_round(struct perf_data_builder *builder) {
    builder_begin_record(builder, 68, 0);
    builder_end_record(builder);
}

static inline struct text builder_finish(struct perf_data_builder *builder) {
    builder_set_u64(builder, 48, builder->bytes_count - BUILDER_RECORDS_AT);
    return (struct text){builder->bytes, builder->bytes_count};
}
