/* Programs that start the one of interest. */
#ifndef GECKO_LAUNCHERS_H
#define GECKO_LAUNCHERS_H

#include "libconvert/base/text.h"

/* Returns whether the program of that name starts others, or waits while others are recorded ("sleep"). A profile is
 * not named after it. */
bool program_is_launcher(struct text name);

/* Returns the file name of the script that a shell runs: "build.sh" for "sh" and "-e ./build.sh --fast". It is empty if
 * the program is no shell or gets its commands in another way. */
struct text program_script(struct text program, struct text arguments);

#endif
