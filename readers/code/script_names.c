#include "script_names.h"

#include "libconvert/base/cursor.h"

/* Prefixes that V8 (src/logging/log.cc, CodeKindToMarker, and src/objects/code-kind.h; older versions wrote LazyCompile
 * and Function) and Python (Python/perf_trampoline.c) put before names. The first row that matches applies. */
static const struct {
    struct text start;
    enum script_kind kind;
    struct text tier;
} prefixes[] = {
    {TEXT("JS:*"), SCRIPT_JAVASCRIPT, TEXT("TurboFan")},
    {TEXT("JS:+"), SCRIPT_JAVASCRIPT, TEXT("Maglev")},
    {TEXT("JS:^"), SCRIPT_JAVASCRIPT, TEXT("Sparkplug")},
    {TEXT("JS:~"), SCRIPT_JAVASCRIPT, TEXT("Ignition")},
    {TEXT("JS:"), SCRIPT_JAVASCRIPT, TEXT("JavaScript")},
    {TEXT("LazyCompile:*"), SCRIPT_JAVASCRIPT, TEXT("TurboFan")},
    {TEXT("LazyCompile:^"), SCRIPT_JAVASCRIPT, TEXT("Sparkplug")},
    {TEXT("LazyCompile:~"), SCRIPT_JAVASCRIPT, TEXT("Ignition")},
    {TEXT("LazyCompile:"), SCRIPT_JAVASCRIPT, TEXT("JavaScript")},
    {TEXT("Function:*"), SCRIPT_JAVASCRIPT, TEXT("TurboFan")},
    {TEXT("Function:^"), SCRIPT_JAVASCRIPT, TEXT("Sparkplug")},
    {TEXT("Function:~"), SCRIPT_JAVASCRIPT, TEXT("Ignition")},
    {TEXT("Function:"), SCRIPT_JAVASCRIPT, TEXT("JavaScript")},
    {TEXT("Script:"), SCRIPT_JAVASCRIPT, TEXT("JavaScript")},
    {TEXT("Eval:"), SCRIPT_JAVASCRIPT, TEXT("JavaScript")},
    {TEXT("RegExp:"), SCRIPT_CODE, TEXT("RegExp")},
    {TEXT("BytecodeHandler:"), SCRIPT_CODE, TEXT("Interpreter")},
    {TEXT("Builtin:"), SCRIPT_CODE, TEXT("Builtin")},
    {TEXT("Stub:"), SCRIPT_CODE, TEXT("Stub")},
    {TEXT("py::"), SCRIPT_PYTHON, TEXT("Python")},
};

/* What .NET appends to names (GetJitOptimizationTierStr in src/coreclr/vm/prestub.cpp, and perfmap.cpp), in brackets.
 */
static const struct text dotnet_tiers[] = {
    TEXT("[PreStub]"),           TEXT("[PreJIT]"),           TEXT("[MinOptJitted]"),
    TEXT("[Optimized]"),         TEXT("[QuickJitted]"),      TEXT("[OptimizedTier1]"),
    TEXT("[OptimizedTier1OSR]"), TEXT("[InstrumentedTier]"), TEXT("[InstrumentedTierOptimized]"),
};

/* Parses "name file.js:10:3", "name file.js:10", "name file.js" or " file.js:10:3". Code of all tiers has one name. */
static void parse_javascript(struct text text, struct script_name *out) {
    size_t blank = text_find_last(text, ' ');
    out->name = text_slice(text, 0, blank);
    while (out->name.bytes_count && strchr("~^+*", out->name.bytes[0])) out->name = text_from(out->name, 1);
    if (!out->name.bytes_count) out->name = TEXT("(anonymous)");
    if (blank == text.bytes_count) return;
    struct text location = text_from(text, blank + 1);
    uint32_t last, line;
    if (cursor_take_last_place(&location, &last)) {
        bool has_column = cursor_take_last_place(&location, &line);
        out->line = has_column ? line : last;
        out->column = has_column ? last : 0;
    }
    out->file = location;
}

/* Parses "fn:/file.py" or "Class.fn:<frozen importlib._bootstrap>". A path may have colons; a name has none. */
static void parse_python(struct text text, struct script_name *out) {
    size_t colon = text_find(text, ':');
    out->name = colon ? text_slice(text, 0, colon) : TEXT("(anonymous)");
    out->file = text_from(text, colon + 1);
}

/* Parses "void [App] App.Service::Run(int64)[OptimizedTier1]". Code of all tiers has one name. */
static bool parse_dotnet(struct text symbol, struct script_name *out) {
    for (size_t i = 0; i < sizeof dotnet_tiers / sizeof *dotnet_tiers; i++) {
        struct text tier = dotnet_tiers[i];
        if (symbol.bytes_count == tier.bytes_count || !text_ends_with(symbol, tier)) continue;
        out->kind = SCRIPT_CODE;
        out->name = text_slice(symbol, 0, symbol.bytes_count - tier.bytes_count);
        out->tier = text_slice(tier, 1, tier.bytes_count - 1);
        return true;
    }
    return false;
}

void script_name_parse(struct text symbol, struct script_name *out) {
    *out = (struct script_name){.name = symbol};
    if (parse_dotnet(symbol, out)) return;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (!text_starts_with(symbol, prefixes[i].start)) continue;
        /* A name such as "JS::Call" is C++, not a script's. */
        struct text name = text_from(symbol, prefixes[i].start.bytes_count);
        if (text_starts_with(name, TEXT(":")) && prefixes[i].kind != SCRIPT_PYTHON) return;
        out->kind = prefixes[i].kind;
        out->tier = prefixes[i].tier;
        if (out->kind == SCRIPT_JAVASCRIPT) parse_javascript(name, out);
        if (out->kind == SCRIPT_PYTHON) parse_python(name, out);
        return;
    }
}
