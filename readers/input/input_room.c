#include "input_room.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/statvfs.h>

/* Of the process, whose temporary files all are in one folder. */
static struct {
    pthread_mutex_t lock;
    size_t file_count;
    uint64_t found_bytes;
    uint64_t left_bytes;
} room = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t free_bytes(int descriptor) {
    struct statvfs status;
    return fstatvfs(descriptor, &status) == 0 ? (uint64_t)status.f_bavail * status.f_frsize : UINT64_MAX;
}

void input_room_join(int descriptor) {
    pthread_mutex_lock(&room.lock);
    if (!room.file_count++) {
        room.found_bytes = free_bytes(descriptor);
        room.left_bytes = room.found_bytes / 2;
    }
    pthread_mutex_unlock(&room.lock);
}

void input_room_leave(uint64_t taken_bytes) {
    pthread_mutex_lock(&room.lock);
    room.file_count--;
    room.left_bytes += taken_bytes;
    pthread_mutex_unlock(&room.lock);
}

bool input_room_take(uint64_t bytes_count) {
    pthread_mutex_lock(&room.lock);
    bool has_room = bytes_count <= room.left_bytes;
    if (has_room) room.left_bytes -= bytes_count;
    pthread_mutex_unlock(&room.lock);
    return has_room;
}

uint64_t input_room_bytes(void) {
    pthread_mutex_lock(&room.lock);
    uint64_t found_bytes = room.found_bytes;
    pthread_mutex_unlock(&room.lock);
    return found_bytes;
}
