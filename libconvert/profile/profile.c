#include "profile.h"

#include <stdarg.h>

#include "libconvert/base/first_row.h"
#include "libconvert/base/id_column.h"
#include "libconvert/base/path.h"

static void payloads_init(struct payloads *payloads, struct failure *failure) {
    column_init(&payloads->slots, sizeof(union marker_slot), failure);
    column_init(&payloads->cells, sizeof(union marker_value), failure);
    column_init(&payloads->numbers, sizeof(struct decimal), failure);
}

static void payloads_fini(struct payloads *payloads) {
    COLUMNS_FINI(&payloads->slots, &payloads->cells, &payloads->numbers);
}

void profile_init(struct profile *profile, struct failure *failure) {
    *profile = (struct profile){.failure = failure};
    strings_init(&profile->strings, failure);
    strings_init(&profile->texts, failure);
    libs_init(&profile->libs, failure);
    categories_init(&profile->categories, failure);
    row_table_init(&profile->resources, sizeof(struct resource), failure);
    row_table_init(&profile->sources, sizeof(struct source), failure);
    column_init(&profile->lib_troubles, sizeof(struct lib_trouble), failure);
    column_init(&profile->looked_up_sources, sizeof(source_id), failure);
    column_init(&profile->source_origins, sizeof(struct text), failure);
    column_init(&profile->source_contents, sizeof(struct text), failure);
    strings_init(&profile->contents, failure);
    row_table_init(&profile->native_symbols, sizeof(struct native_symbol), failure);
    row_table_init(&profile->funcs, sizeof(struct func), failure);
    row_table_init(&profile->frames, sizeof(struct frame), failure);
    stack_table_init(&profile->stacks, failure);
    arena_init(&profile->memory, failure);
    column_init(&profile->marker_schemas, sizeof(struct marker_schema), failure);
    index_set_init(&profile->marker_schema_names, failure);
    payloads_init(&profile->payloads, failure);
    row_table_init(&profile->large_weights, sizeof(struct decimal), failure);
    column_init(&profile->processes, sizeof(struct process), failure);
    column_init(&profile->threads, sizeof(struct thread), failure);
    column_init(&profile->counters, sizeof(struct counter), failure);
    column_init(&profile->paused_ranges, sizeof(struct paused_range), failure);
    column_init(&profile->overheads, sizeof(struct overhead), failure);
    column_init(&profile->events, sizeof(struct profile_event), failure);
    column_init(&profile->tracks, sizeof(struct event_track), failure);
    column_init(&profile->profiling_log, sizeof(struct log_line), failure);
    column_init(&profile->gathering_log, sizeof(struct log_line), failure);
    column_init(&profile->thread_order, sizeof(thread_id), failure);
    column_init(&profile->meta.extra, sizeof(struct extra_entry), failure);
    profile->meta.has_times = true;
    profile->recording = (struct recording_times){TIME_NONE, TIME_NONE, TIME_NONE};
    ledger_init(&profile->ledger, failure);
}

void profile_fini(struct profile *profile) {
    COLUMN_EACH(struct thread, thread, &profile->threads) {
        samples_fini(&thread->samples);
        COLUMNS_FINI(&thread->markers, &thread->allocations);
    }
    COLUMN_EACH(struct counter, counter, &profile->counters) column_fini(&counter->samples);
    strings_fini(&profile->strings);
    strings_fini(&profile->texts);
    libs_fini(&profile->libs);
    categories_fini(&profile->categories);
    row_table_fini(&profile->resources);
    row_table_fini(&profile->sources);
    COLUMNS_FINI(&profile->lib_troubles, &profile->looked_up_sources, &profile->source_contents,
                 &profile->source_origins, &profile->marker_schemas, &profile->processes, &profile->threads,
                 &profile->counters, &profile->paused_ranges, &profile->overheads, &profile->events, &profile->tracks,
                 &profile->profiling_log, &profile->gathering_log, &profile->thread_order, &profile->meta.extra);
    strings_fini(&profile->contents);
    row_table_fini(&profile->native_symbols);
    row_table_fini(&profile->funcs);
    row_table_fini(&profile->frames);
    stack_table_fini(&profile->stacks);
    arena_fini(&profile->memory);
    index_set_fini(&profile->marker_schema_names);
    payloads_fini(&profile->payloads);
    row_table_fini(&profile->large_weights);
    ledger_fini(&profile->ledger);
}

