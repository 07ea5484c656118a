#include "runs.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/info/info_profile.h"
#include "libconvert/base/machine.h"
#include "libconvert/base/thread_pool.h"
#include "libconvert/compare/matched_name.h"
#include "libconvert/conversion.h"
#include "libconvert/report.h"
#include "readers/input/input_folder.h"

/* ---- Finding. ---- */

static void add_path(struct column *paths, char *path) {
    char **added = path ? column_push(paths) : NULL;
    if (!path) failure_set_memory(paths->failure);
    if (added)
        *added = path;
    else
        free(path);
}

static int is_not_hidden(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void add_files(struct column *paths, const char *folder) {
    struct dirent **entries;
    int count = scandir(folder, &entries, is_not_hidden, alphasort);
    if (count < 0) {
        failure_set(paths->failure, FAILURE_IO, "cannot read the folder %s: %s", folder, strerror(errno));
        return;
    }
    for (int i = 0; i < count; i++) {
        char *path;
        bool has_slash = text_ends_with(text_of(folder), TEXT("/"));
        add_path(paths, asprintf(&path, "%s%s%s", folder, has_slash ? "" : "/", entries[i]->d_name) < 0 ? NULL : path);
        free(entries[i]);
    }
    free(entries);
    if (!count) failure_set(paths->failure, FAILURE_INPUT, "there are no runs in the folder %s", folder);
}

/* Adds the paths of one side. A folder in which perf has recorded is one run. */
static void add_side(struct column *paths, const char *side) {
    struct stat status;
    struct input_folder recording = {0};
    bool is_folder = strcmp(side, "-") != 0 && stat(side, &status) == 0 && S_ISDIR(status.st_mode);
    if (is_folder) input_folder_list(&recording, side, paths->failure);
    if (is_folder && !recording.path_count)
        add_files(paths, side);
    else
        add_path(paths, strdup(side));
    input_folder_fini(&recording);
}

static void find(struct runs *runs) {
    struct column paths;
    column_init(&paths, sizeof(char *), &runs->failure);
    add_side(&paths, runs->paths[0]);
    runs->counts.base = paths.count;
    add_side(&paths, runs->paths[1]);
    runs->counts.head = paths.count - runs->counts.base;
    runs->all = failure_check_memory(&runs->failure, calloc(paths.count + 1, sizeof *runs->all));
    for (size_t i = 0; i < paths.count; i++) {
        char *path = *(char **)column_at(&paths, i);
        if (runs->all)
            runs->all[i].path = path;
        else
            free(path);
    }
    column_fini(&paths);
}

/* ---- Reading. ---- */

/* One run that a thread reads. */
struct reading {
    struct thread_job job;
    struct run *run;
    struct memory_limit *memory;
    struct gecko_convert_options options;
};

/* A profile_visitor. */
static void visit(void *context, const struct profile *profile) {
    struct run *run = context;
    info_fill_from_profile(&run->info, profile);
    run_weights_fill(&run->weights, profile);
}

/* The result is owned. */
static char *describe_missing_names(const struct gecko_convert_result *result) {
    static const double share_min = 0.1;
    struct report_text text = {.bytes_count = 0};
    bool is_much = result->missing_name_count && result->missing_names[0].share >= share_min;
    if (is_much) report_append_missing_name(result, 0, &text);
    return strndup(text.bytes, text.bytes_count);
}

/* A thread_job_run. */
static void read_run(void *context, unsigned helper) {
    struct reading *reading = context;
    struct run *run = reading->run;
    struct conversion_ends ends = {.memory = reading->memory, .replace_writing = visit, .visitor_context = run};
    struct gecko_convert_result result;
    (void)helper;
    conversion_run(&reading->options, &ends, &result, NULL);
    report_take_failure(&run->failure, &result);
    struct report_text losses = {.bytes_count = 0};
    report_append_losses(&result, &losses);
    struct text shown = text_from((struct text){losses.bytes, losses.bytes_count}, strlen("; "));
    run->losses = strndup(shown.bytes, shown.bytes_count);
    run->missing_names = describe_missing_names(&result);
    run->title = strdup(result.input_title);
    if (!run->title || !run->losses || !run->missing_names) failure_set_memory(&run->failure);
    run->lost_count = result.sums[GECKO_CONVERT_SAMPLES].lost;
    gecko_convert_result_fini(&result);
}

static void begin_run(struct run *run, struct runs *runs, unsigned ignored, const struct column *globs) {
    run->failure.memory = &runs->memory;
    info_init(&run->info, 0, &run->failure);
    run_weights_init(&run->weights, ignored, &run->failure);
    for (size_t i = 0; i < globs->count; i++)
        column_add(&run->weights.groups, &(struct run_group){.glob = *(const struct text *)column_at(globs, i)});
}

static void read_all(struct runs *runs, const struct options *options) {
    size_t count = runs_count(runs);
    unsigned job_count = runs->job_count;
    unsigned thread_count = job_count < count ? job_count : (unsigned)count;
    struct reading *readings = calloc(count, sizeof *readings);
    struct thread_pool pool;
    if (!readings) {
        failure_set_memory(&runs->failure);
        return;
    }
    thread_pool_init(&pool, thread_count);
    for (size_t i = 0; i < count; i++) {
        readings[i] = (struct reading){.run = &runs->all[i], .memory = &runs->memory, .options = options->convert};
        readings[i].options.input_path = runs->all[i].path;
        readings[i].options.job_count = job_count / thread_count;
        thread_pool_submit(&pool, &readings[i].job, read_run, &readings[i]);
    }
    for (size_t i = 0; i < count; i++) thread_pool_await(&pool, &readings[i].job);
    thread_pool_fini(&pool);
    free(readings);
}

/* Takes the failure of the first run in the order of the inputs, whichever thread failed first. */
static void take_failure(struct runs *runs) {
    for (size_t i = 0; i < runs_count(runs) && !failure_is_set(&runs->failure); i++) {
        struct memory_limit *memory = runs->failure.memory;
        if (!failure_is_set(&runs->all[i].failure)) continue;
        runs->failure = runs->all[i].failure;
        runs->failure.memory = memory;
        runs->failed_path = runs->all[i].path;
    }
}

/* ---- The measure. ---- */

static bool all_have_cpu(const struct runs *runs) {
    for (size_t i = 0; i < runs_count(runs); i++)
        if (!runs->all[i].info.cpu_unit.bytes_count) return false;
    return true;
}

static bool have_one_cpu_unit(const struct runs *runs) {
    for (size_t i = 0; i < runs_count(runs); i++)
        if (!text_equal(runs->all[i].info.cpu_unit, runs->all[0].info.cpu_unit)) return false;
    return true;
}

static bool any_has_waits(const struct runs *runs) {
    for (size_t i = 0; i < runs_count(runs); i++)
        if (info_is_by_cpu(&runs->all[i].info)) return true;
    return false;
}

/* Returns whether it is not known what time each sample of a run stands for, as in merged runs of different intervals.
 */
static bool any_lacks_interval(const struct runs *runs) {
    for (size_t i = 0; i < runs_count(runs); i++) {
        const struct info *info = &runs->all[i].info;
        if (info->has_times && text_equal(info->weight_unit, TEXT("samples")) && info->interval_ms <= 0) return true;
    }
    return false;
}

/* Returns whether samples of different runs stand for different times. Estimates of the same interval differ by
 * less. */
static bool intervals_differ(const struct runs *runs) {
    static const double RATIO_MAX = 1.1;
    double least_ms = INFINITY, most_ms = 0;
    for (size_t i = 0; i < runs_count(runs); i++) {
        const struct info *info = &runs->all[i].info;
        if (!info->has_times || !text_equal(info->weight_unit, TEXT("samples"))) return false;
        least_ms = fmin(least_ms, info->interval_ms);
        most_ms = fmax(most_ms, info->interval_ms);
    }
    return least_ms > 0 && most_ms > least_ms * RATIO_MAX;
}

static struct text unit_of(const struct run *run, enum measure measure) {
    return measure == MEASURE_CPU ? run->info.cpu_unit : run->info.weight_unit;
}

static void choose_measure(struct runs *runs, enum measure_choice choice) {
    bool knows_cpu = all_have_cpu(runs);
    if (choice == MEASURE_PROCESSOR && !knows_cpu)
        failure_set(&runs->failure, FAILURE_USAGE, "--measure cpu: not all runs know the processor time of samples");
    bool may_choose = choice == MEASURE_AUTO && knows_cpu, differ = may_choose && intervals_differ(runs);
    bool needs_cpu = differ || (may_choose && any_lacks_interval(runs));
    bool takes_cpu = may_choose && (any_has_waits(runs) || (needs_cpu && have_one_cpu_unit(runs)));
    bool is_cpu = choice == MEASURE_PROCESSOR || takes_cpu;
    /* Samples that know the use of a processor stand for time, even if some know it in cycles. */
    bool takes_intervals = differ && !is_cpu;
    runs->measure = is_cpu ? MEASURE_CPU : MEASURE_WEIGHT;
    runs->unit = unit_of(&runs->all[0], runs->measure);
    runs->has_times = true;
    for (size_t i = 0; i < runs_count(runs); i++) {
        struct run *run = &runs->all[i];
        struct text unit = unit_of(run, runs->measure);
        runs->has_times = runs->has_times && run->info.has_times;
        run->unit_factor = takes_intervals ? run->info.interval_ms : 1;
        if (!text_equal(unit, runs->unit))
            failure_set(&runs->failure, FAILURE_USAGE, "%s counts %.*s, and %s counts %.*s: they cannot be compared",
                        report_path_name(runs->all[0].path), TEXT_ARGS(runs->unit), report_path_name(run->path),
                        TEXT_ARGS(unit));
    }
    if (takes_intervals) runs->unit = TEXT("ms");
}

void runs_read(struct runs *runs, const struct options *options, const struct column *globs) {
    *runs = (struct runs){.paths = {options->inputs.values[0], options->inputs.values[1]}};
    runs->job_count = options->convert.job_count ? options->convert.job_count : machine_processor_count();
    memory_limit_init(&runs->memory, options->convert.max_memory_bytes);
    runs->failure.memory = &runs->memory;
    unsigned ignored = ignored_parts_parse(options->ignored, &runs->failure);
    find(runs);
    for (size_t i = 0; runs->all && i < runs_count(runs); i++) begin_run(&runs->all[i], runs, ignored, globs);
    if (failure_is_set(&runs->failure)) return;
    read_all(runs, options);
    take_failure(runs);
    if (!failure_is_set(&runs->failure)) choose_measure(runs, options->measure);
}

void runs_fini(struct runs *runs) {
    for (size_t i = 0; runs->all && i < runs_count(runs); i++) {
        struct run *run = &runs->all[i];
        run_weights_fini(&run->weights);
        info_fini(&run->info);
        free(run->title);
        free(run->losses);
        free(run->missing_names);
        free(run->path);
    }
    free(runs->all);
}
