#include "input_pages.h"
#include "input_source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/base/memory.h"

enum {
    WINDOW_BYTES = 4 * 1024 * 1024, /* most bytes of a map that a peek returns unless more are wanted */
    /* Pages of a map are released in runs of this size. Each release interrupts the processors on which other threads
     * of the program run. */
    RUN_BYTES = 1024 * 1024,
    READ_BYTES = 256 * 1024, /* most bytes read from a pipe at a time */
    SMALL_FILE_BYTES =
        64 * 1024, /* files up to this size are read, since threads that map and unmap block each other */
    AHEAD_FILE_BYTES = 16 * 1024 * 1024 /* smaller maps are read before a thread could help */
};

/* An open file. All bytes of a regular file are available in `whole`. Other files are read in blocks. */
struct input_file {
    struct failure *failure; /* borrowed */
    const char *name;        /* borrowed */
    int descriptor;          /* -1 while not open */
    bool is_standard_input;
    struct stat status;
    char *buffer;             /* the bytes of a small file, or of a block */
    struct text map;          /* page-aligned; empty if the file is not mapped */
    struct text whole;        /* part of `buffer` or `map` */
    uint64_t offset;          /* where the next read begins in `whole` */
    size_t released_bytes;    /* from the start of the map */
    struct input_pages pages; /* running if the pages of the map are made ahead */
};

static void wait_until_readable(int descriptor) {
    struct pollfd wanted = {.fd = descriptor, .events = POLLIN};
    poll(&wanted, 1, -1);
}

static struct text read_block(void *context) {
    struct input_file *file = context;
    for (;;) {
        ssize_t bytes_count = read(file->descriptor, file->buffer, READ_BYTES);
        if (bytes_count >= 0) return (struct text){file->buffer, (size_t)bytes_count};
        if (errno == EAGAIN) {
            wait_until_readable(file->descriptor);
        } else if (errno != EINTR) {
            failure_set(file->failure, FAILURE_IO, "%s: cannot be read: %s", file->name, strerror(errno));
            return (struct text){0};
        }
    }
}

static struct text read_whole(void *context) {
    struct input_file *file = context;
    struct text bytes = text_from(file->whole, (size_t)file->offset);
    file->offset = file->whole.bytes_count;
    return bytes;
}

static size_t map_offset(const struct input_file *file, uint64_t offset) {
    return (size_t)(file->whole.bytes - file->map.bytes) + (size_t)offset;
}

/* Returns the end of the last run of pages that lies before the offset, from the start of the map. */
static size_t end_of_run(const struct input_file *file, uint64_t offset) {
    return map_offset(file, offset) / RUN_BYTES * RUN_BYTES;
}

/* Pages that are needed again must be released again later. */
static void seek_whole(void *context, uint64_t offset) {
    struct input_file *file = context;
    file->offset = offset;
    if (!file->map.bytes_count) return;
    size_t end = end_of_run(file, offset);
    if (end < file->released_bytes) file->released_bytes = end;
}

static void make_pages_ahead(void *context) {
    struct input_file *file = context;
    if (file->map.bytes_count >= AHEAD_FILE_BYTES && !file->pages.is_running)
        input_pages_start(&file->pages, file->map);
}

static void release_pages(void *context, uint64_t needed_offset, uint64_t offset) {
    struct input_file *file = context;
    if (file->pages.is_running &&
        input_pages_move(&file->pages, map_offset(file, offset), map_offset(file, needed_offset)))
        return;
    size_t end = end_of_run(file, needed_offset);
    if (end <= file->released_bytes) return;
    /* madvise takes a pointer to non-const bytes, but the bytes stay readable and unchanged. */
    madvise((void *)(uintptr_t)(file->map.bytes + file->released_bytes), end - file->released_bytes, MADV_DONTNEED);
    file->released_bytes = end;
}

static void close_descriptor(struct input_file *file) {
    if (file->descriptor >= 0 && !file->is_standard_input) close(file->descriptor);
    file->descriptor = -1;
}

