#include "own_signal.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "late_start.h"
#include "recorder/state/signal_mask.h"
#include "recorder/write/thread_registry.h"

enum { CANDIDATE_COUNT_MAX = 2 };

/* The shared library defines this, since its own sigaction hides the C library's. */
__attribute__((weak)) int own_signal_next_sigaction(int number, const struct sigaction *action,
                                                    struct sigaction *before);

static int set_in_kernel(int number, const struct sigaction *action, struct sigaction *before) {
    return own_signal_next_sigaction ? own_signal_next_sigaction(number, action, before)
                                     : sigaction(number, action, before);
}

/* What the program has set for a candidate. Handlers may read each member at any time. */
struct candidate {
    int number;
    bool is_taken;    /* its handler is the recorder's */
    uint32_t is_used; /* the program uses it in another way than by a handler */
    void *handler;    /* the program's, or SIG_DFL, SIG_IGN */
    uint32_t flags;   /* the program's */
    sigset_t mask;    /* the program's; guarded by the lock */
};

static struct {
    bool (*answer)(int number, void *interrupted);
    bool is_interposed;
    uint32_t is_forbidden;
    uint32_t is_silenced;
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

static __thread bool is_exempt __attribute__((tls_model("initial-exec")));

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
    long found = (is_from_first ? SIGRTMIN : SIGRTMAX) + offset;
    *number = (int)found;
    return !*end && found >= SIGRTMIN && found <= SIGRTMAX;
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
        sigfillset(&action.sa_mask);
    }
    action.sa_sigaction = handle;
    return set_in_kernel(candidate->number, &action, NULL);
}

