#include "comparison.h"

#include <math.h>

#include "libconvert/base/id_column.h"
#include "libconvert/report.h"

static const double MS_PER_S = 1000, PERCENT = 100;

/* The confidence of the intervals of all rows together, and of a limit. At most 5 in 100 tables may list a change that
 * is only noise, so the goal for tables is stricter. */
static const double TABLE_CONFIDENCE = 0.98, LIMIT_CONFIDENCE = 0.95;

struct row_key {
    uint32_t kind;
    string_id name;
    string_id library;
    string_id file;
};

/* ---- Amounts. ---- */

static struct run *run_at(const struct comparison *comparison, size_t number) { return &comparison->runs->all[number]; }

/* Returns NULL if the run has no marker of that name. */
static const struct info_marker *find_marker(const struct run *run, struct text name) {
    COLUMN_EACH(const struct info_marker, marker, &run->info.markers)
        if (text_equal(marker->name, name)) return marker;
    return NULL;
}

/* Returns what amounts of the run are multiplied by. Only weights can have PER_SHARE. */
static double scale_of(const struct comparison *comparison, const struct run *run, enum per_kind per) {
    double weight = run->weights.all[comparison->runs->measure].sums.self;
    switch (per) {
        case PER_SHARE: return weight != 0 ? 1 / weight : 0;
        case PER_SECOND: return MS_PER_S / run->info.duration_ms;
        case PER_MARKER: return 1 / (double)find_marker(run, comparison->marker)->count;
        case PER_RUN: break;
    }
    return 1;
}

/* Returns the factor for weights of the run. */
static double weight_scale_of(const struct comparison *comparison, const struct run *run, enum per_kind per) {
    return scale_of(comparison, run, per) * (per == PER_SHARE ? 1 : run->unit_factor);
}

static enum per_kind per_of_amount(const struct comparison *comparison) {
    return comparison->per == PER_SHARE ? PER_RUN : comparison->per;
}

/* Returns the variance of a weight that is due to sampling. If all samples weigh 1, and a share p of n samples is in
 * the function, this is n p (1 - p). If the noise between runs is unknown, the variance is at least that of one sample,
 * even for a function that is in all samples: one sample more or less depends on when the first one was taken. */
static double binomial_variance(const struct comparison *comparison, double weight, double variance,
                                const struct weights *all) {
    bool knows_noise = estimate_knows_noise(comparison->runs->counts);
    double share = all->sums.self != 0 ? weight / all->sums.self : 0;
    double one_sample = weight != 0 && !knows_noise ? variance / weight : 0;
    return fmax(one_sample * one_sample, variance - 2 * share * variance + share * share * all->variances.self);
}

/* ---- Rows. ---- */

static size_t run_count(const struct comparison *comparison) { return runs_count(comparison->runs); }

/* Returns zeros, one for each run; NULL if memory ran out (latched). */
static double *new_values(struct comparison *comparison) {
    return arena_take_aligned(&comparison->memory, run_count(comparison) * sizeof(double));
}

/* Returns the row, which is added if it is new; NULL if memory ran out (latched). */
static struct comparison_row *row_of(struct comparison *comparison, enum row_kind kind, struct text name,
                                     struct text library, struct text file) {
    struct strings *texts = &comparison->texts;
    struct row_key key = {kind, strings_intern(texts, name), strings_intern(texts, library),
                          strings_intern(texts, file)};
    uint32_t number = row_table_intern(&comparison->keys, &key);
    if (number < comparison->rows.count) return column_at(&comparison->rows, number);
    struct comparison_row *row = failure_is_set(comparison->failure) ? NULL : column_push(&comparison->rows);
    if (row)
        *row = (struct comparison_row){.kind = kind,
                                       .name = strings_text(texts, key.name),
                                       .library = strings_text(texts, key.library),
                                       .file = strings_text(texts, key.file)};
    return row;
}

/* Adds to the value of a run; a value that was never added to is 0. */
static void add_value(struct comparison *comparison, struct cell *cell, size_t run, double value) {
    if (!cell->values) cell->values = new_values(comparison);
    if (cell->values) cell->values[run] += value;
}

