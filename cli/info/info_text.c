/* Prints the facts as lines for people. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "info_subject.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/printable.h"
#include "libconvert/profile/ledger.h"
#include "libconvert/report.h"

enum { TEXT_BYTES = 512, LABEL_COLUMNS = 15, BAR_CELLS = 20, NUMBER_BYTES = 40 };

/* ---- Parts of lines. ---- */

/* Replaces control characters: a trace must not control the terminal. */
static void append_printable(struct chunk_list *text, struct text shown) {
    char printable[TEXT_BYTES];
    printable_copy(printable, sizeof printable, shown);
    chunk_list_format(text, "%s", printable);
}

static void append_label(struct chunk_list *text, const char *label) {
    chunk_list_format(text, "  %-*s", LABEL_COLUMNS, label);
}

static void append_count(struct chunk_list *text, uint64_t count, const char *noun) {
    chunk_list_format(text, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
}

/* Formats with at most three digits after the decimal point and without trailing zeros. */
static const char *format_number(double value, char number[NUMBER_BYTES]) {
    snprintf(number, NUMBER_BYTES, fabs(value) < 1e15 ? "%.3f" : "%.6e", value);
    if (!strchr(number, '.') || strchr(number, 'e')) return number;
    size_t bytes_count = strlen(number);
    while (number[bytes_count - 1] == '0') bytes_count--;
    if (number[bytes_count - 1] == '.') bytes_count--;
    number[bytes_count] = '\0';
    return strcmp(number, "-0") == 0 ? "0" : number;
}

/* Draws a bar, in eighths of a cell if the terminal can show them. */
static void append_bar(struct chunk_list *text, double part, const struct info_layout *layout) {
    static const char *const eighths[] = {"",
                                          "\xe2\x96\x8f",
                                          "\xe2\x96\x8e",
                                          "\xe2\x96\x8d",
                                          "\xe2\x96\x8c",
                                          "\xe2\x96\x8b",
                                          "\xe2\x96\x8a",
                                          "\xe2\x96\x89"};
    unsigned steps_per_cell = layout->has_utf8 ? 8 : 1;
    double clipped = part < 0 ? 0 : part > 1 ? 1 : part;
    unsigned steps = (unsigned)(clipped * BAR_CELLS * steps_per_cell + 0.5);
    unsigned full = steps / steps_per_cell, rest = steps % steps_per_cell;
    chunk_list_format(text, "%s", layout->style->bar);
    for (unsigned i = 0; i < full; i++) chunk_list_format(text, "%s", layout->has_utf8 ? "\xe2\x96\x88" : "#");
    chunk_list_format(text, "%s%s%*s", eighths[rest], layout->style->reset, (int)(BAR_CELLS - full - (rest > 0)), "");
}

/* Appends " 54.3 %  ██████      300  ". */
static void append_weight(struct chunk_list *text, double weight, double whole, const struct info_layout *layout) {
    char number[NUMBER_BYTES];
    double part = whole > 0 ? fabs(weight) / whole : 0;
    chunk_list_format(text, "  %5.1f %%  ", part * 100);
    if (layout->has_bars) append_bar(text, part, layout);
    chunk_list_format(text, " %12s  ", format_number(weight, number));
}

static void append_heading(struct chunk_list *text, const char *heading, size_t shown_count, size_t all_count,
                           const struct info_layout *layout) {
    chunk_list_format(text, "\n  %s%s%s", layout->style->bold, heading, layout->style->reset);
    if (shown_count < all_count) chunk_list_format(text, " (%zu of %zu)", shown_count, all_count);
    chunk_list_format(text, "\n");
}

/* ---- Summary lines. ---- */

static void append_first_line(struct chunk_list *text, const struct info_subject *subject,
                              const struct info_layout *layout) {
    struct report_text bytes = {.bytes_count = 0};
    report_append_bytes(&bytes, subject->bytes_count);
    chunk_list_format(text, "%s", layout->style->bold);
    append_printable(text, text_of(report_path_name(subject->path)));
    chunk_list_format(text, "%s: ", layout->style->reset);
    append_printable(text, subject->title);
    if (subject->wrapping.bytes_count) {
        chunk_list_format(text, " (");
        append_printable(text, subject->wrapping);
        chunk_list_format(text, ")");
    }
    chunk_list_format(text, ", %.*s\n", TEXT_ARGS(bytes));
}

/* Appends a line for each of several inputs, instead of the first line. */
static void append_inputs(struct chunk_list *text, const struct gecko_convert_result *result,
                          const struct info_layout *layout) {
    chunk_list_format(text, "%s%zu files together%s:\n", layout->style->bold, result->input_count,
                      layout->style->reset);
    for (size_t i = 0; i < result->input_count; i++) {
        struct report_text line = {.bytes_count = 0};
        report_append_input(result, i, &line);
        report_end_line(&line, 0);
        chunk_list_format(text, "  %.*s", TEXT_ARGS(line));
    }
}

static void append_start(struct chunk_list *text, int64_t start_time_ms) {
    time_t seconds = (time_t)(start_time_ms / 1000);
    struct tm parts;
    char shown[64];
    if (!start_time_ms || !gmtime_r(&seconds, &parts)) return;
    if (strftime(shown, sizeof shown, "%Y-%m-%d %H:%M:%S", &parts)) chunk_list_format(text, ", from %s UTC", shown);
}

static void append_duration(struct chunk_list *text, const struct info *info) {
    char number[NUMBER_BYTES];
    append_label(text, "duration");
    if (!info->has_times) {
        chunk_list_format(text, "unknown: there are no times\n");
        return;
    }
    if (info->duration_ms < 1000)
        chunk_list_format(text, "%s ms", format_number(info->duration_ms, number));
    else
        chunk_list_format(text, "%s s", format_number(info->duration_ms / 1000, number));
    if (info->interval_ms > 0)
        chunk_list_format(text, ", a sample every %s ms", format_number(info->interval_ms, number));
    append_start(text, info->start_time_ms);
    chunk_list_format(text, "\n");
}

static void append_samples(struct chunk_list *text, const struct info *info) {
    char number[NUMBER_BYTES];
    append_label(text, "samples");
    bool counts_samples = text_equal(info->weight_unit, TEXT("samples"));
    bool has_weights = !counts_samples || info->weight != (double)info->sample_count;
    /* If weights count samples, a row is a stack that was sampled several times. */
    if (counts_samples && has_weights)
        append_count(text, info->sample_count, "stack");
    else
        chunk_list_format(text, "%" PRIu64, info->sample_count);
    if (has_weights) {
        chunk_list_format(text, ", total weight %s ", format_number(info->weight, number));
        append_printable(text, info->weight_unit);
    }
    if (info->stackless_count) chunk_list_format(text, ", %" PRIu64 " without a stack", info->stackless_count);
    chunk_list_format(text, "\n");
}

static void append_counts(struct chunk_list *text, const struct info *info) {
    append_label(text, "processes");
    chunk_list_format(text, "%" PRIu32 ", with ", info->processes.count);
    append_count(text, info->threads.count, "thread");
    chunk_list_format(text, "\n");
    append_samples(text, info);
    append_label(text, "functions");
    chunk_list_format(text, "%" PRIu32 ", in ", info->function_count);
    append_count(text, info->stack_count, "stack");
    chunk_list_format(text, " of ");
    append_count(text, info->frame_count, "frame");
    chunk_list_format(text, ", ");
    chunk_list_format(text, "%" PRIu64 " %s\n", info->lib_count, info->lib_count == 1 ? "library" : "libraries");
    append_label(text, "markers");
    chunk_list_format(text, "%" PRIu64 "\n", info->marker_count);
    append_label(text, "counters");
    chunk_list_format(text, "%" PRIu32 "\n", info->counters.count);
    if (!info->allocation_count) return;
    append_label(text, "allocations");
    chunk_list_format(text, "%" PRIu64, info->allocation_count);
    if (info->stackless_bytes > 0) {
        char part[NUMBER_BYTES], whole[NUMBER_BYTES];
        chunk_list_format(text, "; %s of %s bytes have no stack", format_number(info->stackless_bytes, part),
                          format_number(info->allocated, whole));
    }
    chunk_list_format(text, "\n");
}

/* Returns whether the fact is one of perf's that the recording's facts have under another name. */
static bool is_repeated(const struct info *info, const struct info_fact *fact) {
    bool is_command = text_equal(fact->label, TEXT("cmdline"));
    if (!is_command && !text_equal(fact->label, TEXT("hostname"))) return false;
    struct text label = is_command ? TEXT("arguments") : TEXT("device");
    COLUMN_EACH(const struct info_fact, known, &info->facts)
        if (text_equal(known->section, TEXT("recording")) && text_equal(known->label, label))
            return text_equal(known->value, fact->value);
    return false;
}

static void append_facts(struct chunk_list *text, const struct info *info) {
    COLUMN_EACH(const struct info_fact, fact, &info->facts) {
        if (is_repeated(info, fact)) continue;
        char label[TEXT_BYTES];
        printable_copy(label, sizeof label, fact->label);
        append_label(text, label);
        if (strlen(label) >= LABEL_COLUMNS) chunk_list_format(text, "  ");
        append_printable(text, fact->value);
        chunk_list_format(text, "\n");
    }
}

/* ---- The ledger. ---- */

static void append_events(struct chunk_list *text, const struct gecko_convert_result *result) {
    for (size_t i = 0; i < result->event_count; i++) {
        const struct gecko_convert_event *event = &result->events[i];
        append_label(text, "event");
        append_printable(text, text_of(event->name));
        chunk_list_format(text, ": ");
        append_count(text, event->sample_count, "sample");
        bool are_samples = strcmp(event->treatment, "samples") == 0;
        chunk_list_format(text, are_samples ? "\n" : " (%s)\n", event->treatment);
    }
}

static void append_entries(struct chunk_list *text, const struct gecko_convert_result *result,
                           enum gecko_convert_fate fate, const char *color, const struct style *style) {
    for (size_t i = 0; i < result->entry_count; i++) {
        const struct gecko_convert_entry *entry = &result->entries[i];
        if (entry->fate != fate) continue;
        const char *noun = ledger_unit_noun(entry->unit, entry->count);
        chunk_list_format(text, "%s", color);
        append_label(text, gecko_convert_fate_name(fate));
        chunk_list_format(text, "%s%" PRIu64 " %s: ", style->reset, entry->count, noun);
        append_printable(text, text_of(entry->cause));
        if (entry->has_first && entry->first_line)
            chunk_list_format(text, ", first at line %" PRIu64, entry->first_line);
        else if (entry->has_first)
            chunk_list_format(text, ", first at byte %" PRIu64, entry->first_offset);
        chunk_list_format(text, "\n");
    }
}

static void append_missing_names(struct chunk_list *text, const struct gecko_convert_result *result) {
    for (size_t i = 0; i < result->missing_name_count; i++) {
        struct report_text line = {.bytes_count = 0};
        report_append_missing_name(result, i, &line);
        append_label(text, "names missing");
        append_printable(text, (struct text){line.bytes, line.bytes_count});
        chunk_list_format(text, "\n");
    }
}

static void append_ledger(struct chunk_list *text, const struct gecko_convert_result *result,
                          const struct style *style) {
    append_events(text, result);
    append_missing_names(text, result);
    append_entries(text, result, GECKO_CONVERT_FATE_FILTERED, "", style);
    append_entries(text, result, GECKO_CONVERT_FATE_LOST, style->warning, style);
    append_entries(text, result, GECKO_CONVERT_FATE_NOTED, "", style);
}

/* ---- Tables. ---- */

static void append_thread(struct chunk_list *text, const struct info *info, uint32_t row,
                          const struct info_layout *layout) {
    const struct info_thread *thread = column_at(&info->threads, row);
    const struct info_process *process = column_at(&info->processes, thread->process);
    if (info_is_by_cpu(info))
        append_weight(text, thread->cpu, info->thread_cpu, layout);
    else
        append_weight(text, thread->weight, info->weight, layout);
    append_printable(text, thread->name);
    chunk_list_format(text, "  %s", layout->style->dim);
    append_printable(text, process->pid);
    chunk_list_format(text, "/");
    append_printable(text, thread->tid);
    if (!text_equal(process->name, thread->name) && process->name.bytes_count) {
        chunk_list_format(text, " of ");
        append_printable(text, process->name);
    }
    chunk_list_format(text, "%s\n", layout->style->reset);
}

static void append_function(struct chunk_list *text, const struct info *info, uint32_t row, enum info_order order,
                            const struct info_layout *layout) {
    const struct info_function *function = column_at(&info->functions, row);
    bool is_by_cpu = order == INFO_FUNCTIONS_BY_CPU_SELF || order == INFO_FUNCTIONS_BY_CPU_TOTAL;
    double whole = is_by_cpu ? info->cpu : order == INFO_ALLOCATORS ? info->allocated : info->weight;
    append_weight(text, info_function_weight(function, order), whole, layout);
    append_printable(text, function->name);
    struct text place = function->library.bytes_count ? function->library : text_base_name(function->file);
    if (place.bytes_count) {
        chunk_list_format(text, "  %s", layout->style->dim);
        append_printable(text, place);
        chunk_list_format(text, "%s", layout->style->reset);
    }
    chunk_list_format(text, "\n");
}

static void append_marker(struct chunk_list *text, const struct info *info, uint32_t row,
                          const struct info_layout *layout) {
    const struct info_marker *marker = column_at(&info->markers, row);
    char median[NUMBER_BYTES], p95[NUMBER_BYTES], sum[NUMBER_BYTES];
    append_weight(text, (double)marker->count, (double)info->marker_count, layout);
    append_printable(text, marker->name);
    if (marker->duration_count)
        chunk_list_format(text, "  %smedian %s ms, 95 %% within %s ms, sum %s ms%s", layout->style->dim,
                          format_number(marker->median_ms, median), format_number(marker->p95_ms, p95),
                          format_number(marker->sum_ms, sum), layout->style->reset);
    chunk_list_format(text, "\n");
}

static void append_table(struct chunk_list *text, const struct info *info, enum info_order order, const char *heading,
                         const struct info_layout *layout) {
    const struct info_list *list = &info->lists[order];
    if (list->count) append_heading(text, heading, list->count, list->all_count, layout);
    for (size_t i = 0; i < list->count; i++) {
        if (order == INFO_THREADS || order == INFO_THREADS_BY_CPU)
            append_thread(text, info, list->rows[i], layout);
        else if (order == INFO_MARKERS)
            append_marker(text, info, list->rows[i], layout);
        else
            append_function(text, info, list->rows[i], order, layout);
    }
}

static void append_threads_and_functions(struct chunk_list *text, const struct info *info,
                                         const struct info_layout *layout) {
    if (!info_is_by_cpu(info)) {
        append_table(text, info, INFO_THREADS, "threads", layout);
        append_table(text, info, INFO_FUNCTIONS_BY_SELF, "functions by self time", layout);
        append_table(text, info, INFO_FUNCTIONS_BY_TOTAL, "functions by total time", layout);
    } else {
        bool is_time = text_equal(info->cpu_unit, TEXT("ms"));
        append_table(text, info, INFO_THREADS_BY_CPU,
                     is_time ? "threads by processor time, in ms" : "threads by cycles", layout);
        append_table(text, info, INFO_FUNCTIONS_BY_CPU_SELF,
                     is_time ? "functions by processor time of their own, in ms" : "functions by cycles of their own",
                     layout);
        append_table(text, info, INFO_FUNCTIONS_BY_CPU_TOTAL,
                     is_time ? "functions by total processor time, in ms" : "functions by total cycles", layout);
    }
    append_table(text, info, INFO_ALLOCATORS, "functions by bytes that they allocated themselves", layout);
    append_table(text, info, INFO_WAITS,
                 text_equal(info->weight_unit, TEXT("ms")) ? "waits, in ms" : "waits, by samples", layout);
}

/* Appends "0 to 14 bytes", "sum 4096 bytes, 0 to 512 bytes per second" or "up to 100 percent". */
static void append_values(struct chunk_list *text, const struct info_counter *counter) {
    char sum[NUMBER_BYTES], lowest[NUMBER_BYTES], highest[NUMBER_BYTES], unit[TEXT_BYTES] = "";
    bool is_share = info_counter_is_share(counter);
    double factor = is_share ? 100 / counter->highest : 1;
    if (counter->unit.bytes_count) {
        unit[0] = ' ';
        printable_copy(unit + 1, sizeof unit - 1, counter->unit);
    }
    if (counter->is_rate && !is_share) chunk_list_format(text, ", sum %s%s", format_number(counter->change, sum), unit);
    if (!isfinite(counter->lowest * factor)) return;
    chunk_list_format(text, ", %s to %s%s%s", format_number(counter->lowest * factor, lowest),
                      format_number(counter->highest * factor, highest), unit,
                      is_share           ? " of the highest"
                      : counter->is_rate ? " per second"
                                         : "");
}

static void append_counters(struct chunk_list *text, const struct info *info, const struct info_layout *layout) {
    size_t all_count = info->counters.count, count = all_count < info->top_count ? all_count : info->top_count;
    if (count) append_heading(text, "counters", count, all_count, layout);
    for (size_t i = 0; i < count; i++) {
        const struct info_counter *counter = column_at(&info->counters, i);
        chunk_list_format(text, "  %8" PRIu64 " samples", counter->sample_count);
        append_values(text, counter);
        chunk_list_format(text, "  ");
        append_printable(text, counter->name);
        chunk_list_format(text, "  %s", layout->style->dim);
        append_printable(text, counter->pid);
        chunk_list_format(text, "%s\n", layout->style->reset);
    }
}

void info_append_text(struct chunk_list *text, const struct info_subject *subject, const struct info_layout *layout) {
    const struct info *info = subject->info;
    if (subject->result->input_count)
        append_inputs(text, subject->result, layout);
    else
        append_first_line(text, subject, layout);
    append_label(text, "product");
    append_printable(text, info->product);
    chunk_list_format(text, "\n");
    append_duration(text, info);
    append_counts(text, info);
    append_facts(text, info);
    append_ledger(text, subject->result, layout->style);
    append_threads_and_functions(text, info, layout);
    append_table(text, info, INFO_MARKERS, "markers", layout);
    append_counters(text, info, layout);
}
