#include "input_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "input_file.h"
#include "input_folder.h"
#include "input_room.h"
#include "libconvert/base/memory.h"

enum {
    FILES_MAX = 4096,
    ALIGNMENT_BYTES = 64 * 1024 /* files begin at a page, and no machine has larger ones */
};

struct spooled_file {
    uint32_t number; /* input_folder_number */
    uint64_t offset;
    uint64_t bytes_count;
};

struct input_spool {
    const char *name; /* borrowed; NULL once the spool is open */
    int descriptor;
    char *wrapping;             /* owned; of the source; NULL before */
    uint64_t end;               /* where the next file begins */
    uint64_t taken_bytes;       /* of the room for temporary files */
    struct spooled_file *files; /* owned; data.N in the order of N, then `data`, then the kernel's list */
    size_t file_count;
    struct input_source header; /* set by input_spool_open */
};

static int open_temporary(char *path, size_t path_bytes) {
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = "/tmp";
    snprintf(path, path_bytes, "%s", folder);
    int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
    if ((size_t)snprintf(path, path_bytes, "%s/gecko-convert-XXXXXX", folder) >= path_bytes) return -1;
    descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor >= 0) unlink(path);
    return descriptor;
}

struct input_spool *input_spool_create(const char *name, struct failure *failure) {
    char path[4096];
    struct input_spool *spool = malloc(sizeof *spool);
    if (!spool) {
        failure_set_memory(failure);
        return NULL;
    }
    *spool = (struct input_spool){.name = name, .descriptor = open_temporary(path, sizeof path)};
    if (spool->descriptor >= 0) {
        input_room_join(spool->descriptor);
        return spool;
    }
    failure_set(failure, FAILURE_IO,
                "%s: a recording of several files in an archive needs a temporary file, which cannot be made in %s: "
                "%s; set TMPDIR to another folder, or extract the archive",
                name, path, strerror(errno));
    free(spool);
    return NULL;
}

void input_spool_destroy(struct input_spool *spool) {
    if (!spool) return;
    if (spool->header.close) spool->header.close(spool->header.context);
    close(spool->descriptor);
    input_room_leave(spool->taken_bytes);
    free(spool->wrapping);
    memory_free(spool->files);
    free(spool);
}

/* ---- Copying. ---- */

static void fail_room(const struct input_spool *spool, struct failure *failure) {
    enum { KILOBYTE = 1000, MEGABYTE = 1000000 };
    uint64_t room_bytes = input_room_bytes();
    bool is_small = room_bytes < 10 * MEGABYTE;
    failure_set(failure, FAILURE_IO,
                "%s: the files of the recording would take more than half of the room for temporary files, which is "
                "%" PRIu64 " %s; set TMPDIR to a folder with more room, or extract the archive",
                spool->name, room_bytes / (is_small ? KILOBYTE : MEGABYTE), is_small ? "kB" : "MB");
}

static bool write_all(struct input_spool *spool, struct text bytes, uint64_t offset, struct failure *failure) {
    if (!input_room_take(bytes.bytes_count)) {
        fail_room(spool, failure);
        return false;
    }
    spool->taken_bytes += bytes.bytes_count;
    while (bytes.bytes_count) {
        ssize_t count = pwrite(spool->descriptor, bytes.bytes, bytes.bytes_count, (off_t)offset);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            failure_set(failure, FAILURE_IO,
                        "%s: the files of the recording cannot be copied to a temporary file: %s; set TMPDIR to a "
                        "folder with more room, or extract the archive",
                        spool->name, strerror(count < 0 ? errno : ENOSPC));
            return false;
        }
        bytes = text_from(bytes, (size_t)count);
        offset += (uint64_t)count;
    }
    return true;
}

/* Returns the place of the number among the files: that of the first one which is not smaller. */
static size_t place_of(const struct input_spool *spool, uint32_t number) {
    size_t place = 0;
    while (place < spool->file_count && spool->files[place].number < number) place++;
    return place;
}

static bool has_number_at(const struct input_spool *spool, size_t place, uint32_t number) {
    return place < spool->file_count && spool->files[place].number == number;
}

