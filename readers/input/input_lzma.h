/* xz streams and the older .lzma format, decoded by liblzma. libarchive (3.6) crashes if memory runs out at their
 * start, and ignores whatever follows the end of .lzma data. */
#ifndef GECKO_INPUT_LZMA_H
#define GECKO_INPUT_LZMA_H

#include "input_wrapper.h"

/* Several xz streams may follow one another, with padding in between. Anything else after the end is a failure. */
input_wrapper_open input_xz_open;
input_wrapper_open input_lzma_open;

#endif
