#include "gecko_thread.h"

#include <inttypes.h>
#include <stdio.h>

#include "libconvert/base/memory.h"
#include "libconvert/format/common_format.h"
#include "libconvert/format/gecko_format.h"
#include "writer/table_of_rows.h"
#include "writer/thread_json.h"

/* ---- Stacks. ---- */

static const struct gecko_stack *stack_at(const struct gecko_thread_writer *writer, uint32_t row) {
    return row_table_at(&writer->tables->stacks, row);
}

/* Returns the thread's number of the stack. Callers are numbered first. The walk ends at the first caller that has a
 * number already. */
static uint32_t number_stack(struct gecko_thread_writer *writer, stack_id stack) {
    uint32_t row = writer->tables->stack_of[stack.index];
    writer->path.count = 0;
    for (uint32_t at = row; at != ID_NONE && !numbering_has(&writer->stacks, at); at = stack_at(writer, at)->prefix) {
        uint32_t *step = column_push(&writer->path);
        if (!step) return 0;
        *step = at;
    }
    for (size_t i = writer->path.count; i-- > 0;) {
        uint32_t at = *(const uint32_t *)column_at(&writer->path, i);
        numbering_of(&writer->frames, stack_at(writer, at)->frame);
        numbering_of(&writer->stacks, at);
    }
    return numbering_of(&writer->stacks, row);
}

static void write_stack_number(struct gecko_thread_writer *writer, struct json *json, stack_id stack) {
    if (stack_is_none(stack))
        json_null(json);
    else
        json_int(json, number_stack(writer, stack));
}

static void write_stack_table(struct gecko_thread_writer *writer, struct json *json) {
    table_of_rows_begin(json, "stackTable", &gecko_stack_table, NULL);
    for (uint32_t i = 0; i < numbering_count(&writer->stacks); i++) {
        const struct gecko_stack *stack = stack_at(writer, numbering_row(&writer->stacks, i));
        json_array_begin(json);
        if (stack->prefix == ID_NONE)
            json_null(json);
        else
            json_int(json, numbering_of(&writer->stacks, stack->prefix));
        json_int(json, writer->frame_positions[numbering_of(&writer->frames, stack->frame)]);
        json_array_end(json);
    }
    table_of_rows_end(json);
}

/* ---- Frames. ---- */

static const struct gecko_frame *frame_at(const struct gecko_thread_writer *writer, uint32_t number) {
    return row_table_at(&writer->tables->frames, numbering_row(&writer->frames, number));
}

/* Orders frames by descending rank and, within a rank, by first use. */
static void order_frames(struct gecko_thread_writer *writer) {
    uint32_t counts[LOCATION_RANK_COUNT] = {0}, next_positions[LOCATION_RANK_COUNT];
    uint32_t count = numbering_count(&writer->frames);
    for (uint32_t i = 0; i < count; i++) counts[frame_at(writer, i)->rank]++;
    uint32_t next = 0;
    for (unsigned rank = LOCATION_RANK_COUNT; rank-- > 0; next += counts[rank]) next_positions[rank] = next;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t position = next_positions[frame_at(writer, i)->rank]++;
        writer->frame_order[position] = i;
        writer->frame_positions[i] = position;
    }
}

static void write_frame_table(struct gecko_thread_writer *writer, struct json *json) {
    table_of_rows_begin(json, "frameTable", &gecko_frame_table, NULL);
    for (uint32_t i = 0; i < numbering_count(&writer->frames); i++) {
        const struct gecko_frame *frame = frame_at(writer, writer->frame_order[i]);
        json_array_begin(json);
        json_int(json, numbering_of(&writer->strings, frame->location));
        bool has_category = !(frame->flags & GECKO_FRAME_INHERITS_CATEGORY);
        json_bool(json, frame->flags & GECKO_FRAME_IS_RELEVANT_FOR_JS);
        json_int_or_null(json, frame->category, has_category);
        json_int_or_null(json, frame->subcategory, has_category);
        if (frame->line || frame->column) json_int_or_null(json, frame->line, frame->line != 0);
        if (frame->column) json_int(json, frame->column);
        json_array_end(json);
    }
    table_of_rows_end(json);
}

/* ---- Strings. ---- */

