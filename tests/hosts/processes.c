/* Test programs that create processes in every possible way, wait for them, stop them, trace them, and crash. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "host.h"

extern char **environ;

/* ---- Creating processes. ---- */

static int work_in_clone(void *unused) {
    (void)unused;
    work(30);
    return 0;
}

/* Creates children that share the memory of their parent. */
static void share_memory(void) {
    enum { STACK_BYTES = 1 << 20, CHILD_COUNT = 5 };
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < CHILD_COUNT; i++)
        printf("child %d\n", wait_for(clone(work_in_clone, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL)));
    work(50);
}

static int end_in_clone(void *unused) {
    (void)unused;
    _exit(7);
}

/* Creates the first process of a namespace. That process creates the first one of another namespace, which shares its
 * memory and has the same pid. The parent works after the end of that one. */
static void make_first_of_first(void) {
    enum { STACK_BYTES = 1 << 20 };
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fflush(stdout);
    if (unshare(CLONE_NEWPID) != 0) perror("unshare");
    pid_t pid = fork();
    if (!pid) {
        int status =
            wait_for(clone(end_in_clone, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_NEWPID | SIGCHLD, NULL));
        work(200);
        _exit(status);
    }
    printf("child %d\n", wait_for(pid));
}

static pid_t execute_true(void) {
    static char program[] = "/bin/true";
    char *const arguments[] = {program, NULL};
    pid_t pid = vfork();
    if (!pid) {
        execve(program, arguments, environ);
        _exit(9);
    }
    return pid;
}

static pid_t spawn_true(void) {
    static char program[] = "/bin/true";
    char *const arguments[] = {program, NULL};
    pid_t pid = 0;
    posix_spawn(&pid, program, NULL, NULL, arguments, environ);
    return pid;
}

static void spawn_many(void) {
    enum { CHILD_COUNT = 60 };
    int sum = 0;
    for (int i = 0; i < CHILD_COUNT; i++) sum += wait_for(i % 2 ? spawn_true() : execute_true());
    printf("sum %d\n", sum);
}

static void fork_many(void) {
    enum { CHILD_COUNT = 200 };
    int count = 0;
    for (int i = 0; i < CHILD_COUNT; i++)
        if (!fork()) {
            if (i % 3 == 0) work(1);
            _exit(0);
        }
    while (wait(NULL) > 0) count++;
    printf("%d ended\n", count);
}

/* Forks while the sampler's thread sleeps, as it does if all threads do. The child asks its own sampler for a round
 * while the parent works, so the parent's sampler is awake. */
static void fork_while_asleep(void) {
    enum { NAP_US = 400000, CHILD_NAP_US = 50000 };
    usleep(NAP_US);
    pid_t pid = fork();
    if (!pid) {
        usleep(CHILD_NAP_US);
        void *function = dlsym(RTLD_DEFAULT, "grec_wait_for_sampling");
        int (*wait_for_sampling)(void) = NULL;
        memcpy(&wait_for_sampling, &function, sizeof function);
        if (wait_for_sampling) wait_for_sampling();
        _exit(0);
    }
    work(500);
    printf("child %d\n", wait_for(pid));
}

/* Executes this program again and again in the same process, each time while threads of the recorder are running. */
static void execute_itself(void) {
    enum { TIMES = 30 };
    const char *times = getenv("HOST_TIMES_LEFT");
    int left = times ? atoi(times) : TIMES;
    char text[16];
    work(5);
    if (!left) {
        puts("executed");
        return;
    }
    snprintf(text, sizeof text, "%d", left - 1);
    setenv("HOST_TIMES_LEFT", text, 1);
    execl("/proc/self/exe", "processes", "execute-itself", (char *)NULL);
}

static int change_user_and_exit(void *status) {
    uid_t user = getuid();
    bool is_good = setresuid(user, user, user) == 0;
    work(1);
    exit(is_good ? *(int *)status : 99);
}

/* Creates two children by the system call, without what `fork` does for a child, right after the program has begun. A
 * thread that the parent has just begun to make is in neither child. The children change their user, which concerns all
 * threads that the C library knows, and exit. The program then executes itself, and does it again. */
