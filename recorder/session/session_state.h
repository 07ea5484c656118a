/* The recording of this process, as the files of this folder see it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"
#include "recorder/state/pool.h"
#include "recorder/state/process.h"
#include "recorder/state/shared.h"
#include "settings.h"

enum session_phase {
    SESSION_IS_OFF,
    SESSION_RUNS,
    SESSION_IS_PAUSED,
    SESSION_IS_OVER, /* another process has stopped the recording, and this one has not yet left it */
};

/* Guarded by the mutex: see session_lock. */
struct session {
    struct settings settings;
    enum session_phase phase;
    bool is_sampling_paused;
    bool has_begun;          /* the process, or its program, has just begun */
    enum process_past past;  /* if it has */
    bool is_sampler_missing; /* the settings ask for the sampler's thread, and the process has none yet */
    bool is_confined;        /* a filter of system calls is installed, which new threads inherit */
    bool is_silenced;        /* a filter would end the process for the recorder's calls; forks see no change */
    uint64_t owner_start_ns; /* start_ns of the process that created the trace; 0: another program created it */
};

extern struct session session GREC_SHARED(session);

/* Whether this process takes part in a recording, even if paused or told to stop. [signal-safe] */
static inline bool session_is_recording(void) { return session.phase != SESSION_IS_OFF; }

/* Whether another process has created the trace. [signal-safe] */
bool session_is_guest(void);

/* Whether the trace could not grow. */
bool session_has_failed(void);

/* ---- The mutex. A child that was made by clone finds out in session_lock, or when it records, that it is a process of
 * its own. ---- */

void session_lock(void) GREC_SHARED(session_lock);
bool session_try_lock(void) GREC_SHARED(session_try_lock); /* [signal-safe] */
void session_unlock(void) GREC_SHARED(session_unlock);

/* Whether the calling thread holds the mutex. [signal-safe] */
bool session_is_locked_here(void) GREC_SHARED(session_is_locked_here);

/* Call these before and after the process makes a child with a copy of its memory: the second one in the child too. The
 * child must find no mutex that another thread holds, because it has no other threads. */
void session_hold_mutexes(void) GREC_SHARED(session_hold_mutexes);
void session_release_mutexes(bool is_child) GREC_SHARED(session_release_mutexes);

/* In a forked child, where the thread that held the mutex may not exist. */
void session_reset_mutex(void);

/* ---- Starting and stopping. Call these, and the functions below, with the mutex held. ---- */

/* Prepares what all recordings need, once. Returns false if there is no memory. */
bool session_initialize(void);

/* Begins to record into the open pool, which this takes, in place of the last one. owner_start_ns: when the process
 * that created the trace started, if it is this one; otherwise 0. */
void session_enter_pool(const struct pool *pool, const struct settings *settings, uint64_t owner_start_ns);

/* Returns what to report for the errno of a failure. */
enum grec_error session_error_of_errno(void);

/* Records the end of a pause, and the sums of counters and memory in it. */
void session_write_resume(void);

/* Switches recording off, and gives back all chunks of this process. Returns false if threads that did not leave their
 * recording calls were given up: those keep their chunks. */
bool session_quiesce(void);

void session_forget_pool(bool is_unmappable);

/* is_process_ending: leaves mappings to the end of the process, which frees them faster. */
void session_stop(bool is_process_ending) GREC_SHARED(session_stop);

/* Stops recording without any call that a signal handler must not make. [signal-safe] */
void session_switch_off(void);

/* Writes the trace to a path; NULL: that of the options. */
enum grec_error session_save(const char *path);

/* ---- The sampler. ---- */

/* Loads the sampler's library if the flags (enum grec_option_flag) ask for its thread. Returns false if it is not
 * there. The process has no recording thread until then, so call this before the first recording that needs one. */
bool session_load_sampler(uint32_t flags);

/* Starts the sampler's thread, if the settings ask for it. Call this when the pool is open. */
void session_start_sampler(void) GREC_SHARED(session_start_sampler);

/* Starts the thread that other processes have asked for. Do not call this in a signal handler. */
void session_start_missing_sampler(void);

void session_stop_sampler(bool is_process_ending) GREC_SHARED(session_stop_sampler);

/* Passes changed settings to the sampler. [signal-safe] */
void session_change_sampler(void);

/* If the process has no sample in the recording, writes a marker that shows when it recorded. end: until when. */
void session_mark_unsampled(grec_time end);

/* ---- Commands for all processes of the recording. ---- */

/* Does what other processes have told this one to do. Call this first where the mutex is held. */
void session_catch_up(void);

/* Does what recording_obey promises: see recording_state.h. */
bool session_obey(void);

/* Whether something is for all processes of the recording. scope: enum grec_scope; 0: if this process has started it.
 */
bool session_is_for_group(uint32_t scope);

/* Gives the command to all processes of the recording. */
void session_tell_group(enum pool_group_field field, enum pool_group_command command);

/* ---- Other processes. ---- */

/* Writes the settings that processes which join the pool take over. */
void session_write_settings(struct pool *pool, const struct settings *settings);

/* Gives new settings to the processes that have joined, too. */
void session_share_settings(void);

/* Tells programs that this one executes where the recording is, or that it has left it. */
void session_export_location(void);
void session_export_end(void);

/* Does what recording_enter_child promises: see recording_state.h. */
bool session_enter_child(void) GREC_SHARED(session_enter_child);
