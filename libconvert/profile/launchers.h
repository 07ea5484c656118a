/* Command lines, and programs that start the one of interest. */
#pragma once

#include "profile.h"

/* Returns whether the program of that name starts others, or waits while others are recorded ("sleep"). A profile is
 * not named after it. */
bool program_is_launcher(struct text name);

/* Returns the arguments of a command line in which each ends with a NUL. Blanks end arguments only if it has no NUL.
 * Running out of memory is latched. */
struct text command_line_arguments(struct profile *profile, struct text command_line);

/* Takes the next argument. */
struct text arguments_take(struct text *arguments);

/* Returns the arguments with blanks between them. Running out of memory is latched. */
struct text arguments_shown(struct profile *profile, struct text arguments);

/* Returns the file name of the script that a shell runs: "build.sh" for "sh" and the arguments "-e", "./build.sh". The
 * program may also start the shell: "timeout" and "60", "sh", "build.sh". The name is empty if no shell runs, or if the
 * shell gets its commands in another way. */
struct text program_script(struct text program, struct text arguments);

/* Returns the program that a launcher starts, "perl" for "timeout" and the arguments "60", "perl", "work.pl", if a
 * process of the profile has its name. Empty otherwise, and for a shell. */
struct text program_launched(const struct profile *profile, struct text program, struct text arguments);
