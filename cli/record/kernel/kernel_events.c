#include "kernel_events.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "event_names.h"
#include "libconvert/base/order.h"

/* ---- Attributes. ---- */

/* The registers that unwinding needs: all but segment registers, floating point and vectors. */
#if defined __x86_64__
static const uint64_t USER_REGISTERS = 0xff0fff;
#elif defined __aarch64__
static const uint64_t USER_REGISTERS = 0x1ffffffff;
#else
static const uint64_t USER_REGISTERS = 0;
#endif

static void request_stacks(struct perf_event_attr *attr, const struct kernel_event_options *options) {
    if (options->call_graph == CALL_GRAPH_NONE) return;
    attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
    if (options->call_graph == CALL_GRAPH_FP) return;
    attr->exclude_callchain_user = 1;
    if (options->call_graph == CALL_GRAPH_LBR) {
        attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
        attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
                                   PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES;
        return;
    }
    attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr->sample_regs_user = USER_REGISTERS;
    attr->sample_stack_user = options->stack_bytes;
}

/* Requests the records about tasks: mappings, names, forks and switches. One event of a recording has them. */
static void request_task_events(struct perf_event_attr *attr) {
    attr->mmap = attr->mmap2 = attr->build_id = 1;
    attr->comm = attr->comm_exec = attr->task = 1;
    attr->context_switch = 1;
    /* perf's unwinder, unlike ours, finds the files' call frame information through mappings that are not code. */
    if (attr->sample_type & PERF_SAMPLE_STACK_USER) attr->mmap_data = 1;
}

/* Returns whether each occurrence is recorded. A context switch without a sample would be a wait without a stack. */
static bool is_recorded_each_time(const struct perf_event_attr *attr) {
    bool is_switch = attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES;
    return is_switch || attr->type == PERF_TYPE_TRACEPOINT;
}

static void set_attr(struct perf_event_attr *attr, const struct kernel_event_options *options) {
    attr->sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                         PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
    attr->read_format = PERF_FORMAT_LOST;
    attr->freq = !is_recorded_each_time(attr);
    attr->sample_freq = attr->freq ? options->frequency_hz : 1;
    attr->sample_id_all = 1;
    attr->disabled = 1;
    attr->inherit = !options->is_system_wide;
    attr->enable_on_exec = options->begins_on_exec;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    request_stacks(attr, options);
}

/* Requests payloads for all events if one is a tracepoint. Samples of all events have the same fields, so that they can
 * be read before their event is known. */
static void request_raw_payloads(const struct kernel_events *events) {
    bool has_tracepoint = false;
    for (size_t i = 0; i < events->count; i++) has_tracepoint |= events->rows[i].attr.type == PERF_TYPE_TRACEPOINT;
    for (size_t i = 0; i < events->count && has_tracepoint; i++) events->rows[i].attr.sample_type |= PERF_SAMPLE_RAW;
}

bool kernel_events_init(struct kernel_events *events, const struct kernel_event_options *options,
                        struct failure *failure) {
    static const char *const default_names[] = {"cycles"};
    const char *const *names = options->name_count ? options->names : default_names;
    size_t count = options->name_count ? options->name_count : 1;
    *events = (struct kernel_events){.rows = calloc(count, sizeof *events->rows)};
    if (!events->rows) failure_set_memory(failure);
    for (size_t i = 0; i < count && !failure_is_set(failure); i++) {
        struct kernel_event *event = &events->rows[events->count++];
        snprintf(event->name, sizeof event->name, "%.*s", (int)strcspn(names[i], "="), names[i]);
        if (event_name_parse(event->name, &event->attr, failure)) set_attr(&event->attr, options);
    }
    if (events->count) request_task_events(&events->rows[0].attr);
    request_raw_payloads(events);
    return !failure_is_set(failure);
}

static void close_from(struct kernel_event *event, size_t at) {
    while (event->count > at) close(event->fds[--event->count]);
}

