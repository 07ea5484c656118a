#include "writer.h"

#include <string.h>

#include "recorder/pool/chunk_pool.h"
#include "recorder/state/process.h"
#include "recorder/state/signal_mask.h"
#include "recorder/state/silent_process.h"

enum {
    PROCESS_BLOCK_BYTES = 4 + 6 * LEB128_BYTES_MAX + PROCESS_NAME_BYTES,
    THREAD_BLOCK_BYTES = 4 + 7 * LEB128_BYTES_MAX + THREAD_NAME_BYTES,
    START_BYTES = PROCESS_BLOCK_BYTES + THREAD_BLOCK_BYTES,
    /* A chunk with less room is not kept for a new thread, whose first blocks would take much of it. */
    PARTIAL_BYTES_MIN = 4 * START_BYTES,
};

static uint64_t ticks_in_ms(uint64_t ms) { return recorder_clock.ticks_per_second / 1000 * ms; }

enum { CALIBRATION_PERIOD_MS = 1000, RETRY_PERIOD_MS = 10 };

uint32_t recording_block_bytes_max(void) { return recording_pool.chunk_bytes / 2; }

uint32_t recording_stack_bytes_max(uint32_t head_bytes) {
    return recording_block_bytes_max() - head_bytes - LEB128_PADDED_BYTES - CLOCK_BLOCK_BYTES;
}

static void write_process(struct writer *writer, const struct process_state *process) {
    unsigned char *at = long_block_begin(writer, TRACE_PROCESS);
    at = leb128_write(at, process->pid);
    at = leb128_write(at, process->parent_pid);
    at = leb128_write(at, process->start_ns);
    at = leb128_write_bytes(at, process->name, (uint32_t)strlen(process->name));
    at = leb128_write(at, __atomic_load_n(&process->chunk_count, __ATOMIC_RELAXED));
    if (process->outer_pid) at = leb128_write(at, process->outer_pid);
    long_block_end(writer, at);
}

static void write_thread(struct recording *recording, const struct process_state *process) {
    struct writer *writer = recording->writer;
    const struct thread_record *record = thread_record_self;
    uint32_t tid = thread_registry_tid(recording->thread);
    uint64_t base_ticks = writer->chunk->base_ticks;
    uint64_t now = clock_ticks();
    if (now < base_ticks) now = base_ticks;
    writer->last_ticks = now;
    unsigned char *at = long_block_begin(writer, TRACE_THREAD);
    at = leb128_write(at, now - base_ticks);
    at = leb128_write(at, record->uid);
    at = leb128_write(at, tid);
    at = leb128_write(
        at, (tid == process->pid ? TRACE_THREAD_IS_MAIN : 0u) | (record->is_named ? TRACE_THREAD_IS_NAMED : 0u));
    at = leb128_write(at, leb128_zigzag((int64_t)(record->start_ticks - base_ticks)));
    at = leb128_write_bytes(at, record->name, record->name_bytes_count);
    if (process->outer_pid) at = leb128_write(at, record->outer_tid);
    long_block_end(writer, at);
}

/* Decides by its name whether the thread is wanted. The sampler reads the word in its own thread. */
static bool find_muted(struct thread_writers *thread) {
    bool is_muted = !recording_wants_thread(thread_record_self->name, thread_record_self->name_bytes_count);
    __atomic_store_n(&thread->is_muted, is_muted, __ATOMIC_RELAXED);
    return is_muted;
}

/* Gives the thread its number in the trace. */
static void identify(struct thread_writers *thread, const struct process_state *process) {
    struct thread_record *record = thread_record_self;
    if (record->uid_generation != recording_generation || record->uid_process_start_ns != process->start_ns) {
        record->uid = thread_record_uid(record);
        record->uid_generation = recording_generation;
        record->uid_process_start_ns = process->start_ns;
        record->outer_tid = process->outer_pid ? process_read_outer_tid() : 0;
        if (!record->start_ticks) thread_record_start(record, clock_ticks());
    }
    find_muted(thread);
    __atomic_store_n(&thread->generation, recording_generation, __ATOMIC_RELEASE);
}

