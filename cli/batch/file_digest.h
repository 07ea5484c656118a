/* What a file is, by its bytes. */
#ifndef GECKO_FILE_DIGEST_H
#define GECKO_FILE_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "readers/input_members.h"
#include "writer/chunk_list.h"

/* Reads the file as it is, compressed or not. False when it cannot be read to its end: errno says why. */
bool file_digest(const char *path, struct input_digest *digest);

uint64_t chunks_xxh3(const struct chunk_list *chunks);

#endif
