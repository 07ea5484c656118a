/* Merges two inputs into one profile. The last byte of the bytes is the choices, as for all targets. The byte before it
 * chooses the readers (two bits each), whose samples are preferred, and whether the second input is aligned by hand.
 * The two bytes before those say where the second input begins. */
#include "checked_conversion.h"
#include "libconvert/merge/merge.h"

enum { PART_COUNT = 2, READER_BITS = 2, SAMPLES_BIT = 16, ALIGNED_BIT = 32 };

static unsigned take_last_byte(struct text *input) {
    return input->bytes_count ? (unsigned char)input->bytes[--input->bytes_count] : 0;
}

static size_t reader_count(void) {
    size_t count = 0;
    while (readers[count]) count++;
    return count;
}

static void read_part(struct merge_input *part, struct text bytes, const struct reader *reader,
                      const struct reader_options *options) {
    struct failure input_failure = {0};
    struct input *input = input_from_memory(bytes, 0, &input_failure);
    if (!input) return;
    reader->run(input, &part->profile, options);
    part->is_recorder = reader == &reader_trace;
    input_close(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    static const struct text names[PART_COUNT] = {TEXT("first"), TEXT("second")};
    struct text input = {(const char *)bytes, bytes_count};
    struct fuzz_choices choices = fuzz_take_choices(&input);
    enum fuzz_depth depth = fuzz_depth_of(input);
    unsigned how = take_last_byte(&input);
    size_t split = take_last_byte(&input);
    split = (split | (size_t)take_last_byte(&input) << 8) % (input.bytes_count + 1);
    struct fuzz_conversion conversion = {.failure = {0}};
    struct merge merge;
    struct profile whole;
    merge_init(&merge, PART_COUNT, &conversion.failure);
    profile_init(&whole, &conversion.failure);
    merge.samples = how & SAMPLES_BIT ? GECKO_CONVERT_SAMPLES_RECORDER : GECKO_CONVERT_SAMPLES_AUTO;
    for (size_t i = 0; i < merge.input_count; i++) {
        struct text part = i ? text_from(input, split) : text_slice(input, 0, split);
        merge.inputs[i].name = names[i];
        read_part(&merge.inputs[i], part, readers[(how >> (i * READER_BITS)) % reader_count()], &choices.options);
    }
    if (merge.input_count && how & ALIGNED_BIT)
        merge.inputs[1].alignment = (struct gecko_convert_alignment){GECKO_CONVERT_ALIGN_BY_OFFSET, -1000000};
    merge_run(&merge, &whole);
    fuzz_finish(&whole, &conversion, depth);
    profile_fini(&whole);
    merge_fini(&merge);
    fuzz_conversion_fini(&conversion);
    return 0;
}
