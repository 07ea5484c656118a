/* The compressions and archive formats that inputs can be wrapped in, recognised by content. */
#ifndef GECKO_INPUT_WRAPPER_H
#define GECKO_INPUT_WRAPPER_H

#include "input_source.h"

struct archive; /* defined by libarchive */
struct input_wrapper;

/* Makes *source unwrap the input `below`, which begins with a wrapper of that kind and must outlive the source. Returns
 * false after a failure (latched). */
typedef bool input_wrapper_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below);

struct input_wrapper {
    const char *name;

    /* How it begins: with these bytes, or as this function says. */
    struct text magic;
    bool (*recognises)(struct text start);

    input_wrapper_open *open;

    /* What follows is only for wrappers that libarchive unwraps. One of these enables its support for the wrapper: a
     * filter for a compression, a format for an archive. */
    int (*filter)(struct archive *reader);
    int (*format)(struct archive *reader);
    const char *options; /* options of the format; NULL if there are none */

    /* Returns NULL if libarchive is built without the library. It would run a program instead. */
    const char *(*library_version)(void);

    bool needs_seek;
    const char *extract_command; /* in messages */
};

/* input_wrapper_of needs at most this many bytes. */
enum { INPUT_WRAPPER_START_BYTES = 512 };

/* Returns the wrapper that bytes beginning like this have; NULL if they have none. */
const struct input_wrapper *input_wrapper_of(struct text start);

#endif
