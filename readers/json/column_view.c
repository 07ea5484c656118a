#include "column_view.h"

static struct column_view column_of_rows(const struct document *document, const struct node *table, const char *name) {
    struct column_view none = {.name = name};
    const struct node *number =
        document_member(document, document_member(document, table, TEXT("schema")), text_of(name));
    const struct node *data = document_member(document, table, TEXT("data"));
    if (!node_is_index(number, UINT32_MAX) || !node_is(data, NODE_LIST)) return none;
    return (struct column_view){.table = table,
                                .list = data,
                                .name = name,
                                .number = (size_t)number->number,
                                .is_of_rows = true,
                                .count = data->count};
}

struct column_view column_view_find(const struct document *document, const struct node *table, const char *name) {
    if (document_member(document, table, TEXT("schema"))) return column_of_rows(document, table, name);
    const struct node *list = document_member(document, table, text_of(name));
    if (!node_is(list, NODE_LIST)) return (struct column_view){.name = name};
    return (struct column_view){.table = table, .list = list, .name = name, .count = list->count};
}

const struct node *column_view_at(const struct column_view *view, size_t row) {
    static const struct node null = {.kind = NODE_NULL};
    if (row >= view->count) return &null;
    const struct node *node = &view->list->nodes[row];
    if (!view->is_of_rows) return node;
    return node_is(node, NODE_LIST) && view->number < node->count ? &node->nodes[view->number] : &null;
}
