/* One conversion in memory, and the rules that every conversion must obey whatever the input is. A violation aborts. */
#pragma once

#include <stdint.h>

#include "readers/reader.h"

/* Reports the violated rule and aborts, even if assertions are disabled. */
#define FUZZ_CHECK(rule, ...)                                            \
    do {                                                                 \
        if (!(rule)) fuzz_abort(__FILE__, __LINE__, #rule, __VA_ARGS__); \
    } while (0)

_Noreturn void fuzz_abort(const char *file, int line, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The entry point for every input, called by libFuzzer or by replay.c. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count);

/* Choices that an input makes about its own reading. */
struct fuzz_choices {
    struct reader_options options;
    size_t step_bytes; /* 1 to 64: size of windows and peeks */
};

/* Takes the choices, which are the last byte, off the input. Because they are at the end, the lines of a text are
 * unchanged, and every trace is a valid seed. Bit 0 is the weight, bit 1 the root, and the other bits are the step. */
struct fuzz_choices fuzz_take_choices(struct text *input);

enum { FUZZ_EMITTERS_MAX = 4 };

/* The outcome of a conversion: a failure, or a document of each emitter. A document is NULL if its emitter failed. */
struct fuzz_conversion {
    struct failure failure;
    struct text documents[FUZZ_EMITTERS_MAX];
};

/* How much is done with an input. FUZZ_ALL takes twenty times as long as FUZZ_READ. */
enum fuzz_depth {
    FUZZ_READ,    /* read the input */
    FUZZ_COMPARE, /* also read it in small windows, and compare the documents of both readings */
    FUZZ_ALL      /* also check the documents */
};

/* Makes every input use FUZZ_ALL; replay.c sets this. */
extern bool fuzz_does_all;

/* Returns the depth for an input, which depends only on the input's bytes. While fuzzing, five inputs in eight get
 * FUZZ_READ and one gets FUZZ_ALL. */
enum fuzz_depth fuzz_depth_of(struct text input);

/* Finishes the profile, checks it and, depending on the depth, emits it in every format. Its failure must be that of
 * the conversion. */
void fuzz_finish(struct profile *profile, struct fuzz_conversion *conversion, enum fuzz_depth depth);

/* Reads the input, finishes the profile and, depending on the depth, emits it in every format. Checks each step.
 * `trace` is what the input contains, `input_failure` the latch that it was opened with. Free the result with
 * fuzz_conversion_fini. */
struct fuzz_conversion fuzz_convert(const struct reader *reader, struct input *input, struct text trace,
                                    const struct failure *input_failure, const struct reader_options *options,
                                    enum fuzz_depth depth);
void fuzz_conversion_fini(struct fuzz_conversion *conversion);

/* Checks that two conversions of the same bytes have the same outcome. */
void fuzz_check_same(const struct fuzz_conversion *a, const struct fuzz_conversion *b);

/* Checks that the failure is one of the input or of memory and has a message. */
void fuzz_check_failure(const struct failure *failure);

/* Converts one text and checks it: takes the choices, then reads the rest in one window and in small windows and
 * blocks. */
void fuzz_text(const struct reader *reader, struct text input);
