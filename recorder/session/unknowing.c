/* What the preloaded library, for programs that are not built for the recorder, does with the recording. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/sampler_hooks.h"
#include "recorder/write/thread_registry.h"
#include "session.h"
#include "session_state.h"

/* ---- One thread. ---- */

/* A signal handler that has interrupted one of the functions that hold the mutex may come here. */
bool session_be_alone(void) {
    if (session_is_locked_here() || !sampler_thread_count()) return false;
    session_lock();
    session.is_sampler_missing = sampler_table()->has_begun();
    session_stop_sampler(false);
    return true;
}

void session_end_being_alone(void) {
    if (session_is_recording()) session_start_sampler();
    session_unlock();
}

/* ---- New threads. ---- */

bool session_samples_new_threads(void) {
    bool samples_all = __atomic_load_n(&session.settings.flags, __ATOMIC_RELAXED) & GREC_ALL_THREADS;
    return samples_all && recording_is_on() && !session.is_confined && !session.is_silenced;
}

/* ---- The end by _exit. ---- */

/* Whether there is room for session_stop, which takes up to 3 kB. A signal handler may be on a small stack. */
static bool has_stack(void) {
    enum { STACK_BYTES = 4096 };
    stack_t stack;
    bool is_on_alternate = sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK;
    return !is_on_alternate || (uintptr_t)__builtin_frame_address(0) - (uintptr_t)stack.ss_sp >= STACK_BYTES;
}

/* Returns whether the recorder's state is this process's own. A child that was made without the C library has the state
 * of its parent. The first process of a namespace may make the first one of another namespace, with its memory. */
static bool is_own_memory(void) {
    enum { FIRST_PID = 1 };
    const struct process_state *process = process_self();
    struct stat status;
    if (process->pid != (uint32_t)getpid()) return false;
    bool is_told = process->pid == FIRST_PID && process->pid_namespace && stat("/proc/self/ns/pid", &status) == 0;
    return !is_told || process->pid_namespace == status.st_ino;
}

/* The caller may be a signal handler that has interrupted anything, or a child of vfork, which has its parent's memory.
 * So nothing here waits without a limit. If the sampler does not end in time, it may still write into the trace, which
 * the process then leaves as if it were killed. */
void session_end_at_once(void) {
    static const uint64_t SAMPLER_NS_MAX = 200000000;
    if (!session_is_recording() || session.is_silenced || session.is_confined || !has_stack()) return;
    if (process_is_new() || !is_own_memory()) return;
    if (session_is_locked_here() || !session_try_lock()) return;
    if (!sampler_table() || sampler_table()->finish(SAMPLER_NS_MAX)) session_stop(true);
    session_unlock();
}

/* ---- Filters of system calls. ---- */

/* Not while another thread forks. In a child that was made without fork, nobody may ever release the lock, so the
 * number of tries is limited. */
static void silence(void) {
    enum { TRY_COUNT = 10000 };
    bool is_locked = session_try_lock();
    for (int i = 0; i < TRY_COUNT && !is_locked; i++) {
        sched_yield();
        is_locked = session_try_lock();
    }
    session.is_silenced = true;
    thread_registry_silence();
    if (is_locked) session_unlock();
}

void session_prepare_filter(const struct session_filter *filter) {
    if (filter->forbids_calls) silence();
    bool is_alone = filter->is_for_all_threads && session_be_alone();
    if (filter->forbids_handlers && sampler_table()) sampler_table()->forbid_signal();
    session.is_confined = true;
    if (is_alone) session_end_being_alone();
}

/* ---- Children that the program makes by clone. ---- */

void session_prepare_clone(void) {
    if (session.is_silenced) return;
    int saved_errno = errno;
    session_hold_mutexes();
    if (sampler_table()) sampler_table()->await_begin();
    errno = saved_errno;
}

void session_finish_clone(bool is_child) {
    if (session.is_silenced) return;
    int saved_errno = errno;
    session_release_mutexes(is_child);
    if (is_child && process_is_new()) session_enter_child();
    errno = saved_errno;
}
