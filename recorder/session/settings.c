#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recorder/state/sampler_hooks.h"

#define DEFAULT_PATH "%e-%p.trace"

static const uint64_t DEFAULT_LIMIT_BYTES = 128u * 1024 * 1024;

enum {
    DEFAULT_CHUNK_BYTES = 64 * 1024,
    SMALL_LIMIT_CHUNK_COUNT = 64, /* if the limit has fewer chunks than this, chunks are smaller */
    CHUNK_COUNT_MIN = 16,
};

/* Returns false if the text does not fit. */
static bool append_text(char *to, size_t to_bytes, const char *text) {
    size_t length = strlen(to), added = strlen(text);
    if (length + added >= to_bytes) return false;
    memcpy(to + length, text, added + 1);
    return true;
}

bool settings_expand_path(const char *pattern, char path[POOL_PATH_BYTES]) {
    path[0] = '\0';
    for (const char *at = pattern; *at; at++) {
        char piece[32] = {*at};
        const char *text = piece;
        if (at[0] == '%' && at[1]) {
            at++;
            if (*at == 'p')
                snprintf(piece, sizeof piece, "%ld", (long)getpid());
            else if (*at == 'e')
                text = program_invocation_short_name;
            else if (*at != '%')
                return false;
        }
        if (!append_text(path, POOL_PATH_BYTES, text)) return false;
    }
    return path[0] != '\0';
}

static uint32_t default_chunk_bytes(uint64_t limit_bytes) {
    uint32_t chunk_bytes = DEFAULT_CHUNK_BYTES;
    while (chunk_bytes > TRACE_CHUNK_BYTES_MIN && limit_bytes / chunk_bytes < SMALL_LIMIT_CHUNK_COUNT) chunk_bytes /= 2;
    return chunk_bytes;
}

static bool is_chunk_size(uint32_t bytes) {
    return bytes >= TRACE_CHUNK_BYTES_MIN && bytes <= TRACE_CHUNK_BYTES_MAX && (bytes & (bytes - 1)) == 0;
}

bool settings_copy_text(char *to, size_t to_bytes, const char *text) {
    to[0] = '\0';
    return !text || append_text(to, to_bytes, text);
}

enum settings_option settings_resolve(const struct grec_options *options, struct settings *settings) {
    *settings =
        (struct settings){.limit_bytes = options->limit_bytes ? options->limit_bytes : DEFAULT_LIMIT_BYTES,
                          .storage = options->storage,
                          .flags = options->flags & ~(uint32_t)(GREC_PROCESS | GREC_GROUP),
                          .duration_s = options->duration_s,
                          .interval_us = options->interval_us ? options->interval_us : SAMPLER_INTERVAL_US_DEFAULT};
    settings->chunk_bytes = options->chunk_bytes ? options->chunk_bytes : default_chunk_bytes(settings->limit_bytes);
    if (settings->storage > GREC_STORAGE_MEMORY || settings->flags & ~(uint32_t)SETTINGS_KNOWN_FLAGS ||
        settings->interval_us < SAMPLER_INTERVAL_US_MIN)
        return SETTINGS_OPTION_OTHER;
    if (!is_chunk_size(settings->chunk_bytes)) return SETTINGS_OPTION_CHUNK;
    if (settings->limit_bytes / settings->chunk_bytes < CHUNK_COUNT_MIN) return SETTINGS_OPTION_LIMIT;
    if (settings->duration_s && settings->limit_bytes == GREC_UNLIMITED) return SETTINGS_OPTION_DURATION;
    if (!settings_expand_path(options->path ? options->path : DEFAULT_PATH, settings->path))
        return SETTINGS_OPTION_PATH;
    if (!settings_copy_text(settings->threads, sizeof settings->threads, options->threads))
        return SETTINGS_OPTION_THREADS;
    bool is_named = settings_copy_text(settings->product, sizeof settings->product, options->product);
    return is_named ? SETTINGS_OPTION_NONE : SETTINGS_OPTION_OTHER;
}