static void add_weight(struct comparison *comparison, struct cell *cell, size_t run, double value, double variance) {
    add_value(comparison, cell, run, value);
    if (!cell->variances) cell->variances = new_values(comparison);
    if (cell->variances) cell->variances[run] += variance;
}

static void add_functions(struct comparison *comparison, size_t number) {
    const struct run_weights *run = &run_at(comparison, number)->weights;
    enum measure measure = comparison->runs->measure;
    const struct weights *all = &run->all[measure];
    double scale = weight_scale_of(comparison, run_at(comparison, number), comparison->per);
    COLUMN_EACH(const struct run_function, function, &run->functions) {
        const struct function_weights *sums = &function->weights[measure].sums;
        const struct function_weights *variances = &function->weights[measure].variances;
        if (sums->self == 0 && sums->total == 0) continue;
        struct comparison_row *row =
            row_of(comparison, ROW_FUNCTION, function->name, function->library, function->file);
        if (!row) return;
        add_weight(comparison, &row->cells[CELL_SELF], number, sums->self * scale,
                   binomial_variance(comparison, sums->self, variances->self, all) * scale * scale);
        add_weight(comparison, &row->cells[CELL_TOTAL], number, sums->total * scale,
                   binomial_variance(comparison, sums->total, variances->total, all) * scale * scale);
    }
}

static void add_markers(struct comparison *comparison, size_t number) {
    const struct run *run = run_at(comparison, number);
    double scale = scale_of(comparison, run, per_of_amount(comparison));
    COLUMN_EACH(const struct info_marker, marker, &run->info.markers) {
        struct comparison_row *row = row_of(comparison, ROW_MARKER, marker->name, (struct text){0}, (struct text){0});
        if (!row) return;
        add_value(comparison, &row->cells[CELL_COUNT], number, (double)marker->count * scale);
        if (!marker->duration_count) continue;
        row->timed_count++;
        add_value(comparison, &row->cells[CELL_MEDIAN], number, marker->median_ms);
        add_value(comparison, &row->cells[CELL_P95], number, marker->p95_ms);
    }
}

/* Equal counters of several processes count together: a level is the sum of theirs at one time. */
static void add_counters(struct comparison *comparison, size_t number) {
    const struct run *run = run_at(comparison, number);
    double scale = scale_of(comparison, run, per_of_amount(comparison));
    COLUMN_EACH(const struct info_counter, counter, &run->info.counters) {
        struct text unit = info_counter_is_share(counter) ? (struct text){0} : counter->unit;
        struct comparison_row *row = row_of(comparison, ROW_COUNTER, counter->name, (struct text){0}, unit);
        if (!row) return;
        add_value(comparison, &row->cells[CELL_VALUE], number,
                  counter->is_rate ? counter->change * scale : counter->highest_together);
    }
}

static void add_duration(struct comparison *comparison, size_t number) {
    if (!comparison->runs->has_times) return;
    struct comparison_row *row = row_of(comparison, ROW_DURATION, TEXT("duration"), (struct text){0}, (struct text){0});
    if (row) add_value(comparison, &row->cells[CELL_VALUE], number, run_at(comparison, number)->info.duration_ms);
}

static void add_rows(struct comparison *comparison) {
    for (size_t i = 0; i < run_count(comparison) && !failure_is_set(comparison->failure); i++) {
        add_functions(comparison, i);
        add_markers(comparison, i);
        add_counters(comparison, i);
        add_duration(comparison, i);
    }
    /* A run without a duration of the marker has no median. */
    COLUMN_EACH(struct comparison_row, row, &comparison->rows)
        if (row->kind == ROW_MARKER && row->timed_count < run_count(comparison))
            row->cells[CELL_MEDIAN].values = row->cells[CELL_P95].values = NULL;
}

/* ---- Functions without a file. ---- */

/* The rows of functions with the same name and library: the one without a file, and those with one. */
struct namesakes {
    struct comparison_row *bare; /* NULL: none */
    struct comparison_row *with_file;
    bool have_several_files;
};

