#include "thread_handle.h"

#include <unistd.h>

#include "recorder/state/recording_state.h"
#include "thread_registry.h"
#include "writer.h"

/* The highest bit of a handle's uid, which a tagged uid leaves 0: the options left the thread out. */
static const uint64_t IS_LEFT_OUT = (uint64_t)1 << 63;

static struct grec_thread make(struct thread_record *record, uint32_t tid, bool is_left_out) {
    return (struct grec_thread){.uid = thread_record_tagged_uid(record) | (is_left_out ? IS_LEFT_OUT : 0), .tid = tid};
}

struct grec_thread thread_handle_main(void) {
    uint32_t tid = (uint32_t)getpid();
    struct thread_record *record = thread_registry_record_of(tid);
    return record ? make(record, tid, false) : (struct grec_thread){0, 0};
}

uint64_t thread_handle_uid(const struct grec_thread *handle) { return thread_uid_of_tagged(handle->uid); }

struct thread_record *thread_handle_record(const struct grec_thread *handle) {
    return thread_registry_find(handle->uid & ~IS_LEFT_OUT, (uint32_t)handle->tid);
}

enum thread_handle_fate thread_handle_fate(const struct grec_thread *handle) {
    uint64_t tagged_uid = handle->uid & ~IS_LEFT_OUT;
    bool is_left_out = handle->uid & IS_LEFT_OUT;
    if (!thread_uid_is_current(tagged_uid)) return THREAD_HANDLE_STALE;
    if (recording_has_thread_filter()) thread_registry_look_up(tagged_uid, (uint32_t)handle->tid, &is_left_out);
    return is_left_out ? THREAD_HANDLE_LEFT_OUT : THREAD_HANDLE_WANTED;
}

bool thread_handle_is_recorded(const struct grec_thread *handle) {
    return handle->uid && thread_handle_fate(handle) == THREAD_HANDLE_WANTED && thread_handle_record(handle);
}

struct grec_thread grec_thread_self(void) {
    struct grec_thread self = {0, 0};
    struct recording recording = recording_enter();
    const struct thread_writers *thread = recording.thread;
    if (!thread) return self;
    if (recording_identify(&recording) || thread->generation == recording_generation)
        self = make(thread_record_self, thread_registry_tid(thread), thread->is_muted);
    recording_leave(&recording);
    return self;
}

struct grec_thread grec_main_thread(void) {
    struct recording recording = recording_enter();
    if (!recording.thread) return (struct grec_thread){0, 0};
    struct grec_thread main_thread = thread_handle_main();
    recording_leave(&recording);
    return main_thread;
}

int grec_thread_is_recorded(struct grec_thread thread) {
    struct recording recording = recording_enter();
    if (!recording.thread) return 0;
    bool is_now = thread_handle_is_recorded(&thread);
    recording_leave(&recording);
    return is_now;
}
