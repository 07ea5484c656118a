/* Names that JIT compilers and interpreters give their code in perf maps: "JS:*fn file.js:10:3", "py::fn:/file.py". */
#ifndef GECKO_PERF_SCRIPT_NAMES_H
#define GECKO_PERF_SCRIPT_NAMES_H

#include <stdint.h>

#include "libconvert/text.h"

enum script_kind {
    SCRIPT_NONE,
    SCRIPT_JAVASCRIPT,
    SCRIPT_PYTHON,
    SCRIPT_CODE /* of a JIT, but no function of a script */
};

struct script_name {
    enum script_kind kind;
    struct text tier; /* what compiled it, a subcategory; static */
    struct text file; /* empty when not told */
    uint32_t line;    /* 1-based; 0 unknown */
    uint32_t column;  /* 1-based; 0 unknown */
};

void script_name_parse(struct text symbol, struct script_name *out);

#endif
