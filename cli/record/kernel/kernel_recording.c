#include "kernel_recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "libconvert/base/regular_file.h"
#include "libconvert/symbols/kept_files.h"
#include "tracing_formats.h"

static const uint64_t NS_PER_S = 1000000000;

/* ---- Failures. ---- */

static const char event_permission_advice[] =
    "allow it by CAP_PERFMON or root, by sysctl kernel.perf_event_paranoid (0 for --all, 2 for own programs), and in a "
    "container by its seccomp filter; processes of others need CAP_PERFMON and CAP_SYS_PTRACE, or root";
static const char memory_permission_advice[] =
    "allow more by sysctl kernel.perf_event_mlock_kb or ulimit -l, or as root";

/* Reports that an event could not be opened; NULL: that the rings could not. Without rings, nothing can be recorded. */
static void fail(struct kernel_recording *recording, int error, const struct kernel_event *event,
                 struct failure *failure) {
    bool is_unknown = error == ENOENT || error == ENODEV || error == EOPNOTSUPP;
    bool wants_branches = recording->options.events.call_graph == CALL_GRAPH_LBR;
    if (error == ESRCH) {
        failure_set(failure, FAILURE_USAGE, "there is no such process");
    } else if (error == ENOMEM) {
        failure_set_memory(failure);
    } else if (error == EMFILE || error == ENFILE) {
        failure_set(
            failure, FAILURE_IO,
            "recording needs a file for each processor, and one more for each event, thread and processor: more "
            "than may be open (ulimit -n)");
    } else if (event && wants_branches && (is_unknown || error == EINVAL)) {
        failure_set(
            failure, FAILURE_USAGE,
            "--call-graph lbr: this processor, or this virtual machine, keeps no record of the last branches for "
            "%s: use dwarf",
            event->name);
    } else if (is_unknown && event) {
        failure_set(failure, FAILURE_USAGE, "--event %s: this machine does not count it", event->name);
    } else if (error == EPERM && !event && recording->rings.data_bytes) {
        recording->permission_advice = memory_permission_advice;
        failure_set(failure, FAILURE_IO, "the kernel refuses to record: this user may not lock memory for its records");
    } else {
        bool is_allowable = error == EACCES || error == EPERM || error == ENOSYS || is_unknown;
        recording->permission_advice = is_allowable ? event_permission_advice : NULL;
        failure_set(failure, FAILURE_IO, "the kernel refuses to record: %s", strerror(error));
    }
}

/* ---- The head of the stream. ---- */

static void begin_feature(struct kernel_stream *stream, uint64_t feature) {
    kernel_stream_begin(stream, RECORD_HEADER_FEATURE, 0);
    kernel_stream_u64(stream, feature);
}

static void append_feature(struct kernel_stream *stream, uint64_t feature, const void *bytes, size_t bytes_count) {
    begin_feature(stream, feature);
    kernel_stream_bytes(stream, bytes, bytes_count);
    kernel_stream_end(stream);
}

static void append_text_feature(struct kernel_stream *stream, uint64_t feature, const char *text) {
    begin_feature(stream, feature);
    kernel_stream_string(stream, text);
    kernel_stream_end(stream);
}

static void append_processor(struct kernel_stream *stream) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = '\0';
        append_text_feature(stream, FEATURE_CPU_DESCRIPTION, colon + 2);
        break;
    }
    if (file) fclose(file);
}

static void append_machine(struct kernel_stream *stream) {
    struct utsname names;
    if (uname(&names) == 0) {
        append_text_feature(stream, FEATURE_HOSTNAME, names.nodename);
        append_text_feature(stream, FEATURE_OS_RELEASE, names.release);
        append_text_feature(stream, FEATURE_ARCH, names.machine);
    }
    append_text_feature(stream, FEATURE_VERSION, "gecko-convert " GECKO_CONVERT_VERSION);
    append_processor(stream);
    const uint32_t counts[] = {(uint32_t)sysconf(_SC_NPROCESSORS_CONF), (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)};
    append_feature(stream, FEATURE_CPU_COUNT, counts, sizeof counts);
    uint64_t memory_kb = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
    append_feature(stream, FEATURE_MEMORY, &memory_kb, sizeof memory_kb);
}

