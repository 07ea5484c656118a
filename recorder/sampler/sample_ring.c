#include "sample_ring.h"

#include <string.h>

#include "recorder/state/clock.h"
#include "recorder/unwind/mappings.h"
#include "recorder/unwind/unwind_table.h"

/* The thread sanitizer does not know that a stack ends with its thread, and that its memory may become another stack.
 */
#define READS_CONTEXT __attribute__((no_sanitize("address", "thread")))

enum {
    /* How much stack the handler needs: 1.6 KB as gcc -O2 compiles it, and more as other compilers may. */
    ROOM_BYTES = 3072,
    WALKED_BYTES_MAX = NATIVE_FRAME_COUNT_MAX * sizeof(struct walked_frame),
    LABEL_BYTES_MAX = 10 * 1024,
    SAMPLE_BYTES_MAX = sizeof(struct ring_sample) + WALKED_BYTES_MAX + LABEL_BYTES_MAX,
};
_Static_assert(2 * SAMPLE_BYTES_MAX <= SAMPLE_RING_BYTES, "the largest sample fits in any position");
_Static_assert(sizeof(struct ring_sample) % 16 == 0, "samples stay aligned");

/* ---- The interrupted thread. ---- */

#if defined(__x86_64__)

/* The instruction leaves the address of the next one in rcx. */
READS_CONTEXT bool sample_is_after_call(const ucontext_t *interrupted) {
    return interrupted->uc_mcontext.gregs[REG_RCX] == interrupted->uc_mcontext.gregs[REG_RIP];
}

READS_CONTEXT static uint64_t sp_of(const ucontext_t *interrupted) {
    return (uint64_t)interrupted->uc_mcontext.gregs[REG_RSP];
}

#elif defined(__aarch64__)

READS_CONTEXT bool sample_is_after_call(const ucontext_t *interrupted) {
    enum { PAGE_BYTES = 4096, SVC_0 = 0xd4000001 };
    uint64_t pc = interrupted->uc_mcontext.pc;
    uint32_t instruction = 0;
    /* The page before may not be mapped. */
    if (pc % PAGE_BYTES) memcpy(&instruction, (const void *)(uintptr_t)(pc - sizeof instruction), sizeof instruction);
    return instruction == (uint32_t)SVC_0;
}

READS_CONTEXT static uint64_t sp_of(const ucontext_t *interrupted) { return interrupted->uc_mcontext.sp; }

#else

bool sample_is_after_call(const ucontext_t *interrupted) {
    (void)interrupted;
    return false;
}

/* The handler's own frame lies below. */
static uint64_t sp_of(const ucontext_t *interrupted) {
    (void)interrupted;
    return (uint64_t)(uintptr_t)__builtin_frame_address(0);
}

#endif

READS_CONTEXT static bool is_on_alternate(const ucontext_t *interrupted) {
    const stack_t *alternate = &interrupted->uc_stack;
    uint64_t offset = sp_of(interrupted) - (uint64_t)(uintptr_t)alternate->ss_sp;
    return !(alternate->ss_flags & SS_DISABLE) && offset < alternate->ss_size;
}

/* Returns true for a stack that is not known. */
READS_CONTEXT static bool has_room(struct stack_limits limits, const ucontext_t *context) {
    const stack_t *alternate = &context->uc_stack;
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), start = (uint64_t)(uintptr_t)alternate->ss_sp;
    if (!(alternate->ss_flags & SS_DISABLE) && here >= start && here - start < alternate->ss_size)
        return here - start >= ROOM_BYTES;
    bool is_on_own = here >= limits.low && here < limits.high;
    return !is_on_own || here - limits.low >= ROOM_BYTES;
}

/* ---- Writing. ---- */

static size_t place_of(uint64_t position) { return position % SAMPLE_RING_BYTES; }

/* Returns the position at which the next sample can be written in one piece; false: there is no room. The bytes before
 * it, up to the end of the ring, are skipped. */
static bool find_room(const struct sample_ring *ring, uint64_t *position) {
    uint64_t read = __atomic_load_n(&ring->read, __ATOMIC_ACQUIRE);
    size_t left_bytes = SAMPLE_RING_BYTES - place_of(ring->written);
    *position = ring->written + (left_bytes < SAMPLE_BYTES_MAX ? left_bytes : 0);
    return *position + SAMPLE_BYTES_MAX - read <= SAMPLE_RING_BYTES;
}

