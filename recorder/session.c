#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "environment.h"
#include "machine.h"
#include "recorder/pool/chunk_pool.h"
#include "recorder/sample/libraries.h"
#include "recorder/sample/own_signal.h"
#include "recorder/sample/own_thread.h"
#include "recorder/sample/sampler.h"
#include "recorder/state/clock.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/write/allocations.h"
#include "recorder/write/counters.h"
#include "recorder/write/definitions.h"
#include "recorder/write/sampled_thread.h"
#include "recorder/write/writer.h"
#include "settings.h"

uint32_t grec_labelling_;

enum {
    /* How long to wait for a thread to leave its recording call: it may be stopped, or never run again. */
    QUIESCE_NS = 1000000000,
    HELPER_CHECK_NS = 900000000,
};

/* Guarded by the mutex. */
static struct {
    pthread_mutex_t mutex;
    struct settings settings;
    bool is_initialized;
    bool is_recording;
    bool is_paused;
    bool is_sampling_paused;
    bool is_over; /* another process has stopped the recording, and this one has not yet left it */
    bool is_helper_told_to_end;
    bool is_forked;              /* the process records because its parent did */
    bool is_sampler_missing;     /* the settings ask for a sampler, and the process has none yet */
    bool has_helper_and_sampler; /* written only while there is no helper, which reads it without the mutex */
    bool is_confined;            /* by a filter of system calls, which new threads inherit */
    bool is_silenced;            /* a filter would end the process for the recorder's calls; forks see no change */
    uint32_t holder_tid;         /* the thread that holds the mutex */
    uint64_t owner_start_ns;     /* start_ns of the process that created the trace; 0: another program created it */
    struct own_thread helper;
} session = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool enter_child(void);

static bool is_holder(void) {
    return __atomic_load_n(&session.holder_tid, __ATOMIC_RELAXED) == (uint32_t)syscall(SYS_gettid);
}

