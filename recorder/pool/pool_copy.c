/* Copies of pools: into a file, while other threads record, and into another pool. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pool_file.h"
#include "pool_internal.h"
#include "pool_path.h"

static bool write_all(int file, const void *bytes, size_t bytes_count, uint64_t offset) {
    const unsigned char *next = bytes;
    if (pool_file_is_beyond_limit(offset + bytes_count)) return false;
    while (bytes_count) {
        ssize_t written = pwrite(file, next, bytes_count, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        next += written;
        offset += (uint64_t)written;
        bytes_count -= (size_t)written;
    }
    return true;
}

/* Copies a chunk that threads may be writing into: the copy has what was published so far, and no end time. Returns
 * false if the chunk is used again meanwhile, which changes its base: then the bytes that were read are worthless.
 * While a thread continues the chunk, seals it or takes it, the chunk keeps its base and its blocks. So nobody waits
 * for that thread, which may be stopped or killed at any instant. */
__attribute__((no_sanitize("thread"))) static bool try_copy_chunk(const struct pool *pool, uint64_t number,
                                                                  unsigned char *copy) {
    const struct trace_chunk_header *chunk = pool_chunk(pool, number);
    struct trace_chunk_header *header = (struct trace_chunk_header *)copy;
    memset(copy, 0, pool->chunk_bytes);
    uint64_t base_ticks = __atomic_load_n(&chunk->base_ticks, __ATOMIC_ACQUIRE);
    uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
    if (state == TRACE_CHUNK_FREE) return true;
    uint64_t commit = __atomic_load_n(&chunk->commit, __ATOMIC_ACQUIRE);
    uint32_t end = (uint32_t)commit;
    if (chunk->kind == TRACE_CHUNK_DEFINITIONS || end > pool->chunk_bytes) end = pool->chunk_bytes;
    /* A definition is published by a change of its first word, so words must be read whole. */
    const volatile uint32_t *words = (const volatile uint32_t *)(const void *)chunk;
    for (uint32_t i = 0; i * sizeof *words < end; i++) ((uint32_t *)(void *)copy)[i] = words[i];
    header->state = state;
    header->commit = commit;
    header->global_index = __atomic_load_n(&chunk->global_index, __ATOMIC_RELAXED);
    if (state == TRACE_CHUNK_LIVE) {
        header->hash = 0;
        header->end_ticks = header->end_ns = 0;
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) != TRACE_CHUNK_FREE &&
           __atomic_load_n(&chunk->base_ticks, __ATOMIC_RELAXED) == base_ticks;
}

/* Each new try follows a new use of the chunk, so the old contents were recycled, and are counted as such. */
static void copy_chunk(const struct pool *pool, uint64_t number, unsigned char *copy) {
    while (!try_copy_chunk(pool, number, copy)) sched_yield();
    pool_pages_touch(pool, number, pool->chunk_bytes);
}

static bool write_chunk_copy(const struct pool *pool, uint64_t number, unsigned char *buffer, int file) {
    copy_chunk(pool, number, buffer);
    return write_all(file, buffer, pool->chunk_bytes, TRACE_HEADER_BYTES + number * pool->chunk_bytes);
}

__attribute__((no_sanitize("thread"))) static bool write_header_copy(const struct pool *pool, uint64_t chunk_count,
                                                                     unsigned char *buffer, int file) {
    struct trace_header *header = (struct trace_header *)buffer;
    memset(buffer, 0, TRACE_HEADER_BYTES);
    *header = *pool->header;
    header->chunks_offset = TRACE_HEADER_BYTES;
    header->chunk_count = chunk_count;
    pool_hash_header(header);
    return write_all(file, buffer, TRACE_HEADER_BYTES, 0);
}

static bool is_definitions_chunk(const struct pool *pool, uint64_t number) {
    const struct trace_chunk_header *chunk = pool_chunk(pool, number);
    return __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) != TRACE_CHUNK_FREE &&
           __atomic_load_n(&chunk->kind, __ATOMIC_RELAXED) == TRACE_CHUNK_DEFINITIONS;
}

/* Copies definitions once more after all events, because an event may refer to a definition that was added meanwhile.
 * The header is last, so that its counts include what was recycled meanwhile. */
static bool write_copy(const struct pool *pool, int file) {
    unsigned char *buffer = malloc(pool->chunk_bytes);
    if (!buffer) return false;
    bool is_good = true;
    uint64_t event_end = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_ACQUIRE);
    for (uint64_t i = 0; i < event_end && is_good; i++) is_good = write_chunk_copy(pool, i, buffer, file);
    uint64_t end = __atomic_load_n(&pool->header->chunk_count, __ATOMIC_ACQUIRE);
    for (uint64_t i = 0; i < end && is_good; i++)
        if (is_definitions_chunk(pool, i)) is_good = write_chunk_copy(pool, i, buffer, file);
    is_good = is_good && write_header_copy(pool, end, buffer, file) &&
              ftruncate(file, (off_t)(TRACE_HEADER_BYTES + end * pool->chunk_bytes)) == 0;
    free(buffer);
    return is_good;
}

