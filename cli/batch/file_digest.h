/* Hashes that identify a file by its bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "readers/input/input_members.h"
#include "writer/chunk_list.h"

/* A hash of a file's bytes that depends on a salt. Two files with the same XXH3 are easy to construct, but not before
 * the salt is known. */
struct salted_xxh3 {
    uint64_t salt; /* 0: there is no hash */
    uint64_t xxh3;
};

/* Reads the file once, as it is stored, and sets the digest and the salted hashes for the salts in `salted`. If the
 * file is a recording in a folder, reads all of its files. Returns false if a file cannot be read to its end: errno
 * says why. */
bool file_digest(const char *path, struct input_digest *digest, struct salted_xxh3 *salted, size_t salted_count);

uint64_t chunks_xxh3(const struct chunk_list *chunks);
