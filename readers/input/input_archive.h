/* Members of archives and compressed streams, through libarchive. Only this module reads with it. A compressed stream
 * has one member. */
#pragma once

#include "input_wrapper.h"

struct input_archive;

enum input_member_kind {
    INPUT_MEMBER_FILE,
    INPUT_MEMBER_FOLDER,
    INPUT_MEMBER_LINK,   /* symbolic, or hard: another name of a member */
    INPUT_MEMBER_SPECIAL /* a device, a pipe… */
};

struct input_member {
    enum input_member_kind kind;
    struct text path; /* as in the archive; empty if there is none or it cannot be read; valid until the next member */
    bool has_size;
    uint64_t size_bytes; /* size of the file, if has_size */
};

/* Opens the archive or compressed stream at the start of `below`, which must outlive it. Latches failures in the latch
 * of `below`. Returns NULL after a failure. */
struct input_archive *input_archive_open(const struct input_wrapper *wrapper, struct input *below);
void input_archive_close(struct input_archive *archive); /* NULL is allowed */

/* Goes to the next member and skips the rest of the current one. Returns false at the end and after a failure
 * (latched). */
bool input_archive_next_member(struct input_archive *archive, struct input_member *member);

/* Returns the next bytes of the current member, valid until the next call; none at its end, for other members than
 * files, and after a failure (latched), for instance if the member is encrypted. */
struct text input_archive_read(struct input_archive *archive);

/* True if no member can be read any more, since the input below has failed. */
bool input_archive_is_dead(const struct input_archive *archive);
