#include "profile.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void profile_init(struct profile *profile, struct failure *failure) {
    *profile = (struct profile){.failure = failure};
    strings_init(&profile->strings, failure);
    strings_init(&profile->texts, failure);
    libs_init(&profile->libs, failure);
    categories_init(&profile->categories, failure);
    row_table_init(&profile->resources, sizeof(struct resource), failure);
    row_table_init(&profile->sources, sizeof(struct source), failure);
    row_table_init(&profile->native_symbols, sizeof(struct native_symbol), failure);
    row_table_init(&profile->funcs, sizeof(struct func), failure);
    row_table_init(&profile->frames, sizeof(struct frame), failure);
    row_table_init(&profile->stacks, sizeof(struct stack), failure);
    column_init(&profile->marker_schemas, sizeof(struct marker_schema), failure);
    column_init(&profile->marker_values, sizeof(union marker_value), failure);
    row_table_init(&profile->large_weights, sizeof(struct decimal), failure);
    column_init(&profile->processes, sizeof(struct process), failure);
    column_init(&profile->threads, sizeof(struct thread), failure);
    column_init(&profile->thread_order, sizeof(thread_id), failure);
    column_init(&profile->meta.extra, sizeof(struct extra_entry), failure);
    profile->meta.has_times = true;
    ledger_init(&profile->ledger, failure);
}

static void samples_fini(struct samples *samples) {
    column_fini(&samples->time_ns);
    column_fini(&samples->stack);
    column_fini(&samples->weight);
}

void profile_fini(struct profile *profile) {
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        samples_fini(&thread->samples);
        column_fini(&thread->markers);
    }
    strings_fini(&profile->strings);
    strings_fini(&profile->texts);
    libs_fini(&profile->libs);
    categories_fini(&profile->categories);
    row_table_fini(&profile->resources);
    row_table_fini(&profile->sources);
    row_table_fini(&profile->native_symbols);
    row_table_fini(&profile->funcs);
    row_table_fini(&profile->frames);
    row_table_fini(&profile->stacks);
    column_fini(&profile->marker_schemas);
    column_fini(&profile->marker_values);
    row_table_fini(&profile->large_weights);
    column_fini(&profile->processes);
    column_fini(&profile->threads);
    column_fini(&profile->thread_order);
    column_fini(&profile->meta.extra);
    ledger_fini(&profile->ledger);
}

struct text profile_text_format(struct profile *profile, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    string_id id = strings_intern_vformat(&profile->texts, format, arguments);
    va_end(arguments);
    return string_is_none(id) ? (struct text){0} : strings_text(&profile->texts, id);
}

resource_id profile_resource(struct profile *profile, string_id name, enum resource_type type) {
    struct resource row = {name, type};
    return (resource_id){row_table_intern(&profile->resources, &row)};
}

source_id profile_source(struct profile *profile, struct text filename) {
    struct source row = {profile_string(profile, filename)};
    if (string_is_none(row.filename)) return source_none();
    return (source_id){row_table_intern(&profile->sources, &row)};
}

native_symbol_id profile_native_symbol(struct profile *profile, lib_id lib, uint32_t address, string_id name) {
    struct native_symbol row = {lib, address, name};
    return (native_symbol_id){row_table_intern(&profile->native_symbols, &row)};
}

func_id profile_func(struct profile *profile, const struct func *func) {
    return (func_id){row_table_intern(&profile->funcs, func)};
}

frame_id profile_frame(struct profile *profile, const struct frame *frame) {
    return (frame_id){row_table_intern(&profile->frames, frame)};
}

process_id profile_add_process(struct profile *profile, int64_t pid, uint32_t life) {
    process_id id = {(uint32_t)profile->processes.count};
    struct process *process = column_push(&profile->processes);
    if (!process) return process_none();
    *process = (struct process){
        .pid = pid, .life = life, .start_ns = TIME_NONE, .end_ns = TIME_NONE, .main_thread = thread_none()};
    return id;
}

thread_id profile_add_thread(struct profile *profile, process_id process, int64_t tid, uint32_t life) {
    thread_id id = {(uint32_t)profile->threads.count};
    struct thread *thread = column_push(&profile->threads);
    if (!thread) return thread_none();
    *thread = (struct thread){.process = process, .tid = tid, .life = life, .start_ns = TIME_NONE, .end_ns = TIME_NONE};
    column_init(&thread->samples.time_ns, sizeof(int64_t), profile->failure);
    column_init(&thread->samples.stack, sizeof(stack_id), profile->failure);
    column_init(&thread->samples.weight, sizeof(uint32_t), profile->failure);
    column_init(&thread->markers, sizeof(struct marker), profile->failure);
    return id;
}

enum { LARGE_WEIGHT_BIT = 0x80000000u };

