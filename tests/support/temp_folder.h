/* Creates a temporary folder for a test, which is removed with its contents at the end. Also reads and writes whole
 * files. */
#pragma once

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libconvert/base/text.h"

struct temp_folder {
    char path[PATH_MAX / 2];
};

static inline bool temp_folder_init(struct temp_folder *folder) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%s/gecko-test-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(folder->path) != NULL;
}

/* Returns the path of a file in the folder. The path is valid for the next few calls only, which take a few static
 * buffers in turn. */
static inline const char *temp_folder_file(const struct temp_folder *folder, const char *name) {
    static char paths[4][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", folder->path, name);
    return path;
}

/* Returns the number of files in the folder. */
static inline int temp_folder_count(const struct temp_folder *folder) {
    DIR *directory = opendir(folder->path);
    int count = 0;
    if (!directory) return -1;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) count++;
    closedir(directory);
    return count;
}

static inline void temp_folder_fini(const struct temp_folder *folder) {
    DIR *directory = opendir(folder->path);
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(temp_folder_file(folder, entry->d_name));
    closedir(directory);
    rmdir(folder->path);
}

static inline bool file_write(const char *path, struct text text) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool is_good = fwrite(text.bytes, 1, text.bytes_count, file) == text.bytes_count;
    return fclose(file) == 0 && is_good;
}

/* Returns the whole file, NUL-terminated, or NULL if the file does not exist. The caller frees it. */
static inline char *file_read(const char *path, size_t *bytes_count) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *bytes = NULL;
    size_t used = 0, got = 0;
    do {
        used += got;
        size_t room_bytes = used + 65536;
        bytes = realloc(bytes, used + room_bytes + 1);
        got = bytes ? fread(bytes + used, 1, room_bytes, file) : 0;
    } while (got);
    fclose(file);
    if (!bytes) return NULL;
    bytes[used] = '\0';
    if (bytes_count) *bytes_count = used;
    return bytes;
}
