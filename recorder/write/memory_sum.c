#include "memory_sum.h"

#include "recorder/gecko_recorder.h"
#include "recorder/state/sampler_hooks.h"

static struct grec_counter malloc_counter = {.name = "malloc",
                                             .category = "Memory",
                                             .description = "Memory that is allocated and not freed",
                                             .label = "Memory (allocated)",
                                             .unit = "bytes",
                                             .graph = GREC_COUNTER_ACCUMULATED,
                                             .color = GREC_GRAPH_ORANGE,
                                             .sort_weight = 21,
                                             .flags = GREC_COUNTER_SAMPLED};

/* Memory that was freed while recording was off was not counted. */
void memory_forget(void) {
    __atomic_store_n(&malloc_counter.sum_, 0, __ATOMIC_RELAXED);
    if (sampler_table()) sampler_table()->forget_allocations();
}

static void count_operation(int64_t bytes_change) {
    __atomic_fetch_add(&malloc_counter.number_, 1, __ATOMIC_RELAXED);
    grec_counter_add(&malloc_counter, bytes_change);
}

void grec_memory_allocated_(const void *address, size_t bytes_count) {
    count_operation((int64_t)bytes_count);
    if (sampler_table()) sampler_table()->add_allocation(address, bytes_count, __builtin_frame_address(0));
}

void grec_memory_freed_(const void *address, size_t bytes_count) {
    count_operation(-(int64_t)bytes_count);
    if (sampler_table()) sampler_table()->remove_allocation(address, __builtin_frame_address(0));
}
