/* Libraries: the mapped files that frames lie in. A library is its path and its build id. */
#ifndef GECKO_LIBS_H
#define GECKO_LIBS_H

#include "row_table.h"
#include "strings.h"

/* Everything a profile says of a library. Names follow the front-end's Lib type. */
struct lib {
    struct text name; /* file name */
    struct text path;
    struct text debug_name;  /* unique together with the breakpad id; has no slash */
    struct text breakpad_id; /* 33 hex digits made from the build id; empty without one */
    struct text code_id;     /* the build id in lower-case hex; empty without one */
};

struct libs {
    struct strings texts;
    struct row_table keys;       /* path, code id */
    struct column rows;          /* struct lib, one for each key */
    struct row_table debug_keys; /* debug name, breakpad id */
    struct column next_copies;   /* uint32_t, for each debug key: the number that its next namesake tries first */
};

void libs_init(struct libs *libs, struct failure *failure);
void libs_fini(struct libs *libs);

/* The library at that path. build_id is hex text, or empty when it is not known. A second library of the same
 * file name gets a debug name of its own, since the client tells libraries apart by that and the breakpad id. */
lib_id libs_intern(struct libs *libs, struct text path, struct text build_id);

static inline const struct lib *libs_at(const struct libs *libs, lib_id id) { return column_at(&libs->rows, id.index); }
static inline uint32_t libs_count(const struct libs *libs) { return (uint32_t)libs->rows.count; }

#endif
