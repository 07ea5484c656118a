/* Reads the files of an archive one after another, each as an input. Nothing is unpacked to disk or kept in memory.
 *
 *     struct input_members *members = input_members_open(archive, &failure);
 *     while (input_members_next(members, &member)) {
 *         struct input *input = input_members_input(members, name);
 *         … read, close …
 *         input_members_finish(members, &digest);
 *         if (!input_members_recover(members)) break;
 *     }
 *     input_members_close(members);
 *
 * All failures, also those of members, are latched in the failure of the archive. */
#pragma once

#include "input.h"
#include "input_archive.h"

struct input_members;

/* Digest of a member's bytes as they are in the archive: if the member is a compressed file, of the compressed
 * bytes. */
struct input_digest {
    uint64_t bytes_count;
    uint64_t xxh3;
};

/* Takes ownership of the input, which must begin with an archive (input_is_archive). `failure` must be the latch of the
 * input. Returns NULL after a failure (latched). */
struct input_members *input_members_open(struct input *archive, struct failure *failure);
void input_members_close(struct input_members *members); /* NULL is allowed */

/* Goes to the next member. Returns false at the end of the archive and if it cannot be read further (latched). */
bool input_members_next(struct input_members *members, struct input_member *member);

/* Opens the current member, which must be a file. Call it at most once per member, and close the input before the next
 * member. `name` is for messages and borrowed. Returns NULL if memory ran out (latched). */
struct input *input_members_input(struct input_members *members, const char *name);

/* Reads the rest of the member. Sets *digest to that of the whole member, or of what could be read. */
void input_members_finish(struct input_members *members, struct input_digest *digest);

/* Clears the failure of a member. Returns false, and keeps the failure, if the archive itself has failed or memory ran
 * out. */
bool input_members_recover(struct input_members *members);
