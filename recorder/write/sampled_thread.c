#include "sampled_thread.h"

#include <string.h>

#include "last_mapping.h"
#include "recorder/state/clock.h"
#include "recorder/state/leb128.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "writer.h"

enum {
    INTRODUCTION_BYTES = 1 + 5 * LEB128_BYTES_MAX + 128 + LEB128_PADDED_BYTES,
    MAPPINGS_BYTES = 2 + LEB128_BYTES_MAX,
    SAMPLE_HEAD_BYTES = 1 + 6 * LEB128_BYTES_MAX + LEB128_PADDED_BYTES,
    SAME_BYTES = 2 + 5 * LEB128_BYTES_MAX,
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

/* Returns the ticks from the chunk's last entry to that time; 0 if the time is earlier. */
static uint64_t advance(struct writer *writer, uint64_t ticks) {
    if (!ticks) return recording_time(writer);
    uint64_t last = writer->last_ticks;
    if (ticks <= last) return 0;
    writer->last_ticks = ticks;
    return ticks - last;
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
    long_block_end(writer, at);
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

static unsigned char *write_head(unsigned char *at, struct sampled_thread *thread, uint64_t time, uint32_t flags,
                                 const struct sample_facts *facts) {
    flags |= thread->is_cpu_known ? TRACE_SAMPLE_HAS_CPU : 0;
    flags |= facts->has_delay ? TRACE_SAMPLE_HAS_DELAY : 0;
    at = leb128_write(at, time);
    at = leb128_write(at, thread->uid);
    at = leb128_write(at, flags);
    if (flags & TRACE_SAMPLE_HAS_CPU) at = leb128_write(at, thread->unwritten_cpu_ns);
    if (flags & TRACE_SAMPLE_HAS_DELAY) at = leb128_write(at, facts->delay_ns);
    thread->unwritten_cpu_ns = 0;
    return at;
}

static uint32_t flags_of(const struct sampled_thread *thread) {
    if (thread->state != SAMPLED_KNOWN) return TRACE_SAMPLE_IS_UNREACHED;
    return thread->last.is_truncated ? TRACE_SAMPLE_IS_TRUNCATED : 0;
}

/* kept: how many outermost frames are those of the thread's last sample. */
static void write_full(struct sampled_thread *thread, struct recording *recording, uint32_t kept,
                       const struct sample_facts *facts) {
    static const struct merged_stack none;
    const struct merged_stack *stack = thread->state == SAMPLED_KNOWN ? &thread->last : &none;
    if (!prepare(thread, recording, SAMPLE_HEAD_BYTES + merged_stack_bytes_max(stack))) return;
    struct writer *writer = recording->writer;
    if (thread->chunk_of_stack != chunk.number) kept = 0;
    uint64_t time = advance(writer, facts->ticks);
    unsigned char *at = long_block_begin(writer, TRACE_THREAD_SAMPLE);
    at = write_head(at, thread, time, flags_of(thread), facts);
    at = leb128_write(at, kept);
    at = merged_stack_write(at, stack, kept, &chunk.address, NULL);
    long_block_end(writer, at);
    thread->chunk_of_stack = chunk.number;
    note_sample();
}

static void write_same(struct sampled_thread *thread, struct recording *recording, const struct sample_facts *facts) {
    struct writer *writer = recording->writer;
    uint64_t time = advance(writer, facts->ticks);
    short_block_end(writer, write_head(short_block_begin(writer, TRACE_THREAD_SAME), thread, time, 0, facts));
}

void sampled_thread_write_last(struct sampled_thread *thread, struct recording *recording,
                               const struct sample_facts *facts) {
    if (!prepare(thread, recording, SAME_BYTES)) return;
    if (thread->chunk_of_stack == chunk.number)
        write_same(thread, recording, facts);
    else
        write_full(thread, recording, 0, facts);
}

void sampled_thread_write(struct sampled_thread *thread, struct recording *recording, const struct merged_stack *stack,
                          const struct sample_facts *facts) {
    bool was_there = thread->state == SAMPLED_KNOWN;
    uint32_t common = was_there ? merged_stack_common(&thread->last, stack) : 0;
    bool is_same = was_there && common == stack->frame_count && common == thread->last.frame_count &&
                   stack->is_truncated == thread->last.is_truncated;
    if (is_same) {
        sampled_thread_write_last(thread, recording, facts);
        return;
    }
    merged_stack_copy(&thread->last, stack);
    thread->state = SAMPLED_KNOWN;
    uint32_t frame_count = thread->last.frame_count;
    merged_stack_fit(&thread->last, recording_block_bytes_max() - SAMPLE_HEAD_BYTES - INTRODUCTION_BYTES -
                                        MAPPINGS_BYTES - LEB128_PADDED_BYTES - CLOCK_BLOCK_BYTES);
    write_full(thread, recording, thread->last.frame_count == frame_count ? common : 0, facts);
}

/* A thread that was never introduced has nothing in the trace that could end. */
void sampled_thread_write_end(struct sampled_thread *thread, struct recording *recording) {
    if (!thread->chunk_of_name || !prepare(thread, recording, 2 + 2 * LEB128_BYTES_MAX)) return;
    uint64_t time = recording_time(recording->writer);
    unsigned char *at = leb128_write(short_block_begin(recording->writer, TRACE_SAMPLED_THREAD_END), time);
    short_block_end(recording->writer, leb128_write(at, thread->uid));
}
