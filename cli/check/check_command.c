/* gecko-convert check: profiles to offences, for people and as JSON (docs/info.md). */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "cli/command.h"
#include "cli/gecko_convert.h"
#include "cli/style.h"
#include "libconvert/memory.h"
#include "libconvert/printable.h"
#include "writer/json.h"

enum { CHECK_VERSION = 1, NAME_BYTES = 512 };

static const char command_name[] = "check";

static const char help[] =
    "Usage: gecko-convert check [--json] [--max-memory SIZE] PROFILE...\n"
    "\n"
    "Says what is wrong with profiles of the Firefox Profiler: processed (version 70)\n"
    "and Gecko (version 36) ones, plain or compressed; - is standard input.\n"
    "\n"
    "  --json             write it as JSON: see docs/info.md\n"
    "  --max-memory SIZE  take no more memory for a file: bytes, or with K, M, G or\n"
    "                     T, or unlimited (default: half of what the machine has)\n"
    "  -h, --help         show this text\n"
    "\n"
    "Options stand before or behind files; behind -- everything is a file.\n"
    "\n"
    "Exit codes: 0 no errors, 1 errors, 2 a bad command line, 3 a file that cannot be\n"
    "read, 4 no memory or more than SIZE needed; of several files, that of the first\n"
    "one that is not 0.\n"
    "Warnings, of what the viewer copes with, do not count.\n";

/* What came out for one file. All borrowed. */
struct outcome {
    const char *path;
    const struct document *document;
    const struct offences *offences;
    const struct failure *failure; /* of reading it */
};

static int exit_code_of(const struct outcome *outcome) {
    if (failure_is_set(outcome->failure)) return (int)outcome->failure->code;
    return outcome->offences->counts[OFFENCE_ERROR] ? FAILURE_INPUT : FAILURE_NONE;
}

static const char *severity_name(enum offence_severity severity) {
    return severity == OFFENCE_ERROR ? "error" : "warning";
}

static const struct offence_kind *kind_at(const struct offences *offences, size_t i) {
    return column_at(&offences->kinds, i);
}

/* ---- For people. ---- */

static void append_count(struct chunk_list *text, const struct offences *offences, enum offence_severity severity) {
    uint64_t count = offences->counts[severity];
    command_append(text, "%llu %s%s", (unsigned long long)count, severity_name(severity), count == 1 ? "" : "s");
}

static void append_kind(struct chunk_list *text, const struct offence_kind *kind, const struct style *style) {
    const char *color = kind->severity == OFFENCE_ERROR ? style->bad : style->warning;
    const char *name = severity_name(kind->severity);
    for (size_t i = 0; i < kind->shown_count; i++)
        command_append(text, "  %s%s%s: %.*s: %.*s\n", color, name, style->reset, (int)kind->shown_paths[i].bytes_count,
                       kind->shown_paths[i].bytes, (int)kind->messages[i].bytes_count, kind->messages[i].bytes);
    uint64_t more_count = kind->count - kind->shown_count;
    if (more_count)
        command_append(text, "  %s%s%s: %.*s: %llu more of this kind\n", color, name, style->reset,
                       (int)kind->path.bytes_count, kind->path.bytes, (unsigned long long)more_count);
}

static void append_verdict(struct chunk_list *text, const struct offences *offences, const struct style *style) {
    bool has_errors = offences->counts[OFFENCE_ERROR] > 0, has_warnings = offences->counts[OFFENCE_WARNING] > 0;
    command_append(text, "%s", has_errors ? style->bad : has_warnings ? style->warning : style->good);
    if (has_errors) append_count(text, offences, OFFENCE_ERROR);
    if (has_errors && has_warnings) command_append(text, ", ");
    if (has_warnings) append_count(text, offences, OFFENCE_WARNING);
    command_append(text, "%s%s\n", has_errors || has_warnings ? "" : "good", style->reset);
}

static void append_text(struct chunk_list *text, const struct outcome *outcome, const struct style *style) {
    if (failure_is_set(outcome->failure)) return;
    char name[NAME_BYTES], title[PROFILE_TITLE_BYTES];
    printable_copy(name, sizeof name, text_of(command_file_name(outcome->path)));
    profile_identity_write(profile_identify(outcome->document), title);
    command_append(text, "%s%s%s: %s: ", style->bold, name, style->reset, title);
    append_verdict(text, outcome->offences, style);
    for (size_t i = 0; i < outcome->offences->kinds.count; i++) append_kind(text, kind_at(outcome->offences, i), style);
}

