#include "own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* System calls that older headers lack. Their numbers are the same on all machines but alpha. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#define TASK_FOLDER "/proc/self/task"

enum {
    CLOSE_RANGE_UNSHARE_FLAG = 1 << 1,
    /* Kept files get high numbers. Under a low RLIMIT_NOFILE that fails, and low numbers are too few to keep. */
    KEPT_NUMBER_MIN = 64,
};

/* The number of the thread's own table; 0: the thread shares the program's. */
static __thread uint32_t own_table;
static __thread int task_folder = -1;
/* /proc has the numbers of another pid namespace. */
static bool is_foreign;
/* A forked child continues to count, so its tables have other numbers than those its parent had before. */
static uint32_t last_table;

bool own_files_are_private(void) { return own_table != 0; }

/* ---- System calls. ---- */

static int open_at(int folder, const char *path, int flags) {
    return (int)syscall(SYS_openat, folder, path, flags | O_RDONLY | O_CLOEXEC, 0);
}

static void close_file(int file) {
    int saved_errno = errno;
    syscall(SYS_close, file);
    errno = saved_errno;
}

#if __SIZEOF_POINTER__ == 8
ssize_t own_file_read_at(int file, void *bytes, size_t bytes_count, uint64_t offset) {
    return syscall(SYS_pread64, file, bytes, bytes_count, offset);
}
#else
ssize_t own_file_read_at(int file, void *bytes, size_t bytes_count, uint64_t offset) {
    return pread(file, bytes, bytes_count, (off_t)offset);
}
#endif

static int move_to(int file, int number_min) {
#if defined(SYS_fcntl)
    return (int)syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, number_min);
#else
    return fcntl(file, F_DUPFD_CLOEXEC, number_min);
#endif
}

uint32_t own_folder_link_count(int folder) {
    struct statx status;
    bool is_known = syscall(SYS_statx, folder, "", AT_EMPTY_PATH, STATX_NLINK, &status) == 0;
    return is_known ? status.stx_nlink : 0;
}

/* ---- The table. ---- */

static bool close_range_of(unsigned first, unsigned last, unsigned flags) {
    return first > last || syscall(SYS_close_range, first, last, flags) == 0;
}

static bool unshare_by_range(int kept) {
    if (kept < 0) return close_range_of(0, UINT_MAX, CLOSE_RANGE_UNSHARE_FLAG);
    unsigned number = (unsigned)kept;
    return close_range_of(number + 1, UINT_MAX, CLOSE_RANGE_UNSHARE_FLAG) && close_range_of(0, number - 1, 0);
}

struct directory_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes_count;
    unsigned char type;
    char name[];
};

