/* Which members of an archive are used, and under which path. */
#ifndef GECKO_MEMBER_PATH_H
#define GECKO_MEMBER_PATH_H

#include "readers/input_members.h"

/* The member's path without parts that say nothing ("./a//b": "a/b"), to be freed; NULL when memory ran out. *reason is
 * why the member must not be used (static; the path is as the archive has it then, or the start of it), or NULL. */
char *member_path(const struct input_member *member, const char **reason);

#endif
