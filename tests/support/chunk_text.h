/* Joins the bytes of a chunk list into one string, for comparisons. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "writer/chunk_list.h"

/* Returns the list's bytes, NUL-terminated. The caller frees them. */
static inline char *chunk_text(const struct chunk_list *list) {
    char *text = malloc(list->total_bytes + 1);
    if (!text) abort();
    size_t at = 0;
    for (const struct chunk *chunk = list->first; chunk; chunk = chunk->next) {
        if (chunk->used_bytes > list->total_bytes - at) abort();
        memcpy(text + at, chunk->bytes, chunk->used_bytes);
        at += chunk->used_bytes;
    }
    if (at != list->total_bytes) abort();
    text[at] = '\0';
    return text;
}
