#include "chunk_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libconvert/base/memory.h"

enum {
    CHUNK_BYTES = 64 * 1024,
    DRAIN_BYTES = 1024 * 1024 /* smaller outputs are kept until they are complete */
};

void chunk_list_init(struct chunk_list *list, struct failure *failure) {
    *list = (struct chunk_list){.failure = failure};
}

void chunk_list_fini(struct chunk_list *list) {
    for (struct chunk *chunk = list->first; chunk;) {
        struct chunk *next = chunk->next;
        memory_free(chunk);
        chunk = next;
    }
    chunk_list_init(list, list->failure);
}

static size_t room_bytes(const struct chunk_list *list) {
    return list->last ? list->last->capacity_bytes - list->last->used_bytes : 0;
}

static void drain_if_full(struct chunk_list *list) {
    if (!list->drain || list->total_bytes < DRAIN_BYTES) return;
    struct chunk_list full = *list;
    full.drain = NULL;
    list->first = list->last = NULL;
    list->total_bytes = 0;
    list->drain->take(list->drain->context, &full);
}

bool chunk_list_grow(struct chunk_list *list, size_t bytes_count) {
    drain_if_full(list);
    /* The output of a failed conversion is discarded, so it takes no more memory. */
    if (failure_is_set(list->failure)) return false;
    size_t capacity_bytes = bytes_count > CHUNK_BYTES ? bytes_count : CHUNK_BYTES;
    struct chunk *chunk = capacity_bytes > SIZE_MAX - sizeof *chunk
                              ? NULL
                              : memory_allocate(list->failure, sizeof *chunk + capacity_bytes);
    if (!chunk) {
        failure_set_memory(list->failure);
        return false;
    }
    chunk->next = NULL;
    chunk->used_bytes = 0;
    chunk->capacity_bytes = capacity_bytes;
    if (list->last)
        list->last->next = chunk;
    else
        list->first = chunk;
    list->last = chunk;
    return true;
}

void chunk_list_append(struct chunk_list *list, const void *bytes, size_t bytes_count) {
    const char *from = bytes;
    while (bytes_count) {
        size_t room = room_bytes(list);
        if (!room) {
            if (!chunk_list_grow(list, 1)) return;
            room = room_bytes(list);
        }
        size_t part = bytes_count < room ? bytes_count : room;
        memcpy(list->last->bytes + list->last->used_bytes, from, part);
        chunk_list_commit(list, part);
        from += part;
        bytes_count -= part;
    }
}

void chunk_list_format(struct chunk_list *list, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int bytes_count = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *room = bytes_count > 0 ? chunk_list_reserve(list, (size_t)bytes_count + 1) : NULL;
    if (room) {
        vsnprintf(room, (size_t)bytes_count + 1, format, again);
        chunk_list_commit(list, (size_t)bytes_count);
    }
    va_end(again);
}

void chunk_list_copy(const struct chunk_list *list, char *out) {
    for (const struct chunk *chunk = list->first; chunk; chunk = chunk->next)
        out = mempcpy(out, chunk->bytes, chunk->used_bytes);
}

void chunk_list_splice(struct chunk_list *into, struct chunk_list *from) {
    if (!from->first) return;
    if (from->total_bytes <= room_bytes(into)) {
        for (const struct chunk *chunk = from->first; chunk; chunk = chunk->next)
            chunk_list_append(into, chunk->bytes, chunk->used_bytes);
        chunk_list_fini(from);
        return;
    }
    if (into->last)
        into->last->next = from->first;
    else
        into->first = from->first;
    into->last = from->last;
    into->total_bytes += from->total_bytes;
    chunk_list_init(from, from->failure);
    drain_if_full(into);
}

void chunk_list_drop_first(struct chunk_list *list) {
    struct chunk *first = list->first;
    list->first = first->next;
    if (!list->first) list->last = NULL;
    list->total_bytes -= first->used_bytes;
    memory_free(first);
}
