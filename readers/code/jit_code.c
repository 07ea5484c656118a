#include "jit_code.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit_records.h"
#include "libconvert/base/cursor.h"
#include "libconvert/symbols/kept_files.h"
#include "libconvert/symbols/sysroot.h"

/* A file that may be read about the code of a process. */
struct jit_file {
    string_id path;
    bool is_dump;  /* false: perf map */
    bool is_named; /* by the user */
    bool is_read;
    struct code_history history; /* history of generated code; its times are those of time_order */
    uint32_t next_code;          /* rows of its code in jit.codes that is not valid yet at the time of jit_advance */
    uint32_t end_code;
    uint32_t next; /* row of the process's next file; ID_NONE for the last */
};

struct known_process {
    struct jit_process process; /* as it was last described */
    uint32_t parent;            /* row of the process whose memory it has had since its fork; ID_NONE: none */
    bool is_searched;           /* its files have been looked for */
    uint32_t first_file;        /* rows of jit.files: its perf map, then its jitdumps. ID_NONE: it has none */
    uint32_t last_file;
};

/* Keys are compared bytewise, so the structs must have no padding. */

struct process_key {
    int64_t pid;
    uint64_t serial;
};

struct offer {
    uint32_t process;
    string_id path;
};

/* A file may have many paths. */
struct file_key {
    uint64_t process;
    uint64_t device;
    uint64_t inode;
};

/* Larger files are not read. A perf map of this size has about ten million lines. */
static const uint64_t FILE_BYTES_MAX = UINT64_C(1) << 30;

void jit_init(struct jit *jit, const struct jit_policy *policy, struct failure *failure) {
    *jit = (struct jit){.failure = failure, .policy = *policy, .next_time_ns = INT64_MAX};
    if (!jit->policy.map_folder) jit->policy.map_folder = "/tmp";
    strings_init(&jit->paths, failure);
    arena_init(&jit->texts, failure);
    code_spaces_init(&jit->spaces, failure);
    column_init(&jit->codes, sizeof(struct jit_code), failure);
    column_init(&jit->files, sizeof(struct jit_file), failure);
    row_table_init(&jit->offers, sizeof(struct offer), failure);
    row_table_init(&jit->file_keys, sizeof(struct file_key), failure);
    value_table_init(&jit->processes, sizeof(struct process_key), sizeof(struct known_process), failure);
}

static struct jit_file *file_at(const struct jit *jit, uint32_t row) { return column_at(&jit->files, row); }

static struct known_process *process_at(const struct jit *jit, uint32_t row) {
    return value_table_at(&jit->processes, row);
}

void jit_fini(struct jit *jit) {
    for (uint32_t i = 0; i < jit->files.count; i++) code_history_fini(&file_at(jit, i)->history);
    strings_fini(&jit->paths);
    arena_fini(&jit->texts);
    code_spaces_fini(&jit->spaces);
    COLUMNS_FINI(&jit->codes, &jit->files);
    row_table_fini(&jit->offers);
    row_table_fini(&jit->file_keys);
    value_table_fini(&jit->processes);
}

bool jit_is_dump(struct text path) {
    static const struct text start = TEXT("jit-"), end = TEXT(".dump");
    struct text name = text_base_name(path);
    if (!text_starts_with(name, start) || !text_ends_with(name, end)) return false;
    if (name.bytes_count <= start.bytes_count + end.bytes_count) return false;
    for (size_t i = start.bytes_count; i < name.bytes_count - end.bytes_count; i++)
        if (!cursor_is_digit(name.bytes[i])) return false;
    return true;
}

/* ---- Which files may be read. ---- */

static bool is_trusted(const struct jit *jit, uid_t owner) {
    return owner == 0 || owner == geteuid() || (jit->policy.has_owner && owner == jit->policy.owner);
}

static bool refuse(struct jit *jit, enum jit_note note) {
    jit->notes[note]++;
    return false;
}

