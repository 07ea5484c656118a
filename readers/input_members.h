/* The files of an archive, one after the other, each as an input of its own: nothing is unpacked to disk or held in
 * memory.
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
 * All failures, those of members too, are latched in the failure of the archive. */
#ifndef GECKO_INPUT_MEMBERS_H
#define GECKO_INPUT_MEMBERS_H

#include "input.h"
#include "input_archive.h"

struct input_members;

/* What the bytes of a member are, as the archive has them (compressed ones where the member is). */
struct input_digest {
    uint64_t bytes_count;
    uint64_t xxh3;
};

/* Takes the input, at whose start an archive begins (input_is_archive), and closes it in the end. NULL after a failure,
 * which is latched where those of the input are. */
struct input_members *input_members_open(struct input *archive, struct failure *failure);
void input_members_close(struct input_members *members); /* NULL is fine */

/* False at the end, and when the archive cannot be read on: the failure is latched then. */
bool input_members_next(struct input_members *members, struct input_member *member);

/* The bytes of this member, a file; once. To be closed before the walk goes on. `name` is for messages, borrowed. NULL
 * when memory ran out (latched). */
struct input *input_members_input(struct input_members *members, const char *name);

/* Reads what is left of the member, and tells of all of it, or of what could be read. */
void input_members_finish(struct input_members *members, struct input_digest *digest);

/* Clears the latch after the failure of a member. False, and the latch stays, when the archive has failed with it, or
 * memory has run out. */
bool input_members_recover(struct input_members *members);

#endif
