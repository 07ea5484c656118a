#include "own_signal.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "recorder/state/signal_mask.h"
#include "recorder/write/thread_registry.h"
#include "thread_clocks.h"

enum { CANDIDATE_COUNT_MAX = 2 };

/* signal_preload.c may hide the C library's sigaction, which glibc also has under this name. The thread sanitizer needs
 * to know of handlers, which must not interrupt its own code. */
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
extern int __sigaction(int number, const struct sigaction *action, struct sigaction *before);
#else
#define __sigaction sigaction
#endif

/* What the program has set for a candidate. Handlers may read each member at any time. */
struct candidate {
    int number;
    bool is_taken;    /* its handler is the recorder's */
    uint32_t is_used; /* the program uses it other than by a handler */
    void *handler;    /* the program's, or SIG_DFL, SIG_IGN */
    uint32_t flags;   /* the program's */
    sigset_t mask;    /* the program's; guarded by the lock */
};

static struct {
    bool (*answer)(const siginfo_t *info, const void *interrupted);
    void (*await_round)(void);
    bool is_interposed;
    uint32_t is_forbidden;
    pid_t pid;
    uint32_t lock;
    int current;           /* the sampler's signal; 0: none */
    uint64_t kept;         /* signals that the program cannot block (bit 0 is signal 1) */
    uint32_t is_any_noted; /* a thread has noted a block */
    uint32_t candidate_count;
    struct candidate candidates[CANDIDATE_COUNT_MAX];
} own;

/* Returns the process that has taken the signal; 0: none yet. Handlers may read it while a recording begins. */
static pid_t own_pid(void) { return __atomic_load_n(&own.pid, __ATOMIC_RELAXED); }

static __thread struct own_signal_note note __attribute__((tls_model("initial-exec")));

static uint64_t bit_of(int number) { return (uint64_t)1 << (number - 1); }

static const uint64_t NEVER_BLOCKED = (uint64_t)1 << (SIGKILL - 1) | (uint64_t)1 << (SIGSTOP - 1);

/* ---- Which signals. ---- */

static const struct {
    const char *name;
    int number;
} names[] = {
    {"URG", SIGURG}, {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"PROF", SIGPROF},
    {"PWR", SIGPWR}, {"USR1", SIGUSR1},   {"USR2", SIGUSR2}, {"VTALRM", SIGVTALRM},
};

const char *own_signal_name(int number) {
    static const char *const texts[] = {"SIGURG", "SIGWINCH"};
    return number == SIGURG ? texts[0] : number == SIGWINCH ? texts[1] : "the signal of GECKO_RECORDER_SIGNAL";
}

static bool parse_real_time(const char *text, int *number) {
    bool is_from_first = !strncasecmp(text, "RTMIN", 5);
    char *end = (char *)(uintptr_t)(text + 5);
    if (!is_from_first && strncasecmp(text, "RTMAX", 5) != 0) return false;
    long offset = *end ? strtol(text + 5, &end, 10) : 0;
    if (*end || offset < -NSIG || offset > NSIG) return false;
    *number = (is_from_first ? SIGRTMIN : SIGRTMAX) + (int)offset;
    return *number >= SIGRTMIN && *number <= SIGRTMAX;
}

bool own_signal_parse(const char *text, int *number) {
    if (!strncasecmp(text, "SIG", 3)) text += 3;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *number = names[i].number;
        if (!strcasecmp(text, names[i].name)) return true;
    }
    return parse_real_time(text, number);
}

static void choose_candidates(void) {
    const char *asked = secure_getenv("GECKO_RECORDER_SIGNAL");
    int number;
    if (own.candidate_count) return;
    if (asked && own_signal_parse(asked, &number)) {
        own.candidates[0].number = number;
        own.candidate_count = 1;
        return;
    }
    own.candidates[0].number = SIGURG;
    own.candidates[1].number = SIGWINCH;
    own.candidate_count = 2;
}

