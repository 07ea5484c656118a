/* Starting a recording, and changing the options of one that is on. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "machine_facts.h"
#include "recorder/pool/chunk_pool.h"
#include "recorder/state/clock.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/sampler_hooks.h"
#include "recorder/state/silent_process.h"
#include "recorder/write/counters.h"
#include "recorder/write/definitions.h"
#include "recorder/write/memory_sum.h"
#include "recorder/write/writer.h"
#include "session_state.h"

uint32_t grec_labelling_;

const char *grec_error_text(enum grec_error error) {
    static const char *const texts[GREC_ERROR_COUNT] = {
        [GREC_OK] = "no error",
        [GREC_ERROR_OPTIONS] = "an option is out of its range",
        [GREC_ERROR_STORAGE] = "the trace cannot be created or written",
        [GREC_ERROR_MEMORY] = "there is too little memory for the recording",
        [GREC_ERROR_STATE] = "nothing is being recorded",
        [GREC_ERROR_SAMPLER] = "the sampler's library (libgecko_sampler) was not found, or has another version",
    };
    return (unsigned)error < GREC_ERROR_COUNT ? texts[error] : "unknown error";
}

enum grec_error session_error_of_errno(void) {
    return errno == ENOMEM || errno == EAGAIN ? GREC_ERROR_MEMORY : GREC_ERROR_STORAGE;
}

bool session_initialize(void) {
    static bool is_done;
    if (is_done) return true;
    if (!process_init()) return false;
    process_self();
    recording_enter_child = session_enter_child;
    recording_obey = session_obey;
    recording_fence_init();
    thread_registry_look_for_filter();
    is_done = true;
    return true;
}

/* ---- A new recording. ---- */

/* Takes the settings. Call this while no thread is in a recording call. */
static void apply(const struct settings *settings) {
    session.settings = *settings;
    recording_set_thread_filter(settings->threads);
}

static bool create_pool(struct pool *pool, const struct settings *settings) {
    struct pool_options options = {.path = settings->storage == GREC_STORAGE_FILE ? settings->path : NULL,
                                   .limit_bytes = settings->limit_bytes,
                                   .chunk_bytes = settings->chunk_bytes,
                                   .own = session_is_recording() ? &recording_pool : NULL};
    if (!pool_create(pool, &options)) return false;
    session_write_settings(pool, settings); /* a process may join as soon as the pool is published */
    return true;
}

/* Makes the pool that of the recording. */
static void use_pool(const struct pool *pool) {
    recording_pool = *pool;
    recording_obeyed_word = __atomic_load_n(&pool->shared->group_word, __ATOMIC_RELAXED);
    __atomic_store_n(&recording_group_word, &recording_pool.shared->group_word, __ATOMIC_RELAXED);
}

/* Forgets what belonged to the last recording. Threads that end while nothing is recorded read the generation too. */
static void begin_generation(void) {
    recording_first_uid = 0;
    process_forget_chunks();
    __atomic_store_n(&recording_generation, recording_generation + 1, __ATOMIC_RELEASE);
    memory_forget();
}

/* Begins to record into the open pool. */
static void begin(bool is_paused) {
    session.phase = is_paused ? SESSION_IS_PAUSED : SESSION_RUNS;
    __atomic_store_n(&grec_labelling_, 1, __ATOMIC_RELAXED);
    if (is_paused)
        recording_switch_to_pause();
    else
        recording_switch(true);
    session_start_sampler();
}

static bool is_group_paused(enum pool_group_field field) {
    return pool_group_command(recording_obeyed_word, field) == POOL_GROUP_IS_PAUSED;
}

void session_enter_pool(const struct pool *pool, const struct settings *settings, uint64_t owner_start_ns) {
    pool_close(&recording_pool);
    use_pool(pool);
    apply(settings);
    session.owner_start_ns = owner_start_ns;
    begin_generation();
    if (!session_is_guest()) machine_describe(settings);
    machine_describe_process(settings);
    session.is_sampling_paused = is_group_paused(POOL_GROUP_SAMPLING);
    bool is_paused = is_group_paused(POOL_GROUP_RECORDING);
    bool is_to_be_sampled = session_is_guest() && !is_paused && settings->flags & GREC_SAMPLER;
    session.past = is_to_be_sampled ? silent_process_begin(false) : PAST_IS_TOLD;
    if (!is_to_be_sampled) silent_process_note_recorded();
    begin(is_paused);
}

