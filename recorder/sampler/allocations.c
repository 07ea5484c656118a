#include "allocations.h"

#include "recorder/state/clock.h"
#include "recorder/state/leb128.h"
#include "recorder/unwind/unwind_table.h"
#include "recorder/write/packed_stack.h"
#include "recorder/write/writer.h"

enum {
    /* The mean distance between recorded allocations, as in tcmalloc and in Gecko's allocation profiler. */
    SAMPLE_BYTES = 512 * 1024,
    SLOT_COUNT = 1 << 16,
    PROBE_COUNT = 16,
};

/* ---- Recorded allocations, so that freeing them can be recorded. Lock-free: an address claims a slot. ---- */

static const uint64_t SLOT_EMPTY = 0;
static const uint64_t SLOT_FREED = 1; /* was in use: a search continues after it */

/* Marks in the count of bytes. The memory was freed in a pause, which is still to be recorded: */
static const uint64_t FREED_IN_PAUSE = (uint64_t)1 << 63;
/* A thread is recording that, or has done so. The mark stays until the slot is used again. */
static const uint64_t IS_RECORDED = (uint64_t)1 << 62;

static struct slot {
    uint64_t address;
    uint64_t bytes_count; /* how many bytes the allocation stands for */
} slots[SLOT_COUNT];

static uint32_t are_slots_used;       /* since the last allocations_forget */
static uint32_t freed_in_pause_count; /* slots that have the mark FREED_IN_PAUSE, or are about to get it */

static uint64_t first_slot(uint64_t address) { return (address >> 4) * 0x9e3779b97f4a7c15u >> 48; }

static void remember(uint64_t address, uint64_t bytes_count) {
    __atomic_store_n(&are_slots_used, 1, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < PROBE_COUNT; i++) {
        struct slot *slot = &slots[(first_slot(address) + i) % SLOT_COUNT];
        uint64_t seen = __atomic_load_n(&slot->address, __ATOMIC_RELAXED);
        if (seen > SLOT_FREED) continue;
        /* No other thread knows the address yet, so none reads the count before it is stored. */
        if (!__atomic_compare_exchange_n(&slot->address, &seen, address, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&slot->bytes_count, bytes_count, __ATOMIC_RELEASE);
        return;
    }
}

/* Returns NULL if the allocation was not recorded. An address may occur again after a slot that was freed in a pause.
 */
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

/* ---- Choosing. The distances between recorded allocations are distributed exponentially, so no pattern of sizes is
 * favoured. ---- */

static __thread struct {
    int64_t left_bytes;
    uint64_t random; /* 0: not yet seeded */
} choice __attribute__((tls_model("initial-exec")));

static double next_random(void) {
    if (!choice.random) choice.random = clock_ns_of(CLOCK_MONOTONIC) ^ (uint64_t)(uintptr_t)&choice;
    choice.random = choice.random * 6364136223846793005u + 1442695040888963407u;
    return ((double)(choice.random >> 11) + 1) / 9007199254740993.0;
}

/* Returns -ln of a number in (0, 1], to a few digits, so that the recorder needs no libm. */
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

/* Returns 1 / (1 - e^-x), the weight of an allocation that is x mean distances long. */
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

static int64_t next_distance(void) { return 1 + (int64_t)(negative_logarithm(next_random()) * SAMPLE_BYTES); }

/* Returns whether this allocation must be recorded. */
static bool is_chosen(uint64_t bytes_count) {
    if (!choice.random) {
        unwind_snapshot_want_all();
        choice.left_bytes = next_distance();
    }
    choice.left_bytes -= (int64_t)bytes_count;
    if (choice.left_bytes > 0) return false;
    choice.left_bytes = next_distance();
    return true;
}

/* ---- Recording. ---- */

/* `entry`: frame address of the public function; NULL: no stack. Returns false if nothing was recorded. */
static bool write_allocation(struct recording *recording, int64_t bytes_count, uint64_t address, const void *entry) {
    const uint64_t numbers[] = {leb128_zigzag(bytes_count), address};
    return packed_stack_record(recording, TRACE_ALLOCATION, numbers, 2, entry);
}

static bool record_allocation(uint64_t bytes_count, uint64_t address, const void *entry) {
    struct recording recording = recording_enter();
    if (!recording.thread) return false;
    bool is_written = write_allocation(&recording, (int64_t)bytes_count, address, entry);
    recording_leave(&recording);
    return is_written;
}

/* Freeing a recorded allocation is recorded whichever thread frees it. Returns false if recording is off. */
static bool record_free(uint64_t bytes_count, uint64_t address, const void *entry) {
    struct recording recording = recording_enter();
    if (!recording.thread) return !recording.is_off;
    recording_admit(&recording);
    write_allocation(&recording, -(int64_t)bytes_count, address, entry);
    recording_leave_admitted(&recording);
    return true;
}

/* No stack was taken when the memory was freed in a pause. */
static void release_slot(struct slot *slot) {
    uint64_t marked = __atomic_load_n(&slot->bytes_count, __ATOMIC_SEQ_CST);
    while (marked & FREED_IN_PAUSE && !(marked & IS_RECORDED) && recording_is_on()) {
        if (!__atomic_compare_exchange_n(&slot->bytes_count, &marked, marked | IS_RECORDED, false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_RELAXED))
            continue;
        if (record_free(marked & ~FREED_IN_PAUSE, __atomic_load_n(&slot->address, __ATOMIC_RELAXED), NULL)) {
            __atomic_fetch_sub(&freed_in_pause_count, 1, __ATOMIC_RELAXED);
            __atomic_store_n(&slot->address, SLOT_FREED, __ATOMIC_RELEASE);
            return;
        }
        __atomic_store_n(&slot->bytes_count, marked, __ATOMIC_SEQ_CST);
    }
}

/* If recording is switched on meanwhile, the thread that does so may have looked before the mark was stored. So this
 * calls release_slot afterwards. */
static void free_in_pause(struct slot *slot, uint64_t bytes_count) {
    __atomic_fetch_add(&freed_in_pause_count, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&slot->bytes_count, bytes_count | FREED_IN_PAUSE, __ATOMIC_SEQ_CST);
    release_slot(slot);
}

void allocations_resume(void) {
    if (!__atomic_load_n(&freed_in_pause_count, __ATOMIC_SEQ_CST)) return;
    for (size_t i = 0; i < SLOT_COUNT; i++) release_slot(&slots[i]);
}

/* Memory that is allocated in a pause is only counted, so freeing it is not recorded either. */
void allocations_add(const void *address, size_t bytes_count, const void *entry) {
    if (!address || !bytes_count || !grec_may_record_() || !is_chosen(bytes_count)) return;
    uint64_t stands_for = (uint64_t)((double)bytes_count * weight_of((double)bytes_count / SAMPLE_BYTES));
    if (record_allocation(stands_for, (uint64_t)(uintptr_t)address, entry))
        remember((uint64_t)(uintptr_t)address, stands_for);
}

void allocations_remove(const void *address, const void *entry) {
    uint64_t stood_for;
    struct slot *slot = find_slot((uint64_t)(uintptr_t)address, &stood_for);
    if (!slot) return;
    if (grec_may_record_() && record_free(stood_for, (uint64_t)(uintptr_t)address, entry))
        __atomic_store_n(&slot->address, SLOT_FREED, __ATOMIC_RELEASE);
    else
        free_in_pause(slot, stood_for);
}
