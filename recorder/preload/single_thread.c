/* Interposes functions of the C library that depend on how many threads a program has, that succeed only in a process
 * with one thread, that change the ids of all threads, or that filter the system calls of threads: the recorder's
 * threads must not change their results. A thread that is about to be forbidden to read the cycle counter must not read
 * it for the recorder either. Only the shared library has these functions. They have no effect on programs that make
 * the system calls without the C library.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/preload/call_filter.h"
#include "recorder/preload/next_function.h"
#include "recorder/session/session.h"
#include "recorder/state/own_code.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/sampler_hooks.h"

#if defined(__x86_64__) || defined(__aarch64__)

#define EXPORTED        __attribute__((visibility("default")))
#define TEXT_OF(number) TEXT(number)
#define TEXT(number)    #number

enum { ARGUMENT_COUNT = 6 };

struct arguments {
    long at[ARGUMENT_COUNT];
};

/* The C library's syscall, which the function below hides. System calls are made there once it has been found: a
 * program can have the kernel forbid those that other code makes (PR_SET_SYSCALL_USER_DISPATCH). */
__attribute__((visibility("hidden"))) void *single_thread_next;

/* The sampler already runs, so this constructor is the library's first: a thread that waits in a later one, as for a
 * page of a symbol table, must have no frame of the library. */
__attribute__((constructor(101))) static void begin(void) {
    own_code_register();
    find_next_function(&single_thread_next, "syscall");
}

/* Makes a system call, like the C library's syscall. It is in assembly and leaves the stack as it is, because some
 * system calls return on another stack. */
long single_thread_call(long number, ...) __attribute__((visibility("hidden")));
long single_thread_fail(long result) __attribute__((visibility("hidden")));
long single_thread_special(long number, ...) __attribute__((visibility("hidden")));

long single_thread_fail(long result) {
    errno = (int)-result;
    return -1;
}

/* Called before clone and clone3. Returns whether call_fork must make the call: like a child of fork, the child has a
 * copy of the memory and continues on the same stack. */
bool single_thread_is_fork(long number, long first, long second) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
#define IF_CHILD(number) \
    "cmpl $" TEXT_OF(number) ", %edi\n jne 1f\n"                                                                \
    "pushq %rdi\n pushq %rsi\n pushq %rdx\n pushq %rcx\n pushq %r8\n pushq %r9\n subq $8, %rsp\n"              \
    ".cfi_adjust_cfa_offset 56\n call single_thread_is_fork\n"                                                  \
    "addq $8, %rsp\n popq %r9\n popq %r8\n popq %rcx\n popq %rdx\n popq %rsi\n popq %rdi\n"                    \
    ".cfi_adjust_cfa_offset -56\n testb %al, %al\n jnz single_thread_special\n 1:\n"
#define IF_SPECIAL(number) "cmpl $" TEXT_OF(number) ", %edi\n je single_thread_special\n"
#define CALL                                                                                                      \
    "movq single_thread_next(%rip), %rax\n testq %rax, %rax\n je 2f\n jmp *%rax\n"                                \
    "2: movq %rdi, %rax\n movq %rsi, %rdi\n movq %rdx, %rsi\n movq %rcx, %rdx\n movq %r8, %r10\n movq %r9, %r8\n" \
    "movq 8(%rsp), %r9\n syscall\n cmpq $-4095, %rax\n jae 1f\n ret\n 1: movq %rax, %rdi\n jmp single_thread_fail\n"
#else
#define IF_CHILD(number) \
    "cmp w0, #" TEXT_OF(number) "\n b.ne 1f\n"                                                      \
    "stp x29, x30, [sp, #-80]!\n .cfi_adjust_cfa_offset 80\n .cfi_rel_offset x29, 0\n"              \
    ".cfi_rel_offset x30, 8\n stp x0, x1, [sp, #16]\n stp x2, x3, [sp, #32]\n"                      \
    "stp x4, x5, [sp, #48]\n str x6, [sp, #64]\n bl single_thread_is_fork\n and w9, w0, #255\n"      \
    "ldp x0, x1, [sp, #16]\n ldp x2, x3, [sp, #32]\n ldp x4, x5, [sp, #48]\n ldr x6, [sp, #64]\n"   \
    "ldp x29, x30, [sp], #80\n .cfi_adjust_cfa_offset -80\n .cfi_restore x29\n .cfi_restore x30\n"  \
    "cbnz w9, single_thread_special\n 1:\n"
