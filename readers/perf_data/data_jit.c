#include "data_jit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/symbols/sysroot.h"
#include "readers/trace/trace_jitdump.h"

struct code_name {
    struct text name;
    struct text file; /* the last component of the path */
};

struct jitdump {
    int64_t pid;
    struct text path;
    bool is_timed; /* already read, by time */
};

/* Code of a jitdump that is read by time. */
struct timed_code {
    int64_t time_ns;
    uint64_t address;
    uint64_t size_bytes;
    uint64_t name;       /* row of `names` plus 1; 0: the code was moved */
    uint64_t moved_from; /* its address before that */
};

/* The code of one jitdump: timed[next] to timed[end - 1] are not valid yet. */
struct timed_dump {
    int64_t pid;
    size_t next;
    size_t end;
};

/* Size limit: larger files are not read. */
static const off_t FILE_BYTES_MAX = (off_t)1 << 30;

void data_jit_init(struct data_jit *jit, const char *map_folder, bool opens_files, struct failure *failure) {
    *jit = (struct data_jit){
        .failure = failure, .map_folder = map_folder ? map_folder : "/tmp", .opens_files = opens_files};
    arena_init(&jit->texts, failure);
    column_init(&jit->names, sizeof(struct code_name), failure);
    code_mappings_init(&jit->codes, failure);
    column_init(&jit->dumps, sizeof(struct jitdump), failure);
    row_table_init(&jit->pids, sizeof(int64_t), failure);
    column_init(&jit->timed, sizeof(struct timed_code), failure);
    column_init(&jit->timed_dumps, sizeof(struct timed_dump), failure);
    code_mappings_init(&jit->valid, failure);
    jit->next_time_ns = INT64_MAX;
}

void data_jit_fini(struct data_jit *jit) {
    arena_fini(&jit->texts);
    column_fini(&jit->names);
    code_mappings_fini(&jit->codes);
    column_fini(&jit->dumps);
    row_table_fini(&jit->pids);
    column_fini(&jit->timed);
    column_fini(&jit->timed_dumps);
    code_mappings_fini(&jit->valid);
}

/* ---- Files. ---- */

struct reading {
    struct data_jit *jit;
    int64_t pid;
    struct text file;
    int descriptor;
    char block[64 * 1024];
};

static struct text next_block(void *context) {
    struct reading *reading = context;
    ssize_t count;
    do count = read(reading->descriptor, reading->block, sizeof reading->block);
    while (count < 0 && errno == EINTR);
    return (struct text){reading->block, count > 0 ? (size_t)count : 0};
}

/* Returns the number of the record's name: its row plus 1. Returns 0 if memory ran out (latched), or if the record has
 * none. */
static uint64_t add_name(const struct reading *reading, const struct trace_jit_record *record) {
    struct data_jit *jit = reading->jit;
    struct code_name *name = record->name.bytes_count ? column_push(&jit->names) : NULL;
    if (!name) return 0;
    *name = (struct code_name){arena_copy(&jit->texts, record->name), reading->file};
    return jit->names.count;
}

static void add_timed_code(void *context, const struct trace_jit_record *record) {
    const struct reading *reading = context;
    uint64_t name = add_name(reading, record);
    struct timed_code *code = column_push(&reading->jit->timed);
    if (code)
        *code = (struct timed_code){.time_ns = record->time_ns,
                                    .address = record->address,
                                    .size_bytes = record->size_bytes,
                                    .name = name,
                                    .moved_from = record->moved_from};
}

static void add_code(void *context, const struct trace_jit_record *record) {
    const struct reading *reading = context;
    struct data_jit *jit = reading->jit;
    uint64_t number = add_name(reading, record);
    if (!number) {
        const struct code_mapping *moved =
            code_mappings_find(&jit->codes, reading->pid, 0, record->moved_from, jit->code_count);
        if (moved) number = moved->library_id;
    }
    const struct code_mapping code = {
        .pid = reading->pid, .address = record->address, .size_bytes = record->size_bytes, .library_id = number};
    code_mappings_add(&jit->codes, ++jit->code_count, &code);
}