static struct candidate *find_candidate(int number) {
    for (uint32_t i = 0; i < own.candidate_count; i++)
        if (own.candidates[i].number == number) return &own.candidates[i];
    return NULL;
}

bool own_signal_is_candidate(int number) { return find_candidate(number) != NULL; }

/* ---- What the program has set. ---- */

/* Signals are blocked while the lock is held, because a handler may call sigaction. The number of tries is limited for
 * a child that was made without fork while another thread held the lock. */
static uint64_t lock(void) {
    enum { TRY_COUNT = 10000 };
    uint64_t all = signal_mask_all(), before = 0;
    signal_mask_change(SIG_BLOCK, &all, &before);
    for (int i = 0; i < TRY_COUNT && __atomic_exchange_n(&own.lock, 1, __ATOMIC_ACQUIRE); i++) sched_yield();
    return before;
}

static void unlock(uint64_t before) {
    __atomic_store_n(&own.lock, 0, __ATOMIC_RELEASE);
    signal_mask_change(SIG_SETMASK, &before, NULL);
}

static void *handler_of(const struct sigaction *action) {
    void *handler;
    memcpy(&handler, &action->sa_handler, sizeof handler);
    return handler;
}

static bool is_handler(const void *handler) { return handler != (void *)SIG_DFL && handler != (void *)SIG_IGN; }

static void handle(int number, siginfo_t *info, void *context);

static bool is_ours(const struct sigaction *action) {
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == handle;
}

static void keep_action(struct candidate *candidate, const struct sigaction *action) {
    candidate->mask = action->sa_mask;
    __atomic_store_n(&candidate->flags, (uint32_t)action->sa_flags, __ATOMIC_RELAXED);
    __atomic_store_n(&candidate->handler, handler_of(action), __ATOMIC_RELEASE);
}

static void show_action(const struct candidate *candidate, struct sigaction *action) {
    void *handler = candidate->handler;
    memcpy(&action->sa_handler, &handler, sizeof handler);
    action->sa_flags = (int)candidate->flags;
    action->sa_mask = candidate->mask;
}

/* Some language runtimes handle every signal, and so leave none free. If the program's handler is installed with the
 * same flags as the recorder's, the sampler's signals between its own do no harm. SIGURG is not shared, because such
 * programs send it to their own threads. */
static bool can_be_shared(const struct candidate *candidate) {
    const uint32_t needed = SA_RESTART | SA_ONSTACK, harmful = SA_NODEFER | (uint32_t)SA_RESETHAND;
    bool blocks_all = (signal_mask_of(&candidate->mask) | NEVER_BLOCKED) == signal_mask_all();
    return own.is_interposed && candidate->number == SIGWINCH && blocks_all && (candidate->flags & needed) == needed &&
           !(candidate->flags & harmful);
}

static bool is_free(const struct candidate *candidate) {
    return !__atomic_load_n(&candidate->is_used, __ATOMIC_RELAXED) &&
           (!is_handler(candidate->handler) || can_be_shared(candidate));
}

/* SA_RESETHAND is left out, since handle does that itself. */
static int install(const struct candidate *candidate) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    if (is_handler(candidate->handler) && !can_be_shared(candidate)) {
        action.sa_flags = (int)((candidate->flags & ~(uint32_t)SA_RESETHAND) | SA_SIGINFO);
        action.sa_mask = candidate->mask;
    } else {
        /* sigfillset leaves out the signal by which the C library cancels threads. A thread that ends in the handler
         * would seem to be there for ever. */
        memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    }
    action.sa_sigaction = handle;
    return __sigaction(candidate->number, &action, NULL);
}

static bool take(struct candidate *candidate) {
    struct sigaction before;
    if (__sigaction(candidate->number, NULL, &before) != 0) return false;
    if (!is_ours(&before)) {
        candidate->is_taken = false;
        keep_action(candidate, &before);
    }
    if (!is_free(candidate)) return false;
    if (!candidate->is_taken && install(candidate) != 0) return false;
    candidate->is_taken = true;
    return true;
}

