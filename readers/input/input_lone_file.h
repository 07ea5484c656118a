/* The one file in an archive, or the content of a compressed stream, as a source. */
#ifndef GECKO_INPUT_LONE_FILE_H
#define GECKO_INPUT_LONE_FILE_H

#include "input_wrapper.h"

/* Opens the source. The archive must hold one regular file besides empty ones. At the end of that file, reading goes
 * through the rest of the archive. A second file is a failure (latched), as is an archive without files. */
input_wrapper_open input_lone_file_open;

#endif
