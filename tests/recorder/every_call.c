/* usage: every_call TRACE SAVED_TRACE */
#include "every_call.h"

/* Designated initialisers: C allows them, C++11 does not. */
static const struct grec_graph graphs[] = {{.key = "number", .type = GREC_GRAPH_BAR, .color = GREC_GRAPH_RED}};
static struct grec_marker_type graph_type = {
    .name = "type with a graph",
    .fields = short_fields,
    .field_count = sizeof short_fields / sizeof short_fields[0],
    .color_field = "text",
    .graphs = graphs,
    .graph_count = 1,
    .is_stack_based = 1,
};

static void record_in_this_language(void) {
    GREC_INSTANT_WITH("with a graph", &outer_category, &graph_type, GREC_INT(5), GREC_TEXT("red"));
}