/* Another process with the same pid wrote a file that was changed at another time. */
static bool is_of_process(const struct jit_process *process, const struct stat *status) {
    int64_t changed_ns;
    bool is_beyond = __builtin_mul_overflow(status->st_mtim.tv_sec, INT64_C(1000000000), &changed_ns) ||
                     __builtin_add_overflow(changed_ns, status->st_mtim.tv_nsec, &changed_ns);
    if (is_beyond) changed_ns = status->st_mtim.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return changed_ns >= process->changed_first_ns && changed_ns <= process->changed_last_ns;
}

static bool is_readable(struct jit *jit, const struct jit_process *process, const struct stat *link,
                        const struct stat *status) {
    if (process && !is_of_process(process, status)) return false;
    if (process && !is_trusted(jit, link->st_uid)) return refuse(jit, JIT_NOTE_OWNER);
    if (!S_ISREG(status->st_mode)) return refuse(jit, JIT_NOTE_KIND);
    if (process && !is_trusted(jit, status->st_uid)) return refuse(jit, JIT_NOTE_OWNER);
    return (uint64_t)status->st_size <= FILE_BYTES_MAX || refuse(jit, JIT_NOTE_SIZE);
}

/* Opens the file if it may be read, and returns its descriptor; -1 if not. Anybody may write into /tmp, and a recording
 * may name any file as a jitdump, so the owner decides. The owner of a symbolic link must be trusted, too, except below
 * the sysroot, which links do not leave. If a FIFO or a device is in the file's place, opening it must neither block
 * nor change anything. A file that the user has named is that of no process. A jitdump that was kept while its process
 * was recorded is that of the process, which may have another root or /tmp. */
static int open_file(struct jit *jit, const struct jit_process *process, const char *path, struct stat *status) {
    char real_path[PATH_MAX], kept_path[KEPT_PATH_BYTES];
    struct stat link = {.st_uid = 0};
    int descriptor = jit->policy.sysroot && process ? sysroot_open(jit->policy.sysroot, path, real_path) : -1;
    if (descriptor < 0 && process && kept_files_find(text_of(path), kept_path))
        descriptor = open(kept_path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        if (lstat(path, &link) != 0) return -1;
        if (!S_ISLNK(link.st_mode)) link.st_uid = 0;
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    }
    if (descriptor < 0) {
        if (errno != ENOENT) refuse(jit, JIT_NOTE_UNUSABLE);
        return -1;
    }
    if (fstat(descriptor, status) == 0 && is_readable(jit, process, &link, status)) return descriptor;
    close(descriptor);
    return -1;
}

static bool make_path(char path[PATH_MAX], struct text text) {
    return text_find(text, '\0') == text.bytes_count && text_copy(text, path, PATH_MAX);
}

/* ---- The files of processes. ---- */

/* Returns the row of the process; ID_NONE if no files are opened, or if memory ran out (latched). */
static uint32_t row_of(struct jit *jit, const struct jit_process *process) {
    static const struct known_process unknown = {.parent = ID_NONE, .first_file = ID_NONE, .last_file = ID_NONE};
    const struct process_key key = {process->pid, process->serial};
    if (!jit->policy.opens_files && !jit->policy.map_count) return ID_NONE;
    uint32_t row = value_table_number(&jit->processes, &key, &unknown);
    if (row != ID_NONE) process_at(jit, row)->process = *process;
    return row;
}

void jit_describe(struct jit *jit, const struct jit_process *process) { row_of(jit, process); }

