#include "difference.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "libconvert/base/decimal.h"
#include "libconvert/base/id_column.h"
#include "libconvert/conversion.h"
#include "libconvert/options_check.h"
#include "libconvert/report.h"
#include "writer/emitter.h"
#include "writer/sink.h"

/* The counts of a stack in the base and the head. */
struct counts {
    double of_side[2];
};

struct difference {
    struct failure *failure;       /* borrowed */
    const struct emitter *emitter; /* emitter of the output's format */
    struct strings stacks;
    struct column counts; /* struct counts, by string id of the stack */
    double sums[2];
    struct chunk_list text;
};

/* ---- Reading. ---- */

static void take_line(struct difference *difference, size_t side, struct text line) {
    size_t space = text_find_last(line, ' ');
    struct decimal count;
    bool is_rounded = false;
    if (!decimal_parse(text_from(line, space + 1), &count, &is_rounded)) return;
    string_id stack = strings_intern(&difference->stacks, text_slice(line, 0, space));
    struct counts *counts = string_is_none(stack) ? NULL : id_column_at(&difference->counts, stack.index);
    if (!counts) return;
    counts->of_side[side] += decimal_to_double(count);
    difference->sums[side] += decimal_to_double(count);
}

/* Converts all runs of a side into collapsed stacks, and takes their counts. */
static void take_side(struct difference *difference, const struct runs *runs, const struct options *options,
                      size_t side) {
    static const struct merge_runs over = {MERGE_MATCH_NAME, MERGE_LAYOUT_OVER};
    size_t first = side ? runs->counts.base : 0, count = side ? runs->counts.head : runs->counts.base;
    const char **paths = failure_check_memory(difference->failure, calloc(count, sizeof *paths));
    if (!paths) return;
    for (size_t i = 0; i < count; i++) paths[i] = runs->all[first + i].path;
    struct gecko_convert_options convert = options->convert;
    convert.input_path = paths[0];
    convert.more_input_paths = paths + 1;
    convert.more_input_count = count - 1;
    convert.output_path = NULL;
    convert.keeps_output = true;
    convert.format = emitter_collapsed.name;
    /* A profile marks the code of the kernel and generated code. */
    if (difference->emitter != &emitter_collapsed) convert.frames = "comm,kernel,jit";
    struct gecko_convert_result result;
    conversion_run(&convert, &(struct conversion_ends){.runs = &over}, &result, NULL);
    report_take_failure(difference->failure, &result);
    for (struct text rest = {result.output_data, result.output_data ? result.output_bytes : 0}; rest.bytes_count;)
        take_line(difference, side, text_take_until(&rest, '\n'));
    gecko_convert_result_fini(&result);
    free(paths);
}

/* ---- Writing. ---- */

static void append_count(struct chunk_list *text, double count) {
    char number[64];
    int bytes_count = snprintf(number, sizeof number, count == (double)(int64_t)count ? " %.0f" : " %.6f", count);
    chunk_list_append(text, number, (size_t)bytes_count);
}

static void append_stacks(struct difference *difference, const struct comparison *comparison) {
    double head_scale = 1 / (double)comparison->runs->counts.head, base_scale = head_scale, amounts[2];
    for (size_t side = 0; side < 2; side++)
        amounts[side] = comparison->per == PER_SHARE ? difference->sums[side] : comparison_amount(comparison, side);
    if (amounts[0] != 0) base_scale = head_scale * amounts[1] / amounts[0];
    for (uint32_t i = 0; i < difference->counts.count; i++) {
        const struct counts *counts = column_at(&difference->counts, i);
        struct text stack = strings_text(&difference->stacks, (string_id){i});
        chunk_list_append(&difference->text, stack.bytes, stack.bytes_count);
        append_count(&difference->text, counts->of_side[0] * base_scale);
        append_count(&difference->text, counts->of_side[1] * head_scale);
        chunk_list_append(&difference->text, "\n", 1);
    }
}

/* A conversion's `open`. */
static struct input *open_text(void *context, struct failure *failure) {
    return input_from_memory(*(struct text *)context, 0, failure);
}

/* Makes a profile of the difference with the reader of collapsed stacks. */
static void write_profile(struct difference *difference, const struct options *options) {
    char product[NAME_MAX];
    size_t bytes_count = (size_t)difference->text.total_bytes;
    char *bytes = memory_allocate(difference->failure, bytes_count + 1);
    if (!bytes) return;
    chunk_list_copy(&difference->text, bytes);
    struct text text = {bytes, bytes_count};
    const char *const *sides = options->inputs.values;
    snprintf(product, sizeof product, "difference of %s and %s", sides[0], sides[1]);
    struct gecko_convert_options convert = {.struct_bytes = sizeof convert,
                                            .input_path = "the difference",
                                            .output_path = options->convert.output_path,
                                            .from = "collapsed",
                                            .product = product,
                                            .symbols = GECKO_CONVERT_SYMBOLS_NONE,
                                            .max_memory_bytes = options->convert.max_memory_bytes};
    struct gecko_convert_result result;
    conversion_run(&convert, &(struct conversion_ends){.input = {.open = open_text, .context = &text}}, &result, NULL);
    report_take_failure(difference->failure, &result);
    gecko_convert_result_fini(&result);
    memory_free(bytes);
}

static void write_difference(struct difference *difference, const struct options *options) {
    if (difference->emitter == &emitter_collapsed)
        sink_write(&difference->text, options->convert.output_path, difference->failure);
    else
        write_profile(difference, options);
}

void difference_write(const struct comparison *comparison, const struct options *options, struct failure *failure) {
    struct gecko_convert_options convert = {.output_path = options->convert.output_path};
    struct difference difference = {.failure = failure, .emitter = options_check_format(&convert, failure)};
    strings_init(&difference.stacks, failure);
    column_init(&difference.counts, sizeof(struct counts), failure);
    chunk_list_init(&difference.text, failure);
    for (size_t side = 0; side < 2 && !failure_is_set(failure); side++)
        take_side(&difference, comparison->runs, options, side);
    if (!failure_is_set(failure)) append_stacks(&difference, comparison);
    if (!failure_is_set(failure)) write_difference(&difference, options);
    chunk_list_fini(&difference.text);
    column_fini(&difference.counts);
    strings_fini(&difference.stacks);
}
