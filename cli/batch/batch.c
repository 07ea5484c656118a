#include "batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "batch_plan.h"
#include "batch_table.h"
#include "batch_threads.h"
#include "batch_work.h"
#include "cli/console.h"
#include "cli/exit_guard.h"
#include "cli/workspace.h"
#include "file_digest.h"
#include "junit.h"
#include "libconvert/base/machine.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/monotonic_clock.h"
#include "manifest.h"
#include "manifest_records.h"
#include "writer/archive_file.h"

struct batch {
    const struct options *options; /* borrowed */
    struct progress_tty *bar;      /* borrowed */
    uint64_t start_ns;
    struct memory_limit memory; /* shared by all conversions of the batch */
    struct failure failure;     /* a failure of the whole batch, not of one input */
    unsigned job_count;
    struct shard shard;

    /* All owned. */
    char *output_folder;
    char *manifest_path;  /* NULL: there is no folder to write a manifest to */
    char *temp_folder;    /* for the temporary files of profiles */
    char *archive_folder; /* for the files that the archive is made from; NULL: no archive is written */
    struct workspace output_workspace;
    struct workspace archive_workspace;

    struct manifest_records *records; /* NULL: there is no earlier report to use */
    const char *unusable_reason;      /* why the records cannot be used; NULL: they can be used */
    struct batch_threads threads;
    struct batch_plan plan;
    struct batch_work *work;
    struct sink_gate gate;
    struct sink_batch sink; /* for profiles */
    struct sink_batch manifest_sink;
    bool keeps_archive; /* the existing archive is already what this batch would write */
    struct batch_outcome outcome;
};

/* ---- Paths and folders. ---- */

static void check_archive_name(struct batch *batch) {
    const char *path = batch->options->output_archive;
    if (path && !archive_file_is_name(path))
        failure_set(
            &batch->failure, FAILURE_USAGE,
            "--output-archive %s: the name determines the kind of archive; it must end in .tar, .tar.gz, .tar.zst, "
            ".tar.xz or .zip",
            path);
}

/* Profiles go into the output folder or, if there is none, into the folder from which the archive is made. Temporary
 * files go into a folder on the same file system, so that a rename can put them in place. */
static void name_paths(struct batch *batch) {
    const struct options *options = batch->options;
    struct failure *failure = &batch->failure;
    if (options->output_archive &&
        asprintf(&batch->archive_folder, "%s.gecko-convert.tmp", options->output_archive) < 0) {
        batch->archive_folder = NULL;
        failure_set_memory(failure);
    }
    if (failure_is_set(failure)) return;
    if (options->output_dir) {
        struct text folder = text_of(options->output_dir);
        struct shard_name manifest = shard_name(MANIFEST_STEM, batch->shard, ".json");
        struct shard_name temp = shard_name(".gecko-convert.tmp", batch->shard, "");
        batch->output_folder = failure_check_memory(failure, strdup(options->output_dir));
        batch->manifest_path = failure_check_memory(failure, batch_join(folder, manifest.bytes));
        batch->temp_folder = failure_check_memory(failure, batch_join(folder, temp.bytes));
    } else {
        batch->output_folder = failure_check_memory(failure, batch_join(text_of(batch->archive_folder), "profiles"));
        batch->temp_folder = failure_check_memory(failure, strdup(batch->archive_folder));
    }
    batch->manifest_sink = (struct sink_batch){.temp_folder = batch->temp_folder};
    batch->sink = (struct sink_batch){.temp_folder = batch->temp_folder, .gate = &batch->gate};
}

/* Call this before any conversion starts, so that no work is lost to an archive that cannot be written. */
static bool can_write_archive(struct batch *batch) {
    const char *path = batch->options->output_archive;
    if (!path || batch->keeps_archive) return true;
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return true;
    failure_set(&batch->failure, FAILURE_IO, "cannot write %s: %s", path, strerror(EISDIR));
    return false;
}

static void open_workspaces(struct batch *batch) {
    if (!can_write_archive(batch)) return;
    if (batch->archive_folder) workspace_init(&batch->archive_workspace, batch->archive_folder, &batch->failure);
    if (batch->options->output_dir && !failure_is_set(&batch->failure))
        workspace_init(&batch->output_workspace, batch->temp_folder, &batch->failure);
}

