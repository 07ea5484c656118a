/* The options of a recording, checked, and with the defaults filled in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"
#include "recorder/state/pool.h"

enum {
    /* The flags that the processes of a recording share. */
    SETTINGS_SHARED_FLAGS = GREC_HELPER | GREC_SAMPLER | GREC_ALL_THREADS | GREC_NO_STACKS | GREC_NO_PROCESS_CPU |
                            GREC_NO_MEMORY | GREC_NO_POWER | GREC_NO_ARGUMENTS,
    SETTINGS_KNOWN_FLAGS = GREC_NO_CHILDREN | SETTINGS_SHARED_FLAGS,
    /* Either asks for the sampler's thread. */
    SETTINGS_THREAD_FLAGS = GREC_HELPER | GREC_SAMPLER,
};

struct settings {
    char path[POOL_PATH_BYTES];
    char threads[POOL_FILTER_BYTES];
    char product[GREC_NAME_BYTES_MAX + 1];
    uint64_t limit_bytes;
    uint32_t chunk_bytes;
    uint32_t storage;
    uint32_t flags; /* without those of enum grec_scope */
    uint32_t interval_us;
    uint32_t duration_s;
};

/* Options that can have a value out of their range. */
enum settings_option {
    SETTINGS_OPTION_NONE,
    SETTINGS_OPTION_PATH,
    SETTINGS_OPTION_LIMIT,
    SETTINGS_OPTION_CHUNK,
    SETTINGS_OPTION_THREADS,
    SETTINGS_OPTION_DURATION,
    SETTINGS_OPTION_OTHER,
};

/* Returns the first option that is out of its range, which grec_start refuses. */
enum settings_option settings_resolve(const struct grec_options *options, struct settings *settings);

/* Expands %p, %e and %% in a path. Returns false if it has another letter after a percent sign, is empty or too long.
 */
bool settings_expand_path(const char *pattern, char path[POOL_PATH_BYTES]);

/* NULL counts as an empty text. Returns false if the text does not fit. */
bool settings_copy_text(char *to, size_t to_bytes, const char *text);
