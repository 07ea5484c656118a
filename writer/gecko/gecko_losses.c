#include "gecko_losses.h"

#include "gecko_process.h"
#include "gecko_thread.h"
#include "libconvert/format/gecko_format.h"
#include "writer/counter_json.h"
#include "writer/losses.h"

static bool is_script(const struct profile *profile, const struct func *func) {
    return gecko_location_parts(profile, func).kind == LOCATION_SCRIPT;
}

static const struct func *func_at(const struct profile *profile, uint32_t row) {
    return row_table_at(&profile->funcs, row);
}

static const struct frame *frame_at(const struct profile *profile, uint32_t row) {
    return row_table_at(&profile->frames, row);
}

static bool has_inline_depth(const struct profile *profile, uint32_t row) {
    return frame_at(profile, row)->inline_depth > 0;
}

static bool has_address(const struct profile *profile, uint32_t row) {
    return frame_at(profile, row)->address != ADDRESS_NONE;
}

static bool has_native_symbol(const struct profile *profile, uint32_t row) {
    return !native_symbol_is_none(frame_at(profile, row)->native_symbol);
}

static bool loses_source(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    return !source_is_none(func->source) && !is_script(profile, func);
}

static bool loses_line(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    return func->line && !is_script(profile, func);
}

static bool is_script_without_source(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    return func->flags & FUNC_IS_JS && !is_script(profile, func);
}

static bool has_script_resource(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    return !resource_is_none(func->resource) && is_script(profile, func);
}

static bool is_script_without_line(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    return !func->line && is_script(profile, func);
}

static bool has_typed_resource(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    if (resource_is_none(func->resource) || is_script(profile, func)) return false;
    return profile_resource_at(profile, func->resource)->type != RESOURCE_LIBRARY;
}

static bool has_main_thread_name(const struct profile *profile, uint32_t position) {
    const struct thread *thread = profile_ordered_thread(profile, position);
    return !thread->is_main && text_equal(thread->name, TEXT(GECKO_MAIN_THREAD_NAME));
}

static bool starts_process_late(const struct profile *profile, uint32_t position) {
    const struct process *process = profile_process_at(profile, profile_ordered_thread(profile, position)->process);
    return gecko_is_first_of_process(profile, position) && process->start_ns != TIME_NONE && process->start_ns != 0;
}

static const struct counter *counter_at(const struct profile *profile, uint32_t row) {
    return column_at(&profile->counters, row);
}

/* The client identifies the process of a counter by its main thread. */
static bool has_no_main_thread(const struct profile *profile, uint32_t row) {
    return !gecko_has_main_thread(profile, counter_at(profile, row)->process);
}

static bool has_lost_overhead(const struct profile *profile, uint32_t row) {
    const struct overhead *overhead = column_at(&profile->overheads, row);
    return !gecko_has_main_thread(profile, overhead->process);
}

/* Only counters that are written have a display to lose. */
static bool has_lost_display(const struct profile *profile, uint32_t row) {
    return !has_no_main_thread(profile, row) && !counter_json_is_shown_by_default(counter_at(profile, row));
}

static bool has_levels(const struct profile *profile, uint32_t row) {
    const struct counter *counter = counter_at(profile, row);
    return counter->graph == COUNTER_ACCUMULATED && !has_no_main_thread(profile, row) &&
           !counter_json_is_right_by_default(counter);
}

static bool has_content(const struct profile *profile, uint32_t row) {
    return ((const struct text *)column_at(&profile->source_contents, row))->bytes;
}

/* Properties of the profile's metadata, which counts as one row. */

static bool has_importer(const struct profile *profile, uint32_t row) {
    (void)row;
    return profile->meta.imported_from.bytes_count > 0;
}

static bool has_arguments(const struct profile *profile, uint32_t row) {
    (void)row;
    return profile->meta.arguments.bytes_count > 0;
}

static bool has_main_memory(const struct profile *profile, uint32_t row) {
    (void)row;
    return profile->meta.main_memory_bytes > 0;
}

