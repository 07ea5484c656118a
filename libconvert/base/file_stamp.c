#include "file_stamp.h"

#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* FAT has the coarsest times of all file systems: two seconds. */
enum { TICK_SECONDS = 2 };

uint64_t file_stamp(const struct stat *status) {
    const int64_t parts[] = {(int64_t)status->st_ino, (int64_t)status->st_size, status->st_mtim.tv_sec,
                             status->st_mtim.tv_nsec, status->st_ctim.tv_sec,   status->st_ctim.tv_nsec};
    uint64_t stamp = XXH3_64bits(parts, sizeof parts);
    return stamp ? stamp : 1;
}

bool file_stamp_is_lasting(const struct stat *status) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return status->st_ctim.tv_sec + TICK_SECONDS < now.tv_sec;
}
