/* Samples that the program asks for from outside the threads that are sampled. */
#include "recorder/gecko_recorder.h"
#include "recorder/state/recording_state.h"
#include "recorder/write/thread_handle.h"
#include "recorder/write/thread_registry.h"
#include "recorder/write/writer.h"
#include "sampler.h"

static const uint64_t LIMIT_NS = 1000000000;

struct grec_thread grec_main_thread(void) {
    struct grec_thread none = {0, 0};
    struct recording recording = recording_enter();
    if (!recording.thread) return none;
    struct grec_thread main_thread = thread_registry_main();
    recording_leave(&recording);
    return main_thread;
}

static bool is_recorded(const struct grec_thread *thread) {
    return thread->uid && thread_handle_fate(thread) == THREAD_HANDLE_WANTED && thread_handle_record(thread);
}

int grec_thread_is_recorded(struct grec_thread thread) {
    struct recording recording = recording_enter();
    if (!recording.thread) return 0;
    bool is_now = is_recorded(&thread);
    recording_leave(&recording);
    return is_now;
}

/* Returns the record of another thread that is recorded. */
static struct thread_record *demand_thread(const struct grec_thread *thread) {
    struct recording recording = recording_enter();
    if (!recording.thread) return NULL;
    struct thread_record *record = is_recorded(thread) ? thread_handle_record(thread) : NULL;
    if (record) __atomic_store_n(&record->demand, (uint32_t)THREAD_DEMANDED, __ATOMIC_SEQ_CST);
    recording_leave(&recording);
    return record;
}

/* The thread may end meanwhile: the record then has another thread, or none. */
static bool is_sampled(void *record) {
    return __atomic_load_n(&((struct thread_record *)record)->demand, __ATOMIC_SEQ_CST) == THREAD_NOT_DEMANDED;
}

enum grec_error grec_sample_thread(struct grec_thread thread) {
    struct thread_record *record = demand_thread(&thread);
    if (!record) return GREC_ERROR_STATE;
    if (record == thread_record_self) {
        __atomic_store_n(&record->demand, (uint32_t)THREAD_NOT_DEMANDED, __ATOMIC_SEQ_CST);
        grec_sample();
        return GREC_OK;
    }
    bool is_done = sampler_demand_rounds(LIMIT_NS, is_sampled, record);
    if (!is_done) __atomic_store_n(&record->demand, (uint32_t)THREAD_NOT_DEMANDED, __ATOMIC_SEQ_CST);
    return is_done ? GREC_OK : GREC_ERROR_STATE;
}

enum grec_error grec_wait_for_sampling(void) {
    return sampler_demand_rounds(LIMIT_NS, NULL, NULL) ? GREC_OK : GREC_ERROR_STATE;
}
