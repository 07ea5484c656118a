#include "session.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "allocations.h"
#include "clock.h"
#include "counters.h"
#include "definitions.h"
#include "libraries.h"
#include "own_files.h"
#include "own_thread.h"
#include "process.h"
#include "sampled_thread.h"
#include "sampler.h"
#include "writer.h"

uint32_t grec_recording_;
uint32_t grec_labelling_;
struct pool session_pool = {.file = -1};
uint32_t session_generation;
uint64_t session_first_uid;

enum { WORDS_BYTES = 512, PATTERN_BYTES = POOL_PATH_BYTES };

#define DEFAULT_PATH "%e-%p.trace"

static const uint64_t DEFAULT_LIMIT_BYTES = 128u * 1024 * 1024;

enum {
    DEFAULT_CHUNK_BYTES = 64 * 1024,
    SMALL_LIMIT_CHUNK_COUNT = 64, /* what a small limit is at least divided into */
    CHUNK_COUNT_MIN = 16,
    KNOWN_FLAGS = GREC_NO_CHILDREN | GREC_NO_HELPER | GREC_SAMPLER | GREC_ALL_THREADS,
    /* How long a thread may stay in a recording call before it is given up: it was stopped, or never runs again. */
    QUIESCE_NS = 1000000000,
    HELPER_LOOK_NS = 900000000,
};

/* What was asked for, with the defaults filled in. */
struct settings {
    char path[PATTERN_BYTES];
    char threads[WORDS_BYTES];
    char product[GREC_NAME_BYTES_MAX + 1];
    uint64_t limit_bytes;
    uint32_t chunk_bytes;
    uint32_t storage;
    uint32_t flags;
    uint32_t interval_us;
};