static void show_room(struct writer *writer) {
    writer->next = (unsigned char *)writer->chunk + (uint32_t)writer->commit;
    writer->end = (unsigned char *)writer->chunk + recording_pool.chunk_bytes;
}

/* Decides again whether the thread is wanted, since the filter may have changed. */
static void review(struct thread_writers *thread) {
    bool was_muted = thread->is_muted;
    if (thread->generation != recording_generation) return;
    bool is_muted = find_muted(thread);
    if (is_muted == was_muted) return;
    for (int i = 0; i < NESTING_MAX; i++) {
        struct writer *writer = &thread->writers[i];
        if (is_muted)
            writer->next = writer->end = NULL;
        else if (writer->chunk && !__atomic_load_n(&writer->is_abandoned, __ATOMIC_RELAXED))
            show_room(writer);
    }
}

void recording_look_up_command(struct thread_writers *thread) {
    uint64_t word = recording_load_group_word();
    sigset_t before;
    signal_mask_block_all(&before);
    bool is_done = recording_obey();
    /* A call that this one has interrupted is using its writer. */
    if (is_done && thread->depth == 1) {
        review(thread);
        __atomic_store_n(&thread->group_word, word, __ATOMIC_RELEASE);
    }
    signal_mask_restore(&before);
}

/* Whether this call has interrupted one that is still writing for a recording that has ended. */
static bool is_within_other_recording(const struct recording *recording) {
    for (uint32_t i = 0; i < recording->depth; i++)
        if (recording->thread->writers[i].chunk) return true;
    return false;
}

static void close_chunk(struct writer *writer) {
    struct trace_chunk_header *chunk = writer->chunk;
    writer->next = writer->end = NULL;
    writer->chunk = NULL;
    if (chunk && !__atomic_load_n(&writer->is_abandoned, __ATOMIC_RELAXED)) pool_seal(&recording_pool, chunk);
}

/* Keeps a chunk with room for the next thread, and seals any other. */
static void give_back(struct writer *writer) {
    struct trace_chunk_header *chunk = writer->chunk;
    bool is_kept = chunk && !__atomic_load_n(&writer->is_abandoned, __ATOMIC_RELAXED);
    bool has_room = is_kept && recording_pool.chunk_bytes - (uint32_t)writer->commit >= PARTIAL_BYTES_MIN;
    if (!has_room) {
        close_chunk(writer);
        return;
    }
    writer->chunk = NULL;
    writer->next = writer->end = NULL;
    pool_put_partial(&recording_pool, chunk);
}

/* Gives back the chunks of the record's last thread, if it ended without releasing the record. */
static void give_back_orphans(struct thread_writers *thread) {
    if (thread->orphan_generation == recording_generation)
        for (int i = 0; i < NESTING_MAX; i++) give_back(&thread->writers[i]);
    thread->orphan_generation = 0;
}

/* Returns false if the thread cannot record in this recording. */
static bool join_recording(const struct recording *recording) {
    struct thread_writers *thread = recording->thread;
    if (process_is_new() && !recording_enter_child()) return false;
    if (!thread_registry_tid(thread)) {
        thread_registry_reclaim();
        thread_record_start(thread_record_self, clock_ticks());
    }
    if (thread->generation == recording_generation) return true;
    if (is_within_other_recording(recording)) return false;
    give_back_orphans(thread);
    memset(thread->writers, 0, sizeof thread->writers);
    identify(thread, process_self());
    return true;
}

/* Gives the thread its number in the trace, and returns the process; NULL: do not record. */
static const struct process_state *enter_process(const struct recording *recording) {
    if (recording->thread->generation != recording_generation) {
        sigset_t before;
        signal_mask_block_all(&before);
        bool has_joined = join_recording(recording);
        signal_mask_restore(&before);
        if (!has_joined) return NULL;
    }
    return process_self();
}

bool recording_identify(const struct recording *recording) {
    return enter_process(recording) && !recording->thread->is_muted;
}