/* A child that was made by clone finds out here, or when it records, that it is a process of its own. */
static void lock(void) {
    if (process_is_new()) enter_child();
    pthread_mutex_lock(&session.mutex);
    __atomic_store_n(&session.holder_tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
}

/* [signal-safe] */
static bool try_lock(void) {
    if (pthread_mutex_trylock(&session.mutex) != 0) return false;
    __atomic_store_n(&session.holder_tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
    return true;
}

static void unlock(void) {
    __atomic_store_n(&session.holder_tid, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&session.mutex);
}

/* ---- Settings. ---- */

const char *grec_error_text(enum grec_error error) {
    static const char *const texts[GREC_ERROR_COUNT] = {
        [GREC_OK] = "no error",
        [GREC_ERROR_OPTIONS] = "an option is out of its range",
        [GREC_ERROR_STORAGE] = "the trace cannot be created or written",
        [GREC_ERROR_MEMORY] = "there is no memory for the recording",
        [GREC_ERROR_STATE] = "nothing is being recorded",
    };
    return (unsigned)error < GREC_ERROR_COUNT ? texts[error] : "unknown error";
}

/* Call this while no thread is in a recording call. */
static void apply(const struct settings *settings) {
    session.settings = *settings;
    recording_set_thread_filter(settings->threads);
}

/* ---- The helper thread, which keeps chunks ready, and looks for commands of other processes. ---- */

static void start_missing_sampler(void);

/* Another thread may hold the mutex, and wait for the end of this one. */
static void help_with_sampler(void) {
    if (!try_lock()) return;
    start_missing_sampler();
    unlock();
}

static void help(void) {
    pool_restore_file(&recording_pool);
    while (!own_thread_is_alone(&session.helper, clock_ns_of(CLOCK_MONOTONIC))) {
        uint32_t seen = __atomic_load_n(&recording_pool.shared->helper_word, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&session.is_helper_told_to_end, __ATOMIC_ACQUIRE)) return;
        if (recording_has_command()) recording_obey();
        help_with_sampler();
        pool_drop_old(&recording_pool);
        if (!pool_reserve_ahead(&recording_pool) && errno) return;
        /* A sampler checks more often, and wakes this thread when those of the program have ended. */
        pool_wait_for_wake(&recording_pool, seen,
                           session.has_helper_and_sampler ? HELPER_CHECK_NS : OWN_THREAD_CHECK_NS);
    }
}

/* Whether another process has created the trace. */
static bool is_guest(void) { return session.owner_start_ns != process_self()->start_ns; }

/* Without a helper, threads prepare their chunks themselves. The helper of the process that has created the trace
 * prepares those of all. Another process needs one only to notice commands, if it has no sampler, which notices them
 * too. Forked children do without, because a thread makes a fork slower: a fork and exit then takes 310 µs, not 240. */
static bool needs_helper(void) {
    if (session.settings.flags & GREC_NO_HELPER || session.is_confined) return false;
    return !is_guest() ||
           (!(session.settings.flags & GREC_SAMPLER) && (!session.is_forked || session.settings.has_fork_helpers));
}

static void start_helper(void) {
    if (!needs_helper()) return;
    session.is_helper_told_to_end = false;
    session.has_helper_and_sampler = session.settings.flags & GREC_SAMPLER;
    own_thread_start(&session.helper, HELPER_THREAD_NAME, help, recording_pool.file, false);
}

static void end_helper(void) {
    if (!session.helper.is_running) return;
    __atomic_store_n(&session.is_helper_told_to_end, true, __ATOMIC_RELEASE);
    /* The kernel may wake the helper of another process first. */
    pool_wake_all_helpers(&recording_pool);
    own_thread_join(&session.helper);
}

/* ---- The sampler. ---- */

static struct sampler_settings sampler_settings(void) {
    return (struct sampler_settings){.interval_us = session.settings.interval_us,
                                     .flags = session.settings.flags,
                                     .is_paused = session.is_sampling_paused};
}

/* A process may end before the sampler's second round. This marker shows that it existed. */
static struct grec_marker unsampled_marker = GREC_MARKER("Process without samples", NULL, NULL);

/* Most forked children end with the marker, and inherit its definition. The recording call also claims a record for the
 * calling thread, so the sampler samples this thread even if it never registers. */
static void define_unsampled_marker(void) {
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    definition_of_marker(&unsampled_marker, recording.depth);
    recording_leave(&recording);
}

/* Call this when the pool is open: the sampler writes into it. */
static void start_sampler(void) {
    const struct sampler_options options = {.settings = sampler_settings(),
                                            .begins_late = is_guest() && !session.is_sampler_missing,
                                            .prepares_chunks = !session.helper.is_running};
    session.is_sampler_missing = false;
    if (!(session.settings.flags & GREC_SAMPLER) || session.is_confined) return;
    define_unsampled_marker();
    if (!sampler_start(&options))
        recording_write_message("the system has no thread for the sampler: nothing is sampled");
}

/* Starts the sampler that other processes have asked for. Call this in the helper, or in a function that signal
 * handlers must not call: the command may have been noticed in a handler, where no thread can be started. */
static void start_missing_sampler(void) {
    if (session.is_recording && !session.is_over && session.is_sampler_missing) start_sampler();
}

static void end_threads(bool is_process_ending) {
    sampler_stop(is_process_ending);
    end_helper();
}

/* ---- Programs that must have one thread, or that filter system calls. ---- */

/* A signal handler that has interrupted one of these functions may come here: the mutex is held then. */
bool session_be_alone(void) {
    if (is_holder() || !own_thread_count()) return false;
    lock();
    session.is_sampler_missing = sampler_has_begun();
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

/* Not while another thread forks. In a child that was made without fork, nobody may ever release the lock, so the
 * number of tries is limited. */
static void silence(void) {
    enum { TRY_COUNT = 10000 };
    bool is_locked = try_lock();
    for (int i = 0; i < TRY_COUNT && !is_locked; i++) {
        sched_yield();
        is_locked = try_lock();
    }
    session.is_silenced = true;
    if (is_locked) unlock();
}

void session_prepare_filter(const struct session_filter *filter) {
    if (filter->forbids_calls) silence();
    bool is_alone = filter->is_for_all_threads && session_be_alone();
    if (filter->forbids_handlers) own_signal_forbid();
    session.is_confined = true;
    if (is_alone) session_end_being_alone();
}

/* ---- Switching recording on and off. ---- */

static void set_labelling(bool is_on) { __atomic_store_n(&grec_labelling_, is_on, __ATOMIC_RELAXED); }

static void switch_off(void) {
    recording_switch(false);
    session.is_recording = false;
    set_labelling(false);
}

struct quiescence {
    uint64_t deadline_ns;
    bool is_complete; /* all threads have left their recording calls */
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

/* Switches recording off, and gives back all chunks of this process. Returns false if threads that did not leave their
 * recording calls were given up: those keep their chunks. */
static bool quiesce(void) {
    recording_switch(false);
    recording_fence();
    struct quiescence quiescence = {.deadline_ns = clock_ns_of(CLOCK_MONOTONIC) + QUIESCE_NS, .is_complete = true};
    thread_registry_each(await_thread, &quiescence);
    if (thread_writers_self) writers_close(thread_writers_self);
    return quiescence.is_complete;
}

static void forget_pool(bool is_unmappable) {
    static const uint64_t never_changes;
    __atomic_store_n(&recording_group_word, &never_changes, __ATOMIC_RELAXED);
    if (is_unmappable)
        pool_close(&recording_pool);
    else
        recording_pool = POOL_CLOSED;
}

/* ---- Starting. ---- */

static bool obey(void);

static bool initialize(void) {
    if (session.is_initialized) return true;
    if (!process_init()) return false;
    process_self();
    recording_enter_child = enter_child;
    recording_obey = obey;
    recording_fence_init();
    session.is_initialized = true;
    return true;
}

static enum grec_error error_of_errno(void) {
    return errno == ENOMEM || errno == EAGAIN ? GREC_ERROR_MEMORY : GREC_ERROR_STORAGE;
}

static bool create_pool(struct pool *pool, const struct settings *settings) {
    struct pool_options options = {.path = settings->storage == GREC_STORAGE_FILE ? settings->path : NULL,
                                   .limit_bytes = settings->limit_bytes,
                                   .chunk_bytes = settings->chunk_bytes,
                                   .own = session.is_recording ? &recording_pool : NULL};
    return pool_create(pool, &options);
}

/* Threads that end while nothing is recorded read it too. */
static void raise_generation(void) {
    process_forget_chunks();
    __atomic_store_n(&recording_generation, recording_generation + 1, __ATOMIC_RELEASE);
}

static void use_pool(const struct pool *pool) {
    recording_pool = *pool;
    recording_obeyed_word = __atomic_load_n(&pool->shared->group_word, __ATOMIC_RELAXED);
    __atomic_store_n(&recording_group_word, &recording_pool.shared->group_word, __ATOMIC_RELAXED);
}

static bool has_failed(void) {
    return __atomic_load_n(&recording_pool.header->stop_reason, __ATOMIC_RELAXED) != TRACE_STOP_NONE;
}

/* Records the end of a pause, and the sums of counters and memory in it. */
static void write_resume(void) {
    recording_write_mark(TRACE_RESUME, 0);
    counters_resume();
    allocations_resume();
}

static void begin_recording(bool is_paused) {
    session.is_recording = true;
    session.is_paused = is_paused;
    set_labelling(true);
    start_helper();
    if (is_paused)
        recording_switch_to_pause();
    else
        recording_switch(true);
    start_sampler();
}

static void stop_locked(bool is_process_ending);
static void catch_up(void);

/* Stops a recording that is on only when the new one can begin. */
static enum grec_error start_new(const struct settings *settings) {
    struct pool pool;
    const struct process_state *process = process_self();
    if (!create_pool(&pool, settings)) return error_of_errno();
    if (!pool_take_pinned(&pool, process->pid, 1)) {
        pool_discard(&pool);
        return GREC_ERROR_STORAGE;
    }
    if (!pool_publish(&pool)) return error_of_errno();
    stop_locked(false);
    pool_close(&recording_pool);
    use_pool(&pool);
    apply(settings);
    session.owner_start_ns = process->start_ns;
    session.is_forked = false;
    recording_first_uid = 0;
    session.is_sampling_paused = false;
    raise_generation();
    counters_forget();
    allocations_forget();
    machine_describe(&session.settings);
    begin_recording(false);
    return GREC_OK;
}

void grec_set_fact(const char *key, const char *value) {
    lock();
    machine_set_fact(key, value, session.is_recording && !is_guest() && !has_failed());
    unlock();
}

/* ---- New options while recording. ---- */

/* A member that is zero keeps its value. */
static bool resolve_new_options(const struct grec_options *options, struct settings *settings) {
    struct grec_options asked = *options;
    const struct settings *old = &session.settings;
    bool keeps_path = !options->path;
    if (!asked.limit_bytes) asked.limit_bytes = old->limit_bytes;
    if (!asked.threads) asked.threads = old->threads;
    if (!asked.product) asked.product = old->product;
    if (!asked.interval_us) asked.interval_us = old->interval_us;
    if (!asked.duration_s) asked.duration_s = old->duration_s;
    asked.chunk_bytes = old->chunk_bytes;
    if (settings_resolve(&asked, settings)) return false;
    if (keeps_path) memcpy(settings->path, old->path, sizeof settings->path);
    settings->has_fork_helpers |= old->has_fork_helpers;
    return true;
}

static bool is_same_pool(const struct settings *a, const struct settings *b) {
    return a->limit_bytes == b->limit_bytes && a->storage == b->storage;
}

/* Copies the chunks of the old pool. Ids and threads stay the same. */
static bool copy_into(struct pool *pool) {
    pool_seal_partial(&recording_pool);
    if (pool_copy(&recording_pool, pool)) return pool_publish(pool);
    pool_discard(pool);
    return false;
}

/* If other processes still record into the old file, it stays. */
static void leave_old_pool(bool is_unmappable) {
    bool is_alone = __atomic_load_n(&recording_pool.shared->process_count, __ATOMIC_ACQUIRE) == 1;
    char path[POOL_PATH_BYTES];
    memcpy(path, recording_pool.path, sizeof path);
    pool_leave(&recording_pool);
    forget_pool(is_unmappable);
    if (is_alone && *path) unlink(path);
}

static enum grec_error replace_pool(const struct settings *settings, bool is_quiet) {
    struct pool pool;
    if (!create_pool(&pool, settings) || !copy_into(&pool)) return error_of_errno();
    /* If only the limit has changed, the new file has the path of the old one, which must not be unlinked. */
    if (!strcmp(recording_pool.path, pool.path)) recording_pool.path[0] = '\0';
    leave_old_pool(is_quiet);
    use_pool(&pool);
    return GREC_OK;
}

/* Changes settings that recording calls read. No thread may be in a recording call meanwhile: the profile shows a
 * pause.
 */
static enum grec_error change_settings(const struct settings *settings, bool replaces_pool) {
    bool was_paused = session.is_paused;
    recording_write_mark(TRACE_PAUSE, 0);
    end_threads(false);
    bool is_quiet = quiesce();
    enum grec_error error = replaces_pool ? replace_pool(settings, is_quiet) : GREC_OK;
    int saved_errno = errno;
    if (error == GREC_OK) apply(settings);
    bool has_product = error == GREC_OK && *settings->product;
    if (has_product) definition_add_meta("product", settings->product);
    if (error == GREC_OK && !is_guest()) machine_describe_settings(settings);
    if (has_failed()) return error;
    begin_recording(was_paused);
    if (!was_paused) write_resume();
    errno = saved_errno;
    return error;
}

static bool is_same_text(const char *a, const char *b) { return strcmp(a, b) == 0; }

static enum grec_error continue_with(const struct grec_options *options) {
    struct settings settings;
    const struct settings *old = &session.settings;
    if (!options) return GREC_OK;
    if (!resolve_new_options(options, &settings)) return GREC_ERROR_OPTIONS;
    /* A guest that names a path begins a trace of its own. */
    if (is_guest() && options->path) return start_new(&settings);
    if (!is_same_pool(&settings, old)) return change_settings(&settings, true);
    bool is_renamed = settings.storage == GREC_STORAGE_FILE && !is_same_text(settings.path, old->path);
    if (is_renamed && !pool_rename(&recording_pool, settings.path)) {
        if (errno != EXDEV) return error_of_errno();
        return change_settings(&settings, true);
    }
    bool is_unseen = is_same_text(settings.threads, old->threads) && is_same_text(settings.product, old->product) &&
                     settings.flags == old->flags && settings.interval_us == old->interval_us;
    if (!is_unseen) return change_settings(&settings, false);
    session.settings = settings;
    return GREC_OK;
}

/* scope: enum grec_scope; 0: the group if this process has started the recording. */
static bool is_for_group(uint32_t scope) { return scope & GREC_GROUP || (!(scope & GREC_PROCESS) && !is_guest()); }

static void tell_group(enum pool_group_field field, enum pool_group_command command);

/* Gives the settings to the other processes, and to those that join. */
static void share_settings(void) {
    const struct settings *own = &session.settings;
    struct pool_settings shared = {.flags = own->flags | (own->has_fork_helpers ? (uint32_t)GREC_GROUP : 0),
                                   .interval_us = own->interval_us,
                                   .duration_s = own->duration_s};
    memcpy(shared.threads, own->threads, sizeof shared.threads);
    pool_write_settings(&recording_pool, &shared);
    tell_group(POOL_GROUP_SETTINGS, POOL_GROUP_RUNS);
}

/* Tells programs that this one executes where the recording is. */
static void export_location(void) {
    char path[POOL_PATH_BYTES];
    struct location location = {.path = path};
    bool is_joinable = !(session.settings.flags & GREC_NO_CHILDREN) && pool_locate(&recording_pool, path);
    if (is_joinable) location.session_id = recording_pool.header->session_id;
    location_export(is_joinable ? &location : NULL);
}

/* A program that this one executes must not replace the trace that this process has left. */
static void export_end(void) {
    struct location location = {
        .path = recording_pool.path, .session_id = recording_pool.header->session_id, .is_over = true};
    location_export(*recording_pool.path ? &location : NULL);
}

static enum grec_error start_locked(const struct grec_options *options) {
    static const struct grec_options defaults;
    struct settings settings;
    if (!initialize()) return GREC_ERROR_MEMORY;
    clock_init();
    catch_up();
    if (session.is_recording) return continue_with(options);
    if (settings_resolve(options ? options : &defaults, &settings)) return GREC_ERROR_OPTIONS;
    return start_new(&settings);
}

enum grec_error grec_start(const struct grec_options *options) {
    lock();
    uint32_t generation = recording_generation;
    enum grec_error error = start_locked(options);
    bool is_new = recording_generation != generation;
    if (error == GREC_OK && session.is_recording) {
        int saved_errno = errno;
        if (is_new || (options && is_for_group(options->flags))) share_settings();
        export_location();
        errno = saved_errno;
    }
    unlock();
    return error;
}

/* ---- Joining the recording of another process. ---- */

/* Fills in what the recording determines. options NULL: the recording determines all. */
static bool resolve_joined(const struct pool *pool, const struct grec_options *options, struct settings *settings) {
    struct pool_settings shared;
    pool_read_settings(pool, &shared);
    const struct grec_options of_recording = {
        .flags = shared.flags & SETTINGS_KNOWN_FLAGS, .interval_us = shared.interval_us, .threads = shared.threads};
    if (settings_resolve(options ? options : &of_recording, settings)) return false;
    settings->chunk_bytes = pool->chunk_bytes;
    settings->limit_bytes = pool->header->limit_bytes ? pool->header->limit_bytes : GREC_UNLIMITED;
    settings->duration_s = shared.duration_s;
    settings->has_fork_helpers = shared.flags & GREC_GROUP;
    settings->storage = GREC_STORAGE_FILE; /* the process that created a trace in memory saves it */
    settings_copy_text(settings->path, sizeof settings->path, pool->path);
    return true;
}

static bool join_at(const struct location *location, const struct grec_options *options) {
    struct settings settings;
    struct pool pool;
    errno = 0;
    if (location->is_over || session.is_recording || !initialize()) return false;
    if (!pool_join(&pool, location->path, location->session_id)) return false;
    bool has_stopped = pool_group_command(pool.shared->group_word, POOL_GROUP_RECORDING) == POOL_GROUP_HAS_STOPPED;
    if (has_stopped || !resolve_joined(&pool, options, &settings)) {
        pool_leave(&pool);
        pool_close(&pool);
        return false;
    }
    pool_close(&recording_pool);
    use_pool(&pool);
    apply(&settings);
    session.owner_start_ns = 0;
    session.is_forked = false;
    recording_first_uid = 0;
    raise_generation();
    counters_forget();
    allocations_forget();
    session.is_sampling_paused = pool_group_command(recording_obeyed_word, POOL_GROUP_SAMPLING) == POOL_GROUP_IS_PAUSED;
    begin_recording(pool_group_command(recording_obeyed_word, POOL_GROUP_RECORDING) == POOL_GROUP_IS_PAUSED);
    export_location();
    return true;
}

bool session_join(const struct location *location, const struct grec_options *options) {
    lock();
    bool is_good = join_at(location, options);
    unlock();
    return is_good;
}

static enum grec_error join_locked(const char *text) {
    struct location location;
    catch_up();
    if (!location_parse(text ? text : location_of_environment(), &location)) return GREC_ERROR_OPTIONS;
    if (join_at(&location, NULL)) return GREC_OK;
    return errno ? GREC_ERROR_STORAGE : GREC_ERROR_STATE;
}

enum grec_error grec_join(const char *location) {
    lock();
    enum grec_error error = join_locked(location);
    unlock();
    return error;
}

enum grec_error grec_location(char text[GREC_LOCATION_BYTES]) {
    char path[POOL_PATH_BYTES];
    struct location location = {.path = path};
    text[0] = '\0';
    lock();
    catch_up();
    bool is_shared = session.is_recording && pool_locate(&recording_pool, path);
    if (is_shared) location.session_id = recording_pool.header->session_id;
    unlock();
    return is_shared && location_format(&location, text, GREC_LOCATION_BYTES) ? GREC_OK : GREC_ERROR_STATE;
}

bool session_would_replace(const struct grec_options *options, uint64_t session_id) {
    struct settings settings;
    struct trace_header header;
    if (options->storage != GREC_STORAGE_FILE || settings_resolve(options, &settings)) return false;
    int file = open(settings.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    bool is_whole = read(file, &header, sizeof header) == (ssize_t)sizeof header;
    close(file);
    return is_whole && !memcmp(header.magic, TRACE_MAGIC, TRACE_MAGIC_BYTES) && header.session_id == session_id;
}

/* ---- Pausing, stopping, saving. ---- */

/* [signal-safe] */
static void pause_locked(void) {
    if (!session.is_recording || session.is_paused) return;
    recording_write_mark(TRACE_PAUSE, 0);
    recording_switch_to_pause();
    session.is_paused = true;
}

/* [signal-safe] */
static void resume_locked(void) {
    if (!session.is_recording || !session.is_paused) return;
    session.is_paused = false;
    if (has_failed()) return;
    recording_switch(true);
    write_resume();
}

static void mark_unsampled(grec_time end) {
    struct grec_marker_options options = {.phase = GREC_PHASE_INTERVAL, .end = end};
    if (!(session.settings.flags & GREC_SAMPLER) || sampled_threads_are_there()) return;
    if (is_guest()) options.start = grec_time_from_clock_ns(process_self()->start_ns);
    grec_add_marker(&unsampled_marker, &options, NULL, 0);
}

/* is_process_ending: leaves mappings to the end of the process, which frees them faster. */
static void stop_locked(bool is_process_ending) {
    if (!session.is_recording) return;
    grec_time end = grec_now();
    if (!session.is_over)
        recording_write_mark(TRACE_PROCESS_END, is_process_ending ? TRACE_END_EXITED : TRACE_END_STOPPED);
    session.is_over = false;
    end_threads(is_process_ending);
    mark_unsampled(end);
    pool_drop_old(&recording_pool); /* before chunks are sealed, so that the last chunk of each thread stays */
    bool is_quiet = quiesce();
    if (is_quiet && !is_process_ending) sampler_forget();
    recording_flush_losses();
    session.is_recording = false;
    session.is_sampler_missing = false;
    set_labelling(false);
    session.is_paused = false;
    if (!is_process_ending) export_end();
    pool_leave(&recording_pool);
    /* A trace in memory can still be saved. */
    if (session.settings.storage == GREC_STORAGE_FILE || !is_quiet) forget_pool(is_quiet && !is_process_ending);
}

/* ---- Commands for all processes of the recording. ----
 *
 * A process stores a command in the group word, which the others compare with what they last saw. A thread that notices
 * a command may be in a signal handler. So a process that is told to stop only stops recording: its chunks and the pool
 * stay until it calls one of the functions of this file, or ends. */

/* [signal-safe] */
static void end_by_command(void) {
    recording_write_mark(TRACE_PROCESS_END, TRACE_END_TOLD);
    recording_switch(false);
    set_labelling(false);
    session.is_over = true;
}

/* [signal-safe] */
static void pause_sampling(bool is_paused) {
    if (!session.is_recording) return;
    session.is_sampling_paused = is_paused;
    const struct sampler_settings settings = sampler_settings();
    sampler_change(&settings);
}

static void pause_sampling_here(void) { pause_sampling(true); }
static void resume_sampling_here(void) { pause_sampling(false); }

/* Takes the settings that another process has changed. [signal-safe] */
static void take_settings(void) {
    struct pool_settings shared;
    struct settings *own = &session.settings;
    pool_read_settings(&recording_pool, &shared);
    own->flags = (own->flags & ~(uint32_t)SETTINGS_SHARED_FLAGS) | (shared.flags & SETTINGS_SHARED_FLAGS);
    if (shared.interval_us >= SAMPLER_INTERVAL_US_MIN) own->interval_us = shared.interval_us;
    own->duration_s = shared.duration_s;
    settings_copy_text(own->threads, sizeof own->threads, shared.threads);
    recording_set_thread_filter(own->threads);
    own->has_fork_helpers = shared.flags & GREC_GROUP;
    session.is_sampler_missing = own->flags & GREC_SAMPLER && !sampler_is_started();
    pause_sampling(session.is_sampling_paused);
}

/* What a process does for each command, its own or that of another process. */
static void (*const obey_command[][POOL_GROUP_HAS_STOPPED + 1])(void) = {
    [POOL_GROUP_RECORDING] = {resume_locked, pause_locked, end_by_command},
    [POOL_GROUP_SAMPLING] = {resume_sampling_here, pause_sampling_here, NULL},
    [POOL_GROUP_SETTINGS] = {take_settings, NULL, NULL},
};

/* [signal-safe] */
static void obey_locked(void) {
    if (!session.is_recording || session.is_over || !recording_has_command()) return;
    uint64_t word = recording_load_group_word(), obeyed = recording_obeyed_word;
    __atomic_store_n(&recording_obeyed_word, word, __ATOMIC_RELAXED);
    for (int field = POOL_GROUP_SETTINGS; field >= 0; field--) {
        enum pool_group_field at = (enum pool_group_field)field;
        enum pool_group_command command = pool_group_command(word, at);
        bool is_new = pool_group_field(word, at) != pool_group_field(obeyed, at);
        if (is_new && command <= POOL_GROUP_HAS_STOPPED && obey_command[at][command]) obey_command[at][command]();
    }
}

static bool obey(void) {
    if (!try_lock()) return false;
    obey_locked();
    unlock();
    return true;
}

/* Call this first where the mutex is held: does what other processes have told this one to do. */
static void catch_up(void) {
    obey_locked();
    if (session.is_over) stop_locked(false);
    start_missing_sampler();
}

static void tell_group(enum pool_group_field field, enum pool_group_command command) {
    uint64_t *word = &recording_pool.shared->group_word;
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), told;
    do {
        told = pool_group_with(old, field, command);
    } while (!__atomic_compare_exchange_n(word, &old, told, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    __atomic_store_n(&recording_obeyed_word, told, __ATOMIC_RELAXED);
    pool_wake_all_helpers(&recording_pool);
}

static void stop_here(void) { stop_locked(false); }

static const struct {
    void (*run)(void);
    enum pool_group_field field;
    enum pool_group_command command;
} actions[] = {
    [GREC_STOP] = {stop_here, POOL_GROUP_RECORDING, POOL_GROUP_HAS_STOPPED},
    [GREC_PAUSE] = {pause_locked, POOL_GROUP_RECORDING, POOL_GROUP_IS_PAUSED},
    [GREC_RESUME] = {resume_locked, POOL_GROUP_RECORDING, POOL_GROUP_RUNS},
    [GREC_PAUSE_SAMPLING] = {pause_sampling_here, POOL_GROUP_SAMPLING, POOL_GROUP_IS_PAUSED},
    [GREC_RESUME_SAMPLING] = {resume_sampling_here, POOL_GROUP_SAMPLING, POOL_GROUP_RUNS},
};

static void control(enum grec_action action, uint32_t scope) {
    if ((unsigned)action >= sizeof actions / sizeof actions[0]) return;
    lock();
    catch_up();
    if (session.is_recording) {
        if (is_for_group(scope)) tell_group(actions[action].field, actions[action].command);
        actions[action].run();
    }
    unlock();
}

void grec_pause_sampling(void) { control(GREC_PAUSE_SAMPLING, 0); }

void grec_resume_sampling(void) { control(GREC_RESUME_SAMPLING, 0); }

void grec_control(enum grec_action action, enum grec_scope scope) { control(action, scope); }

void grec_stop(void) { control(GREC_STOP, 0); }

void grec_pause(void) { control(GREC_PAUSE, 0); }

void grec_resume(void) { control(GREC_RESUME, 0); }

static enum grec_error save_locked(const char *path) {
    catch_up();
    if (!recording_pool.base) return GREC_ERROR_STATE;
    if (session.is_recording) pool_drop_old(&recording_pool);
    if (!path) {
        if (session.settings.storage != GREC_STORAGE_MEMORY) return GREC_ERROR_OPTIONS;
        return pool_save(&recording_pool, session.settings.path) ? GREC_OK : error_of_errno();
    }
    char expanded[POOL_PATH_BYTES];
    if (!settings_expand_path(path, expanded)) return GREC_ERROR_OPTIONS;
    return pool_save(&recording_pool, expanded) ? GREC_OK : error_of_errno();
}

enum grec_error grec_save(const char *path) {
    lock();
    enum grec_error error = save_locked(path);
    unlock();
    return error;
}

static uint64_t load(const uint64_t *count) { return __atomic_load_n(count, __ATOMIC_RELAXED); }

void grec_get_status(struct grec_status *status) {
    if (!status) return;
    memset(status, 0, sizeof *status);
    lock();
    catch_up();
    status->is_recording = session.is_recording;
    status->is_paused = session.is_paused;
    if (session.is_recording) {
        status->flags = session.settings.flags;
        status->interval_us = session.settings.interval_us;
        status->duration_s = session.settings.duration_s;
        settings_copy_text(status->threads, sizeof status->threads, session.settings.threads);
    }
    if (recording_pool.base) {
        const struct trace_header *header = recording_pool.header;
        recording_flush_losses();
        snprintf(status->path, sizeof status->path, "%s", recording_pool.path);
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

/* ---- Children, and the start and end of the process. ---- */

/* A signal handler may fork after interrupting a recording call, or one of the functions above. If the child returns
 * from the handler, it continues that call: in memory of its own, and without recording. */
static struct {
    bool is_locked;
    bool is_within_call;
    bool can_sample;
    /* The pool counts the child before the fork: this process may be the last one, and end before the child runs. */
    bool is_counted;
    pthread_t thread; /* that forks: another one may clone the process meanwhile */
    struct thread_writers writers;
} at_fork;

static bool children_record(void) {
    return session.is_recording && !session.is_over && !(session.settings.flags & GREC_NO_CHILDREN);
}

static bool is_counted_child(void) { return at_fork.is_counted && pthread_equal(at_fork.thread, pthread_self()); }

/* In a child that was made by clone, a thread that it does not have may hold the mutex. */
static bool enter_child(void) {
    if (!is_holder()) session.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    bool is_part = children_record() && (is_counted_child() || pool_enter(&recording_pool));
    at_fork.is_counted = false;
    own_thread_forget(&session.helper);
    sampler_leave_parent();
    session.is_forked = true;
    session.is_sampler_missing = false;
    if (is_part) {
        pool_enter_child(&recording_pool);
        recording_first_uid = load(&recording_pool.header->next_thread_uid);
        libraries_enter_child();
        return true;
    }
    switch_off();
    return false;
}

/* A child with a copy of the memory must find no mutex that another thread holds: it has no other threads. */
static void hold_mutexes(void) {
    at_fork.is_locked = !is_holder();
    if (at_fork.is_locked) lock();
    at_fork.can_sample = libraries_prepare_fork();
}

static void release_mutexes(bool is_child) {
    libraries_finish_fork(is_child);
    if (at_fork.is_locked)
        unlock();
    else if (is_child)
        session.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void session_prepare_clone(void) {
    if (session.is_silenced) return;
    int saved_errno = errno;
    hold_mutexes();
    sampler_await_begin();
    errno = saved_errno;
}

void session_finish_clone(bool is_child) {
    if (session.is_silenced) return;
    int saved_errno = errno;
    release_mutexes(is_child);
    errno = saved_errno;
}

/* If the fork fails, the pool counts a process too many. Then the file keeps the room that was prepared ahead. */
static void prepare_fork(void) {
    struct thread_writers *thread = thread_writers_self;
    if (session.is_silenced) return;
    hold_mutexes();
    at_fork.is_within_call = !at_fork.is_locked || (thread && thread->depth);
    if (at_fork.is_within_call && thread) at_fork.writers = *thread;
    at_fork.thread = pthread_self();
    at_fork.is_counted = !at_fork.is_within_call && children_record() && pool_enter(&recording_pool);
}

static void continue_in_parent(void) {
    if (session.is_silenced) return;
    at_fork.is_counted = false;
    release_mutexes(false);
}

static void detach_child(void) {
    switch_off();
    own_thread_forget(&session.helper);
    sampler_leave_parent();
    if (thread_writers_self) *thread_writers_self = at_fork.writers;
    if (!recording_pool.base) return;
    (void)mmap(recording_pool.base, recording_pool.mapped_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void continue_in_child(void) {
    if (session.is_silenced) {
        switch_off();
        return;
    }
    release_mutexes(true);
    if (!session.is_initialized) return;
    if (!process_is_new()) return;
    if (at_fork.is_within_call) {
        detach_child();
        return;
    }
    thread_registry_reclaim();
    if (thread_record_self) thread_record_start(thread_record_self, clock_ticks());
    counters_forget();
    if (!enter_child() || !at_fork.can_sample) return;
    start_helper();
    start_sampler();
}

/* Threads may register before a recording starts. Everything else is initialized by the first start, because many
 * programs load this library and record nothing. */
__attribute__((constructor)) static void begin_process(void) {
    own_thread_init();
    thread_registry_init(own_thread_end_of_another);
    pthread_atfork(prepare_fork, continue_in_parent, continue_in_child);
    environment_start();
}

/* A process that is killed leaves its chunks as they are. A forked child saves a trace in memory only if the process
 * that created it is gone, as a daemon's parent is. The child looks after it has stopped: if the creator is still there
 * then, what it saves later has all that the child has recorded. */
__attribute__((destructor)) static void end_process(void) {
    if (session.is_silenced) return;
    lock();
    bool is_saved_at_end =
        session.is_recording && session.settings.storage == GREC_STORAGE_MEMORY && environment_has_started();
    stop_locked(true);
    if (is_saved_at_end && !pool_has_other_saver(&recording_pool) && save_locked(NULL) != GREC_OK)
        fprintf(stderr, "gecko-recorder: %s cannot be written: %s\n", session.settings.path, strerror(errno));
    unlock();
}