static uint64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void append_clock(struct kernel_stream *stream) {
    const struct {
        uint32_t version, clock;
        uint64_t real_ns, clock_ns;
    } now = {1, CLOCK_MONOTONIC, now_ns(CLOCK_REALTIME), now_ns(CLOCK_MONOTONIC)};
    append_feature(stream, FEATURE_CLOCK_ID, &NS_PER_S, sizeof NS_PER_S); /* ticks a second */
    append_feature(stream, FEATURE_CLOCK, &now, sizeof now);
}

static void append_compression(struct kernel_stream *stream) {
    enum { VERSION = 0, ZSTD = 1, RATIO = 1 }; /* the ratio is informative, and not known yet */
    static const uint32_t fields[] = {VERSION, ZSTD, STREAM_COMPRESSION_LEVEL, RATIO, STREAM_BUFFER_BYTES};
    append_feature(stream, FEATURE_COMPRESSED, fields, sizeof fields);
}

/* Appends the command line in the form of perf's. Readers take from it what was recorded and how. */
static void append_command(struct kernel_stream *stream, const struct kernel_recording_options *options) {
    enum { WORDS_BYTES_MAX = 32 * 1024 };
    static const char *const call_graphs[] = {"--call-graph=dwarf", "--call-graph=fp", "--call-graph=lbr",
                                              "--call-graph=no"};
    const char *const head[] = {"gecko-convert", "record", call_graphs[options->events.call_graph], "--"};
    enum { HEAD_COUNT = sizeof head / sizeof *head };
    size_t count = 0, bytes_count = 0;
    while (count < options->command_count && bytes_count < WORDS_BYTES_MAX)
        bytes_count += strnlen(options->command[count++], WORDS_BYTES_MAX) + 16;
    if (bytes_count >= WORDS_BYTES_MAX) count--;
    begin_feature(stream, FEATURE_COMMAND_LINE);
    kernel_stream_u32(stream, (uint32_t)(count ? HEAD_COUNT + count : HEAD_COUNT - 1));
    for (size_t i = 0; i < (count ? HEAD_COUNT : HEAD_COUNT - 1); i++) kernel_stream_string(stream, head[i]);
    for (size_t i = 0; i < count; i++) kernel_stream_string(stream, options->command[i]);
    kernel_stream_end(stream);
}

/* Returns the id that all records of the event have in the stream. The kernel gives an event an id for each task and
 * processor. There can be more ids than the event's description can hold, and later tasks get new ones. */
static uint64_t id_of(const struct kernel_recording *recording, const struct kernel_event *event) {
    return (uint64_t)(event - recording->events.rows) + 1;
}

static void append_event(struct kernel_recording *recording, const struct kernel_event *event) {
    enum { UPDATE_NAME = 2 };
    struct kernel_stream *stream = &recording->stream;
    kernel_stream_begin(stream, RECORD_HEADER_ATTR, 0);
    kernel_stream_bytes(stream, &event->attr, sizeof event->attr);
    kernel_stream_u64(stream, id_of(recording, event));
    kernel_stream_end(stream);
    kernel_stream_begin(stream, RECORD_EVENT_UPDATE, 0);
    kernel_stream_u64(stream, UPDATE_NAME);
    kernel_stream_u64(stream, id_of(recording, event));
    kernel_stream_name(stream, event->name);
    kernel_stream_end(stream);
}

static void append_head(struct kernel_recording *recording) {
    static const uint64_t header[2] = {0x32454c4946524550 /* PERFILE2 */, sizeof header};
    struct kernel_stream *stream = &recording->stream;
    kernel_stream_raw(stream, header, sizeof header);
    for (size_t i = 0; i < recording->events.count; i++) append_event(recording, &recording->events.rows[i]);
    tracing_formats_append(stream, &recording->events);
    append_machine(stream);
    append_command(stream, &recording->options);
    append_clock(stream);
    append_compression(stream);
    begin_feature(stream, FEATURE_LAST); /* ends the features */
    kernel_stream_end(stream);
}

/* ---- Beginning. ---- */

static unsigned frequency_max_hz(void) {
    unsigned max_hz;
    FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
    bool is_known = file && fscanf(file, "%u", &max_hz) == 1;
    if (file) fclose(file);
    return is_known ? max_hz : UINT32_MAX;
}

/* Returns how much of a stack to copy. Deep stacks should be complete, and only the used part costs time. But each
 * sample reserves the whole size in a ring, and a ring should hold a sixteenth of a second. */
