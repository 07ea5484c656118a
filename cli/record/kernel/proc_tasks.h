/* Describes running processes and the kernel, as perf does, with records that the kernel itself writes only for what
 * begins later. */
#pragma once

#include <sys/types.h>

#include "kernel_stream.h"

/* The numbers in a folder of /proc: processes in /proc, threads in /proc/PID/task. */
struct proc_ids {
    pid_t *values;
    size_t count;
};

/* Returns false if memory ran out. */
bool proc_ids_add(struct proc_ids *ids, pid_t id);

/* Returns false if the folder cannot be read, or memory ran out. */
bool proc_ids_read(struct proc_ids *ids, const char *path);
void proc_ids_fini(struct proc_ids *ids);

/* The most bytes of what proc_command_field stores. Longer command lines are cut. */
enum { COMMAND_FIELD_BYTES_MAX = 4096 };

/* Stores the field with the command line of the process (readers/perf_data/command_field.h), which belongs between the
 * name and the trailer of a COMM record. Returns its size, a multiple of 8 bytes; 0 if the process has ended, or runs a
 * program of another name by now. */
size_t proc_command_field(pid_t pid, const char *name, char field[COMMAND_FIELD_BYTES_MAX]);

/* Appends the current name and command line of the process, unless it has ended. */
void proc_title_append(struct kernel_stream *stream, pid_t pid, uint64_t time_ns);

/* Returns the pid of the parent; 0: none, or unknown. */
pid_t proc_parent(pid_t pid);

/* Returns whether the process is in another namespace of processes or files than this one. */
bool proc_is_elsewhere(pid_t pid);

/* Returns the pid of the process that the thread belongs to; `id` itself if it is a process or there is no such thread.
 */
pid_t proc_process_of(pid_t id);

/* Appends records of the process's threads, names and mapped files. A process that has ended has none. Returns false if
 * this user may not see what is mapped. */
bool proc_process_append(struct kernel_stream *stream, pid_t pid);

/* Appends records of the kernel's own code, and keeps the list of its symbols for the conversion (kernel_list_forget).
 * Returns false if its addresses are hidden from this user. */
bool proc_kernel_append(struct kernel_stream *stream);