static void use(int number) {
    __atomic_store_n(&own.current, number, __ATOMIC_SEQ_CST);
    __atomic_store_n(&own.kept, number && own.is_interposed ? bit_of(number) : 0, __ATOMIC_SEQ_CST);
}

bool own_signal_is_forbidden(void) { return __atomic_load_n(&own.is_forbidden, __ATOMIC_RELAXED) != 0; }

static void choose(void) {
    const struct candidate *chosen = NULL;
    for (uint32_t i = 0; i < own.candidate_count && !chosen && !own_signal_is_forbidden(); i++)
        if (take(&own.candidates[i])) chosen = &own.candidates[i];
    use(chosen ? chosen->number : 0);
}

/* ---- The handler. ---- */

static long send_to(const siginfo_t *info, int number) {
    pid_t pid = getpid();
    return info->si_code == SI_TKILL ? syscall(SYS_rt_tgsigqueueinfo, pid, syscall(SYS_gettid), number, info)
                                     : syscall(SYS_rt_sigqueueinfo, pid, number, info);
}

/* Returns the blocks that are noted for the thread. If the thread's mask lacks signals that were blocked at the same
 * time, the mask was set since by the system call or by a longjmp, and the note is void. */
static uint64_t noted_blocks(uint64_t mask) {
    if (note.mask & ~mask) note.blocks = 0;
    return note.blocks;
}

static bool is_current(int number) { return __atomic_load_n(&own.current, __ATOMIC_SEQ_CST) == number; }

/* Waits until the sampler has changed the clocks of all threads, so that they no longer send the former signal. */
static void await_new_clocks(void) {
    int saved_errno = errno;
    void (*await)(void) = __atomic_load_n(&own.await_round, __ATOMIC_ACQUIRE);
    if (await && own_pid() == getpid()) await();
    errno = saved_errno;
}

/* Returns the mask for the calling thread, which has this mask now, after another signal may have become the sampler's:
 * the thread notes that it blocks the signal, but no longer does. Threads that block everything before they handle
 * SIGURG, such as those of PostgreSQL, would otherwise have no stacks until they change their masks. */
static uint64_t keep_open(uint64_t mask) {
    uint64_t opened = mask & __atomic_load_n(&own.kept, __ATOMIC_RELAXED);
    if (!opened) return mask;
    const struct own_signal_note now = {noted_blocks(mask) | opened, mask & ~opened & ~NEVER_BLOCKED};
    own_signal_set_note(&now);
    return mask & ~opened;
}

/* Takes the clocks' signals that have arrived since the handler began, which a sigwait of the program would find. The
 * clocks direct their signals to the thread, so these come before signals to the process. */
static void drop_pending(int number) {
    enum { MASK_BYTES = 8 };
    const uint64_t set = bit_of(number);
    const struct timespec no_time = {0, 0};
    siginfo_t info;
    while (syscall(SYS_rt_sigtimedwait, &set, &info, &no_time, MASK_BYTES) == number) {
        if (thread_clocks_may_send(&info)) continue;
        send_to(&info, number);
        return;
    }
}

/* Another signal becomes the sampler's, which the interrupted thread must not block in fact. */
static void replace_current(int number, ucontext_t *context) {
    uint64_t handler_mask = lock();
    choose();
    unlock(handler_mask);
    uint64_t mask = keep_open(signal_mask_of(&context->uc_sigmask));
    memcpy(&context->uc_sigmask, &mask, sizeof mask);
    await_new_clocks();
    drop_pending(number);
}

/* The program has blocked the signal as far as it knows, so the signal has to wait: block it in fact, and send it
 * again. From then on, clocks must not send it to the thread, because the program may read it. */
