#include "sampled_thread.h"

#include <string.h>
#include <sys/mman.h>

#include "last_mapping.h"
#include "recorder/state/clock.h"
#include "recorder/state/leb128.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/write/thread_registry.h"
#include "recorder/write/writer.h"
#include "told_time.h"

enum {
    INTRODUCTION_BYTES = 1 + 6 * LEB128_BYTES_MAX + 128 + LEB128_PADDED_BYTES,
    MAPPINGS_BYTES = 2 + LEB128_BYTES_MAX,
    SAMPLE_HEAD_BYTES = 1 + 7 * LEB128_BYTES_MAX + LEB128_PADDED_BYTES,
    SAME_BYTES = 2 + 6 * LEB128_BYTES_MAX,
};

/* The state of the sampler's chunk that later entries in it depend on. */
static struct {
    uint64_t number; /* the writer's sequence number, which identifies the chunk */
    uint64_t address;
    uint32_t mapping_id;
} chunk;

/* The recording that has a sample of the process. */
static struct {
    uint32_t generation;
    uint64_t process_start_ns;
} sampled;

void sampled_threads_begin(void) { memset(&chunk, 0, sizeof chunk); }

bool sampled_threads_are_there(void) {
    return sampled.generation == recording_generation && sampled.process_start_ns == process_self()->start_ns;
}

struct sampled_thread *sampled_thread_of(struct thread_record *record) {
    if (record->sampled) return record->sampled;
    void *bytes =
        mmap(NULL, sizeof *record->sampled, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes != MAP_FAILED) __atomic_store_n(&record->sampled, bytes, __ATOMIC_RELEASE);
    return record->sampled;
}

static void note_sample(void) {
    sampled.generation = recording_generation;
    sampled.process_start_ns = process_self()->start_ns;
}

static void enter_chunk(const struct writer *writer) {
    if (chunk.number == writer->sequence) return;
    chunk.number = writer->sequence;
    chunk.address = 0;
    chunk.mapping_id = 0;
}

/* ---- Entries before samples. ---- */

static void write_mappings(struct writer *writer) {
    uint32_t id = last_mapping_id();
    if (chunk.mapping_id == id) return;
    chunk.mapping_id = id;
    short_block_end(writer, leb128_write(short_block_begin(writer, TRACE_MAPPINGS), id));
}

static void introduce(struct sampled_thread *thread, struct writer *writer) {
    if (thread->chunk_of_name == chunk.number && !thread->is_renamed) return;
    thread->chunk_of_name = chunk.number;
    thread->is_renamed = false;
    unsigned char *at = long_block_begin(writer, TRACE_SAMPLED_THREAD);
    at = leb128_write(at, thread->uid);
    at = leb128_write(at, thread->tid);
    at = leb128_write(at, (thread->tid == process_self()->pid ? TRACE_THREAD_IS_MAIN : 0u) |
                              (thread->is_named ? TRACE_THREAD_IS_NAMED : 0u));
    at = leb128_write(at, leb128_zigzag((int64_t)(thread->start_ticks - writer->chunk->base_ticks)));
    at = leb128_write_bytes(at, thread->name, thread->name_bytes_count);
    long_block_end(writer, leb128_write(at, thread->interval_ns));
}

/* Makes room for an entry of bytes_count bytes, and writes the entries that must come before it in the chunk. */
static bool prepare(struct sampled_thread *thread, struct recording *recording, uint32_t bytes_count) {
    if (!recording_reserve(recording, bytes_count + INTRODUCTION_BYTES + MAPPINGS_BYTES)) return false;
    enter_chunk(recording->writer);
    write_mappings(recording->writer);
    introduce(thread, recording->writer);
    return true;
}

/* ---- Samples. ---- */

/* Returns how long before the last entry a sample was taken, in ticks: the samples of several threads are written in
 * turn, later than they were taken. ticks 0: now. */
static uint64_t age_of(const struct writer *writer, uint64_t ticks) {
    return ticks && ticks < writer->last_ticks ? writer->last_ticks - ticks : 0;
}

static unsigned char *write_head(unsigned char *at, const struct sampled_thread *thread, const struct writer *writer,
                                 uint64_t time, uint32_t flags, const struct sample_facts *facts) {
    uint64_t age_ticks = age_of(writer, facts->ticks);
    flags |= TRACE_SAMPLE_HAS_CPU;
    flags |= facts->has_delay ? TRACE_SAMPLE_HAS_DELAY : 0;
    flags |= age_ticks ? TRACE_SAMPLE_HAS_AGE : 0;
    at = leb128_write(at, time);
    at = leb128_write(at, thread->uid);
    at = leb128_write(at, flags);
    at = leb128_write(at, facts->cpu_ns);
    if (flags & TRACE_SAMPLE_HAS_DELAY) at = leb128_write(at, facts->delay_ns);
    if (flags & TRACE_SAMPLE_HAS_AGE) at = leb128_write(at, age_ticks);
    return at;
}

