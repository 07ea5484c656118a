#include "writer.h"

#include <string.h>

#include "chunk_pool.h"
#include "process.h"
#include "session.h"
#include "thread_handle.h"

enum {
    PROCESS_BLOCK_BYTES = 4 + 4 * LEB128_BYTES_MAX + PROCESS_NAME_BYTES,
    THREAD_BLOCK_BYTES = 4 + 6 * LEB128_BYTES_MAX + THREAD_NAME_BYTES,
    START_BYTES = PROCESS_BLOCK_BYTES + THREAD_BLOCK_BYTES,
    /* Less room is not worth the blocks that a new thread begins with. */
    PARTIAL_BYTES_MIN = 4 * START_BYTES,
};

static uint64_t ticks_in_ms(uint64_t ms) { return recorder_clock.ticks_per_second / 1000 * ms; }

enum { CALIBRATION_PERIOD_MS = 1000, RETRY_PERIOD_MS = 10 };

void recording_count_lost(void) {
    if (session_pool.base) __atomic_fetch_add(&session_pool.header->lost_event_count, 1, __ATOMIC_RELAXED);
}

/* Outside a recording call the pool may be closed at any time. */
static uint64_t lost_outside_count;

void recording_count_lost_outside(void) { __atomic_fetch_add(&lost_outside_count, 1, __ATOMIC_RELAXED); }

static uint64_t cut_outside_count;

void recording_count_cut_outside(void) { __atomic_fetch_add(&cut_outside_count, 1, __ATOMIC_RELAXED); }

void recording_flush_lost(void) {
    uint64_t cut_count = __atomic_exchange_n(&cut_outside_count, 0, __ATOMIC_RELAXED);
    if (cut_count) __atomic_fetch_add(&session_pool.header->cut_text_count, cut_count, __ATOMIC_RELAXED);
    uint64_t count = __atomic_exchange_n(&lost_outside_count, 0, __ATOMIC_RELAXED);
    if (count) __atomic_fetch_add(&session_pool.header->lost_event_count, count, __ATOMIC_RELAXED);
}

uint32_t recording_block_bytes_max(void) { return session_pool.chunk_bytes / 2; }

static void write_process(struct writer *writer, const struct process_state *process) {
    unsigned char *at = long_block_begin(writer, TRACE_PROCESS);
    at = leb128_write(at, process->pid);
    at = leb128_write(at, process->parent_pid);
    at = leb128_write(at, process->start_ns);
    at = leb128_write_bytes(at, process->name, (uint32_t)strlen(process->name));
    long_block_end(writer, at);
}

/* Threads that look for a free record look at it too. */
static uint32_t thread_tid(const struct thread_writers *thread) {
    return __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);
}

static void write_thread(struct recording *recording, const struct process_state *process) {
    struct writer *writer = recording->writer;
    const struct thread_record *record = thread_record_self;
    uint32_t tid = thread_tid(recording->thread);
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
    long_block_end(writer, at);
}

/* A thread is known to the trace from its first chunk on. */
static void identify(struct thread_writers *thread, const struct process_state *process) {
    struct thread_record *record = thread_record_self;
    if (record->uid_generation != session_generation || record->uid_process_start_ns != process->start_ns) {
        record->uid = thread_record_uid(record);
        record->uid_generation = session_generation;
        record->uid_process_start_ns = process->start_ns;
        if (!record->start_ticks) thread_record_start(record, clock_ticks());
    }
    /* The sampler looks at them. */
    __atomic_store_n(&thread->is_muted, !session_wants_thread(record->name, record->name_bytes_count),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&thread->generation, session_generation, __ATOMIC_RELEASE);
}

/* A call that this one interrupted is still writing for a recording that has ended. */
static bool is_within_other_recording(const struct recording *recording) {
    for (uint32_t i = 0; i < recording->depth; i++)
        if (recording->thread->writers[i].chunk) return true;
    return false;
}

static void close_chunk(struct writer *writer) {
    struct trace_chunk_header *chunk = writer->chunk;
    writer->next = writer->end = NULL;
    writer->chunk = NULL;
    if (chunk && !__atomic_load_n(&writer->is_abandoned, __ATOMIC_RELAXED)) pool_seal(&session_pool, chunk);
}

/* The thread that had the record ended without saying so: its chunks are complete. */
static void seal_orphans(struct thread_writers *thread) {
    if (thread->orphan_generation == session_generation)
        for (int i = 0; i < NESTING_MAX; i++) close_chunk(&thread->writers[i]);
    thread->orphan_generation = 0;
}

static bool settle(const struct recording *recording) {
    struct thread_writers *thread = recording->thread;
    bool is_new;
    const struct process_state *process = process_self(&is_new);
    if (is_new && !session_enter_child()) return false;
    if (!thread_tid(thread)) {
        thread_registry_reclaim();
        thread_record_start(thread_record_self, clock_ticks());
    }
    if (thread->generation == session_generation) return true;
    if (is_within_other_recording(recording)) return false;
    seal_orphans(thread);
    memset(thread->writers, 0, sizeof thread->writers);
    identify(thread, process);
    return true;
}