static void put_off(struct candidate *candidate, const siginfo_t *info, ucontext_t *context) {
    int saved_errno = errno;
    note.blocks &= ~bit_of(candidate->number);
    sigaddset(&context->uc_sigmask, candidate->number);
    __atomic_store_n(&candidate->is_used, 1, __ATOMIC_RELAXED);
    if (is_current(candidate->number)) replace_current(candidate->number, context);
    send_to(info, candidate->number);
    errno = saved_errno;
}

/* Calls the program's handler. If the handler is shared, all signals are blocked; if not, the program's mask is. */
static void call(struct candidate *candidate, int number, siginfo_t *info, void *context) {
    void *handler = __atomic_load_n(&candidate->handler, __ATOMIC_ACQUIRE);
    void (*function)(int, siginfo_t *, void *);
    if (!is_handler(handler)) return;
    if (__atomic_load_n(&candidate->flags, __ATOMIC_RELAXED) & (uint32_t)SA_RESETHAND)
        __atomic_store_n(&candidate->handler, (void *)SIG_DFL, __ATOMIC_RELAXED);
    memcpy(&function, &handler, sizeof function);
    function(number, info, context);
}

/* Threads that the C library has not made may run this handler, for signals that others send. */
static void handle(int number, siginfo_t *info, void *context) {
    struct candidate *candidate = find_candidate(number);
    /* A signal of a recording that has ended may arrive while the next one begins. */
    bool (*answer)(const siginfo_t *, const void *) = __atomic_load_n(&own.answer, __ATOMIC_ACQUIRE);
    if ((answer && answer(info, context)) || !candidate) return;
    bool is_any_noted = __atomic_load_n(&own.is_any_noted, __ATOMIC_RELAXED);
    uint64_t mask = signal_mask_of(&((const ucontext_t *)context)->uc_sigmask);
    if (is_any_noted && noted_blocks(mask) & bit_of(number))
        put_off(candidate, info, context);
    else
        call(candidate, number, info, context);
}

/* ---- For the sampler. ---- */

void own_signal_begin(bool (*answer)(const siginfo_t *info, const void *interrupted), void (*await_round)(void)) {
    choose_candidates();
    __atomic_store_n(&own.pid, getpid(), __ATOMIC_RELAXED);
    __atomic_store_n(&own.await_round, await_round, __ATOMIC_RELEASE);
    __atomic_store_n(&own.answer, answer, __ATOMIC_RELEASE);
    uint64_t before = lock();
    choose();
    unlock(before);
}

static bool is_still_free(const struct candidate *candidate) {
    struct sigaction now;
    return candidate && is_free(candidate) && __sigaction(candidate->number, NULL, &now) == 0 && is_ours(&now);
}

/* await_new_clocks relies on this: a round that begins after a change of the signal finds the new signal. So this load
 * must not come before the store that counts the round. */
int own_signal_find(void) {
    int number = __atomic_load_n(&own.current, __ATOMIC_SEQ_CST);
    if (number && is_still_free(find_candidate(number))) return number;
    uint64_t before = lock();
    choose();
    unlock(before);
    return __atomic_load_n(&own.current, __ATOMIC_RELAXED);
}

int own_signal_first(void) { return own.candidates[0].number; }

void own_signal_end(void) { use(0); }

/* ---- For the program. ---- */

/* The sampler may have started already. */
void own_signal_set_interposed(void) {
    own.is_interposed = true;
    use(own.current);
}

bool own_signal_is_interposed(void) { return own.is_interposed; }

void own_signal_enter_child(void) {
    own.lock = 0;
    if (own_pid()) __atomic_store_n(&own.pid, getpid(), __ATOMIC_RELAXED);
}

/* A child of vfork shares its parent's memory until it executes a program. The handler that it sets must not become the
 * parent's. */
static int set_in_other_process(struct candidate *candidate, const struct sigaction *action, struct sigaction *before) {
    int result = __sigaction(candidate->number, action, before);
    if (result == 0 && before && is_ours(before)) show_action(candidate, before);
    return result;
}