void kernel_events_fini(struct kernel_events *events) {
    for (size_t i = 0; i < events->count; i++) {
        close_from(&events->rows[i], 0);
        free(events->rows[i].fds);
        free(events->rows[i].ids);
    }
    free(events->rows);
}

/* ---- Opening. ---- */

/* Counts the processor's clock instead of its cycles, with the same modifier. */
static void count_clock(struct kernel_event *event) {
    char name[sizeof event->name];
    const char *modifier = strchr(event->name, ':');
    snprintf(name, sizeof name, "cpu-clock%.4s", modifier ? modifier : "");
    memcpy(event->name, name, sizeof name);
    event->attr.type = PERF_TYPE_SOFTWARE;
    event->attr.config = PERF_COUNT_SW_CPU_CLOCK;
}

/* Drops one attribute that the kernel may have refused with that errno. Returns false if there is none left to drop. */
static bool relax_attributes(struct kernel_event *event, int error) {
    struct perf_event_attr *attr = &event->attr;
    bool is_forbidden = error == EACCES || error == EPERM, is_unknown = error == EINVAL || error == EOPNOTSUPP;
    if (is_forbidden && !attr->exclude_kernel) {
        attr->exclude_kernel = attr->exclude_hv = attr->exclude_callchain_kernel = 1;
    } else if (is_unknown && attr->precise_ip) {
        attr->precise_ip--;
    } else if (attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES &&
               (error == ENOENT || error == ENODEV || error == EOPNOTSUPP)) {
        count_clock(event);
    } else if (is_unknown && attr->build_id) {
        attr->build_id = 0;
    } else if (is_unknown && attr->read_format) {
        attr->read_format = 0;
    } else {
        return false;
    }
    return true;
}

/* Finds attributes that the kernel accepts for the task on all processors, which differ on a hybrid machine. Returns 0
 * or an errno. If the task has ended, its attributes do not matter. */
static int negotiate_attributes(struct kernel_event *event, const struct kernel_rings *rings, pid_t pid) {
    int error = 0;
    for (size_t i = 0; i < rings->count;) {
        int fd = kernel_event_open(&event->attr, pid, rings->rows[i].processor);
        error = fd < 0 ? errno : 0;
        if (fd >= 0) close(fd);
        if (error == ESRCH) return 0;
        if (error && !relax_attributes(event, error)) return error;
        i = error ? 0 : i + 1;
    }
    return 0;
}

/* Opens the event for one task, unless it has ended, on one processor. */
static int open_one(struct kernel_event *event, const struct kernel_ring *ring, pid_t pid) {
    int fd = kernel_event_open(&event->attr, pid, ring->processor);
    if (fd < 0) return errno == ESRCH ? 0 : errno;
    event->fds[event->count++] = fd;
    uint64_t *id = &event->ids[event->id_count++];
    return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) || ioctl(fd, PERF_EVENT_IOC_ID, id) ? errno : 0;
}

static bool reserve(struct kernel_event *event, size_t count) {
    int *fds = realloc(event->fds, count * sizeof *fds);
    if (fds) event->fds = fds;
    uint64_t *ids = realloc(event->ids, count * sizeof *ids);
    if (ids) event->ids = ids;
    return fds && ids;
}

static int prepare_event(struct kernel_event *event, const struct kernel_rings *rings, const struct proc_ids *tasks) {
    return reserve(event, tasks->count * rings->count) ? negotiate_attributes(event, rings, tasks->values[0]) : ENOMEM;
}

/* Opens the events for one task on all processors. After an error, none of them is open for it. */
static int open_task(struct kernel_events *events, const struct kernel_rings *rings, pid_t pid,
                     const struct kernel_event **refused) {
    int error = 0;
    for (size_t i = 0; i < events->count; i++) events->rows[i].task_start = events->rows[i].count;
    for (size_t i = 0; i < events->count * rings->count && !error; i++) {
        struct kernel_event *event = &events->rows[i / rings->count];
        *refused = event;
        error = open_one(event, &rings->rows[i % rings->count], pid);
    }
    for (size_t i = 0; i < events->count && error; i++) close_from(&events->rows[i], events->rows[i].task_start);
    return error;
}