/* A copy must not replace the recording's own file, which would then have no name. */
static bool is_own_file(const struct pool *pool, const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && pool_file_is(pool, &status);
}

bool pool_save(const struct pool *pool, const char *path) {
    char absolute[POOL_PATH_BYTES], temporary[POOL_TEMPORARY_PATH_BYTES];
    if (!pool_path_make_absolute(path, absolute)) return false;
    if (is_own_file(pool, absolute)) {
        errno = EINVAL;
        return false;
    }
    if (!pool_path_is_replaceable(absolute, pool)) return false;
    int file = pool_path_create_beside(absolute, temporary);
    if (file < 0) return false;
    bool is_good = write_copy(pool, file);
    int saved_errno = errno;
    is_good = close(file) == 0 && is_good;
    if (is_good && rename(temporary, absolute) == 0) return true;
    if (is_good) saved_errno = errno;
    unlink(temporary);
    errno = saved_errno;
    return false;
}

static bool is_event_chunk(const struct trace_chunk_header *chunk) {
    return chunk->state != TRACE_CHUNK_FREE && chunk->kind == TRACE_CHUNK_EVENTS;
}

static uint64_t count_events_from(const struct pool *pool, uint64_t first_index) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < pool->header->chunk_count; i++)
        count += is_event_chunk(pool_chunk(pool, i)) && pool_chunk(pool, i)->global_index >= first_index;
    return count;
}

/* Returns from which global index on there is room to copy all chunks of events. */
static uint64_t find_first_index(const struct pool *from, uint64_t room_count) {
    uint64_t low = 0, high = from->header->next_global_index;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (count_events_from(from, middle) > room_count)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Appends a copy of the chunk, unless the chunk is free by now. */
static bool append_chunk(const struct pool *from, uint64_t from_number, struct pool *to, enum pool_entry_state state) {
    uint64_t number = to->header->chunk_count;
    if (!pool_reserve_chunks(to, number + 1)) return false;
    struct trace_chunk_header *chunk = pool_chunk(to, number);
    copy_chunk(from, from_number, (unsigned char *)chunk);
    pool_pages_touch(to, number, to->chunk_bytes);
    if (chunk->state == TRACE_CHUNK_FREE) return true;
    to->header->chunk_count = number + 1;
    table_store(to, number, entry_of(state, chunk->global_index));
    return true;
}

/* Copies the chunks of definitions first, in their order, and sets their links to the new numbers. */
static bool copy_definitions(const struct pool *from, struct pool *to) {
    uint64_t number = 0;
    for (;;) {
        uint64_t place = to->header->chunk_count;
        if (!append_chunk(from, number, to, POOL_PINNED)) return false;
        to->shared->definition_chunk_count++;
        struct trace_chunk_header *chunk = pool_chunk(to, place);
        if (!chunk->next_chunk) return true;
        number = chunk->next_chunk - 1;
        chunk->next_chunk = (uint32_t)(place + 2);
    }
}

static bool copy_events(const struct pool *from, struct pool *to, uint64_t first_index) {
    for (uint64_t i = 0; i < from->header->chunk_count; i++) {
        const struct trace_chunk_header *chunk = pool_chunk(from, i);
        if (!is_event_chunk(chunk)) continue;
        if (chunk->global_index < first_index)
            pool_count_recycled(to, chunk);
        else if (!append_chunk(from, i, to, POOL_SEALED))
            return false;
    }
    return true;
}

static void copy_counts(const struct trace_header *from, struct trace_header *to) {
    to->next_global_index = from->next_global_index;
    to->next_thread_uid = from->next_thread_uid;
    const size_t losses = offsetof(struct trace_header, recycled_chunk_count);
    memcpy((char *)to + losses, (const char *)from + losses, offsetof(struct trace_header, stop_ticks) - losses);
    to->stale_marker_count = from->stale_marker_count;
    to->silent_process_count = from->silent_process_count;
    to->start_ticks = from->start_ticks;
    to->start_monotonic_ns = from->start_monotonic_ns;
    to->start_realtime_ns = from->start_realtime_ns;
    pool_hash_header(to);
}

bool pool_copy(const struct pool *from, struct pool *to) {
    copy_counts(from->header, to->header);
    to->shared->group_word = __atomic_load_n(&from->shared->group_word, __ATOMIC_RELAXED);
    to->shared->settings = from->shared->settings;
    if (!copy_definitions(from, to)) return false;
    /* Leave at least one chunk for new events. */
    uint64_t definition_count = to->header->chunk_count;
    uint64_t room_count =
        to->shared->max_chunk_count > definition_count + 1 ? to->shared->max_chunk_count - definition_count - 1 : 0;
    return copy_events(from, to, find_first_index(from, room_count));
}