/* Writes a location followed by the number of its source, in brackets. Sources are numbered per process. */
static void write_with_source(struct gecko_thread_writer *writer, struct json *json, struct text text,
                              source_id source) {
    enum { SUFFIX_BYTES = 16 };
    char *bytes = memory_allocate(writer->profile->failure, text.bytes_count + SUFFIX_BYTES);
    if (!bytes) return;
    memcpy(bytes, text.bytes, text.bytes_count);
    uint32_t number = numbering_of(&writer->sources, source.index);
    int suffix_bytes = snprintf(bytes + text.bytes_count, SUFFIX_BYTES, "[%" PRIu32 "]", number);
    json_text(json, (struct text){bytes, text.bytes_count + (size_t)suffix_bytes});
    memory_free(bytes);
}

static void write_string_table(struct gecko_thread_writer *writer, struct json *json) {
    json_key_array_begin(json, "stringTable");
    for (uint32_t i = 0; i < numbering_count(&writer->strings); i++) {
        const struct gecko_string *string = row_table_at(&writer->tables->strings, numbering_row(&writer->strings, i));
        struct text text = strings_text(&writer->tables->texts, string->text);
        if (source_is_none(string->source))
            json_text(json, text);
        else
            write_with_source(writer, json, text, string->source);
    }
    json_array_end(json);
}

void gecko_sources_write(struct gecko_thread_writer *writer, struct json *json) {
    const struct profile *profile = writer->profile;
    table_of_rows_begin(json, "sources", &gecko_source_table, NULL);
    for (uint32_t i = 0; i < numbering_count(&writer->sources); i++) {
        source_id source = {numbering_row(&writer->sources, i)};
        /* The client treats sources with the same id as one, across processes. */
        char id[32];
        snprintf(id, sizeof id, "source-%" PRIu32, source.index);
        json_array_begin(json);
        json_string(json, id);
        json_text(json, strings_text(&profile->strings, profile_source_at(profile, source)->filename));
        json_int(json, 1);
        json_int(json, 1);
        json_null(json);
        json_array_end(json);
    }
    table_of_rows_end(json);
    numbering_restart(&writer->sources);
}

/* ---- Samples. ---- */

static void write_samples(struct gecko_thread_writer *writer, const struct thread *thread, struct json *json) {
    const struct profile *profile = writer->profile;
    const struct samples *samples = &thread->samples;
    bool has_cpu_deltas = writer->has_cpu_deltas && !thread_is_track(thread) && samples_count(samples);
    bool writes_cpu = !has_cpu_deltas && gecko_weights_leave_cpu(writer->weights, thread);
    bool has_cpu_column = has_cpu_deltas || writes_cpu;
    table_of_rows_begin(json, "samples", &gecko_sample_table, has_cpu_column ? NULL : "threadCPUDelta");
    /* If times were made up from the order of samples, they are made up again with one interval per repetition, so that
     * the time axis shows the weights. Real times stay: all repetitions have the time of their sample. */
    bool has_row_times = writer->weights->are_repeated && !profile->meta.has_times;
    int64_t rows_written = 0;
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        const struct sample *sample = samples_at(samples, i);
        int64_t delay_ns = samples_delay_ns(samples, i), cpu_ns = samples_cpu_ns(samples, i);
        bool is_unused = i == 0 || profile_is_idle(writer->idle_stacks, sample->stack);
        uint32_t row_count = thread_is_track(thread) ? 1 : gecko_weights_row_count(writer->weights, sample->weight);
        for (uint32_t left = row_count; left > 0; left--, rows_written++) {
            json_array_begin(json);
            write_stack_number(writer, json, sample->stack);
            json_ms(json, has_row_times ? rows_written * profile->meta.interval_ns : sample->time_ns);
            if (has_cpu_deltas) thread_json_cpu_delta(json, profile_weight_decode(profile, sample->weight), is_unused);
            if (writes_cpu) json_int_or_null(json, cpu_ns, cpu_ns != TIME_NONE);
            if (delay_ns != TIME_NONE) json_ms(json, delay_ns);
            json_array_end(json);
        }
    }
    table_of_rows_end(json);
}

/* ---- Markers. ---- */

/* The client sorts an end time of 0 as if there were none, and a marker without any time makes the whole profile fail.
 */
static bool marker_has_start(const struct marker *marker) {
    return marker->phase != MARKER_INTERVAL_END || marker->end_ns == 0;
}