struct text profile_text_format(struct profile *profile, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    string_id id = strings_intern_vformat(&profile->texts, format, arguments);
    va_end(arguments);
    return string_is_none(id) ? (struct text){0} : strings_text(&profile->texts, id);
}

stack_id profile_stack_of(struct profile *profile, const frame_id *frames, uint32_t count) {
    stack_id stack = stack_none();
    for (uint32_t i = 0; i < count && !failure_is_set(profile->failure); i++)
        stack = profile_stack(profile, stack, frames[i]);
    return stack;
}

void profile_take_stacks(struct profile *profile, struct stack_table *stacks) {
    stack_table_fini(&profile->stacks);
    profile->stacks = *stacks;
    *stacks = (struct stack_table){0};
}

resource_id profile_resource(struct profile *profile, string_id name, enum resource_type type) {
    struct resource row = {name, type};
    return (resource_id){row_table_intern(&profile->resources, &row)};
}

void profile_note_trouble(struct profile *profile, const struct lib *lib, const char *reason) {
    column_add(&profile->lib_troubles,
               &(struct lib_trouble){profile_text(profile, lib->path), profile_text(profile, lib->code_id), reason});
}

source_id profile_source(struct profile *profile, struct text filename) {
    char bytes[PATH_MAX];
    struct source row = {.filename = profile_string(profile, path_normalize(filename, bytes))};
    if (string_is_none(row.filename)) return source_none();
    return (source_id){row_table_intern(&profile->sources, &row)};
}