/* Guarded by the mutex; what recording calls look at changes only while there are none. */
static struct {
    pthread_mutex_t mutex;
    struct settings settings;
    bool is_initialized;
    bool is_recording;
    bool is_paused;
    bool has_membarrier;
    bool is_helper_told_to_end;
    bool is_confined;        /* by a filter of system calls, which threads inherit */
    uint32_t holder_tid;     /* of the mutex */
    uint64_t owner_start_ns; /* of the process that created the trace; 0: another program did */
    struct own_thread helper;
} session = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void lock(void) {
    pthread_mutex_lock(&session.mutex);
    __atomic_store_n(&session.holder_tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
}

static void unlock(void) {
    __atomic_store_n(&session.holder_tid, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&session.mutex);
}

/* ---- Counts. ---- */

void session_count_cut_text(void) {
    if (session_pool.base) __atomic_fetch_add(&session_pool.header->cut_text_count, 1, __ATOMIC_RELAXED);
}

void session_count_mismatched(uint64_t count) {
    if (session_pool.base) __atomic_fetch_add(&session_pool.header->mismatched_value_count, count, __ATOMIC_RELAXED);
}

void session_count_stale_marker(void) {
    if (session_pool.base) __atomic_fetch_add(&session_pool.header->stale_marker_count, 1, __ATOMIC_RELAXED);
}

/* ---- Settings. ---- */

const char *grec_error_text(int error) {
    static const char *const texts[GREC_ERROR_COUNT] = {
        [GREC_OK] = "no error",
        [GREC_ERROR_OPTIONS] = "an option is out of its range",
        [GREC_ERROR_STORAGE] = "the trace cannot be created or written",
        [GREC_ERROR_MEMORY] = "there is no memory for the recording",
        [GREC_ERROR_STATE] = "nothing is being recorded",
    };
    return error >= 0 && error < GREC_ERROR_COUNT ? texts[error] : "unknown error";
}

/* Appends; false when it does not fit. */
static bool append_text(char *to, size_t to_bytes, const char *text) {
    size_t length = strlen(to), added = strlen(text);
    if (length + added >= to_bytes) return false;
    memcpy(to + length, text, added + 1);
    return true;
}

/* %p, %e and %% of a path. */
static bool expand_path(const char *pattern, char path[PATTERN_BYTES]) {
    path[0] = '\0';
    for (const char *at = pattern; *at; at++) {
        char piece[32] = {*at};
        const char *text = piece;
        if (at[0] == '%' && at[1]) {
            at++;
            if (*at == 'p')
                snprintf(piece, sizeof piece, "%ld", (long)getpid());
            else if (*at == 'e')
                text = program_invocation_short_name;
            else if (*at != '%')
                return false;
        }
        if (!append_text(path, PATTERN_BYTES, text)) return false;
    }
    return path[0] != '\0';
}

static uint32_t default_chunk_bytes(uint64_t limit_bytes) {
    uint32_t chunk_bytes = DEFAULT_CHUNK_BYTES;
    while (chunk_bytes > TRACE_CHUNK_BYTES_MIN && limit_bytes / chunk_bytes < SMALL_LIMIT_CHUNK_COUNT) chunk_bytes /= 2;
    return chunk_bytes;
}

static bool is_chunk_size(uint32_t bytes) {
    return bytes >= TRACE_CHUNK_BYTES_MIN && bytes <= TRACE_CHUNK_BYTES_MAX && (bytes & (bytes - 1)) == 0;
}

static bool copy_text(char *to, size_t to_bytes, const char *text) {
    to[0] = '\0';
    return append_text(to, to_bytes, text);
}

static enum session_option settle_options(const struct grec_options *options, struct settings *settings) {
    *settings =
        (struct settings){.limit_bytes = options->limit_bytes ? options->limit_bytes : DEFAULT_LIMIT_BYTES,
                          .storage = options->storage,
                          .flags = options->flags,
                          .interval_us = options->interval_us ? options->interval_us : SAMPLER_INTERVAL_US_DEFAULT};
    settings->chunk_bytes = options->chunk_bytes ? options->chunk_bytes : default_chunk_bytes(settings->limit_bytes);
    if (settings->storage > GREC_STORAGE_MEMORY || settings->flags & ~(uint32_t)KNOWN_FLAGS ||
        settings->interval_us < SAMPLER_INTERVAL_US_MIN)
        return SESSION_OPTION_OTHER;
    if (!is_chunk_size(settings->chunk_bytes)) return SESSION_OPTION_CHUNK;
    if (settings->limit_bytes / settings->chunk_bytes < CHUNK_COUNT_MIN) return SESSION_OPTION_LIMIT;
    if (!expand_path(options->path ? options->path : DEFAULT_PATH, settings->path)) return SESSION_OPTION_PATH;
    if (!copy_text(settings->threads, sizeof settings->threads, options->threads ? options->threads : ""))
        return SESSION_OPTION_THREADS;
    bool is_named = copy_text(settings->product, sizeof settings->product, options->product ? options->product : "");
    return is_named ? SESSION_OPTION_NONE : SESSION_OPTION_OTHER;
}

enum session_option session_find_refused(const struct grec_options *options) {
    struct settings settings;
    return settle_options(options, &settings);
}

static bool contains_word(const char *name, uint32_t name_bytes, const char *word, size_t word_bytes) {
    for (uint32_t i = 0; i + word_bytes <= name_bytes; i++) {
        size_t j = 0;
        while (j < word_bytes && tolower((unsigned char)name[i + j]) == tolower((unsigned char)word[j])) j++;
        if (j == word_bytes) return true;
    }
    return false;
}

bool session_has_thread_filter(void) { return *session.settings.threads; }

bool session_wants_thread(const char *name, uint32_t name_bytes_count) {
    const char *words = session.settings.threads;
    /* What the sampler writes is of others. */
    bool is_sampler = name_bytes_count == sizeof SAMPLER_THREAD_NAME - 1 &&
                      !memcmp(name, SAMPLER_THREAD_NAME, sizeof SAMPLER_THREAD_NAME - 1);
    if (!*words || is_sampler) return true;
    while (*words) {
        size_t word_bytes = strcspn(words, ",");
        if (word_bytes && contains_word(name, name_bytes_count, words, word_bytes)) return true;
        words += word_bytes;
        if (*words == ',') words++;
    }
    return false;
}

/* ---- The helper thread, which keeps chunks ready. ---- */

static void help(void) {
    pool_restore_file(&session_pool);
    while (!own_thread_is_alone(&session.helper, clock_ns_of(CLOCK_MONOTONIC))) {
        uint32_t seen = __atomic_load_n(&session_pool.shared->helper_word, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&session.is_helper_told_to_end, __ATOMIC_ACQUIRE)) return;
        if (!pool_reserve_ahead(&session_pool)) return;
        /* The sampler looks more often, and wakes this thread when those of the program have ended. */
        bool has_sampler = session.settings.flags & GREC_SAMPLER;
        pool_wait_for_wake(&session_pool, seen, has_sampler ? HELPER_LOOK_NS : OWN_THREAD_LOOK_NS);
    }
}

