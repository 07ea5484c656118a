#include "gate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/xml.h"
#include "numbers.h"

/* ---- Reading. ---- */

static void add_limit(struct gate *gate, struct text expression) {
    struct gate_limit added = {.limit = limit_parse(expression, gate->failure), .group = gate->globs.count};
    if (failure_is_set(gate->failure)) return;
    if (limit_is_of_functions(&added.limit)) column_add(&gate->globs, &added.limit.pattern);
    column_add(&gate->limits, &added);
}

/* Puts the place before the message. */
static void place_failure(struct failure *failure, const char *path, size_t line) {
    struct failure plain = *failure;
    failure_clear(failure);
    failure_set(failure, plain.code, "%s:%zu: %s", path, line, plain.message);
}

/* Adds the expression of a line; the gate keeps a copy of it. */
static void add_line(struct gate *gate, struct text line) {
    while (text_ends_with(line, TEXT("\n")) || text_ends_with(line, TEXT("\r"))) line.bytes_count--;
    line = text_trim(line);
    if (!line.bytes_count || line.bytes[0] == '#') return;
    if (text_find(line, '\0') < line.bytes_count) failure_set(gate->failure, FAILURE_USAGE, "this is not text");
    char **kept = column_push(&gate->lines);
    if (!kept) return;
    *kept = strndup(line.bytes, line.bytes_count);
    if (*kept)
        add_limit(gate, text_of(*kept));
    else
        failure_set_memory(gate->failure);
}

static void read_lines(struct gate *gate, FILE *file, const char *path) {
    char *line = NULL;
    size_t room = 0, number = 0;
    for (ssize_t bytes_count; (bytes_count = getline(&line, &room, file)) >= 0 && !failure_is_set(gate->failure);) {
        add_line(gate, (struct text){line, (size_t)bytes_count});
        number++;
        if (failure_is_set(gate->failure)) place_failure(gate->failure, path, number);
    }
    free(line);
}

static void read_budget(struct gate *gate, const char *path) {
    FILE *file = fopen(path, "re");
    if (!file) {
        failure_set(gate->failure, FAILURE_IO, "cannot read the budget %s: %s", path, strerror(errno));
        return;
    }
    size_t limit_count = gate->limits.count;
    read_lines(gate, file, path);
    if (ferror(file)) failure_set(gate->failure, FAILURE_IO, "cannot read the budget %s: %s", path, strerror(errno));
    if (gate->limits.count == limit_count)
        failure_set(gate->failure, FAILURE_USAGE, "there are no expressions in the budget %s", path);
    fclose(file);
}

void gate_init(struct gate *gate, const struct options *options, struct failure *failure) {
    *gate = (struct gate){.failure = failure, .allows_missing = options->allows_missing};
    column_init(&gate->limits, sizeof(struct gate_limit), failure);
    column_init(&gate->globs, sizeof(struct text), failure);
    column_init(&gate->lines, sizeof(char *), failure);
    for (size_t i = 0; i < options->limits.count && !failure_is_set(failure); i++)
        add_limit(gate, text_trim(text_of(options->limits.values[i])));
    for (size_t i = 0; i < options->budgets.count && !failure_is_set(failure); i++)
        read_budget(gate, options->budgets.values[i]);
}

void gate_fini(struct gate *gate) {
    for (size_t i = 0; i < gate->lines.count; i++) free(*(char **)column_at(&gate->lines, i));
    COLUMNS_FINI(&gate->lines, &gate->globs, &gate->limits);
}

/* ---- Outcomes. ---- */

void gate_judge(struct gate *gate, struct comparison *comparison) {
    COLUMN_EACH(struct gate_limit, limit, &gate->limits)
        limit->outcome = comparison_judge(comparison, &limit->limit, limit->group);
}

static bool has_verdict(const struct gate *gate, enum verdict verdict) {
    COLUMN_EACH(const struct gate_limit, limit, &gate->limits)
        if (limit->outcome.verdict == verdict) return true;
    return false;
}

int gate_exit_code(const struct gate *gate) {
    if (!gate->allows_missing && has_verdict(gate, VERDICT_MISSING)) return FAILURE_USAGE;
    return has_verdict(gate, VERDICT_FAILED) ? GATE_EXIT_CODE : FAILURE_NONE;
}