/* readdir would allocate memory, which would be counted as the program's. */
void own_folder_each(int folder, void (*visit)(const char *name, void *context), void *context) {
    _Alignas(8) char entries[4096];
    long bytes_count;
    syscall(SYS_lseek, folder, 0, SEEK_SET);
    while ((bytes_count = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
        for (long at = 0; at < bytes_count;) {
            const struct directory_entry *entry = (const void *)(entries + at);
            visit(entry->name, context);
            at += entry->bytes_count;
        }
    }
}

static void close_other(const char *name, void *kept) {
    const int *files = kept;
    int number = *name == '.' ? -1 : atoi(name);
    if (number >= 0 && number != files[0] && number != files[1]) close_file(number);
}

/* For kernels before Linux 5.9. */
static bool unshare_by_list(int trace_file) {
    if (unshare(CLONE_FILES) != 0) return false;
    int kept[] = {trace_file, open_at(AT_FDCWD, "/proc/thread-self/fd", O_DIRECTORY)};
    if (kept[1] < 0) return true;
    own_folder_each(kept[1], close_other, kept);
    close_file(kept[1]);
    return true;
}

/* Moves a descriptor to a high number. If there is none, the descriptor keeps its number. */
static int raise_number(int file) {
    int high = file >= 0 ? move_to(file, KEPT_NUMBER_MIN) : -1;
    if (high < 0) return file;
    close_file(file);
    return high;
}

/* The thread sanitizer takes equal numbers in two tables for one descriptor, and reports a race. */
#if defined(__SANITIZE_THREAD__)
#define HAS_ONE_TABLE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_ONE_TABLE 1
#endif
#endif
#ifndef HAS_ONE_TABLE
#define HAS_ONE_TABLE 0
#endif

static bool unshare_table(int trace_file) {
    return !HAS_ONE_TABLE && (unshare_by_range(trace_file) || (errno == ENOSYS && unshare_by_list(trace_file)));
}

bool own_files_begin(int trace_file) {
    char number[16] = "";
    own_table = 0;
    task_folder = -1;
    is_foreign = readlink("/proc/self", number, sizeof number - 1) > 0 && atol(number) != getpid();
    if (!unshare_table(trace_file)) return false;
    own_table = __atomic_add_fetch(&last_table, 1, __ATOMIC_ACQ_REL);
    task_folder = raise_number(open_at(AT_FDCWD, TASK_FOLDER, O_DIRECTORY));
    return true;
}

bool own_files_begin_at_once(void) { return close_range_of(UINT_MAX, UINT_MAX, 0); }

/* ---- Files. ---- */

bool own_file_is_kept(const struct own_file *own) { return own_table && own->table == own_table; }

static int keep(struct own_file *own, int file) {
    if (file < 0 || !own_table) return file;
    int high = raise_number(file);
    if (high != file) *own = (struct own_file){.table = own_table, .file = high};
    return high;
}

static int open_file(const char *path) {
    char absolute[sizeof TASK_FOLDER + OWN_FILE_PATH_BYTES];
    if (task_folder >= 0) return open_at(task_folder, path, 0);
    snprintf(absolute, sizeof absolute, TASK_FOLDER "/%s", path);
    return open_at(AT_FDCWD, absolute, 0);
}

int own_file_open(struct own_file *own, const char *path) {
    return own_file_is_kept(own) ? own->file : keep(own, open_file(path));
}

int own_file_open_at(struct own_file *own, const char *absolute_path) {
    return own_file_is_kept(own) ? own->file : keep(own, open_at(AT_FDCWD, absolute_path, 0));
}

void own_file_release(const struct own_file *own, int file) {
    if (file >= 0 && !(own && own_file_is_kept(own))) close_file(file);
}

void own_file_close(struct own_file *own) {
    if (!own_file_is_kept(own)) return;
    close_file(own->file);
    own->table = 0;
}

/* The list of a thread's robust mutexes goes away when the thread ends. */
static bool runs(long tid) {
    void *list = NULL;
    size_t bytes_count;
    return syscall(SYS_get_robust_list, tid, &list, &bytes_count) == 0 && list;
}

void own_file_of_thread(char path[OWN_FILE_PATH_BYTES], uint32_t tid, const char *name) {
    if (is_foreign)
        snprintf(path, OWN_FILE_PATH_BYTES, "%u/%s", tid, name);
    else
        snprintf(path, OWN_FILE_PATH_BYTES, "../../%u/task/%u/%s", tid, tid, name);
}

void own_file_of_process(char path[OWN_FILE_PATH_BYTES], const char *name) {
    long first_tid = getpid();
    own_file_of_thread(path, (uint32_t)(runs(first_tid) ? first_tid : syscall(SYS_gettid)), name);
}

static size_t read_text(int file, char *text, size_t bytes_max) {
    ssize_t count = file >= 0 ? own_file_read_at(file, text, bytes_max - 1, 0) : -1;
    text[count > 0 ? count : 0] = '\0';
    return count > 0 ? (size_t)count : 0;
}

size_t own_file_read(struct own_file *own, const char *path, char *text, size_t bytes_max) {
    int file = own ? own_file_open(own, path) : open_file(path);
    size_t count = read_text(file, text, bytes_max);
    own_file_release(own, file);
    return count;
}

/* ---- Standard error. ---- */

bool own_files_report(const struct iovec *parts, int count) {
    if (!own_table) return false;
    int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
    int file = process >= 0 ? (int)syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0) : -1;
    if (process >= 0) close_file(process);
    if (file < 0) return true;
    syscall(SYS_writev, file, parts, count);
    close_file(file);
    return true;
}