/* Without it, threads prepare their chunks themselves. */
static void start_helper(void) {
    if (session.settings.flags & GREC_NO_HELPER || session.is_confined) return;
    session.is_helper_told_to_end = false;
    /* Here, and not in the thread, so that the sampler never finds it without its name. */
    if (own_thread_start(&session.helper, help, session_pool.file)) pthread_setname_np(session.helper.handle, HELPER_THREAD_NAME);
}

void session_reserve_ahead(void) {
    if (!session.helper.is_running && pool_is_low(&session_pool)) pool_reserve_ahead(&session_pool);
}

static void end_helper(void) {
    if (!session.helper.is_running) return;
    __atomic_store_n(&session.is_helper_told_to_end, true, __ATOMIC_RELEASE);
    pool_wake_helper(&session_pool);
    own_thread_join(&session.helper);
}

/* Of a process that came to the recording of another one: the trace is that one's. */
static bool is_guest(void) {
    bool is_new;
    return session.owner_start_ns != process_self(&is_new)->start_ns;
}

/* ---- The sampler. ---- */

/* After recording is on, or at least the pool there: it records. */
static void start_sampler(void) {
    const struct sampler_options options = {.interval_us = session.settings.interval_us,
                                            .takes_all_threads = session.settings.flags & GREC_ALL_THREADS,
                                            .begins_late = is_guest()};
    if (!(session.settings.flags & GREC_SAMPLER) || session.is_confined) return;
    if (!sampler_start(&options)) recording_write_message("there is no thread for the sampler: nothing is sampled");
}

static void end_threads(bool is_process_ending) {
    sampler_stop(is_process_ending);
    end_helper();
}

/* ---- Programs that need to have one thread, or confine theirs. ---- */

/* A handler may make such a call in the middle of one of these functions. */
bool session_be_alone(void) {
    bool is_holder = __atomic_load_n(&session.holder_tid, __ATOMIC_RELAXED) == (uint32_t)syscall(SYS_gettid);
    if (is_holder || !own_thread_count()) return false;
    lock();
    end_threads(false);
    return true;
}

void session_end_being_alone(void) {
    if (session.is_recording) {
        start_helper();
        start_sampler();
    }
    unlock();
}

void session_prepare_filter(bool is_for_all_threads) {
    bool is_alone = is_for_all_threads && session_be_alone();
    session.is_confined = true;
    if (is_alone) session_end_being_alone();
}

/* ---- Switching recording on and off. ---- */

static void set_recording(bool is_on) {
    bool is_by_clock = recorder_clock.kind == TRACE_CLOCK_MONOTONIC || clock_is_counter_forbidden();
    uint32_t on = is_by_clock ? RECORDING_BY_CLOCK : RECORDING_BY_COUNTER;
    __atomic_store_n(&grec_recording_, is_on ? on : 0, __ATOMIC_SEQ_CST);
}

/* Between the two steps a recording call of another thread may still read the counter, as it may: the calling thread is
 * the one that is going to be forbidden to. */
void session_forbid_counter(void) {
    uint32_t by_counter = RECORDING_BY_COUNTER;
    clock_forbid_counter();
    __atomic_compare_exchange_n(&grec_recording_, &by_counter, (uint32_t)RECORDING_BY_CLOCK, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_RELAXED);
}

