#include "dwarf_names.h"

#include <dwarf.h>

#include "libconvert/base/first_row.h"
#include "libconvert/base/ids.h"

/* Of more scopes around a function, only the innermost ones are named. */
enum { NAMED_SCOPES_MAX = 16 };

struct dwarf_scope {
    Dwarf_Die die;
    uint32_t parent; /* ID_NONE: none */
};

void dwarf_names_init(struct dwarf_names *names, struct failure *failure) {
    column_init(&names->scopes, sizeof(struct dwarf_scope), failure);
    column_init(&names->functions, sizeof(struct dwarf_scoped_function), failure);
    arena_init(&names->texts, failure);
}

void dwarf_names_fini(struct dwarf_names *names) {
    column_fini(&names->scopes);
    column_fini(&names->functions);
    arena_fini(&names->texts);
}

uint32_t dwarf_names_add_scope(struct dwarf_names *names, const Dwarf_Die *die, uint32_t parent) {
    struct dwarf_scope *scope = column_push(&names->scopes);
    if (!scope) return parent;
    *scope = (struct dwarf_scope){*die, parent};
    return (uint32_t)(names->scopes.count - 1);
}

void dwarf_names_add_function(struct dwarf_names *names, Dwarf_Die *die, uint32_t scope) {
    struct dwarf_scoped_function *function = scope == ID_NONE ? NULL : column_push(&names->functions);
    if (function) *function = (struct dwarf_scoped_function){.offset = dwarf_dieoffset(die), .scope = scope};
}

static struct dwarf_scoped_function *function_at(const struct dwarf_names *names, size_t i) {
    return column_at(&names->functions, i);
}

struct dwarf_scoped_function *dwarf_names_find(const struct dwarf_names *names, size_t first, size_t count,
                                               Dwarf_Off offset) {
    size_t i = FIRST_ROW(row, count, function_at(names, first + row)->offset >= offset);
    struct dwarf_scoped_function *function = i < count ? function_at(names, first + i) : NULL;
    return function && function->offset == offset ? function : NULL;
}

static const char *scope_name(const struct dwarf_names *names, uint32_t row, uint32_t *parent) {
    struct dwarf_scope *scope = column_at(&names->scopes, row);
    *parent = scope->parent;
    const char *name = dwarf_diename(&scope->die);
    return name ? name : dwarf_tag(&scope->die) == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous)";
}

static const char *join(struct dwarf_names *names, uint32_t scope, const char *name) {
    const char *parts[NAMED_SCOPES_MAX];
    size_t count = 0, bytes_count = strlen(name) + 1;
    while (scope != ID_NONE && count < NAMED_SCOPES_MAX) {
        parts[count] = scope_name(names, scope, &scope);
        bytes_count += strlen(parts[count++]) + 2;
    }
    char *joined = arena_take_bytes(&names->texts, bytes_count);
    if (!joined) return name;
    char *end = joined;
    while (count) {
        end = stpcpy(end, parts[--count]);
        end = stpcpy(end, "::");
    }
    strcpy(end, name);
    return joined;
}

const char *dwarf_names_qualify(struct dwarf_names *names, struct dwarf_scoped_function *function, const char *name) {
    if (!function->name) function->name = join(names, function->scope, name);
    return function->name;
}
