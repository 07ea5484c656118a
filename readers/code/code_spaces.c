#include "code_spaces.h"

#include "libconvert/base/first_row.h"
#include "libconvert/base/index_set.h"

/* From `start` to the start of the next node, addresses are in the mapping, as far as that reaches.
 *
 * The tree is a treap: by `start` a search tree, and by `priority` a heap. Priorities are random, so trees are flat
 * whatever a hostile recording maps. */
struct node {
    uint64_t start;
    uint32_t mapping; /* row of code_spaces.mappings */
    uint32_t priority;
    uint32_t left; /* children, as in code_space.root */
    uint32_t right;
};

void code_spaces_init(struct code_spaces *spaces, struct failure *failure) {
    column_init(&spaces->mappings, sizeof(struct code_mapping), failure);
    column_init(&spaces->nodes, sizeof(struct node), failure);
    spaces->frozen_count = 0;
}

void code_spaces_fini(struct code_spaces *spaces) { COLUMNS_FINI(&spaces->mappings, &spaces->nodes); }

/* ---- Trees. ---- */

static struct node *node_at(const struct code_spaces *spaces, uint32_t number) {
    return column_at(&spaces->nodes, number - 1);
}

static const struct code_mapping *mapping_at(const struct code_spaces *spaces, uint32_t row) {
    return column_at(&spaces->mappings, row);
}

/* Returns the node, which may be changed: if others share it, *number becomes that of a copy. NULL if memory ran out
 * (latched). */
static struct node *own(struct code_spaces *spaces, uint32_t *number) {
    struct node *shared = node_at(spaces, *number);
    if (*number > spaces->frozen_count) return shared;
    struct node *copy = column_push(&spaces->nodes);
    if (!copy) return NULL;
    *copy = *shared;
    *number = spaces->nodes.count;
    return copy;
}

/* Divides a tree into the nodes below a start and the others. */
static void split(struct code_spaces *spaces, uint32_t root, uint64_t start, uint32_t *below, uint32_t *others) {
    while (root) {
        struct node *node = own(spaces, &root);
        if (!node) break;
        uint32_t **side = node->start < start ? &below : &others;
        **side = root;
        *side = node->start < start ? &node->right : &node->left;
        root = **side;
    }
    *below = *others = 0;
}

/* Joins two trees. All nodes of `left` start below those of `right`. */
static uint32_t join(struct code_spaces *spaces, uint32_t left, uint32_t right) {
    uint32_t root, *end = &root;
    while (left && right) {
        bool is_left = node_at(spaces, left)->priority > node_at(spaces, right)->priority;
        uint32_t *top = is_left ? &left : &right;
        struct node *node = own(spaces, top);
        if (!node) break;
        *end = *top;
        end = is_left ? &node->right : &node->left;
        *top = *end;
    }
    *end = left ? left : right;
    return root;
}

/* Adds a node to the tree, which has none with that start. */
static void add_node(struct code_spaces *spaces, struct code_space *space, uint64_t start, uint32_t mapping) {
    uint32_t number = spaces->nodes.count + 1, *place = &space->root;
    struct node *added = column_push(&spaces->nodes);
    if (!added) return;
    *added = (struct node){.start = start, .mapping = mapping, .priority = index_set_hash(&number, sizeof number)};
    while (*place && node_at(spaces, *place)->priority > added->priority) {
        struct node *node = own(spaces, place);
        if (!node) return;
        place = node->start < start ? &node->right : &node->left;
    }
    split(spaces, *place, start, &added->left, &added->right);
    *place = number;
}

/* Returns the last node that starts at or below the address; NULL if there is none. */
static const struct node *find_node(const struct code_spaces *spaces, uint32_t root, uint64_t address) {
    const struct node *found = NULL;
    while (root) {
        const struct node *node = node_at(spaces, root);
        if (node->start <= address) found = node;
        root = node->start <= address ? node->right : node->left;
    }
    return found;
}

static bool contains(const struct code_mapping *mapping, uint64_t address) {
    return address - mapping->address < mapping->size_bytes;
}

/* ---- Spaces. ---- */

/* Returns the row of the mapping; ID_NONE if it cannot be, or if memory ran out (latched). */
static uint32_t add_mapping(struct code_spaces *spaces, const struct code_mapping *mapping) {
    struct code_mapping *added = code_mapping_is_possible(mapping) ? column_push(&spaces->mappings) : NULL;
    if (!added) return ID_NONE;
    *added = *mapping;
    return spaces->mappings.count - 1;
}

/* Removes the nodes from `start` to before `end`; 0: to the end of the address space. */
static void remove_nodes(struct code_spaces *spaces, struct code_space *space, uint64_t start, uint64_t end) {
    uint32_t left, removed, right = 0;
    split(spaces, space->root, start, &left, &removed);
    if (end) split(spaces, removed, end, &removed, &right);
    space->root = join(spaces, left, right);
}

