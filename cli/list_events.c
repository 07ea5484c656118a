#include "list_events.h"

#include "command.h"
#include "libconvert/base/printable.h"
#include "libconvert/conversion.h"

enum { NAME_BYTES = 512 };

static void append_events(struct chunk_list *text, const struct gecko_convert_result *result) {
    chunk_list_format(text, "%10s  %-9s  %s\n", "samples", "treatment", "event");
    for (size_t i = 0; i < result->event_count; i++) {
        const struct gecko_convert_event *event = &result->events[i];
        char name[NAME_BYTES];
        printable_copy(name, sizeof name, text_of(event->name));
        chunk_list_format(text, "%10llu  %-9s  %s\n", (unsigned long long)event->sample_count, event->treatment, name);
    }
}

static void pass_over(void *context, const struct profile *profile) {
    (void)context;
    (void)profile;
}

static int list_one(const char *path, struct command_output *output, void *context) {
    const struct options *options = context;
    struct gecko_convert_options convert = options->convert;
    convert.input_path = path;
    convert.more_input_count = 0;
    convert.symbols = GECKO_CONVERT_SYMBOLS_NONE;
    convert.sources = GECKO_CONVERT_SOURCES_NONE;
    convert.progress = progress_tty_draw;
    convert.progress_context = &output->bar;
    struct conversion_ends ends = {.replace_writing = pass_over};
    struct gecko_convert_result result;
    struct failure failure = {0};
    conversion_run(&convert, &ends, &result, NULL);
    report_take_failure(&failure, &result);
    if (!failure_is_set(&failure) && !result.event_count)
        failure_set(&failure, FAILURE_INPUT, "%s, read as %s, tells no events", report_path_name(path),
                    result.input_title);
    if (failure_is_set(&failure)) {
        command_print_failure(output, path, &failure);
    } else {
        char name[NAME_BYTES];
        printable_copy(name, sizeof name, text_of(report_path_name(path)));
        if (options->inputs.count > 1) chunk_list_format(&output->text, "%s:\n", name);
        append_events(&output->text, &result);
    }
    gecko_convert_result_fini(&result);
    return (int)failure.code;
}

int list_events(const struct options *options) {
    return command_show_files(&command_convert, options, options->inputs.count, 0, list_one,
                              (void *)(uintptr_t)options);
}