static bool is_trusted(const struct data_jit *jit, uid_t owner) {
    return owner == 0 || owner == geteuid() || (jit->has_owner && owner == jit->owner);
}

/* Opens a file if its owner is trusted. Anybody may write into /tmp, and a recording may name any file as a jitdump.
 * The owner of a symbolic link must be trusted, too, except below the sysroot, which links do not leave. If a FIFO or a
 * device has taken the file's place, opening it must neither block nor change anything. Returns -1 if there is no such
 * file or it may not be read. */
static int open_trusted(struct data_jit *jit, const char *path) {
    char real_path[PATH_MAX];
    struct stat link = {.st_uid = 0}, status;
    int descriptor = jit->sysroot ? sysroot_open(jit->sysroot, path, real_path) : -1;
    if (descriptor < 0) {
        if (lstat(path, &link) != 0) return -1;
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    }
    if (descriptor < 0) return -1;
    bool is_readable = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= FILE_BYTES_MAX &&
                       is_trusted(jit, status.st_uid) && is_trusted(jit, link.st_uid);
    if (is_readable) return descriptor;
    jit->refused_count++;
    close(descriptor);
    return -1;
}

enum code_file { PERF_MAP, JITDUMP, TIMED_JITDUMP };

static void read_file(struct data_jit *jit, int64_t pid, const char *path, enum code_file kind) {
    int descriptor = open_trusted(jit, path);
    struct reading *reading = descriptor < 0 ? NULL : malloc(sizeof *reading);
    if (descriptor >= 0 && !reading) failure_set_memory(jit->failure);
    if (reading) {
        struct failure failure = {.memory = jit->failure->memory};
        *reading = (struct reading){.jit = jit, .pid = pid, .descriptor = descriptor};
        reading->file = arena_copy(&jit->texts, text_base_name(text_of(path)));
        struct input *input = input_from_blocks(path, next_block, reading, &failure);
        if (input)
            jit->damaged_count +=
                kind == PERF_MAP ? trace_perf_map_read(input, add_code, reading)
                                 : trace_jitdump_read(input, pid, kind == JITDUMP ? add_code : add_timed_code, reading);
        input_close(input);
        if (failure.code == FAILURE_MEMORY) failure_set_memory(jit->failure);
    }
    free(reading);
    if (descriptor >= 0) close(descriptor);
}

static bool make_path(char path[PATH_MAX], struct text text) {
    if (text.bytes_count >= PATH_MAX || text_find(text, '\0') < text.bytes_count) return false;
    memcpy(path, text.bytes, text.bytes_count);
    path[text.bytes_count] = '\0';
    return true;
}

/* Reads the perf map first, then the jitdumps: where both describe an address, the one read last applies, and a jitdump
 * has more details. */
static void read_files(struct data_jit *jit, int64_t pid) {
    char path[PATH_MAX];
    int wanted = snprintf(path, sizeof path, "%s/perf-%" PRId64 ".map", jit->map_folder, pid);
    if (*jit->map_folder && wanted > 0 && (size_t)wanted < sizeof path) read_file(jit, pid, path, PERF_MAP);
    for (size_t i = 0; i < jit->dumps.count; i++) {
        const struct jitdump *dump = column_at(&jit->dumps, i);
        if (dump->pid == pid && !dump->is_timed && make_path(path, dump->path)) read_file(jit, pid, path, JITDUMP);
    }
}

/* ---- Jitdumps by time. ---- */

static struct timed_code *timed_at(const struct data_jit *jit, size_t row) { return column_at(&jit->timed, row); }

/* Returns whether the file is already among the jitdumps of the process: each thread maps it, perhaps. */
static bool is_known(const struct data_jit *jit, int64_t pid, struct text path) {
    for (size_t i = 0; i < jit->dumps.count; i++) {
        const struct jitdump *dump = column_at(&jit->dumps, i);
        if (dump->pid == pid && text_equal(dump->path, path)) return true;
    }
    return false;
}