static void set_labelling(bool is_on) { __atomic_store_n(&grec_labelling_, is_on, __ATOMIC_RELAXED); }

static long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

/* After this, every thread that has not yet said that it is in a recording call will see that recording is off. The
 * system call is a full barrier in the calling thread too. */
void session_fence(void) {
    if (session.has_membarrier && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
    /* Long enough for any store to have left its processor. */
    usleep(10000);
}

struct quiescence {
    uint64_t deadline_ns;
    bool is_complete; /* no thread was given up */
};

static void await_thread(struct thread_writers *thread, void *context) {
    struct quiescence *quiescence = context;
    if (thread == thread_writers_self) return;
    while (__atomic_load_n(&thread->depth, __ATOMIC_ACQUIRE)) {
        if (clock_ns_of(CLOCK_MONOTONIC) > quiescence->deadline_ns) {
            writers_abandon(thread);
            quiescence->is_complete = false;
            return;
        }
        usleep(50);
    }
    writers_close(thread);
}

/* Recording is off; all chunks of this process are complete. False: but for those of threads that were given up. */
static bool quiesce(void) {
    set_recording(false);
    session_fence();
    struct quiescence quiescence = {.deadline_ns = clock_ns_of(CLOCK_MONOTONIC) + QUIESCE_NS, .is_complete = true};
    thread_registry_each(await_thread, &quiescence);
    if (thread_writers_self) writers_close(thread_writers_self);
    pool_seal_partial(&session_pool);
    return quiescence.is_complete;
}

static void forget_pool(bool is_unmappable) {
    if (is_unmappable)
        pool_close(&session_pool);
    else
        session_pool = (struct pool){.file = -1};
}

/* ---- Facts about machine and program. ---- */

static bool read_file(const char *path, char *bytes, size_t bytes_count) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t count = read(file, bytes, bytes_count - 1);
    close(file);
    if (count <= 0) return false;
    bytes[count] = '\0';
    for (ssize_t i = 0; i + 1 < count; i++)
        if (!bytes[i]) bytes[i] = ' '; /* between arguments */
    return true;
}

static void describe_cpu(void) {
    char info[4096];
    if (!read_file("/proc/cpuinfo", info, sizeof info)) return;
    char *name = strstr(info, "model name");
    if (name) name = strchr(name, ':');
    if (!name) return;
    name += strspn(name, ": \t");
    name[strcspn(name, "\n")] = '\0';
    definition_add_meta("CPUName", name);
}

static void describe_number(const char *key, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    definition_add_meta(key, text);
}

static void describe(void) {
    char arguments[GREC_NAME_BYTES_MAX + 1];
    char os[sizeof(struct utsname)];
    struct utsname machine;
    definition_add_meta("recorder", GREC_VERSION);
    definition_add_meta("product",
                        *session.settings.product ? session.settings.product : program_invocation_short_name);
    if (read_file("/proc/self/cmdline", arguments, sizeof arguments)) definition_add_meta("arguments", arguments);
    if (uname(&machine) == 0) {
        snprintf(os, sizeof os, "%s %s %s", machine.sysname, machine.release, machine.machine);
        definition_add_meta("oscpu", os);
        definition_add_meta("platform", machine.sysname);
        definition_add_meta("abi", machine.machine);
    }
    describe_cpu();
    long cpu_count = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (cpu_count > 0) describe_number("logicalCPUs", (uint64_t)cpu_count);
    if (pages > 0 && page > 0) describe_number("mainMemory", (uint64_t)pages * (uint64_t)page);
}

/* ---- Starting. ---- */

static bool initialize(void) {
    bool is_new;
    if (session.is_initialized) return true;
    if (!process_init()) return false;
    process_self(&is_new);
    session.has_membarrier = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
    session.is_initialized = true;
    return true;
}

static int error_of_errno(void) { return errno == ENOMEM || errno == EAGAIN ? GREC_ERROR_MEMORY : GREC_ERROR_STORAGE; }

