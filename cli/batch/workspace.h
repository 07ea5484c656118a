/* A folder for what is not finished, which nobody else uses at the same time. It is emptied before it is used and gone
 * after: what a killed process left in it goes with the next one. */
#ifndef GECKO_WORKSPACE_H
#define GECKO_WORKSPACE_H

#include "libconvert/failure.h"

struct workspace {
    char *path;     /* owned; NULL: none */
    int descriptor; /* holds the lock */
    bool is_locked; /* false: the file system has no locks, and what others left stays */
};

/* Makes the folder, its parents too. A failure (FAILURE_IO, FAILURE_MEMORY) is latched; another process that uses it is
 * one. The workspace is to be finished in any case. */
void workspace_init(struct workspace *workspace, const char *path, struct failure *failure);

/* Removes the folder and all in it; a zeroed workspace is fine. Once it has returned, and if the folder is gone, nothing can be created in it any
 * more, by any thread. */
void workspace_remove(struct workspace *workspace);

/* The same, and frees. A zeroed one is fine. */
void workspace_fini(struct workspace *workspace);

#endif
