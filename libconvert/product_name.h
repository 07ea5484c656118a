/* The name of what was profiled, which is the title of a profile. */
#pragma once

#include "libconvert/profile/profile.h"

/* Returns the first of these that is known: the given name (NULL or empty: unknown); the name in the trace; the program
 * that used the most processor time, or has the most samples if no time is known; the program that recorded; the title
 * of the reader. The name of the input is not used: the same trace would have another name in a pipe. The text lives as
 * long as the profile and the title. Running out of memory is latched. */
struct text profile_product_name(struct profile *profile, const char *given, const char *reader_title);
