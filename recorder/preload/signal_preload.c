/* Interposes the functions of the C library by which a program handles, blocks and reads signals, so that the program
 * does not see the sampler's signal: see own_signal.h. Only the shared library has these functions. They have no effect
 * on programs that make the system calls directly. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/gecko_recorder.h"
#include "recorder/preload/next_function.h"
#include "recorder/sampler/own_signal.h"
#include "recorder/session/session.h"
#include "recorder/state/own_code.h"
#include "recorder/state/scratch.h"
#include "recorder/write/thread_registry.h"

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

extern int __sigaction(int number, const struct sigaction *action, struct sigaction *before);

/* ---- Handlers. Without these, `handle` of tests/hosts sees other handlers, and `handle-all` is not sampled. ---- */

static int set_action(int number, const struct sigaction *action, struct sigaction *before) {
    return own_signal_is_candidate(number) ? own_signal_set_action(number, action, before)
                                           : __sigaction(number, action, before);
}

GREC_API int sigaction(int number, const struct sigaction *action, struct sigaction *before)
    __attribute__((alias("set_action")));

/* If another library interposes sigaction first, the program's calls may not reach this one. */
__attribute__((constructor)) static void begin(void) {
    void *first = dlsym(RTLD_DEFAULT, "sigaction");
    int (*ours)(int, const struct sigaction *, struct sigaction *) = set_action;
    if (!memcmp(&first, &ours, sizeof first)) own_signal_set_interposed();
}

/* Signals for which siginterrupt has asked that handlers set by `signal` interrupt system calls. */
static sigset_t interrupting;

static sighandler_t set_handler(int number, sighandler_t handler, int flags, bool blocks_itself) {
    struct sigaction action = {.sa_flags = flags}, before;
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (blocks_itself && sigaddset(&action.sa_mask, number) != 0) return SIG_ERR;
    return set_action(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

static sighandler_t set_lasting(int number, sighandler_t handler) {
    return set_handler(number, handler, sigismember(&interrupting, number) == 1 ? 0 : SA_RESTART, true);
}

static sighandler_t set_for_once(int number, sighandler_t handler) {
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER, false);
}

GREC_API sighandler_t signal(int number, sighandler_t handler) { return set_lasting(number, handler); }
GREC_API sighandler_t bsd_signal(int number, sighandler_t handler) { return set_lasting(number, handler); }
GREC_API sighandler_t ssignal(int number, sighandler_t handler) { return set_lasting(number, handler); }
GREC_API sighandler_t sysv_signal(int number, sighandler_t handler) { return set_for_once(number, handler); }
GREC_API sighandler_t __sysv_signal(int number, sighandler_t handler) { return set_for_once(number, handler); }

GREC_API int siginterrupt(int number, int is_to_interrupt) {
    struct sigaction action;
    if (set_action(number, NULL, &action) != 0) return -1;
    if (is_to_interrupt)
        sigaddset(&interrupting, number);
    else
        sigdelset(&interrupting, number);
    action.sa_flags = is_to_interrupt ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return set_action(number, &action, NULL);
}

/* ---- Masks. Without these, `work-with-all-blocked` is not sampled. ---- */

GREC_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    return own_signal_set_mask(how, set, before);
}

static int set_mask(int how, const sigset_t *set, sigset_t *before) {
    int error = own_signal_set_mask(how, set, before);
    if (!error) return 0;
    errno = error;
    return -1;
}

GREC_API int sigprocmask(int how, const sigset_t *set, sigset_t *before) { return set_mask(how, set, before); }

/* Changes the mask of the first 32 signals. Returns the mask before, or -1. */
static int set_old_mask(int how, int bits) {
    sigset_t set, before;
    sigemptyset(&set);
    memcpy(&set, &bits, sizeof bits);
    if (set_mask(how, &set, &before) != 0) return -1;
    memcpy(&bits, &before, sizeof bits);
    return bits;
}

GREC_API int sigblock(int bits) { return set_old_mask(SIG_BLOCK, bits); }
GREC_API int sigsetmask(int bits) { return set_old_mask(SIG_SETMASK, bits); }
GREC_API int siggetmask(void) { return set_old_mask(SIG_BLOCK, 0); }

