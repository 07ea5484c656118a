/* The state of `gecko-convert record`, and its steps. Failures are latched in the state. After a failure, steps that
 * depend on what failed do nothing. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "cli/record/kernel/kernel_recording.h"
#include "kept_maps.h"
#include "recorder_traces.h"
#include "started_program.h"

/* Stands for the default of the command that makes the profile. */
enum { SOURCES_OF_NEXT_COMMAND = GECKO_CONVERT_SOURCES_EMBED + 1 };

enum {
    RECORD_NS_PER_S = 1000000000,
    RECORD_CHECK_MS = 20 /* how often to look whether to end */
};

struct record {
    struct options *options;
    struct failure failure;
    struct progress_tty bar;
    int trace;             /* the file of the recording by the kernel; -1: there is none */
    char trace_path[4096]; /* the path of that file */
    sigset_t signals;      /* the signals that the command waits for */
    struct caller_settings caller;
    int signal_fd;
    char **command;                 /* ends with NULL; owned, except the words; NULL: running processes are recorded */
    struct started_program program; /* the program of this iteration; its pid is 0 after it has ended */
    size_t ended_count;             /* iterations that have ended */
    struct proc_ids targets;
    bool wants_realtime; /* use a real-time priority while recording */
    bool is_by_kernel;   /* false: the recorder that is preloaded into the programs records */
    struct kernel_recording recording;
    struct kept_maps maps;
    uint64_t maps_ns;              /* when maps of new processes were last looked for */
    struct recorder_traces traces; /* the programs' own events, or the samples of the recorder */
    uint64_t begin_ns;
    bool is_interrupted;
    bool is_cut;      /* the recording could not be written to its end */
    int program_code; /* the first exit code that is not 0, or that of an iteration that could not begin */
};

/* ---- Running processes. ---- */

/* Adds a thread to those that are recorded. */
void record_targets_add(struct record *record, pid_t id);

/* Adds the processes that --pid names. */
void record_targets_parse(struct record *record, struct proc_ids *processes);

/* Adds the threads of the processes to those that are recorded. */
void record_targets_find_threads(struct record *record, const struct proc_ids *processes);

/* Raises the limit of open files as far as possible, minus the spare ones. Recording all threads of processes needs
 * many files, and must leave some for writing the recording. */
void record_raise_file_limit(const struct record *record, rlim_t spare_count);

/* Keeps the maps of generated code open, unless no symbols are wanted. */
void record_keep_maps(struct record *record, const struct proc_ids *processes);

/* Does the same for processes of containers that have executed a program meanwhile. Looks again later for maps that are
 * not there yet, and less often if many are awaited. */
void record_keep_new_maps(struct record *record, uint64_t time_ns);

/* Tells of maps that could not be kept. */
void record_tell_left_out_maps(struct record *record);

/* ---- Signals. ---- */

/* Blocks the signals that end a command, except those that the caller ignores, and takes the caller's settings. */
void record_signals_take(struct record *record);

/* Handles the signals that have arrived. */
void record_signals_handle(struct record *record);

/* From here on, signals end this process at once. Temporary files are removed then. */
void record_signals_release(struct record *record);

/* ---- The program. ---- */

/* Sets record->command to what the user wants to run. */
void record_program_prepare(struct record *record);

/* Sets the scheduling policy of this process if it wants a real-time priority, so that it empties the rings in time on
 * busy machines, too. Does nothing if this user may not have that priority. */
void record_schedule(const struct record *record, int policy);

/* Creates the process of the next iteration, which waits to execute the program. If is_by_recorder, the preloaded
 * recorder samples its threads. */
void record_program_start(struct record *record, bool is_by_recorder);

/* Ends the process if it still waits to execute the program. */
void record_program_abandon(struct record *record);

/* Executes the program of this iteration. Returns false if that fails. */
bool record_program_execute(struct record *record);

/* Returns whether the last program has ended. Begins the next iteration if there is one. */
bool record_program_has_ended(struct record *record);

/* Waits for a program that still runs. At the end of the duration, ends it as timeout(1) does, and ignores its exit
 * code. A recording that failed does not end the program. */
void record_program_end(struct record *record);

/* Returns whether the duration that the user wants is over. */
bool record_is_over(const struct record *record);

/* Clears the failure, so that a profile is made of what was recorded before it. */
void record_salvage(struct record *record);

/* ---- Recording. ---- */

/* Observes the program, or the processes (NULL: none), to the end, and prints what was recorded. */
void record_run(struct record *record, const struct proc_ids *processes);

/* ---- The file of the recording. ---- */

/* Creates the file. Returns false after a failure. */
bool record_file_open(struct record *record);

/* Keeps the files of the recording, under printed names, if there was too little space or memory for a profile. */
void record_file_rescue(const struct record *record, int exit_code);

/* ---- Messages. ---- */

/* Prints a message, unless --quiet is given. */
void record_print(struct record *record, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints what the kernel has recorded, what is missing, and why. */
void record_print_summary(struct record *record);

/* ---- The profile. ---- */

/* Checks the options of the next command before recording. */
void record_profile_check(struct record *record, const struct command *next);

/* Makes the profile with the next command. Returns the exit code. */
int record_profile_make(struct record *record, const struct command *next);
