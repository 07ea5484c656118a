/* The files data.0, data.1… of a folder that perf record --threads wrote. Each has the records of some processors from
 * its first byte on, and compressed records of its own zstd stream. No rounds end in them, so the files are read side
 * by side, and data_order sorts what has been read.
 *
 * Offsets in the recording count the bytes of the file `data` and of the files before, as though all were one file. */
#ifndef GECKO_DATA_FOLDER_H
#define GECKO_DATA_FOLDER_H

#include "data_parser.h"

/* Reads the files, if the input has any. Call it after the header and the records of `data` have been read. */
void data_folder_read(struct data_parser *parser, struct input *input);

#endif