static bool create_pool(struct pool *pool, const struct settings *settings) {
    struct pool_options options = {.path = settings->storage == GREC_STORAGE_FILE ? settings->path : NULL,
                                   .limit_bytes = settings->limit_bytes,
                                   .chunk_bytes = settings->chunk_bytes,
                                   .own = session.is_recording ? &session_pool : NULL};
    return pool_create(pool, &options);
}

/* Threads that end while nothing is recorded look at it too. */
static void raise_generation(void) { __atomic_store_n(&session_generation, session_generation + 1, __ATOMIC_RELEASE); }

static bool has_failed(void) {
    return __atomic_load_n(&session_pool.header->stop_reason, __ATOMIC_RELAXED) != TRACE_STOP_NONE;
}

/* Says that a pause is over, and what came of counters and memory in it. */
static void write_resume(void) {
    recording_write_mark(TRACE_RESUME);
    counters_resume();
    allocations_resume();
}

static void begin_recording(bool is_paused) {
    session.is_recording = true;
    session.is_paused = is_paused;
    set_labelling(true);
    start_helper();
    if (!is_paused) set_recording(true);
    start_sampler();
}

static void stop_locked(bool is_process_ending);

/* A recording that is on ends when the new one can begin. */
static int start_new(const struct settings *settings) {
    struct pool pool;
    bool is_new;
    const struct process_state *process = process_self(&is_new);
    if (!create_pool(&pool, settings)) return error_of_errno();
    if (!pool_take_pinned(&pool, process->pid, 1)) {
        pool_discard(&pool);
        return GREC_ERROR_STORAGE;
    }
    if (!pool_publish(&pool)) return error_of_errno();
    stop_locked(false);
    pool_close(&session_pool);
    session_pool = pool;
    session.settings = *settings;
    session.owner_start_ns = process->start_ns;
    session_first_uid = 0;
    raise_generation();
    counters_forget();
    allocations_forget();
    describe();
    begin_recording(false);
    return GREC_OK;
}

/* ---- Going on under other options. ---- */

/* What zero means while recording: as it is. */
static bool settle_new_options(const struct grec_options *options, struct settings *settings) {
    struct grec_options asked = *options;
    const struct settings *old = &session.settings;
    bool keeps_path = !options->path;
    if (!asked.limit_bytes) asked.limit_bytes = old->limit_bytes;
    if (!asked.threads) asked.threads = old->threads;
    if (!asked.product) asked.product = old->product;
    if (!asked.interval_us) asked.interval_us = old->interval_us;
    asked.chunk_bytes = old->chunk_bytes;
    if (settle_options(&asked, settings)) return false;
    if (keeps_path) memcpy(settings->path, old->path, sizeof settings->path);
    return true;
}

static bool is_same_pool(const struct settings *a, const struct settings *b) {
    return a->limit_bytes == b->limit_bytes && a->storage == b->storage;
}

/* The copy's chunks are those of the old pool; ids and threads stay what they are. */
static bool copy_into(struct pool *pool) {
    if (pool_copy(&session_pool, pool)) return pool_publish(pool);
    pool_discard(pool);
    return false;
}

/* Other processes go on in the old file, which so stays. */
static void leave_old_pool(bool is_unmappable) {
    bool is_alone = __atomic_load_n(&session_pool.shared->process_count, __ATOMIC_ACQUIRE) == 1;
    char path[POOL_PATH_BYTES];
    memcpy(path, session_pool.path, sizeof path);
    pool_leave(&session_pool);
    forget_pool(is_unmappable);
    if (is_alone && *path) unlink(path);
}

static int replace_pool(const struct settings *settings, bool is_quiet) {
    struct pool pool;
    if (!create_pool(&pool, settings) || !copy_into(&pool)) return error_of_errno();
    /* The new file has taken the old one's name when only the limit changed. */
    if (!strcmp(session_pool.path, pool.path)) session_pool.path[0] = '\0';
    leave_old_pool(is_quiet);
    session_pool = pool;
    return GREC_OK;
}