#define IF_SPECIAL(number) "cmp w0, #" TEXT_OF(number) "\n b.eq single_thread_special\n"
#define CALL                                                                                                  \
    "adrp x16, single_thread_next\n ldr x16, [x16, :lo12:single_thread_next]\n cbz x16, 2f\n br x16\n"        \
    "2: uxtw x8, w0\n mov x0, x1\n mov x1, x2\n mov x2, x3\n mov x3, x4\n mov x4, x5\n mov x5, x6\n svc #0\n" \
    "cmn x0, #4095\n b.cs 1f\n ret\n 1: b single_thread_fail\n"
#endif

#define FUNCTION(visibility, name, body)                                                                    \
    __asm__(".text\n.p2align 4\n" visibility " " name "\n.globl " name "\n.type " name ", %function\n" name \
            ":\n.cfi_startproc\n" body ".cfi_endproc\n.size " name ", .-" name "\n")

FUNCTION(".hidden", "single_thread_call", CALL);
FUNCTION(".globl", "syscall",
         IF_SPECIAL(__NR_unshare) IF_SPECIAL(__NR_setns) IF_SPECIAL(__NR_seccomp) IF_SPECIAL(__NR_prctl)
             IF_CHILD(__NR_clone) IF_CHILD(__NR_clone3) CALL);

static long call(long number, const struct arguments *arguments) {
    const long *at = arguments->at;
    return single_thread_call(number, at[0], at[1], at[2], at[3], at[4], at[5]);
}

/* ---- Calls that need a process with one thread, and filters of system calls. ---- */

/* Ends being alone, if is_alone. Returns `result`, and leaves errno as it is. */
static long end_being_alone(bool is_alone, long result) {
    if (!is_alone) return result;
    int saved_errno = errno;
    session_end_being_alone();
    errno = saved_errno;
    return result;
}

static long call_alone(long number, const struct arguments *arguments) {
    bool is_alone = session_be_alone();
    return end_being_alone(is_alone, call(number, arguments));
}

static bool is_for_one_thread(long number, const struct arguments *arguments) {
    enum { FLAGS = CLONE_NEWUSER | CLONE_THREAD | CLONE_VM | CLONE_SIGHAND };
    return number == SYS_setns || (number == SYS_unshare && arguments->at[0] & FLAGS);
}

static bool is_filter(long number, const struct arguments *arguments) {
    const long *at = arguments->at;
    if (number == SYS_prctl) return at[0] == PR_SET_SECCOMP && at[1] == SECCOMP_MODE_FILTER;
    return number == SYS_seccomp && at[0] == SECCOMP_SET_MODE_FILTER;
}

static void prepare_filter(long number, const struct arguments *arguments) {
    struct call_filter filter;
    if (!call_filter_find((const struct sock_fprog *)arguments->at[2], &filter)) return;
    const struct session_filter for_session = {
        .is_for_all_threads = number == SYS_seccomp && (arguments->at[1] & (long)SECCOMP_FILTER_FLAG_TSYNC) != 0,
        .forbids_handlers = !call_filter_allows_handlers(&filter),
        .forbids_calls = !call_filter_allows_calls(&filter),
    };
    session_prepare_filter(&for_session);
}

/* The strict mode of seccomp also forbids the cycle counter. */
static bool is_counter_forbidden(long number, const struct arguments *arguments) {
    const long *at = arguments->at;
    if (number == SYS_seccomp) return at[0] == SECCOMP_SET_MODE_STRICT;
    if (number != SYS_prctl) return false;
    return (at[0] == PR_SET_TSC && at[1] == PR_TSC_SIGSEGV) ||
           (at[0] == PR_SET_SECCOMP && at[1] == SECCOMP_MODE_STRICT);
}

