#include "perf_deferred.h"

#include "libconvert/base/memory.h"

#include "libconvert/profile/stack_table.h"

/* A sample that waits for its user stack. Its stack in `series` is that of the kernel until then. */
struct perf_deferred {
    struct perf_deferred *next; /* next in the same task */
    uint64_t cookie;
    struct perf_series *series;
    uint32_t sample; /* row in series->samples */
    bool is_empty;   /* the sample has no kernel stack; the one in `series` stands in for the user stack */
    struct position position;
};

/* Bounds memory if the user stacks never come. */
enum { DEFERRED_SAMPLES_MAX = 1 << 20 };

bool perf_deferred_add(struct perf_tasks *tasks, struct perf_task *task, struct perf_series *series, uint64_t cookie,
                       bool is_empty, struct position position) {
    if (tasks->deferred_count == DEFERRED_SAMPLES_MAX) return false;
    struct perf_deferred *deferred = memory_allocate(tasks->profile->failure, sizeof *deferred);
    if (!deferred) return false;
    *deferred = (struct perf_deferred){.next = task->deferred,
                                       .cookie = cookie,
                                       .series = series,
                                       .sample = (uint32_t)samples_count(&series->samples) - 1,
                                       .is_empty = is_empty,
                                       .position = position};
    task->deferred = deferred;
    tasks->deferred_count++;
    return true;
}

/* Returns the waiting samples of the task, oldest first, which wait no more. The caller frees each with memory_free. */
static struct perf_deferred *take(struct perf_tasks *tasks, struct perf_task *task) {
    struct perf_deferred *first = NULL;
    while (task->deferred) {
        struct perf_deferred *deferred = task->deferred;
        task->deferred = deferred->next;
        deferred->next = first;
        first = deferred;
        tasks->deferred_count--;
    }
    return first;
}

/* Returns the stack `inner`, which `outer` called. Either may be none. */
static stack_id call(struct stack_table *stacks, struct failure *failure, stack_id outer, stack_id inner) {
    struct column path; /* frame_id: innermost first */
    column_init(&path, sizeof(frame_id), failure);
    for (stack_id at = inner; !stack_is_none(at); at = stack_table_at(stacks, at.index)->prefix) {
        frame_id *added = column_push(&path);
        if (!added) break;
        *added = stack_table_at(stacks, at.index)->frame;
    }
    for (size_t i = path.count; i-- > 0;)
        outer = stack_table_intern(stacks, outer, *(const frame_id *)column_at(&path, i));
    column_fini(&path);
    return outer;
}

void perf_deferred_join(struct perf_tasks *tasks, struct perf_task *task, const struct perf_record *user_stack,
                        stack_id outer, struct stack_table *stacks, struct perf_tallies *tallies) {
    bool is_used = false;
    struct perf_deferred *deferred = take(tasks, task);
    for (struct perf_deferred *next; deferred; deferred = next) {
        next = deferred->next;
        stack_id *stack = &samples_at(&deferred->series->samples, deferred->sample)->stack;
        bool is_joined = deferred->cookie == user_stack->sample.cookie;
        if (is_joined)
            *stack = call(stacks, tasks->profile->failure, outer, deferred->is_empty ? stack_none() : *stack);
        else
            perf_tally(tallies, TALLY_NO_USER_STACK, 1, deferred->position);
        is_used = is_used || is_joined;
        memory_free(deferred);
    }
    perf_tally(tallies, user_stack->position.line ? TALLY_UNUSED_LINES : TALLY_UNUSED_USER_STACK, !is_used,
               user_stack->position);
}

void perf_deferred_count(const struct perf_tasks *tasks, struct perf_tallies *tallies) {
    for (size_t i = 0; tasks->deferred_count && i < tasks->rows.count; i++) {
        const struct perf_task *task = column_at(&tasks->rows, i);
        for (const struct perf_deferred *deferred = task->deferred; deferred; deferred = deferred->next)
            perf_tally(tallies, TALLY_NO_USER_STACK, 1, deferred->position);
    }
}

void perf_deferred_free(struct perf_tasks *tasks) {
    for (size_t i = 0; tasks->deferred_count && i < tasks->rows.count; i++) {
        struct perf_deferred *deferred = take(tasks, column_at(&tasks->rows, i));
        for (struct perf_deferred *next; deferred; deferred = next) {
            next = deferred->next;
            memory_free(deferred);
        }
    }
}
