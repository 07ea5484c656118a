/* Test programs that restrict their system calls, the cycle counter, their rights, or their memory. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "host.h"

/* Uses processor time without reading a clock. */
static void work_blindly(void) {
    for (int i = 0; i < 60000; i++) work_once();
}

/* ---- System calls. ---- */

/* Installs a seccomp filter that allows only a few system calls. The filter applies to the calling thread and the
 * threads that it creates later, or to all threads of the process if `is_for_all` is true. */
static void allow_few_calls(bool is_for_all) {
#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(write),
        ALLOW(read),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(rt_sigreturn),
        ALLOW(rt_sigprocmask),
        ALLOW(clone3),
        ALLOW(clone),
        ALLOW(mmap),
        ALLOW(mprotect),
        ALLOW(munmap),
        ALLOW(madvise),
        ALLOW(futex),
        ALLOW(rseq),
        ALLOW(set_robust_list),
        ALLOW(clock_gettime),
        ALLOW(newfstatat),
        ALLOW(fstat),
        ALLOW(brk),
        ALLOW(rt_sigaction),
        ALLOW(getrandom),
        ALLOW(sched_getaffinity),
        ALLOW(prlimit64),
        ALLOW(gettid),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (is_for_all)
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    else
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *work_in_thread(void *unused) {
    work_blindly();
    return unused;
}

static void *wait_to_end(void *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* One thread begins before the filter, and one after it. */
static void filter_calls_and_work(bool is_for_all) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread, early_thread;
    pthread_mutex_lock(&lock);
    pthread_create(&early_thread, NULL, wait_to_end, &lock);
    work(50);
    allow_few_calls(is_for_all);
    pthread_mutex_unlock(&lock);
    pthread_join(early_thread, NULL);
    pthread_create(&thread, NULL, work_in_thread, NULL);
    pthread_join(thread, NULL);
    puts("worked");
    fflush(stdout);
    _exit(0);
}

static void filter_calls(void) { filter_calls_and_work(false); }
static void filter_calls_of_all(void) { filter_calls_and_work(true); }

/* Forbids the system call that returns from a handler, and calls that only a recorder makes here. Then works in a
 * thread and in a child, and returns. */
static void filter_handlers(void) {
#define FORBID(name) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        FORBID(rt_sigreturn),
        FORBID(getpid),
        FORBID(tgkill),
        FORBID(membarrier),
        FORBID(timer_create),
        FORBID(timer_delete),
        FORBID(fcntl),
        FORBID(ftruncate),
        FORBID(openat),
        FORBID(process_vm_readv),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    pthread_t thread;
    work(50);
    int asked = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
    printf("asked %d %d\n", asked, errno);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("filtered %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    fflush(stdout);
    work(200);
    pthread_create(&thread, NULL, work_in_thread, NULL);
    pthread_join(thread, NULL);
    pid_t pid = fork();
    if (!pid) {
        work(100);
        exit(3);
    }
    printf("child %d\n", wait_for(pid));
}

static void work_and_say_so(void) {
    work(200);
    puts("worked");
}

/* Executes a program under a filter that kills whoever asks the kernel for events, as those of many services do. */
static void execute_under_filter(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        FORBID(perf_event_open),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    execl("/proc/self/exe", "confined", "work-and-say-so", NULL);
    puts("not executed");
}

enum { TRANSFER_BYTES = 1 << 22, TRANSFER_COUNT = 6 };

static char transferred[TRANSFER_BYTES];

/* Reads all that this program sends to its child, in small parts. */
static pid_t make_reader(int ends[2]) {
    fflush(stdout);
    pid_t pid = pipe(ends) == 0 ? fork() : -1;
    if (pid != 0) return pid;
    static char bytes[65536];
    size_t sum = 0;
    ssize_t part;
    close(ends[1]);
    while ((part = read(ends[0], bytes, sizeof bytes)) > 0) {
        sum += (size_t)part;
        usleep(50);
    }
    _exit(sum != (size_t)(TRANSFER_COUNT + 1) * TRANSFER_BYTES + TRANSFER_COUNT);
}

/* A signal may cut each part short. */
static void *write_parts(void *file) {
    size_t done = 0;
    ssize_t part = 1;
    bool is_by_parts = false;
    while (part > 0 && done < TRANSFER_BYTES) {
        /* Half of what is left, so that each function writes many bytes. */
        const size_t bytes_count = (TRANSFER_BYTES - done + 1) / 2;
        const struct iovec rest = {transferred + done, bytes_count};
        part = is_by_parts ? writev(*(int *)file, &rest, 1) : write(*(int *)file, rest.iov_base, rest.iov_len);
        if (part > 0) done += (size_t)part;
        is_by_parts = !is_by_parts;
    }
    return NULL;
}

/* Transfers data and waits under a filter that allows this and signals, but no calls that query files and handlers. */
static void filter_and_transfer(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        FORBID(fcntl),
        FORBID(fstat),
        FORBID(newfstatat),
        FORBID(ioctl),
        FORBID(rt_sigaction),
        FORBID(sched_yield),
        FORBID(clock_nanosleep),
        FORBID(gettid),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    int ends[2], zero = open("/dev/zero", O_RDONLY);
    pthread_t thread;
    puts("started"); /* the C library asks about its file before the first output */
    pid_t pid = make_reader(ends);
    pthread_create(&thread, NULL, work_in_thread, NULL); /* the C library now has its own handlers */
    pthread_join(thread, NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("filtered %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    fflush(stdout);
    for (int i = 0; i < TRANSFER_COUNT; i++) {
        if (write(ends[1], transferred, 1) != 1 || read(zero, transferred, sizeof transferred) <= 0) break;
        write_parts(&ends[1]);
        for (int k = 0; k < 20; k++) poll(NULL, 0, 1);
        work(10);
    }
    pthread_create(&thread, NULL, write_parts, &ends[1]);
    pthread_join(thread, NULL);
    close(ends[1]);
    printf("child %d\n", wait_for(pid));
}

/* Works in a process that may only read, write and exit, and must not read the cycle counter. */
static void confine_strictly(void) {
    static const char text[] = "worked\n";
    work(50);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    work_blindly();
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) return;
    syscall(SYS_exit, 0);
}

static volatile char dispatched;
static volatile sig_atomic_t dispatch_count;

static void note_dispatch(int number) {
    (void)number;
    dispatched = SYSCALL_DISPATCH_FILTER_ALLOW;
    dispatch_count++;
}

static int find_c_library(struct dl_phdr_info *object, size_t unused, void *code) {
    (void)unused;
    if (!strstr(object->dlpi_name, "/libc.so")) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_X) {
            *(ElfW(Phdr) *)code = object->dlpi_phdr[i];
            ((ElfW(Phdr) *)code)->p_vaddr += object->dlpi_addr;
        }
    return 1;
}

/* Makes the kernel allow only system calls of the C library. The handler notes the others. */
static void dispatch_calls(void) {
    enum { ROUND_COUNT = 3 };
    ElfW(Phdr) code = {0};
    int right_count = 0;
    signal(SIGSYS, note_dispatch);
    dl_iterate_phdr(find_c_library, &code);
    prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, code.p_vaddr, code.p_memsz, &dispatched);
    for (int i = 0; i < ROUND_COUNT; i++) {
        dispatched = SYSCALL_DISPATCH_FILTER_BLOCK;
        work_blindly();
        long pid = syscall(SYS_getpid);
        dispatched = SYSCALL_DISPATCH_FILTER_ALLOW;
        right_count += pid == getpid();
    }
    prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
    printf("%d right, %d dispatched\n", right_count, (int)dispatch_count);
}

static void forbid_counter(void) {
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    work_blindly();
    puts("worked");
}

/* ---- Rights. ---- */

static void give_up_rights(void) {
    enum { NOBODY = 65534 };
    work(50);
    int group = setgid(NOBODY), user = setuid(NOBODY);
    printf("group %d, user %d\n", group, user);
    fflush(stdout);
    work(100);
    pid_t pid = fork();
    if (!pid) {
        work(50);
        _exit(0);
    }
    printf("child %d\n", wait_for(pid));
}

/* Gives up being root but keeps a capability, and then changes its groups, as setpriv does. */
static void keep_capabilities(void) {
    enum { NOBODY = 65534, NUMBER = CAP_SETGID };
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct kept[2] = {{.effective = 1u << NUMBER, .permitted = 1u << NUMBER}};
    const gid_t some[] = {NOBODY, 12};
    work(50);
    printf("kept %d\n", prctl(PR_SET_KEEPCAPS, 1));
    printf("user %d\n", setresuid(NOBODY, NOBODY, NOBODY));
    printf("raised %ld\n", syscall(SYS_capset, &header, kept));
    printf("group %d\n", setresgid(NOBODY, NOBODY, NOBODY));
    printf("groups %d\n", setgroups(2, some));
    work(100);
    printf("%d %d %d %d\n", (int)geteuid(), (int)getegid(), getgroups(0, NULL), setuid(0));
    work(100);
}

/* The parent looks `chroot` up, because the dynamic linker would use the child's thread-local storage. */
static int change_root_of_child(void *function) {
    int (*change)(const char *) = (int (*)(const char *))function;
    return change("jail");
}

/* Changes the root directory in a child that shares the memory but has thread-local storage of its own, without any
 * content, as chromium's zygotes do. */
static void change_root_with_own_storage(void) {
    enum { STACK_BYTES = 65536, STORAGE_BYTES = 4096 };
    static _Alignas(64) unsigned char stack[STACK_BYTES], storage[STORAGE_BYTES];
    mkdir("jail", 0755);
    fflush(stdout);
    pid_t pid =
        clone(change_root_of_child, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_FS | CLONE_SETTLS | SIGCHLD,
              &chroot, NULL, storage + STORAGE_BYTES / 2, NULL);
    printf("changed %d\n", pid > 0 && wait_for(pid) == 0);
    work(100);
}

static void change_root(void) {
    mkdir("jail", 0755);
    printf("changed %d\n", chroot("jail") == 0 && chdir("/") == 0);
    fflush(stdout);
    work(200);
    pid_t pid = fork();
    if (!pid) {
        work(50);
        _exit(0);
    }
    printf("child %d\n", wait_for(pid));
}

/* Creates a user namespace. The kernel refuses this in a process with several threads. */
static void make_namespace(void) {
    work(50);
    printf("made %d\n", unshare(CLONE_NEWUSER));
    work(100);
}

static void forbid_dumps(void) {
    prctl(PR_SET_DUMPABLE, 0);
    work(200);
    puts("worked");
}

/* ---- Memory. ---- */

static void limit_memory(void) {
    const struct rlimit limit = {(rlim_t)400 << 20, (rlim_t)400 << 20};
    setrlimit(RLIMIT_AS, &limit);
    void *memory = malloc((size_t)100 << 20);
    printf("memory %d\n", memory != NULL);
    work(200);
    free(memory);
}

static void *work_for_30_ms(void *unused) {
    work(30);
    return unused;
}

static void limit_file_sizes(void) {
    enum { THREAD_COUNT = 10 };
    const struct rlimit limit = {100000, 100000};
    pthread_t threads[THREAD_COUNT];
    setrlimit(RLIMIT_FSIZE, &limit);
    work(100);
    for (int i = 0; i < THREAD_COUNT; i++) pthread_create(&threads[i], NULL, work_for_30_ms, NULL);
    for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
    puts("worked");
}

static void map_much(void) {
    enum { HUGE_COUNT = 200, SMALL_COUNT = 10000, PAGE_BYTES = 4096 };
    int count = 0;
    for (int i = 0; i < HUGE_COUNT; i++)
        count +=
            mmap(NULL, (size_t)1 << 38, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
    for (int i = 0; i < SMALL_COUNT; i++)
        (void)mmap(NULL, PAGE_BYTES, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    work(300);
    printf("%d large mappings\n", count);
}

/* Creates as many mappings as the system allows, and then starts threads. */
static void map_all(void) {
    enum { PAGE_BYTES = 4096, MAPPING_COUNT = 65000, THREAD_COUNT = 5 };
    char *memory = mmap(NULL, (size_t)2 * PAGE_BYTES * MAPPING_COUNT, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int count = 0;
    while (count < MAPPING_COUNT &&
           mprotect(memory + (size_t)2 * PAGE_BYTES * (size_t)count, PAGE_BYTES, PROT_NONE) == 0)
        count++;
    printf("%s\n", count > 20000 ? "many" : "few");
    for (int i = 0; i < THREAD_COUNT; i++) {
        pthread_t thread;
        work(20);
        if (pthread_create(&thread, NULL, work_for_30_ms, NULL) == 0) pthread_join(thread, NULL);
    }
}

static const struct host_case cases[] = {
    {"filter-calls", filter_calls},
    {"filter-calls-of-all", filter_calls_of_all},
    {"filter-handlers", filter_handlers},
    {"work-and-say-so", work_and_say_so},
    {"execute-under-filter", execute_under_filter},
    {"filter-and-transfer", filter_and_transfer},
    {"confine-strictly", confine_strictly},
    {"dispatch-calls", dispatch_calls},
    {"forbid-counter", forbid_counter},
    {"give-up-rights", give_up_rights},
    {"keep-capabilities", keep_capabilities},
    {"change-root", change_root},
    {"change-root-with-own-storage", change_root_with_own_storage},
    {"make-namespace", make_namespace},
    {"forbid-dumps", forbid_dumps},
    {"limit-memory", limit_memory},
    {"limit-file-sizes", limit_file_sizes},
    {"map-much", map_much},
    {"map-all", map_all},
};

HOST_MAIN(cases)