/* Adds the file to those of the process in that row if it is there and may be read. */
static void look_for(struct jit *jit, uint32_t owner_row, struct text text, struct jit_file kind) {
    char path[PATH_MAX];
    struct stat status;
    struct known_process *owner = process_at(jit, owner_row);
    struct jit_process with_any_end = owner->process;
    with_any_end.changed_last_ns = INT64_MAX;
    const struct jit_process *writer = kind.is_named ? NULL : &with_any_end;
    int descriptor = make_path(path, text) ? open_file(jit, writer, path, &status) : -1;
    if (descriptor < 0) return;
    close(descriptor);
    const struct file_key key = {owner_row, status.st_dev, status.st_ino};
    uint32_t row = jit->files.count;
    if (row_table_intern(&jit->file_keys, &key) != row) return;
    struct jit_file *file = column_push(&jit->files);
    if (!file) return;
    *file = kind;
    file->path = strings_intern(&jit->paths, text);
    file->next = ID_NONE;
    code_history_init(&file->history, jit->failure);
    if (owner->first_file == ID_NONE)
        owner->first_file = row;
    else
        file_at(jit, owner->last_file)->next = row;
    owner->last_file = row;
}

/* Returns the perf map that the user names for the process; an empty text if there is none. */
static struct text named_map(const struct jit *jit, const struct jit_process *process) {
    for (size_t i = 0; i < jit->policy.map_count; i++) {
        struct text map = text_of(jit->policy.maps[i]);
        size_t equals = text_find(map, '=');
        int64_t pid;
        if (cursor_parse_id(text_slice(map, 0, equals), &pid) && pid == process->pid) return text_from(map, equals + 1);
    }
    return (struct text){0};
}

/* Returns the path of "START-PID.END" in the folder; an empty text if none is read there. */
static struct text path_in_folder(const struct jit *jit, const struct jit_process *process, const char *start,
                                  const char *end, char path[PATH_MAX]) {
    if (!*jit->policy.map_folder || !jit->policy.opens_files) return (struct text){0};
    int wanted = snprintf(path, PATH_MAX, "%s/%s-%" PRId64 ".%s", jit->policy.map_folder, start, process->pid, end);
    return wanted > 0 && wanted < PATH_MAX ? text_of(path) : (struct text){0};
}

/* Looks once for the perf map, and for a jitdump where Python writes it: a process that ended soon may have mapped it
 * without being seen. */
static void look_for_files(struct jit *jit, uint32_t row) {
    char path[PATH_MAX];
    struct known_process *known = process_at(jit, row);
    const struct jit_process *process = &known->process;
    if (known->is_searched) return;
    known->is_searched = true;
    struct text map = named_map(jit, process);
    struct jit_file kind = {.is_named = map.bytes_count > 0};
    if (!kind.is_named) map = path_in_folder(jit, process, "perf", "map", path);
    if (map.bytes_count) look_for(jit, row, map, kind);
    jit_offer(jit, process, path_in_folder(jit, process, "jit", "dump", path));
}

/* Threads may map the file again, so it may be known. */
void jit_offer(struct jit *jit, const struct jit_process *process, struct text path) {
    if (!jit->policy.opens_files || !text_starts_with(path, TEXT("/")) || !jit_is_dump(path)) return;
    uint32_t row = row_of(jit, process);
    if (row == ID_NONE) return;
    look_for_files(jit, row);
    const struct offer offer = {row, strings_intern(&jit->paths, path)};
    uint32_t known_count = row_table_count(&jit->offers), file_count = jit->files.count;
    if (row_table_intern(&jit->offers, &offer) != known_count) return;
    look_for(jit, row, path, (struct jit_file){.is_dump = true});
    jit->moment += jit->files.count > file_count;
}

/* ---- Forks. ---- */

void jit_fork(struct jit *jit, const struct jit_process *process, const struct jit_process *parent) {
    uint32_t row = row_of(jit, process), parent_row = row_of(jit, parent);
    bool is_possible = row != ID_NONE && parent_row != ID_NONE && parent->serial < process->serial;
    if (is_possible) process_at(jit, row)->parent = parent_row;
}

/* Returns the row of the first file of the process; ID_NONE if there is none. */
static uint32_t first_file(struct jit *jit, uint32_t row) {
    look_for_files(jit, row);
    return process_at(jit, row)->first_file;
}

/* Returns the nearest process with files, of those whose memory this one has had since its fork; ID_NONE: none. Each
 * process on the way becomes the child of that one, so that chains stay short. */
