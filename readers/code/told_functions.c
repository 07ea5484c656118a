#include "told_functions.h"

#include "libconvert/symbols/symbol_names.h"

struct told_function {
    string_id path;
    struct text name;
    uint64_t start;
    uint64_t end;
};

void told_functions_init(struct told_functions *told, struct failure *failure) {
    *told = (struct told_functions){0};
    strings_init(&told->texts, failure);
    column_init(&told->rows, sizeof(struct told_function), failure);
    value_table_init(&told->files, sizeof(string_id), sizeof(struct code_space), failure);
    code_spaces_init(&told->spaces, failure);
}

void told_functions_fini(struct told_functions *told) {
    strings_fini(&told->texts);
    column_fini(&told->rows);
    value_table_fini(&told->files);
    code_spaces_fini(&told->spaces);
}

void told_functions_add(struct told_functions *told, struct text path, uint64_t start, uint64_t size_bytes,
                        struct text name) {
    char demangled[SYMBOL_NAME_BYTES_MAX];
    name = symbol_name_demangle_printed(name, false, demangled);
    uint64_t end = size_bytes < UINT64_MAX - start ? start + size_bytes : UINT64_MAX;
    struct told_function row = {strings_intern(&told->texts, path), strings_copy(&told->texts, name), start, end};
    if (string_is_none(row.path) || !row.name.bytes_count || start >= end) return;
    column_add(&told->rows, &row);
}

static int compare(const void *left, const void *right) {
    const struct told_function *a = left, *b = right;
    if (a->path.index != b->path.index) return ORDER(a->path.index, b->path.index);
    return ORDER(a->start, b->start) ?: ORDER(b->end, a->end) ?: text_compare(a->name, b->name);
}

/* Maps all functions again, if some were added. Those that count more are mapped later, and so replace others. */
static void map_all(struct told_functions *told) {
    if (told->mapped_count == told->rows.count) return;
    told->mapped_count = told->rows.count;
    column_sort(&told->rows, compare);
    for (uint32_t i = 0; i < value_table_count(&told->files); i++)
        *(struct code_space *)value_table_at(&told->files, i) = (struct code_space){0};
    code_spaces_fini(&told->spaces);
    code_spaces_init(&told->spaces, told->rows.failure);
    for (uint32_t i = 0; i < told->rows.count; i++) {
        const struct told_function *row = column_at(&told->rows, i);
        const struct code_mapping mapping = {
            .address = row->start, .size_bytes = row->end - row->start, .library_id = i + 1};
        struct code_space *space = value_table_intern(&told->files, &row->path, &(struct code_space){0});
        if (space) code_space_map(&told->spaces, space, &mapping);
    }
}

bool told_functions_find(struct told_functions *told, struct text path, uint64_t place, struct code_name *name) {
    if (!told->rows.count) return false;
    map_all(told);
    string_id wanted = strings_intern(&told->texts, path);
    const struct code_space *space = value_table_find(&told->files, &wanted);
    const struct code_mapping *found = space ? code_space_find(&told->spaces, *space, place) : NULL;
    if (!found) return false;
    const struct told_function *function = column_at(&told->rows, found->library_id - 1);
    *name = (struct code_name){.name = function->name, .start = function->start};
    return true;
}
