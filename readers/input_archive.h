/* Decompression and archives. All of it but gzip, xz and lzma goes through libarchive; this is its sole user for reading.
 *
 * An archive takes off one wrapping (a compression or a container). What comes out may be wrapped again: the caller
 * puts another one on top. Of a container it gives the one file in it (input_archive_next), or all of them, one after
 * the other (input_archive_next_member). */
#ifndef GECKO_INPUT_ARCHIVE_H
#define GECKO_INPUT_ARCHIVE_H

#include "input_source.h"
#include "libconvert/failure.h"
#include "libconvert/text.h"

struct input_archive;

/* So many bytes are enough for input_archive_recognises. */
enum { INPUT_ARCHIVE_START_BYTES = 512 };

/* True when bytes that begin like this are compressed or an archive, by their magic. */
bool input_archive_recognises(struct text start);

/* Of such bytes: they are an archive, not a compressed stream. */
bool input_archive_has_members(struct text start);

/* `start` is what the source begins with, recognised. NULL when it is no good (latched). `name` is for messages; it
 * is borrowed until close, like the source's context. */
struct input_archive *input_archive_open(struct text start, const struct input_source *source, const char *name,
                                         struct failure *failure);
void input_archive_close(struct input_archive *archive); /* NULL is fine */

/* The next bytes of the trace; empty at its end or after a failure (latched). Valid until the next call. At the end
 * of the member the rest of the archive is looked through: a second file in it is a failure. */
struct text input_archive_next(struct input_archive *archive);

enum input_member_kind {
    INPUT_MEMBER_FILE,
    INPUT_MEMBER_FOLDER,
    INPUT_MEMBER_LINK,   /* symbolic, or hard: another name of a member */
    INPUT_MEMBER_SPECIAL /* a device, a pipe… */
};

struct input_member {
    enum input_member_kind kind;
    struct text path; /* as the archive has it, empty when that cannot be read; valid until the next member */
    bool has_size;
    uint64_t size_bytes; /* of a file */
};

/* Goes on to the next member, past what is left of this one; input_archive_next then ends with the member and does not
 * mind how many there are. False at the end of the archive and after a failure (latched). An encrypted file latches a
 * failure too, and is a member all the same: true. */
bool input_archive_next_member(struct input_archive *archive, struct input_member *member);

/* Nothing more can be read: the source has failed, not a single member. */
bool input_archive_is_dead(const struct input_archive *archive);

/* "xz", "tar > app.txt": see input_wrapping. Borrowed. */
struct text input_archive_wrapping(const struct input_archive *archive);

#endif
