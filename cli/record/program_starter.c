#include "program_starter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The process. ---- */

struct start {
    pid_t pid; /* below 0: no process could be created */
    int error; /* an errno; 0: the program was executed */
};

struct execution {
    char *const *command;
    const struct caller_signals *signals;
    struct start start;
};

static int execute(void *context) {
    struct execution *execution = context;
    sigaction(SIGCHLD, &execution->signals->on_child, NULL);
    sigprocmask(SIG_SETMASK, &execution->signals->mask, NULL);
    execvp(execution->command[0], execution->command);
    execution->start.error = errno;
    _exit(execution->start.error == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE);
}

/* Starts a program each time when a byte arrives, to the end of the pipe. The caller is its parent. As with vfork,
 * memory is shared until the program is executed. */
static void start_programs(struct execution *execution, int wanted, int started) {
    enum { STACK_BYTES = 64 * 1024, ALIGNMENT = 64 };
    size_t argument_count = 0;
    char byte;
    while (execution->command[argument_count]) argument_count++;
    /* To execute a script, execvp copies the arguments to its stack. */
    size_t stack_bytes = STACK_BYTES + argument_count * sizeof(char *) / ALIGNMENT * ALIGNMENT;
    char *stack = aligned_alloc(ALIGNMENT, stack_bytes);
    while (read(wanted, &byte, 1) == 1) {
        execution->start.error = 0;
        execution->start.pid =
            stack ? clone(execute, stack + stack_bytes, CLONE_PARENT | CLONE_VM | CLONE_VFORK | SIGCHLD, execution)
                  : -1;
        if (execution->start.pid < 0) execution->start.error = errno;
        if (write(started, &execution->start, sizeof execution->start) < 0) break;
    }
    free(stack);
}

/* ---- The caller. ---- */

bool program_starter_init(struct program_starter *starter, char *const *command, const struct caller_signals *signals,
                          const char *folder) {
    int wanted[2], started[2];
    *starter = (struct program_starter){0};
    if (pipe2(wanted, O_CLOEXEC)) return false;
    if (pipe2(started, O_CLOEXEC)) {
        close(wanted[0]);
        close(wanted[1]);
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        struct execution execution = {.command = command, .signals = signals};
        close(wanted[1]); /* so that the pipe ends if the caller does */
        start_programs(&execution, wanted[0], started[1]);
        rmdir(folder);
        _exit(0);
    }
    int error = errno;
    close(wanted[0]);
    close(started[1]);
    *starter = (struct program_starter){pid, wanted[1], started[0]};
    errno = error;
    return pid > 0;
}

pid_t program_starter_start(const struct program_starter *starter) {
    struct start start;
    if (write(starter->wanted, "", 1) != 1) return 0;
    ssize_t read_bytes;
    do read_bytes = read(starter->started, &start, sizeof start);
    while (read_bytes < 0 && errno == EINTR);
    if (read_bytes == sizeof start && !start.error) return start.pid;
    if (read_bytes == sizeof start && start.pid > 0) waitpid(start.pid, NULL, 0);
    errno = read_bytes == sizeof start ? start.error : ECHILD;
    return 0;
}

void program_starter_fini(struct program_starter *starter) {
    if (!starter->pid) return;
    close(starter->wanted);
    close(starter->started);
    if (starter->pid > 0) waitpid(starter->pid, NULL, 0);
    *starter = (struct program_starter){0};
}

int program_exit_code(int status) {
    return WIFSIGNALED(status) ? EXIT_CODE_OF_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
