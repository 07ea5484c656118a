/* Programs that start the one of interest. */
#ifndef GECKO_LAUNCHERS_H
#define GECKO_LAUNCHERS_H

#include "libconvert/base/text.h"

/* Returns whether the program of that name starts others, or waits while others are recorded ("sleep"). A profile is
 * not named after it. */
bool program_is_launcher(struct text name);

#endif
