#include "junit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/xml.h"
#include "manifest.h"

enum { BUFFERED_BYTES_MAX = 1024 * 1024, NS_PER_MS = 1000000, MS_PER_S = 1000 };

static void append_seconds(struct chunk_list *out, uint64_t duration_ns) {
    uint64_t ms = duration_ns / NS_PER_MS;
    chunk_list_format(out, " time=\"%" PRIu64 ".%03" PRIu64 "\"", ms / MS_PER_S, ms % MS_PER_S);
}

static void append_words(struct chunk_list *out, const struct batch_error *error) {
    if (error->has_place && error->line) chunk_list_format(out, "line %" PRIu64 ": ", error->line);
    if (error->has_place && !error->line) chunk_list_format(out, "byte %" PRIu64 ": ", error->offset);
    xml_append_text(out, text_of(error->message));
}

/* Jenkins shows the attribute, and GitLab the text. */
static void append_error(struct chunk_list *out, const char *element, const struct batch_error *error) {
    chunk_list_format(out, "<%s type=\"%s\" message=\"", element, error->code);
    append_words(out, error);
    chunk_list_format(out, "\">");
    append_words(out, error);
    chunk_list_format(out, "</%s>", element);
}

static void append_case(struct chunk_list *out, const struct batch_source *source, const struct batch_entry *entry) {
    char *name = failure_check_memory(out->failure, batch_entry_name(source, entry->member));
    if (!name) return;
    enum batch_status status = atomic_load(&entry->status);
    chunk_list_format(out, "    <testcase classname=\"gecko-convert\" name=\"");
    xml_append_text(out, text_of(name));
    chunk_list_format(out, "\"");
    append_seconds(out,
                   status == BATCH_CONVERTED || status == BATCH_FAILED ? batch_entry_result(entry)->duration_ns : 0);
    chunk_list_format(out, ">");
    struct batch_error error;
    if (batch_entry_error(entry, &error)) append_error(out, status == BATCH_FAILED ? "failure" : "skipped", &error);
    if (status == BATCH_PENDING) chunk_list_format(out, "<skipped message=\"the batch was interrupted\"/>");
    chunk_list_format(out, "</testcase>\n");
    free(name);
}

/* Folders and archives that could be read are represented by their files and members. */
static bool is_case(enum batch_status status) { return status != BATCH_FOLDER && status != BATCH_ARCHIVE; }

/* Writes the attributes that both elements may have by the schemas of CI systems. */
static void append_suite(struct chunk_list *out, const char *element, int64_t case_count, int64_t failed_count,
                         uint64_t duration_ns) {
    chunk_list_format(out, "<%s name=\"gecko-convert\" tests=\"%" PRId64 "\" failures=\"%" PRId64 "\" errors=\"0\"",
                      element, case_count, failed_count);
    append_seconds(out, duration_ns);
}

void junit_write(struct batch_plan *plan, uint64_t duration_ns, struct sink *sink, struct failure *failure) {
    int64_t totals[TOTAL_COUNT];
    struct chunk_list out;
    batch_totals_of(plan, totals);
    int64_t skipped_count = totals[TOTAL_NO_TRACE] + totals[TOTAL_EMPTY] + totals[TOTAL_INTERRUPTED];
    int64_t case_count = totals[TOTAL_CONVERTED] + totals[TOTAL_UNCHANGED] + totals[TOTAL_FAILED] + skipped_count;
    chunk_list_init(&out, failure);
    chunk_list_format(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    append_suite(&out, "testsuites", case_count, totals[TOTAL_FAILED], duration_ns);
    chunk_list_format(&out, ">\n  ");
    append_suite(&out, "testsuite", case_count, totals[TOTAL_FAILED], duration_ns);
    chunk_list_format(&out, " skipped=\"%" PRId64 "\">\n", skipped_count);
    for (struct batch_cursor at = {0}; batch_cursor_next(plan, &at);) {
        if (is_case(atomic_load(&at.entry->status))) append_case(&out, at.source, at.entry);
        if (out.total_bytes > BUFFERED_BYTES_MAX) sink_put(sink, &out, (struct progress){0});
    }
    chunk_list_format(&out, "  </testsuite>\n</testsuites>\n");
    sink_put(sink, &out, (struct progress){0});
}
