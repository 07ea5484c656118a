/* The compressions and archive formats that inputs can be wrapped in, recognised by content. */
#pragma once

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

/* gzip streams, decoded by zlib. Unlike libarchive, zlib checks the CRC and length of each member, so a damaged trace
 * cannot pass for a good one. Zero bytes after a member are padding. Anything else that is not a member is a failure.
 */
input_wrapper_open input_gzip_open;

/* xz streams, decoded by liblzma. libarchive (3.6) crashes if memory runs out at their start. Several streams may
 * follow one another, with padding in between. Anything else after the end is a failure. */
input_wrapper_open input_xz_open;

/* Text in UTF-16, as the redirections of PowerShell write it, decoded to UTF-8. A surrogate without its partner becomes
 * U+FFFD. Bytes are recognised if they begin with a byte order mark and an ASCII character, as text does, or with some
 * ASCII characters in UTF-16. */
bool input_utf16_recognises(struct text start);
input_wrapper_open input_utf16_open;

/* Text that a terminal, a log, a mail or a page has changed: escape sequences, for colours, are removed, as is what is
 * before each line, a time, the number of the line, the name of a container or ">"; a carriage return ends a line;
 * "&lt;" is "<", a no-break space is a blank; of doubled line feeds one stays. Text is recognised if its start has an
 * escape sequence, carriage returns alone or doubled, the same kind of prefix before each line, ampersands only in such
 * names of characters, no-break spaces, or stacks with doubled line feeds only. */
bool input_log_recognises(struct text start);
input_wrapper_open input_log_open;

/* Profiles in JsonSlabs (libconvert/base/json_slabs.h) as the JSON that they stand for. Slabs can be anywhere in the
 * file, so it is in memory as a whole while it is read; the JSON is not. */
input_wrapper_open input_json_slabs_open;

/* The one file in an archive, or the content of a stream that libarchive unpacks. The archive must hold one regular
 * file besides empty ones. At the end of that file, reading goes through the rest of the archive. A second file is a
 * failure (latched), as is an archive without files. */
input_wrapper_open input_lone_file_open;

/* input_wrapper_of wants this many bytes. */
enum { INPUT_WRAPPER_START_BYTES = 64 * 1024, INPUT_WRAPPER_BINARY_BYTES = 512 };

/* Returns the wrapper that bytes beginning like this have; NULL if they have none. */
const struct input_wrapper *input_wrapper_of(struct text start);

/* Does what input_wrapper_of does, but knows no logs. Needs INPUT_WRAPPER_BINARY_BYTES at most. */
const struct input_wrapper *input_wrapper_of_binary(struct text start);
