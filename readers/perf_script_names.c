#include "perf_script_names.h"

/* V8: src/logging/log.cc (CodeKindToMarker) and src/objects/code-kind.h; older versions wrote LazyCompile and Function.
 * Python: Python/perf_trampoline.c. The first row that matches counts. */
static const struct {
    struct text start;
    enum script_kind kind;
    struct text tier;
} prefixes[] = {
    {{"JS:*", 4}, SCRIPT_JAVASCRIPT, {"TurboFan", 8}},
    {{"JS:+", 4}, SCRIPT_JAVASCRIPT, {"Maglev", 6}},
    {{"JS:^", 4}, SCRIPT_JAVASCRIPT, {"Sparkplug", 9}},
    {{"JS:~", 4}, SCRIPT_JAVASCRIPT, {"Ignition", 8}},
    {{"JS:", 3}, SCRIPT_JAVASCRIPT, {"JavaScript", 10}},
    {{"LazyCompile:*", 13}, SCRIPT_JAVASCRIPT, {"TurboFan", 8}},
    {{"LazyCompile:^", 13}, SCRIPT_JAVASCRIPT, {"Sparkplug", 9}},
    {{"LazyCompile:~", 13}, SCRIPT_JAVASCRIPT, {"Ignition", 8}},
    {{"LazyCompile:", 12}, SCRIPT_JAVASCRIPT, {"JavaScript", 10}},
    {{"Function:*", 10}, SCRIPT_JAVASCRIPT, {"TurboFan", 8}},
    {{"Function:^", 10}, SCRIPT_JAVASCRIPT, {"Sparkplug", 9}},
    {{"Function:~", 10}, SCRIPT_JAVASCRIPT, {"Ignition", 8}},
    {{"Function:", 9}, SCRIPT_JAVASCRIPT, {"JavaScript", 10}},
    {{"Script:", 7}, SCRIPT_JAVASCRIPT, {"JavaScript", 10}},
    {{"Eval:", 5}, SCRIPT_JAVASCRIPT, {"JavaScript", 10}},
    {{"RegExp:", 7}, SCRIPT_CODE, {"RegExp", 6}},
    {{"BytecodeHandler:", 16}, SCRIPT_CODE, {"Interpreter", 11}},
    {{"Builtin:", 8}, SCRIPT_CODE, {"Builtin", 7}},
    {{"Stub:", 5}, SCRIPT_CODE, {"Stub", 4}},
    {{"py::", 4}, SCRIPT_PYTHON, {"Python", 6}},
};

static bool take_last_number(struct text *text, uint32_t *out) {
    size_t colon = text_find_last(*text, ':');
    size_t digits = text->bytes_count - colon;
    if (digits < 2 || digits > 10) return false;
    uint32_t value = 0;
    for (size_t i = colon + 1; i < text->bytes_count; i++) {
        if (text->bytes[i] < '0' || text->bytes[i] > '9') return false;
        value = value * 10 + (uint32_t)(text->bytes[i] - '0');
    }
    text->bytes_count = colon;
    *out = value;
    return true;
}

/* "name file.js:10:3", "name file.js:10", "name file.js", " file.js:10:3". */
static void parse_javascript(struct text text, struct script_name *out) {
    size_t blank = text_find_last(text, ' ');
    if (blank == text.bytes_count) return;
    struct text location = text_from(text, blank + 1);
    uint32_t last, line;
    if (take_last_number(&location, &last)) {
        bool has_column = take_last_number(&location, &line);
        out->line = has_column ? line : last;
        out->column = has_column ? last : 0;
    }
    out->file = location;
}

/* "fn:/file.py", "Class.fn:<frozen importlib._bootstrap>". */
static void parse_python(struct text text, struct script_name *out) {
    size_t colon = text_find_last(text, ':');
    if (colon < text.bytes_count) out->file = text_from(text, colon + 1);
}

void script_name_parse(struct text symbol, struct script_name *out) {
    *out = (struct script_name){0};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (!text_starts_with(symbol, prefixes[i].start)) continue;
        /* "JS::Call" is C++. */
        struct text name = text_from(symbol, prefixes[i].start.bytes_count);
        if (text_starts_with(name, TEXT(":")) && prefixes[i].kind != SCRIPT_PYTHON) return;
        out->kind = prefixes[i].kind;
        out->tier = prefixes[i].tier;
        if (out->kind == SCRIPT_JAVASCRIPT) parse_javascript(name, out);
        if (out->kind == SCRIPT_PYTHON) parse_python(name, out);
        return;
    }
}
