readers_sources := \
    readers/code/code_libraries.c readers/code/code_maps.c readers/code/code_spaces.c readers/code/jit_code.c \
    readers/code/jit_records.c readers/code/kernel_file.c readers/code/kernel_list.c readers/code/kernel_symbols.c readers/code/script_frames.c \
    readers/code/script_names.c readers/code/system_code.c readers/code/embedded_symbols.c \
    readers/collapsed/collapsed.c readers/collapsed/collapsed_blocks.c readers/collapsed/collapsed_dialect.c readers/collapsed/collapsed_line.c \
    readers/collapsed/collapsed_stacks.c readers/collapsed/collapsed_threads.c readers/collapsed/collapsed_unit.c \
    readers/filter.c readers/filter_profile.c readers/input/foreign.c readers/input/input.c readers/input/input_archive.c readers/input/input_decoder.c \
    readers/input/input_file.c readers/input/input_folder.c readers/input/input_gzip.c readers/input/input_json_slabs.c readers/input/input_lone_file.c \
    readers/input/input_log.c readers/input/input_members.c readers/input/input_pages.c readers/input/input_utf16.c readers/input/input_wrapper.c readers/input/input_xz.c \
    readers/input/pprof_shape.c readers/input/scan.c \
    readers/perf/perf_activity.c readers/perf/perf_addresses.c readers/perf/perf_callers.c \
    readers/perf/perf_deferred.c readers/perf/perf_events.c readers/perf/perf_filter.c \
    readers/perf/perf_header.c readers/perf/perf_layout.c readers/perf/perf_memory.c readers/perf/perf_occurrences.c \
    readers/perf/perf_off_cpu.c readers/perf/perf_pairs.c readers/perf/perf_payloads.c \
    readers/perf/perf_places.c readers/perf/perf_print_rule.c readers/perf/perf_programs.c \
    readers/perf/perf_recording.c readers/perf/perf_records.c readers/perf/perf_roles.c \
    readers/perf/perf_samples.c readers/perf/perf_finish.c \
    readers/perf/perf_sources.c readers/perf/perf_spans.c readers/perf/perf_stack.c readers/perf/perf_switches.c \
    readers/perf/perf_symbols.c readers/perf/perf_tallies.c readers/perf/perf_tasks.c readers/perf/perf_text_payload.c \
    readers/perf/perf_tracing.c readers/perf/perf_unwind.c readers/perf/perf_waits.c readers/perf/perf_wakeups.c \
    readers/perf_data/data_attr.c readers/perf_data/data_features.c readers/perf_data/data_file.c \
    readers/perf_data/data_order.c readers/perf_data/data_reader.c \
    readers/perf_data/data_records.c readers/perf_data/data_sample.c readers/perf_data/data_samples.c \
    readers/perf_data/data_simpleperf.c readers/perf_data/data_stream.c \
    readers/perf_script/script_ahead.c readers/perf_script/script_event_line.c \
    readers/perf_script/script_fields.c readers/perf_script/script_frame_line.c readers/perf_script/script_lines.c readers/perf_script/script_parser.c \
    readers/perf_script/script_reader.c readers/perf_script/script_records.c readers/perf_script/script_wrap.c \
    readers/json/json_stream.c \
    readers/profile/saved_built_in.c readers/profile/saved_counters.c readers/profile/saved_gecko.c \
    readers/profile/saved_markers.c readers/profile/saved_meta.c readers/profile/saved_parts.c \
    readers/profile/saved_reader.c readers/profile/saved_shared.c readers/profile/saved_tables.c readers/profile/saved_threads.c \
    readers/registry.c \
    readers/trace/trace_blocks.c readers/trace/trace_chunks.c readers/trace/trace_clock.c readers/trace/trace_code.c \
    readers/trace/trace_counters.c readers/trace/trace_cursor.c readers/trace/trace_definitions.c \
    readers/trace/trace_events.c readers/trace/trace_fates.c \
    readers/trace/trace_ledger.c readers/trace/trace_log.c readers/trace/trace_marker_type.c \
    readers/trace/trace_payload.c readers/trace/trace_reader.c \
    readers/trace/trace_stack.c readers/trace/trace_tasks.c \
    readers/unwind/unwind_expression.c readers/unwind/unwind_extract.c readers/unwind/unwind_file.c \
    readers/unwind/unwind_registers.c readers/unwind/unwinder.c

# The interpreter of call frame information, which the recorder uses as well.
readers_sources += recorder/unwind/unwind_cfi.c recorder/unwind/unwind_program.c recorder/unwind/unwind_rule.c

# JSON documents in memory, which only the program needs.
json_reader_sources := readers/json/column_view.c readers/json/document.c