/* Changes what recording threads look at, for which they have to be out of their calls: the profile shows a pause. */
static int change_settings(const struct settings *settings, bool replaces_pool) {
    bool was_paused = session.is_paused;
    recording_write_mark(TRACE_PAUSE);
    end_threads(false);
    bool is_quiet = quiesce();
    int error = replaces_pool ? replace_pool(settings, is_quiet) : GREC_OK, saved_errno = errno;
    if (error == GREC_OK) session.settings = *settings;
    bool has_product = error == GREC_OK && *settings->product;
    if (has_product) definition_add_meta("product", settings->product);
    if (has_failed()) return error;
    begin_recording(was_paused);
    if (!was_paused) write_resume();
    errno = saved_errno;
    return error;
}

static bool is_same_text(const char *a, const char *b) { return strcmp(a, b) == 0; }

static int go_on(const struct grec_options *options) {
    struct settings settings;
    const struct settings *old = &session.settings;
    if (!options) return GREC_OK;
    if (!settle_new_options(options, &settings)) return GREC_ERROR_OPTIONS;
    /* A guest that wants a trace elsewhere begins one of its own. */
    if (is_guest() && options->path) return start_new(&settings);
    if (!is_same_pool(&settings, old)) return change_settings(&settings, true);
    bool is_renamed = settings.storage == GREC_STORAGE_FILE && !is_same_text(settings.path, old->path);
    if (is_renamed && !pool_rename(&session_pool, settings.path)) {
        if (errno != EXDEV) return error_of_errno();
        return change_settings(&settings, true);
    }
    bool is_unseen = is_same_text(settings.threads, old->threads) && is_same_text(settings.product, old->product) &&
                     settings.flags == old->flags && settings.interval_us == old->interval_us;
    if (!is_unseen) return change_settings(&settings, false);
    memcpy(session.settings.path, settings.path, sizeof settings.path);
    return GREC_OK;
}

static int start_locked(const struct grec_options *options) {
    static const struct grec_options defaults;
    struct settings settings;
    if (!initialize()) return GREC_ERROR_MEMORY;
    clock_init();
    if (session.is_recording) return go_on(options);
    if (settle_options(options ? options : &defaults, &settings)) return GREC_ERROR_OPTIONS;
    return start_new(&settings);
}

int grec_start(const struct grec_options *options) {
    lock();
    int error = start_locked(options);
    unlock();
    return error;
}

bool session_join(const char *path, uint64_t session_id, const struct grec_options *options) {
    struct settings settings;
    struct pool pool;
    errno = 0;
    if (session.is_recording || !initialize() || settle_options(options, &settings)) return false;
    if (!pool_join(&pool, path, session_id)) return false;
    settings.chunk_bytes = pool.chunk_bytes;
    settings.limit_bytes = pool.header->limit_bytes ? pool.header->limit_bytes : GREC_UNLIMITED;
    copy_text(settings.path, sizeof settings.path, pool.path);
    settings.flags |= GREC_NO_HELPER; /* the one that was here first has one */
    session_pool = pool;
    session.settings = settings;
    session.owner_start_ns = 0;
    session_first_uid = 0;
    raise_generation();
    begin_recording(false);
    return true;
}