bool profile_keep_content(struct profile *profile, source_id source, struct text content) {
    struct text *kept = id_column_at(&profile->source_contents, source.index);
    if (!kept) return true;
    if (!kept->bytes) *kept = strings_copy(&profile->contents, content);
    return text_equal(*kept, content);
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

process_id profile_add_process(struct profile *profile, int64_t pid, uint32_t generation) {
    process_id id = {(uint32_t)profile->processes.count};
    struct process *process = column_push(&profile->processes);
    if (!process) return process_none();
    *process = (struct process){.pid = pid,
                                .generation = generation,
                                .start_ns = TIME_NONE,
                                .end_ns = TIME_NONE,
                                .parent = process_none(),
                                .main_thread = thread_none(),
                                .place = ID_NONE};
    return id;
}

thread_id profile_add_thread(struct profile *profile, process_id process, int64_t tid, uint32_t generation) {
    thread_id id = {(uint32_t)profile->threads.count};
    if (!column_push(&profile->threads)) return thread_none();
    profile_replace_thread(profile, id, process, tid, generation);
    return id;
}

void profile_replace_thread(struct profile *profile, thread_id id, process_id process, int64_t tid,
                            uint32_t generation) {
    struct thread *thread = profile_thread_at(profile, id);
    *thread = (struct thread){.process = process,
                              .track = ID_NONE,
                              .tid = tid,
                              .generation = generation,
                              .start_ns = TIME_NONE,
                              .end_ns = TIME_NONE,
                              .executed_ns = TIME_NONE};
    samples_init(&thread->samples, profile->failure);
    column_init(&thread->markers, sizeof(struct marker), profile->failure);
    column_init(&thread->allocations, sizeof(struct allocation), profile->failure);
}

thread_id profile_add_track(struct profile *profile, const struct event_track *track) {
    const struct thread *owner = profile_thread_at(profile, track->owner);
    struct event_track *added = column_push(&profile->tracks);
    thread_id id = added ? profile_add_thread(profile, owner->process, owner->tid, owner->generation) : thread_none();
    if (thread_is_none(id)) return id;
    struct thread *thread = profile_thread_at(profile, id);
    owner = profile_thread_at(profile, track->owner);
    *added = *track;
    thread->track = (uint32_t)profile->tracks.count - 1;
    thread->start_ns = owner->start_ns;
    thread->end_ns = owner->end_ns;
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

double profile_weight_of(const struct profile *profile, uint32_t weight) {
    static const double ns_per_ms = 1e6;
    if (profile->meta.weight_type == WEIGHT_ONE) return 1;
    bool is_large = weight & LARGE_WEIGHT_BIT;
    double value = is_large ? decimal_to_double(profile_weight_decode(profile, weight)) : weight;
    return profile->meta.weight_type == WEIGHT_TRACING_MS ? value / ns_per_ms : value;
}

struct text profile_weight_unit(const struct profile_meta *meta) {
    if (meta->weight_unit.bytes_count) return meta->weight_unit;
    if (meta->weight_type == WEIGHT_TRACING_MS) return TEXT("ms");
    return meta->weight_type == WEIGHT_BYTES ? TEXT("bytes") : TEXT("samples");
}

/* thread_order is sorted by process. */
size_t profile_place_of_process(const struct profile *profile, process_id process) {
    uint32_t place = profile_process_at(profile, process)->place;
    return place == ID_NONE ? profile->thread_order.count : place;
}

/* Returns the first row of that process or a later one. Every row begins with its process id. */
static size_t find_process_rows(const struct column *rows, uint64_t process) {
    return FIRST_ROW(i, rows->count, ((const process_id *)column_at(rows, i))->index >= process);
}

size_t profile_rows_of_process(const struct column *rows, process_id process, size_t *row_count) {
    size_t first = find_process_rows(rows, process.index);
    *row_count = find_process_rows(rows, (uint64_t)process.index + 1) - first;
    return first;
}

void *profile_allocate(struct profile *profile, size_t bytes_count) {
    return arena_take_aligned(&profile->memory, bytes_count);
}

struct counter *profile_add_counter(struct profile *profile, const struct counter *counter) {
    struct counter *row = column_push(&profile->counters);
    if (!row) return NULL;
    *row = *counter;
    column_init(&row->samples, sizeof(struct counter_sample), profile->failure);
    return row;
}

void profile_add_paused_range(struct profile *profile, process_id process, int64_t start_ns, int64_t end_ns) {
    column_add(&profile->paused_ranges, &(struct paused_range){process, start_ns, end_ns});
}

void profile_add_allocation(struct profile *profile, thread_id thread, int64_t time, int64_t bytes, uint64_t address,
                            stack_id stack) {
    column_add(
        &profile_thread_at(profile, thread)->allocations,
        &(struct allocation){.time_ns = time, .bytes = bytes, .address = address, .stack = stack, .thread = thread});
}

void profile_add_overhead(struct profile *profile, const struct overhead *overhead) {
    column_add(&profile->overheads, overhead);
}

void profile_log_number(struct profile *profile, struct column *log, process_id process, struct text key,
                        int64_t number) {
    column_add(log, &(struct log_line){
                        .process = process, .time_ns = TIME_NONE, .key = profile_text(profile, key), .number = number});
}

void profile_log_text(struct profile *profile, struct column *log, process_id process, struct text key,
                      struct text text) {
    struct text key_copy = profile_text(profile, key);
    column_add(log,
               &(struct log_line){
                   .process = process, .time_ns = TIME_NONE, .key = key_copy, .text = profile_text(profile, text)});
}

void profile_log_line(struct profile *profile, struct column *log, process_id process, int64_t time, struct text text) {
    column_add(log, &(struct log_line){.process = process, .time_ns = time, .text = profile_text(profile, text)});
}

struct text profile_extra(const struct profile *profile, struct text section, struct text label) {
    COLUMN_EACH(const struct extra_entry, entry, &profile->meta.extra)
        if (text_equal(entry->section, section) && text_equal(entry->label, label)) return entry->value;
    return (struct text){0};
}

void profile_add_extra(struct profile *profile, struct text section, struct text label, struct text value) {
    struct extra_entry entry = {profile_text(profile, section), profile_text(profile, label),
                                profile_text(profile, value)};
    column_add(&profile->meta.extra, &entry);
}
