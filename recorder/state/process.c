#include "process.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "text_file.h"

static struct process_state *process_page;

/* The last process that filled in its page, in memory that a forked child inherits. */
static struct {
    uint32_t pid;
    uint64_t pid_namespace;
    uint32_t outer_pid;
    char name[PROCESS_NAME_BYTES];
} last_process;

void *process_map_wiped(size_t bytes_count) {
    void *bytes = mmap(NULL, bytes_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) return NULL;
    /* Before Linux 4.14 this fails, and children that were not made by fork() are not recognized. */
    int saved_errno = errno;
    if (madvise(bytes, bytes_count, MADV_WIPEONFORK) != 0) errno = saved_errno;
    return bytes;
}

bool process_init(void) {
    /* A thread that ends may read the pointer meanwhile. */
    if (!process_page) __atomic_store_n(&process_page, process_map_wiped(sizeof *process_page), __ATOMIC_RELEASE);
    return process_page != NULL;
}

/* The inode of a machine's first pid namespace (PROC_PID_INIT_INO in the kernel's proc_ns.h): it has no outer one. */
static const uint64_t FIRST_PID_NAMESPACE = 0xeffffffc;

static uint64_t read_pid_namespace(void) {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* A folder /proc that was mounted in an outer namespace lists the ids of a thread in all namespaces from that one to
 * its own: "NSpid:\t4711\t5". Returns the first, or 0 if there is only one. strtoul is not async-signal-safe. */
static uint32_t read_outer_id(const char *status_path) {
    static const char key[] = "\nNSpid:\t";
    char text[4096];
    uint32_t id = 0;
    if (!text_file_read(status_path, text, sizeof text)) return 0;
    const char *at = strstr(text, key);
    if (!at) return 0;
    for (at += sizeof key - 1; *at >= '0' && *at <= '9'; at++) id = id * 10 + (uint32_t)(*at - '0');
    return *at == '\t' ? id : 0;
}

uint32_t process_read_outer_tid(void) { return read_outer_id("/proc/thread-self/status"); }

/* Stores a value that several threads may store at once: all store the same. */
#define STORE(target, value) __atomic_store_n(&(target), value, __ATOMIC_RELAXED)

/* Fills in the page. Returns true to the one thread that completes it. Several threads may fill it in at once, and
 * others read it as soon as one has completed it, so the thread sanitizer must not see the stores of the slower ones. A
 * child in another namespace than its parent does not see the parent's pid. Any other child takes the namespace from
 * its parent, and has an outer pid if that has one: reading /proc would take a tenth of the time of a fork. The name is
 * that of the first process: it lies among the arguments, which servers overwrite with a title. */
__attribute__((no_sanitize("thread"))) static bool fill_in(struct process_state *process) {
    uint64_t no_time = 0;
    uint32_t no_pid = 0, parent_pid = (uint32_t)getppid();
    STORE(process->parent_pid, parent_pid);
    __atomic_compare_exchange_n(&process->start_ns, &no_time, clock_ns_of(CLOCK_MONOTONIC), false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    bool is_in_same = parent_pid && parent_pid == last_process.pid;
    STORE(process->pid_namespace, is_in_same ? last_process.pid_namespace : read_pid_namespace());
    bool has_outer = is_in_same ? last_process.outer_pid != 0 : process->pid_namespace != FIRST_PID_NAMESPACE;
    STORE(process->outer_pid, has_outer ? read_outer_id("/proc/self/status") : 0);
    const char *name = last_process.pid ? last_process.name : program_invocation_short_name;
    for (size_t i = 0; i < PROCESS_NAME_BYTES - 1 && name[i]; i++) STORE(process->name[i], name[i]);
    for (size_t i = 0; i < PROCESS_NAME_BYTES; i++) STORE(last_process.name[i], process->name[i]);
    bool is_first = __atomic_compare_exchange_n(&process->pid, &no_pid, (uint32_t)getpid(), false, __ATOMIC_ACQ_REL,
                                                __ATOMIC_RELAXED);
    STORE(last_process.pid_namespace, process->pid_namespace);
    STORE(last_process.outer_pid, process->outer_pid);
    STORE(last_process.pid, process->pid);
    return is_first;
}

static struct process_state *load_page(void) { return __atomic_load_n(&process_page, __ATOMIC_ACQUIRE); }

static bool is_filled_in(const struct process_state *process) {
    return __atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) != 0;
}

bool process_is_new(void) {
    struct process_state *process = load_page();
    return process && !is_filled_in(process) && fill_in(process);
}

const struct process_state *process_self(void) {
    struct process_state *process = load_page();
    if (process && !is_filled_in(process)) fill_in(process);
    return process;
}

void process_count_chunk(void) { __atomic_fetch_add(&load_page()->chunk_count, 1, __ATOMIC_RELAXED); }

void process_forget_chunks(void) { __atomic_store_n(&load_page()->chunk_count, 0, __ATOMIC_RELAXED); }
