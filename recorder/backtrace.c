#include "backtrace.h"

#include <string.h>

#include "chunk_pool.h"
#include "leb128.h"
#include "libraries.h"
#include "markers.h"
#include "own_stack.h"
#include "process.h"
#include "session.h"
#include "stack.h"
#include "writer.h"

enum { HEAD_BYTES = 72, STACK_BYTES_MAX = GREC_BACKTRACE_BYTES - HEAD_BYTES };

/* As merged_stack_write writes it from the running address 0 on. */
struct backtrace {
    uint32_t magic;      /* TRACE_CHUNK_MAGIC; 0: nothing was taken */
    uint32_t generation; /* the recording that it is of */
    uint64_t taken_ticks;
    uint64_t thread_uid;
    uint32_t tid;
    uint32_t pid;
    uint64_t process_start_ns;
    uint32_t mapping_id; /* by which the process's mappings were known */
    uint32_t bytes_count;
    uint32_t address_at;  /* where the first address stands… */
    uint32_t address_end; /* …and ends; both bytes_count: there is none */
    uint64_t first_address;
    uint64_t last_address;
    unsigned char bytes[STACK_BYTES_MAX];
};
_Static_assert(sizeof(struct backtrace) == sizeof(struct grec_backtrace), "it fits, and fills it");

static struct backtrace *backtrace_of(const struct grec_backtrace *kept) {
    return (struct backtrace *)(uintptr_t)kept->bytes_;
}

/* ---- Taking. ---- */

static void keep_labels(struct backtrace *backtrace, const struct recording *recording, uint32_t bytes_max) {
    struct room room = {backtrace->bytes, backtrace->bytes + bytes_max};
    stack_write(&room, &thread_record_self->labels, recording->depth);
    backtrace->bytes_count = (uint32_t)(room.at - backtrace->bytes);
    backtrace->address_at = backtrace->address_end = backtrace->bytes_count;
}

/* The first address is written as if the running one were the same: a single byte. */
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
    bool is_new;
    const struct process_state *process = process_self(&is_new);
    uint32_t room = marker_stack_bytes_max(), bytes_max = room < STACK_BYTES_MAX ? room : STACK_BYTES_MAX;
    const struct merged_stack *merged = own_stack_take(recording, entry, bytes_max);
    if (merged) {
        libraries_inherit();
        backtrace->mapping_id = libraries_last_mapping();
        keep_merged(backtrace, merged);
    } else {
        keep_labels(backtrace, recording, bytes_max);
    }
    backtrace->taken_ticks = clock_ticks();
    backtrace->thread_uid = thread_record_uid(thread_record_self);
    backtrace->tid = thread_registry_tid(recording->thread);
    backtrace->pid = process->pid;
    backtrace->process_start_ns = process->start_ns;
    backtrace->generation = session_generation;
    backtrace->magic = TRACE_CHUNK_MAGIC;
}

void grec_take_backtrace(struct grec_backtrace *kept) {
    if (!kept) return;
    struct backtrace *backtrace = backtrace_of(kept);
    memset(backtrace, 0, HEAD_BYTES);
    if (!grec_is_recording()) return;
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    /* A thread that is left out may be asked who caused the work of another one. */
    if (recording_identify(&recording) || recording.thread->is_muted)
        take(backtrace, &recording, __builtin_frame_address(0));
    recording_leave(&recording);
}

/* ---- Writing. ---- */

const struct backtrace *backtrace_find(const struct grec_backtrace *kept) {
    const struct backtrace *backtrace = backtrace_of(kept);
    if (backtrace->magic != TRACE_CHUNK_MAGIC || backtrace->generation != session_generation) return NULL;
    bool is_whole = backtrace->bytes_count <= STACK_BYTES_MAX && backtrace->address_end <= backtrace->bytes_count &&
                    backtrace->address_at <= backtrace->address_end;
    return is_whole ? backtrace : NULL;
}

static bool has_address(const struct backtrace *backtrace) { return backtrace->address_at < backtrace->bytes_count; }

uint32_t backtrace_bytes_max(const struct backtrace *backtrace) {
    return backtrace->bytes_count + (has_address(backtrace) ? LEB128_BYTES_MAX + OWN_STACK_ROOM_BYTES : 0) +
           BACKTRACE_ORIGIN_BYTES_MAX;
}

/* In a child the parent's definitions are not known as its own, but all that it has inherited is. */
void backtrace_announce(const struct backtrace *backtrace, struct writer *writer) {
    bool is_new;
    if (!has_address(backtrace)) return;
    if (backtrace->process_start_ns == process_self(&is_new)->start_ns)
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
