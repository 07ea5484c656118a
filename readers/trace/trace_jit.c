#include "trace_jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libconvert/base/first_row.h"
#include "trace_jitdump.h"

/* Tolerance for a system clock that was set between recording and conversion. */
static const int64_t BOOT_SLACK_NS = INT64_C(60000000000);
/* Tolerance for file times, which are only as precise as the kernel's tick or the file system's format. */
static const int64_t BEGIN_SLACK_NS = INT64_C(2000000000);
/* Tolerance for files that a process writes at exit, after the end that the recorder has recorded. */
static const int64_t END_SLACK_NS = INT64_C(10000000000);

/* The files that can name a process's generated code. */
enum source_kind { SOURCE_JITDUMP, SOURCE_PERF_MAP, SOURCE_COUNT };

struct jit_source {
    const char *path; /* NUL-terminated, in the arena; NULL if there is no file or it is not trusted */
    bool is_read;
    resource_id resource;
    struct column times; /* int64_t: time of each record, in ns, never decreasing */
};

struct jit_process {
    bool has_looked;
    size_t jitdumps_seen; /* how many of definitions->jitdumps were tried */
    struct jit_source sources[SOURCE_COUNT];
};

/* ---- When files are trusted. ---- */

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now)) return 0;
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* CLOCK_MONOTONIC stops while the machine sleeps; CLOCK_BOOTTIME does not. So at any time since boot, Unix time less
 * CLOCK_MONOTONIC was between what Unix time less CLOCK_BOOTTIME and Unix time less CLOCK_MONOTONIC are now. */
void trace_jit_set_epoch(struct trace_jit *jit, int64_t epoch_offset_ns) {
    int64_t now_ns = clock_ns(CLOCK_REALTIME);
    int64_t least_ns = now_ns - clock_ns(CLOCK_BOOTTIME), most_ns = now_ns - clock_ns(CLOCK_MONOTONIC);
    jit->epoch_offset_ns = epoch_offset_ns;
    jit->is_of_this_boot = epoch_offset_ns >= least_ns - BOOT_SLACK_NS && epoch_offset_ns <= most_ns + BOOT_SLACK_NS;
}

static int64_t change_ns(const struct stat *status) {
    return status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec;
}

/* Returns the Unix time at which the process began. */
static int64_t begin_ns(const struct trace_jit *jit, const struct trace_process *process) {
    uint64_t start_ns = process->start_ns <= INT64_MAX / 2 ? process->start_ns : 0;
    return jit->epoch_offset_ns + (int64_t)start_ns;
}

/* False if the file was last changed before this process began: an earlier process with the same pid wrote it. */
static bool is_new_enough(const struct trace_jit *jit, const struct trace_process *process, const struct stat *status) {
    return jit->is_of_this_boot && change_ns(status) >= begin_ns(jit, process) - BEGIN_SLACK_NS;
}

/* False if the file was changed after this process ended: a later process with the same pid wrote it. */
static bool is_old_enough(const struct trace_jit *jit, const struct trace_process *process, const struct stat *status) {
    int64_t end_ticks = profile_process_at(jit->profile, process->id)->end_ticks;
    if (end_ticks == TIME_NONE) return true;
    int64_t end_ns = trace_clock_convert(jit->clock, end_ticks);
    return change_ns(status) <= jit->epoch_offset_ns + end_ns + END_SLACK_NS;
}

void trace_jit_trust_owner(struct trace_jit *jit, const struct input *trace) {
    jit->has_owner = input_owner(trace, &jit->owner);
}

/* Anybody may write into /tmp, and a trace may name any file as its jitdump, so the owner decides. */
static bool is_trusted(const struct trace_jit *jit, uid_t owner) {
    return owner == 0 || owner == geteuid() || (jit->has_owner && owner == jit->owner);
}

