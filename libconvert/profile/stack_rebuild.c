#include "stack_rebuild.h"

#include "libconvert/base/memory.h"

/* Callers precede their callees, both in the old table and in the new one. */
static stack_id *make_stacks(struct profile *profile, stack_rebuild_frame *rebuild, void *context) {
    uint32_t count = stack_table_count(&profile->stacks);
    stack_id *new_ids = memory_allocate(profile->failure, count * sizeof *new_ids);
    if (!new_ids) return NULL;
    struct stack_table old_stacks = profile->stacks;
    stack_table_seal(&old_stacks);
    stack_table_init(&profile->stacks, profile->failure);
    for (uint32_t i = 0; i < count && !failure_is_set(profile->failure); i++) {
        const struct stack *stack = stack_table_at(&old_stacks, i);
        stack_id prefix = stack_is_none(stack->prefix) ? stack_none() : new_ids[stack->prefix.index];
        new_ids[i] = rebuild(context, prefix, stack->frame);
    }
    stack_table_fini(&old_stacks);
    return new_ids;
}

/* Returns whether it changes. */
static bool renumber(stack_id *stack, const stack_id *new_ids) {
    stack_id old = *stack;
    if (!stack_is_none(old)) *stack = new_ids[old.index];
    return !stack_is_same(old, *stack);
}

/* Returns how many samples have another number then. */
static uint64_t renumber_all(struct profile *profile, const stack_id *new_ids) {
    uint64_t changed_count = 0;
    COLUMN_EACH(struct thread, thread, &profile->threads) {
        COLUMN_EACH(struct sample, sample, &thread->samples.rows) changed_count += renumber(&sample->stack, new_ids);
        COLUMN_EACH(struct marker, marker, &thread->markers) renumber(&marker->stack, new_ids);
        COLUMN_EACH(struct allocation, allocation, &thread->allocations) renumber(&allocation->stack, new_ids);
    }
    return changed_count;
}

void profile_rebuild_stacks(struct profile *profile, stack_rebuild_frame *rebuild, void *context) {
    stack_id *new_ids = make_stacks(profile, rebuild, context);
    if (new_ids && !failure_is_set(profile->failure)) renumber_all(profile, new_ids);
    memory_free(new_ids);
}

void profile_replace_stacks(struct profile *profile, stack_replace *replace, void *context, struct text cause) {
    uint32_t count = stack_table_count(&profile->stacks);
    stack_id *new_ids = memory_allocate(profile->failure, count * sizeof *new_ids);
    for (uint32_t i = 0; i < count && !failure_is_set(profile->failure); i++)
        new_ids[i] = replace(context, new_ids, (stack_id){i});
    uint64_t changed_count = failure_is_set(profile->failure) ? 0 : renumber_all(profile, new_ids);
    ledger_enter(&profile->ledger, LEDGER_SAMPLES, LEDGER_NOTED, cause, changed_count, NULL);
    memory_free(new_ids);
}
