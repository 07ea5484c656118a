/* The language in which the formats of profiles are described: the members of objects, and the columns of tables.
 *
 * A shape describes an object or a table; a member describes one of its members or columns. The emitters write what the
 * profile holds as the description says, and `check` compares documents with it. */
#pragma once

#include <stddef.h>

#include "libconvert/base/ids.h"
#include "libconvert/base/json_slabs.h"
#include "libconvert/base/text.h"

/* Tables to whose rows indexes point. */
enum format_table {
    TABLE_NONE,
    TABLE_STRINGS,
    TABLE_STACKS,
    TABLE_FRAMES,
    TABLE_FUNCS,
    TABLE_RESOURCES,
    TABLE_RESOURCE_TYPES,
    TABLE_NATIVE_SYMBOLS,
    TABLE_SOURCES,
    TABLE_SOURCE_LOCATIONS,
    TABLE_LIBS,
    TABLE_CATEGORIES,
    TABLE_THREADS,
    TABLE_COUNT
};

enum value_type {
    TYPE_ANY,
    TYPE_BOOL,
    TYPE_TEXT,
    TYPE_CHOICE,        /* a text that is one of `choices` */
    TYPE_NUMBER,        /* finite */
    TYPE_INTEGER,       /* has no fraction; at most 2^53 */
    TYPE_INDEX,         /* number of a row of `table` */
    TYPE_TID,           /* an integer or a text */
    TYPE_TEXT_OR_INDEX, /* a text, or a number as for TYPE_INDEX */
    TYPE_OBJECT,        /* described by `shape` */
    TYPE_LIST,          /* its elements are objects of `shape`, or as `items` says */
    TYPE_COLUMNS, /* {length, name: [value of row 0, …]}: members describe columns, except those with IS_MEMBER */
    TYPE_ROWS     /* {schema: {name: number}, data: [[value, …], …]}: members describe columns */
};

enum value_range {
    RANGE_ANY,
    RANGE_NOT_NEGATIVE,
    RANGE_POSITIVE,
    RANGE_ONE_BASED,
    RANGE_BYTE,
    RANGE_INT31,         /* 0 to 2^31 - 1 */
    RANGE_INT31_OR_NONE, /* 0 to 2^31 - 1, or -1 */
    RANGE_UINT32,
    RANGE_FLAG, /* 0 or 1 */
    RANGE_COUNT
};

enum member_flag {
    IS_OPTIONAL = 1 << 0,       /* the member may be missing */
    IS_NULLABLE = 1 << 1,       /* may be null; for a column: each value may be null */
    IS_NULLABLE_WHOLE = 1 << 2, /* the whole column may be null */
    HAS_NONE = 1 << 3,          /* an index may be -1 */
    IS_MEMBER = 1 << 4,         /* in a table: a member of the table itself, not a column */
    IS_ASCENDING = 1 << 5,      /* values of the column never decrease */
    IS_KEY = 1 << 6,            /* rows of the table must differ in the columns with this flag */
    IS_UNIQUE = 1 << 7,     /* elements of the list must differ; objects are compared by their members with IS_KEY */
    IS_LENIENT = 1 << 8,    /* a violation is a warning */
    IS_NOT_EMPTY = 1 << 9,  /* the list must have an element */
    MAY_BE_EMPTY = 1 << 10, /* an empty column in a table with rows is a warning: the front-end tolerates it */
    IS_UNREAD = 1 << 11,    /* a warning if present: the front-end drops it */
    IS_APART = 1 << 12,     /* the member has a cell, but emitters have code for where or when it is written */
    MAY_LACK = IS_OPTIONAL | IS_NULLABLE
};

/* How the value is kept in a row of the profile's table. What is not known there is null if the value is nullable: a
 * number 0, no id, TIME_NONE, an empty text. If it is optional too, the member of an object is left out. */
enum cell_kind {
    CELL_NONE,         /* the profile has no such value, so it is never written */
    CELL_CODE,         /* the value takes more than the row: emitters have code for it */
    CELL_CONSTANT,     /* always `constant` */
    CELL_BYTE,         /* uint8_t or bool */
    CELL_UINT,         /* uint32_t; for TYPE_BOOL: its lowest bit */
    CELL_INT,          /* int32_t */
    CELL_LONG,         /* int64_t; TIME_NONE is not known */
    CELL_ID,           /* an id; none is -1 for HAS_NONE */
    CELL_TEXT,         /* struct text */
    CELL_CHOICE,       /* an enum: the number of one of `choices` */
    CELL_CATEGORY,     /* uint8_t of a struct frame; null if that inherits its categories */
    CELL_MS,           /* int64_t nanoseconds, written as milliseconds; TIME_NONE is 0 if null is not allowed */
    CELL_MS_DELTA,     /* the difference from the row before, written as CELL_MS is */
    CELL_US,           /* int64_t nanoseconds, written as microseconds */
    CELL_ADDRESS,      /* uint64_t, written without its top bit, which no address of a process has */
    CELL_DISTANCE,     /* the id of an earlier row: the distance to it; 0 for none */
    CELL_MARKER_START, /* the start of a struct marker: null if its phase has none */
    CELL_MARKER_END,
    CELL_MARKER_PHASE
};

