/* Builds a trace with everything that a sampler records. Several tests read it. */
#pragma once

#include "trace_builder.h"

/* Puts a stack of the label and then two addresses in "/usr/lib/libapp.so": a return address and an exact one. */
static inline void put_native_stack(struct trace_builder *trace, uint64_t label, int64_t returns, int64_t exact) {
    put_leb(trace, 3);
    put_byte(trace, BUILD_FRAME_LABEL);
    put_leb(trace, label);
    put_address(trace, BUILD_FRAME_RETURNS, returns);
    put_address(trace, BUILD_FRAME_EXACT, exact);
}

static inline void build_sampler_trace(struct trace_builder *trace) {
    trace_definitions_chunk(trace);
    uint64_t category = define_category(trace, "Work", 3, 0);
    uint64_t label = define_label(trace, "run", category, "", 0);
    uint64_t library = define_library(trace, "/usr/lib/libapp.so", "\x01\x23\x45\x67\x89\xab\xcd\xef");
    uint64_t mapping = define_mapping(trace, 0x10000, 0x2000, 0x1000, library);
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 10, BUILD_START_NS, "app");
    add_thread(trace, 0, 1, 11, 0, "sampler");
    add_mappings(trace, mapping);
    add_sampled_thread(trace, 2, 10, -200, "main");
    add_sampled_thread(trace, 3, 12, 100, "worker");
    put_thread_sample(trace, 2000000, 2, 0, 0);
    put_native_stack(trace, label, 0x10011, 0x10);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    put_thread_sample(trace, 0, 3, BUILD_IS_TRUNCATED, 0);
    put_leb(trace, 1);
    put_address(trace, BUILD_FRAME_RETURNS, 0);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    add_tick(trace, 100000, 250, 1500, 3000);
    /* A sample of the main thread that has CPU time and delay. Compared with the previous stack, it drops one frame
     * and adds another one. */
    put_lebs(trace, 1900000, 2, BUILD_HAS_CPU | BUILD_HAS_DELAY, 800000, 1234567, 2, 1);
    put_address(trace, BUILD_FRAME_EXACT, 0x100);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    put_thread_sample(trace, 0, 3, BUILD_IS_UNREACHED, 0);
    put_leb(trace, 0);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    add_tick(trace, 300000, 1250, 500, 1001);
    add_block(trace, BUILD_THREAD_SAME, 1700000, 2, BUILD_HAS_CPU, 900001);
    add_block(trace, BUILD_SAMPLED_THREAD_END, 0, 3);
    put_leb(trace, 0);
    put_zigzag(trace, 4096);
    put_leb(trace, 0x7f0000001000);
    put_native_stack(trace, label, -0x110, 0);
    trace_block(trace, BUILD_ALLOCATION);
    add_thread(trace, 6000000, 2, 10, -200, "main");
    put_leb(trace, 1000000);
    put_zigzag(trace, -4096);
    put_lebs(trace, 0x7f0000001000, 0);
    trace_block(trace, BUILD_ALLOCATION);
    trace_seal(trace, 8000000, 4000000);
}
