/* Test programs whose forked children act right after the fork. A sampler that begins later must not disturb them. */
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "host.h"

extern char **environ;

/* Runs the function in a child, which then ends by `exit`. */
static void in_child(void (*run)(void)) {
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        run();
        exit(0);
    }
    printf("child %d\n", wait_for(pid));
}

/* Uses processor time without a system call and without reading a clock. */
static void work_blindly(void) {
    for (int i = 0; i < 60000; i++) work_once();
}

static void end_at_once(const char *text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) return;
    syscall(SYS_exit, 0);
}

/* ---- Restrictions. ---- */

static void filter(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_delete, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    work_blindly();
    end_at_once("worked\n");
}

static void confine(void) {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    work_blindly();
    end_at_once("worked\n");
}

static void change_root(void) {
    mkdir("jail", 0755);
    printf("changed %d\n", chroot("jail") == 0 && chdir("/") == 0);
    work(200);
}

static void make_namespace(void) {
    printf("made %d\n", unshare(CLONE_NEWUSER));
    work(100);
}

/* Prints whether all threads of the process belong to the user. */
static void change_user(void) {
    enum { NOBODY = 65534 };
    work(100);
    printf("changed %d\n", setresuid(NOBODY, NOBODY, NOBODY));
    int other_count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], line[256];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *file = *task->d_name == '.' ? NULL : fopen(path, "r");
        int user;
        while (file && fgets(line, sizeof line, file))
            if (sscanf(line, "Uid: %d", &user) == 1) other_count += user != NOBODY;
        if (file) fclose(file);
    }
    if (tasks) closedir(tasks);
    printf("%d threads of others\n", other_count);
    work(100);
}

/* ---- Signals and waits. ---- */

static void wait_for_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigprocmask(SIG_BLOCK, &set, NULL);
    const struct timespec limit = {.tv_nsec = 60000000};
    printf("%d\n", sigtimedwait(&set, NULL, &limit));
    work(30);
}

static volatile sig_atomic_t handled_count;

static void count_handled(int number) {
    (void)number;
    handled_count++;
}

static void handle_signal(void) {
    const struct sigaction action = {.sa_handler = count_handled};
    sigaction(SIGURG, &action, NULL);
    work(60);
    raise(SIGURG);
    printf("%d handled\n", (int)handled_count);
}

/* Without SA_RESTART, any signal ends a read. */
static void share_signals(void) {
    const struct sigaction action = {.sa_handler = count_handled};
    sigaction(SIGURG, &action, NULL);
    sigaction(SIGWINCH, &action, NULL);
    int ends[2];
    char byte;
    if (pipe(ends) != 0) return;
    pid_t pid = fork();
    if (!pid) {
        usleep(100000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    ssize_t count = read(ends[0], &byte, 1);
    printf("%zd read, %d handled, child %d\n", count, (int)handled_count, wait_for(pid));
}

static const struct timespec nap = {.tv_nsec = 40000000};

static void sleep_at_once(void) { printf("slept %d\n", nanosleep(&nap, NULL)); }

static void poll_at_once(void) { printf("polled %d\n", poll(NULL, 0, 40)); }

/* A wait of a program with a handler is not restarted after a signal, so nothing may interrupt it. */
static void wait_with_handler(void) {
    enum { TIMES = 10 };
    signal(SIGUSR1, count_handled);
    for (int i = 0; i < TIMES; i++) {
        in_child(sleep_at_once);
        in_child(poll_at_once);
    }
}

/* ---- The end. ---- */

static void *work_on(void *unused) {
    work(100);
    puts("worked");
    return unused;
}

/* Ends the thread to which the timer would send its signal. */
static void end_first(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work_on, NULL);
    pthread_exit(NULL);
}

static void execute(void) {
    static char program[] = "/bin/true";
    char *const arguments[] = {program, NULL};
    pid_t pid = 0;
    posix_spawn(&pid, program, NULL, NULL, arguments, environ);
    wait_for(pid);
    pid = vfork();
    if (!pid) {
        execve(program, arguments, environ);
        _exit(9);
    }
    printf("%d\n", wait_for(pid));
    work(50);
}

/* Children end at about the time at which their samplers are started. */
static void end_in_time(void) {
    enum { CHILD_COUNT = 200, FIRST_US = 9000, STEP_US = 10 };
    int sum = 0;
    for (int i = 0; i < CHILD_COUNT; i++) {
        pid_t pid = fork();
        if (!pid) {
            usleep(FIRST_US + (useconds_t)i * STEP_US);
            exit(0);
        }
        sum += wait_for(pid);
    }
    printf("sum %d\n", sum);
}

#define IN_CHILD(name) \
    static void name##_in_child(void) { in_child(name); }

IN_CHILD(filter)
IN_CHILD(confine)
IN_CHILD(change_root)
IN_CHILD(make_namespace)
IN_CHILD(change_user)
IN_CHILD(wait_for_signal)
IN_CHILD(handle_signal)
IN_CHILD(share_signals)
IN_CHILD(end_first)
IN_CHILD(execute)

static const struct host_case cases[] = {
    {"filter-at-once", filter_in_child},
    {"confine-at-once", confine_in_child},
    {"change-root-at-once", change_root_in_child},
    {"make-namespace-at-once", make_namespace_in_child},
    {"change-user-of-child", change_user_in_child},
    {"wait-for-signal-at-once", wait_for_signal_in_child},
    {"handle-signal-at-once", handle_signal_in_child},
    {"share-signals-at-once", share_signals_in_child},
    {"wait-with-handler", wait_with_handler},
    {"end-first-at-once", end_first_in_child},
    {"execute-at-once", execute_in_child},
    {"end-in-time", end_in_time},
};

HOST_MAIN(cases)
