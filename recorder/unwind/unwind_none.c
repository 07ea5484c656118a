/* Replaces the unwinder on machines whose stacks are unknown. There are no tables and no native frames. Stacks consist
 * of labels only. */
#include "stack_walk.h"

#if !UNWIND_KNOWS_MACHINE

void unwind_snapshot_refresh(void) {}

bool unwind_snapshot_has_wanted(void) { return false; }

void unwind_snapshot_want_all(void) {}

void unwind_snapshot_build_wanted(void) {}

uint32_t unwind_snapshot_build_count(void) { return 0; }

const struct unwind_snapshot *unwind_snapshot_current(void) { return NULL; }

bool unwind_snapshot_find(const struct unwind_snapshot *snapshot, uint64_t address, struct unwind_rule *rule) {
    (void)snapshot;
    (void)address;
    (void)rule;
    return false;
}

bool unwind_snapshot_find_function(const struct unwind_snapshot *snapshot, uint64_t address, uint64_t *start,
                                   uint64_t *end) {
    (void)snapshot;
    (void)address;
    (void)start;
    (void)end;
    return false;
}

uint64_t unwind_snapshot_number(const struct unwind_snapshot *snapshot) {
    (void)snapshot;
    return 0;
}

void unwind_snapshot_reclaim(void) {}

void unwind_snapshot_forget(void) {}

size_t stack_walk(const struct unwind_snapshot *snapshot, const ucontext_t *context, struct stack_limits own,
                  struct walked_frame *frames, size_t capacity, bool *is_truncated) {
    (void)context;
    return stack_walk_here(snapshot, own, frames, capacity, is_truncated);
}

size_t stack_walk_here(const struct unwind_snapshot *snapshot, struct stack_limits own, struct walked_frame *frames,
                       size_t capacity, bool *is_truncated) {
    (void)snapshot;
    (void)own;
    (void)frames;
    (void)capacity;
    *is_truncated = false;
    return 0;
}

size_t stack_walk_copy(const struct unwind_snapshot *snapshot, uint64_t pc, uint64_t sp, const struct stack_copy *copy,
                       stack_find_depth *find_depth, struct walked_frame *frames, size_t capacity, bool *is_truncated,
                       bool *is_cut) {
    (void)pc;
    (void)sp;
    (void)copy;
    (void)find_depth;
    *is_cut = false;
    return stack_walk_here(snapshot, (struct stack_limits){0, 0}, frames, capacity, is_truncated);
}

#endif
