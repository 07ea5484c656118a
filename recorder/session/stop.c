/* Stopping a recording. */
#include <unistd.h>

#include "recorder/pool/chunk_pool.h"
#include "recorder/state/clock.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/sampler_hooks.h"
#include "recorder/state/silent_process.h"
#include "recorder/write/counters.h"
#include "recorder/write/writer.h"
#include "session_state.h"

/* How long to wait for a thread to leave its recording call: it may be stopped, or never run again. */
enum { QUIESCE_NS = 1000000000 };

void session_switch_off(void) {
    recording_switch(false);
    session.phase = SESSION_IS_OFF;
    __atomic_store_n(&grec_labelling_, 0, __ATOMIC_RELAXED);
    counters_end();
}

/* ---- All threads leave their recording calls. ---- */

struct quiescence {
    uint64_t deadline_ns;
    bool is_complete;
};

static void await_thread(struct thread_writers *thread, struct thread_record *record, void *context) {
    struct quiescence *quiescence = context;
    (void)record;
    if (thread == thread_writers_self || !thread_registry_tid(thread)) return;
    while (__atomic_load_n(&thread->depth, __ATOMIC_ACQUIRE)) {
        if (clock_ns_of(CLOCK_MONOTONIC) > quiescence->deadline_ns) {
            writers_abandon(thread);
            quiescence->is_complete = false;
            return;
        }
        usleep(50);
    }
    writers_close(thread);
}

bool session_quiesce(void) {
    recording_switch(false);
    recording_fence();
    struct quiescence quiescence = {.deadline_ns = clock_ns_of(CLOCK_MONOTONIC) + QUIESCE_NS, .is_complete = true};
    thread_registry_each_record(await_thread, &quiescence);
    if (thread_writers_self) writers_close(thread_writers_self);
    return quiescence.is_complete;
}

void session_forget_pool(bool is_unmappable) {
    __atomic_store_n(&recording_group_word, &recording_no_group_word, __ATOMIC_RELAXED);
    if (is_unmappable)
        pool_close(&recording_pool);
    else
        recording_pool = POOL_CLOSED;
}

/* ---- The end. ---- */

void session_stop(bool is_process_ending) {
    if (!session_is_recording()) return;
    grec_time end = grec_now();
    counters_sample();
    if (session.phase != SESSION_IS_OVER)
        recording_write_mark(TRACE_PROCESS_END, is_process_ending ? TRACE_END_EXITED : TRACE_END_STOPPED);
    session_stop_sampler(is_process_ending);
    session_mark_unsampled(end);
    /* Drop old chunks before chunks are sealed, so that the last chunk of each thread stays. */
    pool_drop_old(&recording_pool);
    bool is_quiet = session_quiesce();
    if (is_quiet && !is_process_ending && sampler_table()) sampler_table()->forget();
    recording_flush_losses();
    silent_process_end();
    session_switch_off();
    session.is_sampler_missing = false;
    if (!is_process_ending) session_export_end();
    pool_leave(&recording_pool);
    /* A trace in memory can still be saved. */
    if (session.settings.storage == GREC_STORAGE_FILE || !is_quiet) session_forget_pool(is_quiet && !is_process_ending);
}
