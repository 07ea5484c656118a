/* Finds the samples in a block of text, and numbers their stacks. This needs no table of the profile, so it can run in
 * another thread, ahead of the reading.
 *
 * Words:
 *   block         a run of text; it usually ends with a sample, but may end anywhere
 *   lexed sample  an event line with a time and, if all of them are in the block, the frame lines that follow it
 *   line number   the same for equal frame lines; dense, in order of first appearance in all blocks
 *   node          the number of a line and of all lines after it in its stack; dense as well. So two stacks that have a
 *                 node in common have its line and all outer lines in common
 *   generation    counts how often numbering has started again, which bounds the memory of nodes
 *   base          the previous lexed sample of the thread in the same block. Consecutive stacks of a thread share outer
 *                 frames: 56 and 36 % of all frame lines of two varied recordings. Their ends are compared as text, and
 *                 lines that agree are neither hashed nor looked up */
#ifndef GECKO_PERF_LEXER_H
#define GECKO_PERF_LEXER_H

#include "libconvert/base/column.h"
#include "libconvert/base/index_set.h"
#include "libconvert/base/row_table.h"
#include "libconvert/profile/stack_table.h"
#include "perf_event_line.h"
#include "perf_frame_line.h"

struct perf_lexed_line {
    uint32_t number;
    uint32_t node;
    uint32_t distance_bytes; /* distance from the line's start to the end of the stack's text */
};

/* A line that has its number from this block. */
struct perf_new_line {
    bool is_frame; /* false: the line begins with a tab and is not a frame line */
    struct perf_frame_line frame;
    uint32_t name_number; /* the same for lines with the same name, library and form */
};

struct perf_lexed_sample {
    struct perf_event_line line; /* its texts point into the block */
    const char *start;           /* start of the event line */
    uint32_t event_bytes;        /* size of the event line with its end */
    uint32_t stack_bytes;        /* size of the frame lines without the end of the last one */
    uint32_t first_line;         /* row in the block's lines; innermost frame first */
    uint32_t line_count;         /* 0: no stack was found */
    uint32_t node;               /* node of the innermost line; undefined without lines */
    uint32_t own_count;          /* innermost lines that the base does not share */
    uint32_t base;               /* row in the block's samples, if own_count is less than line_count */
    bool has_blank_line;         /* the line after the stack is empty, without a carriage return */
};

struct perf_block {
    struct text text;      /* borrowed */
    struct column samples; /* struct perf_lexed_sample */
    struct perf_lexed_line *lines;
    uint32_t line_count;
    uint32_t line_capacity;
    struct column new_lines; /* struct perf_new_line, by line number from first_new_number on */
    uint32_t first_new_number;
    uint32_t generation; /* generation of the nodes */
    bool has_failed;     /* a failure is latched in the lexer, which does not change any more */
};

/* The last sample of a thread in the block. Threads whose tids differ by a multiple of the size share a slot. */
struct perf_lexed_thread {
    int64_t tid;
    uint32_t machine;
    uint32_t sample; /* row in the block's samples; ID_NONE: none */
};

enum { PERF_LEXED_THREADS_MAX = 512 };

struct perf_lexer {
    struct failure failure;   /* its own latch; counts against the same limit as the conversion's */
    struct index_set lines;   /* set of the lines' hashes */
    struct column hashes;     /* struct index_identity, by line number */
    struct row_table names;   /* struct perf_lexed_name */
    struct stack_table nodes; /* a line's number takes the place of a frame, a node that of a stack */
    uint32_t generation;
    struct column own_hashes; /* struct index_identity, of the block's lines that no base shares */
    struct perf_event_memo event_memo;
    struct perf_lexed_thread threads[PERF_LEXED_THREADS_MAX];
};

/* Longest text of a stack that is lexed, which bounds memory: 500 frames fit. */
enum { PERF_LEXED_STACK_BYTES_MAX = 48 * 1024 };

/* Initializes a zeroed lexer. `limit` is borrowed. */
void perf_lexer_init(struct perf_lexer *lexer, struct memory_limit *limit);
void perf_lexer_fini(struct perf_lexer *lexer);

void perf_block_init(struct perf_block *block, struct perf_lexer *lexer);
void perf_block_fini(struct perf_block *block);

/* Lexes the block's text, which is its only input. Running out of memory is latched in the lexer, and noted in the
 * block. Blocks must be lexed in order. */
void perf_lexer_run(struct perf_lexer *lexer, struct perf_block *block);

/* Returns a parsed frame line of the sample, counted from the innermost one. Its texts point into the block, and its
 * name has no number if the line was new in an earlier block. */
struct perf_new_line perf_lexed_line_parse(const struct perf_block *block, const struct perf_lexed_sample *sample,
                                           uint32_t row);

#endif
