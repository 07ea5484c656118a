/* A file that holds the bytes of the current input and needs no disk: it lies in memory, under a path that stays the
 * same, so that messages name it alike. */
#ifndef GECKO_FUZZ_SOURCE_FILE_H
#define GECKO_FUZZ_SOURCE_FILE_H

#include <stdbool.h>

#include "libconvert/text.h"

extern const char source_file_path[];

/* Makes the bytes the content of that file. */
void source_file_fill(struct text bytes);

/* Makes that path lead to the read end of a pipe which holds the bytes. False when a pipe cannot hold as many. Comes
 * in place of the file until that is filled again. */
bool source_file_fill_pipe(struct text bytes);

#endif
