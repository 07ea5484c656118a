/* Does what a program with one thread can do, and prints the results. tests/unit/recorder/test_sampler_preload.c
 * runs this program with the recorder preloaded. The program itself does not use the recorder. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void say(const char *what, long result) {
    printf("%s: %ld %s\n", what, result, result < 0 ? strerror(errno) : "");
    fflush(stdout);
}

/* Counts threads by the links of /proc/self/task. Two of these links belong to the folder itself. */
static void count_threads(void) {
    struct stat status;
    if (stat("/proc/self/task", &status) == 0) say("threads", (long)status.st_nlink - 2);
    int folder = open("/proc", O_RDONLY | O_DIRECTORY);
    if (fstatat(folder, "self/task/", &status, 0) == 0) say("threads", (long)status.st_nlink - 2);
    close(folder);
}

/* The program's own folders of such names keep their links. */
static void count_links(const char *name) {
    char base[] = "/tmp/alone-XXXXXX", parent[64], path[80];
    struct stat status, told;
    if (!mkdtemp(base)) return;
    snprintf(parent, sizeof parent, "%s/%s", base, name);
    snprintf(path, sizeof path, "%s/task", parent);
    mkdir(parent, 0700);
    mkdir(path, 0700);
    int folder = open(parent, O_RDONLY | O_DIRECTORY);
    bool is_found = stat(path, &status) == 0 && syscall(SYS_newfstatat, folder, "task", &told, 0) == 0;
    say("links", is_found ? (long)status.st_nlink - (long)told.st_nlink : -1);
    close(folder);
    rmdir(path);
    rmdir(parent);
    rmdir(base);
}

static void work(void) {
    struct timespec now = {0, 0};
    while (now.tv_sec == 0 && now.tv_nsec < 200000000) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

/* Installs a filter for all threads: if any thread opens a file, the kernel kills the process. */
static void confine(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    say("no new privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    say("filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program));
}

int main(void) {
    count_threads();
    work();
    count_threads();
    count_links("self");
    count_links("itself");
    say("unshare", unshare(CLONE_NEWUSER));
    say("again", syscall(SYS_unshare, CLONE_NEWUSER));
    say("file", syscall(SYS_openat, AT_FDCWD, "/nowhere/at/all", O_RDONLY));
    work();
    confine();
    work();
    return 0;
}
