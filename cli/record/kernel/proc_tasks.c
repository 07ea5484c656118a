#include "proc_tasks.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "libconvert/base/regular_file.h"
#include "libconvert/symbols/kept_files.h"
#include "readers/code/kernel_list.h"
#include "readers/perf_data/command_field.h"

enum {
    PATH_BYTES = 128,
    NAME_BYTES = 64,
    BUILD_ID_BYTES = 20,
    MISC_SYNTHESIZED = 1 << 13,
};

/* ---- Numbers of processes and threads. ---- */

bool proc_ids_add(struct proc_ids *ids, pid_t id) {
    pid_t *values = realloc(ids->values, (ids->count + 1) * sizeof *values);
    if (!values) return false;
    ids->values = values;
    values[ids->count++] = id;
    return true;
}

bool proc_ids_read(struct proc_ids *ids, const char *path) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    *ids = (struct proc_ids){0};
    while (folder && (entry = readdir(folder))) {
        long id = strtol(entry->d_name, NULL, 10);
        if (id > 0 && !proc_ids_add(ids, (pid_t)id)) break;
    }
    if (folder) closedir(folder);
    return ids->count > 0;
}

void proc_ids_fini(struct proc_ids *ids) { free(ids->values); }

/* Reads the first line of a file. Returns false if there is none. */
static bool read_line(const char *path, char *line, size_t capacity_bytes) {
    FILE *file = fopen(path, "re");
    bool is_good = file && fgets(line, (int)capacity_bytes, file);
    if (is_good) line[strcspn(line, "\n")] = '\0';
    if (file) fclose(file);
    return is_good;
}

/* ---- Command lines. ---- */

/* Reads the arguments, which each end with a NUL. Returns their size without the last NUL; 0 if they are unknown. */
static size_t read_arguments(pid_t pid, char *arguments, size_t capacity_bytes) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    size_t bytes_count = regular_file_start(path, arguments, capacity_bytes).bytes_count;
    while (bytes_count && !arguments[bytes_count - 1]) bytes_count--;
    return bytes_count;
}

size_t proc_command_field(pid_t pid, const char *name, char field[COMMAND_FIELD_BYTES_MAX]) {
    enum { WORD_BYTES = 8 };
    char path[PATH_BYTES], name_now[NAME_BYTES];
    size_t bytes_count = read_arguments(pid, field + COMMAND_FIELD_MARK_BYTES,
                                        COMMAND_FIELD_BYTES_MAX - COMMAND_FIELD_MARK_BYTES - WORD_BYTES);
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    if (!bytes_count || !read_line(path, name_now, sizeof name_now) || strcmp(name, name_now) != 0) return 0;
    memcpy(field, COMMAND_FIELD_MARK, COMMAND_FIELD_MARK_BYTES);
    bytes_count += COMMAND_FIELD_MARK_BYTES;
    do field[bytes_count++] = '\0';
    while (bytes_count % WORD_BYTES);
    return bytes_count;
}

/* ---- Records. ---- */

/* Appends the name of a thread and, for the main thread, the command line of its process. */
static void append_name(struct kernel_stream *stream, pid_t pid, pid_t tid, const char *name, uint64_t time_ns) {
    kernel_stream_begin(stream, PERF_RECORD_COMM, 0);
    kernel_stream_u32(stream, (uint32_t)pid);
    kernel_stream_u32(stream, (uint32_t)tid);
    kernel_stream_name(stream, name);
    char field[COMMAND_FIELD_BYTES_MAX];
    if (pid == tid) kernel_stream_bytes(stream, field, proc_command_field(pid, name, field));
    kernel_stream_end_dated(stream, time_ns);
}

static bool read_name(pid_t pid, pid_t tid, char *name, size_t capacity_bytes) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", pid, tid);
    return read_line(path, name, capacity_bytes);
}

void proc_title_append(struct kernel_stream *stream, pid_t pid, uint64_t time_ns) {
    char name[NAME_BYTES];
    if (read_name(pid, pid, name, sizeof name)) append_name(stream, pid, pid, name, time_ns);
}

static void append_task(struct kernel_stream *stream, pid_t pid, pid_t tid, pid_t parent) {
    char name[NAME_BYTES];
    if (!read_name(pid, tid, name, sizeof name)) return;
    kernel_stream_begin(stream, PERF_RECORD_FORK, MISC_SYNTHESIZED);
    pid_t ids[] = {pid, parent, tid, parent};
    kernel_stream_bytes(stream, ids, sizeof ids);
    kernel_stream_u64(stream, 0);
    kernel_stream_end_dated(stream, 0);
    append_name(stream, pid, tid, name, 0);
}

struct code_mapping {
    struct mapped_file file; /* without a build id */
    uint64_t file_offset;
    bool is_code;
    uint8_t build_id[BUILD_ID_BYTES]; /* the kernel's or a module's */
    uint8_t build_id_bytes;           /* 0: unknown */
};

static void append_mapping(struct kernel_stream *stream, const struct code_mapping *mapping, uint16_t misc) {
    const struct mapped_file *file = &mapping->file;
    misc |= mapping->build_id_bytes ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0;
    misc |= mapping->is_code ? 0 : PERF_RECORD_MISC_MMAP_DATA;
    kernel_stream_begin(stream, PERF_RECORD_MMAP2, misc);
    kernel_stream_u32(stream, (uint32_t)file->pid);
    kernel_stream_u32(stream, (uint32_t)file->pid);
    kernel_stream_u64(stream, file->start);
    kernel_stream_u64(stream, file->end - file->start);
    kernel_stream_u64(stream, mapping->file_offset);
    if (mapping->build_id_bytes) {
        kernel_stream_u32(stream, mapping->build_id_bytes);
        kernel_stream_bytes(stream, mapping->build_id, sizeof mapping->build_id);
    } else {
        kernel_stream_u32(stream, file->major);
        kernel_stream_u32(stream, file->minor);
        kernel_stream_u64(stream, file->inode);
        kernel_stream_u64(stream, 0);
    }
    kernel_stream_u32(stream, mapping->is_code ? PROT_READ | PROT_EXEC : PROT_READ);
    kernel_stream_u32(stream, MAP_PRIVATE);
    kernel_stream_name(stream, file->path);
    kernel_stream_end_dated(stream, 0);
}

