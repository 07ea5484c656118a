/* A conversion without an output: all its stages up to the finished profile, which is shown to somebody and goes. */
#ifndef GECKO_LOOK_H
#define GECKO_LOOK_H

#include "gecko_convert.h"
#include "libconvert/profile.h"

/* The profile is valid until it returns. What fails is latched in the profile's failure, and fails the conversion. */
typedef void profile_look(void *context, const struct profile *profile);

/* gecko_convert, but nothing is emitted and written: what options and result have of the output means nothing. Without
 * `look` it is gecko_convert. */
enum gecko_convert_status conversion_look_at(const struct gecko_convert_options *options, profile_look *look,
                                             void *context, struct gecko_convert_result *result);

#endif
