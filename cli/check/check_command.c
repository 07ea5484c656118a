/* gecko-convert check: reports violations in profiles, for people and as JSON (docs/info.md). */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "cli/command.h"
#include "cli/style.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/printable.h"
#include "libconvert/report.h"
#include "writer/json.h"

enum { CHECK_VERSION = 1, NAME_BYTES = 512 };

static const char usage[] =
    "Usage: gecko-convert check [--json] [--max-memory SIZE] PROFILE...\n"
    "\n"
    "Reports what is wrong with Firefox Profiler profiles: processed (version 70) or\n"
    "Gecko (version 36), plain or compressed. - is standard input.\n";

static const char notes[] =
    "Exit codes:\n"
    "  0  no file has errors; warnings, about what the viewer tolerates, do not count\n"
    "  1  a file has errors\n" COMMAND_HELP_EXIT_CODES;

/* The outcome for one file. All pointers are borrowed. */
struct outcome {
    const char *path;
    const struct document *document;
    const struct violations *violations;
    const struct failure *failure; /* the failure of reading the file */
};

static int exit_code_of(const struct outcome *outcome) {
    if (failure_is_set(outcome->failure)) return (int)outcome->failure->code;
    return outcome->violations->counts[VIOLATION_ERROR] ? FAILURE_INPUT : FAILURE_NONE;
}

static const char *severity_name(enum violation_severity severity) {
    return severity == VIOLATION_ERROR ? "error" : "warning";
}

static const struct violation_kind *kind_at(const struct violations *violations, size_t i) {
    return column_at(&violations->kinds, i);
}

/* ---- For people. ---- */

static void append_count(struct chunk_list *text, const struct violations *violations,
                         enum violation_severity severity) {
    uint64_t count = violations->counts[severity];
    chunk_list_format(text, "%llu %s%s", (unsigned long long)count, severity_name(severity), count == 1 ? "" : "s");
}

static void append_kind(struct chunk_list *text, const struct violation_kind *kind, const struct style *style) {
    const char *color = kind->severity == VIOLATION_ERROR ? style->bad : style->warning;
    const char *name = severity_name(kind->severity);
    for (size_t i = 0; i < kind->shown_count; i++)
        chunk_list_format(text, "  %s%s%s: %.*s: %.*s\n", color, name, style->reset, TEXT_ARGS(kind->shown_paths[i]),
                          TEXT_ARGS(kind->messages[i]));
    uint64_t more_count = kind->count - kind->shown_count;
    if (more_count)
        chunk_list_format(text, "  %s%s%s: %.*s: %llu more of this kind\n", color, name, style->reset,
                          TEXT_ARGS(kind->path), (unsigned long long)more_count);
}

static void append_verdict(struct chunk_list *text, const struct violations *violations, const struct style *style) {
    bool has_errors = violations->counts[VIOLATION_ERROR] > 0, has_warnings = violations->counts[VIOLATION_WARNING] > 0;
    chunk_list_format(text, "%s", has_errors ? style->bad : has_warnings ? style->warning : style->good);
    if (has_errors) append_count(text, violations, VIOLATION_ERROR);
    if (has_errors && has_warnings) chunk_list_format(text, ", ");
    if (has_warnings) append_count(text, violations, VIOLATION_WARNING);
    chunk_list_format(text, "%s%s\n", has_errors || has_warnings ? "" : "good", style->reset);
}

static void append_text(struct chunk_list *text, const struct outcome *outcome, const struct style *style) {
    if (failure_is_set(outcome->failure)) return;
    char name[NAME_BYTES], title[PROFILE_TITLE_BYTES];
    printable_copy(name, sizeof name, text_of(report_path_name(outcome->path)));
    profile_identity_write(profile_identify(outcome->document), title);
    chunk_list_format(text, "%s%s%s: %s: ", style->bold, name, style->reset, title);
    append_verdict(text, outcome->violations, style);
    for (size_t i = 0; i < outcome->violations->kinds.count; i++)
        append_kind(text, kind_at(outcome->violations, i), style);
}

