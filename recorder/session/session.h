/* The recording of this process: start, pause, stop, save, fork, exit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "location.h"
#include "recorder/gecko_recorder.h"

/* ---- For programs that are not built for the recorder: these functions are in the library that they preload. ---- */

/* Ends the recorder's threads before a system call that succeeds only in a process with one thread, and starts them
 * again. session_be_alone returns false if there are none: do not call session_end_being_alone then. */
bool session_be_alone(void);
void session_end_being_alone(void);

/* Ends what the process records, before _exit. Does nothing in a child of vfork. [any thread] [signal-safe] */
void session_end_at_once(void);

/* Call these before and after the process makes a child by clone, with a copy of its memory: the second one in the
 * child too. The C library must know the child's thread. errno stays as it is. */
void session_prepare_clone(void);
void session_finish_clone(bool is_child);

/* A filter of system calls. It applies to the thread that installs it, and to new threads and children. */
struct session_filter {
    bool is_for_all_threads; /* all threads get it at once */
    bool forbids_handlers;   /* a handler of a signal cannot return */
    bool forbids_calls;      /* it would end the process for other calls of the recorder */
};

/* Call this before the process installs a filter. The recorder makes no more threads, because the filter could kill
 * them, and ends those that the filter would apply to. If it must, it sends no more signals; it makes no more system
 * calls in the program's threads, and so does nothing at the end of the process and in forked children. */
void session_prepare_filter(const struct session_filter *filter);

/* Whether all threads are sampled, and those that begin now may make system calls. */
bool session_samples_new_threads(void);

/* ---- Joining. ---- */

/* Joins the recording at a location. options NULL: with the settings of that recording. Returns false if the trace
 * cannot be opened (errno says why), or if the recording is no longer on (errno is 0). */
bool session_join(const struct location *location, const struct grec_options *options);

/* Whether the options' path is that of the trace of that recording, which may have ended. */
bool session_would_replace(const struct grec_options *options, uint64_t session_id);
