/* Memory that the program allocates: all of it is counted, and a sample of it recorded with stacks. */
#include "own_stack.h"
#include "stack.h"
#include "thread_registry.h"
#include "unwind_table.h"
#include "writer.h"

enum {
    /* Mean distance between recorded allocations, as Gecko's allocation profiler and tcmalloc have it. */
    SAMPLE_BYTES = 512 * 1024,
    SLOT_COUNT = 1 << 16,
    PROBE_COUNT = 16,
    HEAD_BYTES = 2 + 3 * LEB128_BYTES_MAX + OWN_STACK_ROOM_BYTES,
};

static struct grec_counter malloc_counter = {.name = "malloc",
                                             .category = "Memory",
                                             .description = "Memory that is allocated and not freed",
                                             .label = "Memory (allocated)",
                                             .unit = "bytes",
                                             .graph = GREC_COUNTER_ACCUMULATED,
                                             .color = GREC_GRAPH_ORANGE,
                                             .sort_weight = 21,
                                             .flags = GREC_COUNTER_SAMPLED};

/* ---- What was recorded, so that its end can be. Lock-free: a slot is claimed by its address. ---- */

#define SLOT_EMPTY ((uint64_t)0)
#define SLOT_FREED ((uint64_t)1) /* was in use: a search goes on behind it */

static struct slot {
    uint64_t address;
    uint64_t bytes_count; /* that it stands for */
} slots[SLOT_COUNT];

static uint64_t first_slot(uint64_t address) { return (address >> 4) * 0x9e3779b97f4a7c15u >> 48; }

static void remember(uint64_t address, uint64_t bytes_count) {
    for (uint64_t i = 0; i < PROBE_COUNT; i++) {
        struct slot *slot = &slots[(first_slot(address) + i) % SLOT_COUNT];
        uint64_t seen = __atomic_load_n(&slot->address, __ATOMIC_RELAXED);
        if (seen > SLOT_FREED) continue;
        /* Nobody else knows the address yet, so nobody looks at the count before it is there. */
        if (!__atomic_compare_exchange_n(&slot->address, &seen, address, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&slot->bytes_count, bytes_count, __ATOMIC_RELEASE);
        return;
    }
}

/* 0: it is none that was recorded. */
static uint64_t recall(uint64_t address) {
    for (uint64_t i = 0; i < PROBE_COUNT; i++) {
        struct slot *slot = &slots[(first_slot(address) + i) % SLOT_COUNT];
        uint64_t seen = __atomic_load_n(&slot->address, __ATOMIC_ACQUIRE);
        if (seen == SLOT_EMPTY) return 0;
        if (seen != address) continue;
        uint64_t bytes_count = __atomic_load_n(&slot->bytes_count, __ATOMIC_ACQUIRE);
        __atomic_store_n(&slot->address, SLOT_FREED, __ATOMIC_RELEASE);
        return bytes_count;
    }
    return 0;
}

/* ---- Choosing: so many bytes apart on average, without memory, so that no pattern of sizes is favoured. ---- */

static __thread struct {
    int64_t left_bytes;
    uint64_t random; /* 0: not begun */
} choice __attribute__((tls_model("initial-exec")));

static double next_random(void) {
    if (!choice.random) choice.random = clock_ticks() ^ (uint64_t)(uintptr_t)&choice;
    choice.random = choice.random * 6364136223846793005u + 1442695040888963407u;
    return ((double)(choice.random >> 11) + 1) / 9007199254740993.0;
}

/* -ln of a number in (0, 1], of which the first digits are enough: no library of mathematics for that. */
static double negative_logarithm(double number) {
    double result = 0;
    while (number < 0.5) {
        number *= 2;
        result += 0.693147180559945309;
    }
    double x = (1 - number) / (1 + number), power = x;
    for (int i = 1; i < 16; i += 2) {
        result += 2 * power / i;
        power *= x * x;
    }
    return result;
}

/* 1 / (1 - e^-x): what the bytes of an allocation of x mean distances stand for. */
static double weight_of(double x) {
    if (x > 20) return 1;
    if (x < 1e-4) return 1 / x;
    double power = 1, sum = 1;
    for (int i = 1; i < 64; i++) {
        power *= x / i;
        sum += power;
    }
    return sum / (sum - 1);
}

/* Whether this allocation is one that is recorded. */
static bool is_chosen(uint64_t bytes_count) {
    choice.left_bytes -= (int64_t)bytes_count;
    if (choice.left_bytes > 0) return false;
    bool is_first = !choice.random;
    choice.left_bytes = 1 + (int64_t)(negative_logarithm(next_random()) * SAMPLE_BYTES);
    if (is_first) unwind_snapshot_want_all();
    return !is_first;
}

/* ---- Recording. ---- */

static void write_allocation(struct recording *recording, int64_t bytes_count, uint64_t address, const void *entry) {
    uint32_t room_bytes = recording_block_bytes_max() - HEAD_BYTES - LEB128_PADDED_BYTES - CLOCK_BLOCK_BYTES;
    const struct merged_stack *merged = own_stack_take(recording, entry, room_bytes);
    const struct grec_label_stack *labels = &thread_record_self->labels;
    uint32_t bytes_max = merged ? merged_stack_bytes_max(merged) : stack_bytes_max(labels);
    if (bytes_max > room_bytes) bytes_max = room_bytes;
    if (!recording_reserve(recording, HEAD_BYTES + bytes_max)) return;
    struct writer *writer = recording->writer;
    if (merged) own_stack_announce(writer);
    uint64_t time = recording_time(writer);
    unsigned char *at = leb128_write(long_block_begin(writer, TRACE_ALLOCATION), time);
    at = leb128_write(at, leb128_zigzag(bytes_count));
    at = leb128_write(at, address);
    if (merged) {
        long_block_end(writer, merged_stack_write(at, merged, 0, &writer->running_address, NULL));
        return;
    }
    struct room room = {.at = at, .end = at + bytes_max};
    stack_write(&room, labels, recording->depth);
    long_block_end(writer, room.at);
}

static void record_allocation(int64_t bytes_count, uint64_t address, const void *entry) {
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    write_allocation(&recording, bytes_count, address, entry);
    recording_leave(&recording);
}

void grec_memory_allocated_(const void *address, size_t bytes_count) {
    grec_counter_add(&malloc_counter, (int64_t)bytes_count);
    if (!address || !bytes_count || !is_chosen(bytes_count)) return;
    uint64_t stands_for = (uint64_t)((double)bytes_count * weight_of((double)bytes_count / SAMPLE_BYTES));
    remember((uint64_t)(uintptr_t)address, stands_for);
    record_allocation((int64_t)stands_for, (uint64_t)(uintptr_t)address, __builtin_frame_address(0));
}

void grec_memory_freed_(const void *address, size_t bytes_count) {
    grec_counter_add(&malloc_counter, -(int64_t)bytes_count);
    uint64_t stood_for = recall((uint64_t)(uintptr_t)address);
    if (stood_for) record_allocation(-(int64_t)stood_for, (uint64_t)(uintptr_t)address, __builtin_frame_address(0));
}
