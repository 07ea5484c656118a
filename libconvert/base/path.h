/* Paths as debug information and traces write them. */
#pragma once

#include <limits.h>

#include "text.h"

/* Returns the path without empty components, "." components, and components that a ".." after them undoes. The file
 * system is not asked, so a ".." after a symbolic link may name another file than before. The result is `path` itself,
 * or lies in `bytes`. URLs, and paths that are too long, are returned as they are. */
struct text path_normalize(struct text path, char bytes[PATH_MAX]);

/* Returns whether one of the path's components is "..". */
bool path_leads_up(struct text path);
