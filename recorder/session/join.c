/* Joining the recording of another process, and saying where this one's is. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "location.h"
#include "recorder/pool/chunk_pool.h"
#include "recorder/state/recording_state.h"
#include "session.h"
#include "session_state.h"

/* ---- Joining. ---- */

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
    settings->storage = GREC_STORAGE_FILE; /* the process that created a trace in memory saves it */
    settings_copy_text(settings->path, sizeof settings->path, pool->path);
    return true;
}

static bool join_at(const struct location *location, const struct grec_options *options) {
    struct settings settings;
    struct pool pool;
    errno = 0;
    if (location->is_over || session_is_recording() || !session_initialize()) return false;
    if (!pool_join(&pool, location->path, location->session_id)) return false;
    bool has_stopped = pool_group_command(pool.shared->group_word, POOL_GROUP_RECORDING) == POOL_GROUP_HAS_STOPPED;
    if (has_stopped || !resolve_joined(&pool, options, &settings)) {
        pool_leave(&pool);
        pool_close(&pool);
        return false;
    }
    session_load_sampler(settings.flags);
    session_enter_pool(&pool, &settings, 0);
    session_export_location();
    return true;
}

bool session_join(const struct location *location, const struct grec_options *options) {
    session_lock();
    session.has_begun = true;
    bool is_good = join_at(location, options);
    session_unlock();
    return is_good;
}

static enum grec_error join(const char *text) {
    struct location location;
    session_catch_up();
    if (!location_parse(text ? text : location_of_environment(), &location)) return GREC_ERROR_OPTIONS;
    if (join_at(&location, NULL)) return GREC_OK;
    return errno ? GREC_ERROR_STORAGE : GREC_ERROR_STATE;
}

enum grec_error grec_join(const char *location) {
    session_lock();
    enum grec_error error = join(location);
    session_unlock();
    return error;
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

/* ---- Saying where the recording is, and how processes that join record. ---- */

enum grec_error grec_location(char text[GREC_LOCATION_BYTES]) {
    char path[POOL_PATH_BYTES];
    struct location location = {.path = path};
    text[0] = '\0';
    session_lock();
    session_catch_up();
    bool is_shared = session_is_recording() && pool_locate(&recording_pool, path);
    if (is_shared) location.session_id = recording_pool.header->session_id;
    session_unlock();
    return is_shared && location_format(&location, text, GREC_LOCATION_BYTES) ? GREC_OK : GREC_ERROR_STATE;
}

void session_export_location(void) {
    char path[POOL_PATH_BYTES];
    struct location location = {.path = path};
    bool is_joinable = !(session.settings.flags & GREC_NO_CHILDREN) && pool_locate(&recording_pool, path);
    if (is_joinable) location.session_id = recording_pool.header->session_id;
    location_export(is_joinable ? &location : NULL);
}

/* A program that this one executes must not replace the trace that this process has left. */
void session_export_end(void) {
    struct location location = {
        .path = recording_pool.path, .session_id = recording_pool.header->session_id, .is_over = true};
    location_export(*recording_pool.path ? &location : NULL);
}

void session_write_settings(struct pool *pool, const struct settings *settings) {
    struct pool_settings shared = {
        .flags = settings->flags, .interval_us = settings->interval_us, .duration_s = settings->duration_s};
    memcpy(shared.threads, settings->threads, sizeof shared.threads);
    pool_write_settings(pool, &shared);
}

void session_share_settings(void) {
    session_write_settings(&recording_pool, &session.settings);
    session_tell_group(POOL_GROUP_SETTINGS, POOL_GROUP_RUNS);
}