static bool occur_in_one_run(const struct comparison *comparison, const struct namesakes *names) {
    for (size_t i = 0; i < run_count(comparison); i++)
        if (names->bare->cells[CELL_TOTAL].values[i] != 0 && names->with_file->cells[CELL_TOTAL].values[i] != 0)
            return true;
    return false;
}

/* Adds the values of the function without a file to those of the one with a file. */
static void join_namesakes(struct comparison *comparison, const struct namesakes *names) {
    for (enum cell_kind kind = CELL_SELF; kind <= CELL_TOTAL; kind++) {
        struct cell *from = &names->bare->cells[kind], *to = &names->with_file->cells[kind];
        for (size_t i = 0; i < run_count(comparison); i++)
            add_weight(comparison, to, i, from->values[i], from->variances[i]);
        *from = (struct cell){0};
    }
}

/* Joins a function without a file with the only function of its name and library that has one, because a run without
 * debug information has no files. Does not join them if some run has both. */
static void join_functions_without_file(struct comparison *comparison) {
    struct row_table keys;
    struct column all; /* struct namesakes */
    row_table_init(&keys, 2 * sizeof(string_id), comparison->failure);
    column_init(&all, sizeof(struct namesakes), comparison->failure);
    for (uint32_t i = 0; i < comparison->rows.count; i++) {
        const struct row_key *key = row_table_at(&comparison->keys, i);
        struct comparison_row *row = column_at(&comparison->rows, i);
        if (row->kind != ROW_FUNCTION) continue;
        uint32_t number = row_table_intern(&keys, (string_id[]){key->name, key->library});
        struct namesakes *names = number == ID_NONE ? NULL : id_column_at(&all, number);
        if (!names) break;
        if (row->file.bytes_count && names->with_file)
            row->has_namesake = names->with_file->has_namesake = names->have_several_files = true;
        *(row->file.bytes_count ? &names->with_file : &names->bare) = row;
    }
    for (size_t i = 0; i < all.count && !failure_is_set(comparison->failure); i++) {
        const struct namesakes *names = column_at(&all, i);
        if (!names->bare || !names->with_file || names->have_several_files) continue;
        if (occur_in_one_run(comparison, names))
            names->with_file->has_namesake = true;
        else
            join_namesakes(comparison, names);
    }
    column_fini(&all);
    row_table_fini(&keys);
}

/* ---- Estimates. ---- */

static struct quantity quantity_of(const struct cell *cell) {
    return (struct quantity){cell->values, cell->variances, 1};
}

static void estimate_cell(struct comparison *comparison, struct cell *cell, double critical_errors) {
    cell->estimate = estimate_change(&(struct quantity){cell->values, cell->variances, 1}, comparison->runs->counts);
    double reach = critical_errors * cell->estimate.error;
    cell->lower = cell->estimate.change - reach;
    cell->upper = cell->estimate.change + reach;
    cell->stands_out = cell->lower > 0 || cell->upper < 0;
}

/* Visits all cells that have values. */
#define FOR_EACH_CELL(comparison, row_number, cell)                                                              \
    for (size_t row_number = 0; row_number < (comparison)->rows.count; row_number++)                             \
        for (struct cell *first_ = ((struct comparison_row *)column_at(&(comparison)->rows, row_number))->cells, \
                         *cell = first_;                                                                         \
             cell < first_ + CELL_COUNT_MAX; cell++)                                                             \
            if (cell->values)

static void estimate_all(struct comparison *comparison) {
    struct run_counts counts = comparison->runs->counts;
    struct quantity *family =
        memory_allocate(comparison->failure, comparison->rows.count * CELL_COUNT_MAX * sizeof *family);
    size_t count = 0;
    if (!family) return;
    FOR_EACH_CELL(comparison, row, cell) {
        struct quantity quantity = quantity_of(cell);
        if (estimate_may_stand_out(&quantity, counts)) family[count++] = quantity;
    }
    double critical_errors = resamples_critical_errors(&comparison->resamples, family, count, TABLE_CONFIDENCE);
    FOR_EACH_CELL(comparison, row, cell) {
        struct quantity quantity = quantity_of(cell);
        estimate_cell(comparison, cell, critical_errors);
        cell->stands_out = cell->stands_out && estimate_may_stand_out(&quantity, counts);
    }
    memory_free(family);
}

