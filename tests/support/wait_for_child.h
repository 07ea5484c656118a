/* Waits for a child with a time limit that the child's signal mask cannot block. */
#pragma once

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Waits for a child. Returns its exit status, or 128 plus the number of the signal that killed it. If the child
 * exceeds the time limit, it is killed by SIGKILL. */
static inline int wait_for_child(pid_t pid) {
    enum { LOOK_NS = 2000000, LOOK_COUNT = 600 * (1000000000 / LOOK_NS) };
    const struct timespec pause = {0, LOOK_NS};
    int status = -1, count = 0;
    pid_t ended;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        if (count++ == LOOK_COUNT) kill(pid, SIGKILL);
        nanosleep(&pause, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
