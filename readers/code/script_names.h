/* Parses the names that JIT compilers and interpreters give their code in perf maps: "JS:*fn file.js:10:3",
 * "py::fn:/file.py", "void [App] App::Run()[OptimizedTier1]". */
#pragma once

#include <stdint.h>

#include "libconvert/base/text.h"

enum script_kind {
    SCRIPT_NONE,
    SCRIPT_JAVASCRIPT,
    SCRIPT_PYTHON,
    SCRIPT_CODE /* generated code that is not a function of a script */
};

struct script_name {
    enum script_kind kind;
    struct text name; /* name of the function, without tier and place; for code of V8 without a function, the symbol */
    struct text tier; /* the compiler tier, which becomes a subcategory; static */
    struct text file; /* file of the script; empty if unknown */
    uint32_t line;    /* 1-based; 0 if unknown */
    uint32_t column;  /* 1-based; 0 if unknown */
};

/* The texts in *out point into the symbol, or are static. */
void script_name_parse(struct text symbol, struct script_name *out);
