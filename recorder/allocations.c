/* Memory that the program allocates: all of it is counted, and a sample of it recorded with stacks. */
#include "allocations.h"

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

/* With the count of bytes: the memory was freed in a pause, and that is still to be recorded… */
#define FREED_IN_PAUSE ((uint64_t)1 << 63)
/* …which somebody does just now, or has done: then the mark stays until the slot is used again. */
#define IS_RECORDED ((uint64_t)1 << 62)

static struct slot {
    uint64_t address;
    uint64_t bytes_count; /* that it stands for */
} slots[SLOT_COUNT];

static uint32_t are_slots_used;       /* since they were forgotten */
static uint32_t freed_in_pause_count; /* slots with that mark, or about to have it */

static uint64_t first_slot(uint64_t address) { return (address >> 4) * 0x9e3779b97f4a7c15u >> 48; }

static void remember(uint64_t address, uint64_t bytes_count) {
    __atomic_store_n(&are_slots_used, 1, __ATOMIC_RELAXED);
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

/* NULL: it is none that was recorded. An address may be there again, behind a slot that was freed in a pause. */
static struct slot *find_slot(uint64_t address, uint64_t *bytes_count) {
    for (uint64_t i = 0; i < PROBE_COUNT; i++) {
        struct slot *slot = &slots[(first_slot(address) + i) % SLOT_COUNT];
        uint64_t seen = __atomic_load_n(&slot->address, __ATOMIC_ACQUIRE);
        if (seen == SLOT_EMPTY) return NULL;
        if (seen != address) continue;
        *bytes_count = __atomic_load_n(&slot->bytes_count, __ATOMIC_ACQUIRE);
        if (!(*bytes_count & FREED_IN_PAUSE)) return slot;
    }
    return NULL;
}

void allocations_forget(void) {
    if (!__atomic_exchange_n(&are_slots_used, 0, __ATOMIC_RELAXED)) return;
    for (size_t i = 0; i < SLOT_COUNT; i++) {
        __atomic_store_n(&slots[i].address, SLOT_EMPTY, __ATOMIC_RELAXED);
        __atomic_store_n(&slots[i].bytes_count, 0, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&freed_in_pause_count, 0, __ATOMIC_RELAXED);
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

/* The rest of the block: what was taken of the calling thread's stack, or its labels. */
static void write_stack(struct recording *recording, unsigned char *at, const struct merged_stack *merged,
                        uint32_t bytes_max) {
    struct writer *writer = recording->writer;
    if (merged) {
        long_block_end(writer, merged_stack_write(at, merged, 0, &writer->running_address, NULL));
        return;
    }
    struct room room = {.at = at, .end = at + bytes_max};
    stack_write(&room, &thread_record_self->labels, recording->depth);
    long_block_end(writer, room.at);
}

static unsigned char *write_head(struct writer *writer, int64_t bytes_count, uint64_t address) {
    uint64_t time = recording_time(writer);
    unsigned char *at = leb128_write(long_block_begin(writer, TRACE_ALLOCATION), time);
    at = leb128_write(at, leb128_zigzag(bytes_count));
    return leb128_write(at, address);
}

/* `entry`: frame address of the public function. False: nothing was recorded. */
static bool write_allocation(struct recording *recording, int64_t bytes_count, uint64_t address, const void *entry) {
    uint32_t room_bytes = recording_block_bytes_max() - HEAD_BYTES - LEB128_PADDED_BYTES - CLOCK_BLOCK_BYTES;
    const struct merged_stack *merged = own_stack_take(recording, entry, room_bytes);
    uint32_t bytes_max = merged ? merged_stack_bytes_max(merged) : stack_bytes_max(&thread_record_self->labels);
    if (bytes_max > room_bytes) bytes_max = room_bytes;
    if (!recording_reserve(recording, HEAD_BYTES + bytes_max)) return false;
    if (merged) own_stack_announce(recording->writer);
    write_stack(recording, write_head(recording->writer, bytes_count, address), merged, bytes_max);
    return true;
}

static bool record_allocation(uint64_t bytes_count, uint64_t address, const void *entry) {
    struct recording recording = recording_enter();
    if (!recording.thread) return false;
    bool is_written = write_allocation(&recording, (int64_t)bytes_count, address, entry);
    recording_leave(&recording);
    return is_written;
}

/* The end of an allocation that is recorded is the allocation's, whichever thread frees the memory. False: nothing is
 * recorded now. */
static bool record_free(uint64_t bytes_count, uint64_t address, const void *entry) {
    struct recording recording = recording_enter();
    if (!recording.thread) return !recording.is_off;
    recording_admit(&recording);
    write_allocation(&recording, -(int64_t)bytes_count, address, entry);
    recording_leave_admitted(&recording);
    return true;
}

/* Nobody's stack: it was not taken when the memory was freed. */
static bool record_late_free(uint64_t bytes_count, uint64_t address) {
    struct recording recording = recording_enter();
    if (!recording.thread) return !recording.is_off;
    recording_admit(&recording);
    if (recording_reserve(&recording, HEAD_BYTES)) {
        unsigned char *at = write_head(recording.writer, -(int64_t)bytes_count, address);
        long_block_end(recording.writer, leb128_write(at, 0));
    }
    recording_leave_admitted(&recording);
    return true;
}

static void release_slot(struct slot *slot) {
    uint64_t marked = __atomic_load_n(&slot->bytes_count, __ATOMIC_SEQ_CST);
    while (marked & FREED_IN_PAUSE && !(marked & IS_RECORDED) &&
           __atomic_load_n(&grec_recording_, __ATOMIC_SEQ_CST)) {
        if (!__atomic_compare_exchange_n(&slot->bytes_count, &marked, marked | IS_RECORDED, false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_RELAXED))
            continue;
        if (record_late_free(marked & ~FREED_IN_PAUSE, __atomic_load_n(&slot->address, __ATOMIC_RELAXED))) {
            __atomic_fetch_sub(&freed_in_pause_count, 1, __ATOMIC_RELAXED);
            __atomic_store_n(&slot->address, SLOT_FREED, __ATOMIC_RELEASE);
            return;
        }
        __atomic_store_n(&slot->bytes_count, marked, __ATOMIC_SEQ_CST);
    }
}

/* Whoever makes the recording go on may have looked before the mark was there: so this looks again. */
static void free_in_pause(struct slot *slot, uint64_t bytes_count) {
    __atomic_fetch_add(&freed_in_pause_count, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&slot->bytes_count, bytes_count | FREED_IN_PAUSE, __ATOMIC_SEQ_CST);
    release_slot(slot);
}

void allocations_resume(void) {
    if (!__atomic_load_n(&freed_in_pause_count, __ATOMIC_SEQ_CST)) return;
    for (size_t i = 0; i < SLOT_COUNT; i++) release_slot(&slots[i]);
}

/* In a pause nothing but its count is known of what is allocated. Its end is not recorded then, either. */
void grec_memory_allocated_(const void *address, size_t bytes_count) {
    grec_counter_add(&malloc_counter, (int64_t)bytes_count);
    if (!address || !bytes_count || !grec_is_recording() || !is_chosen(bytes_count)) return;
    uint64_t stands_for = (uint64_t)((double)bytes_count * weight_of((double)bytes_count / SAMPLE_BYTES));
    if (record_allocation(stands_for, (uint64_t)(uintptr_t)address, __builtin_frame_address(0)))
        remember((uint64_t)(uintptr_t)address, stands_for);
}

void grec_memory_freed_(const void *address, size_t bytes_count) {
    uint64_t stood_for;
    grec_counter_add(&malloc_counter, -(int64_t)bytes_count);
    struct slot *slot = find_slot((uint64_t)(uintptr_t)address, &stood_for);
    if (!slot) return;
    bool is_recorded = grec_is_recording() &&
                       record_free(stood_for, (uint64_t)(uintptr_t)address, __builtin_frame_address(0));
    if (is_recorded)
        __atomic_store_n(&slot->address, SLOT_FREED, __ATOMIC_RELEASE);
    else
        free_in_pause(slot, stood_for);
}
