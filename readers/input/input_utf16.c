#include <stdlib.h>

#include "input.h"
#include "input_decoder.h"
#include "libconvert/base/utf8.h"

enum {
    UNIT_BYTES = 2,
    SEQUENCE_BYTES_MAX = 4,
    OUTPUT_BYTES = 64 * 1024,
    REPLACEMENT = 0xfffd,
    MARK = 0xfeff,
    SWAPPED_MARK = 0xfffe
};

struct utf16 {
    struct input_decoder decoder;
    bool is_big_endian;
    bool has_begun; /* the byte order mark, if any, was read */
    bool has_half;  /* `half` is the first byte of a unit, whose other byte was not there yet */
    unsigned char half;
    uint32_t high_surrogate; /* waits for its partner; 0: there is none */
    char output[OUTPUT_BYTES];
};

/* Returns whether the text begins with so many ASCII characters, of which text has no others than control characters
 * that end or indent lines. */
static bool has_ascii(struct text start, bool is_big_endian, size_t count) {
    if (start.bytes_count < count * UNIT_BYTES) return false;
    for (size_t i = 0; i < count; i++) {
        char high = start.bytes[2 * i + !is_big_endian], low = start.bytes[2 * i + is_big_endian];
        if (high || low <= 0 || (low < ' ' && !text_is_blank_byte(low) && low != '\n' && low != '\r')) return false;
    }
    return true;
}

bool input_utf16_recognises(struct text start) {
    enum { UNMARKED_COUNT = 8 };
    if (text_starts_with(start, TEXT("\xfe\xff"))) return has_ascii(text_from(start, UNIT_BYTES), true, 1);
    if (text_starts_with(start, TEXT("\xff\xfe"))) return has_ascii(text_from(start, UNIT_BYTES), false, 1);
    return has_ascii(start, false, UNMARKED_COUNT) || has_ascii(start, true, UNMARKED_COUNT);
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
        if (unit == SWAPPED_MARK)
            utf16->is_big_endian = true;
        else if (unit != MARK)
            out = put_unit(utf16, out, unit);
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
    struct text start = input_peek(below, UNIT_BYTES);
    utf16->is_big_endian = start.bytes_count && !start.bytes[0]; /* unless there is a mark */
    input_decoder_open(&utf16->decoder, source, wrapper, below, decode, free);
    return true;
}
