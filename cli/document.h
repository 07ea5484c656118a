/* A JSON document in memory, as the front-end's JSON.parse has it: numbers are doubles, of members with one key the
 * last one counts. 16 bytes a value. Any depth: parsing does not recurse. */
#ifndef GECKO_DOCUMENT_H
#define GECKO_DOCUMENT_H

#include "libconvert/arena.h"
#include "libconvert/column.h"
#include "libconvert/strings.h"
#include "readers/input.h"

enum node_kind {
    NODE_NULL,
    NODE_FALSE,
    NODE_TRUE,
    NODE_NUMBER,
    NODE_TEXT,
    NODE_LIST,
    NODE_OBJECT,
    NODE_KEY /* before each member of an object; nobody else meets it */
};

struct node {
    uint32_t kind;  /* enum node_kind */
    uint32_t count; /* bytes of a text, elements of a list, members of an object; the name of a key (string_id) */
    union {
        double number; /* infinite when the document has more than a double holds */
        const char *bytes;
        const struct node *nodes; /* a list's elements; an object's keys and values, by turns */
    };
};
_Static_assert(sizeof(struct node) == 16, "profiles have millions of them");

struct document {
    struct failure *failure; /* borrowed */
    struct arena memory;
    struct strings keys;
    struct node root;
    struct column repeated_keys; /* struct text: paths ("$.meta.a") of members that another one of the same key hides */
    uint64_t bytes_count;        /* of the JSON text */
    bool has_byte_order_mark;
    struct text wrapping; /* as input_wrapping has it; empty: none */
};

/* An empty document: null. */
void document_init(struct document *document, struct failure *failure);
void document_fini(struct document *document);

/* Reads all of the input. What is no JSON is a FAILURE_INPUT with its place; also memory, and what the input latches.
 */
void document_read(struct document *document, struct input *input);

/* The member of that name; NULL when there is none, or the node is no object. */
const struct node *document_member(const struct document *document, const struct node *node, struct text key);

/* The member of that number, less than the count of the object, and its key. */
static inline const struct node *document_member_at(const struct document *document, const struct node *object,
                                                    size_t number, struct text *key) {
    *key = strings_text(&document->keys, (string_id){object->nodes[2 * number].count});
    return &object->nodes[2 * number + 1];
}

static inline bool node_is(const struct node *node, enum node_kind kind) {
    return node && node->kind == (uint32_t)kind;
}
static inline bool node_is_bool(const struct node *node) {
    return node_is(node, NODE_FALSE) || node_is(node, NODE_TRUE);
}

static inline struct text node_text(const struct node *node) { return (struct text){node->bytes, node->count}; }
static inline bool node_is_text(const struct node *node, struct text text) {
    return node_is(node, NODE_TEXT) && text_equal(node_text(node), text);
}

/* The member whose key is `key` in the document's keys; NULL when there is none, or the node is no object. */
static inline const struct node *document_member_by_key(const struct node *node, string_id key) {
    if (!node_is(node, NODE_OBJECT)) return NULL;
    for (size_t i = node->count; i-- > 0;)
        if (node->nodes[2 * i].count == key.index) return &node->nodes[2 * i + 1];
    return NULL;
}

/* A number without a fraction that a double has exactly. */
bool node_is_integer(const struct node *node);

/* A row of a table: an integer of 0 or more, below `count`. */
static inline bool node_is_index(const struct node *node, uint64_t count) {
    return node_is_integer(node) && node->number >= 0 && node->number < (double)count;
}

/* Writes ".key", or ["key"] where that is no plain name; at most capacity_bytes, terminated. */
void document_append_key(char *path, size_t capacity_bytes, struct text key);

#endif
