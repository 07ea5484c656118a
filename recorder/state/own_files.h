/* Descriptors of the sampler's thread. It has a descriptor table of its own, in which only the trace is open at first.
 * So the program gets the same descriptor numbers as without the recorder, it cannot close the
 * recorder's files, and files that it closes are not kept open.
 *
 * These functions make system calls directly, because the thread sanitizer believes that a descriptor is the same file
 * in all threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Gives the calling thread a descriptor table of its own, with `trace_file` (-1: none) open in it. Returns false, and
 * errno says why, if the thread has to share the program's table: then no file is kept open. */
bool own_files_begin(int trace_file);

/* Whether own_files_begin without a file copies and empties the table by one system call. Otherwise the program must
 * wait meanwhile: it may close a file, and rely on nobody else having it open. */
bool own_files_begin_at_once(void);

/* Returns whether the calling thread has a table of its own. */
bool own_files_are_private(void);

/* A file that stays open if the calling thread has a table of its own. All zero: it is not open. The file ends with
 * its table: for another thread, and in a forked child, it is not open. */
struct own_file {
    uint32_t table; /* the number of the table that the file is open in; 0: none */
    int file;
};

/* Whether the file has stayed open for the calling thread. */
bool own_file_is_kept(const struct own_file *own);

/* Opens a file in /proc/self/task for reading, or returns the descriptor that is open already. path is relative to
 * /proc/self/task, and is found even after the program has changed its root directory. Returns -1 with errno set if the
 * file cannot be opened. Call own_file_release after use. */
int own_file_open(struct own_file *own, const char *path);

enum { OWN_FILE_PATH_BYTES = 64 };

/* Writes the path of a file of a thread of this process. The kernel keeps each folder and file of /proc that was looked
 * up until its thread ends, and drops it then. If the thread loses its processor meanwhile, whoever has to drop a
 * folder around it spins until the thread continues. The parent drops /proc/PID when it waits for a process that has
 * ended. So the path leads through /proc/TID, which is not listed, but is there, and which lies in no other thread's
 * folder. */
void own_file_of_thread(char path[OWN_FILE_PATH_BYTES], uint32_t tid, const char *name);

/* Writes the path of a file that is the same for all threads of the process: that of the first thread while it runs,
 * since the kernel has no memory and no program for a thread that has ended. */
void own_file_of_process(char path[OWN_FILE_PATH_BYTES], const char *name);

/* own_file_open for a file with any absolute path. */
int own_file_open_at(struct own_file *own, const char *absolute_path);

/* Closes what own_file_open returned, unless it is kept. */
void own_file_release(const struct own_file *own, int file);

void own_file_close(struct own_file *own);

/* Reads bytes from the offset on. Returns how many; -1 with errno set on failure. */
ssize_t own_file_read_at(int file, void *bytes, size_t bytes_count, uint64_t offset);

/* Reads the file's text from its start, and terminates it. Returns its length; 0 with errno set if it cannot be read.
 * own NULL: the file is not kept open. */
size_t own_file_read(struct own_file *own, const char *path, char *text, size_t bytes_max);

/* Calls `visit` for each entry of an open folder. */
void own_folder_each(int folder, void (*visit)(const char *name, void *context), void *context);

/* Returns how many links an open folder has; 0: unknown. */
uint32_t own_folder_link_count(int folder);

/* Writes the parts to the program's standard error, which is missing in the calling thread's table. Returns false if
 * the thread shares the program's table. */
bool own_files_report(const struct iovec *parts, int count);