/* Returns whether the thread asks to keep its capabilities when it is no longer root. */
static bool is_keeping_capabilities(long number, const struct arguments *arguments) {
    const long *at = arguments->at;
    return number == SYS_prctl && (at[0] == PR_SET_KEEPCAPS || at[0] == PR_SET_SECUREBITS) && at[1];
}

static bool keeps_capabilities; /* some thread has done so */

/* ---- Children that are made without fork: they must not wait for a mutex that another thread of the parent held.
 * ---- */

/* A child with thread-local storage of its own cannot call the recorder. */
static bool copies_memory(uint64_t flags) { return !(flags & (CLONE_VM | CLONE_SETTLS)); }

/* The arguments of clone3 are not read, because their address may be invalid. For clone3, and if the child has a stack
 * of its own, the parent only waits until the sampler's thread has begun. */
bool single_thread_is_fork(long number, long first, long second) {
    if (number == SYS_clone && copies_memory((uint64_t)first) && !second) return true;
    if (sampler_table()) sampler_table()->await_begin();
    return false;
}

static long call_fork(long number, const struct arguments *arguments) {
    session_prepare_clone();
    long result = call(number, arguments);
    session_finish_clone(result == 0);
    return result;
}

struct child {
    int (*run)(void *);
    void *argument;
};

static int run_child(void *context) {
    const struct child *child = context;
    session_finish_clone(true);
    return child->run(child->argument);
}

static int (*next_clone)(int (*run)(void *), void *stack, int flags, void *argument, ...);
__attribute__((constructor)) static void find_clone(void) { find_next_function(&next_clone, "clone"); }

EXPORTED int clone(int (*run)(void *), void *stack, int flags, void *argument, ...) {
    struct child child = {run, argument};
    va_list list;
    va_start(list, argument);
    void *parent_tid = va_arg(list, void *), *storage = va_arg(list, void *), *child_tid = va_arg(list, void *);
    va_end(list);
    if (!next_clone) find_clone();
    if (!run || !copies_memory((uint64_t)flags))
        return next_clone(run, stack, flags, argument, parent_tid, storage, child_tid);
    session_prepare_clone();
    int pid = next_clone(run_child, stack, flags, &child, parent_tid, storage, child_tid);
    session_finish_clone(false);
    return pid;
}

/* ---- All of these calls together. Without prctl, `filter-handlers` of tests/hosts is killed; without syscall,
 * `filter-calls-of-all`. Without unshare and setns, `make-namespace` has no namespace. ---- */

static long call_special(long number, const struct arguments *arguments) {
    if (number == SYS_clone) return call_fork(number, arguments);
    if (is_keeping_capabilities(number, arguments)) __atomic_store_n(&keeps_capabilities, true, __ATOMIC_RELAXED);
    if (is_counter_forbidden(number, arguments)) recording_forbid_counter();
    if (is_for_one_thread(number, arguments)) return call_alone(number, arguments);
    if (is_filter(number, arguments)) prepare_filter(number, arguments);
    return call(number, arguments);
}

long single_thread_special(long number, ...) {
    struct arguments arguments;
    va_list list;
    va_start(list, number);
    for (int i = 0; i < ARGUMENT_COUNT; i++) arguments.at[i] = va_arg(list, long);
    va_end(list);
    return call_special(number, &arguments);
}

EXPORTED int prctl(int option, ...) {
    struct arguments arguments = {{option}};
    va_list list;
    va_start(list, option);
    for (int i = 1; i < 5; i++) arguments.at[i] = va_arg(list, long);
    va_end(list);
    return (int)call_special(SYS_prctl, &arguments);
}

EXPORTED int unshare(int flags) { return (int)call_special(SYS_unshare, &(const struct arguments){{flags}}); }

EXPORTED int setns(int file, int kind) { return (int)call_special(SYS_setns, &(const struct arguments){{file, kind}}); }

/* ---- The end without the functions of atexit. Without these, such a child of a shell is not in the profile. ---- */

