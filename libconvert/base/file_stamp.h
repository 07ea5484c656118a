/* Tells whether a file has changed, without reading it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Returns a hash of the file's identity, its size, and the times of its last changes, one of which no program can set.
 * The hash is never 0, so 0 can mean "unknown". It does not reveal a change that a program made through a mapping. */
uint64_t file_stamp(const struct stat *status);

/* Returns whether the last change is so long ago that any later change will have another time on every file system. If
 * so, a program that reads the file from now on reads the contents that the stamp stands for. */
bool file_stamp_is_lasting(const struct stat *status);
