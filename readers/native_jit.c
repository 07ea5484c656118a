#include "native_jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "native_jitdump.h"

/* Of clocks that were set in between. */
static const int64_t BOOT_SLACK_NS = INT64_C(60000000000);
/* Of file times, which are as coarse as the kernel's tick, or than the disk's format. */
static const int64_t BEGIN_SLACK_NS = INT64_C(2000000000);
/* What is written at exit may come behind the end that the recorder tells. */
static const int64_t END_SLACK_NS = INT64_C(10000000000);

/* A file that tells of a process's code. */
enum source_kind { SOURCE_JITDUMP, SOURCE_PERF_MAP, SOURCE_COUNT };

struct jit_source {
    const char *path; /* in the arena; NULL: none, or none that is believed */
    bool is_read;
    resource_id resource;
    struct column times; /* int64_t: of each record, never falling */
};

struct jit_process {
    bool has_looked;
    size_t jitdumps_seen; /* as many of the definitions' jitdumps were looked at */
    struct jit_source sources[SOURCE_COUNT];
};

/* ---- When files are believed ---- */

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now)) return 0;
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* While the machine sleeps CLOCK_MONOTONIC stands and CLOCK_BOOTTIME goes on: since the machine was started, the Unix
 * time less the monotonic one was never less than what it is now to the latter, nor more than to the former. */
void native_jit_set_epoch(struct native_jit *jit, int64_t epoch_offset_ns) {
    int64_t now_ns = clock_ns(CLOCK_REALTIME);
    int64_t least_ns = now_ns - clock_ns(CLOCK_BOOTTIME), most_ns = now_ns - clock_ns(CLOCK_MONOTONIC);
    jit->epoch_offset_ns = epoch_offset_ns;
    jit->is_of_this_boot = epoch_offset_ns >= least_ns - BOOT_SLACK_NS && epoch_offset_ns <= most_ns + BOOT_SLACK_NS;
}

static int64_t change_ns(const struct stat *status) {
    return status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec;
}

/* Unix time, at which the process began. */
static int64_t begin_ns(const struct native_jit *jit, const struct native_process *process) {
    uint64_t start_ns = process->start_ns <= INT64_MAX / 2 ? process->start_ns : 0;
    return jit->epoch_offset_ns + (int64_t)start_ns;
}

/* A file of an older process of that pid was not changed since this one began. */
static bool is_new_enough(const struct native_jit *jit, const struct native_process *process,
                          const struct stat *status) {
    return jit->is_of_this_boot && change_ns(status) >= begin_ns(jit, process) - BEGIN_SLACK_NS;
}

/* One of a younger process was, since this one ended. */
static bool is_old_enough(const struct native_jit *jit, const struct native_process *process,
                          const struct stat *status) {
    int64_t end_ticks = profile_process_at(jit->profile, process->id)->end_ns;
    if (end_ticks == TIME_NONE) return true;
    int64_t end_ns = native_clock_convert(jit->clock, end_ticks);
    return change_ns(status) <= jit->epoch_offset_ns + end_ns + END_SLACK_NS;
}

void native_jit_trust_owner(struct native_jit *jit, const struct input *trace) {
    jit->has_owner = input_owner(trace, &jit->owner);
}

/* Anybody may write into /tmp, and a trace may name any file as its jitdump. */
static bool is_trusted(const struct native_jit *jit, uid_t owner) {
    return owner == 0 || owner == geteuid() || (jit->has_owner && owner == jit->owner);
}

static void note(struct native_jit *jit, enum native_cause cause, uint64_t count) {
    native_ledger_count_placeless(jit->definitions->ledger, cause, count);
}

/* Whether the file may be read. Notes why not. */
static bool is_readable(struct native_jit *jit, const struct stat *status) {
    if (!S_ISREG(status->st_mode))
        note(jit, NATIVE_NOTE_JIT_KIND, 1);
    else if (!is_trusted(jit, status->st_uid))
        note(jit, NATIVE_NOTE_JIT_OWNER, 1);
    else if ((uint64_t)status->st_size > NATIVE_JIT_FILE_BYTES_MAX)
        note(jit, NATIVE_NOTE_JIT_SIZE, 1);
    else
        return true;
    return false;
}

/* ---- Processes ---- */

void native_jit_init(struct native_jit *jit, struct profile *profile, struct native_definitions *definitions,
                     struct native_clock *clock, const struct reader_options *options) {
    *jit = (struct native_jit){.profile = profile,
                               .definitions = definitions,
                               .clock = clock,
                               .ignores_files = options->ignores_code_files,
                               .map_folder = options->perf_map_folder ? options->perf_map_folder : "/tmp"};
    arena_init(&jit->texts, profile->failure);
    column_init(&jit->names, sizeof(struct text), profile->failure);
    native_mappings_init(&jit->codes, profile->failure);
    column_init(&jit->processes, sizeof(struct jit_process), profile->failure);
}

