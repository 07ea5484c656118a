/* The environment starts a recording without a call, and tells a program which recording of its parent to join.
 * Programs with more rights than their caller (set-user-id) ignore it. */
#pragma once

#include <stdbool.h>

/* Starts recording if the environment asks for it. The library's constructor calls this. */
void environment_start(void);

/* Returns whether the environment has started the recording. A trace in memory is then saved when the process ends. */
bool environment_has_started(void);
