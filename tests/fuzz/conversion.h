/* One conversion in memory, and what must hold of every conversion, whatever the input. A broken rule aborts. */
#ifndef GECKO_FUZZ_CONVERSION_H
#define GECKO_FUZZ_CONVERSION_H

#include <stdint.h>

#include "readers/reader.h"

/* Reports the rule that is broken and aborts, also when assertions are switched off. */
#define FUZZ_CHECK(rule, ...)                                            \
    do {                                                                 \
        if (!(rule)) fuzz_abort(__FILE__, __LINE__, #rule, __VA_ARGS__); \
    } while (0)

_Noreturn void fuzz_abort(const char *file, int line, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Called with every input: by libFuzzer, or by replay.c. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count);

/* What an input chooses for itself. */
struct fuzz_choices {
    struct reader_options options;
    size_t step_bytes; /* 1..64: of a window, of a peek */
};

/* The choices are the last byte, which is taken off: so the lines of a text stay as they are, and every trace is a
 * good seed. Bit 0 is the weight, bit 1 the root, the others are the step. */
struct fuzz_choices fuzz_take_choices(struct text *input);

enum { FUZZ_EMITTERS_MAX = 4 };

/* What came of a conversion: a failure, or a document of each emitter. A document is NULL where the emitter failed. */
struct fuzz_conversion {
    struct failure failure;
    struct text documents[FUZZ_EMITTERS_MAX];
};

/* How much is done with an input. All of it takes twenty times as long as reading alone. */
enum fuzz_depth {
    FUZZ_READ,    /* it is read */
    FUZZ_COMPARE, /* it is read again in small windows, and the documents of both readings are compared */
    FUZZ_ALL      /* documents are checked, too */
};

/* Whether all is done with each input: set by replay.c. */
extern bool fuzz_does_all;

/* While fuzzing, five inputs in eight are for FUZZ_READ, one for FUZZ_ALL. The same input always has the same depth. */
enum fuzz_depth fuzz_depth_of(struct text input);

/* Reads the input, finishes the profile and, as deep as that goes, emits it in every format, checking each on the way. `trace` is what the
 * input holds, `input_failure` the latch that it was opened with. To be freed with fuzz_conversion_fini. */
struct fuzz_conversion fuzz_convert(const struct reader *reader, struct input *input, struct text trace,
                                    const struct failure *input_failure, const struct reader_options *options,
                                    enum fuzz_depth depth);
void fuzz_conversion_fini(struct fuzz_conversion *conversion);

/* Two conversions of the same bytes have the same outcome. */
void fuzz_check_same(const struct fuzz_conversion *a, const struct fuzz_conversion *b);

/* The failure is one of the input or of memory, and says so in text. */
void fuzz_check_failure(const struct failure *failure);

/* All of it for one text: choices off the end, the rest read in one window and in small ones. */
void fuzz_text(const struct reader *reader, struct text input);

#endif
