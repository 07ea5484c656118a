/* The Gecko format, which Firefox writes. Tables consist of rows, and each thread has its own tables. */
#pragma once

#include "format.h"

enum { GECKO_VERSION = 36, GECKO_OLDEST_READ = 24 };

/* The client recognises main threads by this name only. */
#define GECKO_MAIN_THREAD_NAME "GeckoMain"

extern const struct shape gecko_profile, gecko_meta, gecko_lib_shape;
/* Tables of threads. */
extern const struct shape gecko_frame_table, gecko_stack_table, gecko_sample_table;
/* Tables of processes. */
extern const struct shape gecko_source_table, gecko_counter_sample_table, gecko_overhead_table;
/* The stack of a marker, in its payload, and its table of one row. */
extern const struct shape gecko_backtrace_shape, gecko_backtrace_table;
