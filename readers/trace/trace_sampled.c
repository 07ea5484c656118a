#include "trace_sampled.h"

#include "libconvert/base/memory.h"

struct trace_sampled *trace_sampled_create(struct profile *profile) {
    struct trace_sampled *sampled = memory_allocate(profile->failure, sizeof *sampled);
    if (!sampled) return NULL;
    sampled->profile = profile;
    value_table_init(&sampled->threads, sizeof(uint64_t), sizeof(struct trace_sampled_thread), profile->failure);
    return sampled;
}

void trace_sampled_destroy(struct trace_sampled *sampled) {
    if (!sampled) return;
    for (uint32_t i = 0; i < value_table_count(&sampled->threads); i++)
        stack_path_fini(&((struct trace_sampled_thread *)value_table_at(&sampled->threads, i))->path);
    value_table_fini(&sampled->threads);
    memory_free(sampled);
}

struct trace_sampled_thread *trace_sampled_thread(struct trace_sampled *sampled, uint64_t uid) {
    const struct trace_sampled_thread initial = {.stack = stack_none(), .last_idle_ticks = TIME_NONE};
    return value_table_intern(&sampled->threads, &uid, &initial);
}
