/* A child process that uncompresses the debug information of libraries while a recording is read. The process that
 * looks up symbols later finds it in shared_sections.h. */
#pragma once

#include "debug_file_search.h"
#include "libconvert/base/child_process.h"

struct memory_limit;

struct debug_ahead {
    struct debug_folders folders;      /* set it, and the limit, before the first call */
    const struct memory_limit *memory; /* limits the child; NULL: nothing does. Borrowed */
    struct child_process *child;       /* owned; NULL: not started */
    bool is_over;                      /* the child could not be started, or has ended */
};

/* Tells the child, which the first call starts, that the library's symbols will be needed. */
void debug_ahead_tell(struct debug_ahead *ahead, const struct lib *lib);

/* Lets the child end when it has done what it was told. Nothing can be told after it. */
void debug_ahead_close(struct debug_ahead *ahead);

/* Waits until the child has done what it was told. */
void debug_ahead_fini(struct debug_ahead *ahead);
