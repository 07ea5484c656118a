#include "perf_nodes.h"

#include "libconvert/base/memory.h"

struct perf_node_line {
    uint32_t frame_count; /* frames further in */
    bool is_inlined;
};

void perf_nodes_init(struct perf_nodes *nodes, struct failure *failure) {
    *nodes = (struct perf_nodes){.failure = failure, .last_row = ID_NONE};
    row_table_init(&nodes->settings, sizeof(struct perf_node_settings), failure);
}

void perf_nodes_fini(struct perf_nodes *nodes) {
    row_table_fini(&nodes->settings);
    memory_free(nodes->nodes);
    memory_free(nodes->lines);
}

void perf_nodes_begin(struct perf_nodes *nodes, uint32_t generation) {
    if (nodes->generation == generation) return;
    nodes->generation = generation;
    for (uint32_t i = 0; i < nodes->node_count; i++) nodes->nodes[i].settings = ID_NONE;
}

/* Makes room for the node. Returns false if memory ran out (latched). */
static bool grow_to(struct perf_nodes *nodes, uint32_t node) {
    uint32_t count = nodes->node_count ? nodes->node_count : 1024;
    while (count <= node) count *= 2;
    struct perf_node *resized = memory_resize(nodes->failure, nodes->nodes, count * sizeof *resized);
    if (!resized) return false;
    for (uint32_t i = nodes->node_count; i < count; i++) resized[i].settings = ID_NONE;
    nodes->nodes = resized;
    nodes->node_count = count;
    return true;
}

static uint32_t settings_row(struct perf_nodes *nodes, const struct perf_node_settings *settings) {
    if (nodes->last_row != ID_NONE && memcmp(&nodes->last_settings, settings, sizeof *settings) == 0)
        return nodes->last_row;
    nodes->last_settings = *settings;
    return nodes->last_row = row_table_intern(&nodes->settings, settings);
}

/* Returns the node, of which nothing is known if it is new or was used with other settings. NULL if memory ran out
 * (latched). */
static inline struct perf_node *node_at(struct perf_nodes *nodes, uint32_t node, uint32_t settings) {
    bool has_room = node < nodes->node_count || grow_to(nodes, node);
    if (settings == ID_NONE || !has_room) return NULL;
    struct perf_node *found = &nodes->nodes[node];
    if (found->settings != settings)
        *found = (struct perf_node){.settings = settings, .stack = stack_none(), .callers = PERF_CALLERS_UNKNOWN};
    return found;
}

stack_id perf_nodes_stack(struct perf_nodes *nodes, const struct perf_node_settings *settings, uint32_t node) {
    const struct perf_node *found = node_at(nodes, node, settings_row(nodes, settings));
    return found ? found->stack : stack_none();
}

struct perf_known_callers perf_nodes_callers(struct perf_nodes *nodes, const struct perf_node_settings *settings,
                                             const struct perf_lexed_line *lines, uint32_t line_count) {
    nodes->line_count = 0;
    uint32_t row = settings_row(nodes, settings);
    for (uint32_t i = 0; i < line_count; i++) {
        const struct perf_node *node = node_at(nodes, lines[i].node, row);
        if (!node) break;
        if (!stack_is_same(node->callers, PERF_CALLERS_UNKNOWN))
            return (struct perf_known_callers){node->callers, i + 1};
    }
    return (struct perf_known_callers){stack_none(), line_count};
}

void perf_nodes_add_line(struct perf_nodes *nodes, uint32_t frame_count, bool is_inlined) {
    if (nodes->line_count == nodes->line_capacity) {
        uint32_t capacity = nodes->line_capacity ? nodes->line_capacity * 2 : 128;
        struct perf_node_line *resized = memory_resize(nodes->failure, nodes->lines, capacity * sizeof *resized);
        if (!resized) return;
        nodes->lines = resized;
        nodes->line_capacity = capacity;
    }
    nodes->lines[nodes->line_count++] = (struct perf_node_line){frame_count, is_inlined};
}

stack_id perf_nodes_add(struct perf_nodes *nodes, struct profile *profile, const struct perf_known_callers *known,
                        const struct perf_lexed_line *lines, const frame_id *frames, uint32_t frame_count) {
    stack_id stack = known->stack;
    uint32_t done_count = 0;
    for (uint32_t i = known->line_count; i-- > 0;) {
        struct perf_node *node = &nodes->nodes[lines[i].node];
        if (!nodes->lines[i].is_inlined) node->callers = stack;
        for (; done_count < frame_count - nodes->lines[i].frame_count; done_count++) {
            stack = profile_stack(profile, stack, frames[done_count]);
            if (stack_is_none(stack)) return stack;
        }
    }
    return nodes->nodes[lines[0].node].stack = stack;
}
