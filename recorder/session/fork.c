/* Forked children, and the start and end of the process.
 *
 * A signal handler may fork after interrupting a recording call, or a function that holds the session's mutex. If the
 * child returns from the handler, it continues that call: in memory of its own, and without recording. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "environment.h"
#include "recorder/pool/chunk_pool.h"
#include "recorder/pool/pool_file.h"
#include "recorder/state/clock.h"
#include "recorder/state/own_code.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/sampler_hooks.h"
#include "recorder/state/signal_mask.h"
#include "recorder/state/silent_process.h"
#include "recorder/write/counters.h"
#include "recorder/write/writer.h"
#include "session.h"
#include "session_state.h"

static struct {
    bool is_locked;
    bool is_within_call;
    bool can_sample;
    /* The pool counts the child before the fork: this process may be the last one, and end before the child runs. */
    bool is_counted;
    pthread_t thread; /* the one that forks: another one may clone the process meanwhile */
    sigset_t signals; /* signals that the thread blocks */
    struct thread_writers writers;
} at_fork;

static bool children_record(void) {
    bool is_on = session.phase == SESSION_RUNS || session.phase == SESSION_IS_PAUSED;
    return is_on && !(session.settings.flags & GREC_NO_CHILDREN);
}

/* Whether a child is to be sampled, so that it is missing if it ends before that. */
static bool children_are_sampled(void) {
    return children_record() && recording_is_on() && session.settings.flags & GREC_SAMPLER;
}

/* In a child that was made by clone, a thread that it does not have may hold the mutex. */
bool session_enter_child(void) {
    if (!session_is_locked_here()) session_reset_mutex();
    bool is_counted = at_fork.is_counted && pthread_equal(at_fork.thread, pthread_self());
    bool is_part = children_record() && (is_counted || pool_enter(&recording_pool));
    at_fork.is_counted = false;
    session.is_sampler_missing = false;
    if (sampler_table()) sampler_table()->leave_parent();
    if (!is_part) {
        session_switch_off();
        return false;
    }
    pool_enter_child(&recording_pool);
    session.has_begun = children_are_sampled();
    if (session.has_begun) session.past = silent_process_begin(true);
    recording_first_uid = __atomic_load_n(&recording_pool.header->next_thread_uid, __ATOMIC_RELAXED);
    counters_enter_child();
    if (sampler_table()) sampler_table()->enter_child();
    return true;
}

/* ---- Mutexes. ---- */

/* Signals are blocked: a handler that calls exit would wait for ever for the C library, which holds a lock of its own
 * while a process with several threads forks. */
void session_hold_mutexes(void) {
    sigset_t signals;
    signal_mask_block_all(&signals);
    at_fork.is_locked = !session_is_locked_here();
    if (at_fork.is_locked) session_lock();
    at_fork.signals = signals;
    at_fork.can_sample = sampler_table() && sampler_table()->prepare_fork();
}

void session_release_mutexes(bool is_child) {
    sigset_t signals = at_fork.signals;
    if (sampler_table()) sampler_table()->finish_fork(is_child);
    if (at_fork.is_locked)
        session_unlock();
    else if (is_child)
        session_reset_mutex();
    signal_mask_restore(&signals);
}

/* ---- fork. ---- */

/* If the fork fails, the pool counts a process too many. Then the file keeps the room that was prepared ahead. */
static void prepare_fork(void) {
    struct thread_writers *thread = thread_writers_self;
    if (session.is_silenced) return;
    session_hold_mutexes();
    at_fork.is_within_call = !at_fork.is_locked || (thread && thread->depth);
    if (at_fork.is_within_call && thread) at_fork.writers = *thread;
    at_fork.thread = pthread_self();
    at_fork.is_counted = !at_fork.is_within_call && children_record() && pool_enter(&recording_pool);
}

static void continue_in_parent(void) {
    if (session.is_silenced) return;
    at_fork.is_counted = false;
    session_release_mutexes(false);
}

static void detach_child(void) {
    session_switch_off();
    if (sampler_table()) sampler_table()->leave_parent();
    if (thread_writers_self) *thread_writers_self = at_fork.writers;
    if (!recording_pool.base) return;
    (void)mmap(recording_pool.base, recording_pool.mapped_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void continue_in_child(void) {
    if (session.is_silenced) {
        if (children_are_sampled()) recording_count_loss(LOSS_PROCESS, 1);
        session_switch_off();
        return;
    }
    session_release_mutexes(true);
    if (!process_is_new()) return;
    if (at_fork.is_within_call) {
        if (children_are_sampled()) silent_process_begin(true);
        detach_child();
        return;
    }
    thread_registry_reclaim();
    if (thread_record_self) thread_record_start(thread_record_self, clock_ticks());
    if (session_enter_child() && at_fork.can_sample) session_start_sampler();
}

/* ---- The process. ---- */

/* Threads may register before a recording starts. Everything else is initialized by the first start, because many
 * programs load this library and record nothing. */
__attribute__((constructor)) static void begin_process(void) {
    own_code_register();
    thread_registry_init();
    pthread_atfork(prepare_fork, continue_in_parent, continue_in_child);
    environment_start();
}

/* A process that is killed leaves its chunks as they are. A forked child saves a trace in memory only if the process
 * that created it is gone, as a daemon's parent is. The child looks after it has stopped: if the creator is still there
 * then, what it saves later has all that the child has recorded. If a signal handler calls exit, and has interrupted a
 * function that holds the mutex, such as unshare, the trace stays as after _exit. */
__attribute__((destructor)) static void end_process(void) {
    if (session.is_silenced || session_is_locked_here()) return;
    session_lock();
    bool is_saved_at_end =
        session_is_recording() && session.settings.storage == GREC_STORAGE_MEMORY && environment_has_started();
    session_stop(true);
    if (is_saved_at_end && !pool_has_other_saver(&recording_pool) && session_save(NULL) != GREC_OK)
        fprintf(stderr, "gecko-recorder: %s cannot be written: %s\n", session.settings.path, strerror(errno));
    session_unlock();
}