static void close_file(void *context) {
    struct input_file *file = context;
    close_descriptor(file);
    input_pages_end(&file->pages);
    if (file->map.bytes_count) munmap((void *)(uintptr_t)file->map.bytes, file->map.bytes_count);
    memory_free(file->buffer);
    free(file);
}

/* Returns false if the file has become shorter or memory ran out (latched). */
static bool read_small_file(struct input_file *file, size_t file_bytes) {
    file->buffer = memory_allocate(file->failure, file_bytes);
    if (!file->buffer) return false;
    size_t done_bytes = 0;
    for (ssize_t count = 1; count && done_bytes < file_bytes;) {
        count = pread(file->descriptor, file->buffer + done_bytes, file_bytes - done_bytes, (off_t)done_bytes);
        if (count < 0 && errno != EINTR) break;
        if (count > 0) done_bytes += (size_t)count;
    }
    file->whole = (struct text){file->buffer, file_bytes};
    return done_bytes == file_bytes;
}

static bool map_file(struct input_file *file, size_t file_bytes) {
    void *bytes = mmap(NULL, file_bytes, PROT_READ, MAP_PRIVATE, file->descriptor, 0);
    if (bytes == MAP_FAILED) return false;
    madvise(bytes, file_bytes, MADV_SEQUENTIAL);
    file->map = file->whole = (struct text){bytes, file_bytes};
    return true;
}

/* Makes the whole file available. Returns false if it must be read in blocks. */
static bool take_whole(struct input_file *file, const struct stat *status, struct input_source *source) {
    /* Files of the kernel have bytes, but their size is 0. */
    if (!S_ISREG(status->st_mode) || status->st_size <= 0 || (uint64_t)status->st_size > SIZE_MAX) return false;
    off_t start = file->is_standard_input ? lseek(file->descriptor, 0, SEEK_CUR) : 0;
    size_t file_bytes = (size_t)status->st_size;
    if (start < 0) return false;
    bool is_small = file_bytes <= SMALL_FILE_BYTES;
    if (is_small ? !read_small_file(file, file_bytes) : !map_file(file, file_bytes)) return false;
    file->whole = text_from(file->whole, (uint64_t)start < file_bytes ? (size_t)start : file_bytes);
    source->read = read_whole;
    source->seek = seek_whole;
    if (file->map.bytes_count) {
        source->release = release_pages;
        source->make_ahead = make_pages_ahead;
    }
    source->total_bytes = file->whole.bytes_count;
    source->window_bytes = WINDOW_BYTES;
    return true;
}

static bool open_file(struct input_file *file, const char *path, struct input_source *source) {
    file->descriptor = file->is_standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    if (file->descriptor < 0 || fstat(file->descriptor, &status) != 0) {
        failure_set(file->failure, FAILURE_IO, "%s: cannot be opened: %s", file->name, strerror(errno));
        return false;
    }
    if (S_ISDIR(status.st_mode)) {
        failure_set(file->failure, FAILURE_IO, "%s: is a folder; name a file in it", file->name);
        file->failure->is_of_many = true;
        return false;
    }
    file->status = status;
    if (S_ISREG(status.st_mode)) source->status = &file->status;
    if (take_whole(file, &status, source)) {
        /* A recording may have hundreds of files, which are read at a time. */
        close_descriptor(file);
        return true;
    }
    if (failure_is_set(file->failure)) return false;
    memory_free(file->buffer);
    file->buffer = memory_allocate(file->failure, READ_BYTES);
    source->read = read_block;
    return file->buffer != NULL;
}

/* Returns a file that is not open yet; NULL if memory ran out (latched). */
static struct input_file *create(struct input_source *source, const char *name, struct failure *failure) {
    struct input_file *file = failure_check_memory(failure, calloc(1, sizeof *file));
    if (!file) return NULL;
    file->failure = failure;
    file->name = name;
    file->descriptor = -1;
    *source = (struct input_source){.context = file, .close = close_file};
    return file;
}

bool input_file_open(struct input_source *source, const char *path, const char *name, struct failure *failure) {
    struct input_file *file = create(source, name, failure);
    if (!file) return false;
    file->is_standard_input = strcmp(path, "-") == 0;
    if (open_file(file, path, source)) return true;
    close_file(file);
    return false;
}
