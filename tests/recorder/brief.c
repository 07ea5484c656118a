/* Makes children that end at once, in all ways, some of them after they have executed this program again. With the
 * argument "filter", it makes children under a filter of system calls that forbids one of the recorder's. Prints how
 * many processes there were. tests/unit/recorder/test_sampler_preload.c runs this program with the recorder preloaded.
 * The program itself does not use the recorder. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum way { BY_SYSTEM, BY_EXIT, BY_SIGNAL, BY_EXECUTION, BY_EXECUTION_OF_OTHER_MEMORY, CLONED, WAY_COUNT };

enum { TURN_COUNT = 5 };

static void execute(char *program) {
    static char leaf[] = "leaf";
    execl(program, program, leaf, NULL);
    _exit(127);
}

static void end(enum way way, char *program) {
    if (way == BY_EXIT) exit(0);
    if (way == BY_SIGNAL) kill(getpid(), SIGKILL);
    if (way == BY_EXECUTION) execute(program);
    _exit(0);
}

/* Returns false if there is no child, or if it could not execute the program. */
static int make_child(enum way way, char *program) {
    int status;
    pid_t pid;
    if (way == BY_EXECUTION_OF_OTHER_MEMORY) {
        pid = vfork();
        if (!pid) execute(program);
    } else {
        pid = way == CLONED ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
        if (!pid) end(way, program);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && !(WIFEXITED(status) && WEXITSTATUS(status));
}

static int forbid_a_call(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(int count, char **arguments) {
    int is_leaf = count > 1 && !strcmp(arguments[1], "leaf"), is_filtered = count > 1 && !is_leaf;
    if (is_leaf) return 0;
    if (is_filtered && !forbid_a_call()) return 1;
    for (int i = 0; i < TURN_COUNT * WAY_COUNT; i++)
        if (!make_child(is_filtered ? BY_SYSTEM : (enum way)(i % WAY_COUNT), arguments[0])) return 1;
    printf("%d\n", TURN_COUNT * WAY_COUNT + 1);
    return 0;
}