static int change_one(int how, int number, sigset_t *before) {
    sigset_t set;
    sigemptyset(&set);
    return sigaddset(&set, number) == 0 ? set_mask(how, &set, before) : -1;
}

GREC_API int sighold(int number) { return change_one(SIG_BLOCK, number, NULL); }
GREC_API int sigrelse(int number) { return change_one(SIG_UNBLOCK, number, NULL); }
GREC_API int sigignore(int number) { return set_handler(number, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0; }

GREC_API sighandler_t sigset(int number, sighandler_t handler) {
    sigset_t before;
    struct sigaction old;
    if (handler == SIG_ERR) return set_handler(number, SIG_ERR, 0, false);
    if (handler == SIG_HOLD) {
        if (change_one(SIG_BLOCK, number, &before) != 0) return SIG_ERR;
        if (sigismember(&before, number) == 1) return SIG_HOLD;
        return set_action(number, NULL, &old) == 0 ? old.sa_handler : SIG_ERR;
    }
    sighandler_t old_handler = set_handler(number, handler, 0, false);
    if (old_handler == SIG_ERR || change_one(SIG_UNBLOCK, number, &before) != 0) return SIG_ERR;
    return sigismember(&before, number) == 1 ? SIG_HOLD : old_handler;
}

/* ---- Reading signals. Without this, `read-signals` reads the sampler's. ---- */

GREC_API int signalfd(int file, const sigset_t *set, int flags) {
    enum { MASK_BYTES = 8 };
    own_signal_give_up(set);
    return (int)syscall(SYS_signalfd4, file, set, MASK_BYTES, flags);
}

/* ---- Alternate stacks. Without this, `have-small-stack` faults. ---- */

/* Returns the size of the kernel's frame, and of what the handler uses before it finds that it has too little room. */
static size_t needed_bytes(void) {
    enum { ENTERING_BYTES = 768 };
    unsigned long frame_bytes = getauxval(AT_MINSIGSTKSZ);
    return frame_bytes ? frame_bytes + ENTERING_BYTES : 0;
}

GREC_API int sigaltstack(const stack_t *stack, stack_t *before) {
    bool is_cramped = stack && !(stack->ss_flags & SS_DISABLE) && stack->ss_size < needed_bytes();
    bool was_spared = is_cramped && own_signal_spare_thread(true);
    int result = (int)syscall(SYS_sigaltstack, stack, before);
    bool has_room_now = stack && result == 0 && !is_cramped;
    bool keeps_its_stack = is_cramped && result != 0 && !was_spared;
    if (has_room_now || keeps_its_stack) own_signal_spare_thread(false);
    return result;
}

/* ---- New threads inherit the note of blocked signals, and register. Without this, a thread of `set-masks` has another
 * mask, and most of the time of tests/recorder/relay.c is missing. ---- */

struct thread_call {
    void *(*run)(void *argument);
    void *argument;
};

/* This is not on the heap: malloc would give a new thread that frees memory a heap of its own. */
struct start {
    struct thread_call call;
    struct own_signal_note note;
    bool registers;
};

__attribute__((noinline)) static struct thread_call prepare_thread(void *context) {
    struct start start;
    memcpy(&start, context, sizeof start);
    scratch_give(context);
    own_signal_set_note(&start.note);
    if (start.registers) thread_registry_claim();
    return start.call;
}

/* The compiler turns the last call into a jump, so that this function is not in the stacks of samples. */
static void *begin_thread(void *context) {
    struct thread_call call = prepare_thread(context);
    return call.run(call.argument);
}

GREC_API int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *argument),
                            void *argument) {
    const struct own_signal_note note = own_signal_get_note();
    bool registers = session_samples_new_threads() && !own_code_has((uint64_t)(uintptr_t)run);
    struct start *start = note.blocks || registers ? scratch_take() : NULL;
    if (!start) return NEXT(pthread_create)(thread, attributes, run, argument);
    *start = (struct start){{run, argument}, note, registers};
    int error = NEXT(pthread_create)(thread, attributes, begin_thread, start);
    if (error) scratch_give(start);
    return error;
}

#endif