const char *gate_verdict(const struct gate *gate, const struct gate_limit *limit) {
    static const char *const names[] = {
        [VERDICT_PASSED] = "passed", [VERDICT_FAILED] = "failed", [VERDICT_MISSING] = "missing"};
    bool is_error = limit->outcome.verdict == VERDICT_MISSING && !gate->allows_missing;
    return is_error ? "error" : names[limit->outcome.verdict];
}

/* Returns why there is nothing to judge. A run that lacks a marker lacks its durations, too. */
static const char *missing_reason(enum limit_subject subject) {
    if (subject == LIMIT_DURATION) return "not all runs have times";
    bool is_of_durations = subject == LIMIT_MEDIAN || subject == LIMIT_P95;
    return is_of_durations ? "not all runs have durations of that name" : "nothing of that name is in the runs";
}

void gate_describe(const struct gate_limit *limit, char words[GATE_WORDS_BYTES]) {
    const struct outcome *outcome = &limit->outcome;
    char base[NUMBER_BYTES], head[NUMBER_BYTES], change[NUMBER_BYTES], lower[NUMBER_BYTES];
    if (outcome->verdict == VERDICT_MISSING) {
        snprintf(words, GATE_WORDS_BYTES, "%s", missing_reason(limit->limit.subject));
        return;
    }
    bool is_relative = limit_is_relative(&limit->limit);
    struct text unit = is_relative ? TEXT("%") : outcome->unit;
    number_format(outcome->base, outcome->unit, false, base);
    number_format(outcome->head, outcome->unit, false, head);
    number_format(outcome->change, unit, true, change);
    number_format(outcome->lower, unit, limit->limit.is_change, lower);
    if (!limit->limit.is_change)
        snprintf(words, GATE_WORDS_BYTES, "%s, at least %s", head, lower);
    else if (is_relative && outcome->base == 0)
        snprintf(words, GATE_WORDS_BYTES, "%s to %s: %s", base, head, outcome->head > 0 ? "new" : "no change");
    else
        snprintf(words, GATE_WORDS_BYTES, "%s to %s: %s, at least %s", base, head, change, lower);
}

/* ---- JUnit. ---- */

/* Jenkins shows the attribute of what has failed, and GitLab the text. */
static void append_case(const struct gate *gate, const struct gate_limit *limit, struct chunk_list *out) {
    static const struct {
        const char *verdict, *element;
    } elements[] = {{"failed", "failure"}, {"error", "error"}, {"missing", "skipped"}};
    const char *verdict = gate_verdict(gate, limit);
    char words[GATE_WORDS_BYTES];
    gate_describe(limit, words);
    chunk_list_format(out, "    <testcase classname=\"gecko-convert diff\" name=\"");
    xml_append_text(out, limit->limit.source);
    chunk_list_format(out, "\">");
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        if (strcmp(elements[i].verdict, verdict) != 0) continue;
        chunk_list_format(out, "<%s message=\"", elements[i].element);
        xml_append_text(out, text_of(words));
        chunk_list_format(out, "\">");
        xml_append_text(out, text_of(words));
        chunk_list_format(out, "</%s>", elements[i].element);
    }
    if (strcmp(verdict, "passed") == 0) {
        chunk_list_format(out, "<system-out>");
        xml_append_text(out, text_of(words));
        chunk_list_format(out, "</system-out>");
    }
    chunk_list_format(out, "</testcase>\n");
}

void gate_append_junit(const struct gate *gate, struct chunk_list *out) {
    size_t failed_count = 0, missing_count = 0;
    COLUMN_EACH(const struct gate_limit, limit, &gate->limits) {
        failed_count += limit->outcome.verdict == VERDICT_FAILED;
        missing_count += limit->outcome.verdict == VERDICT_MISSING;
    }
    chunk_list_format(out,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                      "  <testsuite name=\"gecko-convert diff\" tests=\"%u\" failures=\"%zu\" errors=\"%zu\" "
                      "skipped=\"%zu\">\n",
                      gate->limits.count, failed_count, gate->allows_missing ? 0 : missing_count,
                      gate->allows_missing ? missing_count : 0);
    COLUMN_EACH(const struct gate_limit, limit, &gate->limits) append_case(gate, limit, out);
    chunk_list_format(out, "  </testsuite>\n</testsuites>\n");
}