/* Columns and members of tables whose values are not in the table's rows. */
enum part_number {
    PART_NONE,
    PART_SOURCE_CONTENT,
    PART_WEIGHT,
    PART_WEIGHT_TYPE,
    PART_CPU_DELTA,
    PART_DELAY,
    PART_ALLOCATION_THREAD,
    PART_COUNTER_NUMBER,
    PART_PAYLOAD,
    PART_COUNT
};

/* Shapes whose parts depend on each other in ways that only code can check. */
enum shape_id {
    SHAPE_PLAIN, /* none of these */
    SHAPE_CATEGORY,
    SHAPE_PAUSED_RANGE,
    SHAPE_META,
    SHAPE_LIB,
    SHAPE_STACKS,
    SHAPE_FRAMES,
    SHAPE_SAMPLES,
    SHAPE_ALLOCATIONS,
    SHAPE_MARKERS,
    SHAPE_BACKTRACE,
    SHAPE_SCHEMA,
    SHAPE_FIELD,
    SHAPE_THREAD,
    SHAPE_COUNTER,
    SHAPE_COUNTER_SAMPLES,
    SHAPE_TOOLTIP_ROW,
    SHAPE_OVERHEAD,
    SHAPE_EXTRA_ENTRY,
    SHAPE_CHILD_PROCESS,
    SHAPE_PROFILE,
    SHAPE_COUNT
};

struct shape;

struct member {
    const char *name;
    unsigned name_bytes; /* without the 0 at its end */
    enum value_type type;
    unsigned flags;          /* enum member_flag */
    enum format_table table; /* the table to which an index points, or whose rows a list or table has */
    enum value_range range;
    enum cell_kind cell;
    unsigned offset;            /* offset of the value in the profile's row */
    enum part_number part;      /* what the emitter has for it besides the row; 0: nothing */
    enum slab_type slab;        /* what the front-end also accepts for a column instead of a list of numbers */
    unsigned since;             /* the version of the format that introduced it; 0: older than those that are known */
    const char *constant;       /* JSON text */
    const char *const *choices; /* ends with NULL */
    const struct shape *shape;
    const struct member *items;
};

struct shape {
    const struct member *members;
    size_t member_count;
    const struct shape *base; /* its members come before those of this one; NULL: none */
    /* The same object in the other format. The front-end drops the members that only that one has. NULL: unknown. */
    const struct shape *other;
    enum shape_id id;
    const char *row_noun; /* what a row of a table with IS_KEY columns is called: "stack" */
};

#define MEMBER(name_, type_, flags_, ...) \
    { .name = (name_), .name_bytes = sizeof(name_) - 1, .type = (type_), .flags = (flags_), __VA_ARGS__ }
#define INDEX(name_, table_, flags_, ...) MEMBER(name_, TYPE_INDEX, flags_, .table = (table_), __VA_ARGS__)
/* Describes all elements of a list that are no objects. */
#define ITEMS(type_, ...) \
    { .name = "", .type = (type_), __VA_ARGS__ }
#define SHAPE(members_, ...) \
    { .members = (members_), .member_count = sizeof(members_) / sizeof *(members_), __VA_ARGS__ }

/* The value is a member of `struct row_`, whose type says how it is kept. */
#define CELL(row_, member_)           .cell = CELL_KIND_OF(((struct row_ *)0)->member_), .offset = offsetof(struct row_, member_)
#define CELL_AS(kind_, row_, member_) .cell = CELL_##kind_, .offset = offsetof(struct row_, member_)
#define CONSTANT(text_)               .cell = CELL_CONSTANT, .constant = (text_)
#define CODE                          .cell = CELL_CODE

#define CELL_KIND_OF(value)              \
    _Generic((value), bool               \
             : CELL_BYTE, uint8_t        \
             : CELL_BYTE, uint32_t       \
             : CELL_UINT, int32_t        \
             : CELL_INT, int64_t         \
             : CELL_LONG, struct text    \
             : CELL_TEXT, string_id      \
             : CELL_ID, lib_id           \
             : CELL_ID, resource_id      \
             : CELL_ID, source_id        \
             : CELL_ID, native_symbol_id \
             : CELL_ID, func_id          \
             : CELL_ID, frame_id         \
             : CELL_ID, stack_id         \
             : CELL_ID)

static inline struct text member_name(const struct member *member) {
    return (struct text){member->name, member->name_bytes};
}

/* Members are numbered from 0, those of the base first. */
static inline size_t shape_member_count(const struct shape *shape) {
    return shape->member_count + (shape->base ? shape->base->member_count : 0);
}
static inline const struct member *shape_member(const struct shape *shape, size_t number) {
    size_t base_count = shape->base ? shape->base->member_count : 0;
    return number < base_count ? &shape->base->members[number] : &shape->members[number - base_count];
}