static const struct merged_stack no_stack;

static uint32_t flags_of(const struct sampled_thread *thread) {
    if (thread->state == SAMPLED_UNREACHED) return TRACE_SAMPLE_IS_UNREACHED;
    return thread->last.is_truncated ? TRACE_SAMPLE_IS_TRUNCATED : 0;
}

/* kept: how many outermost frames are those of the thread's last sample. */
static void write_full(struct sampled_thread *thread, struct recording *recording, uint32_t kept,
                       const struct sample_facts *facts) {
    const struct merged_stack *stack = thread->state == SAMPLED_UNREACHED ? &no_stack : &thread->last;
    if (!prepare(thread, recording, SAMPLE_HEAD_BYTES + merged_stack_bytes_max(stack))) return;
    struct writer *writer = recording->writer;
    if (thread->chunk_of_stack != chunk.number) kept = 0;
    uint64_t time = recording_time(writer);
    unsigned char *at = long_block_begin(writer, TRACE_THREAD_SAMPLE);
    at = write_head(at, thread, writer, time, flags_of(thread), facts);
    at = leb128_write(at, kept);
    at = merged_stack_write(at, stack, kept, &chunk.address, NULL);
    long_block_end(writer, at);
    told_time_add(facts->cpu_ns);
    thread->chunk_of_stack = chunk.number;
    note_sample();
}

static void write_same(struct sampled_thread *thread, struct recording *recording, const struct sample_facts *facts) {
    struct writer *writer = recording->writer;
    uint64_t time = recording_time(writer);
    short_block_end(writer, write_head(short_block_begin(writer, TRACE_THREAD_SAME), thread, writer, time, 0, facts));
    told_time_add(facts->cpu_ns);
}

void sampled_thread_write_last(struct sampled_thread *thread, struct recording *recording,
                               const struct sample_facts *facts) {
    if (!prepare(thread, recording, SAME_BYTES)) return;
    if (thread->chunk_of_stack == chunk.number)
        write_same(thread, recording, facts);
    else
        write_full(thread, recording, 0, facts);
}

static void write_without_stack(struct sampled_thread *thread, struct recording *recording,
                                const struct sample_facts *facts) {
    if (thread->state != SAMPLED_UNREACHED) thread->chunk_of_stack = 0;
    thread->state = SAMPLED_UNREACHED;
    sampled_thread_write_last(thread, recording, facts);
}

void sampled_thread_write(struct sampled_thread *thread, struct recording *recording, const struct merged_stack *stack,
                          const struct sample_facts *facts) {
    if (!stack) {
        write_without_stack(thread, recording, facts);
        return;
    }
    bool was_there = thread->state == SAMPLED_AT_WORK || thread->state == SAMPLED_IN_WAIT;
    uint32_t common = was_there ? merged_stack_common(&thread->last, stack) : 0;
    bool is_same = was_there && common == stack->frame_count && common == thread->last.frame_count &&
                   stack->is_truncated == thread->last.is_truncated;
    thread->state = SAMPLED_AT_WORK;
    if (is_same) {
        sampled_thread_write_last(thread, recording, facts);
        return;
    }
    merged_stack_copy(&thread->last, stack);
    uint32_t frame_count = thread->last.frame_count;
    merged_stack_fit(&thread->last, recording_block_bytes_max() - SAMPLE_HEAD_BYTES - INTRODUCTION_BYTES -
                                        MAPPINGS_BYTES - LEB128_PADDED_BYTES - CLOCK_BLOCK_BYTES);
    write_full(thread, recording, thread->last.frame_count == frame_count ? common : 0, facts);
}

void sampled_thread_write_rest(struct sampled_thread *thread, struct recording *recording, uint64_t rest_ns) {
    if (!prepare(thread, recording, SAME_BYTES)) return;
    uint64_t time = recording_time(recording->writer);
    unsigned char *at = leb128_write(short_block_begin(recording->writer, TRACE_THREAD_REST), time);
    at = leb128_write(at, thread->uid);
    short_block_end(recording->writer, leb128_write(at, rest_ns));
    told_time_add(rest_ns);
}

void sampled_thread_write_name(struct sampled_thread *thread, struct recording *recording) {
    if (thread->chunk_of_name && thread->is_renamed) prepare(thread, recording, 0);
}

/* A thread that was never introduced has nothing in the trace that could end. */
void sampled_thread_write_end(struct sampled_thread *thread, struct recording *recording) {
    if (!thread->chunk_of_name || !prepare(thread, recording, 2 + 3 * LEB128_BYTES_MAX)) return;
    uint64_t time = recording_time(recording->writer);
    unsigned char *at = leb128_write(short_block_begin(recording->writer, TRACE_SAMPLED_THREAD_END), time);
    at = leb128_write(at, thread->uid);
    short_block_end(recording->writer, leb128_write(at, age_of(recording->writer, thread->ended_ticks)));
}
