#include "dwarf_names.h"

#include <dwarf.h>
#include <stdio.h>

#include "libconvert/base/first_row.h"
#include "libconvert/base/ids.h"
#include "symbol_names.h"

struct dwarf_scope {
    Dwarf_Die die;
    uint32_t parent;       /* ID_NONE: none */
    uint32_t last_unnamed; /* the last type without a name that was added inside; ID_NONE: none */
    /* Of a type without a name. The place where it is declared tells such types apart. */
    int line;
    int column;
    uint32_t elder;  /* the one that was added before it in the same parent; ID_NONE: none */
    uint32_t number; /* 0: not determined yet */
};

void dwarf_names_init(struct dwarf_names *names, struct failure *failure) {
    column_init(&names->scopes, sizeof(struct dwarf_scope), failure);
    column_init(&names->functions, sizeof(struct dwarf_scoped_function), failure);
    arena_init(&names->texts, failure);
    names->last_unnamed = ID_NONE;
}

void dwarf_names_fini(struct dwarf_names *names) {
    COLUMNS_FINI(&names->scopes, &names->functions);
    arena_fini(&names->texts);
}

static struct dwarf_scope *scope_at(const struct dwarf_names *names, uint32_t row) {
    return column_at(&names->scopes, row);
}

static void add_unnamed(struct dwarf_names *names, uint32_t row) {
    struct dwarf_scope *scope = scope_at(names, row);
    uint32_t *last = scope->parent == ID_NONE ? &names->last_unnamed : &scope_at(names, scope->parent)->last_unnamed;
    scope->elder = *last;
    *last = row;
    if (dwarf_decl_line(&scope->die, &scope->line) == 0) dwarf_decl_column(&scope->die, &scope->column);
}

uint32_t dwarf_names_add_scope(struct dwarf_names *names, const Dwarf_Die *die, uint32_t parent) {
    struct dwarf_scope *scope = column_push(&names->scopes);
    if (!scope) return parent;
    uint32_t row = (uint32_t)(names->scopes.count - 1);
    *scope = (struct dwarf_scope){.die = *die, .parent = parent, .last_unnamed = ID_NONE};
    if (!dwarf_diename(&scope->die)) add_unnamed(names, row);
    return row;
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

static const char *copy(struct dwarf_names *names, struct text text) {
    const char *copied = arena_copy_terminated(&names->texts, text);
    return copied ? copied : "";
}

/* Returns the name of a function around the scope before. A mangled name has all scopes that are further out. */
static const char *function_name(struct dwarf_names *names, Dwarf_Die *die, uint32_t *parent) {
    Dwarf_Attribute attribute;
    const char *linker_name =
        dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ? dwarf_formstring(&attribute) : NULL;
    if (!linker_name || !symbol_name_is_mangled(text_of(linker_name))) return dwarf_diename(die);
    char bytes[SYMBOL_NAME_BYTES_MAX];
    *parent = ID_NONE;
    return copy(names, symbol_name_demangle(text_of(linker_name), true, bytes));
}

static bool is_before(const struct dwarf_scope *left, const struct dwarf_scope *right) {
    return left->line != right->line ? left->line < right->line : left->column < right->column;
}

/* Returns the number of a type without a name among those of its parent, in the order of the source, from 1. Entries
 * need not have that order. */
static uint32_t number_of(const struct dwarf_names *names, struct dwarf_scope *type) {
    if (type->number) return type->number;
    uint32_t other = type->parent == ID_NONE ? names->last_unnamed : scope_at(names, type->parent)->last_unnamed;
    for (type->number = 1; other != ID_NONE; other = scope_at(names, other)->elder)
        type->number += is_before(scope_at(names, other), type);
    return type->number;
}

/* Names a type as demanglers do. They also count a lambda's parameters, which this does not. */
static const char *unnamed_type(struct dwarf_names *names, uint32_t number, const char *member) {
    char bytes[40];
    bool is_lambda = strncmp(member, "operator()", strlen("operator()")) == 0;
    int bytes_count = snprintf(bytes, sizeof bytes, is_lambda ? "{lambda#%u}" : "{unnamed type#%u}", number);
    return copy(names, (struct text){bytes, (size_t)bytes_count});
}

/* member: what the scope has inside, of which this is the name. Stores the scope around it. */
static const char *scope_name(struct dwarf_names *names, uint32_t row, const char *member, uint32_t *parent) {
    struct dwarf_scope *scope = scope_at(names, row);
    *parent = scope->parent;
    int tag = dwarf_tag(&scope->die);
    const char *name =
        tag == DW_TAG_subprogram ? function_name(names, &scope->die, parent) : dwarf_diename(&scope->die);
    if (name) return name;
    return tag == DW_TAG_namespace ? "(anonymous namespace)" : unnamed_type(names, number_of(names, scope), member);
}

static const char *join(struct dwarf_names *names, uint32_t scope, const char *name) {
    /* Each scope takes two bytes or more. Longer names are cut anyway (SYMBOL_TEXT_BYTES_MAX). */
    const char *parts[SYMBOL_NAME_BYTES_MAX / 2 + 1] = {name};
    size_t count = 1, bytes_count = strlen(name) + 1;
    while (scope != ID_NONE && bytes_count < SYMBOL_NAME_BYTES_MAX) {
        parts[count] = scope_name(names, scope, parts[count - 1], &scope);
        bytes_count += strlen(parts[count++]) + 2;
    }
    char *joined = arena_take_bytes(&names->texts, bytes_count);
    if (!joined) return name;
    char *end = joined;
    while (--count) {
        end = stpcpy(end, parts[count]);
        end = stpcpy(end, "::");
    }
    strcpy(end, name);
    return joined;
}

const char *dwarf_names_qualify(struct dwarf_names *names, struct dwarf_scoped_function *function, const char *name) {
    if (!function->name) function->name = join(names, function->scope, name);
    return function->name;
}
