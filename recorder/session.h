/* The recording of this process: start, pause, stop, save, fork, exit. */
#ifndef GREC_SESSION_H
#define GREC_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "chunk_pool.h"
#include "gecko_recorder.h"

#define HELPER_THREAD_NAME "grec-helper"

/* The open pool; base is NULL before the first start. Changes only while no thread is in a recording call. */
extern struct pool session_pool;

/* Number of the recording, from 1; ids in descriptions are those of one recording. */
extern uint32_t session_generation;

/* In a forked child: threads with smaller numbers are of its parents. */
extern uint64_t session_first_uid;

/* After this, whatever other threads stored before is seen, and what this one stored is by them. */
void session_fence(void);

/* Whether the options leave threads out. [signal-safe] */
bool session_has_thread_filter(void);
/* For the sampler, in a process without a helper: prepares chunks. */
void session_reserve_ahead(void);

/* Whether threads of that name are recorded. [signal-safe] */
bool session_wants_thread(const char *name, uint32_t name_bytes_count);

/* This process turned out to be a forked child: it becomes part of the recording. False: it does not record.
 * [signal-safe] */
bool session_enter_child(void);

/* For a call that succeeds only where there is one thread: ends the recorder's own, until session_end_being_alone. False:
 * there are none, and that is not to be called. */
bool session_be_alone(void);
void session_end_being_alone(void);

/* Before the process installs a filter of system calls, for threads and children that are made from now on, or for all
 * threads at once: the recorder makes no more threads, since they could be killed for what they do, and ends those that
 * the filter would come to. */
void session_prepare_filter(bool is_for_all_threads);

/* Before the calling thread is forbidden to read the cycle counter: see clock_forbid_counter. */
void session_forbid_counter(void);

/* Counts a text that was cut, payload values that no field is there for, a marker with a stale handle. [signal-safe] */
void session_count_cut_text(void);
void session_count_mismatched(uint64_t count);
void session_count_stale_marker(void);

/* Starts recording as the environment asks, if it does. For the library's constructor. */
void session_start_from_environment(void);

/* It did: what is in memory at the end of the process is to be saved. */
bool session_is_from_environment(void);

/* Which option is out of its range. */
enum session_option {
    SESSION_OPTION_NONE,
    SESSION_OPTION_PATH,
    SESSION_OPTION_LIMIT,
    SESSION_OPTION_CHUNK,
    SESSION_OPTION_THREADS,
    SESSION_OPTION_OTHER,
};

/* The first one that grec_start would refuse. */
enum session_option session_find_refused(const struct grec_options *options);

/* Joins the recording of the program that executed this one. False: it may not open the trace, and errno says why; or,
 * errno being 0, the recording is not there any more. */
bool session_join(const char *path, uint64_t session_id, const struct grec_options *options);

/* Whether these options name the trace of that recording, which may have ended. */
bool session_would_replace(const struct grec_options *options, uint64_t session_id);

/* Where programs that this one executes find the recording; false: there is none in a file. */
bool session_location(const char **path, uint64_t *session_id);

#endif
