#include "profile_loading.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/check/check.h"
#include "cli/console.h"
#include "libconvert/base/printable.h"
#include "libconvert/conversion.h"
#include "readers/input/input_members.h"
#include "readers/reader.h"

/* ---- Messages. ---- */

static void print(struct profile_loading *loading, const struct report_text *text) {
    progress_tty_clear(&loading->output->bar);
    if (!loading->options->is_quiet && text->bytes_count) console_print(text);
}

static void print_conversion(struct profile_loading *loading, const struct gecko_convert_options *options,
                             const struct gecko_convert_result *result) {
    struct report_text text = {.bytes_count = 0};
    for (size_t i = 0; i < result->input_count; i++) {
        report_input(result, i, &text);
        print(loading, &text);
    }
    text.bytes_count = 0;
    report_append_read(options, result, &text);
    report_append_sources(result, &text);
    report_append_losses(result, &text);
    report_end_line(&text, 0);
    print(loading, &text);
    text.bytes_count = 0;
    report_append_advice(result, &text);
    print(loading, &text);
}

/* ---- One profile. ---- */

static void convert(struct profile_loading *loading, struct served_profile *served, struct input *input,
                    bool is_together) {
    struct gecko_convert_options options = loading->options->convert;
    if (!is_together) options.more_input_count = 0;
    options.input_path = loading->input_path;
    options.progress = progress_tty_draw;
    options.progress_context = &loading->output->bar;
    options.write = served_profile_write;
    options.write_context = served;
    struct conversion_ends ends = {
        .input = {.open = command_give_input, .context = &input, .opens_file = true, .failure = loading->failure},
        .memory = loading->memory,
        .is_compared = !is_together,
        .before_writing = served_profile_inspect,
        .visitor_context = served};
    struct gecko_convert_result result;
    conversion_run(&options, &ends, &result, NULL);
    input_close(input);
    /* If the input cannot be read, nothing was written, so it can still be served unchanged. */
    if (result.status != GECKO_CONVERT_BAD_INPUT) served_profile_finish(served);
    /* If memory ran out for the compressed profile, the conversion only knows that its write function failed. */
    if (loading->failure->code != FAILURE_MEMORY) report_take_failure(loading->failure, &result);
    if (!failure_is_set(loading->failure)) print_conversion(loading, &options, &result);
    gecko_convert_result_fini(&result);
}

static void read_profile(struct profile_loading *loading, struct served_profile *served, struct input *input) {
    struct report_text text = {.bytes_count = 0};
    struct progress_root progress = command_progress(loading->output);
    input_watch(input, progress_whole(&progress));
    served_profile_read(served, input);
    report_append(&text, "read %s: a profile, ", report_path_name(loading->input_path));
    report_append_bytes(&text, input_offset(input));
    report_end_line(&text, 0);
    input_close(input);
    if (!failure_is_set(loading->failure)) print(loading, &text);
}

static bool holds_profile(const struct profile_loading *loading, struct input *input) {
    return !loading->options->convert.from && profile_is_likely(input_peek(input, PROBE_BYTES));
}

/* Returns whether options change the profile in the file. */
static bool changes_profiles(const struct profile_loading *loading) {
    const struct gecko_convert_options *options = &loading->options->convert;
    return options->filter_count || options->folds_recursion || options->merge_threads || options->source_url_count ||
           options->product;
}

static bool is_regular_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Serves a finished profile unchanged that could not be read: the viewer opens more versions of profiles. */
static void serve_unread(struct profile_loading *loading, struct served_profile *served, const char *path) {
    struct report_text text = {.bytes_count = 0};
    if (loading->failure->code != FAILURE_INPUT || !is_regular_file(path)) return;
    report_append(&text, "%s is served as it is, so its tracks do not show when threads did not run: %s",
                  report_path_name(path), loading->failure->message);
    report_end_line(&text, 0);
    failure_clear(loading->failure);
    struct input *input = input_open(path, loading->failure);
    if (input) read_profile(loading, served, input);
    if (!failure_is_set(loading->failure)) print(loading, &text);
}

/* Loads a recording or a finished profile, depending on the file's first bytes. If is_together, loads all inputs as one
 * profile. */
static void load(struct profile_loading *loading, const char *path, bool is_together) {
    loading->input_path = path;
    struct served_profile *served =
        served_profile_append(&loading->profiles, text_base_name(text_of(report_path_name(path))), loading->failure);
    struct input *input = served ? input_open(path, loading->failure) : NULL;
    if (!input) return;
    bool is_only_input = !is_together || loading->options->inputs.count == 1;
    bool is_profile = is_only_input && holds_profile(loading, input);
    bool is_unchanged = is_profile && !changes_profiles(loading);
    if (is_unchanged && is_together) {
        read_profile(loading, served, input);
    } else {
        convert(loading, served, input, is_together);
        if (is_unchanged) serve_unread(loading, served, path);
    }
}

