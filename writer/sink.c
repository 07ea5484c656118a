#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gzip_writer.h"
#include "libconvert/base/file_stamp.h"
#include "libconvert/base/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    VECTOR_COUNT_MAX = 64, /* chunks that one system call writes */
    GZIP_LEVEL = 4,        /* bench/README.md compares levels */
    TEMP_SLOT_COUNT = 64,
    TEMP_NAME_COUNT = 100,
    /* Most bytes of the target's name in the temporary name. Leaves room in NAME_MAX for the pid and the rest. */
    TEMP_BASE_BYTES_MAX = 200,
    LINK_COUNT_MAX = 40,
    CREATE_MODE = 0666,
    FOLDER_MODE = 0777,
    PERMISSION_BITS = 0777
};

/* The temporary files that are being written. They are global because a signal handler must find them. Each sink owns
 * one slot while it writes. If all slots are taken, a sink writes nevertheless, and a signal leaves its temporary file
 * behind. */
enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_ARMED };

struct temp_slot {
    _Atomic(int) state; /* enum slot_state; the path may be read only while this is SLOT_ARMED */
    char path[PATH_MAX];
};

static struct temp_slot temp_slots[TEMP_SLOT_COUNT];
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler must be able to read a slot's state");

void sink_abandon(void) {
    int saved_errno = errno;
    for (size_t i = 0; i < TEMP_SLOT_COUNT; i++)
        if (atomic_load(&temp_slots[i].state) == SLOT_ARMED) unlink(temp_slots[i].path);
    errno = saved_errno;
}

static struct temp_slot *arm_slot(const char *path) {
    size_t path_bytes = strlen(path) + 1;
    if (path_bytes > PATH_MAX) return NULL;
    for (size_t i = 0; i < TEMP_SLOT_COUNT; i++) {
        struct temp_slot *slot = &temp_slots[i];
        int expected = SLOT_FREE;
        if (!atomic_compare_exchange_strong(&slot->state, &expected, SLOT_TAKEN)) continue;
        memcpy(slot->path, path, path_bytes);
        atomic_store(&slot->state, SLOT_ARMED);
        return slot;
    }
    return NULL;
}

static void disarm_slot(struct temp_slot *slot) {
    if (slot) atomic_store(&slot->state, SLOT_FREE);
}

/* One output that is being written. */
struct sink {
    struct failure *failure; /* borrowed */
    const char *name;        /* borrowed; for messages */
    char *target;            /* owned; the file after all links are followed; NULL if `fd` is the output itself */
    char *temp;              /* owned; set once the file exists; otherwise NULL */
    struct temp_slot *slot;  /* NULL if none was free */
    int fd;                  /* -1 while not open */
    const struct sink_batch *batch; /* borrowed; may be NULL */
    struct gzip_writer *gzip;       /* owned; NULL: the output is not compressed */
    bool is_measuring;              /* nothing is written */
    uint64_t written_bytes;
    XXH3_state_t hash;
    uint64_t stamp;
};

static void latch_error(struct sink *sink, const char *action, int error) {
    if (error == ENOMEM) {
        failure_set_memory(sink->failure);
        return;
    }
    char buffer[128];
    failure_set(sink->failure, FAILURE_IO, "cannot %s %s: %s", action, sink->name,
                strerror_r(error, buffer, sizeof buffer));
}

/* ---- Opening. ---- */

/* Applies Linux's rule for sticky folders that everybody may write to, such as /tmp: a link is followed if it belongs
 * to the caller or to the folder's owner. Any other link could have been planted to make the caller replace a file. The
 * kernel does not apply the rule here, because links are read and not followed. The rule also holds where the kernel's
 * own is switched off. */
static bool may_follow(const struct stat *folder, const struct stat *link) {
    bool is_shared = (folder->st_mode & S_ISVTX) && (folder->st_mode & S_IWOTH);
    return !is_shared || link->st_uid == geteuid() || link->st_uid == folder->st_uid;
}

enum link_outcome { LINK_IS_NONE, LINK_IS_READ, LINK_FAILED };