bool session_would_replace(const struct grec_options *options, uint64_t session_id) {
    struct settings settings;
    struct trace_header header;
    if (options->storage != GREC_STORAGE_FILE || settle_options(options, &settings)) return false;
    int file = open(settings.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    bool is_whole = read(file, &header, sizeof header) == (ssize_t)sizeof header;
    close(file);
    return is_whole && !memcmp(header.magic, TRACE_MAGIC, TRACE_MAGIC_BYTES) && header.session_id == session_id;
}

bool session_location(const char **path, uint64_t *session_id) {
    if (!session.is_recording || !*session_pool.path || session.settings.flags & GREC_NO_CHILDREN) return false;
    *path = session_pool.path;
    *session_id = session_pool.header->session_id;
    return true;
}

/* ---- Pausing, stopping, saving. ---- */

void grec_pause(void) {
    lock();
    if (session.is_recording && !session.is_paused) {
        recording_write_mark(TRACE_PAUSE);
        set_recording(false);
        session.is_paused = true;
    }
    unlock();
}

void grec_resume(void) {
    lock();
    if (session.is_recording && session.is_paused) {
        session.is_paused = false;
        if (!has_failed()) {
            set_recording(true);
            write_resume();
        }
    }
    unlock();
}

/* A process may end before the sampler's second round: that it was there is to be seen all the same. */
static void mark_unsampled(grec_time end) {
    static struct grec_marker marker = GREC_MARKER("Process without samples", NULL, NULL);
    bool is_new;
    struct grec_marker_options options = {.phase = GREC_PHASE_INTERVAL, .end = end};
    if (!(session.settings.flags & GREC_SAMPLER) || sampled_threads_are_there()) return;
    if (is_guest()) options.start = grec_time_from_clock_ns(process_self(&is_new)->start_ns);
    grec_add_marker(&marker, &options, NULL, 0);
}

/* The end of the process frees what is mapped, in less time. */
static void stop_locked(bool is_process_ending) {
    if (!session.is_recording) return;
    grec_time end = grec_now();
    recording_write_mark(TRACE_PROCESS_END);
    end_threads(is_process_ending);
    mark_unsampled(end);
    bool is_quiet = quiesce();
    if (is_quiet && !is_process_ending) sampler_forget();
    recording_flush_lost();
    session.is_recording = false;
    set_labelling(false);
    session.is_paused = false;
    pool_leave(&session_pool);
    /* What is in memory can still be saved. */
    if (session.settings.storage == GREC_STORAGE_FILE || !is_quiet) forget_pool(is_quiet && !is_process_ending);
}

void grec_stop(void) {
    lock();
    stop_locked(false);
    unlock();
}

static int save_locked(const char *path) {
    if (!session_pool.base) return GREC_ERROR_STATE;
    if (!path) {
        if (session.settings.storage != GREC_STORAGE_MEMORY) return GREC_ERROR_OPTIONS;
        return pool_save(&session_pool, session.settings.path) ? GREC_OK : error_of_errno();
    }
    char expanded[PATTERN_BYTES];
    if (!expand_path(path, expanded)) return GREC_ERROR_OPTIONS;
    return pool_save(&session_pool, expanded) ? GREC_OK : error_of_errno();
}

int grec_save(const char *path) {
    lock();
    int error = save_locked(path);
    unlock();
    return error;
}

static uint64_t load(const uint64_t *count) { return __atomic_load_n(count, __ATOMIC_RELAXED); }

_Static_assert(sizeof(struct grec_status) == offsetof(struct grec_status, markers_stale) + sizeof(uint32_t),
               "programs that were built before there was the last member have room for it");

void grec_get_status(struct grec_status *status) {
    if (!status) return;
    memset(status, 0, sizeof *status);
    lock();
    status->is_recording = session.is_recording;
    status->is_paused = session.is_paused;
    if (session_pool.base) {
        const struct trace_header *header = session_pool.header;
        recording_flush_lost();
        snprintf(status->path, sizeof status->path, "%s", session_pool.path);
        status->size_bytes = header->chunks_offset + load(&header->chunk_count) * header->chunk_bytes;
        status->limit_bytes = header->limit_bytes ? header->limit_bytes : GREC_UNLIMITED;
        status->chunks_recycled = load(&header->recycled_chunk_count);
        status->events_lost = load(&header->lost_event_count);
        status->texts_cut = load(&header->cut_text_count);
        status->definitions_lost = load(&header->lost_definition_count);
        status->values_mismatched = load(&header->mismatched_value_count);
        status->stop_errno = (int)__atomic_load_n(&header->stop_errno, __ATOMIC_RELAXED);
        uint64_t stale_count = load(&header->stale_marker_count);
        status->markers_stale = stale_count < UINT32_MAX ? (uint32_t)stale_count : UINT32_MAX;
    }
    unlock();
}

static void say(const char *text) { own_files_say(text, strlen(text)); }

static const char *describe_error(int error) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
    const char *text = strerrordesc_np(error);
    return text ? text : "error";
#else
    return error == ENOSPC ? "no space left on device" : error == EFBIG ? "file too large" : "error";
#endif
}

