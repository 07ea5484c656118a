/* Whether a file is as it was, without reading it. */
#ifndef GECKO_FILE_STAMP_H
#define GECKO_FILE_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* A hash of which file it is, its length, and the times of its last changes, one of which no program can set. Never 0,
 * so that 0 can stand for none. A program that writes through a mapping may change a file whose stamp stays. */
uint64_t file_stamp(const struct stat *status);

/* The last change lies so far back that any that comes now has another time, whatever the file system counts in:
 * whoever reads the file now has read what the stamp stands for. */
bool file_stamp_is_lasting(const struct stat *status);

#endif