int kernel_events_open(struct kernel_events *events, const struct kernel_rings *rings, const struct proc_ids *tasks,
                       const struct kernel_event **refused) {
    pid_t any = -1;
    const struct proc_ids all_tasks = {&any, 1};
    int error = 0;
    if (!tasks->count) tasks = &all_tasks;
    for (size_t i = 0; i < events->count && !error; i++) {
        *refused = &events->rows[i];
        error = prepare_event(&events->rows[i], rings, tasks);
    }
    for (size_t i = 0; i < tasks->count && !error; i++) {
        error = open_task(events, rings, tasks->values[i], refused);
        if ((error != EMFILE && error != ENFILE) || !events->rows[0].count) continue;
        events->left_out_count = tasks->count - i;
        return 0;
    }
    return error || events->rows[0].count ? error : ESRCH;
}

/* ---- While recording. ---- */

static bool is_alive(int fd) {
    struct pollfd polled = {.fd = fd};
    return poll(&polled, 1, 0) == 0 || !(polled.revents & POLLHUP);
}

static uint64_t lost_of(const struct kernel_event *event, int fd) {
    uint64_t values[2]; /* the count of events, and of lost samples */
    return event->attr.read_format && read(fd, values, sizeof values) == sizeof values ? values[1] : 0;
}

/* Returns how many samples the closed events have lost. */
static uint64_t close_ended(struct kernel_event *event) {
    size_t kept_count = 0;
    uint64_t lost_count = 0;
    for (size_t i = 0; i < event->count; i++) {
        int fd = event->fds[i];
        if (is_alive(fd)) {
            event->fds[kept_count++] = fd;
        } else {
            lost_count += lost_of(event, fd);
            close(fd);
        }
    }
    event->count = kept_count;
    return lost_count;
}

int kernel_events_add(struct kernel_events *events, const struct kernel_rings *rings, pid_t task,
                      const struct kernel_event **refused) {
    for (size_t i = 0; i < events->count; i++) {
        struct kernel_event *event = &events->rows[i];
        *refused = event;
        events->lost_count += close_ended(event);
        if (!reserve(event, event->id_count + rings->count)) return ENOMEM;
    }
    return open_task(events, rings, task, refused);
}

static int compare_ids(const void *a, const void *b) { return ORDER(*(const uint64_t *)a, *(const uint64_t *)b); }

const struct kernel_event *kernel_events_find(const struct kernel_events *events, uint64_t id) {
    for (size_t i = 0; i < events->count; i++) {
        const struct kernel_event *event = &events->rows[i];
        if (bsearch(&id, event->ids, event->id_count, sizeof id, compare_ids)) return event;
    }
    return NULL;
}

static void control(const struct kernel_events *events, unsigned long request) {
    for (size_t i = 0; i < events->count; i++)
        for (size_t j = 0; j < events->rows[i].count; j++) ioctl(events->rows[i].fds[j], request, 0);
}

void kernel_events_enable(const struct kernel_events *events) { control(events, PERF_EVENT_IOC_ENABLE); }

void kernel_events_disable(const struct kernel_events *events) { control(events, PERF_EVENT_IOC_DISABLE); }

uint64_t kernel_events_lost(const struct kernel_events *events) {
    uint64_t lost_count = events->lost_count;
    for (size_t i = 0; i < events->count; i++)
        for (size_t j = 0; j < events->rows[i].count; j++)
            lost_count += lost_of(&events->rows[i], events->rows[i].fds[j]);
    return lost_count;
}

bool kernel_events_are_alive(const struct kernel_events *events) {
    for (size_t i = 0; i < events->rows[0].count; i++)
        if (is_alive(events->rows[0].fds[i])) return true;
    return false;
}
