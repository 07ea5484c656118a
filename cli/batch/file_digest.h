/* Hashes that identify a file by its bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "readers/input/input_members.h"
#include "writer/chunk_list.h"

/* Reads the file, as it is stored, and sets the digest. If the file is a recording in a folder, reads all of its files.
 * Returns false if a file cannot be read to its end: errno says why. */
bool file_digest(const char *path, struct input_digest *digest);

uint64_t chunks_xxh3(const struct chunk_list *chunks);