void session_write_resume(void) {
    recording_write_mark(TRACE_RESUME, 0);
    counters_resume();
    if (sampler_table()) sampler_table()->resume_allocations();
}

static enum grec_error start_new(const struct settings *settings) {
    struct pool pool;
    const struct process_state *process = process_self();
    if (!session_load_sampler(settings->flags)) return GREC_ERROR_SAMPLER;
    if (!create_pool(&pool, settings)) return session_error_of_errno();
    if (!pool_take_pinned(&pool, process->pid, 1)) {
        pool_discard(&pool);
        return GREC_ERROR_STORAGE;
    }
    if (!pool_publish(&pool)) return session_error_of_errno();
    session_stop(false);
    session_enter_pool(&pool, settings, process->start_ns);
    return GREC_OK;
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
    session_forget_pool(is_unmappable);
    if (is_alone && *path) unlink(path);
}

static enum grec_error replace_pool(const struct settings *settings, bool is_quiet) {
    struct pool pool;
    if (!create_pool(&pool, settings) || !copy_into(&pool)) return session_error_of_errno();
    /* If only the limit has changed, the new file has the path of the old one, which must not be unlinked. */
    if (!strcmp(recording_pool.path, pool.path)) recording_pool.path[0] = '\0';
    leave_old_pool(is_quiet);
    use_pool(&pool);
    return GREC_OK;
}

/* Changes settings that recording calls read. No thread may be in a recording call meanwhile: the profile shows a
 * pause. */
static enum grec_error change_settings(const struct settings *settings, bool replaces_pool) {
    bool was_paused = session.phase == SESSION_IS_PAUSED;
    recording_write_mark(TRACE_PAUSE, 0);
    session_stop_sampler(false);
    bool is_quiet = session_quiesce();
    enum grec_error error = replaces_pool ? replace_pool(settings, is_quiet) : GREC_OK;
    int saved_errno = errno;
    if (error == GREC_OK) apply(settings);
    if (error == GREC_OK) definition_add_meta("product", settings->product);
    if (error == GREC_OK && !session_is_guest()) machine_describe_settings(settings);
    if (session_has_failed()) return error;
    begin(was_paused);
    if (!was_paused) session_write_resume();
    errno = saved_errno;
    return error;
}

static enum grec_error continue_with(const struct grec_options *options) {
    struct settings settings;
    const struct settings *old = &session.settings;
    if (!options) return GREC_OK;
    if (!resolve_new_options(options, &settings)) return GREC_ERROR_OPTIONS;
    /* A guest that names a path begins a trace of its own. */
    if (session_is_guest() && options->path) return start_new(&settings);
    if (!session_load_sampler(settings.flags)) return GREC_ERROR_SAMPLER;
    if (!is_same_pool(&settings, old)) return change_settings(&settings, true);
    bool is_renamed = settings.storage == GREC_STORAGE_FILE && strcmp(settings.path, old->path) != 0;
    if (is_renamed && !pool_rename(&recording_pool, settings.path)) {
        if (errno != EXDEV) return session_error_of_errno();
        return change_settings(&settings, true);
    }
    bool is_unseen = !strcmp(settings.threads, old->threads) && !strcmp(settings.product, old->product) &&
                     settings.flags == old->flags && settings.interval_us == old->interval_us;
    if (!is_unseen) return change_settings(&settings, false);
    session.settings = settings;
    return GREC_OK;
}

/* ---- Both. ---- */

static enum grec_error start(const struct grec_options *options) {
    static const struct grec_options defaults;
    struct settings settings;
    if (!session_initialize()) return GREC_ERROR_MEMORY;
    clock_init();
    session_catch_up();
    if (session_is_recording()) return continue_with(options);
    if (settings_resolve(options ? options : &defaults, &settings)) return GREC_ERROR_OPTIONS;
    return start_new(&settings);
}

enum grec_error grec_start(const struct grec_options *options) {
    session_lock();
    uint32_t generation = recording_generation;
    enum grec_error error = start(options);
    bool is_new = recording_generation != generation;
    if (error == GREC_OK && session_is_recording()) {
        int saved_errno = errno;
        if (!is_new && options && session_is_for_group(options->flags)) session_share_settings();
        session_export_location();
        errno = saved_errno;
    }
    session_unlock();
    return error;
}

void grec_set_fact(const char *key, const char *value) {
    session_lock();
    machine_set_fact(key, value, session_is_recording() && !session_is_guest() && !session_has_failed());
    session_unlock();
}
