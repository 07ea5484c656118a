/* Checks whether a finished profile is consistent: all ids refer to existing rows, and times are in order. Emitters
 * rely on this. */
#pragma once

#include "libconvert/profile/profile.h"

/* Each of the functions below returns a description of the first fault, or NULL if there is none. */

static inline const char *funcs_fault(const struct profile *profile) {
    for (uint32_t i = 0; i < row_table_count(&profile->funcs); i++) {
        const struct func *func = profile_func_at(profile, (func_id){i});
        bool has_resource = !resource_is_none(func->resource), has_source = !source_is_none(func->source);
        if (func->name.index >= strings_count(&profile->strings)) return "the name of a func";
        if (has_resource && func->resource.index >= row_table_count(&profile->resources)) return "a func's resource";
        if (has_source && func->source.index >= row_table_count(&profile->sources)) return "a func's source";
    }
    return NULL;
}

static inline const char *frames_fault(const struct profile *profile) {
    for (uint32_t i = 0; i < row_table_count(&profile->frames); i++) {
        const struct frame *frame = profile_frame_at(profile, (frame_id){i});
        if (frame->func.index >= row_table_count(&profile->funcs)) return "a frame's func";
        if (lib_is_none(frame->lib) != (frame->address == ADDRESS_NONE)) return "a frame with half an address";
        if (!lib_is_none(frame->lib) && frame->lib.index >= libs_count(&profile->libs)) return "a frame's library";
        if (frame->address < ADDRESS_NONE) return "a frame's address";
        if (frame->inherits_category && (frame->category || frame->subcategory))
            return "a frame with a category of its own that is its caller's";
        if (frame->category >= profile->categories.rows.count) return "a frame's category";
        if (frame->subcategory >= categories_at(&profile->categories, frame->category)->subcategories.count)
            return "a frame's subcategory";
        if (native_symbol_is_none(frame->native_symbol)) continue;
        if (frame->native_symbol.index >= row_table_count(&profile->native_symbols)) return "a frame's symbol";
        if (!lib_is_same(profile_native_symbol_at(profile, frame->native_symbol)->lib, frame->lib))
            return "a frame with a symbol of another library";
    }
    return NULL;
}

static inline const char *stacks_fault(const struct profile *profile) {
    for (uint32_t i = 0; i < stack_table_count(&profile->stacks); i++) {
        const struct stack *stack = profile_stack_at(profile, (stack_id){i});
        if (stack->frame.index >= row_table_count(&profile->frames)) return "a stack's frame";
        if (!stack_is_none(stack->prefix) && stack->prefix.index >= i) return "a stack before its parent";
    }
    return NULL;
}

static inline bool is_stack_or_none(const struct profile *profile, stack_id stack) {
    return stack_is_none(stack) || stack.index < stack_table_count(&profile->stacks);
}

static inline const char *samples_fault(const struct profile *profile, const struct samples *samples) {
    int64_t last_ns = 0;
    const struct sample_details *details = samples->details;
    if (details && details->cpu_ns.count && details->cpu_ns.count != samples->rows.count)
        return "a column of CPU times that is not as long as the samples";
    if (details && details->delay_ns.count && details->delay_ns.count != samples->rows.count)
        return "a column of delays that is not as long as the samples";
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        int64_t time_ns = samples_at(samples, i)->time_ns;
        uint32_t weight = samples_at(samples, i)->weight;
        if (time_ns < last_ns || time_ns > profile->end_ns) return "a sample's time";
        if (!is_stack_or_none(profile, samples_at(samples, i)->stack)) return "a sample's stack";
        bool is_large = weight >> 31;
        if (is_large && (weight & INT32_MAX) >= row_table_count(&profile->large_weights)) return "a sample's weight";
        last_ns = time_ns;
    }
    return NULL;
}

static inline const char *value_fault(const struct profile *profile, enum marker_format format,
                                      const union marker_value *value) {
    enum marker_value_kind kind = marker_format_kind(format);
    if (marker_value_is_absent(kind, value)) return NULL;
    if (kind == VALUE_STRING && value->string.index >= strings_count(&profile->strings)) return "a marker's string";
    const struct payloads *last = &profile->payloads;
    if (kind == VALUE_CELLS && (uint64_t)value->cells.first + value->cells.count > last->first_cell + last->cells.count)
        return "a marker's cells";
    return NULL;
}

