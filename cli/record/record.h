/* The state of `gecko-convert record`, and its steps. Failures are latched in the state. Steps that need what failed do
 * nothing then. */
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
    RECORD_CHECK_MS = 20 /* a command line can be read only while the program runs */
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
    char **command;                 /* ends with NULL; owned, but not the words; NULL: what runs already is recorded */
    struct started_program program; /* program of this iteration; its pid is 0 if it has ended */
    size_t ended_count;             /* iterations that have ended */
    struct proc_ids targets;
    bool wants_realtime; /* it has a real-time priority while it records */
    bool is_by_kernel;   /* otherwise by the recorder that is preloaded into the programs */
    struct kernel_recording recording;
    struct kept_maps maps;         /* maps of what runs already */
    struct recorder_traces traces; /* have the programs' own events, or what the recorder has sampled */
    uint64_t begin_ns;
    bool is_interrupted;
    bool is_cut;      /* the recording could not be written to its end */
    int program_code; /* the first that is not 0 of a program, or of an iteration that could not begin */
};

/* ---- What runs already. ---- */

/* Adds a thread to those that are recorded. */
void record_targets_add(struct record *record, pid_t id);

/* Adds the processes that --pid names. */
void record_targets_parse(struct record *record, struct proc_ids *processes);

/* Adds the threads of the processes to those that are recorded. */
void record_targets_find_threads(struct record *record, const struct proc_ids *processes);

/* Raises the limit of open files as far as possible, less the spare ones: all threads of processes need many files, and
 * writing the recording some, which they must leave over. */
void record_raise_file_limit(const struct record *record, rlim_t spare_count);

/* Keeps maps of generated code, unless no symbols are wanted. */
void record_keep_maps(struct record *record, const struct proc_ids *processes);

/* ---- Signals. ---- */

/* Blocks the signals that end a command, except those that the caller ignores, and takes the caller's settings. */
void record_signals_take(struct record *record);

/* Uses the signals that have arrived. */
void record_signals_handle(struct record *record);

/* From here on, signals end this process at once, and nothing is left. */
void record_signals_release(struct record *record);

/* ---- The program. ---- */

/* Sets record->command to what the user wants to run. */
void record_program_prepare(struct record *record);

/* Sets the scheduling policy of this process, if it hurries. The rings must be emptied in time on busy machines, too:
 * with a real-time priority, if this user may have it. */
void record_schedule(const struct record *record, int policy);

/* Creates the process of the next iteration, which waits. By the recorder, its threads are sampled. */
void record_program_start(struct record *record, bool is_by_recorder);

/* Ends the process if it waits to execute the program. */
void record_program_abandon(struct record *record);

/* Executes the program of this iteration. Returns false if that fails. */
bool record_program_execute(struct record *record);

/* Returns whether the last program has ended. Begins the next iteration if there is one. */
bool record_program_has_ended(struct record *record);

/* Waits for a program that runs still. At the end of the duration it is ended as timeout(1) does, and its exit code
 * does not count. If the recording failed, nothing else is done to it. */
void record_program_end(struct record *record);

/* Returns whether the duration that the user wants is over. */
bool record_is_over(const struct record *record);

/* Lets the profile be made of what was recorded before the failure. */
void record_salvage(struct record *record);

/* ---- Recording. ---- */

/* Observes the program, or the processes (NULL: none), to the end, and says what was recorded. */
void record_run(struct record *record, const struct proc_ids *processes);

/* ---- The file of the recording. ---- */

/* Creates the file. Returns false after a failure. */
bool record_file_open(struct record *record);

/* Gives what was recorded names if no profile could be made of it, for want of room or memory. */
void record_file_rescue(const struct record *record, int exit_code);

/* ---- Messages. ---- */

/* Prints a message, unless --quiet is given. */
void record_print(struct record *record, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints what was recorded by the kernel, and what was not. */
void record_print_summary(struct record *record);

/* ---- The profile. ---- */

/* Finds out before recording whether the options of the next command are right. */
void record_profile_check(struct record *record, const struct command *next);

/* Makes the profile by the next command. Returns the exit code. */
int record_profile_make(struct record *record, const struct command *next);
