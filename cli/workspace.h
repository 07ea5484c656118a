/* A folder for unfinished files that only one process uses at a time. It is emptied before use and removed afterwards.
 * If a process is killed, the next one removes what it left. */
#pragma once

#include "libconvert/base/failure.h"

struct workspace {
    char *path;     /* owned; NULL: none */
    int descriptor; /* holds the lock on the folder */
    bool is_locked; /* false: the file system has no locks, so files left by others are kept */
};

/* Creates the folder and its parents. Failures (FAILURE_IO, FAILURE_MEMORY) are latched; it is a failure if another
 * process uses the folder. Call workspace_fini in any case. */
void workspace_init(struct workspace *workspace, const char *path, struct failure *failure);

/* Removes the folder and everything in it. A zeroed workspace is allowed. If the folder is gone afterwards, no thread
 * can create files in it. */
void workspace_remove(struct workspace *workspace);

/* Removes the folder as workspace_remove does, and frees the workspace. A zeroed workspace is allowed. */
void workspace_fini(struct workspace *workspace);
