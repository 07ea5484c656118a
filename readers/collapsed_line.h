/* One line of collapsed stacks: "frame;frame;frame COUNT", or with two counts in a difference. */
#ifndef GECKO_COLLAPSED_LINE_H
#define GECKO_COLLAPSED_LINE_H

#include "libconvert/decimal.h"

/* What a line is. */
enum collapsed_verdict {
    COLLAPSED_STACK,        /* a stack and its count or counts */
    COLLAPSED_BLANK,        /* nothing */
    COLLAPSED_COMMENT,      /* "# interval: 100", "#!": what starts like a comment and is no stack with a count */
    COLLAPSED_NO_COUNT,     /* no plain decimal number at the end */
    COLLAPSED_NO_STACK,     /* a count, and no frame before it */
    COLLAPSED_ONE_COUNT,    /* a stack with one count where there should be two */
    COLLAPSED_OUT_OF_RANGE, /* a stack with a count that does not fit */
    COLLAPSED_TOO_LONG,     /* cut by the scan: not a verdict of collapsed_line_parse */
    COLLAPSED_VERDICT_COUNT
};

struct collapsed_line {
    struct text stack;     /* what stands before the counts, without the blanks between; lies in the line */
    struct decimal before; /* 0 unless in a difference */
    struct decimal after;
    struct decimal weight; /* after - before */
    bool is_rounded;       /* a count had more digits than fit */
};

/* Fills *line only as far as the verdict goes: all of it for COLLAPSED_STACK. */
enum collapsed_verdict collapsed_line_parse(struct text text, bool is_difference, struct collapsed_line *line);

/* Takes the next line, without its end, off the start of a trace; false where there is none, or only one that is
 * cut because the start is not the whole. */
bool collapsed_line_take(struct text *start, bool is_whole, struct text *line);

#endif