static uint32_t parent_with_files(struct jit *jit, uint32_t row) {
    uint32_t found = process_at(jit, row)->parent;
    while (found != ID_NONE && first_file(jit, found) == ID_NONE) found = process_at(jit, found)->parent;
    while (row != found) {
        uint32_t *parent = &process_at(jit, row)->parent;
        row = *parent;
        *parent = found;
    }
    return found;
}

bool jit_has_files(struct jit *jit, const struct jit_process *process) {
    uint32_t row = row_of(jit, process);
    return row != ID_NONE && (first_file(jit, row) != ID_NONE || parent_with_files(jit, row) != ID_NONE);
}

/* ---- Reading. ---- */

/* A file that is being read. It is read without decompression, whatever its first bytes are. It is not mapped, since
 * its process may still truncate it. */
struct reading {
    struct jit *jit;
    struct jit_file *file;
    struct text file_name;
    int descriptor;
    uint64_t left_bytes; /* not yet read, of the size at opening */
    int64_t time_ns;     /* time of the last record */
    struct failure failure;
    char block[64 * 1024];
};

static struct text next_block(void *context) {
    struct reading *reading = context;
    size_t want_bytes =
        reading->left_bytes < sizeof reading->block ? (size_t)reading->left_bytes : sizeof reading->block;
    ssize_t count;
    do count = read(reading->descriptor, reading->block, want_bytes);
    while (count < 0 && errno == EINTR);
    if (count < 0) failure_set(&reading->failure, FAILURE_IO, "%s", strerror(errno));
    size_t bytes_count = count > 0 ? (size_t)count : 0;
    reading->left_bytes -= bytes_count;
    return (struct text){reading->block, bytes_count};
}

/* Returns the time as a number that is larger for later times. */
static uint64_t time_order(int64_t time_ns) { return (uint64_t)time_ns ^ UINT64_C(1) << 63; }

/* Adds the code of a record. Code that was moved keeps its name. Records in the wrong order get the time of the last.
 */
static void add_code(void *context, const struct jit_record *record) {
    struct reading *reading = context;
    struct jit *jit = reading->jit;
    struct code_history *history = &reading->file->history;
    if (record->time_ns > reading->time_ns) reading->time_ns = record->time_ns;
    struct jit_code added = {0};
    if (record->name.bytes_count) {
        added.name = arena_copy(&jit->texts, record->name);
        added.eh_frame = arena_copy(&jit->texts, record->eh_frame);
    } else {
        const struct code_mapping *moved = code_space_find(&jit->spaces, history->now, record->moved_from);
        if (moved) added = *jit_code_at(jit, moved->library_id);
    }
    added.file_name = reading->file_name;
    added.address = record->address;
    added.size_bytes = record->size_bytes;
    added.time_ns = reading->time_ns;
    if (!column_add(&jit->codes, &added)) return;
    const struct code_mapping mapping = {.address = record->address,
                                         .size_bytes = record->size_bytes,
                                         .library_id = added.name.bytes_count ? jit->codes.count : 0};
    code_history_map(&jit->spaces, history, time_order(reading->time_ns), &mapping);
}

/* Returns the pid in the name of a jitdump, which is that of the process in its own pid namespace. */
static int64_t pid_of_dump(struct text path) {
    uint64_t pid = 0;
    struct text name = text_base_name(path);
    cursor_take(&name, TEXT("jit-"));
    return cursor_take_number(&name, 10, &pid) && pid <= INT64_MAX ? (int64_t)pid : -1;
}

/* Returns the name of the file in the profile. A map that is named may have any name, or only a descriptor. */
static struct text name_in_profile(struct jit *jit, const struct jit_file *file, int64_t pid, const char *path) {
    char name[32];
    if (!file->is_named) return arena_copy(&jit->texts, text_base_name(text_of(path)));
    snprintf(name, sizeof name, "perf-%" PRId64 ".map", pid);
    return arena_copy(&jit->texts, text_of(name));
}

