#include "diff_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/printable.h"
#include "numbers.h"

enum { NAME_BYTES = 512 };

/* ---- Texts. ---- */

/* Replaces control characters: a trace must not control the terminal. In Markdown, bytes with a meaning there are
 * escaped. */
static void append_name(struct chunk_list *text, struct text name, const struct diff_layout *layout) {
    char printable[NAME_BYTES];
    printable_copy(printable, sizeof printable, name);
    for (const char *byte = printable; *byte; byte++) {
        if (layout->is_markdown && strchr("\\`*_{}[]<>#|~&@", *byte)) chunk_list_append(text, "\\", 1);
        chunk_list_append(text, byte, 1);
    }
}

static void append_row_name(struct chunk_list *text, const struct comparison_row *row,
                            const struct diff_layout *layout) {
    append_name(text, row->name, layout);
    if (row->library.bytes_count) {
        chunk_list_format(text, " (");
        append_name(text, row->library, layout);
        chunk_list_format(text, ")");
    }
    if ((row->kind == ROW_COUNTER || row->has_namesake) && row->file.bytes_count) {
        chunk_list_format(text, ", ");
        append_name(text, row->file, layout);
    }
}

/* ---- The head. ---- */

static void append_side(struct chunk_list *text, const char *label, const char *path, size_t run_count,
                        const struct diff_layout *layout) {
    chunk_list_format(text, layout->is_markdown ? "- %s: " : "%s  ", label);
    append_name(text, text_of(report_path_name(path)), layout);
    chunk_list_format(text, run_count == 1 ? ", one run\n" : ", %zu runs\n", run_count);
}

/* Describes what is compared: "This compares shares of all samples of a run.", "This compares cycles per request." */
static void append_unit(struct chunk_list *text, const struct comparison *comparison,
                        const struct diff_layout *layout) {
    static const struct text pers[] = {[PER_SHARE] = TEXT("of a run"),
                                       [PER_RUN] = TEXT("per run"),
                                       [PER_SECOND] = TEXT("per second"),
                                       [PER_MARKER] = TEXT("per ")};
    bool is_share = comparison->per == PER_SHARE, is_cpu = comparison->runs->measure == MEASURE_CPU;
    bool is_time = is_cpu || text_equal(comparison->runs->unit, TEXT("ms"));
    chunk_list_format(text, is_share ? "This compares shares of all " : "This compares ");
    if (!is_share || !is_time) append_name(text, comparison->runs->unit, layout);
    if (is_cpu) chunk_list_format(text, is_share ? "processor " : " of processor time");
    if (is_share && is_time) chunk_list_format(text, "time");
    chunk_list_format(text, " %.*s", TEXT_ARGS(pers[comparison->per]));
    append_name(text, comparison->marker, layout);
    chunk_list_format(text, ".\n");
}

static void append_certainty(struct chunk_list *text, const struct comparison *comparison, bool shows_all) {
    if (!estimate_knows_noise(comparison->runs->counts))
        chunk_list_format(text,
                          "The noise between runs is unknown: that takes %d runs on each side. Intervals are those of "
                          "sampling (binomial), so they are too narrow if runs differ for other reasons.\n",
                          KNOWN_NOISE_RUNS_MIN);
    else
        chunk_list_format(
            text, "%s; the intervals hold for all rows together in 98 of 100 comparisons (bootstrap over runs).\n",
            shows_all ? "All changes are listed" : "Changes that stand out of the noise are listed");
}

static void append_head(struct chunk_list *text, const struct comparison *comparison,
                        const struct diff_layout *layout) {
    const struct runs *runs = comparison->runs;
    append_side(text, "base", runs->paths[0], runs->counts.base, layout);
    append_side(text, "head", runs->paths[1], runs->counts.head, layout);
    chunk_list_format(text, "\n");
    append_unit(text, comparison, layout);
    append_certainty(text, comparison, layout->shows_all);
}

/* ---- Which rows a list shows. ---- */

struct list {
    const char *title;
    enum row_kind kind;
    enum cell_kind cell;
    bool is_in_ms; /* otherwise the unit of the comparison, or none */
};