EXPORTED void _exit(int status) {
    session_end_at_once();
    for (;;) single_thread_call(SYS_exit_group, (long)status);
}

EXPORTED void _Exit(int status) __attribute__((alias("_exit")));

/* The C library's quick_exit does not call the function above. The program's own functions run before this one. */
__attribute__((constructor)) static void prepare_quick_exit(void) { at_quick_exit(session_end_at_once); }

/* ---- User and group ids. Without these, `keep-capabilities` is ended by the C library. ---- */

/* The C library changes the ids of all threads, and ends the program if the kernel refuses one of them. A thread that
 * has kept its capabilities may change its ids again, but the recorder's threads may not. */
static bool begin_change(void) { return __atomic_load_n(&keeps_capabilities, __ATOMIC_RELAXED) && session_be_alone(); }

#define CHANGE(name, parameters, arguments)                                                                 \
    static int(*next_##name) parameters;                                                                    \
    __attribute__((constructor)) static void find_##name(void) { find_next_function(&next_##name, #name); } \
    EXPORTED int name parameters {                                                                          \
        bool is_alone = begin_change();                                                                     \
        if (!next_##name) find_##name();                                                                    \
        return (int)end_being_alone(is_alone, next_##name arguments);                                       \
    }

CHANGE(setuid, (uid_t user), (user))
CHANGE(setgid, (gid_t group), (group))
CHANGE(seteuid, (uid_t user), (user))
CHANGE(setegid, (gid_t group), (group))
CHANGE(setreuid, (uid_t real, uid_t effective), (real, effective))
CHANGE(setregid, (gid_t real, gid_t effective), (real, effective))
CHANGE(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
CHANGE(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
CHANGE(setgroups, (size_t count, const gid_t *groups), (count, groups))
CHANGE(initgroups, (const char *user, gid_t group), (user, group))

/* ---- The number of threads: the links of the folder /proc/self/task, which chromium counts before it starts its
 * sandbox. ---- */

static bool ends_in_tasks(const char *path) {
    static const char tasks[] = "self/task";
    enum { TASKS_BYTES = sizeof tasks - 1 };
    size_t bytes = strlen(path);
    if (bytes && path[bytes - 1] == '/') bytes--;
    if (bytes < TASKS_BYTES || memcmp(path + bytes - TASKS_BYTES, tasks, TASKS_BYTES) != 0) return false;
    return bytes == TASKS_BYTES || path[bytes - TASKS_BYTES - 1] == '/';
}

/* Subtracts the recorder's threads if this is the kernel's folder. A program may have a folder of that name, which has
 * a size or, without folders in it, no more than two links. */
static void leave_out_own(struct stat *status) {
    enum { LINKS_OF_FOLDER = 2 };
    uint32_t own_count = sampler_thread_count();
    if (!status->st_size && status->st_nlink > LINKS_OF_FOLDER + own_count) status->st_nlink -= own_count;
}

/* On 64-bit machines, the kernel fills in the C library's struct stat as it is. */
static int get_status(int folder, const char *path, struct stat *status, int flags) {
    int result = (int)single_thread_call(SYS_newfstatat, (long)folder, (long)path, (long)status, (long)flags);
    if (result == 0 && path && ends_in_tasks(path)) leave_out_own(status);
    return result;
}

/* The two names of each function mean the same with 64 bits. Headers may declare one of them as the other, hence the
 * names for the assembler. */
EXPORTED int own_fstatat(int folder, const char *path, struct stat *status, int flags) __asm__("fstatat");
EXPORTED int own_stat(const char *path, struct stat *status) __asm__("stat");

int own_fstatat(int folder, const char *path, struct stat *status, int flags) {
    return get_status(folder, path, status, flags);
}
int own_stat(const char *path, struct stat *status) { return get_status(AT_FDCWD, path, status, 0); }

extern __typeof__(own_fstatat) own_fstatat64 __asm__("fstatat64") EXPORTED __attribute__((alias("fstatat")));
extern __typeof__(own_stat) own_stat64 __asm__("stat64") EXPORTED __attribute__((alias("stat")));

#endif
