/* Copies of the trace, and its status. */
#include <stdio.h>
#include <string.h>

#include "recorder/pool/chunk_pool.h"
#include "recorder/state/recording_state.h"
#include "recorder/write/counters.h"
#include "session_state.h"

enum grec_error session_save(const char *path) {
    session_catch_up();
    if (!recording_pool.base) return GREC_ERROR_STATE;
    counters_sample();
    if (session_is_recording()) pool_drop_old(&recording_pool);
    char expanded[POOL_PATH_BYTES];
    bool has_path = path ? settings_expand_path(path, expanded) : session.settings.storage == GREC_STORAGE_MEMORY;
    if (!has_path) return GREC_ERROR_OPTIONS;
    return pool_save(&recording_pool, path ? expanded : session.settings.path) ? GREC_OK : session_error_of_errno();
}

enum grec_error grec_save(const char *path) {
    session_lock();
    enum grec_error error = session_save(path);
    session_unlock();
    return error;
}

static uint64_t load(const uint64_t *count) { return __atomic_load_n(count, __ATOMIC_RELAXED); }

static void describe_settings(struct grec_status *status) {
    status->flags = session.settings.flags;
    status->interval_us = session.settings.interval_us;
    status->duration_s = session.settings.duration_s;
    settings_copy_text(status->threads, sizeof status->threads, session.settings.threads);
}

static void describe_pool(struct grec_status *status) {
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

void grec_get_status(struct grec_status *status) {
    if (!status) return;
    memset(status, 0, sizeof *status);
    session_lock();
    session_catch_up();
    status->is_recording = session_is_recording();
    status->is_paused = session.phase == SESSION_IS_PAUSED;
    if (session_is_recording()) describe_settings(status);
    if (recording_pool.base) describe_pool(status);
    session_unlock();
}