static void clone_at_once(void) {
    enum { TIMES = 40, STACK_BYTES = 1 << 18 };
    static char stack[STACK_BYTES] __attribute__((aligned(16)));
    const char *times = getenv("HOST_TIMES_LEFT");
    int left = times ? atoi(times) : TIMES, status = left % 5;
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!pid) change_user_and_exit(&status);
    pid_t other = clone(change_user_and_exit, stack + STACK_BYTES, SIGCHLD, &status);
    int ended = wait_for(pid), other_ended = wait_for(other);
    char text[16];
    if (ended != status || other_ended != status) printf("child %d %d, not %d\n", ended, other_ended, status);
    fflush(stdout);
    if (!left) {
        puts("cloned");
        return;
    }
    snprintf(text, sizeof text, "%d", left - 1);
    setenv("HOST_TIMES_LEFT", text, 1);
    execl("/proc/self/exe", "processes", "clone-at-once", (char *)NULL);
}

static void *count(void *counter) {
    ++*(int *)counter;
    return NULL;
}

static void record_twice(void) {
    void *function = dlsym(RTLD_DEFAULT, "grec_sample_");
    void (*sample)(void) = NULL;
    memcpy(&sample, &function, sizeof function);
    for (int i = 0; sample && i < 2; i++) sample();
}

/* Starts a thread, and records before the thread gets a processor: the first recording call finds that the process is
 * new. */
static void start_and_record(void) {
    int counter = 0;
    pthread_t thread;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    if (pthread_create(&thread, NULL, count, &counter) != 0) _exit(1);
    record_twice();
    pthread_join(thread, NULL);
    _exit(counter == 1 ? 0 : 2);
}

/* Creates children by the system call, which record nothing before they start a thread. */
static void clone_and_start(void) {
    enum { CHILD_COUNT = 40 };
    int good_count = 0;
    for (int i = 0; i < CHILD_COUNT; i++) {
        pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (!pid) start_and_record();
        good_count += wait_for(pid) == 0;
    }
    printf("%d good\n", good_count);
}

static void *page_of_attributes;
static volatile pid_t forked_pid;

/* Called once, within pthread_create, which continues in the parent and in the child. If another fault called it again
 * in both, and so on, the processes would fill the machine. */
static void fork_and_record(int number) {
    static volatile sig_atomic_t has_forked;
    (void)number;
    if (has_forked) _exit(3);
    has_forked = 1;
    mprotect(page_of_attributes, sizeof(pthread_attr_t), PROT_READ | PROT_WRITE);
    forked_pid = fork();
    if (!forked_pid) record_twice();
}