static const struct list lists[] = {
    {"functions by self", ROW_FUNCTION, CELL_SELF, false},
    {"functions by total", ROW_FUNCTION, CELL_TOTAL, false},
    {"markers by count", ROW_MARKER, CELL_COUNT, false},
    {"markers by median duration", ROW_MARKER, CELL_MEDIAN, true},
    {"markers by 95th percentile of durations", ROW_MARKER, CELL_P95, true},
    {"counters", ROW_COUNTER, CELL_VALUE, false},
    {"duration of a run", ROW_DURATION, CELL_VALUE, true},
};

struct shown_row {
    double change;
    uint32_t number;
};

static int compare_changes(const void *left, const void *right) {
    const struct shown_row *a = left, *b = right;
    return ORDER(b->change, a->change) ?: ORDER(a->number, b->number);
}

/* Returns the rows that the list shows, the largest change first, and adds how many changed within the noise. With
 * shows_all, the list shows those too. Free them with memory_free. NULL if memory ran out (latched). */
static struct shown_row *list_rows(const struct list *list, const struct comparison *comparison, bool shows_all,
                                   size_t *count, size_t *quiet_count) {
    struct shown_row *shown = memory_allocate(comparison->failure, comparison->rows.count * sizeof *shown);
    *count = 0;
    for (size_t i = 0; shown && i < comparison->rows.count; i++) {
        const struct comparison_row *row = comparison_row_at(comparison, i);
        const struct cell *cell = &row->cells[list->cell];
        if (row->kind != list->kind || !cell->values || cell->estimate.change == 0) continue;
        if (!cell->stands_out) ++*quiet_count;
        if (cell->stands_out || shows_all)
            shown[(*count)++] = (struct shown_row){fabs(cell->estimate.change), (uint32_t)i};
    }
    if (shown) memory_sort(comparison->failure, shown, *count, sizeof *shown, compare_changes);
    return shown;
}

/* Returns the unit of the list's numbers; "%" for shares. */
static struct text list_unit(const struct list *list, const struct comparison *comparison) {
    if (list->is_in_ms) return TEXT("ms");
    if (list->kind != ROW_FUNCTION) return (struct text){0};
    return comparison->per == PER_SHARE ? TEXT("%") : comparison->runs->unit;
}

/* ---- Lists. ---- */

static void append_cell(struct chunk_list *text, const struct comparison_row *row, const struct cell *cell,
                        struct text unit, const struct diff_layout *layout) {
    const struct estimate *estimate = &cell->estimate;
    char base[NUMBER_BYTES], head[NUMBER_BYTES], change[NUMBER_BYTES], lower[NUMBER_BYTES], upper[NUMBER_BYTES];
    char interval[2 * NUMBER_BYTES + 8], relative[NUMBER_BYTES];
    /* Only percentages have their unit in the columns. Other units are in the heading. */
    struct text shown_unit = text_equal(unit, TEXT("%")) ? unit : (struct text){0};
    number_format(estimate->base, shown_unit, false, base);
    number_format(estimate->head, shown_unit, false, head);
    number_format(estimate->change, shown_unit, true, change);
    number_format(cell->lower, shown_unit, true, lower);
    number_format(cell->upper, shown_unit, true, upper);
    snprintf(interval, sizeof interval, "%s to %s", lower, upper);
    if (estimate->base == 0 || estimate->head == 0)
        snprintf(relative, sizeof relative, "%s", comparison_state(cell));
    else
        snprintf(relative, sizeof relative, "%+.1f %%", (estimate->head / estimate->base - 1) * 100);
    const char *format = layout->is_markdown ? "| %s | %s | %s | %s | %s | " : "  %10s  %10s  %10s  %9s  %-24s  ";
    chunk_list_format(text, format, base, head, change, relative,
                      interval); /* NOLINT(clang-diagnostic-format-nonliteral) */
    append_row_name(text, row, layout);
    chunk_list_format(text, layout->is_markdown ? " |\n" : "\n");
}