static void read_opened(struct reading *reading, const struct jit_process *process, const char *path) {
    struct jit *jit = reading->jit;
    reading->file->next_code = jit->codes.count;
    reading->file_name = name_in_profile(jit, reading->file, process->pid, path);
    struct input *input = input_from_blocks(path, next_block, reading, &reading->failure);
    if (input)
        jit->notes[JIT_NOTE_DAMAGED] +=
            reading->file->is_dump ? jit_read_dump(input, process->pid, pid_of_dump(text_of(path)), add_code, reading)
                                   : jit_read_perf_map(input, add_code, reading);
    input_close(input);
    reading->file->end_code = jit->codes.count;
    if (reading->failure.code == FAILURE_MEMORY) failure_set_memory(jit->failure);
    if (failure_is_set(&reading->failure) || reading->file->end_code == reading->file->next_code)
        refuse(jit, JIT_NOTE_UNUSABLE);
}

static void read_file(struct jit *jit, const struct jit_process *process, struct jit_file *file) {
    char path[PATH_MAX];
    struct stat status;
    file->is_read = true;
    make_path(path, strings_text(&jit->paths, file->path));
    int descriptor = open_file(jit, file->is_named ? NULL : process, path, &status);
    if (descriptor < 0) return;
    struct reading *reading = malloc(sizeof *reading);
    if (reading) {
        *reading = (struct reading){.jit = jit,
                                    .file = file,
                                    .descriptor = descriptor,
                                    .left_bytes = (uint64_t)status.st_size,
                                    .time_ns = INT64_MIN};
        reading->failure.memory = jit->failure->memory;
        read_opened(reading, process, path);
    } else {
        failure_set_memory(jit->failure);
    }
    free(reading);
    close(descriptor);
    jit->next_time_ns = INT64_MIN;
}

/* ---- Looking up. ---- */

static uint64_t find_in_file(struct jit *jit, const struct jit_process *process, struct jit_file *file,
                             uint64_t address, int64_t time_ns) {
    if (!file->is_read) read_file(jit, process, file);
    const struct code_mapping *mapping = code_history_find(&jit->spaces, &file->history, time_order(time_ns), address);
    return mapping ? mapping->library_id : 0;
}

/* Returns the newest code at the address, whichever of the process's files has it. */
static uint64_t find_in_process(struct jit *jit, uint32_t row, uint64_t address, int64_t time_ns) {
    const struct jit_process *process = &process_at(jit, row)->process;
    uint64_t newest = 0;
    for (uint32_t file = first_file(jit, row); file != ID_NONE; file = file_at(jit, file)->next) {
        uint64_t number = find_in_file(jit, process, file_at(jit, file), address, time_ns);
        bool is_newer = number && (!newest || jit_code_at(jit, number)->time_ns >= jit_code_at(jit, newest)->time_ns);
        if (is_newer) newest = number;
    }
    return newest;
}

uint64_t jit_find(struct jit *jit, const struct jit_process *process, uint64_t address, int64_t time_ns) {
    for (uint32_t row = row_of(jit, process); row != ID_NONE; row = parent_with_files(jit, row)) {
        uint64_t number = find_in_process(jit, row, address, time_ns);
        if (number) return number;
    }
    return 0;
}

void jit_advance(struct jit *jit, int64_t time_ns) {
    if (time_ns < jit->next_time_ns) return;
    jit->next_time_ns = INT64_MAX;
    COLUMN_EACH(struct jit_file, file, &jit->files) {
        uint32_t valid_count = file->next_code;
        while (file->next_code < file->end_code && jit_code_at(jit, file->next_code + 1)->time_ns <= time_ns)
            file->next_code++;
        jit->moment += file->next_code - valid_count;
        if (file->next_code == file->end_code) continue;
        int64_t next_ns = jit_code_at(jit, file->next_code + 1)->time_ns;
        if (next_ns < jit->next_time_ns) jit->next_time_ns = next_ns;
    }
}
