/* Browsers read only the first member of a gzip file. Other programs read all members. */
#ifndef GECKO_GZIP_TRAILING_DATA_H
#define GECKO_GZIP_TRAILING_DATA_H

#include <stdbool.h>

#include "libconvert/base/failure.h"

/* Returns true if anything follows the first member of the gzip file: another member, or other bytes, zeros included.
 * Returns false for files that are not regular or not gzip, and after a failure (reading, memory), which is latched. */
bool gzip_has_trailing_data(const char *path, struct failure *failure);

#endif