static const struct loss losses[] = {
    {"inline depth of a frame (the frame itself is kept)", ROWS_FRAMES, has_inline_depth, false},
    {"address of a frame", ROWS_FRAMES, has_address, false},
    {"native symbol of a frame", ROWS_FRAMES, has_native_symbol, false},
    {"source file of a native function", ROWS_FUNCS, loses_source, false},
    {"line of a native function", ROWS_FUNCS, loses_line, false},
    {"JavaScript flag of a function without a source file", ROWS_FUNCS, is_script_without_source, false},
    {"resource of a JavaScript function", ROWS_FUNCS, has_script_resource, false},
    {"type of a resource that is not a library", ROWS_FUNCS, has_typed_resource, false},
    {"JavaScript function without a line (line 0 is written)", ROWS_FUNCS, is_script_without_line, true},
    {"path and build id of a library", ROWS_LIBS, loss_of_row, false},
    {"text of a source file", ROWS_SOURCE_CONTENTS, has_content, false},
    {"name of a thread that would make it a main thread (a space is added)", ROWS_THREADS, has_main_thread_name, false},
    {"start time of a process", ROWS_THREADS, starts_process_late, false},
    {"counter of a process without a main thread", ROWS_COUNTERS, has_no_main_thread, false},
    {"overhead of recording in a process without a main thread", ROWS_OVERHEADS, has_lost_overhead, false},
    {"graph, unit, color, order or label of a counter", ROWS_COUNTERS, has_lost_display, false},
    {"changes of an accumulating counter (its levels are written)", ROWS_COUNTERS, has_levels, true},
    {"entry of the information panel (meta.extra)", ROWS_EXTRA, loss_of_row, false},
    {"program that wrote the trace (meta.importedFrom)", ROWS_META, has_importer, false},
    {"command line (meta.arguments)", ROWS_META, has_arguments, false},
    {"size of the main memory (meta.mainMemory)", ROWS_META, has_main_memory, false},
};

static uint64_t count_track_weights(const struct profile *profile) {
    uint64_t count = 0;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        uint32_t sample_count = thread_is_track(thread) ? samples_count(&thread->samples) : 0;
        for (uint32_t row = 0; row < sample_count; row++) count += samples_at(&thread->samples, row)->weight != 1;
    }
    return count;
}

/* Returns how many samples have a separate CPU time that is not written because samples are repeated. */
static uint64_t count_lost_cpu(const struct profile *profile, const struct gecko_weights *weights) {
    uint64_t count = 0;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct samples *samples = &profile_ordered_thread(profile, i)->samples;
        if (!samples_have_cpu(samples) || gecko_tells_cpu(weights, samples)) continue;
        for (uint32_t row = 0; row < samples_count(samples); row++) count += samples_cpu_ns(samples, row) != TIME_NONE;
    }
    return count;
}

void gecko_losses_enter(const struct gecko_tables *tables, const struct gecko_weights *weights, bool has_cpu_deltas,
                        struct ledger *ledger) {
    static const char *const change_causes[LOCATION_CHANGE_COUNT] = {
        [LOCATION_SPACE_ADDED] = "function name that the client would take for more (a space is added)",
        [LOCATION_LINES_JOINED] = "line break in a function name (a space is written)",
        [LOCATION_BRACKETS_REPLACED] = "round brackets in a library's name (square ones are written)",
    };
    const struct profile *profile = tables->profile;
    losses_enter(profile, losses, sizeof losses / sizeof *losses, ledger);
    for (size_t i = 0; i < LOCATION_CHANGE_COUNT; i++)
        losses_enter_values(ledger, change_causes[i], tables->changes[i]);
    losses_enter_values(ledger, "function that differs from another one only in what is lost",
                        tables->merged_func_count);
    gecko_weights_enter(weights, ledger);
    losses_enter_values(ledger, "weight of a sample in a track of an event", count_track_weights(profile));
    bool has_lost_weights = profile_are_weights_cpu(profile) && !has_cpu_deltas;
    losses_enter_values(ledger, "CPU time of a sample (samples are repeated, or weights are differences)",
                        has_lost_weights ? weights->sample_count : count_lost_cpu(profile, weights));
}