/* ---- The comparison. ---- */

static void set_per(struct comparison *comparison, const char *per) {
    static const struct {
        const char *name;
        enum per_kind kind;
    } kinds[] = {{"share", PER_SHARE}, {"run", PER_RUN}, {"second", PER_SECOND}};
    if (!per) return;
    comparison->per = PER_MARKER;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, per) == 0) comparison->per = kinds[i].kind;
    if (comparison->per == PER_MARKER) comparison->marker = text_of(per);
    for (size_t i = 0; i < run_count(comparison); i++) {
        const struct run *run = run_at(comparison, i);
        if (comparison->per == PER_SECOND && !(run->info.has_times && run->info.duration_ms > 0))
            failure_set(comparison->failure, FAILURE_USAGE, "--per second: there are no times in %s",
                        report_path_name(run->path));
        if (comparison->per == PER_MARKER && !find_marker(run, comparison->marker))
            failure_set(comparison->failure, FAILURE_USAGE, "--per %s: there is no marker of that name in %s", per,
                        report_path_name(run->path));
    }
}

void comparison_init(struct comparison *comparison, const struct runs *runs, const char *per, struct failure *failure) {
    *comparison = (struct comparison){.failure = failure, .runs = runs};
    strings_init(&comparison->texts, failure);
    arena_init(&comparison->memory, failure);
    row_table_init(&comparison->keys, sizeof(struct row_key), failure);
    column_init(&comparison->rows, sizeof(struct comparison_row), failure);
    if (failure_is_set(failure)) return;
    resamples_init(&comparison->resamples, runs->counts, runs->job_count, failure);
    set_per(comparison, per);
    if (!failure_is_set(failure)) add_rows(comparison);
    if (!failure_is_set(failure)) join_functions_without_file(comparison);
    if (!failure_is_set(failure)) estimate_all(comparison);
}

void comparison_fini(struct comparison *comparison) {
    resamples_fini(&comparison->resamples);
    column_fini(&comparison->rows);
    row_table_fini(&comparison->keys);
    arena_fini(&comparison->memory);
    strings_fini(&comparison->texts);
}

double comparison_amount(const struct comparison *comparison, size_t side) {
    struct run_counts counts = comparison->runs->counts;
    double amount = 0;
    for (size_t i = side ? counts.base : 0, end = side ? run_count(comparison) : counts.base; i < end; i++)
        amount += 1 / weight_scale_of(comparison, run_at(comparison, i), comparison->per);
    return amount;
}

const char *comparison_state(const struct cell *cell) {
    if (cell->estimate.base == 0) return "new";
    return cell->estimate.head == 0 ? "gone" : "changed";
}

/* ---- Limits. ---- */

static const struct {
    enum row_kind kind;
    enum cell_kind cell;
} sources[] = {
    [LIMIT_COUNT] = {ROW_MARKER, CELL_COUNT},      [LIMIT_MEDIAN] = {ROW_MARKER, CELL_MEDIAN},
    [LIMIT_P95] = {ROW_MARKER, CELL_P95},          [LIMIT_COUNTER] = {ROW_COUNTER, CELL_VALUE},
    [LIMIT_DURATION] = {ROW_DURATION, CELL_VALUE},
};

/* Returns the quantity of the limit's marker or counter, or of the duration; without values if there is none. */
static struct quantity find_quantity(struct comparison *comparison, const struct limit *limit) {
    COLUMN_EACH(struct comparison_row, row, &comparison->rows) {
        if (row->kind != sources[limit->subject].kind) continue;
        if (limit->subject == LIMIT_DURATION || text_equal(row->name, limit->pattern))
            return quantity_of(&row->cells[sources[limit->subject].cell]);
    }
    return (struct quantity){0};
}

