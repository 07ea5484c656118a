#include "started_program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

void caller_settings_init(struct caller_settings *settings, bool is_output_reserved) {
    settings->is_output_reserved = is_output_reserved;
    sigprocmask(SIG_BLOCK, NULL, &settings->signals);
    sigaction(SIGCHLD, NULL, &settings->on_child);
    getrlimit(RLIMIT_NOFILE, &settings->files);
}

static void execute(char *const *command, const struct caller_settings *settings, int start_pipe, int error_pipe) {
    char byte;
    if (read(start_pipe, &byte, 1) != 1)
        _exit(EXIT_CODE_NOT_FOUND); /* the parent has abandoned this process or has ended */
    sigaction(SIGCHLD, &settings->on_child, NULL);
    setrlimit(RLIMIT_NOFILE, &settings->files);
    sigprocmask(SIG_SETMASK, &settings->signals, NULL);
    if (settings->is_output_reserved) dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(command[0], command);
    int error = errno;
    ssize_t written = write(error_pipe, &error, sizeof error);
    (void)written;
    _exit(error == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE);
}

bool started_program_init(struct started_program *program, char *const *command,
                          const struct caller_settings *settings) {
    int start_pipe[2], error_pipe[2];
    *program = (struct started_program){.pid = -1, .start_pipe = -1, .error_pipe = -1};
    if (pipe2(start_pipe, O_CLOEXEC)) return false;
    if (pipe2(error_pipe, O_CLOEXEC)) {
        close(start_pipe[0]);
        close(start_pipe[1]);
        return false;
    }
    program->pid = fork();
    if (program->pid == 0) {
        close(start_pipe[1]); /* otherwise the read would not end when the parent does */
        execute(command, settings, start_pipe[0], error_pipe[1]);
    }
    int error = errno;
    close(start_pipe[0]);
    close(error_pipe[1]);
    program->start_pipe = start_pipe[1];
    program->error_pipe = error_pipe[0];
    errno = error;
    return program->pid > 0;
}

int started_program_execute(struct started_program *program) {
    int error;
    if (write(program->start_pipe, "", 1) != 1) return errno;
    ssize_t read_bytes;
    do read_bytes = read(program->error_pipe, &error, sizeof error);
    while (read_bytes < 0 && errno == EINTR);
    if (read_bytes != sizeof error) return 0; /* executing closed the pipe */
    waitpid(program->pid, NULL, 0);
    program->pid = -1;
    return error;
}

void started_program_fini(struct started_program *program) {
    if (program->start_pipe >= 0) close(program->start_pipe);
    if (program->error_pipe >= 0) close(program->error_pipe);
    program->start_pipe = program->error_pipe = -1;
}

int started_program_exit_code(int status) {
    return WIFSIGNALED(status) ? EXIT_CODE_OF_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
