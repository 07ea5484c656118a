/* Stacks that are printed with one frame a line, innermost first, by the tools of bcc, by bpftrace and by DTrace. Each
 * becomes a line of collapsed stacks.
 *
 *         finish_task_switch                     @[
 *         schedule                                   vfs_read+5
 *         -                nginx (812)               ksys_read+95
 *             5                                  , nginx]: 5
 */
#pragma once

#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/column.h"

struct collapsed_blocks {
    struct byte_buffer texts;     /* the names of the frames and of the thread */
    struct byte_buffer line;      /* the last collapsed line */
    struct byte_buffer keys;      /* what the current map of bpftrace has between brackets besides stacks */
    struct byte_buffer first_map; /* the name of the first map that has stacks */
    struct column frames;         /* struct block_text: the frames of the current stack, innermost first */
    size_t frame_count;           /* how many frames the current stack has */
    size_t thread_end;            /* the thread's name is in `texts` from thread_start on; equal: there is none */
    size_t thread_start;
    size_t map_end;    /* where the name of a later map ends, with which `texts` begins; 0: it is the first one */
    size_t part_end;   /* how many frames are before the last key of the map or stack of another kind */
    size_t indent;     /* where the first frame begins in its line */
    bool is_map;       /* the stack is part of a bpftrace map */
    bool is_histogram; /* the lines of a histogram follow, each with a count */
    bool has_bucket;   /* the histogram has a line with a count */
    bool had_thread;   /* the last stack that ended named its thread */
    bool is_flat;      /* SystemTap wrote the stack, and its lines have lost their indentation */
    bool is_parted;    /* the last line was blank: DTrace may print the program's stack after that of the kernel */
    bool is_too_long;  /* the current stack has more bytes than a line may have */
};

/* What a line is. */
enum block_line {
    BLOCK_NONE,  /* not part of a stack */
    BLOCK_PART,  /* part of a stack whose end was not read yet */
    BLOCK_END,   /* the end of a stack */
    BLOCK_BROKEN /* not part of a stack, and the stack before it had no count */
};

/* failure NULL: no stack is kept, and collapsed_blocks_take only classifies the lines. */
void collapsed_blocks_init(struct collapsed_blocks *blocks, struct failure *failure);
void collapsed_blocks_fini(struct collapsed_blocks *blocks);

/* Takes the next line. At the end of a stack, sets *collapsed, unless that is NULL, to its collapsed line, which is
 * valid until the next call. */
enum block_line collapsed_blocks_take(struct collapsed_blocks *blocks, struct text line, struct text *collapsed);

/* Returns whether the input ends within a stack. */
bool collapsed_blocks_are_broken(const struct collapsed_blocks *blocks);

/* Returns whether the start of a trace has printed stacks. If all of them name their thread, sets *has_threads. */
bool collapsed_blocks_are_in(struct text start, bool is_whole, bool *has_threads);