/* Returns the factor from weights to milliseconds. Latches FAILURE_USAGE if it is not known. */
static double ms_per_unit(const struct comparison *comparison, const struct run *run, const struct limit *limit) {
    if (text_equal(comparison->runs->unit, TEXT("ms"))) return 1;
    bool is_known =
        text_equal(comparison->runs->unit, TEXT("samples")) && run->info.has_times && run->info.interval_ms > 0;
    if (!is_known)
        failure_set(comparison->failure, FAILURE_USAGE,
                    "'%.*s': how much time a sample of %s stands for is not known; give a limit in percent",
                    TEXT_ARGS(limit->source), report_path_name(run->path));
    return run->info.interval_ms;
}

/* Returns what the weights of functions are divided by for this limit. */
static enum per_kind per_of_limit(const struct comparison *comparison, const struct limit *limit) {
    if (limit->unit != LIMIT_PERCENT) return per_of_amount(comparison);
    return limit->is_change ? comparison->per : PER_SHARE;
}

/* Returns the quantity of the group of functions; without values if no function matches, or after a failure. */
static struct quantity group_quantity(struct comparison *comparison, const struct limit *limit, size_t group_number) {
    double *values = new_values(comparison), *variances = new_values(comparison);
    enum per_kind per = per_of_limit(comparison, limit);
    uint64_t function_count = 0;
    for (size_t i = 0; values && variances && i < run_count(comparison); i++) {
        const struct run *run = run_at(comparison, i);
        const struct run_group *group = column_at(&run->weights.groups, group_number);
        const struct weights *weights = &group->weights[comparison->runs->measure];
        double scale = weight_scale_of(comparison, run, per);
        if (limit->unit == LIMIT_MS) scale *= ms_per_unit(comparison, run, limit);
        if (per == PER_SHARE) scale *= PERCENT;
        bool is_self = limit->subject == LIMIT_SELF;
        double sum = is_self ? weights->sums.self : weights->sums.total;
        double variance = is_self ? weights->variances.self : weights->variances.total;
        values[i] = sum * scale;
        variances[i] =
            binomial_variance(comparison, sum, variance, &run->weights.all[comparison->runs->measure]) * scale * scale;
        function_count += group->function_count;
    }
    bool is_good = function_count && !failure_is_set(comparison->failure);
    return is_good ? (struct quantity){values, variances, 1} : (struct quantity){0};
}

static struct text unit_of(const struct comparison *comparison, const struct limit *limit) {
    bool is_of_functions = limit_is_of_functions(limit);
    if (is_of_functions && per_of_limit(comparison, limit) == PER_SHARE) return TEXT("%");
    if (is_of_functions && limit->unit != LIMIT_MS) return comparison->runs->unit;
    return limit->subject == LIMIT_COUNT || limit->subject == LIMIT_COUNTER ? (struct text){0} : TEXT("ms");
}

struct outcome comparison_judge(struct comparison *comparison, const struct limit *limit, size_t group) {
    struct quantity quantity =
        limit_is_of_functions(limit) ? group_quantity(comparison, limit, group) : find_quantity(comparison, limit);
    if (!quantity.values) return (struct outcome){.verdict = VERDICT_MISSING};
    bool is_relative = limit_is_relative(limit);
    quantity.factor = is_relative ? 1 + limit->value / PERCENT : limit->is_change;
    struct estimate estimate = estimate_change(&quantity, comparison->runs->counts);
    double critical_errors = resamples_critical_errors(&comparison->resamples, &quantity, 1, LIMIT_CONFIDENCE);
    double lower = estimate.change - critical_errors * estimate.error;
    struct outcome outcome = {.base = estimate.base,
                              .head = estimate.head,
                              .change = estimate.change,
                              .lower = lower,
                              .unit = unit_of(comparison, limit)};
    bool is_above = is_relative ? lower > 0 : lower > limit->value;
    outcome.verdict = is_above ? VERDICT_FAILED : VERDICT_PASSED;
    if (!is_relative) return outcome;
    outcome.change = (estimate.head / estimate.base - 1) * PERCENT;
    outcome.lower = lower / estimate.base * PERCENT + limit->value;
    return outcome;
}
