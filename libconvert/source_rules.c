#include "source_rules.h"

#include <stdlib.h>
#include <strings.h>

/* Sorted. Formats that hold data as often as code, such as JSON, SQL and shell scripts, are not among them. */
static const char *const endings[] = {
    "adb",   "ads",  "asm",    "bas",    "c",     "c++", "cc",   "cjs", "cl",   "clj",  "cljs", "coffee", "comp",
    "cpp",   "cr",   "cs",     "cts",    "cu",    "cuh", "cxx",  "d",   "dart", "def",  "di",   "el",     "erl",
    "ex",    "exs",  "f",      "f03",    "f08",   "f77", "f90",  "f95", "for",  "frag", "fs",   "fsx",    "geom",
    "glsl",  "go",   "groovy", "h",      "h++",   "hh",  "hlsl", "hpp", "hrl",  "hs",   "hx",   "hxx",    "inc",
    "inl",   "ino",  "ipp",    "ispc",   "java",  "jl",  "js",   "jsx", "kt",   "kts",  "l",    "lhs",    "lisp",
    "ll",    "lua",  "m",      "metal",  "mjs",   "ml",  "mli",  "mll", "mly",  "mm",   "mts",  "nim",    "pas",
    "php",   "pl",   "pm",     "pp",     "pxd",   "py",  "pyi",  "pyx", "r",    "rb",   "rkt",  "rs",     "s",
    "scala", "scm",  "sv",     "svelte", "swift", "sx",  "tcc",  "tcl", "td",   "tpp",  "ts",   "tsx",    "txx",
    "v",     "vala", "vb",     "vert",   "vhd",   "vue", "wgsl", "y",   "yy",   "zig",
};

static int compare_ending(const void *key, const void *element) {
    return strcasecmp(key, *(const char *const *)element);
}

bool source_name_is_code(struct text path) {
    char ending[8];
    struct text name = text_base_name(path);
    size_t dot = text_find_last(name, '.');
    if (!dot || dot == name.bytes_count || !text_copy(text_from(name, dot + 1), ending, sizeof ending)) return false;
    return bsearch(ending, endings, sizeof endings / sizeof *endings, sizeof *endings, compare_ending);
}

bool source_path_is_hidden(struct text path) {
    return text_starts_with(path, TEXT(".")) || memmem(path.bytes, path.bytes_count, "/.", 2);
}

bool source_is_text(struct text bytes) { return text_find(bytes, '\0') == bytes.bytes_count; }
