#include "perf_callers.h"

#include "libconvert/base/memory.h"
#include "libconvert/profile/stack_rebuild.h"

/* Callers in the kernel are code even if they have no names. */
static bool is_unknown(const struct profile *profile, frame_id id) {
    const struct frame *frame = profile_frame_at(profile, id);
    const struct func *func = profile_func_at(profile, frame->func);
    return frame->address == ADDRESS_NONE && resource_is_none(func->resource) &&
           text_equal(strings_text(&profile->strings, func->name), TEXT(PERF_UNKNOWN_CALLER)) &&
           !text_equal(categories_at(&profile->categories, frame->category)->name, TEXT("Kernel"));
}

static bool has_unknown(const struct profile *profile) {
    for (uint32_t i = 0; i < row_table_count(&profile->frames); i++)
        if (is_unknown(profile, (frame_id){i})) return true;
    return false;
}

static bool is_root_of_unknown(const struct profile *profile, stack_id id) {
    if (stack_is_none(id)) return false;
    const struct stack *stack = profile_stack_at(profile, id);
    return stack_is_none(stack->prefix) && is_unknown(profile, stack->frame);
}

/* A stack that has nothing else keeps one of its callers. */
static stack_id rebuild(void *context, stack_id prefix, frame_id frame) {
    struct profile *profile = context;
    return profile_stack(profile, is_root_of_unknown(profile, prefix) ? stack_none() : prefix, frame);
}

/* Returns the number of samples whose stack begins with such a caller, and does not end with it. */
static uint64_t count_samples(const struct profile *profile) {
    uint32_t stack_count = stack_table_count(&profile->stacks);
    uint64_t count = 0;
    bool *begins_so = memory_allocate_zeroed(profile->failure, stack_count, sizeof *begins_so);
    for (uint32_t i = 0; begins_so && i < stack_count; i++) {
        stack_id prefix = profile_stack_at(profile, (stack_id){i})->prefix;
        begins_so[i] = !stack_is_none(prefix) && (begins_so[prefix.index] || is_root_of_unknown(profile, prefix));
    }
    for (size_t i = 0; begins_so && i < profile->threads.count; i++) {
        const struct samples *samples = &((const struct thread *)column_at(&profile->threads, i))->samples;
        for (uint32_t j = 0; j < samples_count(samples); j++) {
            stack_id stack = samples_at(samples, j)->stack;
            count += !stack_is_none(stack) && begins_so[stack.index];
        }
    }
    memory_free(begins_so);
    return count;
}

void perf_callers_drop(struct profile *profile) {
    if (failure_is_set(profile->failure) || !has_unknown(profile)) return;
    uint64_t count = count_samples(profile);
    if (!count) return;
    ledger_enter(&profile->ledger, LEDGER_SAMPLES, LEDGER_NOTED,
                 TEXT("sample whose outermost callers are no code: left out"), count, NULL);
    profile_rebuild_stacks(profile, rebuild, profile);
}
