/* The libraries and other origins of code, and the categories and names of that code. */
#pragma once

#include "libconvert/profile/profile.h"
#include "script_names.h"

/* What a library's name implies for its code. */
struct code_library {
    struct text path;      /* empty if unknown */
    struct text base_name; /* "[unknown]" if the library is unknown */
    resource_id resource;
    enum code_kind kind;
    bool is_file;         /* can become a lib of the profile; false for anonymous memory and perf maps */
    bool is_kernel_image; /* vmlinux under its many names; false for modules */
    bool is_guest;
    bool has_own_category;             /* what follows is set */
    struct category_pair own_category; /* category of code that is known by its library alone */
};

struct code_libraries {
    struct profile *profile; /* borrowed */
    struct strings names;
    struct column rows; /* struct code_library, one for each name */
};

void code_libraries_init(struct code_libraries *libraries, struct profile *profile);
void code_libraries_fini(struct code_libraries *libraries);

/* Returns the row of the library with that path or name (empty if unknown). Adds it if it is new. ID_NONE if memory ran
 * out (latched). */
uint32_t code_libraries_intern(struct code_libraries *libraries, struct text path);

static inline struct code_library *code_libraries_at(const struct code_libraries *libraries, uint32_t row) {
    return column_at(&libraries->rows, row);
}

/* Returns whether the file name is that of a perf map, such as "perf-1234.map". */
bool code_library_is_perf_map(struct text base_name);

/* Returns whether the file is a module of the kernel, by its name. */
bool code_library_is_module(struct text path);

/* Returns the category of a function of that name in the library. */
struct category_pair code_libraries_categorise(struct code_libraries *libraries, struct code_library *library,
                                               enum code_kind kind, struct text name, const struct script_name *script);

/* Returns a name for an unknown function: "libc.so.6+0x1f" or, without a library, "0x1f". */
string_id code_address_name(struct profile *profile, struct text library, uint64_t address);

/* Returns whether the address is in the upper half of the address space, which is the kernel's on x86-64 and on
 * aarch64. */
static inline bool code_address_is_kernel(uint64_t address) { return address >= 0xffff000000000000u; }
