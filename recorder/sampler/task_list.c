#include "task_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "own_thread.h"
#include "recorder/gecko_recorder.h"
#include "recorder/state/own_files.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/write/thread_handle.h"
#include "recorder/write/thread_registry.h"

enum {
    PERIOD_NS = 10000000, /* time between two checks whether the number of threads has changed */
    /* Even if the number has not changed, one thread may have replaced another. So the list is read again after this
       time for each thread, a thousand times what reading takes. */
    SWAP_NS_PER_THREAD = 1000000,
    SWAP_PERIOD_NS_MAX = 100000000,
    SLOW_PERIOD_NS = 1000000000, /* the length of a marker; names are read again after it */
    TASK_COUNT_MAX = 512,
    CPU_NS_MIN = 100000, /* less is not worth a marker */
    STATUS_BYTES_MAX = 16384,
    LINKS_OF_FOLDER = 2, /* besides one for each thread */
};

struct task {
    uint32_t tid;
    uint32_t name_bytes_count;
    char name[TASK_NAME_BYTES];
    bool is_seen;
    bool is_missing;      /* it has ended; or it was not in the kernel's list, or had registered, when that was read */
    bool is_counted;      /* its processor time becomes markers */
    uint64_t cpu_ns;      /* processor time that the thread had used at read_ns */
    uint64_t read_ns;     /* when cpu_ns was read */
    uint64_t unmarked_ns; /* processor time that the thread has used since marked_ns */
    uint64_t marked_ns;   /* the end of the thread's last marker */
};

static struct {
    struct own_file folder;
    bool takes_all;
    uint64_t next_ns;
    uint64_t next_swap_ns;
    uint64_t next_slow_ns;
    uint32_t link_count; /* links of the folder */
    uint32_t count;
    struct task tasks[TASK_COUNT_MAX]; /* threads that are not registered */
} list;

/* ---- Markers. ---- */

static const struct grec_field cpu_fields[] = {
    GREC_FIELD("tid", "Thread", GREC_FORMAT_TID),
    GREC_FIELD("name", "Name", GREC_FORMAT_UNIQUE_STRING),
    GREC_FIELD("time", "CPU time", GREC_FORMAT_DURATION),
    GREC_FIELD("share", "CPU use", GREC_FORMAT_PERCENTAGE),
};
static struct grec_marker_type cpu_type = GREC_MARKER_TYPE_SHOWN(
    "ThreadCpuUse", cpu_fields, "{marker.data.name}: {marker.data.share}", "{marker.data.name} ({marker.data.tid})",
    "{marker.data.name}: {marker.data.time}", GREC_DISPLAY_CHART | GREC_DISPLAY_TABLE);
static struct grec_marker cpu_marker = GREC_MARKER("CPU use of a thread that is not registered", NULL, &cpu_type);

static void add_marker(const struct task *task) {
    struct grec_marker_options options = {.phase = GREC_PHASE_INTERVAL,
                                          .start = grec_time_from_clock_ns(task->marked_ns),
                                          .end = grec_time_from_clock_ns(task->read_ns),
                                          .thread = thread_handle_main()};
    const struct grec_value values[] = {
        GREC_UINT(task->tid), GREC_TEXT_OF(task->name, task->name_bytes_count), GREC_UINT(task->unmarked_ns),
        GREC_REAL((double)task->unmarked_ns / (double)(task->read_ns - task->marked_ns))};
    grec_add_marker(&cpu_marker, &options, values, sizeof values / sizeof *values);
}

static void mark(struct task *task) {
    if (task->unmarked_ns >= CPU_NS_MIN && task->read_ns > task->marked_ns) {
        add_marker(task);
        task->unmarked_ns = 0;
    }
    task->marked_ns = task->read_ns;
}

/* ---- Single threads. ---- */

/* Files of /proc are slow to open in a new process, and slow to forget at its end. */
static uint32_t read_own_name(char name[TASK_NAME_BYTES]) {
    return prctl(PR_GET_NAME, name, 0, 0, 0) == 0 ? (uint32_t)strnlen(name, TASK_NAME_BYTES) : 0;
}

uint32_t task_read_name(uint32_t tid, char name[TASK_NAME_BYTES]) {
    char path[OWN_FILE_PATH_BYTES], text[TASK_NAME_BYTES + 1];
    if (tid == process_own_tid()) return read_own_name(name);
    own_file_of_thread(path, tid, "comm");
    size_t count = own_file_read(NULL, path, text, sizeof text);
    if (count && text[count - 1] == '\n') count--;
    memcpy(name, text, count);
    return (uint32_t)count;
}

