/* The parts of threads that both formats write alike. */
#pragma once

#include "json.h"
#include "libconvert/profile/profile.h"

/* Writes a pid or tid: as a number if the client turns that number into the same text again, otherwise as a string. */
void thread_json_id(struct json *json, struct text id);

/* Writes the tid of a thread, as a value or as "tid". */
void thread_json_tid_value(struct json *json, const struct thread *thread);
void thread_json_tid(struct json *json, const struct thread *thread);

/* Writes the process's "processType". */
void thread_json_process_type(struct json *json, const struct profile *profile, const struct process *process);

/* Writes "pausedRanges" of the process. */
void thread_json_paused_ranges(struct json *json, const struct profile *profile, process_id process);

/* Writes a sample's weight as CPU time. is_unused: the sample is its thread's first one, whose CPU time is unknown, or
 * idle. Writes 0 for those and for negative values, which the client does not accept. */
static inline void thread_json_cpu_delta(struct json *json, struct decimal delta, bool is_unused) {
    bool is_known = !is_unused && delta.mantissa > 0;
    json_decimal(json, is_known ? delta : (struct decimal){0});
}

/* Writes the start. A thread that began before the trace has the start of the trace. */
static inline void thread_json_key_start(struct json *json, const char *key, int64_t start_ns) {
    json_key_ms(json, key, start_ns == TIME_NONE ? 0 : start_ns);
}

/* Writes the time, or null if there is none. */
static inline void thread_json_key_time(struct json *json, const char *key, int64_t time_ns) {
    json_key(json, key);
    json_ms_or_null(json, time_ns, time_ns != TIME_NONE);
}
