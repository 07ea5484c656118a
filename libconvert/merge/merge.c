#include "merge.h"

#include "libconvert/base/memory.h"
#include "merge_steps.h"

void merge_init(struct merge *merge, size_t input_count, struct failure *failure) {
    *merge = (struct merge){.failure = failure};
    merge->inputs = memory_allocate_zeroed(failure, input_count, sizeof *merge->inputs);
    if (!merge->inputs) return;
    merge->input_count = input_count;
    for (size_t i = 0; i < input_count; i++) {
        merge->inputs[i].failure.memory = failure->memory;
        profile_init(&merge->inputs[i].profile, &merge->inputs[i].failure);
    }
}

void merge_fini(struct merge *merge) {
    for (size_t i = 0; i < merge->input_count; i++) profile_fini(&merge->inputs[i].profile);
    memory_free(merge->payloads);
    memory_free(merge->inputs);
    *merge = (struct merge){0};
}

/* Numbers the values and cells of all inputs consecutively. The inputs keep the payloads. */
static void join_payloads(struct merge *merge, struct profile *whole) {
    merge->payloads = memory_allocate_zeroed(merge->failure, merge->input_count, sizeof *merge->payloads);
    if (!merge->payloads) return;
    uint64_t value_count = 0, cell_count = 0;
    for (size_t i = 0; i < merge->input_count; i++) {
        struct payloads *payloads = &merge->payloads[i];
        *payloads = merge->inputs[i].profile.payloads;
        payloads->first_value = (uint32_t)value_count;
        payloads->first_cell = (uint32_t)cell_count;
        value_count += payloads->values.count;
        cell_count += payloads->cells.count;
    }
    if (value_count >= ID_NONE || cell_count >= ID_NONE)
        failure_set(merge->failure, FAILURE_MEMORY, "more than 2^32 values of markers: merge fewer inputs");
    whole->payloads.first_value = (uint32_t)value_count;
    whole->payloads.first_cell = (uint32_t)cell_count;
    whole->merged_payloads = merge->payloads;
    whole->merged_payloads_count = merge->input_count;
}

/* What fails while rows are moved may be latched in the latch of an input. */
static void take_failures(struct merge *merge) {
    for (size_t i = 0; i < merge->input_count && !failure_is_set(merge->failure); i++)
        if (failure_is_set(&merge->inputs[i].failure)) *merge->failure = merge->inputs[i].failure;
}

void merge_run(struct merge *merge, struct profile *whole) {
    struct merge_tasks tasks;
    if (failure_is_set(merge->failure)) return;
    if (merge->runs) {
        merge_lay_out(merge);
    } else {
        merge_align(merge);
        merge_refuse_runs(merge);
    }
    if (failure_is_set(merge->failure)) return;
    merge_weights(merge, whole);
    join_payloads(merge, whole);
    if (failure_is_set(merge->failure)) return;
    merge_tasks_init(&tasks, merge, whole);
    if (!failure_is_set(merge->failure)) merge_rows(merge, &tasks, whole);
    if (!failure_is_set(merge->failure)) merge_meta(merge, whole);
    merge_tasks_fini(&tasks);
    take_failures(merge);
}
