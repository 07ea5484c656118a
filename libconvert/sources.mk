libconvert_sources := \
    libconvert/base/arena.c libconvert/base/child_process.c libconvert/base/column.c libconvert/base/cursor.c \
    libconvert/base/decimal.c libconvert/base/failure.c libconvert/base/file_stamp.c libconvert/base/glob.c libconvert/base/index_set.c \
    libconvert/base/json_put.c \
    libconvert/base/machine.c libconvert/base/memory.c libconvert/base/path.c libconvert/base/printable.c \
    libconvert/base/progress.c libconvert/base/regular_file.c libconvert/base/row_table.c \
    libconvert/base/strings.c libconvert/base/thread_pool.c libconvert/base/utf8.c libconvert/base/utf8_locale.c libconvert/base/value_table.c \
    libconvert/conversion.c libconvert/embed_sources.c libconvert/file_identity.c libconvert/fit_size.c libconvert/gecko_convert.c \
    libconvert/input_loader.c libconvert/options_check.c libconvert/parallel_loader.c libconvert/product_name.c \
    libconvert/report.c libconvert/result.c libconvert/source_names.c libconvert/source_rules.c libconvert/source_search.c \
    libconvert/format/common_format.c libconvert/format/counter_display.c libconvert/format/gecko_format.c \
    libconvert/format/gecko_location.c libconvert/format/processed_format.c \
    libconvert/merge/merge.c libconvert/merge/merge_meta.c libconvert/merge/merge_rows.c \
    libconvert/merge/merge_layout.c libconvert/merge/merge_runs.c libconvert/merge/merge_samples.c \
    libconvert/merge/merge_tables.c libconvert/merge/merge_tasks.c libconvert/merge/merge_timeline.c \
    libconvert/profile/categories.c libconvert/profile/counter.c libconvert/profile/cut_stacks.c libconvert/profile/launchers.c \
    libconvert/profile/ledger.c libconvert/profile/libs.c libconvert/profile/marker_label.c libconvert/profile/markers.c libconvert/profile/profile.c libconvert/profile/nameless.c \
    libconvert/profile/profile_allocations.c libconvert/profile/profile_finish.c \
    libconvert/profile/profile_markers.c libconvert/profile/profile_samples.c \
    libconvert/profile/profile_threads.c libconvert/profile/profile_times.c libconvert/profile/reserved_types.c libconvert/profile/row_references.c libconvert/profile/runtimes.c \
    libconvert/profile/drawn_waits.c libconvert/profile/rooted_waits.c libconvert/profile/stack_path.c libconvert/profile/stack_rebuild.c libconvert/profile/stack_table.c libconvert/profile/sweep.c \
    libconvert/profile/thin.c libconvert/profile/threads.c libconvert/profile/time_range.c \
    libconvert/profile/totals.c libconvert/profile/weighed_sample.c \
    libconvert/symbols/address_ranges.c libconvert/symbols/debug_data.c libconvert/symbols/debug_file.c \
    libconvert/symbols/debug_file_search.c libconvert/symbols/debug_server.c libconvert/symbols/dwarf_names.c libconvert/symbols/dwarf_session.c \
    libconvert/symbols/function_ranges.c libconvert/symbols/go_functions.c libconvert/symbols/kept_files.c libconvert/symbols/library_symbols.c \
    libconvert/symbols/symbol_answers.c libconvert/symbols/symbol_answers_apply.c \
    libconvert/symbols/symbol_lines.c libconvert/symbols/symbol_names.c \
    libconvert/symbols/symbol_stubs.c libconvert/symbols/symbol_table.c libconvert/symbols/symbol_worker.c \
    libconvert/symbols/symbolize.c libconvert/symbols/sysroot.c \
    libconvert/tracks/crowd_moves.c libconvert/tracks/crowd_times.c libconvert/tracks/crowds.c libconvert/tracks/lanes.c \
    libconvert/tracks/process_labels.c libconvert/tracks/processor_tracks.c libconvert/tracks/task_markers.c

# Only the program compares runs.
compare_sources := libconvert/compare/estimate.c libconvert/compare/matched_name.c libconvert/compare/run_weights.c
