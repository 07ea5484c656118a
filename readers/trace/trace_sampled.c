#include "trace_sampled.h"

#include "libconvert/base/memory.h"

struct trace_sampled *trace_sampled_create(struct profile *profile) {
    struct trace_sampled *sampled = memory_allocate(profile->failure, sizeof *sampled);
    if (!sampled) return NULL;
    sampled->profile = profile;
    row_table_init(&sampled->uids, sizeof(uint64_t), profile->failure);
    column_init(&sampled->threads, sizeof(struct trace_sampled_thread), profile->failure);
    return sampled;
}

void trace_sampled_destroy(struct trace_sampled *sampled) {
    if (!sampled) return;
    for (size_t i = 0; i < sampled->threads.count; i++)
        stack_path_fini(&((struct trace_sampled_thread *)column_at(&sampled->threads, i))->path);
    row_table_fini(&sampled->uids);
    column_fini(&sampled->threads);
    memory_free(sampled);
}

struct trace_sampled_thread *trace_sampled_thread(struct trace_sampled *sampled, uint64_t uid) {
    uint32_t row = row_table_intern(&sampled->uids, &uid);
    if (row == ID_NONE) return NULL;
    if (row < sampled->threads.count) return column_at(&sampled->threads, row);
    struct trace_sampled_thread *thread = column_push(&sampled->threads);
    if (thread) *thread = (struct trace_sampled_thread){.stack = stack_none(), .last_idle_ticks = TIME_NONE};
    return thread;
}
