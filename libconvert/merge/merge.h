/* Merges the profiles of several inputs into one.
 *
 * Each reader fills a profile of its own, so that nothing in one input can be mistaken for something in another one.
 * merge_run then puts them on one timeline, decides which processes and threads are the same, and moves all rows into
 * one profile. Tables are merged by content: equal rows become one. Texts stay where they are, so the merge must live
 * as long as the profile that it filled. */
#pragma once

#include "libconvert/profile/profile.h"

/* How inputs that are runs of one program become one profile, instead of lying where their clocks say. */
struct merge_runs {
    enum merge_match {
        MERGE_MATCH_NAME,     /* processes and threads of one name are the same: the first with the first, and so on */
        MERGE_MATCH_POSITION, /* those that come first in their run are the same, and so on */
        MERGE_MATCH_PID       /* those with the same pid or tid are the same */
    } match;
    enum merge_layout {
        MERGE_LAYOUT_AFTER, /* each run begins when the one before has ended */
        MERGE_LAYOUT_OVER   /* all begin at the same time */
    } layout;
};

struct merge_input {
    /* Set by the caller. */
    struct profile profile; /* owned; read and symbolized, not finished */
    struct failure failure; /* latch of the profile, so that inputs can be read side by side */
    struct text name;       /* for messages; borrowed */
    bool is_recorder;       /* the input is a trace of the recorder */
    struct gecko_convert_alignment alignment;

    /* Set by merge_take_tables. */
    uint16_t *schemas;            /* owned; the whole profile's numbers of the types of markers */
    uint64_t other_content_count; /* source files whose text differs from that in the whole profile */

    /* Set by merge_run. */
    enum gecko_convert_timeline timeline;
    int64_t offset_ns; /* what was added to its times */
    char remark[256];  /* what is doubtful about its place on the timeline or its times; empty: nothing */
    uint32_t machine;  /* inputs with the same number come from the same boot of the same machine */
};

struct merge {
    struct failure *failure;    /* borrowed */
    struct merge_input *inputs; /* owned */
    size_t input_count;
    size_t taken_count;        /* how many inputs, from the first on, were passed to merge_take_tables */
    struct payloads *payloads; /* owned; the payloads of each input, to which the whole profile refers */
    enum gecko_convert_samples samples;
    const struct merge_runs *runs; /* borrowed; NULL: the inputs are not runs of one program */
    bool have_other_intervals;     /* samples of some runs stand for other times than those of the first */
};

/* Allocates all inputs and initialises their profiles. */
void merge_init(struct merge *merge, size_t input_count, struct failure *failure);
void merge_fini(struct merge *merge);

/* Moves the tables of the next input into `whole`, which frees the memory of rows that other inputs have too. Call it
 * for inputs in their order as soon as they are read; merge_run does it for the others. Does nothing if a failure is
 * latched in that of `whole`, where it latches running out of memory. */
void merge_take_tables(struct merge *merge, struct profile *whole);

/* Moves everything into `whole`, which must be empty but for the tables that merge_take_tables has moved. Afterwards
 * the profiles of the inputs hold only texts. Does nothing if a failure is latched. */
void merge_run(struct merge *merge, struct profile *whole);