/* The process, with the thread known to the trace; NULL: it is not to record. */
static const struct process_state *enter_process(const struct recording *recording) {
    bool is_new = false;
    if (recording->thread->generation != session_generation) {
        sigset_t before;
        thread_signals_block(&before);
        bool is_settled = settle(recording);
        thread_signals_restore(&before);
        if (!is_settled) return NULL;
    }
    return process_self(&is_new);
}

bool recording_identify(const struct recording *recording) {
    return enter_process(recording) && !recording->thread->is_muted;
}

static struct trace_chunk_header *take_chunk(struct recording *recording, const struct process_state *process) {
    struct writer *writer = recording->writer;
    struct trace_chunk_header *chunk = NULL;
    /* Threads that come and go share chunks. At the limit, room that is left over goes before events that are old. */
    if (writer->sequence == 0 || pool_is_at_limit(&session_pool))
        chunk = pool_take_partial(&session_pool);
    if (chunk) return chunk;
    struct pool_owner owner = {.pid = process->pid,
                               .tid = thread_tid(recording->thread),
                               .thread_uid = thread_record_self->uid,
                               .sequence = writer->sequence};
    chunk = pool_take(&session_pool, &owner);
    return chunk ? chunk : pool_take_partial(&session_pool);
}

static void show_room(struct writer *writer) {
    writer->next = (unsigned char *)writer->chunk + (uint32_t)writer->commit;
    writer->end = (unsigned char *)writer->chunk + session_pool.chunk_bytes;
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
    return recording->thread->is_muted && recording->thread->generation == session_generation;
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
    /* A child that is not to record has just found that out: its events are not lost. */
    if (!process) return !grec_is_recording();
    if (recording->thread->is_muted && !recording->is_admitted) return true;
    close_chunk(writer);
    struct trace_chunk_header *chunk = take_chunk(recording, process);
    while (chunk && session_pool.chunk_bytes - (uint32_t)chunk->commit < START_BYTES + bytes_count) {
        pool_seal(&session_pool, chunk);
        chunk = take_chunk(recording, process);
    }
    if (!chunk) {
        writer->retry_ticks = now + ticks_in_ms(RETRY_PERIOD_MS);
        return false;
    }
    open_chunk(writer, chunk);
    write_process(writer, process);
    write_thread(recording, process);
    return true;
}