uint32_t profile_weight_encode(struct profile *profile, struct decimal weight) {
    if (weight.scale == 0 && weight.mantissa >= 0 && weight.mantissa < LARGE_WEIGHT_BIT)
        return (uint32_t)weight.mantissa;
    uint32_t row = row_table_intern(&profile->large_weights, &weight);
    return row == ID_NONE ? 0 : row | LARGE_WEIGHT_BIT;
}

struct decimal profile_weight_decode(const struct profile *profile, uint32_t weight) {
    if (!(weight & LARGE_WEIGHT_BIT)) return (struct decimal){.mantissa = weight};
    return *(const struct decimal *)row_table_at(&profile->large_weights, weight & ~LARGE_WEIGHT_BIT);
}

uint16_t profile_marker_schema(struct profile *profile, const struct marker_schema *schema) {
    struct column *schemas = &profile->marker_schemas;
    for (size_t i = 0; i < schemas->count; i++) {
        const struct marker_schema *row = column_at(schemas, i);
        if (text_equal(row->name, schema->name)) return (uint16_t)i;
    }
    struct marker_schema *row = column_push(schemas);
    if (!row) return 0;
    *row = *schema;
    return (uint16_t)(schemas->count - 1);
}

void profile_add_marker(struct profile *profile, struct thread *thread, struct marker marker,
                        const union marker_value *values) {
    if (failure_is_set(profile->failure)) return;
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker.schema);
    marker.values_at = (uint32_t)profile->marker_values.count;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        union marker_value *value = column_push(&profile->marker_values);
        if (!value) return;
        *value = values[i];
    }
    struct marker *row = column_push(&thread->markers);
    if (row) *row = marker;
}

void profile_add_extra(struct profile *profile, struct text section, struct text label, struct text value) {
    struct extra_entry entry = {profile_text(profile, section), profile_text(profile, label),
                                profile_text(profile, value)};
    struct extra_entry *row = column_push(&profile->meta.extra);
    if (row) *row = entry;
}

/* ---- Putting it in order. ---- */

struct sample_row {
    int64_t time_ns;
    uint32_t place; /* in the thread's order of arrival: makes the order total, so any sort is stable */
    stack_id stack;
    uint32_t weight;
};

