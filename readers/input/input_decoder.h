/* What decompressors share: compressed bytes from the input below, decoded bytes out. */
#pragma once

#include "input_wrapper.h"

struct input_decoder {
    struct input *below;     /* borrowed */
    struct failure *failure; /* borrowed */
    const char *format;      /* for messages */

    /* Decodes some of `left`, advances it and output_bytes, and sets *decoded to the new bytes, which may be none. */
    void (*decode)(struct input_decoder *decoder, struct text *decoded);

    struct text left;      /* compressed bytes that are not decoded yet */
    uint64_t output_bytes; /* decoded so far */
    bool has_source_ended; /* nothing comes after `left` */
    bool has_ended;        /* there is nothing left to decode */
};

/* Makes *source read from the decoder, which begins the source's context. `close` frees the context. */
void input_decoder_open(struct input_decoder *decoder, struct input_source *source, const struct input_wrapper *wrapper,
                        struct input *below, void (*decode)(struct input_decoder *decoder, struct text *decoded),
                        void (*close)(void *context));

/* Latches FAILURE_INPUT. */
void input_decoder_fail(const struct input_decoder *decoder, const char *reason);
