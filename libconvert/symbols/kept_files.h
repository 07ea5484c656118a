/* Files of code that this process keeps open: they may be gone, or out of reach, when a profile is made of what was
 * recorded of them. Programs that are compiled, run and removed are such files, and those below another root. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "libconvert/base/text.h"

enum { KEPT_PATH_BYTES = 48 };

struct mapped_file {
    pid_t pid;            /* the process that has mapped it, and still runs */
    uint64_t start, end;  /* where it has */
    struct text build_id; /* hex digits; empty if unknown. Without it, the device and inode tell which file it is: */
    uint32_t major, minor;
    uint64_t inode;
    const char *path; /* as the process or the kernel reports it, with " (deleted)" at its end if it was removed */
};

/* Begins to keep files that change from now on. A file system with an open file cannot be unmounted, so files are kept
 * only on those that this process uses anyway: those of the root, of the current folder, and of the file `fd`. */
void kept_files_begin(int fd);

/* Keeps the file if it has changed since the beginning, or if its path does not lead to it in this process. */
void kept_files_take(const struct mapped_file *file);

/* Finds the file with that build id, or the only one with that path if its build id is not known. Stores a path at
 * which this process and its children can open it. Returns false if there is none. */
bool kept_files_find(struct text build_id_or_path, char path[KEPT_PATH_BYTES]);

/* Closes the files. */
void kept_files_end(void);
