/* Shows in a finished profile when threads did not run, for viewers that do not know processor times. */
#pragma once

#include "profile.h"

/* Adds samples without weight, "(not running)" of the category Idle, so that the front-end draws each sample as high
 * without processor times as it draws it with them. The sums of weights and of processor times stay. Running out of
 * memory is latched. */
void profile_draw_waits(struct profile *profile);
