#include "backtrace.h"

#include <string.h>

#include "last_mapping.h"
#include "markers.h"
#include "own_stack.h"
#include "recorder/pool/chunk_pool.h"
#include "recorder/state/leb128.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "stack.h"
#include "writer.h"

enum { HEAD_BYTES = 72, STACK_BYTES_MAX = GREC_BACKTRACE_BYTES - HEAD_BYTES };

/* The bytes of the stack are what merged_stack_write wrote with a running address of 0. */
struct backtrace {
    uint32_t magic;      /* TRACE_CHUNK_MAGIC; 0: nothing was taken */
    uint32_t generation; /* the recording that it is of */
    uint64_t taken_ticks;
    uint64_t thread_uid;
    uint32_t tid;
    uint32_t pid;
    uint64_t process_start_ns;
    uint32_t mapping_id; /* the last mapping that the process had defined */
    uint32_t bytes_count;
    uint32_t address_at;  /* where the first address begins; bytes_count if there is none */
    uint32_t address_end; /* where the first address ends; bytes_count if there is none */
    uint64_t first_address;
    uint64_t last_address;
    unsigned char bytes[STACK_BYTES_MAX];
};
_Static_assert(sizeof(struct backtrace) == sizeof(struct grec_backtrace),
               "a backtrace fills the caller's memory exactly");

static struct backtrace *backtrace_of(const struct grec_backtrace *memory) {
    return (struct backtrace *)(uintptr_t)memory->bytes_;
}

/* ---- Taking. ---- */

static void keep_labels(struct backtrace *backtrace, const struct recording *recording, uint32_t bytes_max) {
    struct room room = {backtrace->bytes, backtrace->bytes + bytes_max};
    stack_write(&room, &thread_record_self->labels, recording->depth);
    backtrace->bytes_count = (uint32_t)(room.at - backtrace->bytes);
    backtrace->address_at = backtrace->address_end = backtrace->bytes_count;
}

/* The running address is that of the first frame, so the first address takes one byte. */
static void keep_merged(struct backtrace *backtrace, const struct merged_stack *merged) {
    uint64_t first = merged_stack_first_address(merged), last = first;
    unsigned char *address_at = NULL;
    unsigned char *end = merged_stack_write(backtrace->bytes, merged, 0, &last, &address_at);
    backtrace->bytes_count = backtrace->address_at = backtrace->address_end = (uint32_t)(end - backtrace->bytes);
    backtrace->first_address = first;
    backtrace->last_address = last;
    if (!address_at) return;
    backtrace->address_at = (uint32_t)(address_at - backtrace->bytes);
    backtrace->address_end = backtrace->address_at + 1;
}

static void take(struct backtrace *backtrace, const struct recording *recording, const void *entry) {
    const struct process_state *process = process_self();
    uint32_t room = marker_stack_bytes_max(), bytes_max = room < STACK_BYTES_MAX ? room : STACK_BYTES_MAX;
    const struct merged_stack *merged = own_stack_walk(recording, entry, bytes_max);
    if (merged) {
        last_mapping_inherit();
        backtrace->mapping_id = last_mapping_id();
        keep_merged(backtrace, merged);
    } else {
        keep_labels(backtrace, recording, bytes_max);
    }
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
    memset(backtrace, 0, HEAD_BYTES);
    if (!grec_may_record_()) return;
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    /* A thread that the options leave out takes its stack too: it may have caused the work of another thread. */
    if (recording_identify(&recording) || recording.thread->is_muted)
        take(backtrace, &recording, __builtin_frame_address(0));
    recording_leave(&recording);
}

/* ---- Writing. ---- */

const struct backtrace *backtrace_find(const struct grec_backtrace *memory) {
    const struct backtrace *backtrace = backtrace_of(memory);
    if (backtrace->magic != TRACE_CHUNK_MAGIC || backtrace->generation != recording_generation) return NULL;
    bool is_whole = backtrace->bytes_count <= STACK_BYTES_MAX && backtrace->address_end <= backtrace->bytes_count &&
                    backtrace->address_at <= backtrace->address_end;
    return is_whole ? backtrace : NULL;
}

static bool has_address(const struct backtrace *backtrace) { return backtrace->address_at < backtrace->bytes_count; }

uint32_t backtrace_bytes_max(const struct backtrace *backtrace) {
    return backtrace->bytes_count + (has_address(backtrace) ? LEB128_BYTES_MAX + OWN_STACK_ROOM_BYTES : 0) +
           BACKTRACE_ORIGIN_BYTES_MAX;
}

/* A forked child cannot refer to mappings that its parent defined, but to those that it has inherited. */
void backtrace_announce(const struct backtrace *backtrace, struct writer *writer) {
    if (!has_address(backtrace)) return;
    if (backtrace->process_start_ns == process_self()->start_ns)
        own_stack_announce_mapping(writer, backtrace->mapping_id);
    else
        own_stack_announce(writer);
}

static unsigned char *write_stack(unsigned char *at, const struct backtrace *backtrace, struct writer *writer) {
    memcpy(at, backtrace->bytes, backtrace->address_at);
    at += backtrace->address_at;
    if (!has_address(backtrace)) return at;
    at = leb128_write(at, leb128_zigzag((int64_t)(backtrace->first_address - writer->running_address)));
    uint32_t rest_bytes = backtrace->bytes_count - backtrace->address_end;
    memcpy(at, backtrace->bytes + backtrace->address_end, rest_bytes);
    writer->running_address = backtrace->last_address;
    return at + rest_bytes;
}

unsigned char *backtrace_write(unsigned char *at, const struct backtrace *backtrace, struct writer *writer) {
    at = write_stack(at, backtrace, writer);
    at = leb128_write(at, leb128_zigzag((int64_t)(writer->last_ticks - backtrace->taken_ticks)));
    at = leb128_write(at, backtrace->thread_uid);
    at = leb128_write(at, backtrace->tid);
    at = leb128_write(at, backtrace->pid);
    return leb128_write(at, backtrace->process_start_ns);
}