static int compare_sample_rows(const void *left, const void *right) {
    const struct sample_row *a = left, *b = right;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static bool times_ascend(const struct column *time_ns) {
    int64_t last_ns = INT64_MIN;
    for (size_t i = 0, run_count; i < time_ns->count; i += run_count) {
        const int64_t *run = column_run(time_ns, i, &run_count);
        for (size_t j = 0; j < run_count; j++) {
            if (run[j] < last_ns) return false;
            last_ns = run[j];
        }
    }
    return true;
}

static void sort_samples(struct samples *samples, struct failure *failure) {
    if (times_ascend(&samples->time_ns)) return;
    uint32_t count = samples_count(samples);
    struct sample_row *rows = malloc(count * sizeof *rows);
    if (!rows) {
        failure_set_memory(failure);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (struct sample_row){*(int64_t *)column_at(&samples->time_ns, i), i,
                                      *(stack_id *)column_at(&samples->stack, i),
                                      *(uint32_t *)column_at(&samples->weight, i)};
    qsort(rows, count, sizeof *rows, compare_sample_rows);
    for (uint32_t i = 0; i < count; i++) {
        *(int64_t *)column_at(&samples->time_ns, i) = rows[i].time_ns;
        *(stack_id *)column_at(&samples->stack, i) = rows[i].stack;
        *(uint32_t *)column_at(&samples->weight, i) = rows[i].weight;
    }
    free(rows);
}

struct marker_row {
    struct marker marker;
    uint32_t place; /* see sample_row */
};

static int compare_marker_rows(const void *left, const void *right) {
    const struct marker_row *a = left, *b = right;
    if (a->marker.start_ns != b->marker.start_ns) return a->marker.start_ns < b->marker.start_ns ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static bool markers_ascend(const struct column *markers) {
    for (size_t i = 1; i < markers->count; i++) {
        const struct marker *before = column_at(markers, i - 1), *marker = column_at(markers, i);
        if (marker->start_ns < before->start_ns) return false;
    }
    return true;
}

static void sort_markers(struct column *markers, struct failure *failure) {
    if (markers_ascend(markers)) return;
    struct marker_row *rows = malloc(markers->count * sizeof *rows);
    if (!rows) {
        failure_set_memory(failure);
        return;
    }
    for (uint32_t i = 0; i < markers->count; i++)
        rows[i] = (struct marker_row){*(struct marker *)column_at(markers, i), i};
    qsort(rows, markers->count, sizeof *rows, compare_marker_rows);
    for (size_t i = 0; i < markers->count; i++) *(struct marker *)column_at(markers, i) = rows[i].marker;
    free(rows);
}

/* The first and the last time of all sorted samples and markers; false when there are none. */
static bool find_time_range(const struct profile *profile, int64_t *first_ns, int64_t *last_ns) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        size_t count = thread->samples.time_ns.count;
        if (count) {
            int64_t start_ns = *(int64_t *)column_at(&thread->samples.time_ns, 0);
            int64_t end_ns = *(int64_t *)column_at(&thread->samples.time_ns, count - 1);
            if (start_ns < first) first = start_ns;
            if (end_ns > last) last = end_ns;
        }
        for (size_t j = 0; j < thread->markers.count; j++) {
            const struct marker *marker = column_at(&thread->markers, j);
            if (marker->start_ns < first) first = marker->start_ns;
            if (marker->end_ns > last) last = marker->end_ns;
        }
    }
    *first_ns = first;
    *last_ns = last;
    return first <= last;
}

/* Before the profile's zero nothing is known of a thread but that it existed. */
static int64_t relative_start_ns(int64_t start_ns, int64_t origin_ns) {
    return start_ns == TIME_NONE || start_ns < origin_ns ? TIME_NONE : start_ns - origin_ns;
}

static int64_t relative_end_ns(int64_t end_ns, int64_t origin_ns) {
    if (end_ns == TIME_NONE) return TIME_NONE;
    return end_ns < origin_ns ? 0 : end_ns - origin_ns;
}

static void make_times_relative(struct profile *profile) {
    int64_t origin_ns = profile->origin_ns;
    for (size_t i = 0; i < profile->processes.count; i++) {
        struct process *process = column_at(&profile->processes, i);
        process->start_ns = relative_start_ns(process->start_ns, origin_ns);
        process->end_ns = relative_end_ns(process->end_ns, origin_ns);
    }
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        thread->start_ns = relative_start_ns(thread->start_ns, origin_ns);
        thread->end_ns = relative_end_ns(thread->end_ns, origin_ns);
        struct column *time_ns = &thread->samples.time_ns;
        for (size_t j = 0, run_count; j < time_ns->count; j += run_count) {
            int64_t *run = column_run(time_ns, j, &run_count);
            for (size_t k = 0; k < run_count; k++) run[k] -= origin_ns;
        }
        for (size_t j = 0; j < thread->markers.count; j++) {
            struct marker *marker = column_at(&thread->markers, j);
            marker->start_ns -= origin_ns;
            marker->end_ns -= origin_ns;
        }
    }
}

enum { INTERVAL_DELTAS_MAX = 65536 };
static const int64_t DEFAULT_INTERVAL_NS = 1000000;

static int compare_deltas(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The median of the times between neighbouring samples of a thread, over the first of them. */
static int64_t estimate_interval_ns(const struct profile *profile) {
    int64_t *deltas = malloc(INTERVAL_DELTAS_MAX * sizeof *deltas);
    if (!deltas) {
        failure_set_memory(profile->failure);
        return DEFAULT_INTERVAL_NS;
    }
    size_t count = 0;
    for (size_t i = 0; i < profile->threads.count && count < INTERVAL_DELTAS_MAX; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        const struct column *time_ns = &thread->samples.time_ns;
        for (size_t j = 1; j < time_ns->count && count < INTERVAL_DELTAS_MAX; j++) {
            int64_t delta_ns = *(int64_t *)column_at(time_ns, j) - *(int64_t *)column_at(time_ns, j - 1);
            if (delta_ns > 0) deltas[count++] = delta_ns;
        }
    }
    qsort(deltas, count, sizeof *deltas, compare_deltas);
    int64_t interval_ns = count ? deltas[count / 2] : DEFAULT_INTERVAL_NS;
    free(deltas);
    return interval_ns;
}

static bool thread_has_content(const struct thread *thread) {
    return thread->samples.time_ns.count > 0 || thread->markers.count > 0;
}

static struct text id_text(struct profile *profile, int64_t id, uint32_t life) {
    if (life) return profile_text_format(profile, "%" PRId64 ".%" PRIu32, id, life + 1);
    return profile_text_format(profile, "%" PRId64, id);
}

/* The thread whose tid is the pid, of the lives of that tid the first. */
static void mark_main_threads(struct profile *profile) {
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        struct process *process = profile_process_at(profile, thread->process);
        if (process->pid != thread->tid || !thread_is_none(process->main_thread)) continue;
        process->main_thread = (thread_id){i};
        thread->is_main = true;
    }
}

