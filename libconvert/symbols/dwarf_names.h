/* Finds the namespace, type or function that each function in DWARF is in, for qualified names: "outer::inner::name",
 * "outer(int)::{lambda#1}::operator()". */
#pragma once

#include <elfutils/libdw.h>

#include "libconvert/base/arena.h"
#include "libconvert/base/column.h"

struct dwarf_names {
    struct column scopes;    /* struct dwarf_scope */
    struct column functions; /* struct dwarf_scoped_function, by ascending offset within each unit */
    uint32_t last_unnamed;   /* the last type without a name that was added in no scope; ID_NONE: none */
    struct arena texts;
};

/* A function in a scope. */
struct dwarf_scoped_function {
    Dwarf_Off offset; /* offset of its entry */
    uint32_t scope;
    const char *name; /* qualified, in the names' texts; NULL until dwarf_names_qualify */
};

void dwarf_names_init(struct dwarf_names *names, struct failure *failure);
void dwarf_names_fini(struct dwarf_names *names);

/* Adds the entry of a namespace, a type or a function in the scope `parent` (ID_NONE: in none). Returns the new scope's
 * number; if memory runs out (latched), `parent`. */
uint32_t dwarf_names_add_scope(struct dwarf_names *names, const Dwarf_Die *die, uint32_t parent);

/* Adds a function's entry. Does nothing if the scope is ID_NONE. */
void dwarf_names_add_function(struct dwarf_names *names, Dwarf_Die *die, uint32_t scope);

/* Returns the function whose entry is at the offset, among the `count` functions from number `first` on, which are all
 * of one unit. Returns NULL if there is none. */
struct dwarf_scoped_function *dwarf_names_find(const struct dwarf_names *names, size_t first, size_t count,
                                               Dwarf_Off offset);

/* Returns the function's qualified name; if memory runs out (latched), `name`. Valid until dwarf_names_fini. */
const char *dwarf_names_qualify(struct dwarf_names *names, struct dwarf_scoped_function *function, const char *name);