static void fork_within_create(void) {
    int counter = 0;
    pthread_t thread;
    page_of_attributes = mmap(NULL, sizeof(pthread_attr_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(page_of_attributes);
    mprotect(page_of_attributes, sizeof(pthread_attr_t), PROT_NONE);
    const struct sigaction once = {.sa_handler = fork_and_record, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGSEGV, &once, NULL);
    int error = pthread_create(&thread, page_of_attributes, count, &counter);
    if (!error) pthread_join(thread, NULL);
    if (!forked_pid) _exit(counter == 1 ? 0 : 2);
    printf("parent %d, child %d\n", counter, wait_for(forked_pid));
}

/* Passes an invalid address of the arguments. The kernel reports this. */
static void clone_wrongly(void) {
    long result = syscall(SYS_clone3, 8L, 88L);
    printf("%ld, error %d\n", result, errno);
    work(50);
}

static void become_daemon(void) {
    enum { LIMIT_S = 200 };
    int ends[2];
    char byte;
    if (pipe(ends) != 0) return;
    pid_t pid = fork();
    if (pid) {
        /* Waits until the daemon has ended. */
        close(ends[1]);
        printf("read %zd\n", read(ends[0], &byte, 1));
        return;
    }
    /* A daemon is in a session of its own, in which the test cannot end it. */
    if (daemon(0, 1) != 0) _exit(1);
    alarm(LIMIT_S);
    work(100);
    pid = fork();
    if (!pid) {
        work(50);
        _exit(0);
    }
    wait_for(pid);
    puts("daemon");
    fflush(stdout);
}

/* ---- Ending while a fork is prepared. ---- */

static void (*prepare_fork)(void);

static void call_prepare_fork(void) {
    if (prepare_fork) prepare_fork();
}

/* The last function to be called before a fork, and the first one after it, is that which was registered first. This
 * runs before the constructors of libraries. */
static void register_for_forks(void) { pthread_atfork(call_prepare_fork, NULL, NULL); }

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = register_for_forks;

static void end_here(void) { exit(3); }

static void end_within_fork(void) {
    work(20);
    prepare_fork = end_here;
    fork();
}

static void end_in_handler(int number) {
    exit(number == SIGUSR1 ? 4 : 5); /* NOLINT(bugprone-signal-handler): many programs do so */
}

static void raise_signal(void) { raise(SIGUSR1); }

/* The child ends without calling exit. */
static void end_by_handler_within_fork(void) {
    signal(SIGUSR1, end_in_handler);
    work(20);
    prepare_fork = raise_signal;
    if (!fork()) _exit(0);
}

/* ---- Waiting for processes. ---- */

static void do_nothing(int number) { (void)number; }

/* Waits for a child as timeout(1) does: the child's end raises a signal whose only effect is to end a sigsuspend. */
static void suspend_until_ended(void) {
    enum { CHILD_COUNT = 40 };
    struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    sigset_t blocked, before;
    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    for (int i = 0; i < CHILD_COUNT; i++) {
        pid_t pid = fork();
        if (!pid) {
            usleep(5000);
            _exit(0);
        }
        sigprocmask(SIG_BLOCK, &blocked, &before);
        while (waitpid(pid, NULL, WNOHANG) == 0) sigsuspend(&before);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    puts("all ended");
}

/* ---- Stopping and tracing processes. ---- */

static void stop_and_continue(void) {
    enum { TIMES = 20 };
    pid_t parent = getpid(), pid = fork();
    if (!pid) {
        for (int i = 0; i < TIMES; i++) {
            usleep(5000);
            kill(parent, SIGSTOP);
            usleep(5000);
            kill(parent, SIGCONT);
        }
        _exit(0);
    }
    work(200);
    printf("child %d\n", wait_for(pid));
}

/* Traces a child. Each signal stops the child, and the tracer passes the signal on to it. */
static void trace_child(void) {
    int status = 0;
    pid_t pid = fork();
    if (!pid) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        work(100);
        _exit(7);
    }
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        long number = WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
        ptrace(PTRACE_CONT, pid, NULL, number);
    }
    printf("child %d\n", WEXITSTATUS(status));
}

/* ---- Abnormal ends. ---- */

static void abort_at_work(void) {
    work(50);
    abort();
}

static void fault(void) {
    work(50);
    *(volatile int *)8 = 1;
}

static void end_by_signal(void) {
    work(50);
    raise(SIGTERM);
}

static const struct host_case cases[] = {
    {"share-memory", share_memory},
    {"make-first-of-first", make_first_of_first},
    {"spawn-many", spawn_many},
    {"fork-many", fork_many},
    {"fork-while-asleep", fork_while_asleep},
    {"execute-itself", execute_itself},
    {"clone-at-once", clone_at_once},
    {"clone-and-start", clone_and_start},
    {"fork-within-create", fork_within_create},
    {"clone-wrongly", clone_wrongly},
    {"become-daemon", become_daemon},
    {"end-within-fork", end_within_fork},
    {"end-by-handler-within-fork", end_by_handler_within_fork},
    {"suspend-until-ended", suspend_until_ended},
    {"stop-and-continue", stop_and_continue},
    {"trace-child", trace_child},
    {"abort-at-work", abort_at_work},
    {"fault", fault},
    {"end-by-signal", end_by_signal},
};

HOST_MAIN(cases)
