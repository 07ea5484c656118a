#include "file_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "readers/input/input_folder.h"

enum { BLOCK_BYTES = 64 * 1024 };

static bool digest_descriptor(int descriptor, XXH3_state_t *hash, uint64_t *total_bytes) {
    char block[BLOCK_BYTES];
    ssize_t bytes_count = 1;
    while (bytes_count) {
        bytes_count = read(descriptor, block, sizeof block);
        if (bytes_count < 0 && errno != EINTR) return false;
        if (bytes_count <= 0) continue;
        XXH3_64bits_update(hash, block, (size_t)bytes_count);
        *total_bytes += (uint64_t)bytes_count;
    }
    return true;
}

/* Adds the bytes of one file. */
static bool digest_file(const char *path, XXH3_state_t *hash, uint64_t *total_bytes) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) return false;
    bool is_good = digest_descriptor(descriptor, hash, total_bytes);
    int saved_errno = errno;
    close(descriptor);
    errno = saved_errno;
    return is_good;
}

/* Adds the bytes of a file or, if the path is that of a recording in a folder, of its files one after another. */
static bool digest_path(const char *path, XXH3_state_t *hash, uint64_t *total_bytes) {
    struct failure failure = {0};
    struct input_folder folder;
    input_folder_list(&folder, path, &failure);
    bool is_good = !failure_is_set(&failure);
    if (!is_good) errno = ENOMEM;
    for (size_t i = 0; i < folder.path_count && is_good; i++) is_good = digest_file(folder.paths[i], hash, total_bytes);
    if (is_good && !folder.path_count) is_good = digest_file(path, hash, total_bytes);
    int saved_errno = errno;
    input_folder_fini(&folder);
    errno = saved_errno;
    return is_good;
}

bool file_digest(const char *path, struct input_digest *digest) {
    XXH3_state_t hash;
    XXH3_64bits_reset(&hash);
    digest->bytes_count = 0;
    if (!digest_path(path, &hash, &digest->bytes_count)) return false;
    digest->xxh3 = XXH3_64bits_digest(&hash);
    return true;
}

uint64_t chunks_xxh3(const struct chunk_list *chunks) {
    XXH3_state_t hash;
    XXH3_64bits_reset(&hash);
    for (const struct chunk *chunk = chunks->first; chunk; chunk = chunk->next)
        XXH3_64bits_update(&hash, chunk->bytes, chunk->used_bytes);
    return XXH3_64bits_digest(&hash);
}
