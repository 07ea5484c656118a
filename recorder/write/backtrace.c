#include "backtrace.h"

#include <string.h>

#include "marker_room.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/sampler_hooks.h"
#include "writer.h"

enum { STACK_BYTES_MAX = sizeof(struct grec_backtrace) - sizeof(struct backtrace) };

static struct backtrace *backtrace_of(const struct grec_backtrace *memory) {
    return (struct backtrace *)(uintptr_t)memory->bytes_;
}

static void take(struct backtrace *backtrace, const struct recording *recording, const void *entry) {
    const struct process_state *process = process_self();
    uint32_t room = marker_stack_bytes_max();
    packed_stack_take(&backtrace->stack, room < STACK_BYTES_MAX ? room : STACK_BYTES_MAX, entry);
    backtrace->taken_ticks = clock_ticks();
    backtrace->thread_uid = thread_record_uid(thread_record_self);
    backtrace->tid = thread_registry_tid(recording->thread);
    backtrace->pid = process->pid;
    backtrace->process_start_ns = process->start_ns;
    backtrace->generation = recording_generation;
    backtrace->magic = TRACE_CHUNK_MAGIC;
}

void grec_take_backtrace(struct grec_backtrace *memory) {
    if (!memory) return;
    struct backtrace *backtrace = backtrace_of(memory);
    memset(backtrace, 0, sizeof *backtrace);
    if (!grec_may_record_()) return;
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    /* A thread that the options leave out takes its stack too: it may have caused the work of another thread. */
    if (recording_identify(&recording) || recording.thread->is_muted)
        take(backtrace, &recording, __builtin_frame_address(0));
    recording_leave(&recording);
}

const struct backtrace *backtrace_find(const struct grec_backtrace *memory) {
    const struct backtrace *backtrace = backtrace_of(memory);
    const struct packed_stack *stack = &backtrace->stack;
    if (backtrace->magic != TRACE_CHUNK_MAGIC || backtrace->generation != recording_generation) return NULL;
    bool is_whole = stack->bytes_count <= STACK_BYTES_MAX && stack->address_end <= stack->bytes_count &&
                    stack->address_at <= stack->address_end;
    return is_whole ? backtrace : NULL;
}

uint32_t backtrace_mapping_id(const struct backtrace *backtrace) {
    bool is_of_parent = backtrace->process_start_ns != process_self()->start_ns;
    return is_of_parent && sampler_table() ? sampler_table()->last_mapping_id() : backtrace->stack.mapping_id;
}

unsigned char *backtrace_write_origin(unsigned char *at, const struct backtrace *backtrace,
                                      const struct writer *writer) {
    at = leb128_write(at, leb128_zigzag((int64_t)(writer->last_ticks - backtrace->taken_ticks)));
    at = leb128_write(at, backtrace->thread_uid);
    at = leb128_write(at, backtrace->tid);
    at = leb128_write(at, backtrace->pid);
    return leb128_write(at, backtrace->process_start_ns);
}
