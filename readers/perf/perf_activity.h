/* What perf reports of threads besides samples: when they ran, when sampling paused, samples that were lost or written
 * late, and their namespaces and control groups. All of it becomes markers. */
#pragma once

#include "perf_record.h"
#include "perf_tasks.h"

enum perf_activity_kind {
    PERF_ACTIVITY_OFF_CPU,
    PERF_ACTIVITY_THROTTLED,
    PERF_ACTIVITY_LOSS,
    PERF_ACTIVITY_DISORDER,
    PERF_ACTIVITY_NAMESPACES,
    PERF_ACTIVITY_CGROUP,
    PERF_ACTIVITY_KIND_COUNT
};

/* The namespaces of a thread, one of each kind; zeros: unknown. */
struct perf_namespaces {
    struct perf_namespace kinds[PERF_NAMESPACES_MAX];
};

struct perf_activity {
    struct profile *profile;                    /* borrowed */
    struct filter *filter;                      /* borrowed; NULL: everything is kept */
    uint16_t schemas[PERF_ACTIVITY_KIND_COUNT]; /* MARKER_SCHEMA_NONE until the first marker of that kind */
    struct value_table cgroup_paths;            /* string_id, a row of the profile's strings, by uint64_t: the id */
    struct row_table namespaces;                /* struct perf_namespaces */
    struct value_table throttles;               /* struct perf_throttle by uint64_t: the stream of samples */
};

void perf_activity_init(struct perf_activity *activity, struct profile *profile, struct filter *filter);
void perf_activity_fini(struct perf_activity *activity);

/* Returns whether switches of the thread mean anything. The idle task, whose tid is 0, runs on all processors at once,
 * and a thread whose tid is -1 has ended. */
static inline bool perf_activity_has_switches(int64_t tid) { return tid > 0; }

/* The thread did not run in that time: another one had preempted it, or it waited. */
void perf_activity_mark_off_cpu(struct perf_activity *activity, const struct perf_task *task, int64_t start_ns,
                                int64_t end_ns, bool is_preempted);

/* The kernel stops or resumes sampling the stream: an event on one processor, or in one thread. The marker belongs to
 * the thread that ran when sampling stopped. */
void perf_activity_throttle(struct perf_activity *activity, struct perf_task *task, uint64_t stream, struct text event,
                            int64_t time_ns);
void perf_activity_unthrottle(struct perf_activity *activity, uint64_t stream, int64_t time_ns);

/* perf lost as many records or samples before that time, at which the thread ran. */
void perf_activity_mark_loss(struct perf_activity *activity, const struct perf_task *task, uint64_t count,
                             int64_t time_ns);

/* The thread's sample of that time came after one that is late_ns later. */
void perf_activity_mark_disorder(struct perf_activity *activity, const struct perf_task *task, int64_t late_ns,
                                 int64_t time_ns);

/* The thread is in these namespaces, at most PERF_NAMESPACES_MAX of them, in the order of Linux
 * include/uapi/linux/perf_event.h: net, uts, ipc… Adds a marker with those that it has not been
 * in, unless time_ns is TIME_NONE: then it has been in them since before the recording. */
void perf_activity_set_namespaces(struct perf_activity *activity, struct perf_task *task,
                                  const struct perf_namespace *namespaces, uint32_t count, int64_t time_ns);

void perf_activity_name_cgroup(struct perf_activity *activity, uint64_t id, struct text path);

/* The thread is in that control group. Adds a marker if it has not been in it. */
void perf_activity_set_cgroup(struct perf_activity *activity, struct perf_task *task, uint64_t id, int64_t time_ns);

/* Adds markers for what still lasts when the recording ends. */
void perf_activity_finish(struct perf_activity *activity, const struct perf_tasks *tasks, int64_t end_ns);
