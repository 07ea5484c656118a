/* Rules that say which files may be given out as source code. A profile can come from somebody else and name any file
 * of this machine, and profiles are shared. */
#pragma once

#include <stdbool.h>

#include "libconvert/base/text.h"

/* Returns whether the file's name ends like that of source code. */
bool source_name_is_code(struct text path);

/* Returns whether the file, or one of the folders on the way to it, is hidden: its name begins with a dot. */
bool source_path_is_hidden(struct text path);

/* Returns whether the bytes are text. */
bool source_is_text(struct text bytes);