void native_jit_fini(struct native_jit *jit) {
    for (size_t i = 0; i < jit->processes.count; i++) {
        struct jit_process *process = column_at(&jit->processes, i);
        for (unsigned source = 0; source < SOURCE_COUNT; source++) column_fini(&process->sources[source].times);
    }
    arena_fini(&jit->texts);
    column_fini(&jit->names);
    native_mappings_fini(&jit->codes);
    column_fini(&jit->processes);
}

/* NULL when memory ran out (latched). */
static struct jit_process *process_at(struct native_jit *jit, process_id id) {
    while (id.index >= jit->processes.count) {
        struct jit_process *process = column_push(&jit->processes);
        if (!process) return NULL;
        *process = (struct jit_process){0};
        for (unsigned source = 0; source < SOURCE_COUNT; source++)
            column_init(&process->sources[source].times, sizeof(int64_t), jit->profile->failure);
    }
    return column_at(&jit->processes, id.index);
}

/* A path that ends in NUL; NULL where it cannot be one. */
static const char *keep_path(struct native_jit *jit, struct text path) {
    if (text_find(path, '\0') < path.bytes_count) return NULL;
    char *kept = arena_take_bytes(&jit->texts, path.bytes_count + 1);
    if (!kept) return NULL;
    memcpy(kept, path.bytes, path.bytes_count);
    kept[path.bytes_count] = '\0';
    return kept;
}

/* Takes the file as the source if there is one that may be read. A symbolic link must be trusted, too: perf looks at the
 * owner of the link alone. */
static void offer_path(struct native_jit *jit, const struct native_process *process, struct jit_source *source,
                       struct text path) {
    struct stat link, status;
    const char *kept = keep_path(jit, path);
    if (!kept || lstat(kept, &link) != 0 || stat(kept, &status) != 0 || !is_new_enough(jit, process, &status)) return;
    if (S_ISLNK(link.st_mode) && !is_trusted(jit, link.st_uid)) {
        note(jit, NATIVE_NOTE_JIT_OWNER, 1);
        return;
    }
    if (!is_readable(jit, &status)) return;
    source->path = kept;
    jit->has_files = true;
}

static void look_for_perf_map(struct native_jit *jit, const struct native_process *process, struct jit_process *own) {
    int64_t pid = profile_process_at(jit->profile, process->id)->pid;
    own->has_looked = true;
    if (!*jit->map_folder) return;
    struct text path = profile_text_format(jit->profile, "%s/perf-%lld.map", jit->map_folder, (long long)pid);
    offer_path(jit, process, &own->sources[SOURCE_PERF_MAP], path);
}

static void look_for_jitdumps(struct native_jit *jit, const struct native_process *process, struct jit_process *own) {
    const struct column *jitdumps = &jit->definitions->jitdumps;
    int64_t pid = profile_process_at(jit->profile, process->id)->pid;
    struct jit_source *source = &own->sources[SOURCE_JITDUMP];
    for (; own->jitdumps_seen < jitdumps->count; own->jitdumps_seen++) {
        const struct native_jitdump *dump = column_at(jitdumps, own->jitdumps_seen);
        if (source->path || dump->pid != pid || dump->process_start_ns != process->start_ns) continue;
        offer_path(jit, process, source, dump->path);
    }
}

/* ---- Reading ---- */

/* A file on its way. */
struct reading {
    struct native_jit *jit;
    struct jit_source *source;
    int64_t process; /* with the source: the key in `codes` */
    uint64_t key;
};

static uint64_t name_of(struct reading *reading, const struct native_jit_record *record, uint64_t id) {
    struct native_jit *jit = reading->jit;
    if (!record->name.bytes_count) {
        const struct native_mapping *before =
            native_mappings_find(&jit->codes, reading->process, reading->key, record->moved_from, id);
        return before ? before->library_id : 0;
    }
    struct text *name = column_push(&jit->names);
    if (name) *name = arena_copy(&jit->texts, record->name);
    return jit->names.count;
}

static void add_code(void *context, const struct native_jit_record *record) {
    struct reading *reading = context;
    struct column *times = &reading->source->times;
    if (failure_is_set(reading->jit->profile->failure)) return;
    int64_t before_ns = times->count ? *(int64_t *)column_at(times, times->count - 1) : INT64_MIN;
    uint64_t name = name_of(reading, record, times->count);
    int64_t *time_ns = column_push(times);
    if (!time_ns) return;
    *time_ns = record->time_ns > before_ns ? record->time_ns : before_ns;
    struct native_mapping code = {.pid = reading->process,
                                  .process_start_ns = reading->key,
                                  .address = record->address,
                                  .size_bytes = record->size_bytes,
                                  .library_id = name};
    native_mappings_add(&reading->jit->codes, times->count, &code);
}

