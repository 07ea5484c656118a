cli_sources := \
    cli/arguments.c cli/bus_guard.c cli/command.c cli/console.c cli/convert_command.c cli/ending_signals.c cli/exit_guard.c \
    cli/options.c cli/output_name.c cli/progress_tty.c cli/several_inputs.c cli/style.c cli/workspace.c cli/xml.c \
    cli/batch/batch.c cli/batch/batch_entry.c cli/batch/batch_plan.c cli/batch/batch_plan_shard.c cli/batch/batch_plan_find.c \
    cli/batch/batch_plan_identify.c cli/batch/batch_table.c cli/batch/batch_threads.c \
    cli/batch/batch_work.c cli/batch/file_digest.c cli/batch/junit.c cli/batch/manifest.c cli/batch/manifest_records.c cli/batch/member_path.c \
    cli/batch/merge_manifests_command.c cli/batch/shard.c cli/batch/manifest_file.c \
    cli/split/split.c cli/check/check.c cli/check/check_command.c cli/check/check_common.c cli/check/check_gecko.c \
    cli/check/check_markers.c cli/check/check_processed.c cli/check/check_rules.c cli/check/violations.c \
    cli/diff/comparison.c cli/diff/diff_command.c cli/diff/diff_json.c cli/diff/diff_text.c \
    cli/diff/difference.c cli/diff/gate.c cli/diff/limit.c cli/diff/numbers.c cli/diff/runs.c \
    cli/info/info.c cli/info/info_command.c cli/info/info_json.c cli/info/info_profile.c \
    cli/info/info_text.c \
    cli/record/kept_maps.c cli/record/record_command.c cli/record/record_file.c cli/record/record_profile.c \
    cli/record/record_program.c cli/record/record_run.c cli/record/record_signals.c cli/record/record_targets.c \
    cli/record/record_messages.c cli/record/recorder_traces.c cli/record/started_program.c \
    cli/record/kernel/event_names.c cli/record/kernel/kernel_events.c cli/record/kernel/kernel_recording.c \
    cli/record/kernel/kernel_rings.c cli/record/kernel/kernel_stream.c cli/record/kernel/proc_tasks.c \
    cli/record/kernel/tracing_formats.c

# The command view. The static program does without it, because Debian lacks static libraries that libmicrohttpd needs.
view_sources := \
    cli/view/asm_api.c cli/view/browser.c cli/view/disassembly.c cli/view/http_server.c \
    cli/view/native_library.c cli/view/native_service.c cli/view/page_address.c cli/view/profile_archive.c \
    cli/view/profile_loading.c cli/view/served_profile.c cli/view/site.c \
    cli/view/source_api.c cli/view/symbolicate_api.c cli/view/view_command.c cli/view/view_libraries.c cli/view/viewer_folder.c
view_absent_source := cli/view/view_absent.c
cli_sources += $(view_sources)

# Tests link with all other sources, and have a main of their own.
main_source := cli/main.c
