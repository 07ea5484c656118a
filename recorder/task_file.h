/* What the kernel tells of the system call that a thread of this process is in: /proc/self/task/TID/syscall. Of the
 * sampler's thread alone. */
#ifndef GREC_TASK_FILE_H
#define GREC_TASK_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The file's text, with a zero behind it: "running", or the number of the call, -1 where there is none, its arguments,
 * sp and pc. Returns how many bytes it has; 0: it cannot be read, and errno says why. The file stays open for a few
 * threads at a time, since opening it takes five times as long as reading it. */
size_t task_file_read(uint32_t tid, char *text, size_t bytes_max);

/* The thread that had the files open has ended, or is not this process's. */
void task_file_forget_all(void);

#endif
