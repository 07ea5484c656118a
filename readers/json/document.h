/* A JSON document in memory, as the viewer's JSON.parse would give it: numbers are doubles, and if a key is repeated in
 * an object, the last member applies. A value takes 16 bytes. Nesting may be deep, because parsing does not recurse. */
#pragma once

#include "libconvert/base/arena.h"
#include "libconvert/base/column.h"
#include "libconvert/base/strings.h"
#include "readers/input/input.h"

enum node_kind {
    NODE_NULL,
    NODE_FALSE,
    NODE_TRUE,
    NODE_NUMBER,
    NODE_TEXT,
    NODE_LIST,
    NODE_OBJECT,
    NODE_KEY /* precedes each member of an object; callers do not see it */
};

struct node {
    uint32_t kind;  /* enum node_kind */
    uint32_t count; /* bytes of a text, elements of a list, members of an object; id of a key (string_id) */
    union {
        double number; /* infinite if the number in the document exceeds the range of a double */
        const char *bytes;
        const struct node *nodes; /* elements of a list; keys and values of an object, alternating */
    };
};
_Static_assert(sizeof(struct node) == 16, "profiles have millions of them");

/* Returns whether a member of an object is wanted. `depth` is the depth of the object: 1 for the root. */
typedef bool document_wants_member(unsigned depth, struct text key);

struct document {
    struct failure *failure; /* borrowed */
    /* Says which members are wanted; NULL: all are. Members that are not wanted are checked to be JSON and take no
     * memory. Set it before document_read. */
    document_wants_member *wants_member;
    struct arena memory;
    struct strings keys;
    struct node root;
    struct column
        repeated_keys;    /* struct text: paths ("$.meta.a") of members hidden by a later member with the same key */
    uint64_t bytes_count; /* size of the JSON text */
    bool has_byte_order_mark;
};

/* Initialises an empty document, whose root is null. `failure` is borrowed. */
void document_init(struct document *document, struct failure *failure);
void document_fini(struct document *document);

/* Reads all of the input. Text that is not JSON latches a FAILURE_INPUT with a position. Failures of memory are latched
 * too, and the input latches its own. */
void document_read(struct document *document, struct input *input);

/* Returns the member with that key; NULL if there is none or the node is not an object. */
const struct node *document_member(const struct document *document, const struct node *node, struct text key);

/* Returns the member of that number, which must be less than the object's count, and its key. */
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

/* Returns the text of the member with that key; an empty text if there is none. */
static inline struct text document_text_member(const struct document *document, const struct node *node,
                                               const char *key) {
    const struct node *value = document_member(document, node, text_of(key));
    return node_is(value, NODE_TEXT) ? node_text(value) : (struct text){0};
}

/* Returns true for a number without a fraction that a double represents exactly. */
bool node_is_integer(const struct node *node);

/* Returns true for the number of a row in a table of `count` rows. */
static inline bool node_is_index(const struct node *node, uint64_t count) {
    return node_is_integer(node) && node->number >= 0 && node->number < (double)count;
}

/* Appends ".key" or, if the key is not a plain name, ["key"]. `path` has room for capacity_bytes and stays terminated.
 */
void document_append_key(char *path, size_t capacity_bytes, struct text key);
