#include "input_decoder.h"

#include <inttypes.h>

#include "input.h"

/* Makes compressed bytes available in `left`, or sets has_source_ended. Returns false after a failure (latched). */
static bool refill(struct input_decoder *decoder) {
    if (decoder->left.bytes_count || decoder->has_source_ended) return true;
    decoder->left = input_take_run(decoder->below);
    decoder->has_source_ended = decoder->left.bytes_count == 0;
    return !failure_is_set(decoder->failure);
}

void input_decoder_fail(const struct input_decoder *decoder, const char *reason) {
    failure_set(decoder->failure, FAILURE_INPUT,
                "%s: reading the %s data failed after %" PRIu64 " bytes of its content: %s (damaged or cut off?)",
                input_name(decoder->below), decoder->format, decoder->output_bytes, reason);
}

static struct text read_decoded(void *context) {
    struct input_decoder *decoder = context;
    while (!decoder->has_ended && !failure_is_set(decoder->failure) && refill(decoder)) {
        struct text decoded = {0};
        decoder->decode(decoder, &decoded);
        if (decoded.bytes_count && !failure_is_set(decoder->failure)) return decoded;
    }
    return (struct text){0};
}

void input_decoder_open(struct input_decoder *decoder, struct input_source *source, const struct input_wrapper *wrapper,
                        struct input *below, void (*decode)(struct input_decoder *decoder, struct text *decoded),
                        void (*close)(void *context)) {
    *decoder = (struct input_decoder){
        .below = below, .failure = input_failure(below), .format = wrapper->name, .decode = decode};
    *source =
        (struct input_source){.context = decoder, .read = read_decoded, .close = close, .wrapping = wrapper->name};
}
