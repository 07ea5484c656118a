/* Runtimes that generate code, and what their users can do so that it has names and whole stacks. */
#pragma once

#include "profile.h"

struct runtime {
    struct text library;      /* how the name of its library begins; may be empty */
    struct text program;      /* the name of its program; may be empty */
    const char *lacks_names;  /* why generated code has no names, and which option of the runtime gives it some */
    const char *keeps_stacks; /* its option that keeps frame pointers; NULL: it always keeps them, or never */
};

/* Returns the only runtime that the profile has libraries of. NULL if there are none, or several. */
const struct runtime *runtime_of_profile(const struct profile *profile);