static void read_timed_dump(struct data_jit *jit, int64_t pid, struct text text) {
    char path[PATH_MAX];
    struct timed_dump dump = {.pid = pid, .next = jit->timed.count};
    if (!make_path(path, text)) return;
    read_file(jit, pid, path, TIMED_JITDUMP);
    dump.end = jit->timed.count;
    struct timed_dump *added = dump.end > dump.next ? column_push(&jit->timed_dumps) : NULL;
    if (!added) return;
    *added = dump;
    int64_t time_ns = timed_at(jit, dump.next)->time_ns;
    if (time_ns < jit->next_time_ns) jit->next_time_ns = time_ns;
}

void data_jit_offer(struct data_jit *jit, int64_t pid, struct text path, bool is_timed) {
    struct text base = text_base_name(path);
    bool is_dump = text_starts_with(base, TEXT("jit-")) && text_ends_with(base, TEXT(".dump"));
    if (!is_dump || !jit->opens_files || !text_starts_with(path, TEXT("/")) || is_known(jit, pid, path)) return;
    struct jitdump *dump = column_push(&jit->dumps);
    if (dump) *dump = (struct jitdump){pid, arena_copy(&jit->texts, path), is_timed};
    if (dump && is_timed) read_timed_dump(jit, pid, path);
}

static void make_valid(struct data_jit *jit, int64_t pid, size_t row) {
    struct timed_code *code = timed_at(jit, row);
    if (!code->name) {
        uint64_t before = data_jit_code(jit, pid, code->moved_from);
        if (before) code->name = timed_at(jit, before - 1)->name;
    }
    const struct code_mapping mapping = {
        .pid = pid, .address = code->address, .size_bytes = code->size_bytes, .library_id = code->name ? row + 1 : 0};
    code_mappings_add(&jit->valid, ++jit->valid_count, &mapping);
}

void data_jit_advance(struct data_jit *jit, int64_t time_ns) {
    if (time_ns < jit->next_time_ns) return;
    jit->next_time_ns = INT64_MAX;
    for (size_t i = 0; i < jit->timed_dumps.count; i++) {
        struct timed_dump *dump = column_at(&jit->timed_dumps, i);
        while (dump->next < dump->end && timed_at(jit, dump->next)->time_ns <= time_ns)
            make_valid(jit, dump->pid, dump->next++);
        if (dump->next == dump->end) continue;
        int64_t next_ns = timed_at(jit, dump->next)->time_ns;
        if (next_ns < jit->next_time_ns) jit->next_time_ns = next_ns;
    }
}

uint64_t data_jit_code(const struct data_jit *jit, int64_t pid, uint64_t address) {
    const struct code_mapping *mapping = code_mappings_find(&jit->valid, pid, 0, address, jit->valid_count);
    return mapping ? mapping->library_id : 0;
}

/* ---- Looking up. ---- */

static void take_name(const struct data_jit *jit, uint64_t number, uint64_t start, struct data_name *name) {
    const struct code_name *found = column_at(&jit->names, number - 1);
    *name = (struct data_name){.name = found->name, .start = start, .file = found->file};
}

bool data_jit_find(struct data_jit *jit, int64_t pid, uint64_t address, uint64_t code_number, struct data_name *name) {
    if (!jit->opens_files || pid <= 0) return false;
    if (code_number) {
        const struct timed_code *timed = timed_at(jit, code_number - 1);
        take_name(jit, timed->name, timed->address, name);
        return true;
    }
    uint32_t known_count = row_table_count(&jit->pids);
    if (row_table_intern(&jit->pids, &pid) == known_count) read_files(jit, pid);
    const struct code_mapping *code = code_mappings_find(&jit->codes, pid, 0, address, jit->code_count);
    if (!code) return false;
    take_name(jit, code->library_id, code->address, name);
    return true;
}
