/* Removes rows to which nothing that is written refers from the profile's tables: stacks of samples that were dropped,
 * and the frames, functions, libraries and strings that only those use. The remaining rows keep their order, except:
 *
 * Gives one name to a source file that has two: a label has the path that its compiler was called with, which may be
 * relative, and a function has the absolute path of the debug information. A relative path becomes the absolute one
 * that ends with it if code of the relative path was called by code of the absolute one. It stays if that holds for
 * several absolute paths. If code of a relative path was called by no such code, the path is tried in the folders from
 * which the others start.
 *
 * Moves functions without an address, such as labels, to the end of the table if their file also has functions with
 * one. The viewer asks for a file's text with an address of the first function that has the file. */
#pragma once

#include "profile.h"

/* Call it after profile_finish. Earlier ids become invalid, and no frames can be added any more. If every row is in
 * use, it costs one pass and moves nothing. Does nothing after a failure. */
void sweep_profile(struct profile *profile);
