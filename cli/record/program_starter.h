/* A process that starts the programs that are recorded. Events that are opened for it are inherited by each of them,
 * and begin when a program is executed. Programs are as a shell would have started them: children of the caller, with
 * the caller's standard streams, terminal, signals and limits. */
#ifndef GECKO_PROGRAM_STARTER_H
#define GECKO_PROGRAM_STARTER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct program_starter {
    pid_t pid;   /* 0: there is none */
    int wanted;  /* a byte in this pipe starts a program */
    int started; /* the end of the pipe that tells the outcome */
};

/* Exit codes of shells. */
enum { EXIT_CODE_NOT_EXECUTABLE = 126, EXIT_CODE_NOT_FOUND = 127, EXIT_CODE_OF_SIGNAL = 128 };

/* Settings of signals as the caller had them. This process changes its own, and programs get the caller's. */
struct caller_signals {
    sigset_t mask;
    struct sigaction on_child; /* the action of SIGCHLD */
};

/* Creates the process. The command ends with NULL. When the process ends, also because this one was killed, it removes
 * the folder if that is empty. Returns false with errno set. */
bool program_starter_init(struct program_starter *starter, char *const *command, const struct caller_signals *signals,
                          const char *folder);

/* Starts the program once more. Returns its process, or 0 with errno set if it cannot be executed. */
pid_t program_starter_start(const struct program_starter *starter);

/* Ends the process, but no program. Does nothing if there is none. */
void program_starter_fini(struct program_starter *starter);

/* Returns what a shell would return for a status of waitpid. */
int program_exit_code(int status);

#endif
