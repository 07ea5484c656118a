/* Where output goes: a file that appears whole or not at all, or standard output.
 *
 * A file is written beside its target under a temporary name and renamed when it is complete; until then an old
 * file of that name is untouched. A name that ends in ".gz" gets one gzip member without a time stamp (browsers
 * refuse more than one). */
#ifndef GECKO_SINK_H
#define GECKO_SINK_H

#include "libconvert/progress.h"
#include "chunk_list.h"

/* Writes the chunks to `path` ("-": standard output, uncompressed) and frees them as it goes; true when every
 * byte was written, flushed and the file renamed. Otherwise the failure is latched and nothing is left behind.
 * *written_bytes is what the file or stream got. */
bool sink_write(struct chunk_list *chunks, const char *path, struct failure *failure, struct progress progress,
                uint64_t *written_bytes);

/* Removes the temporary file that is being written, if there is one. Async-signal-safe: for signal handlers that
 * are about to end the program. */
void sink_abandon(void);

#endif
