#include "task_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "gecko_recorder.h"
#include "session.h"
#include "task_wait.h"
#include "thread_registry.h"

enum {
    TAKE_PERIOD_NS = 10000000,    /* how late a new thread may be noticed... */
    SWAP_PERIOD_NS = 100000000,   /* ...where another one has ended since */
    LOOK_PERIOD_NS = 1000000000,  /* markers come in such pieces */
    SIGNAL_AGAIN_NS = 1000000000, /* a thread that blocks the signal has it pending */
    TASK_COUNT_MAX = 512,
    CPU_NS_MIN = 100000, /* less is not worth a marker */
    STATUS_BYTES_MAX = 16384,
};

struct task {
    uint32_t tid;
    bool is_seen;
    bool is_own; /* of the recorder */
    uint64_t cpu_ns;
    uint64_t signalled_ns;
};

static struct {
    DIR *folder;
    uint64_t next_ns;
    uint64_t next_swap_ns;
    uint64_t next_look_ns;
    uint64_t last_look_ns;
    nlink_t link_count; /* of the folder: a link for each thread, and two */
    bool has_others;    /* than the recorder's own */
    uint32_t count;
    struct task tasks[TASK_COUNT_MAX]; /* that are not registered */
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

static void mark(const struct task *task, uint64_t used_ns, uint64_t now_ns) {
    char name[TASK_NAME_BYTES];
    uint32_t name_bytes = task_read_name(task->tid, name);
    struct grec_marker_options options = {.phase = GREC_PHASE_INTERVAL,
                                          .start = grec_time_from_clock_ns(list.last_look_ns),
                                          .end = grec_now(),
                                          .thread = thread_registry_main()};
    const struct grec_value values[] = {GREC_UINT(task->tid), GREC_TEXT_OF(name, name_bytes), GREC_UINT(used_ns),
                                        GREC_REAL((double)used_ns / (double)(now_ns - list.last_look_ns))};
    grec_add_marker(&cpu_marker, &options, values, sizeof values / sizeof *values);
}

/* ---- The list. ---- */

uint32_t task_read_name(uint32_t tid, char name[TASK_NAME_BYTES]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t count = read(file, name, TASK_NAME_BYTES);
    close(file);
    if (count > 0 && name[count - 1] == '\n') count--;
    return count > 0 ? (uint32_t)count : 0;
}

/* By the number that the kernel has for the clock: pthread_getcpuclockid wants more than a tid. */
bool task_read_cpu_ns(uint32_t tid, uint64_t *cpu_ns) {
    enum { PER_THREAD = 4, SCHEDULED = 2 };
    clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | PER_THREAD | SCHEDULED);
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return false;
    *cpu_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    return true;
}

bool task_blocks_signal(uint32_t tid, int number) {
    static const char key[] = "\nSigBlk:";
    static char text[STATUS_BYTES_MAX];
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/status", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    text[count > 0 ? count : 0] = '\0';
    const char *found = strstr(text, key);
    return found && strtoull(found + sizeof key - 1, NULL, 16) >> (number - 1) & 1;
}

/* The recorder's own threads never get here: the sampler is registered, the helper is told apart by its name. */
static bool is_own(uint32_t tid) {
    char name[TASK_NAME_BYTES];
    uint32_t bytes = task_read_name(tid, name);
    return bytes == sizeof HELPER_THREAD_NAME - 1 && !memcmp(name, HELPER_THREAD_NAME, bytes);
}

static struct task *find_task(uint32_t tid) {
    for (uint32_t i = 0; i < list.count; i++)
        if (list.tasks[i].tid == tid) return &list.tasks[i];
    if (list.count == TASK_COUNT_MAX) return NULL;
    struct task *task = &list.tasks[list.count++];
    *task = (struct task){.tid = tid, .is_own = is_own(tid)};
    task_read_cpu_ns(tid, &task->cpu_ns);
    return task;
}

static void drop_unseen(void) {
    uint32_t count = 0;
    list.has_others = false;
    for (uint32_t i = 0; i < list.count; i++) {
        if (!list.tasks[i].is_seen) continue;
        list.tasks[i].is_seen = false;
        if (!list.tasks[i].is_own) list.has_others = true;
        list.tasks[count++] = list.tasks[i];
    }
    list.count = count;
}

static bool is_wanted(const struct task *task) {
    char name[TASK_NAME_BYTES];
    return session_wants_thread(name, task_read_name(task->tid, name));
}

/* One that waits in what the signal would cut short is sampled from outside until it comes for its record. */
static void take(struct task *task, uint64_t now_ns, int signal_number) {
    if (task->signalled_ns && now_ns - task->signalled_ns < SIGNAL_AGAIN_NS) return;
    if (task_wait_find(task->tid).label) {
        if (is_wanted(task)) thread_registry_hold(task->tid);
        return;
    }
    task->signalled_ns = now_ns;
    syscall(SYS_tgkill, getpid(), task->tid, signal_number);
}

static void look_at(struct task *task, uint64_t now_ns) {
    uint64_t cpu_ns;
    if (!task_read_cpu_ns(task->tid, &cpu_ns)) return;
    uint64_t used_ns = cpu_ns > task->cpu_ns ? cpu_ns - task->cpu_ns : 0;
    task->cpu_ns = cpu_ns;
    if (used_ns >= CPU_NS_MIN && list.last_look_ns) mark(task, used_ns, now_ns);
}

/* Reading the folder takes a microsecond a thread. */
static bool is_as_before(uint64_t now_ns) {
    struct stat status;
    if (fstat(dirfd(list.folder), &status) != 0) return false;
    bool is_same = status.st_nlink == list.link_count && !list.has_others && now_ns < list.next_swap_ns;
    list.link_count = status.st_nlink;
    return is_same;
}

void task_list_refresh(uint64_t now_ns, bool takes_all, int signal_number) {
    struct dirent *entry;
    if (!list.folder || now_ns < list.next_ns) return;
    list.next_ns = now_ns + (takes_all ? TAKE_PERIOD_NS : LOOK_PERIOD_NS);
    bool is_look = now_ns >= list.next_look_ns;
    if (is_as_before(now_ns) && !is_look) return;
    list.next_swap_ns = now_ns + SWAP_PERIOD_NS;
    rewinddir(list.folder);
    while ((entry = readdir(list.folder))) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (!tid || thread_registry_has(tid)) continue;
        struct task *task = find_task(tid);
        if (!task) break;
        task->is_seen = true;
        if (takes_all && !task->is_own) take(task, now_ns, signal_number);
        if (is_look && !task->is_own) look_at(task, now_ns);
    }
    if (is_look) {
        list.last_look_ns = now_ns;
        list.next_look_ns = now_ns + LOOK_PERIOD_NS;
    }
    drop_unseen();
}

void task_list_open(void) {
    list.next_ns = list.next_swap_ns = list.next_look_ns = list.last_look_ns = 0;
    list.link_count = 0;
    list.has_others = false;
    list.count = 0;
    list.folder = opendir("/proc/self/task");
}

void task_list_close(void) {
    if (list.folder) closedir(list.folder);
    list.folder = NULL;
}