static void fill_in(struct sample_ring *ring, struct ring_sample *sample, const struct sample_source *source) {
    bool is_truncated = false;
    *sample = (struct ring_sample){.origin = source->origin,
                                   .missed_count = source->missed_count,
                                   .ticks = clock_is_counter_forbidden() ? 0 : clock_ticks(),
                                   .busy_since_ticks = source->busy_since_ticks,
                                   .build_count = unwind_snapshot_build_count(),
                                   .read_count = mappings_read_count(),
                                   .walked = (struct walked_frame *)(sample + 1)};
    sample->has_no_room = !has_room(ring->limits, source->interrupted);
    sample->bytes_count = sizeof *sample;
    if (sample->has_no_room) return;
    sample->walked_count = (uint32_t)stack_walk(unwind_snapshot_current(), source->interrupted, ring->limits,
                                                sample->walked, NATIVE_FRAME_COUNT_MAX, &is_truncated);
    sample->is_truncated = is_truncated;
    struct stack_part part = label_part(source->labels, sp_of(source->interrupted), sample->walked,
                                        sample->walked_count, is_on_alternate(source->interrupted));
    label_copy_take(&sample->labels, sample->walked + sample->walked_count, LABEL_BYTES_MAX, source->labels, part,
                    NULL);
    size_t walked_bytes = sample->walked_count * sizeof *sample->walked;
    sample->bytes_count += (uint32_t)(walked_bytes + (sample->labels.bytes_count + 15) / 16 * 16);
}

static void put(struct sample_ring *ring, const struct sample_source *source) {
    uint64_t position;
    bool is_of_event = source->origin == SAMPLE_OF_EVENT;
    if (!find_room(ring, &position)) {
        __atomic_fetch_add(&ring->lost_count, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&ring->lost_event_count, is_of_event, __ATOMIC_RELAXED);
        return;
    }
    struct ring_sample *sample = (struct ring_sample *)(void *)(ring->bytes + place_of(position));
    if (position != ring->written && SAMPLE_RING_BYTES - place_of(ring->written) >= sizeof *sample)
        ((struct ring_sample *)(void *)(ring->bytes + place_of(ring->written)))->bytes_count = 0;
    fill_in(ring, sample, source);
    if (is_of_event) sample->missed_count = __atomic_exchange_n(&ring->lost_event_count, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->written, position + sample->bytes_count, __ATOMIC_RELEASE);
}

/* The sampler closes the ring before it looks whether the thread is walking, so one of the two sees the other. */
void sample_ring_put(struct sample_ring *ring, const struct sample_source *source) {
    __atomic_store_n(&ring->is_walking, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&ring->is_open, __ATOMIC_SEQ_CST)) put(ring, source);
    __atomic_store_n(&ring->is_walking, 0, __ATOMIC_RELEASE);
}

/* ---- Reading. ---- */

const struct ring_sample *sample_ring_first(struct sample_ring *ring) {
    uint64_t written = __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE);
    if (ring->read == written) return NULL;
    size_t place = place_of(ring->read), left_bytes = SAMPLE_RING_BYTES - place;
    const struct ring_sample *sample = (const struct ring_sample *)(const void *)(ring->bytes + place);
    bool is_skipped = left_bytes < sizeof *sample || !sample->bytes_count;
    if (!is_skipped) return sample;
    __atomic_store_n(&ring->read, ring->read + left_bytes, __ATOMIC_RELEASE);
    return (const struct ring_sample *)(const void *)ring->bytes;
}

void sample_ring_drop(struct sample_ring *ring) {
    const struct ring_sample *sample = sample_ring_first(ring);
    if (sample) __atomic_store_n(&ring->read, ring->read + sample->bytes_count, __ATOMIC_RELEASE);
}

uint32_t sample_ring_take_lost_count(struct sample_ring *ring) {
    bool has_lost = __atomic_load_n(&ring->lost_count, __ATOMIC_RELAXED) != 0;
    return has_lost ? __atomic_exchange_n(&ring->lost_count, 0, __ATOMIC_RELAXED) : 0;
}
