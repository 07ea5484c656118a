/* The name by which a function of one run is found in another run, without what differs between builds. */
#pragma once

#include "libconvert/base/strings.h"
#include "libconvert/profile/profile.h"

/* What does not count when functions are matched. */
enum ignored_part {
    IGNORE_TEMPLATES = 1, /* template and generic arguments */
    IGNORE_CLONES = 2,    /* what compilers append to the parts and copies of a function: ".part.0", ".constprop.1" */
    IGNORE_PATHS = 4,     /* the folders of source files */
    IGNORE_VERSIONS = 8,  /* versions of symbols and libraries: "memcpy@GLIBC_2.14", "libz.so.1.3" */
    IGNORE_ALL = 15
};

/* Reads a comma-separated list of "templates", "clones", "paths", "versions" and "all" into bits; NULL: none. Latches
 * FAILURE_USAGE if a word is none of them. */
unsigned ignored_parts_parse(const char *list, struct failure *failure);

/* Texts of the name table, or empty. */
struct matched_name {
    struct text name;
    struct text library;
    struct text file;
};

/* Returns the function's name. Those that are nameless are all called "(no name)", since their addresses differ. */
struct matched_name matched_name_of(const struct profile *profile, func_id func, bool is_nameless, unsigned ignored,
                                    struct strings *names);