/* Computes the kernel's number of the clock: pthread_getcpuclockid needs more than a tid. */
clockid_t task_cpu_clock(uint32_t tid) {
    enum { PER_THREAD = 4, SCHEDULED = 2 };
    return (clockid_t)(~(unsigned)tid << 3 | PER_THREAD | SCHEDULED);
}

bool task_read_cpu_ns(uint32_t tid, uint64_t *cpu_ns) {
    struct timespec time;
    if (clock_gettime(task_cpu_clock(tid), &time) != 0) return false;
    *cpu_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    return true;
}

/* Fields have the numbers of proc(5). The second one, the name, may contain spaces and parentheses. */
uint64_t task_read_fault_count(uint32_t tid) {
    enum { FIELD_AFTER_NAME = 3, FIELD_FAULT_COUNT = 10 };
    char path[OWN_FILE_PATH_BYTES], text[512];
    own_file_of_thread(path, tid, "stat");
    own_file_read(NULL, path, text, sizeof text);
    const char *at = strrchr(text, ')');
    for (int field = FIELD_AFTER_NAME - 1; at && field < FIELD_FAULT_COUNT; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* Returns the text after a key of the thread's status; NULL: there is none. */
static const char *read_status(uint32_t tid, const char *key) {
    static char text[STATUS_BYTES_MAX];
    char path[OWN_FILE_PATH_BYTES];
    own_file_of_thread(path, tid, "status");
    own_file_read(NULL, path, text, sizeof text);
    const char *found = strstr(text, key);
    return found ? found + strlen(key) : NULL;
}

bool task_blocks_signal(uint32_t tid, int number) {
    const char *mask = read_status(tid, "\nSigBlk:");
    return mask && strtoull(mask, NULL, 16) >> (number - 1) & 1;
}

bool task_read_switches(uint32_t tid, uint64_t *wait_count, uint64_t *preemption_count) {
    static const char next_key[] = "\nnonvoluntary_ctxt_switches:";
    const char *waits = read_status(tid, "\nvoluntary_ctxt_switches:"),
               *preemptions = waits ? strstr(waits, next_key) : NULL;
    if (!preemptions) return false;
    *wait_count = strtoull(waits, NULL, 10);
    *preemption_count = strtoull(preemptions + sizeof next_key - 1, NULL, 10);
    return true;
}

/* ---- The list. ---- */

/* The sampler itself is registered, so it is never in this list. */
static bool is_own(const struct task *task) {
    static const char keeper[] = KEEPER_THREAD_NAME;
    return task->name_bytes_count == sizeof keeper - 1 && !memcmp(task->name, keeper, sizeof keeper - 1);
}

static struct task *find_task(uint32_t tid) {
    for (uint32_t i = 0; i < list.count; i++)
        if (list.tasks[i].tid == tid) return &list.tasks[i];
    return NULL;
}

uint64_t task_list_cpu_ns(uint32_t tid) {
    const struct task *task = find_task(tid);
    return task ? task->cpu_ns : 0;
}

static void add_task(const struct task *task) {
    if (list.count == TASK_COUNT_MAX) return;
    list.tasks[list.count] = *task;
    task_read_cpu_ns(task->tid, &list.tasks[list.count++].cpu_ns);
}

static void read_name(struct task *task) {
    uint32_t bytes_count = task_read_name(task->tid, task->name);
    if (bytes_count) task->name_bytes_count = bytes_count;
}

static bool is_to_be_held(const struct task *task) {
    return list.takes_all && !is_own(task) && recording_wants_thread(task->name, task->name_bytes_count);
}

static void visit_task(uint32_t tid, uint64_t now_ns, bool is_slow) {
    struct task stranger = {.tid = tid, .read_ns = now_ns, .marked_ns = now_ns};
    struct task *known = find_task(tid), *task = known ? known : &stranger;
    if (!known || is_slow) read_name(task);
    bool is_wanted = is_to_be_held(task);
    if (is_wanted && thread_registry_hold(tid)) return;
    task->is_counted = is_wanted || (!list.takes_all && !is_own(task));
    task->is_seen = true;
    if (!known) add_task(task);
}

/* Drops threads that have ended, or have registered. A thread that has registered stays until the next refresh: the
 * observer, which has not seen it yet, asks for its processor time. */
static void drop_unseen(void) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        struct task *task = &list.tasks[i];
        bool was_missing = task->is_missing;
        task->is_missing = !task->is_seen;
        task->is_seen = false;
        if (task->is_missing) mark(task);
        if (!task->is_missing || !was_missing) list.tasks[count++] = *task;
    }
    list.count = count;
}

