#include "merge.h"

#include "libconvert/base/memory.h"
#include "merge_steps.h"

void merge_init(struct merge *merge, size_t input_count, struct failure *failure) {
    *merge = (struct merge){.failure = failure};
    merge->inputs = memory_allocate_zeroed(failure, input_count, sizeof *merge->inputs);
    if (!merge->inputs) return;
    merge->input_count = input_count;
    payloads_init(&merge->payloads, failure);
    for (size_t i = 0; i < input_count; i++) {
        profile_init(&merge->inputs[i].profile, failure);
        merge->inputs[i].profile.shared_payloads = &merge->payloads;
    }
}

void merge_fini(struct merge *merge) {
    for (size_t i = 0; i < merge->input_count; i++) profile_fini(&merge->inputs[i].profile);
    payloads_fini(&merge->payloads);
    memory_free(merge->inputs);
    *merge = (struct merge){0};
}

void merge_run(struct merge *merge, struct profile *whole) {
    struct merge_tasks tasks;
    if (failure_is_set(merge->failure)) return;
    merge_align(merge);
    merge_weights(merge, whole);
    if (failure_is_set(merge->failure)) return;
    merge_tasks_init(&tasks, merge, whole);
    if (!failure_is_set(merge->failure)) merge_rows(merge, &tasks, whole);
    if (!failure_is_set(merge->failure)) merge_meta(merge, whole);
    merge_tasks_fini(&tasks);
    struct payloads none = whole->own_payloads;
    whole->own_payloads = merge->payloads;
    merge->payloads = none;
}
