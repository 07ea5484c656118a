#include "on_demand.h"

#include "recorder/state/recording_state.h"
#include "recorder/write/thread_handle.h"
#include "recorder/write/thread_registry.h"
#include "recorder/write/writer.h"
#include "sampler.h"

static const uint64_t LIMIT_NS = 1000000000;

/* Returns the record of another thread, if that is recorded. */
static struct thread_record *demand_thread(const struct grec_thread *thread) {
    struct recording recording = recording_enter();
    if (!recording.thread) return NULL;
    struct thread_record *record = thread_handle_is_recorded(thread) ? thread_handle_record(thread) : NULL;
    if (record) __atomic_store_n(&record->demand, (uint32_t)THREAD_DEMANDED, __ATOMIC_SEQ_CST);
    recording_leave(&recording);
    return record;
}

/* The thread may end meanwhile: the record then has another thread, or none. */
static bool is_sampled(void *record) {
    return __atomic_load_n(&((struct thread_record *)record)->demand, __ATOMIC_SEQ_CST) == THREAD_NOT_DEMANDED;
}

enum grec_error on_demand_sample_thread(struct grec_thread thread) {
    struct thread_record *record = demand_thread(&thread);
    if (!record) return GREC_ERROR_STATE;
    bool is_done = sampler_demand_rounds(LIMIT_NS, is_sampled, record);
    if (!is_done) __atomic_store_n(&record->demand, (uint32_t)THREAD_NOT_DEMANDED, __ATOMIC_SEQ_CST);
    return is_done ? GREC_OK : GREC_ERROR_STATE;
}

enum grec_error on_demand_wait(void) {
    return sampler_demand_rounds(LIMIT_NS, NULL, NULL) ? GREC_OK : GREC_ERROR_STATE;
}
