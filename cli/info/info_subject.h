/* What gecko-convert info was asked about, and what is known of it: for the text and for the JSON. */
#ifndef GECKO_INFO_SUBJECT_H
#define GECKO_INFO_SUBJECT_H

#include "cli/gecko_convert.h"
#include "cli/style.h"
#include "info.h"
#include "libconvert/failure.h"
#include "writer/json.h"

struct info_subject {
    const char *path;
    struct text format;                        /* "perf-script"; empty: not known */
    struct text title;                         /* "perf script text" */
    struct text wrapping;                      /* "gzip"; empty: none */
    uint64_t bytes_count;                      /* unwrapped */
    const struct gecko_convert_result *result; /* of a trace: its ledger; NULL: it is a profile */
    const struct failure *failure;
    struct info *info;
};

/* Lines for people. Lists have at most top_count rows. */
struct info_look {
    const struct style *style;
    bool has_utf8;
    unsigned top_count;
};

void info_append_text(struct chunk_list *text, const struct info_subject *subject, const struct info_look *look);

/* An object (docs/info.md). Lists of functions and markers have at most top_count rows. */
void info_write_json(struct json *json, const struct info_subject *subject, unsigned top_count);

/* The number of a sample event that a ledger's cause names, "cycles" of "event cycles"; empty: it names none. */
struct text info_event_of(const struct gecko_convert_entry *entry);

#endif
