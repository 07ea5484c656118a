/* How the writers of collapsed stacks mark threads and frames. Most write only names; some add a file and a line. */
#pragma once

#include <stdint.h>

#include "collapsed_line.h"
#include "libconvert/gecko_convert.h"

enum frame_kind {
    FRAME_USER,
    FRAME_KERNEL,
    FRAME_JIT,
    FRAME_INTERPRETED, /* JIT languages: not compiled yet */
    FRAME_C1,          /* Java: compiled by the first compiler */
    FRAME_PYTHON,
    FRAME_RUBY,
    FRAME_PHP,
    FRAME_JAVASCRIPT,
    FRAME_WAKER,
    FRAME_SEPARATOR,
    FRAME_KIND_COUNT
};

/* What the text of a frame says. Texts point into that text. */
struct collapsed_frame {
    struct text name;
    struct text file;    /* source file; empty: unknown */
    struct text library; /* empty: unknown */
    uint32_t line;       /* the line that runs, from 1; 0: unknown */
    enum frame_kind kind;
    bool is_inlined;
};

/* What the start of a stack says of its thread. */
struct collapsed_thread {
    struct text name;
    struct text process_name; /* empty: unknown */
    struct text parent_name;
    int64_t pid; /* PID_UNKNOWN: unknown, as for the other numbers */
    int64_t parent_pid;
    int64_t tid;
};

struct dialect {
    /* Parses the text of a frame, which is not empty. Returns false if it is not shaped like the writer's. NULL: the
     * frames are names. */
    bool (*parse_frame)(struct text text, struct collapsed_frame *frame);

    /* Takes what names the thread off the stack, and the semicolon after it. Returns false, and may change the stack,
     * if it begins with something else. NULL: no thread is named. */
    bool (*take_thread)(struct text *stack, struct collapsed_thread *thread);

    enum gecko_convert_weight_unit weight_unit; /* what counts count; AUTO: the dialect does not say */
    bool needs_both; /* its thread and, if there are any, its frames: other dialects have either of them, too */
};

/* The dialect of a file. */
struct dialect_choice {
    const struct dialect *dialect;
    bool has_threads; /* stacks begin with names of threads that are certainly not frames */
};

/* Chooses the dialect that most stacks in the start of a trace have. */
struct dialect_choice dialect_choose(struct text start, bool is_whole, enum collapsed_counts counts);

/* Parses the text of a frame, which is not empty. */
void dialect_parse_frame(const struct dialect *dialect, struct text text, struct collapsed_frame *frame);

/* Takes the dialect's mark of a thread off the stack. Returns false, and leaves the stack, if there is none. */
bool dialect_take_thread(const struct dialect *dialect, struct text *stack, struct collapsed_thread *thread);

/* Parses the name of a thread as stackcollapse-perf.pl writes it: "comm", "comm-pid" or "comm-pid/tid". A pid of "?" is
 * unknown. */
void dialect_parse_comm(struct text text, struct collapsed_thread *thread);

/* Returns whether the stack begins with a thread as austin 1 writes it. */
bool dialect_is_old_austin(struct text stack);

/* Returns whether the stack is one of a writer who puts a blank after the semicolons between frames. */
bool dialect_has_spaced_frames(struct text stack);

/* Returns where the frame ends that begins at `start`: the position of a semicolon, or the text's length. */
size_t dialect_frame_end(struct text text, size_t start);