/* ---- Processes. ---- */

/* Lines of maps are like "55d0c0de1000-55d0c0de3000 r-xp 00001000 fd:00 1234   /usr/bin/app". */
static bool append_maps(struct kernel_stream *stream, pid_t pid) {
    char path[PATH_BYTES], permissions[8], *line = NULL;
    size_t capacity_bytes = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    if (!file) return errno != EACCES;
    while (getline(&line, &capacity_bytes, file) > 0) {
        struct code_mapping mapping = {.file.pid = pid};
        struct mapped_file *mapped = &mapping.file;
        int name_at = 0;
        line[strcspn(line, "\n")] = '\0';
        int count = sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
                           &mapped->start, &mapped->end, permissions, &mapping.file_offset, &mapped->major,
                           &mapped->minor, &mapped->inode, &name_at);
        mapping.is_code = permissions[2] == 'x';
        /* Mappings that are not code are useful only if they are of files, which have call frame information. */
        if (count < 7 || (!mapping.is_code && line[name_at] != '/')) continue;
        mapped->path = line[name_at] ? line + name_at : "//anon";
        append_mapping(stream, &mapping, PERF_RECORD_MISC_USER);
        if (mapping.is_code) kept_files_take(mapped);
    }
    fclose(file);
    free(line);
    return true;
}

pid_t proc_parent(pid_t pid) {
    char path[PATH_BYTES], line[512];
    int parent;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!read_line(path, line, sizeof line)) return 0;
    const char *name_end = strrchr(line, ')');
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

bool proc_is_elsewhere(pid_t pid) {
    static const char *const kinds[] = {"pid", "mnt"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char path[PATH_BYTES], own_path[PATH_BYTES];
        struct stat its, own;
        snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, kinds[i]);
        snprintf(own_path, sizeof own_path, "/proc/self/ns/%s", kinds[i]);
        if (stat(path, &its) == 0 && stat(own_path, &own) == 0 && its.st_ino != own.st_ino) return true;
    }
    return false;
}

pid_t proc_process_of(pid_t id) {
    char path[PATH_BYTES], bytes[4096];
    int process;
    snprintf(path, sizeof path, "/proc/%d/status", id);
    bytes[regular_file_start(path, bytes, sizeof bytes - 1).bytes_count] = '\0';
    const char *line = strstr(bytes, "\nTgid:");
    return line && sscanf(line, " Tgid: %d", &process) == 1 ? process : id;
}

bool proc_process_append(struct kernel_stream *stream, pid_t pid) {
    char path[PATH_BYTES];
    struct proc_ids threads;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    append_task(stream, pid, pid, proc_parent(pid));
    proc_ids_read(&threads, path);
    for (size_t i = 0; i < threads.count; i++)
        if (threads.values[i] != pid) append_task(stream, pid, threads.values[i], pid);
    proc_ids_fini(&threads);
    return append_maps(stream, pid);
}

/* ---- The kernel. ---- */

/* Reads the build id from the notes of the kernel or of a module. */
static void read_build_id(const char *path, struct code_mapping *mapping) {
    char id[KERNEL_BUILD_ID_BYTES_MAX];
    size_t id_bytes = kernel_build_id_read(path, id);
    if (id_bytes > sizeof mapping->build_id) return;
    memcpy(mapping->build_id, id, id_bytes);
    mapping->build_id_bytes = (uint8_t)id_bytes;
}

static void append_module(struct kernel_stream *stream, const char *line) {
    char name[64], quoted[sizeof name + 2], path[PATH_BYTES];
    uint64_t size_bytes;
    struct code_mapping mapping = {.file.pid = -1, .is_code = true, .file.path = quoted};
    if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &size_bytes, &mapping.file.start) != 3 ||
        !mapping.file.start)
        return;
    mapping.file.end = mapping.file.start + size_bytes;
    snprintf(quoted, sizeof quoted, "[%s]", name);
    snprintf(path, sizeof path, "/sys/module/%s/notes/.note.gnu.build-id", name);
    read_build_id(path, &mapping);
    append_mapping(stream, &mapping, PERF_RECORD_MISC_KERNEL);
}

static void append_modules(struct kernel_stream *stream) {
    char *line = NULL;
    size_t capacity_bytes = 0;
    FILE *file = fopen("/proc/modules", "re");
    while (file && getline(&line, &capacity_bytes, file) > 0) append_module(stream, line);
    if (file) fclose(file);
    free(line);
}

bool proc_kernel_append(struct kernel_stream *stream) {
    struct code_mapping mapping = {.file.pid = -1, .is_code = true, .file.path = "[kernel.kallsyms]_text"};
    struct text list = kernel_list_keep();
    mapping.file.start = kernel_list_address(list, TEXT("_text"));
    mapping.file.end = kernel_list_address(list, TEXT("_etext"));
    if (!mapping.file.start || mapping.file.end <= mapping.file.start) return false;
    mapping.file_offset = mapping.file.start;
    read_build_id("/sys/kernel/notes", &mapping);
    append_mapping(stream, &mapping, PERF_RECORD_MISC_KERNEL);
    append_modules(stream);
    return true;
}
