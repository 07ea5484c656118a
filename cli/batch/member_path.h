/* Decides which members of an archive are used, and under which path. */
#pragma once

#include "readers/input/input_members.h"

/* Returns the member's path without empty and "." components ("./a//b": "a/b"), for the caller to free; NULL if memory
 * ran out. If the member must not be used, sets *reason to the reason (static) and returns the path as the archive has
 * it, possibly cut. Otherwise sets *reason to NULL. */
char *member_path(const struct input_member *member, const char **reason);
