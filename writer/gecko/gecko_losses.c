#include "gecko_losses.h"

#include "gecko_process.h"
#include "gecko_thread.h"
#include "libconvert/format/gecko_format.h"
#include "writer/counter_json.h"
#include "writer/losses.h"

/* ---- Rows. ---- */

static void enter_frames(const struct profile *profile, struct ledger *ledger) {
    uint64_t depths = 0, addresses = 0, symbols = 0;
    COLUMN_EACH(const struct frame, frame, &profile->frames.rows) {
        depths += frame->inline_depth > 0;
        addresses += frame->address != ADDRESS_NONE;
        symbols += !native_symbol_is_none(frame->native_symbol);
    }
    losses_enter(ledger, "inline depth of a frame (the frame itself is kept)", depths);
    losses_enter(ledger, "address of a frame", addresses);
    losses_enter(ledger, "native symbol of a frame", symbols);
}

static bool is_library(const struct profile *profile, resource_id id) {
    return profile_resource_at(profile, id)->type == RESOURCE_LIBRARY;
}

static void enter_funcs(const struct profile *profile, struct ledger *ledger) {
    uint64_t sources = 0, lines = 0, flags = 0, script_resources = 0, types = 0, script_lines = 0;
    COLUMN_EACH(const struct func, func, &profile->funcs.rows) {
        bool is_script = gecko_location_parts(profile, func).kind == LOCATION_SCRIPT;
        bool has_resource = !resource_is_none(func->resource);
        script_resources += is_script && has_resource;
        script_lines += is_script && !func->line;
        if (is_script) continue;
        sources += !source_is_none(func->source);
        lines += func->line > 0;
        flags += func->flags & FUNC_IS_JS;
        types += has_resource && !is_library(profile, func->resource);
    }
    losses_enter(ledger, "source file of a native function", sources);
    losses_enter(ledger, "line of a native function", lines);
    losses_enter(ledger, "JavaScript flag of a function without a source file", flags);
    losses_enter(ledger, "resource of a JavaScript function", script_resources);
    losses_enter(ledger, "type of a resource that is not a library", types);
    losses_note(ledger, "JavaScript function without a line (line 0 is written)", script_lines);
    losses_enter(ledger, "path and build id of a library", libs_count(&profile->libs));
    losses_enter(ledger, "text of a source file", losses_count_contents(profile));
}

static void enter_threads(const struct profile *profile, struct ledger *ledger) {
    uint64_t names = 0, starts = 0;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        int64_t start_ns = profile_process_at(profile, thread->process)->start_ns;
        names += !thread->is_main && text_equal(thread->name, TEXT(GECKO_MAIN_THREAD_NAME));
        starts += gecko_is_first_of_process(profile, i) && start_ns != TIME_NONE && start_ns != 0;
    }
    losses_enter(ledger, "name of a thread that would make it a main thread (a space is added)", names);
    losses_enter(ledger, "start time of a process", starts);
}

/* The client identifies the process of a counter, or of an overhead, by its main thread. Only counters that are written
 * have a display to lose. */
static void enter_rows_of_processes(const struct profile *profile, struct ledger *ledger) {
    uint64_t counters = 0, displays = 0, levels = 0, overheads = 0;
    COLUMN_EACH(const struct counter, counter, &profile->counters) {
        bool is_written = gecko_has_main_thread(profile, counter->process);
        counters += !is_written;
        displays += is_written && !counter_json_is_shown_by_default(counter);
        levels += is_written && counter->graph == COUNTER_ACCUMULATED && !counter_json_is_right_by_default(counter);
    }
    for (size_t i = 0; i < profile->overheads.count; i++)
        overheads +=
            !gecko_has_main_thread(profile, ((const struct overhead *)column_at(&profile->overheads, i))->process);
    const struct profile_meta *meta = &profile->meta;
    losses_enter(ledger, "counter of a process without a main thread", counters);
    losses_enter(ledger, "overhead of recording in a process without a main thread", overheads);
    losses_enter(ledger, "graph, unit, color, order or label of a counter", displays);
    losses_note(ledger, "changes of an accumulating counter (its levels are written)", levels);
    losses_enter(ledger, "entry of the information panel (meta.extra)", meta->extra.count);
    losses_enter(ledger, "program that wrote the trace (meta.importedFrom)", meta->imported_from.bytes_count > 0);
    losses_enter(ledger, "command line (meta.arguments)", meta->arguments.bytes_count > 0);
    losses_enter(ledger, "size of the main memory (meta.mainMemory)", meta->main_memory_bytes > 0);
}

/* ---- Weights and CPU times. ---- */

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
    enter_frames(profile, ledger);
    enter_funcs(profile, ledger);
    enter_threads(profile, ledger);
    enter_rows_of_processes(profile, ledger);
    for (size_t i = 0; i < LOCATION_CHANGE_COUNT; i++) losses_enter(ledger, change_causes[i], tables->changes[i]);
    losses_enter(ledger, "function that differs from another one only in what is lost", tables->merged_func_count);
    gecko_weights_enter(weights, ledger);
    losses_enter(ledger, "weight of a sample in a track of an event", count_track_weights(profile));
    bool has_lost_weights = profile_are_weights_cpu(profile) && !has_cpu_deltas;
    losses_enter(ledger, "CPU time of a sample (samples are repeated, or weights are differences)",
                 has_lost_weights ? weights->sample_count : count_lost_cpu(profile, weights));
}
