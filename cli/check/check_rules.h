/* The language in which check_processed.c and check_gecko.c describe the formats, and its interpreter.
 *
 * A shape is an object or a table, a rule one of its members or columns. What the two cannot say (a value depends on
 * another one) is a function of the shape, called after its rules. */
#ifndef GECKO_CHECK_RULES_H
#define GECKO_CHECK_RULES_H

#include "cli/document.h"
#include "offences.h"

/* What can be counted, so that an index can be in range. */
enum check_table {
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
    TYPE_CHOICE,        /* a text: one of the choices */
    TYPE_NUMBER,        /* finite */
    TYPE_INTEGER,       /* without a fraction, at most 2^53 */
    TYPE_INDEX,         /* a row of `table` */
    TYPE_TID,           /* an integer or a text */
    TYPE_TEXT_OR_INDEX, /* the latter as TYPE_INDEX */
    TYPE_OBJECT,        /* of `shape` */
    TYPE_LIST,          /* its elements are as `items` says */
    TYPE_COLUMNS,       /* {length, name: [value of row 0, …]}: rules are of columns, but for those with IS_MEMBER */
    TYPE_ROWS           /* {schema: {name: number}, data: [[value, …], …]}: rules are of columns */
};

enum value_range {
    RANGE_ANY,
    RANGE_NOT_NEGATIVE,
    RANGE_POSITIVE,
    RANGE_ONE_BASED,
    RANGE_BYTE,
    RANGE_INT31,         /* 0 to 2^31 - 1 */
    RANGE_INT31_OR_NONE, /* the same, or -1 */
    RANGE_UINT32,
    RANGE_FLAG, /* 0 or 1 */
    RANGE_COUNT
};

enum rule_flag {
    IS_OPTIONAL = 1 << 0,       /* may be missing */
    IS_NULLABLE = 1 << 1,       /* may be null; of a column: each of its values */
    IS_NULLABLE_WHOLE = 1 << 2, /* the column may be null itself */
    HAS_NONE = 1 << 3,          /* an index may be -1 */
    IS_MEMBER = 1 << 4,         /* of a table: no column, but beside them */
    IS_ASCENDING = 1 << 5,      /* values of the column never decrease */
    IS_KEY = 1 << 6,            /* rows of the table are to differ in the columns with this flag */
    IS_UNIQUE = 1 << 7,         /* elements of the list are to differ: objects in the members that have IS_KEY */
    IS_LENIENT = 1 << 8,        /* what is wrong is a warning */
    IS_NOT_EMPTY = 1 << 9,      /* of a list */
    MAY_BE_EMPTY = 1 << 10,     /* an empty column in a table with rows is a warning: the front-end copes with it */
    IS_UNREAD = 1 << 11         /* the front-end drops it: its presence is a warning */
};

struct check;
struct shape;

struct rule {
    const char *name;
    enum value_type type;
    unsigned flags;         /* enum rule_flag */
    enum check_table table; /* of an index: what it is a row of; of a list or a table: what its rows count as */
    enum value_range range;
    const char *const *choices; /* NULL at the end */
    const struct shape *shape;
    const struct rule *items;
};

#define RULE(name_, type_, flags_, ...) \
    { .name = (name_), .type = (type_), .flags = (flags_), __VA_ARGS__ }
#define INDEX(name_, table_, flags_) RULE(name_, TYPE_INDEX, flags_, .table = (table_))
/* Of the elements of a list. */
#define ITEMS(type_, ...) \
    { .name = "", .type = (type_), __VA_ARGS__ }

/* Checks a node of the shape's type. */
typedef void shape_check(struct check *check, const struct node *node, const struct place *place);

struct shape {
    const struct rule *rules;
    size_t rule_count;
    shape_check *check;   /* NULL: none */
    const char *row_noun; /* of tables with keys: "stack" */
};

#define SHAPE(rules_, ...) \
    { .rules = (rules_), .rule_count = sizeof(rules_) / sizeof *(rules_), __VA_ARGS__ }

/* What a check knows of the document as a whole. */
struct check {
    struct document *document; /* borrowed */
    struct offences *offences; /* borrowed */
    const struct node *root;   /* of the profile */
    bool is_gecko;
    bool is_known[TABLE_COUNT]; /* the table is there, and has so many rows: */
    uint64_t row_counts[TABLE_COUNT];
    const struct node *texts;    /* of TABLE_STRINGS, if it is there */
    struct strings schema_names; /* of markers: */
    struct column schemas;       /* struct marker_schema_view, one for each of the names that there were then */
};

/* Applies the rules to the node and all that is in it. */
void check_shape(struct check *check, const struct shape *shape, const struct node *node, const struct place *place);

/* Offences by the code's own checks. */
void check_error(struct check *check, enum offence_rule rule, const struct place *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void check_warning(struct check *check, enum offence_rule rule, const struct place *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline const struct node *check_member(const struct check *check, const struct node *node, const char *key) {
    return document_member(check->document, node, text_of(key));
}

/* ---- Columns, of both kinds of tables. ---- */

struct column_view {
    const struct node *table; /* NULL: there is no such column; count is 0 */
    const struct node *list;  /* of values, or of rows */
    const char *name;
    size_t number; /* of the value in its row */
    bool is_of_rows;
    size_t count;
};

struct column_view check_column(const struct check *check, const struct node *table, const char *name);

/* Null where a row is too short. */
const struct node *column_view_at(const struct column_view *view, size_t row);

/* The place of a value: `chain` is room for the way there from the table's. */
const struct place *column_view_place(const struct column_view *view, size_t row, const struct place *table,
                                      struct place chain[3]);

/* ---- Values in messages. ---- */

enum { NODE_SHOWN_BYTES = 64 };

/* "17", "\"text\"", "a list", cut to NODE_SHOWN_BYTES, terminated; "nothing" for NULL. */
const char *node_show(const struct node *node, char shown[NODE_SHOWN_BYTES]);

#endif
