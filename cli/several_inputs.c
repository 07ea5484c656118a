#include "several_inputs.h"

#include <stdlib.h>

#include "arguments.h"
#include "libconvert/base/text.h"

/* Parses "FILE=OFFSET" for the input of that name. */
static void parse_alignment(struct options *options, const char *argument, struct failure *failure) {
    struct text whole = text_of(argument), offset = text_from(whole, text_find_last(whole, '='));
    struct text path = text_slice(whole, 0, whole.bytes_count - offset.bytes_count);
    struct gecko_convert_alignment alignment = {.kind = GECKO_CONVERT_ALIGN_BY_OFFSET};
    offset = text_from(offset, 1);
    if (text_equal(offset, TEXT("monotonic"))) {
        alignment.kind = GECKO_CONVERT_ALIGN_MONOTONIC;
    } else if (!arguments_parse_time(offset, &alignment.offset_ns)) {
        failure_set(failure, FAILURE_USAGE,
                    "--align %s: FILE=OFFSET is needed, and the offset is a time such as 1.5s, -20ms or 300us, or "
                    "monotonic",
                    argument);
        return;
    }
    for (size_t i = 0; i < options->inputs.count; i++) {
        if (!text_equal(text_of(options->inputs.values[i]), path)) continue;
        options->parsed_alignments[i] = alignment;
        return;
    }
    failure_set(failure, FAILURE_USAGE, "--align %s: no input is named '%.*s'", argument, TEXT_ARGS(path));
}

void several_inputs_take(struct options *options, struct failure *failure) {
    struct gecko_convert_options *convert = &options->convert;
    const struct options_list *inputs = &options->inputs, *alignments = &options->alignments;
    convert->input_path = inputs->values[0];
    convert->more_input_paths = inputs->values + 1;
    convert->more_input_count = inputs->count - 1;
    if (!alignments->count) return;
    convert->alignments =
        failure_check_memory(failure, options->parsed_alignments = calloc(inputs->count, sizeof *convert->alignments));
    for (size_t i = 0; i < alignments->count && !failure_is_set(failure); i++)
        parse_alignment(options, alignments->values[i], failure);
}
