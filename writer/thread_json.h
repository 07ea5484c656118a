/* The parts of threads that both formats write alike. */
#ifndef GECKO_THREAD_JSON_H
#define GECKO_THREAD_JSON_H

#include "json.h"
#include "libconvert/profile.h"

/* A pid or tid in text: a number where it is one that the client turns into the same text again. */
void thread_json_id(struct json *json, struct text id);

/* A thread's tid as a value, and as "tid". */
void thread_json_tid_value(struct json *json, const struct thread *thread);
void thread_json_tid(struct json *json, const struct thread *thread);

/* "pausedRanges" of a process. */
void thread_json_paused_ranges(struct json *json, const struct profile *profile, process_id process);

/* The CPU time that a sample's weight says, as a value: unknown before the thread's first sample, and the client takes
 * no negative ones. */
static inline void thread_json_cpu_delta(struct json *json, struct decimal delta, bool is_first) {
    bool is_known = !is_first && delta.mantissa > 0;
    json_decimal(json, is_known ? delta : (struct decimal){0});
}

/* CPU time that the sample itself tells; TIME_NONE: unknown. */
static inline void thread_json_cpu_ns(struct json *json, int64_t cpu_ns) {
    json_int_or_null(json, cpu_ns, cpu_ns != TIME_NONE);
}

/* An address of memory; its top bit, which no memory of a process has, is left out. */
static inline void thread_json_address(struct json *json, uint64_t address) {
    json_int(json, (int64_t)(address & INT64_MAX));
}

/* Of what began before the trace, the start is the trace's. */
static inline void thread_json_key_start(struct json *json, const char *key, int64_t start_ns) {
    json_key_ms(json, key, start_ns == TIME_NONE ? 0 : start_ns);
}

/* null where there is none. */
static inline void thread_json_key_time(struct json *json, const char *key, int64_t time_ns) {
    json_key(json, key);
    json_ms_or_null(json, time_ns, time_ns != TIME_NONE);
}

/* Lines and columns count from 1; 0 is an unknown one. */
static inline void thread_json_place(struct json *json, uint32_t line_or_column) {
    json_int_or_null(json, line_or_column, line_or_column != 0);
}

#endif
