/* One line of collapsed stacks: "frame;frame;frame COUNT", with two counts in a difference. */
#pragma once

#include "libconvert/base/decimal.h"

/* The kinds of lines. */
enum collapsed_verdict {
    COLLAPSED_STACK,        /* a stack with its count or counts */
    COLLAPSED_BLANK,        /* only blanks, or empty */
    COLLAPSED_COMMENT,      /* begins like a comment and is not a stack with a count, for instance "# interval: 100" */
    COLLAPSED_NO_COUNT,     /* does not end in a plain decimal number */
    COLLAPSED_GROUPED,      /* ends in a number with separators: 5,000 may be five thousand or five */
    COLLAPSED_NO_STACK,     /* a count without a frame */
    COLLAPSED_ONE_COUNT,    /* a stack with one count in a difference, which needs two */
    COLLAPSED_OUT_OF_RANGE, /* a stack with a count that does not fit */
    COLLAPSED_TOO_LONG,     /* cut by the scan; collapsed_line_parse does not return this, nor what follows */
    COLLAPSED_PART,         /* part of a printed stack, but not its end */
    COLLAPSED_BETWEEN,      /* between printed stacks */
    COLLAPSED_BROKEN,       /* the end of a printed stack without a count */
    COLLAPSED_VERDICT_COUNT
};

/* The numbers that lines end in. */
enum collapsed_counts {
    COLLAPSED_ONE_NUMBER,
    COLLAPSED_TWO_NUMBERS, /* a difference: before and after */
    /* "TIME,IDLE,MEMORY": a time, 1 if the thread was idle, a change of memory; "TIME ALLOCATED FREED" of austin 1 */
    COLLAPSED_AUSTIN_NUMBERS
};

struct collapsed_line {
    struct text stack;     /* what precedes the counts, without trailing blanks; points into the line */
    struct decimal before; /* 0 unless the line is part of a difference */
    struct decimal after;
    struct decimal weight; /* after - before */
    bool has_others;       /* austin's line has an idle state or a change of memory that is not 0 */
    bool is_rounded;       /* a count had more digits than fit */
};

/* Parses a line. *line is complete only for COLLAPSED_STACK. */
enum collapsed_verdict collapsed_line_parse(struct text text, enum collapsed_counts counts,
                                            struct collapsed_line *line);

/* Takes "TIME ALLOCATED FREED" off the stack, with which lines of austin 1 end. Returns the time, or nothing. */
struct text collapsed_line_take_numbers(struct text *stack, bool *has_others);

/* Takes the next line off the start of a trace and sets *line to it without its end. Returns false if there is none
 * left, or only part of one because the start is not the whole trace. */
bool collapsed_line_take(struct text *start, bool is_whole, struct text *line);
