/* The profile's shared tables reduced to what the Gecko format represents: functions become locations, and frames lose
 * what a location cannot express. Rows that are equal after that are merged. The tables of each thread are subsets of
 * these. */
#pragma once

#include "libconvert/format/gecko_location.h"
#include "libconvert/profile/profile.h"

enum gecko_frame_flag { GECKO_FRAME_IS_RELEVANT_FOR_JS = 1, GECKO_FRAME_INHERITS_CATEGORY = 2 };

/* A frame. It has fewer members than struct frame, since the location stands for the function. */
struct gecko_frame {
    uint32_t location; /* row of gecko_tables.strings */
    uint32_t line;
    uint32_t column;
    uint8_t category;
    uint8_t subcategory;
    uint8_t flags; /* enum gecko_frame_flag */
    uint8_t rank;  /* see location_rank */
};
_Static_assert(sizeof(struct gecko_frame) == 16, "rows are compared as bytes: no padding");

struct gecko_stack {
    uint32_t prefix; /* row of gecko_tables.stacks, before this one; ID_NONE for a root */
    uint32_t frame;  /* row of gecko_tables.frames */
};

/* A string of a thread's table: a text and, for some locations, the source whose number follows the text. */
struct gecko_string {
    string_id text; /* the text in gecko_tables.texts */
    source_id source;
};

struct gecko_tables {
    const struct profile *profile;
    struct strings texts;
    struct row_table strings;   /* struct gecko_string */
    struct row_table frames;    /* struct gecko_frame */
    struct row_table stacks;    /* struct gecko_stack, callers first */
    uint32_t *stack_of;         /* row of `stacks` for each stack of the profile */
    uint32_t allocation_string; /* row of `strings` for the name of allocation markers; ID_NONE if there are none */
    uint32_t *string_of;        /* row of `strings` for each string of the profile; ID_NONE until it is first used */
    uint64_t changes[LOCATION_CHANGE_COUNT]; /* number of functions whose location was changed, by kind of change */
    uint64_t merged_func_count;              /* number of functions with the same location as an earlier one */
};

/* Latches failures in the profile's failure. Call gecko_tables_fini in any case. */
void gecko_tables_init(struct gecko_tables *tables, const struct profile *profile);
void gecko_tables_fini(struct gecko_tables *tables);

/* Returns the row of the profile's string in `strings`; ID_NONE if memory ran out (latched). */
uint32_t gecko_tables_string(struct gecko_tables *tables, string_id id);

/* Returns the most rows that `strings` can ever have. */
size_t gecko_tables_string_count_max(const struct gecko_tables *tables);

/* Returns what the client should make of the function. */
struct location_parts gecko_location_parts(const struct profile *profile, const struct func *func);
