#include "told_functions.h"

#include "libconvert/base/memory.h"
#include "libconvert/symbols/symbol_names.h"

struct told_function {
    string_id path;
    string_id name;
    uint64_t start;
    uint64_t size_bytes;
};

void told_functions_init(struct told_functions *told, struct failure *failure) {
    *told = (struct told_functions){.failure = failure};
    strings_init(&told->texts, failure);
}

void told_functions_fini(struct told_functions *told) {
    strings_fini(&told->texts);
    memory_free(told->rows);
}

void told_functions_add(struct told_functions *told, struct text path, uint64_t start, uint64_t size_bytes,
                        struct text name) {
    char demangled[SYMBOL_NAME_BYTES_MAX];
    name = symbol_name_demangle_printed(name, false, demangled);
    struct told_function row = {strings_intern(&told->texts, path), strings_intern(&told->texts, name), start,
                                size_bytes};
    bool has_room = memory_reserve(told->failure, &told->rows, &told->capacity, told->count + 1, sizeof *told->rows);
    if (has_room && !string_is_none(row.path) && !string_is_none(row.name)) told->rows[told->count++] = row;
}

static int compare(const void *left, const void *right) {
    const struct told_function *a = left, *b = right;
    if (a->path.index != b->path.index) return a->path.index < b->path.index ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return (a->name.index > b->name.index) - (a->name.index < b->name.index);
}

bool told_functions_find(struct told_functions *told, struct text path, uint64_t place, struct code_name *name) {
    if (!told->count) return false;
    if (told->sorted_count < told->count)
        memory_sort(told->failure, told->rows, told->count, sizeof *told->rows, compare);
    told->sorted_count = told->count;
    const struct told_function wanted = {strings_intern(&told->texts, path), string_none(), place, 0};
    size_t low = 0, high = told->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&told->rows[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return false;
    const struct told_function *found = &told->rows[low - 1];
    if (found->path.index != wanted.path.index || place - found->start >= found->size_bytes) return false;
    *name = (struct code_name){.name = strings_text(&told->texts, found->name), .start = found->start};
    return true;
}
