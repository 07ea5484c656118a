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

int main(int argument_count, char **arguments) {
    if (argument_count != 3) return 2;
    call_without_recording();
    refuse_options();
    start_with_less();
    start(arguments[1]);
    GREC_INSTANT_WITH("with a graph", &outer_category, &graph_type, GREC_INT(5), GREC_TEXT("red"));
    record_everything(arguments[1]);
    grec_stop();
    save_from_memory(arguments[2]);
    return failure_count ? 1 : 0;
}