static void map_row(struct code_spaces *spaces, struct code_space *space, uint32_t row) {
    const struct code_mapping *mapping = mapping_at(spaces, row);
    uint64_t start = mapping->address, last = start + mapping->size_bytes - 1, end = last + 1;
    const struct node *after = find_node(spaces, space->root, end ? end : last);
    /* A mapping that continues after this one needs a node there. */
    bool continues = after && end && after->start < end && contains(mapping_at(spaces, after->mapping), end);
    if (after && after->start >= start) remove_nodes(spaces, space, start, end);
    add_node(spaces, space, start, row);
    if (continues) add_node(spaces, space, end, after->mapping);
}

void code_space_map(struct code_spaces *spaces, struct code_space *space, const struct code_mapping *mapping) {
    uint32_t row = add_mapping(spaces, mapping);
    if (row != ID_NONE) map_row(spaces, space, row);
}

struct code_space code_space_copy(struct code_spaces *spaces, struct code_space space) {
    spaces->frozen_count = spaces->nodes.count;
    return space;
}

const struct code_mapping *code_space_find(const struct code_spaces *spaces, struct code_space space,
                                           uint64_t address) {
    const struct node *node = find_node(spaces, space.root, address);
    const struct code_mapping *mapping = node ? mapping_at(spaces, node->mapping) : NULL;
    return mapping && mapping->library_id && contains(mapping, address) ? mapping : NULL;
}

/* ---- History. ---- */

/* What mappings of one time, or an inheritance, made of a space. Every so often there is a copy of the whole space; a
 * look-up goes back to the last one. */
struct version {
    uint64_t time;
    uint32_t mapping; /* row of code_spaces.mappings, if there is no copy */
    bool has_copy;
    struct code_space copy; /* the space including this version. That of the last version is the present space */
};

enum { VERSIONS_PER_COPY = 32 };

void code_history_init(struct code_history *history, struct failure *failure) {
    *history = (struct code_history){0};
    column_init(&history->versions, sizeof(struct version), failure);
}

void code_history_fini(struct code_history *history) { column_fini(&history->versions); }

static const struct version *version_at(const struct code_history *history, size_t row) {
    return column_at(&history->versions, row);
}

/* Returns the number of versions up to that time. */
static size_t count_versions(const struct code_history *history, uint64_t time) {
    return FIRST_ROW(row, history->versions.count, version_at(history, row)->time > time);
}

void code_history_map(struct code_spaces *spaces, struct code_history *history, uint64_t time,
                      const struct code_mapping *mapping) {
    size_t count = history->versions.count;
    struct version *version = count ? column_at(&history->versions, count - 1) : NULL;
    bool is_same_time = version && version->time == time;
    uint32_t row = add_mapping(spaces, mapping);
    if (row == ID_NONE) return;
    if (version && version->has_copy && !is_same_time) version->copy = code_space_copy(spaces, history->now);
    map_row(spaces, &history->now, row);
    if (!is_same_time) version = column_push(&history->versions);
    if (!version) return;
    bool has_copy = is_same_time || count % VERSIONS_PER_COPY == VERSIONS_PER_COPY - 1;
    *version = (struct version){time, row, has_copy, history->now};
}

static struct code_space space_at(struct code_spaces *spaces, const struct code_history *history, uint64_t time) {
    size_t count = count_versions(history, time), first = count;
    while (first && !version_at(history, first - 1)->has_copy) first--;
    struct code_space space = {0};
    if (first) space = code_space_copy(spaces, version_at(history, first - 1)->copy);
    for (size_t i = first; i < count; i++) map_row(spaces, &space, version_at(history, i)->mapping);
    return space;
}

void code_history_inherit(struct code_spaces *spaces, struct code_history *history, uint64_t time,
                          const struct code_history *parent, uint64_t parent_time) {
    history->now = space_at(spaces, parent, parent_time);
    struct version *version = column_push(&history->versions);
    if (version)
        *version = (struct version){.time = time, .has_copy = true, .copy = code_space_copy(spaces, history->now)};
}

const struct code_mapping *code_history_find(const struct code_spaces *spaces, const struct code_history *history,
                                             uint64_t time, uint64_t address) {
    for (size_t i = count_versions(history, time); i-- > 0;) {
        const struct version *version = version_at(history, i);
        if (version->has_copy) return code_space_find(spaces, version->copy, address);
        const struct code_mapping *mapping = mapping_at(spaces, version->mapping);
        if (contains(mapping, address)) return mapping->library_id ? mapping : NULL;
    }
    return NULL;
}
