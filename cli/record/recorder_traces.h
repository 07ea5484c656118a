/* The traces of the recorder library in started programs: in programs that are linked with it, or preloaded into any
 * dynamic program. Each process whose parent does not record writes a trace into a folder. */
#pragma once

#include "cli/workspace.h"

struct recorder_traces {
    struct workspace folder;
    char **paths; /* paths of the traces that were found; owned */
    size_t count;
    char *preloaded_before; /* the caller's LD_PRELOAD; NULL: none */
    bool is_environment_set;
    bool is_preload_set;
};

/* Creates the folder, and removes those of processes that were killed. Returns false after a failure. Call
 * recorder_traces_fini in any case. */
bool recorder_traces_init(struct recorder_traces *traces, struct failure *failure);

/* Removes the folder and all traces in it. */
void recorder_traces_fini(struct recorder_traces *traces);

/* Sets the environment variables that make programs record into the folder. Programs that are linked with the library
 * record their events. If the frequency is above 0, the library is preloaded into all programs and samples their
 * threads. Does nothing, and returns true, if the user has set variables of the recorder and no samples are wanted.
 * Returns false after a failure. */
bool recorder_traces_set_environment(struct recorder_traces *traces, unsigned frequency_hz, struct failure *failure);

/* Restores the environment. */
void recorder_traces_restore_environment(struct recorder_traces *traces);

/* Finds the traces in the folder. Running out of memory is latched. */
void recorder_traces_find(struct recorder_traces *traces, struct failure *failure);