static unsigned stack_bytes_for(size_t ring_bytes, unsigned frequency_hz) {
    enum { FRACTION = 16, BYTES_MIN = 16 * 1024, BYTES_MAX = 65528, ALIGNMENT = 8 };
    size_t bytes = ring_bytes * FRACTION / frequency_hz / ALIGNMENT * ALIGNMENT;
    if (bytes < BYTES_MIN) return BYTES_MIN;
    return bytes < BYTES_MAX ? (unsigned)bytes : BYTES_MAX;
}

/* Returns a time in which samples and switches fill at most half of a ring. It is also short enough for reading command
 * lines, which can be read only while the program runs. */
static int period_for(const struct kernel_recording *recording) {
    enum { MS_PER_S = 1000, PERIOD_MS_MAX = 20, OTHER_FIELDS_BYTES = 4096 };
    enum { SWITCHES_PER_S_MAX = 600000, SWITCH_BYTES = 80 };
    uint64_t bytes_per_s = SWITCHES_PER_S_MAX * SWITCH_BYTES;
    for (size_t i = 0; i < recording->events.count; i++) {
        const struct perf_event_attr *attr = &recording->events.rows[i].attr;
        if (attr->freq) bytes_per_s += attr->sample_freq * (attr->sample_stack_user + OTHER_FIELDS_BYTES);
    }
    uint64_t period_ms = recording->rings.data_bytes / 2 * MS_PER_S / bytes_per_s;
    if (period_ms > PERIOD_MS_MAX) return PERIOD_MS_MAX;
    return period_ms ? (int)period_ms : 1;
}

/* The rings are awaited only for events that may come in any number. The kernel wakes whoever awaits them whenever a
 * thread ends, which makes each thread of the program a quarter more expensive. */
static int poll_fd_for(const struct kernel_recording *recording) {
    for (size_t i = 0; i < recording->events.count; i++)
        if (!recording->events.rows[i].attr.freq) return recording->rings.poll_fd;
    return -1;
}

bool kernel_recording_init(struct kernel_recording *recording, const struct kernel_recording_options *options,
                           const struct proc_ids *tasks, struct failure *failure) {
    const struct kernel_event *refused = NULL;
    unsigned frequency_hz = options->events.frequency_hz;
    unsigned max_hz = frequency_max_hz();
    *recording = (struct kernel_recording){.options = *options, .rings.poll_fd = -1};
    if (frequency_hz > max_hz)
        failure_set(failure, FAILURE_USAGE,
                    "--frequency %u: the kernel takes at most %u samples a second "
                    "(sysctl kernel.perf_event_max_sample_rate)",
                    frequency_hz, max_hz);
    if (failure_is_set(failure)) return false;
    int error = kernel_rings_init(&recording->rings);
    if (!recording->options.events.stack_bytes)
        recording->options.events.stack_bytes = stack_bytes_for(recording->rings.data_bytes, frequency_hz);
    if (!kernel_events_init(&recording->events, &recording->options.events, failure)) return false;
    if (!error) error = kernel_events_open(&recording->events, &recording->rings, tasks, &refused);
    if (error) fail(recording, error, refused, failure);
    recording->period_ms = period_for(recording);
    recording->poll_fd = poll_fd_for(recording);
    for (size_t i = 0; i < recording->events.count; i++) {
        const struct perf_event_attr *attr = &recording->events.rows[i].attr;
        recording->lacks_kernel |= attr->exclude_callchain_kernel; /* the kernel has refused to sample itself */
        recording->has_kernel |= !attr->exclude_kernel;
    }
    return !failure_is_set(failure);
}

void kernel_recording_fini(struct kernel_recording *recording) {
    kernel_events_fini(&recording->events);
    kernel_rings_fini(&recording->rings);
    kernel_stream_fini(&recording->stream);
    proc_ids_fini(&recording->elsewhere);
}

/* ---- Records. ---- */

enum {
    WORD_BYTES = 8,
    /* Fields of all samples before the call chain: identifier, ip, pid and tid, time, processor, period. */
    SAMPLE_HEAD_WORDS = 6
};

static uint64_t word_at(const char *record, size_t at) {
    uint64_t word;
    memcpy(&word, record + at, sizeof word);
    return word;
}

static void set_size(char *record, size_t bytes_count) {
    uint16_t size_bytes = (uint16_t)bytes_count;
    memcpy(record + offsetof(struct perf_event_header, size), &size_bytes, sizeof size_bytes);
}

