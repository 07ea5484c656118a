/* The stacks of the profile that the nodes of lexed stacks stand for (perf_lexer.h). A stack that was read before is
 * found by its innermost node, and of a new one only the lines are read that no earlier stack has.
 *
 * The frame of a line depends on the line, on the lines further in (the line before may be inlined into it, or be the
 * kernel's first) and on the settings below. Beyond a line that is not inlined, nothing further in matters. So a node
 * whose line is not inlined knows the stack of its callers, whatever it called itself. */
#ifndef GECKO_PERF_NODES_H
#define GECKO_PERF_NODES_H

#include "libconvert/base/row_table.h"
#include "perf_lexer.h"
#include "perf_stack.h"

/* What the meaning of a frame line depends on besides the lines. */
struct perf_node_settings {
    int64_t pid; /* 0 if there are no mappings: the process does not matter then */
    uint64_t map_count;
    uint64_t callers_are_adjusted;
};

/* What is known of a node with some settings. */
struct perf_node {
    uint32_t settings; /* row of perf_nodes.settings; nothing is known with others */
    stack_id stack;    /* the stack whose innermost line is the node's; none if unknown */
    stack_id callers;  /* the stack of the lines after the node's; none if there are none; PERF_CALLERS_UNKNOWN */
};

static const stack_id PERF_CALLERS_UNKNOWN = {ID_NONE - 1};

struct perf_nodes {
    struct failure *failure;   /* borrowed */
    struct row_table settings; /* struct perf_node_settings */
    struct perf_node_settings last_settings;
    uint32_t last_row;       /* row of the last settings; ID_NONE: there are none yet */
    struct perf_node *nodes; /* owned; by node */
    uint32_t node_count;
    uint32_t generation;          /* generation of the nodes */
    struct perf_node_line *lines; /* owned; lines of the stack that is read now, innermost first */
    uint32_t line_count;
    uint32_t line_capacity;
};

void perf_nodes_init(struct perf_nodes *nodes, struct failure *failure);
void perf_nodes_fini(struct perf_nodes *nodes);

/* Fetches what perf_nodes_stack needs for that node. */
static inline void perf_nodes_prefetch(const struct perf_nodes *nodes, uint32_t node) {
    if (node < nodes->node_count) __builtin_prefetch(&nodes->nodes[node]);
}

/* What is known of the callers in a stack. */
struct perf_known_callers {
    stack_id stack;      /* none if there are none */
    uint32_t line_count; /* how many of the innermost lines must be read */
};

/* Begins a block whose nodes have that generation. */
void perf_nodes_begin(struct perf_nodes *nodes, uint32_t generation);

/* Returns the stack with that innermost node; none if it must be read. */
stack_id perf_nodes_stack(struct perf_nodes *nodes, const struct perf_node_settings *settings, uint32_t node);

/* Finds out what is known of the callers in a stack that must be read. Its lines are given, innermost first. */
struct perf_known_callers perf_nodes_callers(struct perf_nodes *nodes, const struct perf_node_settings *settings,
                                             const struct perf_lexed_line *lines, uint32_t line_count);

/* Notes that the next line that must be read has been added to the stack, which had frame_count frames before. */
void perf_nodes_add_line(struct perf_nodes *nodes, uint32_t frame_count, bool is_inlined);

/* Adds the stack whose innermost lines have been added, and of which perf_stack_take returned the frames. Returns it,
 * or none if memory ran out (latched). */
stack_id perf_nodes_add(struct perf_nodes *nodes, struct profile *profile, const struct perf_known_callers *known,
                        const struct perf_lexed_line *lines, const frame_id *frames, uint32_t frame_count);

#endif