/* ---- JSON. ---- */

static void write_offence(struct json *json, const struct offence_kind *kind, size_t number) {
    json_object_begin(json);
    json_key_string(json, "severity", severity_name(kind->severity));
    json_key_string(json, "rule", offence_rule_name(kind->rule));
    json_key_value_text(json, "path", kind->shown_paths[number]);
    json_key_value_text(json, "message", kind->messages[number]);
    json_object_end(json);
}

static void write_kind(struct json *json, const struct offence_kind *kind) {
    json_object_begin(json);
    json_key_string(json, "severity", severity_name(kind->severity));
    json_key_string(json, "rule", offence_rule_name(kind->rule));
    json_key_value_text(json, "path", kind->path);
    json_key_count(json, "count", kind->count);
    json_object_end(json);
}

static void write_offences(struct json *json, const struct offences *offences) {
    json_key_count(json, "errors", offences->counts[OFFENCE_ERROR]);
    json_key_count(json, "warnings", offences->counts[OFFENCE_WARNING]);
    json_key(json, "kinds");
    json_array_begin(json);
    for (size_t i = 0; i < offences->kinds.count; i++) write_kind(json, kind_at(offences, i));
    json_array_end(json);
    json_key(json, "offences");
    json_array_begin(json);
    for (size_t i = 0; i < offences->kinds.count; i++)
        for (size_t j = 0; j < kind_at(offences, i)->shown_count; j++) write_offence(json, kind_at(offences, i), j);
    json_array_end(json);
}

static void write_identity(struct json *json, struct profile_identity identity) {
    static const char *const names[] = {[PROFILE_PROCESSED] = "processed", [PROFILE_GECKO] = "gecko"};
    if (identity.kind == PROFILE_UNKNOWN)
        json_key_null(json, "format");
    else
        json_key_string(json, "format", names[identity.kind]);
    json_key(json, "formatVersion");
    if (isnan(identity.version))
        json_null(json);
    else
        json_double(json, identity.version);
}

static void write_json(struct json *json, const struct outcome *outcome) {
    json_object_begin(json);
    json_key_string(json, "name", outcome->path);
    write_identity(json, profile_identify(outcome->document));
    json_key_count(json, "bytes", outcome->document->bytes_count);
    write_offences(json, outcome->offences);
    command_write_error(json, outcome->failure);
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

/* What goes for all files. */
struct checking {
    const struct style *style;
    uint64_t max_memory_bytes;
};

static int check_one(const char *path, struct command_output *output, void *context) {
    const struct checking *checking = context;
    struct memory_limit memory;
    memory_limit_init(&memory, checking->max_memory_bytes);
    struct failure failure = {.memory = &memory};
    struct document document;
    struct offences offences;
    document_init(&document, &failure);
    offences_init(&offences, &failure);
    struct progress_root progress = command_progress(output);
    check_input(input_open(path, &failure), path, &document, &offences, progress_whole(&progress));
    struct outcome outcome = {path, &document, &offences, &failure};
    add(output, &outcome, checking->style);
    int exit_code = exit_code_of(&outcome);
    offences_fini(&offences);
    document_fini(&document);
    return exit_code;
}

/* ---- The command line. ---- */

#define TARGET(member) offsetof(struct command_options, member)

static const struct option known_options[] = {
    {.name = "json", .kind = OPTION_FLAG, .target = TARGET(wants_json)},
    {.name = "max-memory", .kind = OPTION_SIZE, .target = TARGET(max_memory_bytes)},
    {.name = "help", .letter = 'h', .kind = OPTION_ACTION, .target = TARGET(action), .action = COMMAND_SHOW_HELP},
};

static const struct option_table table = {.options = known_options,
                                          .option_count = sizeof known_options / sizeof *known_options,
                                          .operands = TARGET(files),
                                          .operand_name = "a file"};

static int act(const struct command_options *options, const struct failure *failure) {
    if (failure_is_set(failure)) return command_refuse(command_name, failure);
    if (options->action == COMMAND_SHOW_HELP) return command_show_help(help, command_name);
    struct checking checking = {style_of(style_has_colors(STDOUT_FILENO)), options->max_memory_bytes};
    return command_show_files(options, command_name, CHECK_VERSION, check_one, &checking);
}

int check_command(int argument_count, char *const *arguments) {
    struct failure failure = {0};
    struct command_options options = {0};
    command_options_read(&options, &table, argument_count, arguments, &failure);
    int exit_code = act(&options, &failure);
    command_options_fini(&options);
    return exit_code;
}
