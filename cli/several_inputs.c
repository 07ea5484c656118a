#include "several_inputs.h"

#include <stdlib.h>

#include "libconvert/base/decimal.h"
#include "libconvert/base/text.h"

/* Parses a time with its unit, such as "1.5s". Returns false if the text is not a time. */
static bool parse_offset(struct text text, int64_t *offset_ns) {
    static const struct {
        struct text name;
        uint32_t digits; /* a nanosecond is 10^-digits of the unit */
    } units[] = {{TEXT("ns"), 0}, {TEXT("us"), 3}, {TEXT("ms"), 6}, {TEXT("s"), 9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!text_ends_with(text, units[i].name)) continue;
        struct decimal number;
        bool is_rounded = false;
        struct text digits = text_slice(text, 0, text.bytes_count - units[i].name.bytes_count);
        return decimal_parse(digits, &number, &is_rounded) && !is_rounded && number.scale <= units[i].digits &&
               decimal_rescale(number, units[i].digits, offset_ns);
    }
    return false;
}

static void parse_alignment(const char *argument, const struct options_list *inputs,
                            struct gecko_convert_alignment *alignments, struct failure *failure) {
    struct text whole = text_of(argument), offset = text_from(whole, text_find_last(whole, '='));
    struct text path = text_slice(whole, 0, whole.bytes_count - offset.bytes_count);
    struct gecko_convert_alignment alignment = {.kind = GECKO_CONVERT_ALIGN_BY_OFFSET};
    offset = text_from(offset, 1);
    if (text_equal(offset, TEXT("monotonic"))) {
        alignment.kind = GECKO_CONVERT_ALIGN_MONOTONIC;
    } else if (!parse_offset(offset, &alignment.offset_ns)) {
        failure_set(failure, FAILURE_USAGE,
                    "--align %s: FILE=OFFSET is needed, and the offset is a time such as 1.5s, -20ms or 300us, or "
                    "monotonic",
                    argument);
        return;
    }
    for (size_t i = 0; i < inputs->count; i++) {
        if (!text_equal(text_of(inputs->values[i]), path)) continue;
        alignments[i] = alignment;
        return;
    }
    failure_set(failure, FAILURE_USAGE, "--align %s: no input is named '%.*s'", argument, (int)path.bytes_count,
                path.bytes);
}

struct gecko_convert_alignment *several_inputs_take(struct gecko_convert_options *convert,
                                                    const struct options_list *inputs,
                                                    const struct options_list *alignments, struct failure *failure) {
    struct gecko_convert_alignment *parsed = NULL;
    convert->input_path = inputs->values[0];
    convert->more_input_paths = inputs->values + 1;
    convert->more_input_count = inputs->count - 1;
    if (!alignments->count) return NULL;
    parsed = calloc(inputs->count, sizeof *parsed);
    if (!parsed) failure_set_memory(failure);
    for (size_t i = 0; i < alignments->count && !failure_is_set(failure); i++)
        parse_alignment(alignments->values[i], inputs, parsed, failure);
    convert->alignments = parsed;
    return parsed;
}
