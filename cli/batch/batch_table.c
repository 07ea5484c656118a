#include "batch_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/console.h"
#include "manifest.h"

/* Returns how many bytes at the start of the message repeat the name of the entry, or 0. Some messages contain only the
 * path of the archive. */
static size_t named_bytes(struct text message, const char *path, const char *name) {
    size_t common_bytes = 0;
    while (common_bytes < message.bytes_count && message.bytes[common_bytes] == name[common_bytes]) common_bytes++;
    bool is_name = common_bytes >= strlen(path) && text_starts_with(text_from(message, common_bytes), TEXT(": "));
    return is_name ? common_bytes + 2 : 0;
}

/* Appends the place and the message. Messages that have a place do not contain a file name. */
static void append_error(struct report_text *text, const char *path, const char *name,
                         const struct batch_error *error) {
    struct text message = text_of(error->message);
    if (error->has_place) {
        report_append_place(text, name, error->line, error->offset);
    } else if (!text_starts_with(message, text_of(name))) {
        report_append(text, "%s: ", name);
        message = text_from(message, named_bytes(message, path, name));
    }
    report_append(text, "%.*s", TEXT_ARGS(message));
}

static void print_entry(const struct batch_source *source, const struct batch_entry *entry, enum batch_status status) {
    struct report_text text = {.bytes_count = 0};
    char *name = batch_entry_name(source, entry->member);
    if (!name) return;
    report_append(&text, "%-10s ", manifest_status_label(status));
    struct batch_error error;
    if (batch_entry_error(entry, &error))
        append_error(&text, source->path, name, &error);
    else
        report_append(&text, "%s", name);
    if (status == BATCH_CONVERTED) {
        report_append(&text, ": ");
        report_append_contents(batch_entry_result(entry), &text);
        report_append_losses(batch_entry_result(entry), &text);
    }
    report_end_line(&text, 0);
    console_print(&text);
    free(name);
}

static void print_entries(struct batch_plan *plan, bool are_failed) {
    for (struct batch_cursor at = {0}; batch_cursor_next(plan, &at);) {
        enum batch_status status = atomic_load(&at.entry->status);
        if (manifest_status_label(status) && (status == BATCH_FAILED) == are_failed)
            print_entry(at.source, at.entry, status);
    }
}

static void print_totals(struct batch_plan *plan, uint64_t duration_ns) {
    enum { NS_PER_CENTISECOND = 10000000, CENTISECONDS = 100 };
    int64_t totals[TOTAL_COUNT];
    struct report_text text = {.bytes_count = 0};
    batch_totals_of(plan, totals);
    if (plan->shard.count) report_append(&text, "shard %u of %u: ", plan->shard.number, plan->shard.count);
    manifest_append_counts(&text, totals);
    uint64_t centiseconds = duration_ns / NS_PER_CENTISECOND;
    report_append(&text, "; inputs of ");
    report_append_bytes(&text, (uint64_t)totals[TOTAL_BYTES_READ]);
    report_append(&text, ", wrote ");
    report_append_bytes(&text, (uint64_t)totals[TOTAL_BYTES_WRITTEN]);
    report_append(&text, ", in %" PRIu64 ".%02" PRIu64 " s", centiseconds / CENTISECONDS, centiseconds % CENTISECONDS);
    report_end_line(&text, 0);
    console_print(&text);
}

void batch_table_print(struct batch_plan *plan, uint64_t duration_ns, bool is_quiet) {
    if (!is_quiet) print_entries(plan, false);
    print_entries(plan, true);
    if (!is_quiet) print_totals(plan, duration_ns);
}