static void note(struct trace_jit *jit, enum trace_cause cause, uint64_t count) {
    trace_ledger_count_placeless(jit->definitions->ledger, cause, count);
}

/* Returns whether the file may be read. Notes the reason if not. */
static bool is_readable(struct trace_jit *jit, const struct stat *status) {
    if (!S_ISREG(status->st_mode))
        note(jit, TRACE_NOTE_JIT_KIND, 1);
    else if (!is_trusted(jit, status->st_uid))
        note(jit, TRACE_NOTE_JIT_OWNER, 1);
    else if ((uint64_t)status->st_size > TRACE_JIT_FILE_BYTES_MAX)
        note(jit, TRACE_NOTE_JIT_SIZE, 1);
    else
        return true;
    return false;
}

/* ---- Processes. ---- */

void trace_jit_init(struct trace_jit *jit, struct profile *profile, struct trace_definitions *definitions,
                    struct trace_clock *clock, const struct reader_options *options) {
    *jit = (struct trace_jit){.profile = profile,
                              .definitions = definitions,
                              .clock = clock,
                              .ignores_files = options->ignores_code_files,
                              .map_folder = options->perf_map_folder ? options->perf_map_folder : "/tmp"};
    arena_init(&jit->texts, profile->failure);
    column_init(&jit->names, sizeof(struct text), profile->failure);
    code_mappings_init(&jit->codes, profile->failure);
    column_init(&jit->processes, sizeof(struct jit_process), profile->failure);
}

void trace_jit_fini(struct trace_jit *jit) {
    for (size_t i = 0; i < jit->processes.count; i++) {
        struct jit_process *process = column_at(&jit->processes, i);
        for (unsigned source = 0; source < SOURCE_COUNT; source++) column_fini(&process->sources[source].times);
    }
    arena_fini(&jit->texts);
    column_fini(&jit->names);
    code_mappings_fini(&jit->codes);
    column_fini(&jit->processes);
}

/* Returns NULL if memory ran out (latched). */
static struct jit_process *process_at(struct trace_jit *jit, process_id id) {
    while (id.index >= jit->processes.count) {
        struct jit_process *process = column_push(&jit->processes);
        if (!process) return NULL;
        *process = (struct jit_process){0};
        for (unsigned source = 0; source < SOURCE_COUNT; source++)
            column_init(&process->sources[source].times, sizeof(int64_t), jit->profile->failure);
    }
    return column_at(&jit->processes, id.index);
}

/* Returns a NUL-terminated copy of the path. NULL if the path contains a NUL or memory ran out (latched). */
static const char *keep_path(struct trace_jit *jit, struct text path) {
    if (text_find(path, '\0') < path.bytes_count) return NULL;
    char *kept = arena_take_bytes(&jit->texts, path.bytes_count + 1);
    if (!kept) return NULL;
    memcpy(kept, path.bytes, path.bytes_count);
    kept[path.bytes_count] = '\0';
    return kept;
}

/* Sets the source's path if a readable file is there. A symbolic link must have a trusted owner too. perf checks the
 * owner of the link only. */
static void offer_path(struct trace_jit *jit, const struct trace_process *process, struct jit_source *source,
                       struct text path) {
    struct stat link, status;
    const char *kept = keep_path(jit, path);
    if (!kept || lstat(kept, &link) != 0 || stat(kept, &status) != 0 || !is_new_enough(jit, process, &status)) return;
    if (S_ISLNK(link.st_mode) && !is_trusted(jit, link.st_uid)) {
        note(jit, TRACE_NOTE_JIT_OWNER, 1);
        return;
    }
    if (!is_readable(jit, &status)) return;
    source->path = kept;
    jit->has_files = true;
}

static void look_for_perf_map(struct trace_jit *jit, const struct trace_process *process, struct jit_process *own) {
    int64_t pid = profile_process_at(jit->profile, process->id)->pid;
    own->has_looked = true;
    if (!*jit->map_folder) return;
    struct text path = profile_text_format(jit->profile, "%s/perf-%lld.map", jit->map_folder, (long long)pid);
    offer_path(jit, process, &own->sources[SOURCE_PERF_MAP], path);
}