static struct trace_chunk_header *take_partial(const struct process_state *process) {
    bool is_of_other = false;
    struct trace_chunk_header *chunk = pool_take_partial(&recording_pool, process->pid, &is_of_other);
    if (is_of_other) process_count_chunk();
    return chunk;
}

static struct trace_chunk_header *take_chunk(struct recording *recording, const struct process_state *process) {
    struct writer *writer = recording->writer;
    struct trace_chunk_header *chunk = NULL;
    /* Short-lived threads share chunks. At the limit, use the room in kept chunks before the oldest events are lost. */
    if (writer->sequence == 0 || pool_is_at_limit(&recording_pool)) chunk = take_partial(process);
    if (chunk) return chunk;
    struct pool_owner owner = {.pid = process->pid,
                               .tid = thread_registry_tid(recording->thread),
                               .thread_uid = thread_record_self->uid,
                               .sequence = writer->sequence};
    chunk = pool_take(&recording_pool, &owner);
    if (!chunk) return take_partial(process);
    process_count_chunk();
    return chunk;
}

static void open_chunk(struct writer *writer, struct trace_chunk_header *chunk) {
    uint64_t commit = __atomic_load_n(&chunk->commit, __ATOMIC_RELAXED);
    writer->chunk = chunk;
    writer->is_abandoned = false;
    writer->commit = commit;
    show_room(writer);
    writer->clock_ticks = chunk->base_ticks + ticks_in_ms(CALIBRATION_PERIOD_MS);
    writer->sequence++;
    writer->mapping_id = 0;
    writer->running_address = 0;
}

static bool is_left_out(const struct recording *recording) {
    return recording->thread->is_muted && recording->thread->generation == recording_generation;
}

void recording_admit(struct recording *recording) {
    struct writer *writer = recording->writer;
    recording->is_admitted = true;
    if (is_left_out(recording) && writer->chunk && !__atomic_load_n(&writer->is_abandoned, __ATOMIC_RELAXED))
        show_room(writer);
}

static void hide_room(const struct recording *recording) {
    if (is_left_out(recording)) recording->writer->next = recording->writer->end = NULL;
}

void recording_leave_admitted(struct recording *recording) {
    if (recording->is_admitted) hide_room(recording);
    recording_leave(recording);
}

static bool refill(struct recording *recording, uint32_t bytes_count) {
    struct writer *writer = recording->writer;
    if (is_left_out(recording) && !recording->is_admitted) {
        hide_room(recording);
        return true;
    }
    uint64_t now = clock_ticks();
    if (bytes_count > recording_block_bytes_max() || now < writer->retry_ticks) return false;
    const struct process_state *process = enter_process(recording);
    /* A forked child that does not record has just found that out: its events are not lost. */
    if (!process) return !recording_is_on();
    if (recording->thread->is_muted && !recording->is_admitted) return true;
    close_chunk(writer);
    struct trace_chunk_header *chunk = take_chunk(recording, process);
    while (chunk && recording_pool.chunk_bytes - (uint32_t)chunk->commit < START_BYTES + bytes_count) {
        pool_seal(&recording_pool, chunk);
        chunk = take_chunk(recording, process);
    }
    if (!chunk) {
        writer->retry_ticks = now + ticks_in_ms(RETRY_PERIOD_MS);
        return false;
    }
    open_chunk(writer, chunk);
    write_process(writer, process);
    write_thread(recording, process);
    silent_process_end(); /* a process that is killed before this is told twice, and not left out */
    recording_renew_levels(recording, bytes_count);
    return true;
}

/* The events of a muted thread do not count as lost. */
bool recording_refill(struct recording *recording, uint32_t bytes_count) {
    if (!refill(recording, bytes_count)) {
        recording_count_loss(LOSS_EVENT, 1);
        return false;
    }
    return recording->writer->end != NULL;
}