/* The application goes on. Who finds out first says so, once for all processes of the trace. */
void session_storage_failed(int error) {
    struct trace_header *header = session_pool.base ? session_pool.header : NULL;
    uint32_t none = TRACE_STOP_NONE;
    set_recording(false);
    if (!header) return;
    __atomic_store_n(&header->stop_errno, (uint32_t)error, __ATOMIC_RELAXED);
    __atomic_store_n(&header->stop_ticks, clock_ticks(), __ATOMIC_RELAXED);
    if (!__atomic_compare_exchange_n(&header->stop_reason, &none, (uint32_t)TRACE_STOP_STORAGE, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    int saved_errno = errno;
    say("gecko-recorder: recording stopped: ");
    say(session_pool.path);
    say(" cannot grow: ");
    say(describe_error(error));
    say("\n");
    errno = saved_errno;
}

/* ---- Children, beginning and end of the process. ---- */

bool session_enter_child(void) {
    bool is_part = session.is_recording && !(session.settings.flags & GREC_NO_CHILDREN) && pool_enter(&session_pool);
    own_thread_forget(&session.helper);
    sampler_leave_parent();
    if (is_part) {
        session_first_uid = load(&session_pool.header->next_thread_uid);
        libraries_enter_child();
        return true;
    }
    set_recording(false);
    session.is_recording = false;
    set_labelling(false);
    return false;
}

/* A signal handler may fork in the middle of a recording call, or of one of these functions. Its child, should it
 * return from the handler, goes on with that: in memory of its own, without recording. */
static struct {
    bool is_locked;
    bool is_within_call;
    bool can_sample;
    struct thread_writers writers;
} at_fork;

static void prepare_fork(void) {
    struct thread_writers *thread = thread_writers_self;
    bool is_holder = __atomic_load_n(&session.holder_tid, __ATOMIC_RELAXED) == (uint32_t)syscall(SYS_gettid);
    if (!is_holder) lock();
    at_fork.is_locked = !is_holder;
    at_fork.is_within_call = is_holder || (thread && thread->depth);
    if (at_fork.is_within_call && thread) at_fork.writers = *thread;
    at_fork.can_sample = libraries_prepare_fork();
}

static void settle_in_parent(void) {
    libraries_settle_fork(false);
    if (at_fork.is_locked) unlock();
}

static void detach_child(void) {
    set_recording(false);
    session.is_recording = false;
    set_labelling(false);
    own_thread_forget(&session.helper);
    sampler_leave_parent();
    if (thread_writers_self) *thread_writers_self = at_fork.writers;
    if (!session_pool.base) return;
    mmap(session_pool.base, session_pool.mapped_bytes, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void settle_in_child(void) {
    bool is_new;
    libraries_settle_fork(true);
    session.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (at_fork.is_locked) session.holder_tid = 0;
    if (!session.is_initialized) return;
    process_self(&is_new);
    if (!is_new) return;
    if (at_fork.is_within_call) {
        detach_child();
        return;
    }
    thread_registry_reclaim();
    if (thread_record_self) thread_record_start(thread_record_self, clock_ticks());
    counters_forget();
    if (session_enter_child() && at_fork.can_sample) start_sampler();
}

/* Threads may register themselves before anything is recorded. What only a recording needs has to wait: many programs
 * load this library and record nothing. */
__attribute__((constructor)) static void begin_process(void) {
    thread_registry_init();
    pthread_atfork(prepare_fork, settle_in_parent, settle_in_child);
    session_start_from_environment();
}

/* A process that is killed does not come here, and leaves its chunks as they are. */
__attribute__((destructor)) static void end_process(void) {
    lock();
    bool is_saved_at_end =
        session.is_recording && session.settings.storage == GREC_STORAGE_MEMORY && session_is_from_environment();
    stop_locked(true);
    if (is_saved_at_end && save_locked(NULL) != GREC_OK)
        fprintf(stderr, "gecko-recorder: %s cannot be written: %s\n", session.settings.path, describe_error(errno));
    unlock();
}
