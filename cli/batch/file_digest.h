/* What a file is, by its bytes. */
#ifndef GECKO_FILE_DIGEST_H
#define GECKO_FILE_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "readers/input_members.h"
#include "writer/chunk_list.h"

/* A hash of a file's bytes that depends on a salt. Files with one XXH3 are easily made on purpose, but not before the
 * salt is known. */
struct salted_xxh3 {
    uint64_t salt; /* 0: there is none */
    uint64_t xxh3;
};

/* Reads the file as it is, compressed or not, once; *salted are some more hashes of it, by their salts. False when the
 * file cannot be read to its end: errno says why. */
bool file_digest(const char *path, struct input_digest *digest, struct salted_xxh3 *salted, size_t salted_count);

uint64_t chunks_xxh3(const struct chunk_list *chunks);

#endif
