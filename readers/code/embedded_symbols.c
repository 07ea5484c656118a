#include "embedded_symbols.h"

#include "libconvert/symbols/symbol_names.h"

struct embedded_symbol {
    string_id path;
    struct text name;
    uint64_t start;
    uint64_t end;
};

void embedded_symbols_init(struct embedded_symbols *symbols, struct failure *failure) {
    *symbols = (struct embedded_symbols){0};
    strings_init(&symbols->texts, failure);
    column_init(&symbols->rows, sizeof(struct embedded_symbol), failure);
    value_table_init(&symbols->files, sizeof(string_id), sizeof(struct code_space), failure);
    code_spaces_init(&symbols->spaces, failure);
}

void embedded_symbols_fini(struct embedded_symbols *symbols) {
    strings_fini(&symbols->texts);
    column_fini(&symbols->rows);
    value_table_fini(&symbols->files);
    code_spaces_fini(&symbols->spaces);
}

void embedded_symbols_add(struct embedded_symbols *symbols, struct text path, uint64_t start, uint64_t size_bytes,
                          struct text name) {
    char demangled[SYMBOL_NAME_BYTES_MAX];
    name = symbol_name_demangle_printed(name, false, demangled);
    uint64_t end = size_bytes < UINT64_MAX - start ? start + size_bytes : UINT64_MAX;
    struct embedded_symbol row = {strings_intern(&symbols->texts, path), strings_copy(&symbols->texts, name), start,
                                  end};
    if (string_is_none(row.path) || !row.name.bytes_count || start >= end) return;
    column_add(&symbols->rows, &row);
}

static int compare(const void *left, const void *right) {
    const struct embedded_symbol *a = left, *b = right;
    if (a->path.index != b->path.index) return ORDER(a->path.index, b->path.index);
    return ORDER(a->start, b->start) ?: ORDER(b->end, a->end) ?: text_compare(a->name, b->name);
}

/* Maps all functions again, if some were added. Those that count more are mapped later, and so replace others. */
static void map_all(struct embedded_symbols *symbols) {
    if (symbols->mapped_count == symbols->rows.count) return;
    symbols->mapped_count = symbols->rows.count;
    column_sort(&symbols->rows, compare);
    for (uint32_t i = 0; i < value_table_count(&symbols->files); i++)
        *(struct code_space *)value_table_at(&symbols->files, i) = (struct code_space){0};
    code_spaces_fini(&symbols->spaces);
    code_spaces_init(&symbols->spaces, symbols->rows.failure);
    for (uint32_t i = 0; i < symbols->rows.count; i++) {
        const struct embedded_symbol *row = column_at(&symbols->rows, i);
        const struct code_mapping mapping = {
            .address = row->start, .size_bytes = row->end - row->start, .library_id = i + 1};
        struct code_space *space = value_table_intern(&symbols->files, &row->path, &(struct code_space){0});
        if (space) code_space_map(&symbols->spaces, space, &mapping);
    }
}

bool embedded_symbols_find(struct embedded_symbols *symbols, struct text path, uint64_t place, struct code_name *name) {
    if (!symbols->rows.count) return false;
    map_all(symbols);
    string_id wanted = strings_intern(&symbols->texts, path);
    const struct code_space *space = value_table_find(&symbols->files, &wanted);
    const struct code_mapping *found = space ? code_space_find(&symbols->spaces, *space, place) : NULL;
    if (!found) return false;
    const struct embedded_symbol *function = column_at(&symbols->rows, found->library_id - 1);
    *name = (struct code_name){.name = function->name, .start = function->start};
    return true;
}