static const char *records_path(const struct batch *batch) {
    const char *path = batch->options->if_changed;
    return path && !*path ? batch->manifest_path : path;
}

static void create_records(struct batch *batch) {
    if (!failure_is_set(&batch->failure) && records_path(batch))
        batch->records = manifest_records_create(records_path(batch), &batch->failure);
}

/* Returns the records if they can be used, and NULL if not, after reporting why. */
static const struct manifest_records *usable_records(const struct batch *batch) {
    if (!batch->unusable_reason) return batch->records;
    if (!batch->options->is_quiet)
        console_print_message("--if-changed: %s: %s; everything is converted", records_path(batch),
                              batch->unusable_reason);
    return NULL;
}

/* ---- Steps, run in threads. ---- */

static void begin_plan(void *context, unsigned number) {
    (void)number;
    struct batch *batch = context;
    batch_plan_find(&batch->plan);
    if (batch->records) batch->unusable_reason = manifest_records_read(batch->records, batch->options);
}

static void identify_sources(void *context, unsigned number) {
    (void)number;
    batch_plan_identify(context);
}

static void draw_identifying(void *context) {
    struct batch *batch = context;
    progress_tty_draw_bytes(batch->bar, atomic_load(&batch->plan.identified_bytes), batch->plan.total_bytes);
}

static void convert_sources(void *context, unsigned number) { batch_work_run(context, number); }

static void draw_converting(void *context) {
    struct batch *batch = context;
    uint64_t done_bytes, total_bytes;
    batch_work_progress(batch->work, &done_bytes, &total_bytes);
    progress_tty_draw_bytes(batch->bar, done_bytes, total_bytes);
}

/* Runs a step in `count` threads. Returns false if the batch must not continue. */
static bool run(struct batch *batch, unsigned count, batch_threads_work *work, void *context,
                batch_threads_tick *tick) {
    bool have_finished = batch_threads_run(&batch->threads, count, work, context, tick, batch, &batch->failure);
    return have_finished && !batch->threads.ended_by && !failure_is_set(&batch->failure) &&
           !failure_is_set(&batch->plan.failure);
}

static bool has_profile(const struct batch_entry *entry) {
    enum batch_status status = atomic_load(&entry->status);
    return status == BATCH_CONVERTED || status == BATCH_UNCHANGED;
}

/* Returns true if the archive is the one that the previous batch wrote and nothing has changed since. */
static bool is_archive_whole(struct batch *batch) {
    const char *path = batch->options->output_archive;
    size_t unchanged_count = 0, pending_count = 0;
    if (!path || !batch->plan.records) return false;
    for (struct batch_cursor at = {0}; batch_cursor_next(&batch->plan, &at);) {
        unchanged_count += has_profile(at.entry);
        pending_count += atomic_load(&at.entry->status) == BATCH_PENDING;
    }
    return !pending_count && unchanged_count == manifest_records_output_count(batch->plan.records) &&
           manifest_records_have_archive(batch->plan.records, path, &batch->outcome.archive_digest);
}

/* A new archive needs all profiles. Without an output folder, those of the previous batch exist only in its archive, so
 * they must be converted again. */
static bool needs_all_profiles(const struct batch *batch) {
    const struct options *options = batch->options;
    return options->output_archive && !options->output_dir && !batch->keeps_archive;
}

static bool make_plan(struct batch *batch) {
    struct batch_plan *plan = &batch->plan;
    if (!run(batch, 1, begin_plan, batch, NULL)) return false;
    plan->records = usable_records(batch);
    if (!run(batch, batch->job_count, identify_sources, plan, draw_identifying)) return false;
    if (batch_plan_requeue_out_of_memory(plan) && !run(batch, 1, identify_sources, plan, NULL)) return false;
    batch->keeps_archive = is_archive_whole(batch);
    bool is_requeued = needs_all_profiles(batch) && batch_plan_requeue_reused(plan);
    if (is_requeued && !run(batch, batch->job_count, identify_sources, plan, draw_identifying)) return false;
    batch_plan_check(plan);
    return !failure_is_set(&batch->plan.failure);
}

