/* The events that are recorded, opened for tasks or for whole processors. */
#pragma once

#include "kernel_rings.h"
#include "proc_tasks.h"

/* How user stacks are recorded. */
enum call_graph { CALL_GRAPH_DWARF, CALL_GRAPH_FP, CALL_GRAPH_LBR, CALL_GRAPH_NONE };

struct kernel_event {
    char name[128];
    struct perf_event_attr attr;
    int *fds; /* one for each task and processor */
    size_t count;
    uint64_t *ids; /* ids of open and closed descriptors; ascending, as the kernel assigns them */
    size_t id_count;
    size_t task_start; /* the index of the first descriptor of the task that was opened last */
};

struct kernel_events {
    struct kernel_event *rows;
    size_t count;
    size_t left_out_count; /* tasks for which there were too few files */
    uint64_t lost_count;   /* samples of events that were closed */
};

struct kernel_event_options {
    /* Names of events, which end at an equals sign. Without names: the processor's cycles or, if it does not count
     * them, its clock. */
    const char *const *names;
    size_t name_count;
    unsigned frequency_hz;
    enum call_graph call_graph;
    unsigned stack_bytes; /* the most bytes of a stack to copy, with CALL_GRAPH_DWARF */
    bool is_system_wide;
    bool begins_on_exec; /* the tasks are about to execute the program that is recorded */
};

/* Sets the attributes of the events; nothing is opened. Returns false after a failure. */
bool kernel_events_init(struct kernel_events *events, const struct kernel_event_options *options,
                        struct failure *failure);
void kernel_events_fini(struct kernel_events *events);

/* Opens the events for the tasks on each ring's processor; without tasks, for all tasks there. Drops attributes that
 * the kernel refuses: sampling the kernel's own code, and features that older kernels lack. Leaves out tasks that have
 * ended. If no more files may be open, leaves out the remaining tasks and counts them. Returns 0, or the errno of a
 * call and the event in *refused: EACCES and EPERM if this user may not record. */
int kernel_events_open(struct kernel_events *events, const struct kernel_rings *rings, const struct proc_ids *tasks,
                       const struct kernel_event **refused);

/* Closes the events of tasks that have ended, and opens those for one more, as kernel_events_open does. */
int kernel_events_add(struct kernel_events *events, const struct kernel_rings *rings, pid_t task,
                      const struct kernel_event **refused);

/* Returns the event with that id, or NULL. */
const struct kernel_event *kernel_events_find(const struct kernel_events *events, uint64_t id);

/* Begin and end the recording. Events that begin on exec need no beginning. */
void kernel_events_enable(const struct kernel_events *events);
void kernel_events_disable(const struct kernel_events *events);

/* Returns how many samples were lost because the rings were full; 0 if the kernel does not count them. */
uint64_t kernel_events_lost(const struct kernel_events *events);

/* Returns whether a recorded task, or one that it has started, still runs. */
bool kernel_events_are_alive(const struct kernel_events *events);