static bool take(struct candidate *candidate) {
    struct sigaction before;
    if (set_in_kernel(candidate->number, NULL, &before) != 0) return false;
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

static bool is_of_process(const siginfo_t *info, int code) {
    return info->si_code == code && info->si_pid == own_pid();
}

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

/* The program has blocked the signal as far as it knows, so the signal has to wait: block it in fact, and send it
 * again.
 */
static void put_off(struct candidate *candidate, const siginfo_t *info, ucontext_t *context) {
    int saved_errno = errno;
    note.blocks &= ~bit_of(candidate->number);
    sigaddset(&context->uc_sigmask, candidate->number);
    __atomic_store_n(&candidate->is_used, 1, __ATOMIC_RELAXED);
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
    bool (*answer)(int, void *) = __atomic_load_n(&own.answer, __ATOMIC_ACQUIRE);
    if (is_of_process(info, SI_TKILL) && answer && answer(number, context)) return;
    if (!candidate || late_start_take(info)) return;
    bool is_any_noted = __atomic_load_n(&own.is_any_noted, __ATOMIC_RELAXED);
    uint64_t mask = signal_mask_of(&((const ucontext_t *)context)->uc_sigmask);
    if (is_any_noted && noted_blocks(mask) & bit_of(number))
        put_off(candidate, info, context);
    else
        call(candidate, number, info, context);
}

/* ---- For the sampler. ---- */

void own_signal_begin(bool (*answer)(int number, void *interrupted)) {
    choose_candidates();
    __atomic_store_n(&own.pid, getpid(), __ATOMIC_RELAXED);
    __atomic_store_n(&own.answer, answer, __ATOMIC_RELEASE);
    uint64_t before = lock();
    choose();
    unlock(before);
}

static bool is_still_free(const struct candidate *candidate) {
    struct sigaction now;
    return candidate && is_free(candidate) && set_in_kernel(candidate->number, NULL, &now) == 0 && is_ours(&now);
}

int own_signal_find(void) {
    int number = __atomic_load_n(&own.current, __ATOMIC_RELAXED);
    if (number && is_still_free(find_candidate(number))) return number;
    uint64_t before = lock();
    choose();
    unlock(before);
    return __atomic_load_n(&own.current, __ATOMIC_RELAXED);
}

int own_signal_for_self(void) {
    uint64_t none = 0, blocked = 0;
    int number = own_signal_find();
    bool is_spared = thread_record_self && __atomic_load_n(&thread_record_self->is_spared, __ATOMIC_SEQ_CST);
    if (!number || is_spared || signal_mask_change(SIG_BLOCK, &none, &blocked) != 0) return 0;
    return blocked & bit_of(number) ? 0 : number;
}

int own_signal_first(void) { return own.candidates[0].number; }

void own_signal_end(void) { use(0); }

/* ---- For the program. ---- */

/* The sampler may have started already. */
void own_signal_set_interposed(void) {
    own.is_interposed = true;
    use(own.current);
}

void own_signal_enter_child(void) {
    own.lock = 0;
    if (own_pid()) __atomic_store_n(&own.pid, getpid(), __ATOMIC_RELAXED);
}

/* A child of vfork shares its parent's memory until it executes a program. What it sets must not become the parent's.
 */
static int set_in_other_process(struct candidate *candidate, const struct sigaction *action, struct sigaction *before) {
    int result = set_in_kernel(candidate->number, action, before);
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

/* ---- Signals that are on their way. ---- */

static bool is_silenced(void) { return __atomic_load_n(&own.is_silenced, __ATOMIC_ACQUIRE) != 0; }

enum { TRY_COUNT = 2000, YIELD_COUNT = 100 };

/* Another thread may have been descheduled before it sends the signal or takes it: naps let it run. The C library's
 * nanosleep is interposed, and may come here. */
static void wait_for_others(int try) {
    const struct timespec nap = {.tv_nsec = 50000};
    if (is_silenced()) return;
    if (try < YIELD_COUNT)
        sched_yield();
    else
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
}

static bool blocks(int number) {
    uint64_t none = 0, blocked = 0;
    return signal_mask_change(SIG_BLOCK, &none, &blocked) == 0 && blocked & bit_of(number);
}

/* Waits until no signal of the sampler is pending for the calling thread. A thread that blocks the signal takes it
 * later, as one does that waits in a handler. */
static void await_signal(void) {
    const struct thread_record *record;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (int i = 0; i < TRY_COUNT && (record = thread_registry_find_asked()); i++) {
        int saved_errno = errno;
        bool is_late = i == YIELD_COUNT && !is_silenced();
        bool is_blocked = is_late && blocks((int)__atomic_load_n(&record->sample.signal, __ATOMIC_RELAXED));
        if (!is_blocked) wait_for_others(i);
        errno = saved_errno;
        if (is_blocked) return;
    }
}

struct sent_signal {
    int number;
    int try_count;
    bool is_blocked_here; /* so it cannot arrive in the calling thread */
};

static void await_record(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct sent_signal *sent = context;
    if (sent->is_blocked_here && record == thread_record_self) return;
    while (sent->try_count < TRY_COUNT && thread_registry_tid(writers) &&
           __atomic_load_n(&record->sample.signal, __ATOMIC_SEQ_CST) == (uint32_t)sent->number)
        wait_for_others(sent->try_count++);
}

/* Waits until the signal, which the sampler no longer uses, is pending for no thread. The kernel merges equal signals
 * that are pending for one thread. So a signal that the program sends now would be taken for the sampler's. */
static void await_all(int number, uint64_t mask) {
    struct sent_signal sent = {.number = number, .is_blocked_here = (mask & bit_of(number)) != 0};
    int saved_errno = errno;
    thread_registry_each_record(await_record, &sent);
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

bool own_signal_is_current(int number) { return __atomic_load_n(&own.current, __ATOMIC_SEQ_CST) == number; }

int own_signal_set_action(int number, const struct sigaction *action, struct sigaction *before) {
    struct candidate *candidate = find_candidate(number);
    struct sigaction now, asked, *asked_action = action ? &asked : NULL;
    if (action) asked = *action; /* `before` may point to the same struct */
    if (own_pid() != getpid()) return set_in_other_process(candidate, asked_action, before);
    uint64_t mask = lock();
    bool is_taken = candidate->is_taken && set_in_kernel(number, NULL, &now) == 0 && is_ours(&now);
    bool was_current = own_signal_is_current(number);
    int result = is_taken ? set_taken(candidate, asked_action, before) : set_in_kernel(number, asked_action, before);
    bool is_given_up = was_current && !own_signal_is_current(number);
    if (is_given_up) mask = keep_open(mask);
    unlock(mask);
    if (!is_given_up) return result;
    late_start_now();
    await_all(number, mask);
    return result;
}

void own_signal_forbid(void) {
    uint64_t mask = lock();
    int number = own.current;
    __atomic_store_n(&own.is_forbidden, 1, __ATOMIC_RELAXED);
    choose();
    unlock(mask);
    if (number && own_pid() == getpid()) await_all(number, mask);
}

void own_signal_silence(void) { __atomic_store_n(&own.is_silenced, 1, __ATOMIC_RELEASE); }

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
    late_start_now();
    uint64_t mask = lock();
    choose();
    unlock(keep_open(mask));
    uint64_t blocked = note.blocks & given;
    if (!blocked) return;
    await_signal();
    note.blocks &= ~given;
    signal_mask_change(SIG_BLOCK, &blocked, NULL);
}

bool own_signal_spare_thread(bool is_spared) {
    bool is_known = thread_record_self || (is_spared && own_pid() && thread_registry_claim());
    if (!is_known) return false;
    if (is_spared) late_start_now();
    bool was_spared = __atomic_exchange_n(&thread_record_self->is_spared, is_spared, __ATOMIC_SEQ_CST);
    if (is_spared) await_signal();
    return was_spared;
}

/* The sampler reads the number first and last. */
static void set_spared_call(const struct spared_call *call, uint32_t number) {
    struct spared_call *own_call = &thread_record_self->spared_call;
    __atomic_store_n(&own_call->cpu_ns_max, call->cpu_ns_max, __ATOMIC_RELAXED);
    __atomic_store_n(&own_call->seen_cpu_ns, call->seen_cpu_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&own_call->function, call->function, __ATOMIC_RELAXED);
    __atomic_store_n(&own_call->pc, call->pc, __ATOMIC_RELAXED);
    __atomic_store_n(&own_call->sp, call->sp, __ATOMIC_RELEASE);
    __atomic_store_n(&own_call->number, number, __ATOMIC_RELEASE);
}

/* The sampler may store into the thread's record meanwhile. */
static struct spared_call load_spared_call(void) {
    const struct spared_call *own_call = &thread_record_self->spared_call;
    return (struct spared_call){.number = own_call->number,
                                .cpu_ns_max = own_call->cpu_ns_max,
                                .seen_cpu_ns = __atomic_load_n(&own_call->seen_cpu_ns, __ATOMIC_RELAXED),
                                .function = own_call->function,
                                .pc = own_call->pc,
                                .sp = __atomic_load_n(&own_call->sp, __ATOMIC_RELAXED)};
}

/* A jump out of a handler leaves calls without ending them. Their frames lie below this one. */
bool own_signal_begin_spared_call(const struct spared_call *call, struct spared_call *outer) {
    if (!__atomic_load_n(&own.current, __ATOMIC_RELAXED)) return false;
    if (!thread_record_self && (is_exempt || is_silenced() || !thread_registry_claim())) return false;
    *outer = load_spared_call();
    if (outer->sp <= call->sp) outer->sp = 0;
    set_spared_call(call, __atomic_add_fetch(&thread_record_self->spared_call_count, 1, __ATOMIC_RELAXED));
    await_signal();
    return true;
}

void own_signal_end_spared_call(const struct spared_call *outer) { set_spared_call(outer, outer->number); }

void own_signal_exempt_thread(void) { is_exempt = true; }

bool own_signal_is_ours(int number, const siginfo_t *info) {
    if (late_start_take(info)) return true;
    struct thread_record *record = own_signal_is_candidate(number) ? thread_registry_find_asked() : NULL;
    bool is_from_us = is_of_process(info, SI_TKILL) || is_of_process(info, SI_USER);
    if (!record || !is_from_us || !sample_slot_take_signal(&record->sample, number)) return false;
    sample_slot_cancel(&record->sample);
    return true;
}