static inline const char *marker_fault(const struct profile *profile, const struct marker *marker) {
    if (marker->name.index >= strings_count(&profile->strings)) return "a marker's name";
    if (marker->category >= profile->categories.rows.count) return "a marker's category";
    if (!is_stack_or_none(profile, marker->stack)) return "a marker's stack";
    uint32_t slot_count = profile->payloads.first_slot + profile->payloads.slots.count;
    if (marker->has_origin && marker->slots_at - 2 >= slot_count) return "the origin of a marker's stack";
    const thread_id *origin = profile_origin_thread(profile, marker);
    if (origin && !thread_is_none(*origin) && origin->index >= profile->threads.count)
        return "the thread of a marker's stack";
    if (marker->schema == MARKER_SCHEMA_NONE) return NULL;
    if (marker->schema >= profile->marker_schemas.count) return "a marker's schema";
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        enum marker_value_kind kind = marker_format_kind(schema->fields[i].format);
        uint32_t slot = marker->slots_at + schema->fields[i].slot;
        if (slot + marker_slot_count(kind) > slot_count) return "a marker without its values";
        const union marker_value value = profile_value_at(profile, slot, kind);
        const char *fault = value_fault(profile, schema->fields[i].format, &value);
        if (fault) return fault;
    }
    return NULL;
}

static inline const char *markers_fault(const struct profile *profile, const struct column *markers) {
    int64_t last_ns = 0;
    for (size_t i = 0; i < markers->count; i++) {
        const struct marker *marker = column_at(markers, i);
        const char *fault = marker_fault(profile, marker);
        if (fault) return fault;
        if (marker->start_ns < last_ns || marker->end_ns < marker->start_ns || marker->end_ns > profile->end_ns)
            return "a marker's time";
        last_ns = marker->start_ns;
    }
    return NULL;
}

static inline const char *allocations_fault(const struct profile *profile, const struct column *allocations) {
    int64_t last_ns = 0;
    for (size_t i = 0; i < allocations->count; i++) {
        const struct allocation *allocation = column_at(allocations, i);
        if (allocation->time_ns < last_ns || allocation->time_ns > profile->end_ns) return "an allocation's time";
        if (!is_stack_or_none(profile, allocation->stack)) return "an allocation's stack";
        if (allocation->thread.index >= profile->threads.count) return "an allocation's thread";
        last_ns = allocation->time_ns;
    }
    return NULL;
}

static inline const char *overheads_fault(const struct profile *profile) {
    for (size_t i = 0; i < profile->overheads.count; i++) {
        const struct overhead *overhead = column_at(&profile->overheads, i);
        if (overhead->process.index >= profile->processes.count) return "an overhead's process";
        if (overhead->locking_ns < 0 || overhead->counters_ns < 0 || overhead->threads_ns < 0)
            return "an overhead's time";
    }
    return NULL;
}

static inline const char *threads_fault(const struct profile *profile) {
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = profile_thread_at(profile, (thread_id){i});
        if (thread->process.index >= profile->processes.count) return "a thread's process";
        const char *fault = samples_fault(profile, &thread->samples);
        if (!fault) fault = markers_fault(profile, &thread->markers);
        if (!fault) fault = allocations_fault(profile, &thread->allocations);
        if (fault) return fault;
    }
    return NULL;
}

static inline bool thread_is_filled(const struct thread *thread) {
    return samples_count(&thread->samples) || thread->markers.count || thread->allocations.count;
}

/* Checks that the order of threads has every thread with samples, markers or allocations. */
static inline const char *thread_order_fault(const struct profile *profile) {
    size_t filled_count = 0, filled_in_order_count = 0;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = profile_thread_at(profile, (thread_id){i});
        filled_count += thread_is_filled(thread);
    }
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const thread_id *id = column_at(&profile->thread_order, i);
        if (id->index >= profile->threads.count) return "the order of threads";
        const struct thread *thread = profile_thread_at(profile, *id);
        filled_in_order_count += thread_is_filled(thread);
    }
    return filled_count == filled_in_order_count ? NULL : "threads that are not written, or more than once";
}

/* Checks the counters. Their times may be before the profile's zero: see counter_start_at_zero. */
static inline const char *counters_fault(const struct profile *profile) {
    for (size_t i = 0; i < profile->counters.count; i++) {
        const struct counter *counter = column_at(&profile->counters, i);
        if (counter->process.index >= profile->processes.count) return "a counter's process";
        if (!counter->samples.count) return "a counter without samples";
        for (size_t j = 1; j < counter->samples.count; j++) {
            const struct counter_sample *before = column_at(&counter->samples, j - 1);
            const struct counter_sample *sample = column_at(&counter->samples, j);
            if (sample->time_ns <= before->time_ns) return "a counter's time";
            if (sample->reserved) return "what is kept free in a counter's sample";
        }
    }
    return NULL;
}

static inline const char *profile_fault(const struct profile *profile) {
    const char *(*const faults[])(const struct profile *) = {
        funcs_fault, frames_fault, stacks_fault, threads_fault, thread_order_fault, counters_fault, overheads_fault};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *fault = faults[i](profile);
        if (fault) return fault;
    }
    return NULL;
}
