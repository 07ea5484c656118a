#include "perf_deferred.h"

#include "libconvert/base/memory.h"

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

struct perf_deferred *perf_deferred_take(struct perf_tasks *tasks, struct perf_task *task) {
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

void perf_deferred_free(struct perf_tasks *tasks) {
    for (size_t i = 0; tasks->deferred_count && i < tasks->rows.count; i++) {
        struct perf_deferred *deferred = perf_deferred_take(tasks, column_at(&tasks->rows, i));
        for (struct perf_deferred *next; deferred; deferred = next) {
            next = deferred->next;
            memory_free(deferred);
        }
    }
}
