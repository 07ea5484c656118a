/* Descriptors of the recorder's own threads. Each such thread has a descriptor table of its own, in which only the
 * trace is open at first: the program gets the numbers that it would get without the recorder, the recorder's files
 * cannot be closed by the program, and what the program closes is closed.
 *
 * All is done by the system calls themselves: the thread sanitizer takes a descriptor for the same in all threads. */
#ifndef GREC_OWN_FILES_H
#define GREC_OWN_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Gives the calling thread a descriptor table of its own, with `trace_file` (-1: none) open in it. Returns false, and
 * errno says why, if the thread has to share the program's table: then no file is kept open. */
bool own_files_begin(int trace_file);

/* Whether the calling thread has a table of its own. */
bool own_files_are_private(void);

/* A file that stays open where the calling thread has a table of its own. All zero: not open. */
struct own_file {
    bool is_kept;
    int file;
};

/* Opens a file of the kernel's about this process for reading, or returns the descriptor that is open already. `path`
 * counts from /proc/self/task, and is found there even after the program has changed its root directory. Returns -1,
 * and errno says why, if it cannot be opened. Call own_file_release after use. */
int own_file_open(struct own_file *own, const char *path);

/* The same for any other file. */
int own_file_open_at(struct own_file *own, const char *absolute_path);

/* Closes what own_file_open returned, unless it is kept. */
void own_file_release(const struct own_file *own, int file);

void own_file_close(struct own_file *own);

/* The thread that had the file open has ended, or is not this process's: the descriptor went with its table. */
void own_file_forget(struct own_file *own);

/* Reads bytes from that place on. Returns how many there were; -1: none can be read, and errno says why. */
ssize_t own_file_read_at(int file, void *bytes, size_t bytes_count, uint64_t offset);

/* Reads the file's text from its start, with a zero behind it. Returns how many bytes it has; 0: it cannot be read, and
 * errno says why. `own` NULL: the file is not kept. */
size_t own_file_read(struct own_file *own, const char *path, char *text, size_t bytes_max);

/* The same for any other file, which is not kept. */
size_t own_file_read_from(const char *absolute_path, char *text, size_t bytes_max);

/* Calls `visit` for each entry of an open folder. */
void own_folder_each(int folder, void (*visit)(const char *name, void *context), void *context);

/* How many links an open folder has; 0: it cannot be told. */
uint32_t own_folder_link_count(int folder);

/* Writes to the program's standard error, which the calling thread's table may lack. */
void own_files_say(const char *text, size_t bytes_count);

#endif
