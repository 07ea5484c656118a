#include "batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "batch_convert.h"
#include "batch_plan.h"
#include "batch_table.h"
#include "cli/console.h"
#include "cli/exit_guard.h"
#include "crew.h"
#include "file_digest.h"
#include "junit.h"
#include "libconvert/memory.h"
#include "manifest.h"
#include "manifest_records.h"
#include "workspace.h"
#include "writer/archive_file.h"

struct batch {
    const struct options *options; /* borrowed */
    struct progress_tty *bar;      /* borrowed */
    uint64_t start_ns;
    struct memory_limit memory; /* of all that runs at a time */
    struct failure failure;     /* of the batch as a whole, not of an input */
    unsigned job_count;

    /* All owned. */
    char *output_folder;
    char *manifest_path;  /* NULL: there is no folder to leave one in */
    char *temp_folder;    /* of the temporary files of profiles */
    char *archive_folder; /* of what the archive is made of; NULL: none is */
    struct workspace output_workspace;
    struct workspace archive_workspace;

    struct manifest_records *records; /* NULL: there are none */
    struct crew crew;
    struct batch_plan plan;
    struct batch_work *work;
    struct sink_gate gate;
    struct sink_batch sink; /* of profiles */
    struct sink_batch manifest_sink;
    bool is_kept; /* the archive that is there is the one that would be written */
    struct batch_outcome outcome;
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static char *need(struct batch *batch, char *text) {
    if (!text) failure_set_memory(&batch->failure);
    return text;
}

/* ---- Places. ---- */

static bool has_archive_suffix(const char *path) {
    for (size_t i = 0; archive_file_suffix(i); i++)
        if (text_ends_with(text_of(path), text_of(archive_file_suffix(i)))) return true;
    return false;
}

static void check_archive_name(struct batch *batch) {
    const char *path = batch->options->output_archive;
    if (path && !has_archive_suffix(path))
        failure_set(&batch->failure, FAILURE_USAGE,
                    "--output-archive %s: the name tells the kind of the archive; it ends in .tar, .tar.gz, .tar.zst, "
                    ".tar.xz or .zip",
                    path);
}

/* Profiles go into the output folder, or to where the archive is made of them; their temporary files into a folder on
 * the same file system. */
static void name_places(struct batch *batch) {
    const struct options *options = batch->options;
    if (options->output_archive &&
        asprintf(&batch->archive_folder, "%s.gecko-convert.tmp", options->output_archive) < 0)
        batch->archive_folder = need(batch, NULL);
    if (failure_is_set(&batch->failure)) return;
    if (options->output_dir) {
        struct text folder = text_of(options->output_dir);
        batch->output_folder = need(batch, strdup(options->output_dir));
        batch->manifest_path = need(batch, batch_join(folder, MANIFEST_NAME));
        batch->temp_folder = need(batch, batch_join(folder, ".gecko-convert.tmp"));
    } else {
        batch->output_folder = need(batch, batch_join(text_of(batch->archive_folder), "profiles"));
        batch->temp_folder = need(batch, strdup(batch->archive_folder));
    }
    batch->manifest_sink = (struct sink_batch){.temp_folder = batch->temp_folder};
    batch->sink = (struct sink_batch){.temp_folder = batch->temp_folder, .gate = &batch->gate};
}

/* What would keep the archive from being written is known before anything else is. */
static bool can_write_archive(struct batch *batch) {
    const char *path = batch->options->output_archive;
    if (!path || batch->is_kept) return true;
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return archive_file_load(path, &batch->failure);
    failure_set(&batch->failure, FAILURE_IO, "cannot write %s: %s", path, strerror(EISDIR));
    return false;
}

static void open_places(struct batch *batch) {
    if (!can_write_archive(batch)) return;
    if (batch->archive_folder) workspace_init(&batch->archive_workspace, batch->archive_folder, &batch->failure);
    if (batch->options->output_dir && !failure_is_set(&batch->failure))
        workspace_init(&batch->output_workspace, batch->temp_folder, &batch->failure);
}

static const char *records_path(const struct batch *batch) {
    const char *path = batch->options->if_changed;
    return path && !*path ? batch->manifest_path : path;
}

static void open_records(struct batch *batch) {
    if (!failure_is_set(&batch->failure) && records_path(batch))
        batch->records = manifest_records_open(records_path(batch), &batch->failure);
}

/* Those of the plan, if they are of use. */
static const struct manifest_records *finish_records(const struct batch *batch) {
    const char *reason = batch->records ? manifest_records_finish(batch->records, batch->options) : NULL;
    if (!reason) return batch->records;
    char message[1024];
    snprintf(message, sizeof message, "--if-changed: %s: %s; everything is converted", records_path(batch), reason);
    if (!batch->options->is_quiet) console_print_message(message);
    return NULL;
}

/* ---- Steps, in threads. ---- */

/* One finds the sources; it and all others read what an earlier batch did. */
static void begin_plan(void *context, unsigned number) {
    struct batch *batch = context;
    if (number == 0) batch_plan_find(&batch->plan);
    if (batch->records) manifest_records_parse(batch->records);
}

static void look_at_sources(void *context, unsigned number) {
    (void)number;
    batch_plan_look(context);
}

static void draw_looking(void *context) {
    struct batch *batch = context;
    progress_tty_draw_bytes(batch->bar, atomic_load(&batch->plan.looked_bytes), batch->plan.total_bytes);
}

static void convert_sources(void *context, unsigned number) { batch_work_run(context, number); }

static void draw_converting(void *context) {
    struct batch *batch = context;
    uint64_t done_bytes, total_bytes;
    batch_work_progress(batch->work, &done_bytes, &total_bytes);
    progress_tty_draw_bytes(batch->bar, done_bytes, total_bytes);
}

/* False when the batch is not to go on. */
static bool run(struct batch *batch, unsigned count, crew_work *work, void *context, crew_tick *tick) {
    bool have_ended = crew_run(&batch->crew, count, work, context, tick, batch, &batch->failure);
    return have_ended && !batch->crew.ended_by && !failure_is_set(&batch->failure) &&
           !failure_is_set(&batch->plan.failure);
}

static bool has_profile(const struct batch_entry *entry) {
    enum batch_status status = atomic_load(&entry->status);
    return status == BATCH_CONVERTED || status == BATCH_UNCHANGED;
}

/* The archive that is there is the one of the batch before, and nothing has changed since. */
static bool is_archive_whole(struct batch *batch) {
    const char *path = batch->options->output_archive;
    size_t unchanged_count = 0, pending_count = 0;
    if (!path || !batch->plan.records) return false;
    for (size_t i = 0; i < batch->plan.sources.count; i++) {
        struct batch_source *source = batch_source_at(&batch->plan, i);
        const struct batch_entry *entry;
        for (size_t j = 0; (entry = batch_entry_at(source, j)); j++) {
            unchanged_count += has_profile(entry);
            pending_count += atomic_load(&entry->status) == BATCH_PENDING;
        }
    }
    return !pending_count && unchanged_count == manifest_records_output_count(batch->plan.records) &&
           manifest_records_have_archive(batch->plan.records, path, &batch->outcome.archive_digest);
}

/* For a new archive all profiles are needed. Those of the batch before are nowhere but in a folder, if there is one. */
static bool needs_all_profiles(const struct batch *batch) {
    const struct options *options = batch->options;
    return options->output_archive && !options->output_dir && !batch->is_kept;
}

static bool make_plan(struct batch *batch) {
    struct batch_plan *plan = &batch->plan;
    size_t count = 1 + (batch->records ? manifest_records_part_count(batch->records) : 0);
    if (count > batch->job_count) count = batch->job_count;
    if (!run(batch, (unsigned)count, begin_plan, batch, NULL)) return false;
    plan->records = finish_records(batch);
    if (!run(batch, batch->job_count, look_at_sources, plan, draw_looking)) return false;
    if (batch_plan_look_again(plan) && !run(batch, 1, look_at_sources, plan, NULL)) return false;
    batch->is_kept = is_archive_whole(batch);
    bool is_anew = needs_all_profiles(batch) && batch_plan_look_anew(plan);
    if (is_anew && !run(batch, batch->job_count, look_at_sources, plan, draw_looking)) return false;
    batch_plan_check(plan);
    return !failure_is_set(&batch->plan.failure);
}

/* ---- The archive of profiles. ---- */

static int compare_outputs(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void pack_profiles(struct batch *batch, struct archive_file *archive, const struct column *outputs) {
    for (size_t i = 0; i < outputs->count && !failure_is_set(&batch->failure); i++) {
        char *const *output = column_at(outputs, i);
        char *path = need(batch, batch_output_path(&batch->plan, *output));
        if (path) archive_file_add(archive, *output, path);
        free(path);
        if (atomic_load(&batch->crew.is_stopping)) failure_set(&batch->failure, FAILURE_IO, "interrupted");
    }
}

static void collect_outputs(struct batch *batch, struct column *outputs) {
    for (size_t i = 0; i < batch->plan.sources.count; i++) {
        struct batch_source *source = batch_source_at(&batch->plan, i);
        struct batch_entry *entry;
        for (size_t j = 0; (entry = batch_entry_at(source, j)); j++) {
            char **output = has_profile(entry) ? column_push(outputs) : NULL;
            if (output) *output = batch_entry_output(entry);
        }
    }
    column_sort(outputs, compare_outputs);
}

/* Written beside its place, and put there when it is whole. */
static void put_archive(struct batch *batch, const struct column *outputs) {
    const char *target = batch->options->output_archive;
    char *temp = need(batch, batch_join(text_of(batch->archive_folder), "archive"));
    if (!temp) return;
    struct archive_file *archive = archive_file_create(temp, target, &batch->failure);
    if (archive) pack_profiles(batch, archive, outputs);
    archive_file_close(archive);
    bool is_good = !failure_is_set(&batch->failure) && file_digest(temp, &batch->outcome.archive_digest, NULL, 0) &&
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
    if (path && !batch->is_kept) return run(batch, 1, write_archive, batch, NULL);
    batch->outcome.archive_path = path;
    return true;
}

/* ---- Work. ---- */

static bool convert_all(struct batch *batch) {
    batch->work = batch_work_create(&batch->plan, &batch->sink, batch->job_count, &batch->failure);
    progress_tty_restart(batch->bar);
    bool is_empty = batch->work && batch_work_is_empty(batch->work);
    if (!is_empty && !run(batch, batch->job_count, convert_sources, batch->work, draw_converting)) return false;
    if (batch_work_again(batch->work) && !run(batch, 1, convert_sources, batch->work, draw_converting)) return false;
    batch_work_settle(batch->work);
    return finish_archive(batch);
}

/* ---- Reports. ---- */

typedef void report_writer(struct batch *batch, struct sink *sink, struct failure *failure);

static void write_manifest(struct batch *batch, struct sink *sink, struct failure *failure) {
    manifest_write(&batch->plan, &batch->outcome, batch->job_count, sink, failure);
}

static void write_junit(struct batch *batch, struct sink *sink, struct failure *failure) {
    junit_write(&batch->plan, batch->outcome.duration_ns, sink, failure);
}

/* The exit code of writing it; good for no path. `place` as sink_open has it. */
static int write_report(struct batch *batch, const char *path, const struct sink_batch *place, report_writer *writer) {
    if (!path) return EXIT_SUCCESS;
    struct failure failure = {0};
    struct sink_written written;
    struct sink *sink = sink_open(path, place, &failure);
    if (sink) writer(batch, sink, &failure);
    if (sink_close(sink, &written)) return EXIT_SUCCESS;
    char message[sizeof failure.message + 32];
    snprintf(message, sizeof message, "the report: %s", failure.message);
    console_print_message(message);
    return (int)failure.code;
}

static int report(struct batch *batch) {
    batch->outcome.duration_ns = now_ns() - batch->start_ns;
    batch->outcome.ended_by = batch->crew.ended_by;
    progress_tty_clear(batch->bar);
    batch_table_print(&batch->plan, batch->outcome.duration_ns, batch->options->is_quiet);
    /* A signal may have come before there was a place for temporary files, and then there is nothing to tell there. */
    const char *manifest_path = batch->output_workspace.path ? batch->manifest_path : NULL;
    int codes[] = {write_report(batch, manifest_path, &batch->manifest_sink, write_manifest),
                   write_report(batch, batch->options->report_path, NULL, write_manifest),
                   write_report(batch, batch->options->junit_path, NULL, write_junit)};
    return codes[0] ? codes[0] : codes[1] ? codes[1] : codes[2];
}

/* One bad input is the answer, whatever else has happened; one that a strict batch refuses only if nothing else has. */
static int exit_code_of(struct batch *batch, int report_code) {
    bool is_lossy = false;
    for (size_t i = 0; i < batch->plan.sources.count; i++) {
        struct batch_source *source = batch_source_at(&batch->plan, i);
        const struct batch_entry *entry;
        for (size_t j = 0; (entry = batch_entry_at(source, j)); j++) {
            if (atomic_load(&entry->status) != BATCH_FAILED) continue;
            if (batch_entry_outcome(entry) != GECKO_CONVERT_LOST) return FAILURE_INPUT;
            is_lossy = true;
        }
    }
    if (failure_is_set(&batch->failure)) return (int)batch->failure.code;
    return report_code ? report_code : is_lossy ? FAILURE_STRICT : EXIT_SUCCESS;
}

/* ---- Ends. ---- */

static void remove_workspaces(void *context) {
    struct batch *batch = context;
    workspace_remove(&batch->output_workspace);
    workspace_remove(&batch->archive_workspace);
}

/* Threads may still be at work, so nothing is freed. Nothing that they finish now appears, and without the folders they
 * create nothing more. */
static void end_by_signal(struct batch *batch) {
    sink_gate_close(&batch->gate);
    report(batch);
    remove_workspaces(batch);
    int signal_number = batch->crew.ended_by;
    signal(signal_number, SIG_DFL);
    crew_fini(&batch->crew);
    raise(signal_number);
}

static int run_batch(struct batch *batch) {
    bool has_plan = !failure_is_set(&batch->failure) && make_plan(batch);
    if (has_plan) open_places(batch);
    bool is_ready = has_plan && !failure_is_set(&batch->failure);
    if (is_ready) convert_all(batch);
    if (batch->crew.ended_by) end_by_signal(batch);
    if (!failure_is_set(&batch->failure)) batch->failure = batch->plan.failure;
    if (!is_ready) {
        progress_tty_clear(batch->bar);
        console_print_message(batch->failure.message);
        return (int)batch->failure.code;
    }
    int report_code = report(batch);
    if (failure_is_set(&batch->failure)) console_print_message(batch->failure.message);
    return exit_code_of(batch, report_code);
}

int batch_run(const struct options *options, struct progress_tty *bar) {
    struct batch batch = {.options = options, .bar = bar, .start_ns = now_ns(), .gate = SINK_GATE};
    batch.job_count = options->job_count ? options->job_count : crew_size_of_machine();
    memory_limit_init(&batch.memory, options->convert.max_memory_bytes);
    batch.failure.memory = &batch.memory;
    crew_init(&batch.crew, &batch.failure);
    check_archive_name(&batch);
    name_places(&batch);
    open_records(&batch);
    batch_plan_init(&batch.plan, options, batch.output_folder, &batch.crew.is_stopping, &batch.memory);
    const char *const own_paths[] = {batch.manifest_path,    batch.temp_folder,    batch.archive_folder,
                                     options->output_dir,    options->report_path, options->junit_path,
                                     options->output_archive};
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
    crew_fini(&batch.crew);
    free(batch.output_folder);
    free(batch.manifest_path);
    free(batch.temp_folder);
    free(batch.archive_folder);
    return exit_code;
}