void recording_calibrate(struct writer *writer, uint64_t now_ticks) {
    if (recorder_clock.kind == TRACE_CLOCK_MONOTONIC) {
        writer->clock_ticks = UINT64_MAX;
        return;
    }
    struct clock_pair now = clock_read_pair();
    writer->clock_ticks = now_ticks + ticks_in_ms(CALIBRATION_PERIOD_MS);
    if (now.ticks < writer->last_ticks || now.monotonic_ns < writer->chunk->base_ns) return;
    unsigned char *at = short_block_begin(writer, TRACE_CLOCK);
    at = leb128_write(at, now.ticks - writer->last_ticks);
    at = leb128_write(at, now.monotonic_ns - writer->chunk->base_ns);
    writer->last_ticks = now.ticks;
    short_block_end(writer, at);
}

/* ---- Threads. ---- */

/* Gives back the chunks of this call and of handlers that may interrupt it. A call that this one has interrupted still
 * needs its chunk. */
static void give_back_all(struct recording *recording) {
    for (uint32_t i = recording->depth; i < NESTING_MAX; i++) give_back(&recording->thread->writers[i]);
}

static void rename_in_trace(struct recording *recording) {
    const struct process_state *process = process_self();
    if (recording->writer->chunk && recording_reserve(recording, THREAD_BLOCK_BYTES) && process)
        write_thread(recording, process);
}

void grec_thread_register(const char *name) {
    if (!thread_writers_self && !thread_registry_claim()) return;
    struct thread_writers *thread = thread_writers_self;
    thread_registry_name(thread_record_self, name);
    /* Decide again whether the thread is wanted, by its new name. */
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    bool was_muted = thread->is_muted;
    /* From now on the trace knows the thread, even if the sampler never finds it running. */
    if (thread->generation == recording_generation || recording_identify(&recording)) find_muted(thread);
    if (thread->is_muted || was_muted)
        give_back_all(&recording);
    else
        rename_in_trace(&recording);
    recording_leave(&recording);
}

static void write_end(struct recording *recording) {
    struct writer *writer = recording->writer;
    if (!writer->chunk || !recording_reserve(recording, 2 + LEB128_BYTES_MAX)) return;
    uint64_t time = recording_time(writer);
    short_block_end(writer, leb128_write(short_block_begin(writer, TRACE_THREAD_END), time));
}

static void end_in_trace(struct recording *recording) {
    bool is_of_this = recording->thread->generation == __atomic_load_n(&recording_generation, __ATOMIC_RELAXED);
    if (process_is_new() || !is_of_this) return;
    write_end(recording);
    give_back_all(recording);
}

/* Recording is paused, or another thread is stopping it. Until that thread has closed this thread's chunks, the chunks
 * and the pool are there. */
static void end_while_off(struct thread_writers *thread) {
    struct recording recording = {.thread = thread, .depth = 0, .writer = &thread->writers[0]};
    thread_writers_lock(thread);
    if (!__atomic_load_n(&thread->writers[0].is_abandoned, __ATOMIC_RELAXED)) end_in_trace(&recording);
    thread_writers_unlock(thread);
}

/* Signals are blocked: a handler that records would take chunks for a thread that is about to forget them. */
void grec_thread_unregister(void) {
    struct thread_writers *thread = thread_writers_self;
    if (!thread || thread->depth) return;
    sigset_t before;
    signal_mask_block_all(&before);
    struct recording recording = recording_enter();
    if (recording.thread) {
        end_in_trace(&recording);
        recording_leave(&recording);
    } else {
        end_while_off(thread);
    }
    thread_registry_release();
    signal_mask_restore(&before);
}

/* ---- Hints of a thread for the sampler. ---- */

static struct thread_record *record_self(void) {
    return thread_writers_self || thread_registry_claim() ? thread_record_self : NULL;
}

static void set_asleep(uint32_t is_asleep) {
    struct thread_record *record = record_self();
    if (record) __atomic_store_n(&record->is_asleep, is_asleep, __ATOMIC_RELAXED);
}

void grec_thread_sleep_(void) { set_asleep(1); }

void grec_thread_wake_(void) { set_asleep(0); }