/* A muted thread's events are not lost: nobody wants them. */
bool recording_refill(struct recording *recording, uint32_t bytes_count) {
    if (!refill(recording, bytes_count)) {
        recording_count_lost();
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

/* A chunk with room is for the next thread. */
static void give_back(struct writer *writer) {
    struct trace_chunk_header *chunk = writer->chunk;
    bool is_kept = chunk && !__atomic_load_n(&writer->is_abandoned, __ATOMIC_RELAXED);
    bool is_worth = is_kept && session_pool.chunk_bytes - (uint32_t)writer->commit >= PARTIAL_BYTES_MIN;
    if (!is_worth) {
        close_chunk(writer);
        return;
    }
    writer->chunk = NULL;
    writer->next = writer->end = NULL;
    pool_put_partial(&session_pool, chunk);
}

/* Of this call and of the handlers that may interrupt it; a call that this one interrupted still needs its own. */
static void give_back_all(struct recording *recording) {
    for (uint32_t i = recording->depth; i < NESTING_MAX; i++) give_back(&recording->thread->writers[i]);
}

static void rename_in_trace(struct recording *recording) {
    bool is_new;
    const struct process_state *process = process_self(&is_new);
    if (recording->writer->chunk && recording_reserve(recording, THREAD_BLOCK_BYTES) && process)
        write_thread(recording, process);
}

void grec_thread_register(const char *name) {
    if (!thread_writers_self && !thread_registry_claim()) return;
    struct thread_writers *thread = thread_writers_self;
    thread_registry_name(thread_record_self, name);
    /* Whether the name is wanted is found out anew. */
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    bool was_muted = thread->is_muted;
    /* Known from now on, to a sampler too that never finds it at work. */
    bool is_known = thread->generation == session_generation || recording_identify(&recording);
    if (is_known)
        __atomic_store_n(&thread->is_muted,
                         !session_wants_thread(thread_record_self->name, thread_record_self->name_bytes_count),
                         __ATOMIC_RELAXED);
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
    bool is_new;
    process_self(&is_new);
    if (recording->thread->generation != __atomic_load_n(&session_generation, __ATOMIC_RELAXED) || is_new) return;
    write_end(recording);
    give_back_all(recording);
}

/* In a pause, or while another thread stops the recording: as long as that has not closed this one's chunks, they and
 * the pool are there. */
static void end_while_off(struct thread_writers *thread) {
    struct recording recording = {.thread = thread, .depth = 0, .writer = &thread->writers[0]};
    thread_writers_lock(thread);
    if (!__atomic_load_n(&thread->writers[0].is_abandoned, __ATOMIC_RELAXED)) end_in_trace(&recording);
    thread_writers_unlock(thread);
}

/* Without signals: a handler that records would take chunks for a thread that is about to forget them. */
void grec_thread_unregister(void) {
    struct thread_writers *thread = thread_writers_self;
    if (!thread || thread->depth) return;
    sigset_t before;
    thread_signals_block(&before);
    struct recording recording = recording_enter();
    if (recording.thread) {
        end_in_trace(&recording);
        recording_leave(&recording);
    } else {
        end_while_off(thread);
    }
    thread_registry_release();
    thread_signals_restore(&before);
}

struct grec_thread grec_thread_self(void) {
    struct grec_thread self = {0, 0};
    struct recording recording = recording_enter();
    if (!recording.thread) return self;
    if (enter_process(&recording))
        self = thread_handle_make(thread_record_tagged_uid(thread_record_self), thread_tid(recording.thread),
                                  recording.thread->is_muted);
    recording_leave(&recording);
    return self;
}

/* ---- What a thread says of itself, for the sampler. ---- */

static struct thread_record *record_self(void) {
    return thread_writers_self || thread_registry_claim() ? thread_record_self : NULL;
}

void grec_thread_sleep_(void) {
    struct thread_record *record = record_self();
    if (record) __atomic_store_n(&record->is_asleep, 1, __ATOMIC_RELAXED);
}

void grec_thread_wake_(void) {
    struct thread_record *record = record_self();
    if (record) __atomic_store_n(&record->is_asleep, 0, __ATOMIC_RELAXED);
}

void grec_event_loop_busy_(void) {
    struct thread_record *record = record_self();
    if (record) __atomic_store_n(&record->busy_since_ticks, clock_ticks(), __ATOMIC_RELAXED);
}

void grec_event_loop_idle_(void) {
    struct thread_record *record = record_self();
    if (record) __atomic_store_n(&record->busy_since_ticks, EVENT_LOOP_IDLE, __ATOMIC_RELAXED);
}

struct grec_label_stack *grec_label_stack_acquire_(void) {
    return thread_writers_self || thread_registry_claim() ? grec_label_stack_ : NULL;
}

grec_time grec_now_(void) { return clock_ticks(); }

/* The rate since the recording started is the better one of the two, when that is long enough ago. */
static double ticks_per_ns(struct clock_pair now) {
    enum { LONG_ENOUGH_NS = 10000000 };
    const struct trace_header *header = session_pool.header;
    uint64_t elapsed_ns = now.monotonic_ns - header->start_monotonic_ns;
    if (now.monotonic_ns < header->start_monotonic_ns || elapsed_ns < LONG_ENOUGH_NS)
        return (double)recorder_clock.ticks_per_second / 1e9;
    return (double)(now.ticks - header->start_ticks) / (double)elapsed_ns;
}

grec_time grec_time_from_clock_ns(uint64_t monotonic_ns) {
    struct recording recording = recording_enter();
    if (!recording.thread) return 0;
    struct clock_pair now = clock_read_pair();
    double behind_ns = (double)((int64_t)(now.monotonic_ns - monotonic_ns));
    int64_t behind_ticks = (int64_t)(behind_ns * ticks_per_ns(now));
    recording_leave(&recording);
    return now.ticks - (uint64_t)behind_ticks;
}

/* ---- The process's own entries. ---- */

bool recording_write_mark(enum trace_entry_kind kind) {
    struct recording recording = recording_enter();
    if (!recording.thread) return false;
    recording_admit(&recording);
    bool is_written = recording_reserve(&recording, 2 + LEB128_BYTES_MAX);
    if (is_written) {
        uint64_t time = recording_time(recording.writer);
        short_block_end(recording.writer, leb128_write(short_block_begin(recording.writer, kind), time));
    }
    recording_leave_admitted(&recording);
    return is_written;
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

/* Of a thread that records nothing now: its chunks are complete. */
void writers_close(struct thread_writers *thread) {
    sigset_t before;
    thread_signals_block(&before);
    thread_writers_lock(thread);
    for (int i = 0; i < NESTING_MAX; i++) {
        bool is_of_this = thread->generation == session_generation || thread->orphan_generation == session_generation;
        if (is_of_this) close_chunk(&thread->writers[i]);
        thread->writers[i] = (struct writer){0};
    }
    thread->generation = 0;
    thread->orphan_generation = 0;
    thread_writers_unlock(thread);
    thread_signals_restore(&before);
}

void writers_abandon(struct thread_writers *thread) {
    for (int i = 0; i < NESTING_MAX; i++) {
        __atomic_store_n(&thread->writers[i].is_abandoned, true, __ATOMIC_RELAXED);
        __atomic_store_n(&thread->writers[i].end, NULL, __ATOMIC_RELAXED);
    }
}
