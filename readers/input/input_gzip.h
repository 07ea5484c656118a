/* gzip streams, decoded by zlib. Unlike libarchive, zlib checks the CRC and length of each member, so a damaged trace
 * cannot pass for a good one. */
#ifndef GECKO_INPUT_GZIP_H
#define GECKO_INPUT_GZIP_H

#include "input_wrapper.h"

/* Zero bytes after a member are padding. Anything else that is not a member is a failure. */
input_wrapper_open input_gzip_open;

#endif