/* ---- Archives of profiles. ---- */

struct archive_contents {
    struct input_members *members;
    uint64_t profile_count;
    uint64_t profile_bytes;
    uint64_t other_count;
};

/* Opens the current member if it is a finished profile. Otherwise counts it. */
static struct input *open_profile(struct profile_loading *loading, struct archive_contents *contents,
                                  const char *name) {
    struct input *input = input_members_input(contents->members, name);
    if (input) input = input_uncompress(input);
    if (input && holds_profile(loading, input)) return input;
    if (!input || input_peek(input, 1).bytes_count) contents->other_count++;
    input_close(input);
    input_members_recover(contents->members);
    return NULL;
}

static void take_member(struct profile_loading *loading, struct archive_contents *contents,
                        const struct input_member *member) {
    char name[PATH_MAX];
    printable_copy(name, sizeof name, member->path.bytes_count ? member->path : TEXT("profile"));
    struct input *input = open_profile(loading, contents, name);
    if (!input) return;
    struct served_profile *served = served_profile_append(&loading->profiles, (struct text){0}, loading->failure);
    if (served) {
        served->name = arena_copy(&served->memory, text_of(name));
        served_profile_read(served, input);
    }
    contents->profile_count++;
    contents->profile_bytes += input_offset(input);
    input_close(input);
}

static void print_contents(struct profile_loading *loading, const struct archive_contents *contents) {
    struct report_text text = {.bytes_count = 0};
    report_append(&text, "read %s: %llu profile%s, ", report_path_name(loading->input_path),
                  (unsigned long long)contents->profile_count, contents->profile_count == 1 ? "" : "s");
    report_append_bytes(&text, contents->profile_bytes);
    if (contents->other_count)
        report_append(&text, "; left out: %llu other file%s", (unsigned long long)contents->other_count,
                      contents->other_count == 1 ? "" : "s");
    report_end_line(&text, 0);
    print(loading, &text);
}

/* Returns false if the input is not an archive that holds finished profiles. The input can then be opened again. */
static bool load_archive(struct profile_loading *loading) {
    struct archive_contents contents = {0};
    struct input_member member;
    struct input *outer =
        is_regular_file(loading->input_path) ? input_open_outer(loading->input_path, loading->failure) : NULL;
    if (outer && input_is_archive(outer))
        contents.members = input_members_open(outer, loading->failure);
    else
        input_close(outer);
    while (contents.members && !failure_is_set(loading->failure) && input_members_next(contents.members, &member))
        if (member.kind == INPUT_MEMBER_FILE) take_member(loading, &contents, &member);
    input_members_close(contents.members);
    if (!contents.profile_count) {
        if (loading->failure->code != FAILURE_MEMORY) failure_clear(loading->failure);
        return failure_is_set(loading->failure);
    }
    if (changes_profiles(loading))
        failure_set(
            loading->failure, FAILURE_USAGE,
            "%s is an archive of profiles, which are shown as they are: no filters or other options change them",
            report_path_name(loading->input_path));
    if (!failure_is_set(loading->failure)) print_contents(loading, &contents);
    return true;
}

/* ---- All inputs. ---- */

static bool is_profile_file(const struct profile_loading *loading, const char *path) {
    struct failure failure = {0};
    struct input *input = is_regular_file(path) ? input_open(path, &failure) : NULL;
    bool is_profile = input && holds_profile(loading, input);
    input_close(input);
    return is_profile;
}

static bool are_profiles(const struct profile_loading *loading) {
    const struct options_list *inputs = &loading->options->inputs;
    for (size_t i = 0; i < inputs->count; i++)
        if (!is_profile_file(loading, inputs->values[i])) return false;
    return true;
}

enum shown_as profile_loading_run(struct profile_loading *loading) {
    const struct options_list *inputs = &loading->options->inputs;
    loading->input_path = inputs->values[0];
    if (inputs->count == 1 && load_archive(loading))
        return loading->profiles && loading->profiles->next ? SHOWN_TO_CHOOSE : SHOWN_ALONE;
    if (!loading->options->compares && (inputs->count == 1 || !are_profiles(loading))) {
        load(loading, inputs->values[0], true);
        return SHOWN_ALONE;
    }
    for (size_t i = 0; i < inputs->count && !failure_is_set(loading->failure); i++)
        load(loading, inputs->values[i], false);
    return SHOWN_COMPARED;
}
