#include "merge.h"

#include "libconvert/base/memory.h"
#include "merge_steps.h"

void merge_init(struct merge *merge, size_t input_count, struct failure *failure) {
    *merge = (struct merge){.failure = failure};
    merge->inputs = memory_allocate_zeroed(failure, input_count, sizeof *merge->inputs);
    merge->payloads = memory_allocate_zeroed(failure, input_count, sizeof *merge->payloads);
    if (failure_is_set(failure)) return;
    merge->input_count = input_count;
    for (size_t i = 0; i < input_count; i++) {
        merge->inputs[i].failure.memory = failure->memory;
        profile_init(&merge->inputs[i].profile, &merge->inputs[i].failure);
    }
}

void merge_fini(struct merge *merge) {
    for (size_t i = 0; i < merge->input_count; i++) {
        profile_fini(&merge->inputs[i].profile);
        memory_free(merge->inputs[i].schemas);
    }
    MEMORY_FREE_ALL(merge->payloads, merge->inputs);
    *merge = (struct merge){0};
}

/* The inputs keep their values and cells, which are numbered consecutively. */
void merge_take_tables(struct merge *merge, struct profile *whole) {
    struct merge_input *input = &merge->inputs[merge->taken_count];
    struct payloads *payloads = &input->profile.payloads, *next = &whole->payloads;
    if (failure_is_set(whole->failure)) return;
    payloads->first_slot = next->first_slot;
    payloads->first_cell = next->first_cell;
    if (payloads->slots.count >= ID_NONE - next->first_slot || payloads->cells.count >= ID_NONE - next->first_cell)
        failure_set(whole->failure, FAILURE_MEMORY, "more than 2^32 values of markers: merge fewer inputs");
    next->first_slot += payloads->slots.count;
    next->first_cell += payloads->cells.count;
    merge->payloads[merge->taken_count++] = *payloads;
    whole->merged_payloads = merge->payloads;
    whole->merged_payloads_count = merge->taken_count;
    if (!failure_is_set(whole->failure)) merge_tables(input, whole);
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
    merge_tasks_init(&tasks, merge, whole);
    if (!merge->runs && !failure_is_set(merge->failure)) merge_choose_samples(merge, &tasks);
    merge_weights(merge, whole);
    while (merge->taken_count < merge->input_count && !failure_is_set(merge->failure)) merge_take_tables(merge, whole);
    if (!failure_is_set(merge->failure)) merge_rows(merge, &tasks, whole);
    if (!failure_is_set(merge->failure)) merge_meta(merge, whole);
    merge_tasks_fini(&tasks);
    take_failures(merge);
}
