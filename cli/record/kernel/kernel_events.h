/* The events that are recorded, opened for tasks or for whole processors. */
#pragma once

#include "kernel_rings.h"
#include "proc_tasks.h"

/* What user stacks come from. */
enum call_graph { CALL_GRAPH_DWARF, CALL_GRAPH_FP, CALL_GRAPH_LBR, CALL_GRAPH_NONE };

struct kernel_event {
    char name[128];
    struct perf_event_attr attr;
    int *fds; /* one for each task and processor */
    size_t count;
    uint64_t *ids; /* ids of these and of closed ones; ascending, as the kernel numbers them */
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
    const char *const *names; /* names of events, which end at an equals sign; none: the processor's cycles, or its
                                 clock if it counts none */
    size_t name_count;
    unsigned frequency_hz;
    enum call_graph call_graph;
    unsigned stack_bytes; /* the most bytes of a stack to copy, with CALL_GRAPH_DWARF */
    bool is_system_wide;
    bool begins_on_exec; /* the tasks are about to execute the program that is recorded */
};

/* Sets the attributes of the events; nothing is opened. Returns false after a failure. */
bool kernel_events_init(struct kernel_events *events, const struct kernel_event_options *wanted,
                        struct failure *failure);
void kernel_events_fini(struct kernel_events *events);

/* Opens the events for the tasks on each ring's processor; without tasks, for whatever runs there. Gives up what the
 * kernel refuses: the kernel's own code, and what older kernels lack. Tasks that have ended are left out; if not even
 * one more file may be open, so are the remaining tasks, which are counted. Returns 0, or the errno of a call: EACCES
 * and EPERM if this user may not record. *refused is the event then. */
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

/* Returns how many samples found no room in the rings; 0 if the kernel does not tell. */
uint64_t kernel_events_lost(const struct kernel_events *events);

/* Returns whether a task that is recorded, or that it has started, still runs. */
bool kernel_events_are_alive(const struct kernel_events *events);
