/* Puts allocations in order. The front-end looks for the allocation of freed memory in the table of the same thread. A
 * deallocation is therefore moved to the thread that allocated, whichever thread freed. */
#include "libconvert/base/memory.h"
#include "libconvert/base/value_table.h"
#include "profile_finish.h"

/* An allocation, and where it was added. */
struct event {
    int64_t time_ns;
    uint32_t thread;
    uint32_t row;
};

/* Memory of a process. Compared as bytes, so there is no padding. */
struct address_key {
    uint64_t process;
    uint64_t address;
};

struct ordering {
    struct profile *profile;
    /* For each struct address_key, a uint32_t: the thread that allocated the memory; ID_NONE: it has been freed. */
    struct value_table owners;
    struct column *tables; /* for each thread, its allocations in the new order */
};

static int compare_events(const void *left, const void *right) {
    const struct event *a = left, *b = right;
    return ORDER(a->time_ns, b->time_ns) ?: ORDER(a->thread, b->thread) ?: ORDER(a->row, b->row);
}

static const struct column *allocations_of(const struct profile *profile, uint32_t thread) {
    return &profile_thread_at(profile, (thread_id){thread})->allocations;
}

static size_t allocation_count(const struct profile *profile) {
    size_t count = 0;
    for (uint32_t i = 0; i < profile->threads.count; i++) count += allocations_of(profile, i)->count;
    return count;
}

/* Returns all allocations sorted by time, owned by the caller; NULL if memory ran out (latched). */
static struct event *order_events(const struct profile *profile, size_t count) {
    struct event *events = memory_allocate(profile->failure, count * sizeof *events);
    if (!events) return NULL;
    size_t next = 0;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct column *allocations = allocations_of(profile, i);
        for (uint32_t row = 0; row < allocations->count; row++) {
            const struct allocation *allocation = column_at(allocations, row);
            events[next++] = (struct event){allocation->time_ns, i, row};
        }
    }
    memory_sort(profile->failure, events, count, sizeof *events, compare_events);
    return events;
}

/* Returns NULL if memory ran out (latched). */
static uint32_t *owner_of(struct ordering *ordering, const struct event *event, uint64_t address) {
    const struct thread *thread = profile_thread_at(ordering->profile, (thread_id){event->thread});
    struct address_key key = {thread->process.index, address};
    return value_table_intern(&ordering->owners, &key, &(uint32_t){ID_NONE});
}

static void place_event(struct ordering *ordering, const struct event *event) {
    const struct allocation *allocation = column_at(allocations_of(ordering->profile, event->thread), event->row);
    uint32_t *owner = owner_of(ordering, event, allocation->address);
    if (!owner) return;
    uint32_t thread = event->thread;
    if (allocation->bytes < 0 && *owner != ID_NONE) thread = *owner;
    *owner = allocation->bytes < 0 ? ID_NONE : thread;
    column_add(&ordering->tables[thread], allocation);
}

static void place_events(struct ordering *ordering, const struct event *events, size_t count) {
    struct profile *profile = ordering->profile;
    for (uint32_t i = 0; i < profile->threads.count; i++)
        column_init(&ordering->tables[i], sizeof(struct allocation), profile->failure);
    for (size_t i = 0; i < count && !failure_is_set(profile->failure); i++) place_event(ordering, &events[i]);
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = profile_thread_at(profile, (thread_id){i});
        column_fini(&thread->allocations);
        thread->allocations = ordering->tables[i];
    }
}

void profile_order_allocations(struct profile *profile) {
    size_t count = allocation_count(profile);
    if (!count) return;
    struct event *events = order_events(profile, count);
    struct ordering ordering = {.profile = profile};
    value_table_init(&ordering.owners, sizeof(struct address_key), sizeof(uint32_t), profile->failure);
    ordering.tables = memory_allocate(profile->failure, profile->threads.count * sizeof *ordering.tables);
    if (events && ordering.tables) place_events(&ordering, events, count);
    value_table_fini(&ordering.owners);
    MEMORY_FREE_ALL(ordering.tables, events);
}
