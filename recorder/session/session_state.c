#include "session_state.h"

#include <pthread.h>

#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"

struct session session;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t holder_tid; /* the thread that holds the mutex; 0: none */
static int cancel_state;    /* cancel state of that thread before it held the mutex */

bool session_is_guest(void) { return session.owner_start_ns != process_self()->start_ns; }

bool session_has_failed(void) {
    return __atomic_load_n(&recording_pool.header->stop_reason, __ATOMIC_RELAXED) != TRACE_STOP_NONE;
}

bool session_is_locked_here(void) { return __atomic_load_n(&holder_tid, __ATOMIC_RELAXED) == process_own_tid(); }

/* A thread that were cancelled in a call of the system would never release the mutex. */
static void hold(void) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    __atomic_store_n(&holder_tid, process_own_tid(), __ATOMIC_RELAXED);
}

void session_lock(void) {
    if (process_is_new()) session_enter_child();
    pthread_mutex_lock(&mutex);
    hold();
}

bool session_try_lock(void) {
    bool is_free = pthread_mutex_trylock(&mutex) == 0;
    if (is_free) hold();
    return is_free;
}

void session_unlock(void) {
    int state = cancel_state;
    __atomic_store_n(&holder_tid, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
    pthread_setcancelstate(state, NULL);
}

void session_reset_mutex(void) { mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; }