/* ---- The archive of profiles. ---- */

static int compare_outputs(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void collect_outputs(struct batch *batch, struct column *outputs) {
    for (struct batch_cursor at = {0}; batch_cursor_next(&batch->plan, &at);) {
        char **output = has_profile(at.entry) ? column_push(outputs) : NULL;
        if (output) *output = batch_entry_output(at.entry);
    }
    column_sort(outputs, compare_outputs);
}

/* Writes the archive to a temporary file and renames that once it is complete. */
static void put_archive(struct batch *batch, const struct column *outputs) {
    const char *target = batch->options->output_archive;
    char *temp = failure_check_memory(&batch->failure, batch_join(text_of(batch->archive_folder), "archive"));
    if (!temp) return;
    archive_file_write(temp, target, batch->output_folder, outputs, &batch->failure);
    bool is_good = !failure_is_set(&batch->failure) && file_digest(temp, &batch->outcome.archive_digest) &&
                   rename(temp, target) == 0;
    if (is_good)
        batch->outcome.archive_path = target;
    else
        failure_set(&batch->failure, FAILURE_IO, "cannot write %s: %s", target, strerror(errno));
    free(temp);
}

static void write_archive(void *context, unsigned number) {
    (void)number;
    struct batch *batch = context;
    struct column outputs;
    column_init(&outputs, sizeof(char *), &batch->failure);
    collect_outputs(batch, &outputs);
    if (outputs.count && !failure_is_set(&batch->failure)) put_archive(batch, &outputs);
    column_fini(&outputs);
}

static bool finish_archive(struct batch *batch) {
    const char *path = batch->options->output_archive;
    if (path && !batch->keeps_archive) return run(batch, 1, write_archive, batch, NULL);
    batch->outcome.archive_path = path;
    return true;
}

/* ---- Work. ---- */

static bool convert_all(struct batch *batch) {
    batch->work = batch_work_create(&batch->plan, &batch->sink, batch->job_count, &batch->failure);
    progress_tty_restart(batch->bar);
    bool is_empty = batch->work && batch_work_is_empty(batch->work);
    if (!is_empty && !run(batch, batch->job_count, convert_sources, batch->work, draw_converting)) return false;
    if (batch_work_requeue_out_of_memory(batch->work) && !run(batch, 1, convert_sources, batch->work, draw_converting))
        return false;
    batch_work_fail_missing(batch->work);
    return finish_archive(batch);
}

/* ---- Reports. ---- */

typedef void report_writer(struct batch *batch, struct sink *sink, struct failure *failure);

static void write_manifest(struct batch *batch, struct sink *sink, struct failure *failure) {
    manifest_write(&batch->plan, &batch->outcome, sink, failure);
}

static void write_junit(struct batch *batch, struct sink *sink, struct failure *failure) {
    junit_write(&batch->plan, batch->outcome.duration_ns, sink, failure);
}

/* Returns the exit code of writing a report to `path`; EXIT_SUCCESS if `path` is NULL. `place` means the same as for
 * sink_open. */
static int write_report(struct batch *batch, const char *path, const struct sink_batch *place, report_writer *writer) {
    if (!path) return EXIT_SUCCESS;
    struct failure failure = {0};
    struct sink_written written;
    struct sink *sink = sink_open(path, place, 1, &failure);
    if (sink) writer(batch, sink, &failure);
    if (sink_close(sink, &written)) return EXIT_SUCCESS;
    console_print_message("the report: %s", failure.message);
    return (int)failure.code;
}

static int report(struct batch *batch) {
    batch->outcome.duration_ns = monotonic_now_ns() - batch->start_ns;
    batch->outcome.ended_by = batch->threads.ended_by;
    progress_tty_clear(batch->bar);
    batch_table_print(&batch->plan, batch->outcome.duration_ns, batch->options->is_quiet);
    /* If a signal arrived before the workspace was opened, there is no folder to write the manifest to. */
    const char *manifest_path = batch->output_workspace.path ? batch->manifest_path : NULL;
    int codes[] = {write_report(batch, manifest_path, &batch->manifest_sink, write_manifest),
                   write_report(batch, batch->options->report_path, NULL, write_manifest),
                   write_report(batch, batch->options->junit_path, NULL, write_junit)};
    return codes[0] ? codes[0] : codes[1] ? codes[1] : codes[2];
}

/* An invalid input determines the exit code, whatever else happened. A profile refused because of --strict determines
 * it only if nothing else failed. */
static int exit_code_of(struct batch *batch, int report_code) {
    bool is_lossy = false;
    for (struct batch_cursor at = {0}; batch_cursor_next(&batch->plan, &at);) {
        if (atomic_load(&at.entry->status) != BATCH_FAILED) continue;
        if (batch_entry_outcome(at.entry) != GECKO_CONVERT_LOST) return FAILURE_INPUT;
        is_lossy = true;
    }
    if (failure_is_set(&batch->failure)) return (int)batch->failure.code;
    return report_code ? report_code : is_lossy ? FAILURE_STRICT : EXIT_SUCCESS;
}

/* ---- The batch. ---- */

static void remove_workspaces(void *context) {
    struct batch *batch = context;
    workspace_remove(&batch->output_workspace);
    workspace_remove(&batch->archive_workspace);
}

/* Threads may still be running, so this frees nothing. The closed gate keeps their unfinished profiles from appearing,
 * and without the folders they cannot create files. */
static void end_by_signal(struct batch *batch) {
    sink_gate_close(&batch->gate);
    report(batch);
    remove_workspaces(batch);
    int signal_number = batch->threads.ended_by;
    signal(signal_number, SIG_DFL);
    batch_threads_fini(&batch->threads);
    raise(signal_number);
}

static int run_batch(struct batch *batch) {
    bool has_plan = !failure_is_set(&batch->failure) && make_plan(batch);
    if (has_plan) open_workspaces(batch);
    bool is_ready = has_plan && !failure_is_set(&batch->failure);
    if (is_ready) convert_all(batch);
    if (batch->threads.ended_by) end_by_signal(batch);
    if (!failure_is_set(&batch->failure)) batch->failure = batch->plan.failure;
    if (!is_ready) {
        progress_tty_clear(batch->bar);
        console_print_message("%s", batch->failure.message);
        return (int)batch->failure.code;
    }
    int report_code = report(batch);
    if (failure_is_set(&batch->failure)) console_print_message("%s", batch->failure.message);
    return exit_code_of(batch, report_code);
}

int batch_run(const struct options *options, struct progress_tty *bar) {
    struct batch batch = {.options = options, .bar = bar, .start_ns = monotonic_now_ns(), .gate = SINK_GATE};
    batch.job_count = options->convert.job_count ? options->convert.job_count : machine_processor_count();
    memory_limit_init(&batch.memory, options->convert.max_memory_bytes);
    batch.failure.memory = &batch.memory;
    batch_threads_init(&batch.threads, &batch.failure);
    batch.shard = shard_parse(options->shard, &batch.failure);
    check_archive_name(&batch);
    name_paths(&batch);
    create_records(&batch);
    batch_plan_init(&batch.plan, options, batch.output_folder, &batch.threads.is_stopping, &batch.memory);
    const char *const own_paths[] = {batch.manifest_path,    batch.temp_folder,    batch.archive_folder,
                                     options->output_dir,    options->report_path, options->junit_path,
                                     options->output_archive};
    batch.plan.shard = batch.shard;
    batch.plan.own_paths = own_paths;
    batch.plan.own_path_count = sizeof own_paths / sizeof *own_paths;
    exit_guard_set_clean_up(remove_workspaces, &batch);
    int exit_code = run_batch(&batch);
    exit_guard_set_clean_up(NULL, NULL);
    batch_work_destroy(batch.work);
    batch_plan_fini(&batch.plan);
    manifest_records_destroy(batch.records);
    workspace_fini(&batch.output_workspace);
    workspace_fini(&batch.archive_workspace);
    batch_threads_fini(&batch.threads);
    free(batch.output_folder);
    free(batch.manifest_path);
    free(batch.temp_folder);
    free(batch.archive_folder);
    return exit_code;
}
