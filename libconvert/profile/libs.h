/* Libraries: the mapped files in which frames lie. A library is identified by its path and its build id. */
#pragma once

#include "libconvert/base/strings.h"
#include "libconvert/base/value_table.h"

/* What a profile says about a library. Names follow the front-end's Lib type. */
struct lib {
    struct text name; /* the file name */
    struct text path;
    struct text debug_name;  /* unique together with the breakpad id; has no slash */
    struct text breakpad_id; /* 33 hex digits made from the build id; empty if that is unknown */
    struct text code_id;     /* the build id in lower-case hex; empty if unknown */
    struct text arch;        /* empty if unknown */
    struct text debug_path;  /* the file with its debug information, as far as the trace says */
    bool is_from_profile;    /* a profile says all of this, so that nothing follows from the build id */
};

struct libs {
    struct strings texts;
    struct row_table keys; /* path, code id */
    struct column rows;    /* struct lib, one for each key */
    /* For each debug name and breakpad id, a uint32_t: the number that its next library tries first. */
    struct value_table next_copies;
};

void libs_init(struct libs *libs, struct failure *failure);
void libs_fini(struct libs *libs);

/* Returns the library at that path, which is added if it is new. build_id is hex text, or empty if unknown. A second
 * library with the same file name gets a debug name of its own, since the front-end tells libraries apart by debug name
 * and breakpad id. */
lib_id libs_intern(struct libs *libs, struct text path, struct text build_id);

/* Returns the library that another table or a profile has, which is added if it is new. */
lib_id libs_take(struct libs *libs, const struct lib *lib);

static inline const struct lib *libs_at(const struct libs *libs, lib_id id) { return column_at(&libs->rows, id.index); }
static inline uint32_t libs_count(const struct libs *libs) { return (uint32_t)libs->rows.count; }
