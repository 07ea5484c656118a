/* The libraries and other origins of code in a perf recording, and the categories of that code. */
#ifndef GECKO_PERF_LIBRARIES_H
#define GECKO_PERF_LIBRARIES_H

#include "libconvert/profile/profile.h"
#include "readers/code/script_names.h"

/* What a library's name implies for its code. */
struct perf_library {
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

struct perf_libraries {
    struct profile *profile; /* borrowed */
    struct strings names;
    struct column rows; /* struct perf_library, one for each name */
};

void perf_libraries_init(struct perf_libraries *libraries, struct profile *profile);
void perf_libraries_fini(struct perf_libraries *libraries);

/* Returns the row of the library with that path or name (empty if unknown). Adds it if it is new. ID_NONE if memory ran
 * out (latched). */
uint32_t perf_libraries_intern(struct perf_libraries *libraries, struct text path);

static inline struct perf_library *perf_libraries_at(const struct perf_libraries *libraries, uint32_t row) {
    return column_at(&libraries->rows, row);
}

/* Returns whether the file name is that of a perf map, such as "perf-1234.map". */
bool perf_library_is_perf_map(struct text base_name);

/* Returns the category of a function of that name in the library. */
struct category_pair perf_libraries_categorise(struct perf_libraries *libraries, struct perf_library *library,
                                               enum code_kind kind, struct text name, const struct script_name *script);

/* Returns whether the address is in the upper half of the address space, which is the kernel's on x86-64 and on
 * aarch64. */
static inline bool perf_address_is_kernel(uint64_t address) { return address >= 0xffff000000000000u; }

#endif