/* Returns the time by which the client sorts markers, stably, before it pairs starts with ends. */
static int64_t marker_sort_ns(const struct marker *marker) {
    return marker_has_end(marker) && marker->end_ns ? marker->end_ns : marker->start_ns;
}

struct marker_sort_key {
    int64_t sort_ns;
    uint32_t row;
};

static int compare_marker_sort_keys(const void *left, const void *right) {
    const struct marker_sort_key *a = left, *b = right;
    return ORDER(a->sort_ns, b->sort_ns) ?: ORDER(a->row, b->row);
}

/* Returns the markers in the client's order. The caller owns the array; NULL if there are none or memory ran out
 * (latched). */
static struct marker_sort_key *order_markers(const struct column *markers, struct failure *failure) {
    if (!markers->count) return NULL;
    struct marker_sort_key *keys = memory_allocate(failure, markers->count * sizeof *keys);
    if (!keys) return NULL;
    for (uint32_t i = 0; i < markers->count; i++)
        keys[i] = (struct marker_sort_key){marker_sort_ns(column_at(markers, i)), i};
    memory_sort(failure, keys, markers->count, sizeof *keys, compare_marker_sort_keys);
    return keys;
}

static void write_string_number(const struct marker_json *markers, struct json *json, string_id string) {
    struct gecko_thread_writer *writer = markers->format.context;
    json_int(json, numbering_of(&writer->strings, gecko_tables_string(writer->tables, string)));
}

/* Writes a backtrace, which is a small thread: one sample, in the stack table of the thread that is being written.
 * `thread` is the one in which the backtrace was taken. */
static void write_backtrace(struct gecko_thread_writer *writer, const struct thread *thread, stack_id stack,
                            int64_t time_ns, struct json *json) {
    json_key_object_begin(json, "stack");
    thread_json_tid(json, thread);
    table_of_rows_begin(json, "samples", &gecko_backtrace_table, NULL);
    json_array_begin(json);
    write_stack_number(writer, json, stack);
    json_ms(json, time_ns);
    json_array_end(json);
    table_of_rows_end(json);
    json_object_end(json);
}

static void write_marker_stack(const struct marker_json *markers, struct json *json, const struct thread *thread,
                               const struct marker *marker) {
    struct gecko_thread_writer *writer = markers->format.context;
    const int64_t *origin_ns = profile_origin_time(writer->profile, marker);
    const struct thread *foreign = profile_foreign_thread(writer->profile, thread, marker);
    write_backtrace(writer, foreign ? foreign : thread, marker->stack, origin_ns ? *origin_ns : marker->start_ns, json);
}

static void write_marker(struct gecko_thread_writer *writer, const struct thread *thread, const struct marker *marker,
                         struct json *json) {
    json_array_begin(json);
    write_string_number(&writer->markers, json, marker->name);
    json_ms_or_null(json, marker->start_ns, marker_has_start(marker));
    json_ms_or_null(json, marker->end_ns, marker_has_end(marker));
    json_int(json, marker->phase);
    json_int(json, marker->category);
    if (marker_json_has_payload(marker)) marker_json_payload(&writer->markers, json, thread, marker);
    json_array_end(json);
}

/* Writes an allocation as a marker of a type that the client moves into a table of its own. */
static void write_allocation(struct gecko_thread_writer *writer, const struct thread *thread,
                             const struct allocation *allocation, struct json *json) {
    json_array_begin(json);
    json_int(json, numbering_of(&writer->strings, writer->tables->allocation_string));
    json_ms(json, allocation->time_ns);
    json_null(json);
    json_int(json, MARKER_INSTANT);
    json_int(json, 0);
    json_object_begin(json);
    json_key_string(json, "type", "Native allocation");
    json_key_int(json, "size", allocation->bytes);
    json_key_int(json, "memoryAddress", (int64_t)(allocation->address & INT64_MAX));
    json_key_int(json, "threadId", profile_thread_at(writer->profile, allocation->thread)->tid);
    if (!stack_is_none(allocation->stack))
        write_backtrace(writer, thread, allocation->stack, allocation->time_ns, json);
    json_object_end(json);
    json_array_end(json);
}