/* ---- JSON. ---- */

static void write_violation(struct json *json, const struct violation_kind *kind, size_t number) {
    json_object_begin(json);
    json_key_string(json, "severity", severity_name(kind->severity));
    json_key_string(json, "rule", violation_rule_name(kind->rule));
    json_key_value_text(json, "path", kind->shown_paths[number]);
    json_key_value_text(json, "message", kind->messages[number]);
    json_object_end(json);
}

static void write_kind(struct json *json, const struct violation_kind *kind) {
    json_object_begin(json);
    json_key_string(json, "severity", severity_name(kind->severity));
    json_key_string(json, "rule", violation_rule_name(kind->rule));
    json_key_value_text(json, "path", kind->path);
    json_key_count(json, "count", kind->count);
    json_object_end(json);
}

static void write_violations(struct json *json, const struct violations *violations) {
    json_key_count(json, "errors", violations->counts[VIOLATION_ERROR]);
    json_key_count(json, "warnings", violations->counts[VIOLATION_WARNING]);
    json_key_array_begin(json, "kinds");
    for (size_t i = 0; i < violations->kinds.count; i++) write_kind(json, kind_at(violations, i));
    json_array_end(json);
    json_key_array_begin(json, "offences");
    for (size_t i = 0; i < violations->kinds.count; i++)
        for (size_t j = 0; j < kind_at(violations, i)->shown_count; j++)
            write_violation(json, kind_at(violations, i), j);
    json_array_end(json);
}

static void write_identity(struct json *json, struct profile_identity identity) {
    static const char *const names[] = {[PROFILE_PROCESSED] = "processed", [PROFILE_GECKO] = "gecko"};
    json_key_string_or_null(json, "format", names[identity.kind]);
    json_key_double(json, "formatVersion", identity.version);
}

static void write_json(struct json *json, const struct outcome *outcome) {
    json_object_begin(json);
    json_key_string(json, "name", outcome->path);
    write_identity(json, profile_identify(outcome->document));
    json_key_count(json, "bytes", outcome->document->bytes_count);
    write_violations(json, outcome->violations);
    report_write_error(json, outcome->failure);
    json_object_end(json);
}

/* ---- All files. ---- */

static void add(struct command_output *output, const struct outcome *outcome, const struct style *style) {
    if (output->is_json)
        write_json(&output->json, outcome);
    else
        append_text(&output->text, outcome, style);
    if (failure_is_set(outcome->failure)) command_print_failure(output, outcome->path, outcome->failure);
}

/* Options that apply to all files. */
struct check_request {
    const struct style *style;
    uint64_t max_memory_bytes;
};

static int check_one(const char *path, struct command_output *output, void *context) {
    const struct check_request *request = context;
    struct memory_limit memory;
    memory_limit_init(&memory, request->max_memory_bytes);
    struct failure failure = {.memory = &memory};
    struct document document;
    struct violations violations;
    document_init(&document, &failure);
    violations_init(&violations, &failure);
    struct progress_root progress = command_progress(output);
    check_input(input_open(path, &failure), &document, &violations, progress_whole(&progress));
    struct outcome outcome = {path, &document, &violations, &failure};
    add(output, &outcome, request->style);
    int exit_code = exit_code_of(&outcome);
    violations_fini(&violations);
    document_fini(&document);
    return exit_code;
}

/* ---- The command. ---- */

static int check_files(struct options *options) {
    struct check_request request = {style_of(style_has_colors(STDOUT_FILENO)), options->convert.max_memory_bytes};
    return command_show_files(&command_check, options, options->inputs.count, CHECK_VERSION, check_one, &request);
}

const struct command command_check = {
    .name = "check", .bit = CHECK, .usage = usage, .notes = notes, .run = check_files};
