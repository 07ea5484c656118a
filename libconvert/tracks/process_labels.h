/* Tells processes of one program apart by their arguments: "cc1 parse.c", not five times "cc1". */
#pragma once

#include "libconvert/profile/profile.h"

/* The most characters of a label if the user does not say. */
enum { PROCESS_LABEL_CHARACTERS = 40, PROCESS_LABEL_CHARACTERS_MAX = 500 };

/* Sets the labels and the command lines of processes whose arguments are known. A label has the name and the arguments,
 * and is cut to that many characters, but the name is not. It leaves out folders of absolute paths, arguments that all
 * processes of that name have, temporary files if there are other arguments, as their names are random, and options if
 * they do not fit. 0: there are neither labels nor command lines. Names processes. Running out of memory is latched. */
void profile_label_processes(struct profile *profile, unsigned character_count_max);
