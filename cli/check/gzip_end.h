/* What browsers ask of a gzip file, and other programs do not. */
#ifndef GECKO_GZIP_END_H
#define GECKO_GZIP_END_H

#include <stdbool.h>

#include "libconvert/failure.h"

/* Whether the gzip file at that path goes on behind its first member: with another one, or other bytes, zeros too. False
 * for what is no regular file or no gzip, and after a failure, which is latched: reading, memory. */
bool gzip_goes_on(const char *path, struct failure *failure);

#endif
