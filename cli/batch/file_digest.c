#include "file_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BLOCK_BYTES = 64 * 1024 };

/* Of a regular file as long as it says: one that ends there needs not be asked again. */
static bool digest_descriptor(int descriptor, struct input_digest *digest) {
    char block[BLOCK_BYTES];
    XXH3_state_t hash;
    XXH3_64bits_reset(&hash);
    digest->bytes_count = 0;
    struct stat status;
    if (fstat(descriptor, &status) != 0) return false;
    uint64_t file_bytes = (uint64_t)status.st_size;
    ssize_t bytes_count = 1;
    while (bytes_count && !(file_bytes && digest->bytes_count == file_bytes)) {
        bytes_count = read(descriptor, block, sizeof block);
        if (bytes_count < 0 && errno != EINTR) return false;
        if (bytes_count <= 0) continue;
        XXH3_64bits_update(&hash, block, (size_t)bytes_count);
        digest->bytes_count += (uint64_t)bytes_count;
    }
    digest->xxh3 = XXH3_64bits_digest(&hash);
    return true;
}

bool file_digest(const char *path, struct input_digest *digest) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) return false;
    bool is_good = digest_descriptor(descriptor, digest);
    int saved_errno = errno;
    close(descriptor);
    errno = saved_errno;
    return is_good;
}

uint64_t chunks_xxh3(const struct chunk_list *chunks) {
    XXH3_state_t hash;
    XXH3_64bits_reset(&hash);
    for (const struct chunk *chunk = chunks->first; chunk; chunk = chunk->next)
        XXH3_64bits_update(&hash, chunk->bytes, chunk->used_bytes);
    return XXH3_64bits_digest(&hash);
}