static int set_taken(struct candidate *candidate, const struct sigaction *action, struct sigaction *before) {
    if (before) show_action(candidate, before);
    if (!action) return 0;
    keep_action(candidate, action);
    if (candidate->number == own.current && !is_free(candidate)) choose();
    return install(candidate);
}

/* ---- Changes of the signal. ---- */

int own_signal_set_action(int number, const struct sigaction *action, struct sigaction *before) {
    struct candidate *candidate = find_candidate(number);
    struct sigaction now, asked, *asked_action = action ? &asked : NULL;
    if (action) asked = *action; /* `before` may point to the same struct */
    if (own_pid() != getpid()) return set_in_other_process(candidate, asked_action, before);
    uint64_t mask = lock();
    bool is_taken = candidate->is_taken && __sigaction(number, NULL, &now) == 0 && is_ours(&now);
    bool was_current = is_current(number);
    int result = is_taken ? set_taken(candidate, asked_action, before) : __sigaction(number, asked_action, before);
    bool is_given_up = was_current && !is_current(number);
    if (is_given_up) mask = keep_open(mask);
    unlock(mask);
    if (is_given_up) await_new_clocks();
    return result;
}

void own_signal_forbid(void) {
    uint64_t mask = lock();
    __atomic_store_n(&own.is_forbidden, 1, __ATOMIC_RELAXED);
    choose();
    unlock(mask);
    await_new_clocks();
}

static uint64_t after(int how, uint64_t blocked, uint64_t set) {
    if (how == SIG_BLOCK) return blocked | set;
    return how == SIG_UNBLOCK ? blocked & ~set : set;
}

int own_signal_set_mask(int how, const sigset_t *set, sigset_t *before) {
    uint64_t kept = __atomic_load_n(&own.kept, __ATOMIC_RELAXED), blocked = 0;
    uint64_t asked = set ? signal_mask_of(set) : 0, real = how == SIG_UNBLOCK ? asked : asked & ~kept;
    int error = signal_mask_change(how, set ? &real : NULL, &blocked);
    if (error) return error;
    uint64_t noted = noted_blocks(blocked);
    if (set) {
        const struct own_signal_note now = {after(how, noted, how == SIG_UNBLOCK ? asked : asked & kept),
                                            after(how, blocked, real) & ~NEVER_BLOCKED};
        own_signal_set_note(&now);
    }
    blocked |= noted;
    if (before) memcpy(before, &blocked, sizeof blocked);
    return 0;
}

struct own_signal_note own_signal_get_note(void) {
    return note;
}

void own_signal_set_note(const struct own_signal_note *noted) {
    note = *noted;
    if (noted->blocks) __atomic_store_n(&own.is_any_noted, 1, __ATOMIC_RELAXED);
}

void own_signal_give_up(const sigset_t *set) {
    uint64_t given = 0;
    for (uint32_t i = 0; i < own.candidate_count; i++) {
        if (sigismember(set, own.candidates[i].number) != 1) continue;
        given |= bit_of(own.candidates[i].number);
        __atomic_store_n(&own.candidates[i].is_used, 1, __ATOMIC_RELAXED);
    }
    if (!given) return;
    uint64_t mask = lock();
    choose();
    unlock(keep_open(mask));
    uint64_t blocked = note.blocks & given;
    if (!blocked) return;
    await_new_clocks();
    note.blocks &= ~given;
    signal_mask_change(SIG_BLOCK, &blocked, NULL);
}

bool own_signal_spare_thread(bool is_spared) {
    bool is_known = thread_record_self || (is_spared && own_pid() && thread_registry_claim());
    if (!is_known) return false;
    bool was_spared = __atomic_exchange_n(&thread_record_self->is_spared, is_spared, __ATOMIC_SEQ_CST);
    if (is_spared && !was_spared) await_new_clocks();
    return was_spared;
}