static void append_heading(struct chunk_list *text, const struct list *list, struct text unit, size_t shown_count,
                           size_t count, const struct diff_layout *layout) {
    const struct style *style = layout->style;
    chunk_list_format(text, "\n%s%s", layout->is_markdown ? "### " : style->bold, list->title);
    if (unit.bytes_count && !text_equal(unit, TEXT("%"))) {
        chunk_list_format(text, " in ");
        append_name(text, unit, layout);
    }
    chunk_list_format(text, "%s", layout->is_markdown ? "" : style->reset);
    if (shown_count < count) chunk_list_format(text, " (%zu of %zu)", shown_count, count);
    chunk_list_format(text, "\n");
    if (layout->is_markdown)
        chunk_list_format(text, "\n| base | head | change | | interval | |\n|---:|---:|---:|---:|---|---|\n");
    else
        chunk_list_format(text, "  %10s  %10s  %10s  %9s  %-24s\n", "base", "head", "change", "", "interval");
}

/* Returns the cell with its shares in percent. */
static struct cell in_percent(const struct cell *cell, struct text unit) {
    struct cell shown = *cell;
    if (!text_equal(unit, TEXT("%"))) return shown;
    shown.estimate.base *= 100;
    shown.estimate.head *= 100;
    shown.estimate.change *= 100;
    shown.lower *= 100;
    shown.upper *= 100;
    return shown;
}

/* Returns how many rows changed; adds those within the noise to *quiet_count. */
static size_t append_list(struct chunk_list *text, const struct list *list, const struct comparison *comparison,
                          const struct diff_layout *layout, size_t *quiet_count) {
    size_t count;
    struct shown_row *rows = list_rows(list, comparison, layout->shows_all, &count, quiet_count);
    struct text unit = list_unit(list, comparison);
    size_t shown_count = count < layout->top_count ? count : layout->top_count;
    if (rows && count) append_heading(text, list, unit, shown_count, count, layout);
    for (size_t i = 0; rows && i < shown_count; i++) {
        const struct comparison_row *row = comparison_row_at(comparison, rows[i].number);
        struct cell shown = in_percent(&row->cells[list->cell], unit);
        append_cell(text, row, &shown, unit, layout);
    }
    memory_free(rows);
    return count;
}

static void append_lists(struct chunk_list *text, const struct comparison *comparison,
                         const struct diff_layout *layout) {
    size_t count = 0, quiet_count = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        count += append_list(text, &lists[i], comparison, layout, &quiet_count);
    if (!count && !quiet_count) chunk_list_format(text, "\nNothing has changed.\n");
    if (!count && quiet_count) chunk_list_format(text, "\nNo change stands out of the noise.\n");
    if (quiet_count && !layout->shows_all)
        chunk_list_format(text, "\n%zu %s within the noise: --all lists %s.\n", quiet_count,
                          quiet_count == 1 ? "change is" : "changes are", quiet_count == 1 ? "it" : "them");
}

/* ---- Limits. ---- */

static void append_limits(struct chunk_list *text, const struct gate *gate, const struct diff_layout *layout) {
    const struct style *style = layout->style;
    if (!gate->limits.count) return;
    chunk_list_format(text, "\n%slimits%s\n", layout->is_markdown ? "### " : style->bold,
                      layout->is_markdown ? "\n\n| | limit | |\n|---|---|---|" : style->reset);
    COLUMN_EACH(const struct gate_limit, limit, &gate->limits) {
        const char *verdict = gate_verdict(gate, limit);
        bool is_good = limit->outcome.verdict == VERDICT_PASSED;
        char words[GATE_WORDS_BYTES];
        gate_describe(limit, words);
        if (layout->is_markdown)
            chunk_list_format(text, is_good ? "| %s | " : "| **%s** | ", verdict);
        else
            chunk_list_format(text, "  %s%-7s%s  ", is_good ? style->good : style->bad, verdict, style->reset);
        append_name(text, limit->limit.source, layout);
        chunk_list_format(text, layout->is_markdown ? " | %s |\n" : "  (%s)\n", words);
    }
}

void diff_append_text(struct chunk_list *text, const struct comparison *comparison, const struct gate *gate,
                      const struct diff_layout *layout) {
    append_head(text, comparison, layout);
    append_lists(text, comparison, layout);
    append_limits(text, gate, layout);
}