static bool is_execution(const struct perf_event_header *header) {
    return header->type == PERF_RECORD_COMM && header->misc & PERF_RECORD_MISC_COMM_EXEC;
}

/* Drops the unused end of a copied stack. The kernel reserves the same size for all stacks and stores how much it used.
 */
static size_t trim_stack(const struct perf_event_attr *attr, char *record, size_t bytes_count) {
    size_t at = sizeof(struct perf_event_header) + SAMPLE_HEAD_WORDS * WORD_BYTES;
    at += WORD_BYTES + word_at(record, at) * WORD_BYTES; /* the call chain */
    if (attr->sample_type & PERF_SAMPLE_RAW) at += sizeof(uint32_t) + (uint32_t)word_at(record, at);
    bool has_registers = word_at(record, at); /* their ABI; 0: there are none */
    at += WORD_BYTES + (has_registers ? (size_t)__builtin_popcountll(attr->sample_regs_user) * WORD_BYTES : 0);
    uint64_t copied_bytes = word_at(record, at);
    if (!copied_bytes) return bytes_count;
    uint64_t used_bytes = word_at(record, bytes_count - WORD_BYTES);
    uint64_t kept_bytes = (used_bytes + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
    if (kept_bytes >= copied_bytes) return bytes_count;
    memcpy(record + at, &kept_bytes, sizeof kept_bytes);
    at += WORD_BYTES + kept_bytes;
    if (kept_bytes) {
        memcpy(record + at, &used_bytes, sizeof used_bytes);
        at += WORD_BYTES;
    }
    set_size(record, at);
    return at;
}

/* Counts programs that the kernel refuses to record. If a program has other rights than the user who executes it, the
 * kernel ends the recording of the process after executing the program and before mapping its file, so the process
 * seems to end there. Processes outside of this container have pid 0. */
static void count_refused(struct kernel_recording *recording, const struct perf_event_header *header,
                          const char *record) {
    uint32_t pid = (uint32_t)word_at(record, sizeof *header);
    if (is_execution(header)) {
        recording->executing = pid;
    } else if (pid && pid == recording->executing &&
               (header->type == PERF_RECORD_MMAP2 || header->type == PERF_RECORD_EXIT)) {
        recording->refused_count += header->type == PERF_RECORD_EXIT;
        recording->executing = 0;
    }
}

/* Adds the command line to the record that names an executed program. Returns the new size of the record. */
static size_t add_command_line(char *record, size_t bytes_count) {
    char field[COMMAND_FIELD_BYTES_MAX];
    pid_t pid = (pid_t)word_at(record, sizeof(struct perf_event_header));
    const char *name = record + sizeof(struct perf_event_header) + WORD_BYTES;
    size_t field_bytes = proc_command_field(pid, name, field);
    char *trailer = record + bytes_count - STREAM_TRAILER_BYTES;
    memmove(trailer + field_bytes, trailer, STREAM_TRAILER_BYTES);
    memcpy(trailer, field, field_bytes);
    set_size(record, bytes_count + field_bytes);
    return bytes_count + field_bytes;
}

/* Layout: PERF_RECORD_MMAP2 in linux/perf_event.h. */
static void keep_file(const struct perf_event_header *header, const char *record) {
    enum { START_AT = 16, SIZE_AT = 24, DEVICE_AT = 40, INODE_AT = 48, PATH_AT = 72 };
    enum { ID_SIZE_AT = 40, ID_AT = 44, ID_BYTES_MAX = 20 };
    char build_id[2 * ID_BYTES_MAX + 1] = "";
    if (header->type != PERF_RECORD_MMAP2 || header->misc & PERF_RECORD_MISC_MMAP_DATA) return;
    size_t id_bytes = header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID ? (uint8_t)record[ID_SIZE_AT] : 0;
    if (id_bytes <= ID_BYTES_MAX) text_hex((struct text){record + ID_AT, id_bytes}, build_id);
    struct mapped_file file = {.pid = (pid_t)(uint32_t)word_at(record, sizeof *header),
                               .start = word_at(record, START_AT),
                               .end = word_at(record, START_AT) + word_at(record, SIZE_AT),
                               .build_id = text_of(build_id),
                               .path = record + PATH_AT};
    if (!*build_id) {
        file.major = (uint32_t)word_at(record, DEVICE_AT);
        file.minor = (uint32_t)(word_at(record, DEVICE_AT) >> 32);
        file.inode = word_at(record, INODE_AT);
    }
    kept_files_take(&file);
}

/* Notes a process of a container that has executed a program. If memory runs out, it is not noted. */
static void note_elsewhere(struct kernel_recording *recording, const char *record) {
    struct proc_ids *noted = &recording->elsewhere;
    pid_t pid = (pid_t)word_at(record, sizeof(struct perf_event_header));
    for (size_t i = 0; i < noted->count; i++)
        if (noted->values[i] == pid) return;
    if (pid && proc_is_elsewhere(pid)) proc_ids_add(noted, pid);
}

enum { FORKS_COUNT_MAX = sizeof((struct kernel_forks){0}.rows) / sizeof(struct kernel_fork) };

static struct kernel_fork *fork_at(struct kernel_forks *forks, uint64_t number) {
    return &forks->rows[number % FORKS_COUNT_MAX];
}

static bool is_pending(struct kernel_forks *forks, uint32_t pid) {
    for (uint64_t i = forks->written_count; i < forks->begun_count; i++)
        if (fork_at(forks, i)->pid == pid) return true;
    return false;
}

static void note_task(struct kernel_forks *forks, const struct perf_event_header *header, const char *record) {
    uint64_t ids =
        word_at(record, sizeof *header); /* the process, and the parent for a fork or the thread for a name */
    uint32_t pid = (uint32_t)ids, other = (uint32_t)(ids >> 32);
    bool is_fork = header->type == PERF_RECORD_FORK && pid && pid != other;
    bool is_name = header->type == PERF_RECORD_COMM && !is_execution(header) && pid == other;
    if (is_fork || (is_name && !is_pending(forks, pid)))
        *fork_at(forks, forks->begun_count++) = (struct kernel_fork){pid, now_ns(CLOCK_MONOTONIC)};
    if (forks->begun_count - forks->written_count > FORKS_COUNT_MAX) forks->written_count++;
    for (uint64_t i = forks->written_count; is_execution(header) && i < forks->begun_count; i++)
        if (fork_at(forks, i)->pid == pid) fork_at(forks, i)->pid = 0;
}

/* Appends the titles of processes that began or named themselves a while ago. */
static void append_titles(struct kernel_recording *recording) {
    static const uint64_t TITLE_NS = 100000000;
    struct kernel_forks *forks = &recording->forks;
    uint64_t time_ns = now_ns(CLOCK_MONOTONIC);
    for (; forks->written_count < forks->begun_count; forks->written_count++) {
        const struct kernel_fork *begun = fork_at(forks, forks->written_count);
        if (time_ns - begun->time_ns < TITLE_NS) return;
        if (begun->pid) proc_title_append(&recording->stream, (pid_t)begun->pid, time_ns);
    }
}

/* Replaces the kernel's id with that of the event. Samples have the id first, other records last. */
static void set_id(struct kernel_recording *recording, char *record, size_t bytes_count, bool is_sample) {
    size_t at = is_sample ? sizeof(struct perf_event_header) : bytes_count - WORD_BYTES;
    const struct kernel_event *event = kernel_events_find(&recording->events, word_at(record, at));
    uint64_t id = event ? id_of(recording, event) : 0;
    memcpy(record + at, &id, sizeof id);
}

static size_t visit(void *context, char *record, size_t bytes_count) {
    struct kernel_recording *recording = context;
    struct perf_event_header header;
    memcpy(&header, record, sizeof header);
    set_id(recording, record, bytes_count, header.type == PERF_RECORD_SAMPLE);
    count_refused(recording, &header, record);
    keep_file(&header, record);
    note_task(&recording->forks, &header, record);
    if (header.type == PERF_RECORD_LOST) recording->lost_count += word_at(record, sizeof header + WORD_BYTES);
    if (is_execution(&header)) note_elsewhere(recording, record);
    if (is_execution(&header)) return add_command_line(record, bytes_count);
    if (header.type != PERF_RECORD_SAMPLE) return bytes_count;
    recording->sample_count++;
    const struct perf_event_attr *attr = &recording->events.rows[0].attr;
    return attr->sample_type & PERF_SAMPLE_STACK_USER ? trim_stack(attr, record, bytes_count) : bytes_count;
}

/* ---- Beginning and ending. ---- */

/* Appends the current time, so that the recording covers it even if nothing happens, and how many samples were lost. */
static void append_moment(struct kernel_recording *recording, uint64_t lost_count) {
    kernel_stream_begin(&recording->stream, PERF_RECORD_LOST_SAMPLES, 0);
    kernel_stream_u64(&recording->stream, lost_count);
    kernel_stream_end_dated(&recording->stream, now_ns(CLOCK_MONOTONIC));
}

/* Describes the processes one by one, and drains the rings in between so that they do not overflow. The records from
 * the rings come after all descriptions. */
static void describe(struct kernel_recording *recording, const struct proc_ids *processes) {
    struct kernel_stream *stream = &recording->stream, records;
    int fd = memfd_create("gecko-convert", MFD_CLOEXEC);
    if (fd < 0)
        failure_set(stream->failure, FAILURE_IO, "cannot keep what happens at the beginning: %s", strerror(errno));
    kernel_stream_init(&records, fd, stream->failure);
    for (size_t i = 0; i < processes->count && !failure_is_set(stream->failure); i++) {
        recording->hidden_count += !proc_process_append(stream, processes->values[i]);
        kernel_rings_drain(&recording->rings, &records, visit, recording);
    }
    kernel_stream_flush(&records);
    kernel_stream_fini(&records);
    kernel_stream_copy(stream, fd);
    if (fd >= 0) close(fd);
}

/* Begins to record running processes. Recording begins before they are described, so a process that starts meanwhile
 * may be described twice, but none is missed. */
static void attach_running(struct kernel_recording *recording, const struct proc_ids *processes) {
    struct proc_ids all = {0};
    kernel_events_enable(&recording->events);
    append_moment(recording, 0);
    if (recording->options.events.is_system_wide) {
        proc_ids_read(&all, "/proc");
        processes = &all;
    }
    describe(recording, processes);
    proc_ids_fini(&all);
}

/* Returns why the kernel's functions have no names. Call this after its list of symbols turned out to be useless. */
static const char *nameless_kernel_reason(void) {
    char first;
    if (!regular_file_start("/proc/kallsyms", &first, sizeof first).bytes_count)
        return "their list, /proc/kallsyms, is empty or cannot be read";
    return "that needs CAP_SYSLOG, or sysctl kernel.kptr_restrict=0 and kernel.perf_event_paranoid=1";
}

void kernel_recording_begin(struct kernel_recording *recording, int fd, const struct proc_ids *processes,
                            struct failure *failure) {
    kernel_stream_init(&recording->stream, fd, failure);
    kept_files_begin(fd);
    append_head(recording);
    kernel_stream_compress(&recording->stream);
    if (recording->has_kernel && !proc_kernel_append(&recording->stream))
        recording->nameless_reason = nameless_kernel_reason();
    if (!recording->options.events.begins_on_exec) attach_running(recording, processes);
    kernel_stream_flush(&recording->stream);
}

void kernel_recording_add(struct kernel_recording *recording, pid_t task, struct failure *failure) {
    const struct kernel_event *refused;
    int error = kernel_events_add(&recording->events, &recording->rings, task, &refused);
    if (error) fail(recording, error, refused, failure);
}

/* Writes the buffer when it is half full or a second old: small parts compress badly, and unwritten data is lost if
 * this program is killed. */
static void flush_periodically(struct kernel_recording *recording) {
    enum { FLUSHED_BYTES_MIN = STREAM_BUFFER_BYTES / 2, FLUSH_NS = 1000000000 };
    uint64_t time_ns = now_ns(CLOCK_MONOTONIC);
    if (recording->stream.bytes_count < FLUSHED_BYTES_MIN && time_ns - recording->flushed_ns < FLUSH_NS) return;
    kernel_stream_flush(&recording->stream);
    recording->flushed_ns = time_ns;
}

void kernel_recording_take(struct kernel_recording *recording) {
    if (failure_is_set(recording->stream.failure)) return;
    kernel_rings_drain(&recording->rings, &recording->stream, visit, recording);
    append_titles(recording);
    flush_periodically(recording);
}

void kernel_recording_end(struct kernel_recording *recording) {
    kernel_events_disable(&recording->events);
    kernel_recording_take(recording);
    append_moment(recording, kernel_events_lost(&recording->events));
    kernel_stream_flush(&recording->stream);
}