static void read_time(struct task *task, uint64_t now_ns) {
    uint64_t cpu_ns;
    if (thread_registry_record_of(task->tid)) return;
    task->is_missing = !task_read_cpu_ns(task->tid, &cpu_ns);
    if (task->is_missing) return;
    if (task->is_counted) task->unmarked_ns += cpu_ns > task->cpu_ns ? cpu_ns - task->cpu_ns : 0;
    task->cpu_ns = cpu_ns;
    task->read_ns = now_ns;
}

/* Reads all times often, because the time that a thread uses after the last reading is lost when it ends. */
static void read_times(uint64_t now_ns) {
    for (uint32_t i = 0; i < list.count; i++) read_time(&list.tasks[i], now_ns);
}

static void mark_all(void) {
    for (uint32_t i = 0; i < list.count; i++) mark(&list.tasks[i]);
}

/* Whether the list is as it was: reading it takes a microsecond a thread. */
static bool is_as_before(uint64_t now_ns) {
    int folder = own_file_open(&list.folder, ".");
    uint32_t link_count = folder >= 0 ? own_folder_link_count(folder) : 0;
    own_file_release(&list.folder, folder);
    if (!link_count) return false;
    bool is_same = link_count == list.link_count && now_ns < list.next_swap_ns;
    list.link_count = link_count;
    return is_same;
}

static uint64_t swap_period_ns(void) {
    uint64_t period_ns = (uint64_t)list.link_count * SWAP_NS_PER_THREAD;
    return period_ns < SWAP_PERIOD_NS_MAX ? period_ns : SWAP_PERIOD_NS_MAX;
}

struct visit {
    uint64_t now_ns;
    bool is_slow; /* names are read again */
};

static void visit_tid(uint32_t tid, const struct visit *visit) {
    if (tid && !thread_registry_record_of(tid)) visit_task(tid, visit->now_ns, visit->is_slow);
}

static void visit_entry(const char *name, void *visit) { visit_tid((uint32_t)strtoul(name, NULL, 10), visit); }

/* A thread that ends by the system call keeps its record. */
static void count_registered(struct thread_writers *writers, struct thread_record *record, void *count) {
    uint32_t tid = thread_registry_tid(writers);
    uint64_t cpu_ns;
    (void)record;
    if (tid && task_read_cpu_ns(tid, &cpu_ns)) ++*(uint32_t *)count;
}

static bool is_stranger(const struct task *task) { return !task->is_missing && !thread_registry_record_of(task->tid); }

/* Whether the kernel has no other threads than those that are registered or in the list. If one that has ended or has
 * registered were counted as well, it would hide a new one. */
static bool is_complete(void) {
    uint32_t link_count = LINKS_OF_FOLDER;
    for (uint32_t i = 0; i < list.count; i++) link_count += is_stranger(&list.tasks[i]);
    thread_registry_each_record(count_registered, &link_count);
    return link_count == list.link_count;
}

/* The folder is read only if there are other threads: the kernel would make an entry for each one, and drop it in the
 * folder when that thread ends, see own_file_of_thread. */
static bool visit_entries(struct visit *visit) {
    visit_tid((uint32_t)getpid(), visit);
    if (is_complete()) {
        for (uint32_t i = 0; i < list.count; i++)
            if (!list.tasks[i].is_missing) visit_tid(list.tasks[i].tid, visit);
        return true;
    }
    int folder = own_file_open(&list.folder, ".");
    if (folder < 0) return false;
    own_folder_each(folder, visit_entry, visit);
    own_file_release(&list.folder, folder);
    return true;
}

static void read_folder(uint64_t now_ns, bool is_slow) {
    struct visit visit = {now_ns, is_slow};
    list.next_swap_ns = now_ns + swap_period_ns();
    if (visit_entries(&visit)) drop_unseen();
}

void task_list_refresh(uint64_t now_ns) {
    if (now_ns < list.next_ns) return;
    list.next_ns = now_ns + PERIOD_NS;
    bool is_slow = now_ns >= list.next_slow_ns;
    read_times(now_ns);
    if (!is_as_before(now_ns) || is_slow) read_folder(now_ns, is_slow);
    if (!is_slow) return;
    mark_all();
    list.next_slow_ns = now_ns + SLOW_PERIOD_NS;
}

void task_list_look_again(void) { list.next_swap_ns = 0; }

void task_list_forget_times(void) {
    for (uint32_t i = 0; i < list.count; i++) task_read_cpu_ns(list.tasks[i].tid, &list.tasks[i].cpu_ns);
}

void task_list_open(bool takes_all) {
    list.takes_all = takes_all;
    list.next_ns = list.next_swap_ns = list.next_slow_ns = 0;
    list.link_count = 0;
    list.count = 0;
}

void task_list_close(uint64_t now_ns) {
    read_times(now_ns);
    mark_all();
}
