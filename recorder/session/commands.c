/* Pausing and stopping, for this process and for all processes of the recording.
 *
 * A process stores a command in the group word, which the others compare with what they last saw. A thread that notices
 * a command may be in a signal handler. So a process that is told to stop only stops recording: its chunks and the pool
 * stay until it calls one of the functions that hold the session's mutex, or ends. */
#include "recorder/pool/chunk_pool.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/sampler_hooks.h"
#include "recorder/write/counters.h"
#include "recorder/write/writer.h"
#include "session_state.h"

/* ---- What a process does for each command. All of it is [signal-safe]. ---- */

static void pause_here(void) {
    if (session.phase != SESSION_RUNS) return;
    counters_sample();
    recording_write_mark(TRACE_PAUSE, 0);
    recording_switch_to_pause();
    session.phase = SESSION_IS_PAUSED;
}

static void resume_here(void) {
    if (session.phase != SESSION_IS_PAUSED) return;
    session.phase = SESSION_RUNS;
    if (session_has_failed()) return;
    recording_switch(true);
    session_write_resume();
}

static void end_by_command(void) {
    counters_sample();
    recording_write_mark(TRACE_PROCESS_END, TRACE_END_TOLD);
    recording_switch(false);
    __atomic_store_n(&grec_labelling_, 0, __ATOMIC_RELAXED);
    session.phase = SESSION_IS_OVER;
}

static void pause_sampling(bool is_paused) {
    if (!session_is_recording()) return;
    session.is_sampling_paused = is_paused;
    session_change_sampler();
}

static void pause_sampling_here(void) { pause_sampling(true); }
static void resume_sampling_here(void) { pause_sampling(false); }

/* Takes the settings that another process has changed. */
static void take_settings(void) {
    struct pool_settings shared;
    struct settings *own = &session.settings;
    pool_read_settings(&recording_pool, &shared);
    own->flags = (own->flags & ~(uint32_t)SETTINGS_SHARED_FLAGS) | (shared.flags & SETTINGS_SHARED_FLAGS);
    if (shared.interval_us >= SAMPLER_INTERVAL_US_MIN) own->interval_us = shared.interval_us;
    own->duration_s = shared.duration_s;
    settings_copy_text(own->threads, sizeof own->threads, shared.threads);
    recording_set_thread_filter(own->threads);
    session.is_sampler_missing =
        own->flags & SETTINGS_THREAD_FLAGS && !(sampler_table() && sampler_table()->is_started());
    session_change_sampler();
}

static void (*const obey_command[][POOL_GROUP_HAS_STOPPED + 1])(void) = {
    [POOL_GROUP_RECORDING] = {resume_here, pause_here, end_by_command},
    [POOL_GROUP_SAMPLING] = {resume_sampling_here, pause_sampling_here, NULL},
    [POOL_GROUP_SETTINGS] = {take_settings, NULL, NULL},
};

static void obey(void) {
    if (!session_is_recording() || session.phase == SESSION_IS_OVER || !recording_has_command()) return;
    uint64_t word = recording_load_group_word(), obeyed = recording_obeyed_word;
    __atomic_store_n(&recording_obeyed_word, word, __ATOMIC_RELAXED);
    for (int field = POOL_GROUP_SETTINGS; field >= 0; field--) {
        enum pool_group_field at = (enum pool_group_field)field;
        enum pool_group_command command = pool_group_command(word, at);
        bool is_new = pool_group_field(word, at) != pool_group_field(obeyed, at);
        if (is_new && command <= POOL_GROUP_HAS_STOPPED && obey_command[at][command]) obey_command[at][command]();
    }
}

bool session_obey(void) {
    if (!session_try_lock()) return false;
    obey();
    session_unlock();
    return true;
}

void session_catch_up(void) {
    obey();
    if (session.phase == SESSION_IS_OVER) session_stop(false);
    session_start_missing_sampler();
}

/* ---- Commands of this process. ---- */

bool session_is_for_group(uint32_t scope) {
    return scope & GREC_GROUP || (!(scope & GREC_PROCESS) && !session_is_guest());
}

void session_tell_group(enum pool_group_field field, enum pool_group_command command) {
    uint64_t *word = &recording_pool.shared->group_word;
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), told;
    do {
        told = pool_group_with(old, field, command);
    } while (!__atomic_compare_exchange_n(word, &old, told, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    __atomic_store_n(&recording_obeyed_word, told, __ATOMIC_RELAXED);
    pool_wake_all_helpers(&recording_pool);
}

static const struct {
    enum pool_group_field field;
    enum pool_group_command command;
} actions[] = {
    [GREC_STOP] = {POOL_GROUP_RECORDING, POOL_GROUP_HAS_STOPPED},
    [GREC_PAUSE] = {POOL_GROUP_RECORDING, POOL_GROUP_IS_PAUSED},
    [GREC_RESUME] = {POOL_GROUP_RECORDING, POOL_GROUP_RUNS},
    [GREC_PAUSE_SAMPLING] = {POOL_GROUP_SAMPLING, POOL_GROUP_IS_PAUSED},
    [GREC_RESUME_SAMPLING] = {POOL_GROUP_SAMPLING, POOL_GROUP_RUNS},
};

/* A process that stops its own recording leaves it at once. */
static void act(enum pool_group_field field, enum pool_group_command command, uint32_t scope) {
    if (session_is_for_group(scope)) session_tell_group(field, command);
    if (command == POOL_GROUP_HAS_STOPPED)
        session_stop(false);
    else
        obey_command[field][command]();
}

static void control(enum grec_action action, uint32_t scope) {
    if ((unsigned)action >= sizeof actions / sizeof actions[0]) return;
    session_lock();
    session_catch_up();
    if (session_is_recording()) act(actions[action].field, actions[action].command, scope);
    session_unlock();
}

void grec_control(enum grec_action action, enum grec_scope scope) { control(action, scope); }

void grec_stop(void) { control(GREC_STOP, 0); }

void grec_pause(void) { control(GREC_PAUSE, 0); }

void grec_resume(void) { control(GREC_RESUME, 0); }

void grec_pause_sampling(void) { control(GREC_PAUSE_SAMPLING, 0); }

void grec_resume_sampling(void) { control(GREC_RESUME_SAMPLING, 0); }