static void write_markers(struct gecko_thread_writer *writer, const struct thread *thread, struct json *json) {
    table_of_rows_begin(json, "markers", &common_marker_table, NULL);
    for (size_t i = 0; i < thread->allocations.count; i++)
        write_allocation(writer, thread, column_at(&thread->allocations, i), json);
    struct marker_sort_key *keys = order_markers(&thread->markers, writer->profile->failure);
    for (size_t i = 0; keys && i < thread->markers.count; i++)
        write_marker(writer, thread, column_at(&thread->markers, keys[i].row), json);
    memory_free(keys);
    table_of_rows_end(json);
}

/* ---- The writer. ---- */

void gecko_thread_writer_init(struct gecko_thread_writer *writer, struct gecko_tables *tables,
                              const struct gecko_weights *weights) {
    const struct profile *profile = tables->profile;
    struct failure *failure = profile->failure;
    *writer = (struct gecko_thread_writer){.profile = profile, .weights = weights, .tables = tables};
    /* Differences are not CPU times, and the CPU time of a sample cannot be split among its repetitions. */
    writer->has_cpu_deltas = profile_are_weights_cpu(profile) && !weights->are_repeated && !weights->are_lost;
    size_t frame_count = row_table_count(&tables->frames);
    writer->idle_stacks = profile_idle_stacks(profile);
    numbering_init(&writer->strings, gecko_tables_string_count_max(tables), failure);
    numbering_init(&writer->frames, frame_count, failure);
    numbering_init(&writer->stacks, row_table_count(&tables->stacks), failure);
    numbering_init(&writer->sources, row_table_count(&profile->sources), failure);
    marker_json_init(&writer->markers, profile,
                     (struct marker_json_format){write_string_number, write_marker_stack, writer});
    column_init(&writer->path, sizeof(uint32_t), failure);
    writer->frame_order = memory_allocate_zeroed(failure, frame_count + 1, sizeof *writer->frame_order);
    writer->frame_positions = memory_allocate_zeroed(failure, frame_count + 1, sizeof *writer->frame_positions);
}

void gecko_thread_writer_fini(struct gecko_thread_writer *writer) {
    numbering_fini(&writer->strings);
    numbering_fini(&writer->frames);
    numbering_fini(&writer->stacks);
    numbering_fini(&writer->sources);
    marker_json_fini(&writer->markers);
    column_fini(&writer->path);
    MEMORY_FREE_ALL(writer->idle_stacks, writer->frame_order, writer->frame_positions);
    *writer = (struct gecko_thread_writer){0};
}

/* ---- The thread. ---- */

static struct text written_name(const struct thread *thread) {
    if (thread->is_main) return TEXT(GECKO_MAIN_THREAD_NAME);
    /* With exactly this name, the client would take the thread for the main thread. */
    if (text_equal(thread->name, TEXT(GECKO_MAIN_THREAD_NAME))) return TEXT(GECKO_MAIN_THREAD_NAME " ");
    return thread->name;
}

/* The client shows the name of the process instead of the main thread's name, which says more unless it is that of
 * every main thread of Firefox. */
static struct text written_process_name(const struct process *process, const struct thread *thread) {
    bool says_nothing = text_equal(process->title, TEXT(GECKO_MAIN_THREAD_NAME)) && process->name.bytes_count;
    return thread->is_main && !says_nothing ? process->title : process->name;
}

static void write_identity(const struct profile *profile, const struct thread *thread, struct json *json) {
    const struct process *process = profile_process_at(profile, thread->process);
    json_key_value_text(json, "name", written_name(thread));
    thread_json_process_type(json, profile, process);
    json_key_value_text(json, "processName", written_process_name(process, thread));
    json_key(json, "pid");
    thread_json_id(json, process->pid_text);
    thread_json_tid(json, thread);
    thread_json_key_start(json, "registerTime", thread->start_ns);
    thread_json_key_time(json, "unregisterTime", thread->end_ns);
}

void gecko_thread_write(struct gecko_thread_writer *writer, const struct thread *thread, struct json *json) {
    numbering_restart(&writer->strings);
    numbering_restart(&writer->frames);
    numbering_restart(&writer->stacks);
    json_object_begin(json);
    write_identity(writer->profile, thread, json);
    write_samples(writer, thread, json);
    write_markers(writer, thread, json);
    if (!failure_is_set(writer->profile->failure)) {
        order_frames(writer);
        write_stack_table(writer, json);
        write_frame_table(writer, json);
        write_string_table(writer, json);
    }
    json_object_end(json);
}
