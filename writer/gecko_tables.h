/* The profile's shared tables as the Gecko format can say them: functions become locations, frames lose what a
 * location does not tell. Rows that are the same after that are one. Each thread's own tables are cut out of these. */
#ifndef GECKO_TABLES_H
#define GECKO_TABLES_H

#include "gecko_location.h"
#include "libconvert/profile.h"

enum gecko_frame_flag { GECKO_FRAME_IS_RELEVANT_FOR_JS = 1, GECKO_FRAME_INHERITS_CATEGORY = 2 };

/* Fewer properties than a struct frame: the location stands for the function. */
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
    uint32_t prefix; /* row of gecko_tables.stacks, an earlier one; ID_NONE for a root */
    uint32_t frame;  /* row of gecko_tables.frames */
};

/* A string of a thread's table: a text, and for some locations the source whose number goes behind it. */
struct gecko_string {
    string_id text; /* of gecko_tables.texts */
    source_id source;
};

struct gecko_tables {
    const struct profile *profile;
    struct strings texts;
    struct row_table strings;   /* struct gecko_string */
    struct row_table frames;    /* struct gecko_frame */
    struct row_table stacks;    /* struct gecko_stack, parents first */
    uint32_t *stack_of;         /* row of stacks, for each stack of the profile */
    uint32_t allocation_string; /* row of strings: the name of allocations' markers; ID_NONE where there are none */
    uint32_t *string_of;        /* row of strings, for each string of the profile; ID_NONE until it is asked for */
    uint64_t changes[LOCATION_CHANGE_COUNT]; /* funcs whose location had to be changed, by what was changed */
    uint64_t merged_func_count;              /* funcs whose location an earlier one has too */
};

/* Failures are latched in the profile's; call gecko_tables_fini in any case. */
void gecko_tables_init(struct gecko_tables *tables, const struct profile *profile);
void gecko_tables_fini(struct gecko_tables *tables);

/* Row of the profile's string in `strings`; ID_NONE when memory ran out (latched). */
uint32_t gecko_tables_string(struct gecko_tables *tables, string_id id);

/* How many rows `strings` can have at most, whatever is asked for. */
size_t gecko_tables_string_count_max(const struct gecko_tables *tables);

/* What the client is to make of the function. */
struct code_place gecko_code_place(const struct profile *profile, const struct func *func);

#endif
