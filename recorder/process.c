#include "process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"

static struct process_state *process_page;

/* The last process that filled in its page, in memory that a forked child inherits. */
static struct {
    uint32_t pid;
    uint64_t pid_namespace;
} last_process;

void *process_map_wiped(size_t bytes_count) {
#ifndef MADV_WIPEONFORK
    enum { MADV_WIPEONFORK = 18 };
#endif
    void *bytes = mmap(NULL, bytes_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) return NULL;
    /* Before Linux 4.14 children that were not made by fork() are not told apart. */
    int saved_errno = errno;
    if (madvise(bytes, bytes_count, MADV_WIPEONFORK) != 0) errno = saved_errno;
    return bytes;
}

bool process_init(void) {
    /* A thread that ends may look at the pointer meanwhile. */
    if (!process_page) __atomic_store_n(&process_page, process_map_wiped(sizeof *process_page), __ATOMIC_RELEASE);
    return process_page != NULL;
}

static uint64_t read_pid_namespace(void) {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

const struct process_state *process_self(bool *is_new) {
    struct process_state *process = __atomic_load_n(&process_page, __ATOMIC_ACQUIRE);
    *is_new = false;
    if (!process) return NULL;
    if (__atomic_load_n(&process->pid, __ATOMIC_ACQUIRE)) return process;
    /* Several threads may do this at once: they write the same. A child in another namespace than its parent does not see
     * the parent's pid; all others save the look at /proc, which is a tenth of what a fork takes. */
    process->parent_pid = (uint32_t)getppid();
    if (!process->start_ns) process->start_ns = clock_ns_of(CLOCK_MONOTONIC);
    bool is_in_same = process->parent_pid && process->parent_pid == last_process.pid;
    process->pid_namespace = is_in_same ? last_process.pid_namespace : read_pid_namespace();
    size_t bytes = strnlen(program_invocation_short_name, PROCESS_NAME_BYTES - 1);
    memcpy(process->name, program_invocation_short_name, bytes);
    uint32_t none = 0;
    *is_new = __atomic_compare_exchange_n(&process->pid, &none, (uint32_t)getpid(), false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED);
    last_process.pid_namespace = process->pid_namespace;
    last_process.pid = process->pid;
    return process;
}