static void name_threads(struct profile *profile) {
    for (size_t i = 0; i < profile->processes.count; i++) {
        struct process *process = column_at(&profile->processes, i);
        if (!process->pid_text.bytes_count) process->pid_text = id_text(profile, process->pid, process->life);
    }
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        if (thread->life) thread->tid_text = id_text(profile, thread->tid, thread->life);
        if (!thread->name.bytes_count) thread->name = profile_text_format(profile, "thread %" PRId64, thread->tid);
    }
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        struct process *process = profile_process_at(profile, thread->process);
        if (process->name.bytes_count) continue;
        bool has_main = !thread_is_none(process->main_thread);
        process->name = has_main ? profile_thread_at(profile, process->main_thread)->name : thread->name;
    }
}

static void append_to_order(struct profile *profile, uint32_t thread) {
    thread_id *row = column_push(&profile->thread_order);
    if (row) *row = (thread_id){thread};
}

/* Threads to write in a list for each process, as heads and next links: one pass instead of one a process. */
struct process_threads {
    uint32_t first;
    uint32_t last;
};

static void order_threads(struct profile *profile) {
    size_t process_count = profile->processes.count, thread_count = profile->threads.count;
    struct process_threads *lists = malloc((process_count + 1) * sizeof *lists);
    uint32_t *next = malloc((thread_count + 1) * sizeof *next);
    if (!lists || !next) {
        failure_set_memory(profile->failure);
        free(lists);
        free(next);
        return;
    }
    for (size_t i = 0; i < process_count; i++) lists[i] = (struct process_threads){ID_NONE, ID_NONE};
    for (uint32_t i = 0; i < thread_count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        next[i] = ID_NONE;
        if (!thread_has_content(thread) || thread->is_main) continue;
        struct process_threads *list = &lists[thread->process.index];
        if (list->first == ID_NONE)
            list->first = i;
        else
            next[list->last] = i;
        list->last = i;
    }
    for (size_t i = 0; i < process_count; i++) {
        const struct process *process = column_at(&profile->processes, i);
        thread_id main_thread = process->main_thread;
        bool has_others = lists[i].first != ID_NONE;
        if (!thread_is_none(main_thread) && (has_others || thread_has_content(profile_thread_at(profile, main_thread))))
            append_to_order(profile, main_thread.index);
        for (uint32_t thread = lists[i].first; thread != ID_NONE; thread = next[thread])
            append_to_order(profile, thread);
    }
    free(lists);
    free(next);
}

static void show_ledger_entry(struct profile *profile, const struct ledger_entry *entry) {
    struct text label = profile_text_format(profile, "%s: %.*s", entry->fate == LEDGER_LOST ? "Lost" : "Note",
                                            (int)entry->cause.bytes_count, entry->cause.bytes);
    struct text value =
        entry->has_first && entry->first.line
            ? profile_text_format(profile, "%" PRIu64 " %s, first at line %" PRIu64, entry->count,
                                  ledger_unit_name(entry->unit), entry->first.line)
            : profile_text_format(profile, "%" PRIu64 " %s", entry->count, ledger_unit_name(entry->unit));
    profile_add_extra(profile, TEXT("Conversion"), label, value);
}

static void show_ledger(struct profile *profile) {
    const struct ledger *ledger = &profile->ledger;
    for (enum ledger_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++) {
        if (!ledger->read[unit]) continue;
        struct text value =
            profile_text_format(profile, "%" PRIu64 " read, %" PRIu64 " kept, %" PRIu64 " lost", ledger->read[unit],
                                ledger_sum(ledger, unit, LEDGER_KEPT), ledger_sum(ledger, unit, LEDGER_LOST));
        profile_add_extra(profile, TEXT("Conversion"), text_of(ledger_unit_name(unit)), value);
    }
    for (size_t i = 0; i < ledger->entries.count; i++)
        if (ledger_at(ledger, i)->fate != LEDGER_KEPT) show_ledger_entry(profile, ledger_at(ledger, i));
}

void profile_finish(struct profile *profile) {
    if (failure_is_set(profile->failure)) return;
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        sort_samples(&thread->samples, profile->failure);
        sort_markers(&thread->markers, profile->failure);
    }
    if (failure_is_set(profile->failure)) return;
    int64_t last_ns;
    if (find_time_range(profile, &profile->origin_ns, &last_ns))
        profile->end_ns = last_ns - profile->origin_ns;
    else
        profile->origin_ns = 0;
    make_times_relative(profile);
    if (!profile->meta.interval_ns) profile->meta.interval_ns = estimate_interval_ns(profile);
    if (!profile->meta.start_time_ms && profile->meta.captured_at_ms)
        profile->meta.start_time_ms = profile->meta.captured_at_ms - profile->end_ns / 1000000;
    mark_main_threads(profile);
    name_threads(profile);
    order_threads(profile);
    show_ledger(profile);
}