/* Makes room for a file at the place. Returns false if there are too many files or memory ran out (latched). */
static bool insert_at(struct input_spool *spool, size_t place, struct failure *failure) {
    if (spool->file_count == FILES_MAX) {
        failure_set(failure, FAILURE_INPUT, "%s: the recording has more than %d files", spool->name, FILES_MAX);
        return false;
    }
    struct spooled_file *files = memory_resize(failure, spool->files, (spool->file_count + 1) * sizeof *files);
    if (!files) return false;
    spool->files = files;
    memmove(&files[place + 1], &files[place], (spool->file_count++ - place) * sizeof *files);
    return true;
}

bool input_spool_add(struct input_spool *spool, uint32_t number, struct text (*read)(void *context), void *context,
                     struct failure *failure) {
    struct spooled_file file = {.number = number, .offset = spool->end};
    for (struct text block; number != INPUT_FOLDER_UNREAD && (block = read(context)).bytes_count;
         file.bytes_count += block.bytes_count)
        if (!write_all(spool, block, file.offset + file.bytes_count, failure)) return false;
    size_t place = place_of(spool, number);
    if (!has_number_at(spool, place, number) && !insert_at(spool, place, failure)) return false;
    spool->files[place] = file;
    spool->end = (file.offset + file.bytes_count + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    return true;
}

/* ---- What was copied. ---- */

size_t input_spool_count(const struct input_spool *spool) { return spool->file_count; }

size_t input_spool_part_count(const struct input_spool *spool) {
    size_t place = place_of(spool, INPUT_FOLDER_HEADER);
    return has_number_at(spool, place, INPUT_FOLDER_HEADER) ? place : 0;
}

uint32_t input_spool_number(const struct input_spool *spool, size_t index) { return spool->files[index].number; }

bool input_spool_has_header(const struct input_spool *spool) {
    char magic[8];
    size_t place = place_of(spool, INPUT_FOLDER_HEADER);
    return has_number_at(spool, place, INPUT_FOLDER_HEADER) &&
           pread(spool->descriptor, magic, sizeof magic, (off_t)spool->files[place].offset) == sizeof magic &&
           input_folder_is_recording((struct text){magic, sizeof magic});
}

uint64_t input_spool_parts_bytes(const struct input_spool *spool) {
    uint64_t bytes_count = 0;
    for (size_t i = 0; i < input_spool_part_count(spool); i++) bytes_count += spool->files[i].bytes_count;
    return bytes_count;
}

/* ---- Reading. ---- */

bool input_spool_open_part(struct input_source *source, const struct input_spool *spool, size_t index, const char *name,
                           struct failure *failure) {
    const struct spooled_file *file = &spool->files[index];
    const struct input_slice slice = {spool->descriptor, file->offset, file->bytes_count};
    return input_file_open_slice(source, &slice, name, failure);
}

bool input_spool_open_kernel_list(struct input_source *source, const struct input_spool *spool, const char *name,
                                  struct failure *failure) {
    size_t place = place_of(spool, INPUT_FOLDER_KERNEL_LIST);
    return has_number_at(spool, place, INPUT_FOLDER_KERNEL_LIST) &&
           input_spool_open_part(source, spool, place, name, failure);
}

static struct text read_header(void *context) {
    struct input_spool *spool = context;
    return spool->header.read(spool->header.context);
}

static void seek_header(void *context, uint64_t offset) {
    struct input_spool *spool = context;
    spool->header.seek(spool->header.context, offset);
}

static void release_header(void *context, uint64_t offset) {
    struct input_spool *spool = context;
    if (spool->header.release) spool->header.release(spool->header.context, offset);
}

static void close_spool(void *context) { input_spool_destroy(context); }

bool input_spool_open(struct input_source *source, struct input_spool *spool, const char *wrapping, const char *name,
                      struct failure *failure) {
    size_t place = place_of(spool, INPUT_FOLDER_HEADER);
    if (place == spool->file_count) place = 0;
    spool->name = NULL;
    spool->wrapping = strdup(wrapping);
    if (!spool->wrapping) failure_set_memory(failure);
    if (!spool->wrapping || !input_spool_open_part(&spool->header, spool, place, name, failure)) {
        spool->header = (struct input_source){0};
        input_spool_destroy(spool);
        return false;
    }
    *source = (struct input_source){.context = spool,
                                    .read = read_header,
                                    .seek = seek_header,
                                    .release = release_header,
                                    .close = close_spool,
                                    .total_bytes = spool->header.total_bytes,
                                    .window_bytes = spool->header.window_bytes,
                                    .wrapping = spool->wrapping,
                                    .spool = spool};
    return true;
}
