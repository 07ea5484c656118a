/* How an unwinder gets at files, and what comes of it. */
#pragma once

#include "libconvert/base/failure.h"
#include "libconvert/symbols/debug_file_search.h"

enum unwinder_machine { UNWINDER_X86_64, UNWINDER_AARCH64 };

struct unwinder_options {
    enum unwinder_machine machine;       /* machine of the recorded program */
    const struct debug_folders *folders; /* where to look for files besides their own paths. NULL: do not open files
                                          * that the recording names */
    struct failure *failure;             /* counts memory, and latches that it ran out; nothing else fails */
};

enum unwind_file_state {
    UNWIND_FILE_UNREAD,  /* no walk has reached the file yet */
    UNWIND_FILE_MISSING, /* no such file, it is unreadable, or files are not opened */
    UNWIND_FILE_REFUSED, /* all files found have another build id */
    UNWIND_FILE_READ,    /* read; it may have no call frame information */
    UNWIND_FILE_LOST     /* it could not be read: see unwinder_losses */
};

/* Why files are not read though they may be there. */
enum unwind_loss {
    UNWIND_LOSS_NO_PROCESS, /* no process could be started that reads them */
    UNWIND_LOSS_CRASH,      /* the process ended: memory ran out, or the file is damaged */
    UNWIND_LOSS_COUNT
};
