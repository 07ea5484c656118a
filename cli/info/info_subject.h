/* A file that gecko-convert info shows, and how to print its facts. */
#pragma once

#include "cli/style.h"
#include "info.h"
#include "libconvert/base/failure.h"
#include "libconvert/gecko_convert.h"
#include "writer/json.h"

struct info_subject {
    const char *path;
    struct text format;                        /* "perf-script"; empty: not known */
    struct text title;                         /* "perf script text" */
    struct text wrapping;                      /* "gzip"; empty: none */
    uint64_t bytes_count;                      /* size after decompression */
    const struct gecko_convert_result *result; /* the result of reading the file; NULL after a failure to open it */
    const struct failure *failure;
    const struct info *info; /* NULL after a failure to open the file */
};

/* The layout of text. */
struct info_layout {
    const struct style *style;
    bool has_utf8;
    bool has_bars; /* the output is a terminal, not another program */
};

void info_append_text(struct chunk_list *text, const struct info_subject *subject, const struct info_layout *layout);

/* Writes an object, as described in docs/info.md. */
void info_write_json(struct json *json, const struct info_subject *subject);
