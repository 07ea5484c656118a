/* Compares a document with the description of its format (libconvert/format/format.h). */
#pragma once

#include "libconvert/format/format.h"
#include "readers/json/column_view.h"
#include "violations.h"

struct check;

/* Checks what the description of a shape cannot express, such as values that depend on each other. The node has the
 * type of the shape, and its members have been checked. */
typedef void shape_check(struct check *check, const struct node *node, const struct node_path *path);

/* The state of checking one document. */
struct check {
    struct document *document;     /* borrowed */
    struct violations *violations; /* borrowed */
    const struct node *root;       /* root of the profile */
    bool is_gecko;
    shape_check *checks[SHAPE_COUNT]; /* NULL: the members of the shape do not depend on each other */
    bool is_known[TABLE_COUNT];       /* whether the table exists; its number of rows is in row_counts */
    uint64_t row_counts[TABLE_COUNT];
    const char *table_names[TABLE_COUNT]; /* what messages call the tables */
    const struct node *texts;             /* the list of TABLE_STRINGS; NULL: there is none */
    struct strings schema_names;          /* names of marker schemas, and types that were looked up */
    struct column schemas;                /* struct marker_schema_view, by the id of its name */
};

/* Compares the node and everything in it with the shape. */
void check_shape(struct check *check, const struct shape *shape, const struct node *node, const struct node_path *path);

/* Report a violation: its rule, path and message, as violations_add takes them. */
#define check_error(check, ...)   violations_add((check)->violations, VIOLATION_ERROR, __VA_ARGS__)
#define check_warning(check, ...) violations_add((check)->violations, VIOLATION_WARNING, __VA_ARGS__)

static inline const struct node *check_member(const struct check *check, const struct node *node, const char *key) {
    return document_member(check->document, node, text_of(key));
}

static inline struct column_view check_column(const struct check *check, const struct node *table, const char *name) {
    return column_view_find(check->document, table, name);
}

/* ---- Paths and values in messages. What these macros make lives as long as the block. ---- */

#define AT_MEMBER(parent_, key_)     (&(struct node_path){.parent = (parent_), .key = text_of(key_)})
#define AT_ELEMENT(parent_, index_)  (&(struct node_path){.parent = (parent_), .index = (index_)})
#define AT_CELL(view_, row_, table_) column_view_path(view_, row_, table_, (struct node_path[3]){0})
#define SHOWN(node_)                 node_show(node_, (char[NODE_SHOWN_BYTES]){0})

/* Returns the path of a value; `chain` is the room for its last steps. `table` is the path of the table. */
const struct node_path *column_view_path(const struct column_view *view, size_t row, const struct node_path *table,
                                         struct node_path chain[3]);

enum { NODE_SHOWN_BYTES = 64 };

/* Formats a node as "17", "\"text\"" or "a list", cut and terminated; NULL gives "nothing". Returns `shown` or a
 * constant. */
const char *node_show(const struct node *node, char shown[NODE_SHOWN_BYTES]);