/* Callers have found recording on by a relaxed load. Only this load orders the choice of the clock before its use. */
static uint64_t ticks_while_recording(void) {
    return __atomic_load_n(&grec_recording_, __ATOMIC_ACQUIRE) == RECORDING_OFF ? 0 : clock_ticks();
}

void grec_event_loop_busy_(void) {
    struct thread_record *record = record_self();
    uint64_t now_ticks = ticks_while_recording();
    if (record && now_ticks) __atomic_store_n(&record->busy_since_ticks, now_ticks, __ATOMIC_RELAXED);
}

void grec_event_loop_idle_(void) {
    struct thread_record *record = record_self();
    if (record) __atomic_store_n(&record->busy_since_ticks, EVENT_LOOP_IDLE, __ATOMIC_RELAXED);
}

struct grec_label_stack *grec_label_stack_acquire_(void) {
    return thread_writers_self || thread_registry_claim() ? grec_label_stack_ : NULL;
}

grec_time grec_now_(void) { return ticks_while_recording(); }

/* If the recording started long enough ago, the rate since then is more exact than the first estimate. */
static double ticks_per_ns(struct clock_pair now) {
    enum { LONG_ENOUGH_NS = 10000000 };
    const struct trace_header *header = recording_pool.header;
    uint64_t elapsed_ns = now.monotonic_ns - header->start_monotonic_ns;
    if (now.monotonic_ns < header->start_monotonic_ns || elapsed_ns < LONG_ENOUGH_NS)
        return (double)recorder_clock.ticks_per_second / 1e9;
    return (double)(now.ticks - header->start_ticks) / (double)elapsed_ns;
}

grec_time grec_time_from_clock_ns(uint64_t monotonic_ns) {
    struct recording recording = recording_enter();
    if (!recording.thread) return 0;
    struct clock_pair now = clock_read_pair();
    double past_ns = (double)((int64_t)(now.monotonic_ns - monotonic_ns));
    int64_t past_ticks = (int64_t)(past_ns * ticks_per_ns(now));
    recording_leave(&recording);
    return now.ticks - (uint64_t)past_ticks;
}

/* ---- Entries of the process. ---- */

void recording_write_mark(enum trace_entry_kind kind, uint64_t number) {
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    recording_admit(&recording);
    if (recording_reserve(&recording, 2 + 2 * LEB128_BYTES_MAX)) {
        uint64_t time = recording_time(recording.writer);
        unsigned char *at = leb128_write(short_block_begin(recording.writer, kind), time);
        short_block_end(recording.writer, number ? leb128_write(at, number) : at);
    }
    recording_leave_admitted(&recording);
}

void recording_write_message(const char *text) {
    uint32_t bytes_count = (uint32_t)strnlen(text, GREC_NAME_BYTES_MAX);
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    recording_admit(&recording);
    if (recording_reserve(&recording, bytes_count + 2 + 2 * LEB128_BYTES_MAX)) {
        uint64_t time = recording_time(recording.writer);
        unsigned char *at = leb128_write(long_block_begin(recording.writer, TRACE_MESSAGE), time);
        long_block_end(recording.writer, leb128_write_bytes(at, text, bytes_count));
    }
    recording_leave_admitted(&recording);
}

void writers_close(struct thread_writers *thread) {
    sigset_t before;
    signal_mask_block_all(&before);
    thread_writers_lock(thread);
    for (int i = 0; i < NESTING_MAX; i++) {
        bool is_of_this =
            thread->generation == recording_generation || thread->orphan_generation == recording_generation;
        if (is_of_this) give_back(&thread->writers[i]);
        thread->writers[i] = (struct writer){0};
    }
    thread->generation = 0;
    thread->orphan_generation = 0;
    thread_writers_unlock(thread);
    signal_mask_restore(&before);
}

void writers_abandon(struct thread_writers *thread) {
    for (int i = 0; i < NESTING_MAX; i++) {
        __atomic_store_n(&thread->writers[i].is_abandoned, true, __ATOMIC_RELAXED);
        __atomic_store_n(&thread->writers[i].end, NULL, __ATOMIC_RELAXED);
    }
}
