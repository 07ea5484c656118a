/* Programs that are started to be recorded. They have what a shell would give them: the caller's standard streams,
 * terminal, signals and limits. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct started_program {
    pid_t pid;
    int start_pipe; /* a byte in this pipe lets it execute the program */
    int error_pipe; /* the reading end of a pipe, which gets the errno if executing failed */
};

/* Exit codes of shells. */
enum { EXIT_CODE_NOT_EXECUTABLE = 126, EXIT_CODE_NOT_FOUND = 127, EXIT_CODE_OF_SIGNAL = 128 };

/* The caller's settings. This process changes its own, and restores these in programs. */
struct caller_settings {
    sigset_t signals;          /* the signals that are blocked */
    struct sigaction on_child; /* the action of SIGCHLD */
    struct rlimit files;       /* the limit of open files */
    bool is_output_reserved;   /* standard output is for the profile, so programs get standard error instead */
};

void caller_settings_init(struct caller_settings *settings, bool is_output_reserved);

/* Creates a process that waits to execute the command, which ends with NULL. Returns false with errno set. */
bool started_program_init(struct started_program *program, char *const *command,
                          const struct caller_settings *settings);

/* Lets the process execute its program. Returns 0, or the errno of executing it; then the process has ended. */
int started_program_execute(struct started_program *program);

/* Ends the process if it still waits, and closes the pipes. */
void started_program_fini(struct started_program *program);

/* Returns the exit code that a shell would return for a status of waitpid. */
int started_program_exit_code(int status);
