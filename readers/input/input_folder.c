#include "input_folder.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/base/cursor.h"

static char *path_in(const char *folder, const char *name) {
    char *path;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static bool exists(const char *folder, const char *name) {
    char *path = path_in(folder, name);
    bool is_there = path && access(path, F_OK) == 0;
    free(path);
    return is_there;
}

bool input_folder_is_recording(struct text start) { return text_starts_with(start, TEXT("PERFILE2")); }

/* Reads the header of `data`. *is_divided becomes true if the header says that other files have the records; a recorder
 * that was killed has not written that. Returns false if the file is not a recording. */
static bool read_header(const char *path, bool *is_divided) {
    enum { HEADER_BYTES = 104, FEATURES_AT = 72, DIVIDED_BIT = 24 };
    char header[HEADER_BYTES];
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) return false;
    bool is_good = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                   pread(descriptor, header, sizeof header, 0) == HEADER_BYTES &&
                   input_folder_is_recording((struct text){header, sizeof header});
    close(descriptor);
    if (!is_good) return false;
    uint64_t features;
    memcpy(&features, header + FEATURES_AT, sizeof features);
    *is_divided = le64toh(features) >> DIVIDED_BIT & 1;
    return true;
}

/* Returns what the file with that name beside `data` is. */
static uint32_t number_of(struct text name) {
    enum { DIGITS_MAX = 9 };
    static const struct text header = TEXT("data");
    if (text_equal(name, header)) return INPUT_FOLDER_HEADER;
    struct text digits = text_from(name, header.bytes_count + 1);
    uint64_t number;
    bool is_part = text_starts_with(name, TEXT("data.")) && digits.bytes_count <= DIGITS_MAX &&
                   cursor_parse_number(digits, 10, &number);
    return is_part ? (uint32_t)number : INPUT_FOLDER_OTHER;
}

static bool is_kernel_name(struct text name) {
    return text_equal(name, TEXT("kallsyms")) || text_equal(name, TEXT("kcore")) || text_equal(name, TEXT("modules"));
}

/* Returns the path of the folder that has the folder; empty if the path does not say. */
static struct text folder_above(struct text folder) {
    struct text path = text_slice(folder, 0, folder.bytes_count ? folder.bytes_count - 1 : 0);
    return text_slice(path, 0, path.bytes_count - text_base_name(path).bytes_count);
}

uint32_t input_folder_number(struct text path, struct text *folder) {
    struct text name = text_base_name(path);
    *folder = text_slice(path, 0, path.bytes_count - name.bytes_count);
    struct text above = folder_above(*folder);
    if (!is_kernel_name(name) || !text_equal(text_from(*folder, above.bytes_count), TEXT("kcore_dir/")))
        return number_of(name);
    *folder = above;
    return INPUT_FOLDER_KERNEL;
}

static int is_part(const struct dirent *entry) { return number_of(text_of(entry->d_name)) < INPUT_FOLDER_HEADER; }

static int compare_parts(const struct dirent **left, const struct dirent **right) {
    uint32_t a = number_of(text_of((*left)->d_name)), b = number_of(text_of((*right)->d_name));
    return (a > b) - (a < b);
}

static void add_path(struct input_folder *folder, char *path, struct failure *failure) {
    if (path)
        folder->paths[folder->path_count++] = path;
    else
        failure_set_memory(failure);
}

/* Takes over the header's path. */
static void add_all(struct input_folder *folder, char *header, const char *path, struct failure *failure) {
    struct dirent **parts = NULL;
    int count = scandir(path, &parts, is_part, compare_parts);
    if (count < 0) failure_set(failure, FAILURE_IO, "%s: cannot be listed: %s", path, strerror(errno));
    if (count < 0) count = 0;
    folder->paths = calloc((size_t)count + 1, sizeof *folder->paths);
    if (folder->paths) {
        add_path(folder, header, failure);
    } else {
        free(header);
        failure_set_memory(failure);
    }
    for (int i = 0; i < count; i++) {
        if (folder->paths) add_path(folder, path_in(path, parts[i]->d_name), failure);
        free(parts[i]);
    }
    free(parts);
}

void input_folder_list(struct input_folder *folder, const char *path, struct failure *failure) {
    *folder = (struct input_folder){0};
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return;
    char *header = path_in(path, "data");
    bool is_divided = false, is_recording = header && read_header(header, &is_divided);
    if (!is_recording || !(is_divided || exists(path, "data.0") || exists(path, "kcore_dir"))) {
        free(header);
        return;
    }
    add_all(folder, header, path, failure);
}

void input_folder_fini(struct input_folder *folder) {
    for (size_t i = 0; i < folder->path_count; i++) free(folder->paths[i]);
    free(folder->paths);
    *folder = (struct input_folder){0};
}
