/* The processed format, which the viewer itself writes and reads. Tables are objects of columns. */
#pragma once

#include "format.h"

/* The version that is written and checked, and those that are read. */
enum { PROCESSED_VERSION = 70, PROCESSED_OLDEST_READ = 47, PROCESSED_NEWEST_READ = 75 };

extern const struct shape processed_profile, processed_meta, processed_lib_shape;
/* The tables that all threads share. */
extern const struct shape processed_shared;
/* Tables of threads, counters and the recording overhead. */
extern const struct shape processed_sample_table, processed_native_allocation_table, processed_marker_table,
    processed_counter_sample_table, processed_overhead_table;
extern const struct shape processed_thread_shape, processed_counter_shape, processed_display_shape;
/* The stack of a marker, in its payload; the row of a tooltip that shows a value; an entry of the information panel. */
extern const struct shape processed_cause_shape, processed_value_row_shape, processed_extra_entry_shape;
