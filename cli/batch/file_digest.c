#include "file_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BLOCK_BYTES = 64 * 1024, HASHES_MAX = 3 };

/* Of a regular file as long as it says: one that ends there needs not be asked again. */
static bool digest_descriptor(int descriptor, XXH3_state_t *hashes, size_t hash_count, uint64_t *total_bytes) {
    char block[BLOCK_BYTES];
    *total_bytes = 0;
    struct stat status;
    if (fstat(descriptor, &status) != 0) return false;
    uint64_t file_bytes = (uint64_t)status.st_size;
    ssize_t bytes_count = 1;
    while (bytes_count && !(file_bytes && *total_bytes == file_bytes)) {
        bytes_count = read(descriptor, block, sizeof block);
        if (bytes_count < 0 && errno != EINTR) return false;
        if (bytes_count <= 0) continue;
        for (size_t i = 0; i < hash_count; i++) XXH3_64bits_update(&hashes[i], block, (size_t)bytes_count);
        *total_bytes += (uint64_t)bytes_count;
    }
    return true;
}

bool file_digest(const char *path, struct input_digest *digest, struct salted_xxh3 *salted, size_t salted_count) {
    XXH3_state_t hashes[HASHES_MAX];
    if (salted_count >= HASHES_MAX) salted_count = HASHES_MAX - 1;
    XXH3_64bits_reset(&hashes[0]);
    for (size_t i = 0; i < salted_count; i++) XXH3_64bits_reset_withSeed(&hashes[i + 1], salted[i].salt);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) return false;
    bool is_good = digest_descriptor(descriptor, hashes, salted_count + 1, &digest->bytes_count);
    int saved_errno = errno;
    close(descriptor);
    errno = saved_errno;
    digest->xxh3 = XXH3_64bits_digest(&hashes[0]);
    for (size_t i = 0; i < salted_count; i++) salted[i].xxh3 = XXH3_64bits_digest(&hashes[i + 1]);
    return is_good;
}

uint64_t chunks_xxh3(const struct chunk_list *chunks) {
    XXH3_state_t hash;
    XXH3_64bits_reset(&hash);
    for (const struct chunk *chunk = chunks->first; chunk; chunk = chunk->next)
        XXH3_64bits_update(&hash, chunk->bytes, chunk->used_bytes);
    return XXH3_64bits_digest(&hash);
}