/* Reads the link `base` of the folder into *points_to, which has room for PATH_MAX bytes. Returns LINK_IS_NONE also if
 * nothing is there, and LINK_FAILED with errno set. All system calls use the same two descriptors, so nobody can
 * replace the link in between. */
static enum link_outcome read_link_at(int folder, const char *base, char *points_to) {
    int link = openat(folder, base, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (link < 0) return errno == ENOENT ? LINK_IS_NONE : LINK_FAILED;
    struct stat folder_status, link_status;
    enum link_outcome outcome = LINK_FAILED;
    if (fstat(folder, &folder_status) == 0 && fstat(link, &link_status) == 0) {
        if (!S_ISLNK(link_status.st_mode)) {
            outcome = LINK_IS_NONE;
        } else if (!may_follow(&folder_status, &link_status)) {
            errno = EACCES;
        } else {
            ssize_t bytes_count = readlinkat(link, "", points_to, PATH_MAX - 1);
            if (bytes_count >= 0) {
                points_to[bytes_count] = '\0';
                outcome = LINK_IS_READ;
            }
        }
    }
    int saved_errno = errno;
    close(link);
    errno = saved_errno;
    return outcome;
}

/* If *path is a link, replaces *path, which is owned, by what the link points to. */
static enum link_outcome follow_link(char **path) {
    struct text whole = text_of(*path), base = text_base_name(whole);
    if (!base.bytes_count) return LINK_IS_NONE;
    int folder_bytes = (int)(whole.bytes_count - base.bytes_count);
    char *folder_path = folder_bytes ? strndup(*path, (size_t)folder_bytes) : strdup(".");
    if (!folder_path) return LINK_FAILED;
    int folder = open(folder_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(folder_path);
    if (folder < 0) return errno == ENOENT ? LINK_IS_NONE : LINK_FAILED;
    char points_to[PATH_MAX];
    enum link_outcome outcome = read_link_at(folder, base.bytes, points_to);
    int saved_errno = errno;
    close(folder);
    errno = saved_errno;
    if (outcome != LINK_IS_READ) return outcome;
    char *next;
    if (asprintf(&next, "%.*s%s", points_to[0] == '/' ? 0 : folder_bytes, *path, points_to) < 0) {
        errno = ENOMEM;
        return LINK_FAILED;
    }
    free(*path);
    *path = next;
    return LINK_IS_READ;
}

/* Returns the file that the path leads to after all links are followed. The file need not exist. The caller owns the
 * result; NULL after a failure (latched). */
static char *resolve_target(struct sink *sink) {
    struct stat status;
    bool is_itself = lstat(sink->name, &status) == 0 ? !S_ISLNK(status.st_mode) : errno == ENOENT;
    char *path = strdup(sink->name);
    if (path && is_itself) return path;
    enum link_outcome outcome = path ? LINK_IS_READ : LINK_FAILED;
    for (int links = 0; outcome == LINK_IS_READ && links <= LINK_COUNT_MAX; links++) outcome = follow_link(&path);
    if (outcome == LINK_IS_NONE) return path;
    latch_error(sink, "write", !path ? ENOMEM : outcome == LINK_IS_READ ? ELOOP : errno);
    free(path);
    return NULL;
}

/* Returns the n-th name to try for the temporary file. The caller owns it; NULL if memory ran out. */
static char *temp_name(const struct sink *sink, unsigned n) {
    struct text base = text_base_name(text_of(sink->target));
    struct text folder = {sink->target, (size_t)(base.bytes - sink->target)};
    if (sink->batch) folder = text_of(sink->batch->temp_folder);
    const char *slash = sink->batch ? "/" : "";
    int base_bytes = base.bytes_count < TEMP_BASE_BYTES_MAX ? (int)base.bytes_count : TEMP_BASE_BYTES_MAX;
    char again[16] = "";
    if (n) snprintf(again, sizeof again, "-%u", n);
    char *name;
    int result = asprintf(&name, "%.*s%s.%.*s.%ld%s.tmp", TEXT_ARGS(folder), slash, base_bytes, base.bytes,
                          (long)getpid(), again);
    return result < 0 ? NULL : name;
}

/* Creates the temporary file under the first name that is free. A killed process with the same pid may have left one,
 * and another thread may be writing to the same target. */
static void create_temp(struct sink *sink, mode_t mode) {
    int error = EEXIST;
    for (unsigned n = 0; n < TEMP_NAME_COUNT && error == EEXIST; n++) {
        char *temp = temp_name(sink, n);
        if (!temp) {
            error = ENOMEM;
            break;
        }
        /* The slot is armed before the file exists, so that a signal in between leaves nothing behind. */
        struct temp_slot *slot = arm_slot(temp);
        sink->fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (sink->fd >= 0) {
            sink->temp = temp;
            sink->slot = slot;
            return;
        }
        error = errno;
        disarm_slot(slot);
        free(temp);
    }
    latch_error(sink, "create a file in the folder of", error);
}

/* Prepares to replace an existing regular file. Fails if it is a folder. */
static void open_existing(struct sink *sink, const struct stat *existing) {
    if (S_ISDIR(existing->st_mode)) {
        latch_error(sink, "write", EISDIR);
        return;
    }
    /* Renaming over a file needs no write permission on it, but a file without that permission must stay as it is. */
    if (euidaccess(sink->target, W_OK) != 0) {
        latch_error(sink, "write", errno);
        return;
    }
    /* The file is created without bits that the old file lacks, so it is never more accessible. Then it gets the bits
     * that the umask removed. Some file systems have no permissions to set; that is not a failure. */
    mode_t mode = existing->st_mode & PERMISSION_BITS;
    create_temp(sink, mode);
    if (sink->fd >= 0 && fchmod(sink->fd, mode) != 0 && errno != EPERM && errno != ENOTSUP)
        latch_error(sink, "set the permissions of", errno);
}

/* Creates the folder. If it exists already, mkdir can fail for other reasons than EEXIST, for instance on a read-only
 * file system. */
static bool make_folder(const char *path, struct failure *failure) {
    struct stat existing;
    if (mkdir(path, FOLDER_MODE) == 0 || errno == EEXIST) return true;
    int error = errno;
    if (stat(path, &existing) == 0) return true;
    if (error == ENOMEM)
        failure_set_memory(failure);
    else
        failure_set(failure, FAILURE_IO, "cannot make the folder %s: %s", path, strerror(error));
    return false;
}

bool sink_make_folders(const char *path, struct failure *failure) {
    char *folder = strdup(path);
    bool is_good = folder != NULL;
    if (!folder) failure_set_memory(failure);
    char *slash = folder ? strchr(folder + (*folder == '/'), '/') : NULL;
    for (; slash && is_good; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        is_good = make_folder(folder, failure);
        *slash = '/';
    }
    free(folder);
    return is_good;
}

static void open_file(struct sink *sink) {
    struct stat existing;
    bool exists = stat(sink->name, &existing) == 0;
    if (!exists && errno != ENOENT) {
        latch_error(sink, "write", errno);
        return;
    }
    /* Pipes and devices are opened as they are. Their names under /dev and /proc are links whose targets are no
     * paths. */
    if (exists && !S_ISREG(existing.st_mode) && !S_ISDIR(existing.st_mode)) {
        sink->fd = open(sink->name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        if (sink->fd < 0) latch_error(sink, "open", errno);
        return;
    }
    sink->target = resolve_target(sink);
    if (!sink->target) return;
    if (stat(sink->target, &existing) == 0)
        open_existing(sink, &existing);
    else
        create_temp(sink, CREATE_MODE);
}

/* Opens a duplicate of standard output. Closing the duplicate reports late errors, and the program keeps its standard
 * output. */
static void open_standard_output(struct sink *sink) {
    sink->name = "standard output";
    sink->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (sink->fd < 0) latch_error(sink, "write", errno);
}

/* ---- Checking. ---- */

/* Returns the errno with which the file could not be created or replaced, or 0. In a sticky folder, only the owners of
 * the file and of the folder may replace the file. */
static int error_of_target(const char *target) {
    struct text base = text_base_name(text_of(target));
    char folder[PATH_MAX] = ".";
    struct stat status, folder_status;
    size_t folder_bytes = (size_t)(base.bytes - target);
    if (folder_bytes && !text_copy((struct text){target, folder_bytes}, folder, sizeof folder)) return ENAMETOOLONG;
    bool exists = stat(target, &status) == 0;
    if (exists && euidaccess(target, W_OK) != 0) return errno;
    if (stat(folder, &folder_status) != 0 || euidaccess(folder, W_OK | X_OK) != 0) return errno;
    uid_t user = geteuid();
    bool is_sticky = folder_status.st_mode & S_ISVTX && user != 0 && user != folder_status.st_uid;
    return exists && is_sticky && user != status.st_uid ? EPERM : 0;
}

/* If standard output was closed, the program has opened it for reading only: see main.c. */
static int error_of_standard_output(void) {
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0) return errno;
    return (flags & O_ACCMODE) == O_RDONLY ? EBADF : 0;
}

void sink_check(const char *path, struct failure *failure) {
    bool is_standard = strcmp(path, "-") == 0;
    struct sink sink = {.failure = failure, .name = is_standard ? "standard output" : path, .fd = -1};
    struct stat found;
    int error = 0;
    bool exists = !is_standard && stat(path, &found) == 0;
    if (is_standard)
        error = error_of_standard_output();
    else if (!exists && errno != ENOENT)
        error = errno;
    else if (exists && S_ISDIR(found.st_mode))
        error = EISDIR;
    else if (exists && !S_ISREG(found.st_mode))
        error = euidaccess(path, W_OK) != 0 ? errno : 0;
    else if ((sink.target = resolve_target(&sink)))
        error = error_of_target(sink.target);
    free(sink.target);
    if (error) latch_error(&sink, "write", error);
}

/* ---- Writing. ---- */

static bool wait_until_writable(int fd) {
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    return poll(&wanted, 1, -1) >= 0 || errno == EINTR;
}

/* Only a batch needs the hash: it compares its files with what was written. */
static void hash_written(struct sink *sink, const void *bytes, size_t bytes_count) {
    if (sink->batch) XXH3_64bits_update(&sink->hash, bytes, bytes_count);
}

/* Starts to write the last bytes to the disk, so that the flush at the end has little left to do. Pipes and some file
 * systems cannot do this; that is not a failure. */
static void start_flush(const struct sink *sink, size_t bytes_count) {
    if (sink->batch) return;
    sync_file_range(sink->fd, (off_t)(sink->written_bytes - bytes_count), (off_t)bytes_count, SYNC_FILE_RANGE_WRITE);
}

/* Writes all bytes of the vectors, none of which may be empty, however many system calls it takes. Consumes the
 * vectors. Returns false after a failure (latched). */
static bool write_vectors(struct sink *sink, struct iovec *vectors, int count) {
    for (; sink->is_measuring && count; count--) sink->written_bytes += vectors++->iov_len;
    while (count) {
        ssize_t result = writev(sink->fd, vectors, count);
        if (result < 0 && (errno == EINTR || (errno == EAGAIN && wait_until_writable(sink->fd)))) continue;
        if (result <= 0) {
            latch_error(sink, "write", result < 0 ? errno : EIO);
            return false;
        }
        size_t written = (size_t)result;
        sink->written_bytes += written;
        start_flush(sink, written);
        for (; count && written >= vectors->iov_len; vectors++, count--) {
            hash_written(sink, vectors->iov_base, vectors->iov_len);
            written -= vectors->iov_len;
        }
        if (!count) break;
        hash_written(sink, vectors->iov_base, written);
        vectors->iov_base = (char *)vectors->iov_base + written;
        vectors->iov_len -= written;
    }
    return true;
}

static void write_plain(struct sink *sink, struct chunk_list *chunks, struct progress progress) {
    uint64_t total_bytes = chunks->total_bytes;
    while (chunks->first && !failure_is_set(sink->failure)) {
        struct iovec vectors[VECTOR_COUNT_MAX];
        int vector_count = 0;
        size_t chunk_count = 0;
        for (struct chunk *chunk = chunks->first; chunk && chunk_count < VECTOR_COUNT_MAX; chunk = chunk->next) {
            if (chunk->used_bytes) vectors[vector_count++] = (struct iovec){chunk->bytes, chunk->used_bytes};
            chunk_count++;
        }
        if (!write_vectors(sink, vectors, vector_count)) return;
        for (; chunk_count; chunk_count--) chunk_list_drop_first(chunks);
        progress_report(progress, total_bytes - chunks->total_bytes, total_bytes);
    }
}

/* A gzip_output. */
static void write_deflated(void *context, struct text bytes) {
    struct iovec vector = {(void *)(uintptr_t)bytes.bytes, bytes.bytes_count};
    write_vectors(context, &vector, 1);
}

static void write_gzip(struct sink *sink, struct chunk_list *chunks, struct progress progress) {
    uint64_t total_bytes = chunks->total_bytes;
    while (chunks->first && !failure_is_set(sink->failure)) {
        gzip_writer_append(sink->gzip, (struct text){chunks->first->bytes, chunks->first->used_bytes});
        chunk_list_drop_first(chunks);
        progress_report(progress, total_bytes - chunks->total_bytes, total_bytes);
    }
}

static void end_gzip(struct sink *sink) {
    if (sink->gzip) gzip_writer_finish(sink->gzip);
    gzip_writer_destroy(sink->gzip);
    sink->gzip = NULL;
}

/* ---- Finishing. ---- */

/* Pipes, terminals and some file systems cannot be flushed and report one of these errors. */
static bool flush_is_unsupported(int error) { return error == EINVAL || error == EROFS || error == ENOTSUP; }

static void enter_gate(struct sink *sink, struct sink_gate *gate) {
    pthread_mutex_lock(&gate->mutex);
    bool is_open = !gate->is_closed;
    gate->inside_count += is_open;
    pthread_mutex_unlock(&gate->mutex);
    *sink->batch->is_inside = is_open;
    if (!is_open) failure_set(sink->failure, FAILURE_IO, "cannot write %s: interrupted", sink->name);
}

void sink_gate_leave(struct sink_gate *gate) {
    pthread_mutex_lock(&gate->mutex);
    gate->inside_count--;
    pthread_cond_signal(&gate->has_left);
    pthread_mutex_unlock(&gate->mutex);
}

void sink_gate_close(struct sink_gate *gate) {
    pthread_mutex_lock(&gate->mutex);
    gate->is_closed = true;
    while (gate->inside_count) pthread_cond_wait(&gate->has_left, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
}

/* Returns the stamp of the renamed file, or 0 if somebody has written to it since. Renaming changes ctime, so the stamp
 * is taken afterwards. It is 0 too if the file system stores whole seconds, since a later change could then go
 * unnoticed. */
static uint64_t stamp_at(const char *target, const struct stat *written) {
    struct stat found;
    if (stat(target, &found) != 0) return 0;
    bool is_same = found.st_ino == written->st_ino && found.st_size == written->st_size &&
                   found.st_mtim.tv_sec == written->st_mtim.tv_sec && found.st_mtim.tv_nsec == written->st_mtim.tv_nsec;
    bool is_exact = found.st_ctim.tv_nsec != 0;
    return is_same && is_exact ? file_stamp(&found) : 0;
}

/* Renames the temporary file to the target. The first file of a batch in a folder creates the folder. */
static bool put_in_place(const struct sink *sink) {
    if (rename(sink->temp, sink->target) == 0) return true;
    if (!sink->batch || (errno != ENOENT && errno != ENOTDIR)) return false;
    return sink_make_folders(sink->target, sink->failure) && rename(sink->temp, sink->target) == 0;
}

static void close_output(struct sink *sink) {
    if (sink->fd < 0) return;
    bool is_flushed = !failure_is_set(sink->failure) && !sink->batch;
    if (is_flushed && fsync(sink->fd) != 0 && !flush_is_unsupported(errno)) latch_error(sink, "write", errno);
    if (close(sink->fd) != 0 && errno != EINTR) latch_error(sink, "write", errno);
}

/* Makes the file appear or, after a failure, removes it. */
static void commit_or_remove(struct sink *sink) {
    bool has_gate = sink->batch && sink->batch->gate;
    if (!sink->temp) return;
    if (has_gate && !failure_is_set(sink->failure)) enter_gate(sink, sink->batch->gate);
    if (!failure_is_set(sink->failure) && !put_in_place(sink)) latch_error(sink, "replace", errno);
    if (failure_is_set(sink->failure)) unlink(sink->temp);
}

static void finish(struct sink *sink) {
    struct stat written;
    end_gzip(sink);
    bool has_stamp = sink->batch && sink->temp && fstat(sink->fd, &written) == 0;
    close_output(sink);
    commit_or_remove(sink);
    if (has_stamp && !failure_is_set(sink->failure)) sink->stamp = stamp_at(sink->target, &written);
    disarm_slot(sink->slot);
    free(sink->temp);
    free(sink->target);
}

/* ---- The whole output. ---- */

static bool is_standard_output(const char *path) { return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0; }

bool sink_hides_output(const char *path) {
    struct stat existing;
    return !is_standard_output(path) && (stat(path, &existing) != 0 || S_ISREG(existing.st_mode));
}

/* Returns NULL if memory ran out (latched). */
static struct sink *create(const char *path, const struct sink_batch *batch, struct failure *failure) {
    /* malloc does not guarantee the alignment of the hash state. */
    struct sink *sink = failure_check_memory(failure, aligned_alloc(_Alignof(struct sink), sizeof *sink));
    if (!sink) return NULL;
    memset(sink, 0, sizeof *sink);
    sink->failure = failure;
    sink->name = path;
    sink->fd = -1;
    sink->batch = batch;
    XXH3_64bits_reset(&sink->hash);
    return sink;
}

static void compress(struct sink *sink, unsigned thread_count) {
    if (!failure_is_set(sink->failure) && text_ends_with(text_of(sink->name), TEXT(".gz")))
        sink->gzip = gzip_writer_create(GZIP_LEVEL, thread_count, write_deflated, sink, sink->failure);
}

struct sink *sink_open(const char *path, const struct sink_batch *batch, unsigned thread_count,
                       struct failure *failure) {
    struct sink *sink = create(path, batch, failure);
    /* The output of a failed conversion must not appear. */
    if (failure_is_set(failure)) return sink;
    if (is_standard_output(path)) {
        open_standard_output(sink);
    } else {
        open_file(sink);
        compress(sink, thread_count);
    }
    return sink;
}

struct sink *sink_open_measuring(const char *path, unsigned thread_count, struct failure *failure) {
    struct sink *sink = create(path ? path : "", NULL, failure);
    if (!sink) return NULL;
    sink->is_measuring = true;
    compress(sink, thread_count);
    return sink;
}

void sink_put(struct sink *sink, struct chunk_list *chunks, struct progress progress) {
    if (sink && !failure_is_set(sink->failure)) {
        if (sink->gzip)
            write_gzip(sink, chunks, progress);
        else
            write_plain(sink, chunks, progress);
    }
    chunk_list_fini(chunks);
}

bool sink_close(struct sink *sink, struct sink_written *written) {
    *written = (struct sink_written){0};
    if (!sink) return false;
    finish(sink);
    uint64_t xxh3 = sink->batch ? XXH3_64bits_digest(&sink->hash) : 0;
    *written = (struct sink_written){sink->written_bytes, xxh3, sink->stamp};
    bool is_good = !failure_is_set(sink->failure);
    free(sink);
    return is_good;
}

bool sink_write(struct chunk_list *chunks, const char *path, struct failure *failure) {
    struct sink_written written;
    struct sink *sink = sink_open(path, NULL, 1, failure);
    sink_put(sink, chunks, (struct progress){0});
    return sink_close(sink, &written);
}
