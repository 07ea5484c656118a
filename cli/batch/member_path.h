/* Decides which members of an archive are used, and under which path. */
#pragma once

#include "readers/input/input_members.h"

/* Returns the member's path without empty and "." components ("./a//b": "a/b"), for the caller to free; NULL when
 * memory ran out. *reason becomes NULL or, if the member must not be used, the reason (static); the result is then the
 * path as the archive has it, possibly cut. */
char *member_path(const struct input_member *member, const char **reason);