/* An open file. It is read as it is, whatever compression its bytes look like, and not mapped: what its process writes
 * may become shorter. */
struct jit_file {
    int descriptor;
    uint64_t left_bytes; /* of those that it had when it was opened */
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

static void read_file(struct native_jit *jit, const struct native_process *process, struct jit_source *source,
                      enum source_kind kind, struct jit_file *file) {
    struct profile *profile = jit->profile;
    struct input *input = input_from_blocks(source->path, next_block, file, &file->failure);
    if (!input) return;
    source->resource =
        profile_resource(profile, profile_string(profile, text_base_name(text_of(source->path))), RESOURCE_LIBRARY);
    struct reading reading = {jit, source, process->id.index, kind};
    int64_t pid = profile_process_at(profile, process->id)->pid;
    uint64_t damaged_count = kind == SOURCE_JITDUMP ? native_jitdump_read(input, pid, add_code, &reading)
                                                    : native_perf_map_read(input, add_code, &reading);
    note(jit, NATIVE_NOTE_JIT_RECORD, damaged_count);
    input_close(input);
}

/* Another file may have taken the place of the one that was looked at before. */
static void read_if_believed(struct native_jit *jit, const struct native_process *process, struct jit_source *source,
                             enum source_kind kind, struct jit_file *file) {
    struct stat status;
    if (fstat(file->descriptor, &status) != 0 || !is_readable(jit, &status)) return;
    if (!is_new_enough(jit, process, &status) || !is_old_enough(jit, process, &status)) return;
    file->left_bytes = (uint64_t)status.st_size;
    read_file(jit, process, source, kind, file);
    if (failure_is_set(&file->failure) || !source->times.count) note(jit, NATIVE_NOTE_JIT_FILE, 1);
}

static void read_source(struct native_jit *jit, const struct native_process *process, struct jit_source *source,
                        enum source_kind kind) {
    source->is_read = true;
    struct jit_file *file = malloc(sizeof *file);
    if (!file) {
        failure_set_memory(jit->profile->failure);
        return;
    }
    file->failure = (struct failure){0};
    /* Opening a FIFO or a device that has taken the file's place must neither wait nor change anything. */
    file->descriptor = open(source->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file->descriptor >= 0) {
        read_if_believed(jit, process, source, kind, file);
        close(file->descriptor);
    } else {
        note(jit, NATIVE_NOTE_JIT_FILE, 1);
    }
    if (file->failure.code == FAILURE_MEMORY) failure_set_memory(jit->profile->failure);
    free(file);
}

void native_jit_make_ready(struct native_jit *jit) { jit->is_ready = true; }

/* ---- Looking up ---- */

/* How many records there were at that time. */
static uint64_t records_until(const struct jit_source *source, int64_t time_ns) {
    size_t from = 0, to = source->times.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (*(const int64_t *)column_at(&source->times, middle) <= time_ns)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool find_in_source(struct native_jit *jit, const struct native_process *process, struct jit_source *source,
                           enum source_kind kind, uint64_t address, int64_t time_ns, struct native_jit_code *out) {
    if (!source->is_read) read_source(jit, process, source, kind);
    const struct native_mapping *code =
        native_mappings_find(&jit->codes, process->id.index, kind, address, records_until(source, time_ns));
    if (!code) return false;
    out->name = *(const struct text *)column_at(&jit->names, code->library_id - 1);
    out->resource = source->resource;
    return true;
}

enum native_jit_answer native_jit_find(struct native_jit *jit, const struct native_process *process, uint64_t address,
                                       int64_t ticks, struct native_jit_code *out) {
    struct jit_process *own = jit->ignores_files ? NULL : process_at(jit, process->id);
    if (!own) return NATIVE_JIT_NONE;
    if (!own->has_looked) look_for_perf_map(jit, process, own);
    look_for_jitdumps(jit, process, own);
    if (!own->sources[SOURCE_JITDUMP].path && !own->sources[SOURCE_PERF_MAP].path) return NATIVE_JIT_NONE;
    /* Where there is no room to wait, nothing is known. */
    if (!jit->is_ready) return jit->definitions->is_complete ? NATIVE_JIT_NONE : NATIVE_JIT_OPEN;
    int64_t time_ns = native_clock_convert(jit->clock, ticks);
    for (unsigned kind = 0; kind < SOURCE_COUNT; kind++)
        if (own->sources[kind].path &&
            find_in_source(jit, process, &own->sources[kind], (enum source_kind)kind, address, time_ns, out))
            return NATIVE_JIT_FOUND;
    return NATIVE_JIT_GONE;
}
