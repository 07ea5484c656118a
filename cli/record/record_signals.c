/* Signals that end a recording. */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"
#include "writer/sink.h"

static const int ending_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

enum { ENDING_SIGNAL_COUNT = sizeof ending_signals / sizeof *ending_signals };

/* Returns whether the profile is written to the standard output of programs. A device, such as a terminal or /dev/null,
 * can take both. */
static bool is_output_reserved(const char *path) {
    struct stat output, standard;
    if (!path || strcmp(path, "-") == 0) return path;
    return stat(path, &output) == 0 && fstat(STDOUT_FILENO, &standard) == 0 && output.st_dev == standard.st_dev &&
           output.st_ino == standard.st_ino && !S_ISCHR(output.st_mode);
}

void record_signals_take(struct record *record) {
    static const struct sigaction by_default = {.sa_handler = SIG_DFL};
    caller_settings_init(&record->caller, is_output_reserved(record->options->convert.output_path));
    sigaction(SIGCHLD, &by_default, NULL);
    sigemptyset(&record->signals);
    sigaddset(&record->signals, SIGCHLD);
    for (size_t i = 0; i < ENDING_SIGNAL_COUNT; i++) {
        struct sigaction action;
        if (sigaction(ending_signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&record->signals, ending_signals[i]);
    }
    sigprocmask(SIG_BLOCK, &record->signals, NULL);
    record->signal_fd = signalfd(-1, &record->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (record->signal_fd < 0)
        failure_set(&record->failure, FAILURE_IO, "cannot wait for signals: %s", strerror(errno));
}

static struct workspace *left_folder; /* global because a signal handler must find it */

static void end_by_signal(int signal_number) {
    workspace_remove(left_folder);
    sink_abandon();
    raise(signal_number);
}

void record_signals_release(struct record *record) {
    left_folder = &record->traces.folder;
    for (size_t i = 0; i < ENDING_SIGNAL_COUNT; i++) {
        struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&action.sa_mask);
        if (sigismember(&record->signals, ending_signals[i])) sigaction(ending_signals[i], &action, NULL);
    }
    sigaction(SIGCHLD, &record->caller.on_child, NULL);
    sigprocmask(SIG_SETMASK, &record->caller.signals, NULL);
}

/* Passes the signal on to the program, unless the terminal has sent it to the program, too. A terminal that goes away
 * sends SIGHUP only to the first process of a session. Without a program, signals end the recording. SIGQUIT is left to
 * the program: programs in Java and Go print their stacks. The second Ctrl-C ends this process. */
static void handle_signal(struct record *record, const struct signalfd_siginfo *signal) {
    pid_t program = record->program.pid;
    if (signal->ssi_signo == SIGCHLD) return;
    if (record->is_interrupted && signal->ssi_signo == SIGINT) {
        record_signals_release(record);
        raise(SIGINT);
    }
    record->is_interrupted |= program <= 0 || signal->ssi_signo != SIGQUIT;
    bool is_of_terminal = signal->ssi_code > 0 && signal->ssi_signo != SIGHUP;
    if (program > 0 && !is_of_terminal) kill(program, (int)signal->ssi_signo);
}

void record_signals_handle(struct record *record) {
    struct signalfd_siginfo signal;
    while (read(record->signal_fd, &signal, sizeof signal) == sizeof signal) handle_signal(record, &signal);
}
