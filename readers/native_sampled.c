#include "native_sampled.h"

#include "libconvert/memory.h"

struct native_sampled *native_sampled_create(struct profile *profile) {
    struct native_sampled *sampled = memory_allocate(profile->failure, sizeof *sampled);
    if (!sampled) return NULL;
    sampled->profile = profile;
    row_table_init(&sampled->uids, sizeof(uint64_t), profile->failure);
    column_init(&sampled->threads, sizeof(struct native_sampled_thread), profile->failure);
    return sampled;
}

void native_sampled_destroy(struct native_sampled *sampled) {
    if (!sampled) return;
    for (size_t i = 0; i < sampled->threads.count; i++)
        stack_path_fini(&((struct native_sampled_thread *)column_at(&sampled->threads, i))->path);
    row_table_fini(&sampled->uids);
    column_fini(&sampled->threads);
    memory_free(sampled);
}

struct native_sampled_thread *native_sampled_thread(struct native_sampled *sampled, uint64_t uid) {
    uint32_t row = row_table_intern(&sampled->uids, &uid);
    if (row == ID_NONE) return NULL;
    if (row < sampled->threads.count) return column_at(&sampled->threads, row);
    struct native_sampled_thread *thread = column_push(&sampled->threads);
    if (thread) *thread = (struct native_sampled_thread){.stack = stack_none()};
    return thread;
}
