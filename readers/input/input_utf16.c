#include <stdlib.h>

#include "input_decoder.h"
#include "libconvert/base/utf8.h"

enum { UNIT_BYTES = 2, SEQUENCE_BYTES_MAX = 4, OUTPUT_BYTES = 64 * 1024, REPLACEMENT = 0xfffd, SWAPPED_MARK = 0xfffe };

struct utf16 {
    struct input_decoder decoder;
    bool is_big_endian;
    bool has_begun; /* the byte order mark was read */
    bool has_half;  /* `half` is the first byte of a unit, whose other byte was not there yet */
    unsigned char half;
    uint32_t high_surrogate; /* waits for its partner; 0: there is none */
    char output[OUTPUT_BYTES];
};

bool input_utf16_recognises(struct text start) {
    if (start.bytes_count < 2 * UNIT_BYTES) return false;
    bool is_big_endian = text_starts_with(start, TEXT("\xfe\xff"));
    if (!is_big_endian && !text_starts_with(start, TEXT("\xff\xfe"))) return false;
    char high = start.bytes[is_big_endian ? 2 : 3], low = start.bytes[is_big_endian ? 3 : 2];
    return high == 0 && low > 0;
}

static char *put_unit(struct utf16 *utf16, char *out, uint32_t unit) {
    bool is_high = unit >= 0xd800 && unit < 0xdc00, is_low = unit >= 0xdc00 && unit < 0xe000;
    uint32_t high = utf16->high_surrogate;
    utf16->high_surrogate = is_high ? unit : 0;
    if (high && is_low) return utf8_put(out, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
    if (high) out = utf8_put(out, REPLACEMENT);
    if (is_high) return out;
    return utf8_put(out, is_low ? REPLACEMENT : unit);
}

/* Takes the next unit. Returns false if its second byte is not there yet. */
static bool take_unit(struct utf16 *utf16, struct text *left, uint32_t *unit) {
    if (!utf16->has_half) {
        utf16->half = (unsigned char)left->bytes[0];
        *left = text_from(*left, 1);
        utf16->has_half = true;
    }
    if (!left->bytes_count) return false;
    uint32_t first = utf16->half, second = (unsigned char)left->bytes[0];
    *left = text_from(*left, 1);
    utf16->has_half = false;
    *unit = utf16->is_big_endian ? first << 8 | second : second << 8 | first;
    return true;
}

static void end(struct utf16 *utf16, struct text *decoded) {
    if (utf16->has_half) input_decoder_fail(&utf16->decoder, "it ends in the middle of a character");
    if (utf16->high_surrogate) *decoded = TEXT("\xef\xbf\xbd");
    utf16->decoder.has_ended = true;
}

static void decode(struct input_decoder *decoder, struct text *decoded) {
    struct utf16 *utf16 = (struct utf16 *)decoder;
    char *out = utf16->output;
    uint32_t unit;
    if (!decoder->left.bytes_count && decoder->has_source_ended) {
        end(utf16, decoded);
        return;
    }
    if (!utf16->has_begun && decoder->left.bytes_count && take_unit(utf16, &decoder->left, &unit)) {
        utf16->has_begun = true;
        utf16->is_big_endian = unit == SWAPPED_MARK;
    }
    /* A unit can follow a surrogate without its partner. */
    while (decoder->left.bytes_count && out + 2 * SEQUENCE_BYTES_MAX <= utf16->output + OUTPUT_BYTES)
        if (take_unit(utf16, &decoder->left, &unit)) out = put_unit(utf16, out, unit);
    *decoded = (struct text){utf16->output, (size_t)(out - utf16->output)};
    decoder->output_bytes += decoded->bytes_count;
}

bool input_utf16_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below) {
    struct utf16 *utf16 = failure_check_memory(input_failure(below), calloc(1, sizeof *utf16));
    if (!utf16) return false;
    input_decoder_init(&utf16->decoder, wrapper, below, decode);
    *source =
        (struct input_source){.context = utf16, .read = input_decoder_read, .close = free, .wrapping = wrapper->name};
    return true;
}
