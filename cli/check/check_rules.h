/* The language in which check_processed.c and check_gecko.c describe the formats, and its interpreter.
 *
 * A shape describes an object or a table; a rule describes one of its members or columns. A shape can also have a
 * function for what rules cannot express, such as values that depend on each other. The function runs after the rules.
 */
#ifndef GECKO_CHECK_RULES_H
#define GECKO_CHECK_RULES_H

#include "readers/json/document.h"
#include "violations.h"

/* Tables whose rows are counted, so that indexes into them can be checked. */
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
    TYPE_CHOICE,        /* a text that is one of `choices` */
    TYPE_NUMBER,        /* finite */
    TYPE_INTEGER,       /* has no fraction; at most 2^53 */
    TYPE_INDEX,         /* number of a row of `table` */
    TYPE_TID,           /* an integer or a text */
    TYPE_TEXT_OR_INDEX, /* a text, or a number as for TYPE_INDEX */
    TYPE_OBJECT,        /* described by `shape` */
    TYPE_LIST,          /* its elements are described by `items` */
    TYPE_COLUMNS,       /* {length, name: [value of row 0, …]}: rules describe columns, except those with IS_MEMBER */
    TYPE_ROWS           /* {schema: {name: number}, data: [[value, …], …]}: rules describe columns */
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

enum rule_flag {
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
    IS_UNREAD = 1 << 11     /* a warning if present: the front-end drops it */
};

struct check;
struct shape;

struct rule {
    const char *name;
    enum value_type type;
    unsigned flags;         /* enum rule_flag */
    enum check_table table; /* the table to which an index points, or whose rows a list or table has */
    enum value_range range;
    const char *const *choices; /* ends with NULL */
    const struct shape *shape;
    const struct rule *items;
};

#define RULE(name_, type_, flags_, ...) \
    { .name = (name_), .type = (type_), .flags = (flags_), __VA_ARGS__ }
#define INDEX(name_, table_, flags_) RULE(name_, TYPE_INDEX, flags_, .table = (table_))
/* The rule for all elements of a list. */
#define ITEMS(type_, ...) \
    { .name = "", .type = (type_), __VA_ARGS__ }

/* Checks a node that has the shape's type. */
typedef void shape_check(struct check *check, const struct node *node, const struct node_path *path);

struct shape {
    const struct rule *rules;
    size_t rule_count;
    shape_check *check;   /* NULL: none */
    const char *row_noun; /* what a row of a table with IS_KEY columns is called: "stack" */
};

#define SHAPE(rules_, ...) \
    { .rules = (rules_), .rule_count = sizeof(rules_) / sizeof *(rules_), __VA_ARGS__ }

/* The state of checking one document. */
struct check {
    struct document *document;     /* borrowed */
    struct violations *violations; /* borrowed */
    const struct node *root;       /* root of the profile */
    bool is_gecko;
    bool is_known[TABLE_COUNT]; /* whether the table exists; its number of rows is in row_counts */
    uint64_t row_counts[TABLE_COUNT];
    const struct node *texts;    /* the list of TABLE_STRINGS; NULL: there is none */
    struct strings schema_names; /* names of marker schemas, and types that were looked up */
    struct column schemas;       /* struct marker_schema_view, by the id of its name */
};

/* Applies the rules of the shape to the node and everything in it. */
void check_shape(struct check *check, const struct shape *shape, const struct node *node, const struct node_path *path);

/* Report a violation found by code instead of a rule. */
void check_error(struct check *check, enum violation_rule rule, const struct node_path *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void check_warning(struct check *check, enum violation_rule rule, const struct node_path *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline const struct node *check_member(const struct check *check, const struct node *node, const char *key) {
    return document_member(check->document, node, text_of(key));
}

/* ---- Columns of tables of either kind. ---- */

struct column_view {
    const struct node *table; /* NULL: there is no such column, and count is 0 */
    const struct node *list;  /* the values or, if is_of_rows, the rows */
    const char *name;
    size_t number; /* position of the value in its row, if is_of_rows */
    bool is_of_rows;
    size_t count;
};

struct column_view check_column(const struct check *check, const struct node *table, const char *name);

/* Returns a null node if the row is too short. */
const struct node *column_view_at(const struct column_view *view, size_t row);

/* Returns the path of a value, which is valid as long as `chain`, the room for its last steps. `table` is the path of
 * the table. */
const struct node_path *column_view_path(const struct column_view *view, size_t row, const struct node_path *table,
                                         struct node_path chain[3]);

/* ---- Values in messages. ---- */

enum { NODE_SHOWN_BYTES = 64 };

/* Formats a node as "17", "\"text\"" or "a list", cut and terminated; NULL gives "nothing". Returns `shown`. */
const char *node_show(const struct node *node, char shown[NODE_SHOWN_BYTES]);

#endif