static void look_for_jitdumps(struct trace_jit *jit, const struct trace_process *process, struct jit_process *own) {
    const struct column *jitdumps = &jit->definitions->jitdumps;
    int64_t pid = profile_process_at(jit->profile, process->id)->pid;
    struct jit_source *source = &own->sources[SOURCE_JITDUMP];
    for (; own->jitdumps_seen < jitdumps->count; own->jitdumps_seen++) {
        const struct trace_jitdump *dump = column_at(jitdumps, own->jitdumps_seen);
        if (source->path || dump->pid != pid || dump->process_start_ns != process->start_ns) continue;
        offer_path(jit, process, source, dump->path);
    }
}

/* ---- Reading. ---- */

/* State of reading one file. */
struct reading {
    struct trace_jit *jit;
    struct jit_source *source;
    int64_t process; /* `process` and `key` identify the file's code in jit->codes */
    uint64_t key;
};

static uint64_t name_of(struct reading *reading, const struct trace_jit_record *record, uint64_t id) {
    struct trace_jit *jit = reading->jit;
    if (!record->name.bytes_count) {
        const struct code_mapping *before =
            code_mappings_find(&jit->codes, reading->process, reading->key, record->moved_from, id);
        return before ? before->library_id : 0;
    }
    struct text *name = column_push(&jit->names);
    if (name) *name = arena_copy(&jit->texts, record->name);
    return jit->names.count;
}

static void add_code(void *context, const struct trace_jit_record *record) {
    struct reading *reading = context;
    struct column *times = &reading->source->times;
    if (failure_is_set(reading->jit->profile->failure)) return;
    int64_t before_ns = times->count ? *(int64_t *)column_at(times, times->count - 1) : INT64_MIN;
    uint64_t name = name_of(reading, record, times->count);
    int64_t *time_ns = column_push(times);
    if (!time_ns) return;
    *time_ns = record->time_ns > before_ns ? record->time_ns : before_ns;
    struct code_mapping code = {.pid = reading->process,
                                .process_start_ns = reading->key,
                                .address = record->address,
                                .size_bytes = record->size_bytes,
                                .library_id = name};
    code_mappings_add(&reading->jit->codes, times->count, &code);
}

/* An open file. It is read without decompression, whatever its first bytes are. It is not mapped, since its process may
 * still truncate it. */
struct jit_file {
    int descriptor;
    uint64_t left_bytes; /* not yet read, of the size at opening */
    struct failure failure;
    char block[256 * 1024];
};

static struct text next_block(void *context) {
    struct jit_file *file = context;
    size_t want_bytes = file->left_bytes < sizeof file->block ? (size_t)file->left_bytes : sizeof file->block;
    ssize_t count;
    do {
        count = read(file->descriptor, file->block, want_bytes);
    } while (count < 0 && errno == EINTR);
    if (count < 0) failure_set(&file->failure, FAILURE_IO, "%s", strerror(errno));
    size_t bytes_count = count > 0 ? (size_t)count : 0;
    file->left_bytes -= bytes_count;
    return (struct text){file->block, bytes_count};
}

static void read_file(struct trace_jit *jit, const struct trace_process *process, struct jit_source *source,
                      enum source_kind kind, struct jit_file *file) {
    struct profile *profile = jit->profile;
    struct input *input = input_from_blocks(source->path, next_block, file, &file->failure);
    if (!input) return;
    source->resource =
        profile_resource(profile, profile_string(profile, text_base_name(text_of(source->path))), RESOURCE_LIBRARY);
    struct reading reading = {jit, source, process->id.index, kind};
    int64_t pid = profile_process_at(profile, process->id)->pid;
    uint64_t damaged_count = kind == SOURCE_JITDUMP ? trace_jitdump_read(input, pid, add_code, &reading)
                                                    : trace_perf_map_read(input, add_code, &reading);
    note(jit, TRACE_NOTE_JIT_RECORD, damaged_count);
    input_close(input);
}

