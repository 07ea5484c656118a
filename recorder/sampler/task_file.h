/* Reads /proc/self/task/TID/syscall, which says what system call a thread of this process is in. Call these in the
 * sampler's thread alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Reads the file's text, and terminates it: "running", or the number of the call (-1: none), its arguments, sp and pc.
 * Returns its length; 0 with errno set if it cannot be read. The files of a few threads stay open, since opening one
 * takes five times as long as reading it. */
size_t task_file_read(uint32_t tid, char *text, size_t bytes_max);