/* Repeats all checks on the open file, since another file may have replaced the one that was checked by its path. */
static void read_if_believed(struct trace_jit *jit, const struct trace_process *process, struct jit_source *source,
                             enum source_kind kind, struct jit_file *file) {
    struct stat status;
    if (fstat(file->descriptor, &status) != 0 || !is_readable(jit, &status)) return;
    if (!is_new_enough(jit, process, &status) || !is_old_enough(jit, process, &status)) return;
    file->left_bytes = (uint64_t)status.st_size;
    read_file(jit, process, source, kind, file);
    if (failure_is_set(&file->failure) || !source->times.count) note(jit, TRACE_NOTE_JIT_FILE, 1);
}

static void read_source(struct trace_jit *jit, const struct trace_process *process, struct jit_source *source,
                        enum source_kind kind) {
    source->is_read = true;
    struct jit_file *file = malloc(sizeof *file);
    if (!file) {
        failure_set_memory(jit->profile->failure);
        return;
    }
    file->failure = (struct failure){0};
    /* If a FIFO or device has replaced the file, opening it must neither block nor have side effects. */
    file->descriptor = open(source->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file->descriptor >= 0) {
        read_if_believed(jit, process, source, kind, file);
        close(file->descriptor);
    } else {
        note(jit, TRACE_NOTE_JIT_FILE, 1);
    }
    if (file->failure.code == FAILURE_MEMORY) failure_set_memory(jit->profile->failure);
    free(file);
}

void trace_jit_make_ready(struct trace_jit *jit) { jit->is_ready = true; }

/* ---- Looking up. ---- */

/* Returns how many records the source has up to that time. */
static uint64_t records_until(const struct jit_source *source, int64_t time_ns) {
    return FIRST_ROW(i, source->times.count, *(const int64_t *)column_at(&source->times, i) > time_ns);
}

static bool find_in_source(struct trace_jit *jit, const struct trace_process *process, struct jit_source *source,
                           enum source_kind kind, uint64_t address, int64_t time_ns, struct trace_jit_code *out) {
    if (!source->is_read) read_source(jit, process, source, kind);
    const struct code_mapping *code =
        code_mappings_find(&jit->codes, process->id.index, kind, address, records_until(source, time_ns));
    if (!code) return false;
    out->name = *(const struct text *)column_at(&jit->names, code->library_id - 1);
    out->resource = source->resource;
    return true;
}

enum trace_jit_answer trace_jit_find(struct trace_jit *jit, const struct trace_process *process, uint64_t address,
                                     int64_t ticks, struct trace_jit_code *out) {
    struct jit_process *own = jit->ignores_files ? NULL : process_at(jit, process->id);
    if (!own) return TRACE_JIT_NONE;
    if (!own->has_looked) look_for_perf_map(jit, process, own);
    look_for_jitdumps(jit, process, own);
    if (!own->sources[SOURCE_JITDUMP].path && !own->sources[SOURCE_PERF_MAP].path) return TRACE_JIT_NONE;
    /* Once definitions are complete, an entry cannot be postponed, so it gets no name. */
    if (!jit->is_ready) return jit->definitions->is_complete ? TRACE_JIT_NONE : TRACE_JIT_OPEN;
    int64_t time_ns = trace_clock_convert(jit->clock, ticks);
    for (unsigned kind = 0; kind < SOURCE_COUNT; kind++)
        if (own->sources[kind].path &&
            find_in_source(jit, process, &own->sources[kind], (enum source_kind)kind, address, time_ns, out))
            return TRACE_JIT_FOUND;
    return TRACE_JIT_GONE;
}
