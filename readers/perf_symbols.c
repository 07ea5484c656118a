#include "perf_symbols.h"

#include <inttypes.h>

#include "perf_script_names.h"

struct line_key {
    XXH128_hash_t hash;
    uint32_t symbol;
};

void perf_symbols_init(struct perf_symbols *symbols, struct profile *profile) {
    symbols->profile = profile;
    index_set_init(&symbols->lines, profile->failure);
    column_init(&symbols->line_keys, sizeof(struct line_key), profile->failure);
    column_init(&symbols->rows, sizeof(struct perf_symbol), profile->failure);
    strings_init(&symbols->library_names, profile->failure);
    column_init(&symbols->libraries, sizeof(struct perf_library), profile->failure);
}

void perf_symbols_fini(struct perf_symbols *symbols) {
    index_set_fini(&symbols->lines);
    column_fini(&symbols->line_keys);
    column_fini(&symbols->rows);
    strings_fini(&symbols->library_names);
    column_fini(&symbols->libraries);
}

/* ---- Libraries. ---- */

enum name_match { MATCH_WHOLE, MATCH_START, MATCH_END };

static bool name_matches(struct text name, enum name_match match, struct text pattern) {
    switch (match) {
        case MATCH_WHOLE:
            return text_equal(name, pattern);
        case MATCH_START:
            return text_starts_with(name, pattern);
        case MATCH_END:
            return text_ends_with(name, pattern);
    }
    return false;
}

/* Decides by the library's file name; the first row that matches counts. What none matches is a user's file, or, in
 * brackets, a kernel module. */
static const struct {
    enum name_match match;
    struct text pattern;
    enum code_kind kind;
    bool is_file;
    bool is_kernel_image;
    bool is_guest;
} library_rules[] = {
    {MATCH_START, TEXT("[kernel.kallsyms]"), CODE_KERNEL, true, true, false},
    {MATCH_START, TEXT("[kernel.vmlinux]"), CODE_KERNEL, true, true, false},
    {MATCH_START, TEXT("[kernel]"), CODE_KERNEL, true, true, false},
    {MATCH_START, TEXT("[guest.kernel"), CODE_KERNEL, true, true, true},
    {MATCH_START, TEXT("vmlinux"), CODE_KERNEL, true, true, false},
    {MATCH_END, TEXT(".ko"), CODE_KERNEL, true, false, false},
    {MATCH_END, TEXT(".ko.gz"), CODE_KERNEL, true, false, false},
    {MATCH_END, TEXT(".ko.xz"), CODE_KERNEL, true, false, false},
    {MATCH_END, TEXT(".ko.zst"), CODE_KERNEL, true, false, false},
    {MATCH_START, TEXT("bpf_prog_"), CODE_KERNEL, false, false, false},
    {MATCH_START, TEXT("[bpf]"), CODE_KERNEL, false, false, false},
    {MATCH_START, TEXT("[vdso"), CODE_USER, true, false, false},
    {MATCH_START, TEXT("[vsyscall]"), CODE_USER, true, false, false},
    {MATCH_START, TEXT("[stack"), CODE_USER, false, false, false},
    {MATCH_START, TEXT("[heap]"), CODE_USER, false, false, false},
    {MATCH_START, TEXT("[anon"), CODE_USER, false, false, false},
    {MATCH_START, TEXT("[uprobes]"), CODE_USER, false, false, false},
    {MATCH_WHOLE, TEXT("anon"), CODE_USER, false, false, false}, /* base name of "//anon" */
    {MATCH_WHOLE, TEXT("anon_hugepage"), CODE_USER, false, false, false},
    {MATCH_START, TEXT("[JIT"), CODE_JIT, false, false, false},
    {MATCH_START, TEXT("jitted-"), CODE_JIT, true, false, false}, /* perf inject --jit */
    {MATCH_WHOLE, TEXT("[unknown]"), CODE_USER, false, false, false},
};

/* "/tmp/perf-1234.map". */
static bool is_perf_map(struct text base_name) {
    return text_starts_with(base_name, TEXT("perf-")) && text_ends_with(base_name, TEXT(".map"));
}

static void classify_library(struct perf_library *library) {
    for (size_t i = 0; i < sizeof library_rules / sizeof *library_rules; i++) {
        if (!name_matches(library->base_name, library_rules[i].match, library_rules[i].pattern)) continue;
        library->kind = library_rules[i].kind;
        library->is_file = library_rules[i].is_file;
        library->is_kernel_image = library_rules[i].is_kernel_image;
        library->is_guest = library_rules[i].is_guest;
        return;
    }
    bool is_module = text_starts_with(library->path, TEXT("["));
    library->kind = is_perf_map(library->base_name) ? CODE_JIT : is_module ? CODE_KERNEL : CODE_USER;
    library->is_file = library->kind != CODE_JIT;
}

static uint32_t intern_library(struct perf_symbols *symbols, struct text path) {
    string_id id = strings_intern(&symbols->library_names, path);
    if (string_is_none(id) || id.index < symbols->libraries.count) return id.index;
    struct perf_library *library = column_push(&symbols->libraries);
    if (!library) return ID_NONE;
    struct text stored = strings_text(&symbols->library_names, id);
    bool is_known = stored.bytes_count > 0;
    /* A path in brackets is a name as it stands: "[JIT] tid 5". */
    struct text base_name = text_starts_with(stored, TEXT("[")) ? stored : text_base_name(stored);
    *library = (struct perf_library){
        .path = stored, .base_name = is_known ? base_name : TEXT("[unknown]"), .resource = resource_none()};
    classify_library(library);
    if (is_known) {
        string_id name = profile_string(symbols->profile, library->base_name);
        library->resource = profile_resource(symbols->profile, name, RESOURCE_LIBRARY);
    }
    return id.index;
}

/* ---- Categories. ---- */

/* Where a processor waits for work. */
static const struct text idle_functions[] = {
    TEXT("pv_native_safe_halt"),
    TEXT("native_safe_halt"),
    TEXT("native_halt"),
    TEXT("default_idle"),
    TEXT("default_idle_call"),
    TEXT("default_enter_idle"),
    TEXT("arch_cpu_idle"),
    TEXT("intel_idle"),
    TEXT("intel_idle_irq"),
    TEXT("intel_idle_ibrs"),
    TEXT("mwait_idle"),
    TEXT("mwait_idle_with_hints.constprop.0"),
    TEXT("acpi_idle_enter"),
    TEXT("acpi_idle_do_entry"),
    TEXT("acpi_safe_halt"),
    TEXT("acpi_processor_ffh_cstate_enter"),
    TEXT("poll_idle"),
    TEXT("cpuidle_enter"),
    TEXT("cpuidle_enter_state"),
    TEXT("cpuidle_idle_call"),
    TEXT("do_idle"),
    TEXT("cpu_startup_entry"),
    TEXT("cpu_do_idle"),
};

static bool is_idle_function(struct text name) {
    for (size_t i = 0; i < sizeof idle_functions / sizeof *idle_functions; i++)
        if (text_equal(name, idle_functions[i])) return true;
    return false;
}

static struct text kernel_subcategory(const struct perf_library *library, struct text name) {
    if (library->is_guest) return TEXT("Guest");
    if (text_starts_with(name, TEXT("bpf_prog_")) || !library->is_file) return TEXT("BPF");
    if (library->is_kernel_image) return TEXT("");
    struct text module = library->base_name;
    if (text_starts_with(module, TEXT("["))) return text_slice(module, 1, text_find(module, ']'));
    return text_slice(module, 0, text_find(module, '.'));
}

static struct category_pair categorise(struct perf_symbols *symbols, const struct perf_library *library,
                                       enum code_kind kind, struct text name, const struct script_name *script) {
    struct categories *categories = &symbols->profile->categories;
    if (script->kind != SCRIPT_NONE)
        return categories_intern_code(categories, script->kind == SCRIPT_PYTHON ? CODE_SCRIPT : CODE_JIT, script->tier);
    switch (kind) {
        case CODE_KERNEL:
            if (is_idle_function(name)) return categories_intern_code(categories, CODE_IDLE, TEXT(""));
            if (!library->path.bytes_count) return categories_intern_code(categories, CODE_KERNEL, TEXT(""));
            return categories_intern_code(categories, CODE_KERNEL, kernel_subcategory(library, name));
        case CODE_USER:
            return categories_intern_code(categories, CODE_USER,
                                          library->path.bytes_count ? library->base_name : TEXT(""));
        default:
            return categories_intern_code(categories, kind, TEXT(""));
    }
}

/* ---- Symbols. ---- */

/* The upper half of the address space, on x86-64 and aarch64 alike. */
static bool is_kernel_address(uint64_t address) { return address >= 0xffff000000000000u; }

static string_id unknown_name(struct profile *profile, const struct perf_library *library,
                              const struct perf_frame_line *frame) {
    if (!frame->has_address) return profile_string(profile, TEXT("[unknown]"));
    struct text base_name = library->base_name;
    return strings_intern_format(&profile->strings, "%.*s+0x%" PRIx64, (int)base_name.bytes_count, base_name.bytes,
                                 frame->address);
}

static func_id make_func(struct profile *profile, const struct perf_symbol *symbol, resource_id resource) {
    bool is_js = symbol->flags & PERF_SYMBOL_IS_JS;
    bool has_source = !source_is_none(symbol->source);
    struct func func = {
        .name = symbol->name,
        .resource = has_source ? resource_none() : resource,
        .source = symbol->source,
        .line = symbol->line,
        .column = symbol->column,
        .flags = is_js ? FUNC_IS_JS : 0,
    };
    return profile_func(profile, &func);
}

static uint32_t add_symbol(struct perf_symbols *symbols, const struct perf_frame_line *frame, struct text name,
                           uint32_t inlined_name) {
    struct profile *profile = symbols->profile;
    uint32_t library_row = intern_library(symbols, frame->library);
    if (library_row == ID_NONE) return ID_NONE;
    const struct perf_library *library = perf_symbols_library(symbols, library_row);
    bool in_kernel_half = frame->has_address && is_kernel_address(frame->address);
    enum code_kind kind = !library->path.bytes_count && in_kernel_half ? CODE_KERNEL : library->kind;
    /* Compiled code may have such names too: "Script::run" in C++. */
    struct script_name script = {0};
    if (kind == CODE_JIT || !library->path.bytes_count) script_name_parse(name, &script);

    struct perf_symbol symbol = {
        .address = frame->address,
        .start = frame->address - frame->offset,
        .library = library_row,
        .name = name.bytes_count ? profile_string(profile, name) : unknown_name(profile, library, frame),
        .source = script.file.bytes_count ? profile_source(profile, script.file) : source_none(),
        .line = script.line,
        .column = script.column,
        .inlined_name = inlined_name,
        .exact = frame_none(),
        .caller = frame_none(),
        .category = categorise(symbols, library, kind, name, &script),
    };
    symbol.flags |= frame->has_address ? PERF_SYMBOL_HAS_ADDRESS : 0;
    symbol.flags |= frame->has_offset && frame->offset <= frame->address ? PERF_SYMBOL_HAS_START : 0;
    symbol.flags |= frame->is_inlined ? PERF_SYMBOL_IS_INLINED : 0;
    symbol.flags |= kind == CODE_KERNEL ? PERF_SYMBOL_IS_KERNEL : 0;
    symbol.flags |= script.kind == SCRIPT_JAVASCRIPT ? PERF_SYMBOL_IS_JS : 0;
    symbol.flags |= name.bytes_count ? 0 : PERF_SYMBOL_IS_UNKNOWN;
    symbol.func = make_func(profile, &symbol, library->resource);

    uint32_t row = (uint32_t)symbols->rows.count;
    struct perf_symbol *added = column_push(&symbols->rows);
    if (!added) return ID_NONE;
    *added = symbol;
    return row;
}

static size_t find_arrow(struct text name) {
    for (size_t i = 0; i + 1 < name.bytes_count; i++)
        if (name.bytes[i] == '-' && name.bytes[i + 1] == '>') return i;
    return name.bytes_count;
}

/* "A::f->B::g" in a perf map: B::g inlined into A::f. The outermost method is the physical frame. */
static uint32_t add_perf_map_symbol(struct perf_symbols *symbols, const struct perf_frame_line *frame) {
    struct text names[INLINE_DEPTH_MAX];
    size_t count = 0;
    struct text left = frame->symbol;
    while (count + 1 < INLINE_DEPTH_MAX) {
        size_t arrow = find_arrow(left);
        if (arrow == left.bytes_count) break;
        names[count++] = text_slice(left, 0, arrow);
        left = text_from(left, arrow + 2);
    }
    names[count++] = left;
    uint32_t symbol = ID_NONE;
    for (size_t i = count; i-- > 0;) {
        symbol = add_symbol(symbols, frame, names[i], symbol);
        if (symbol == ID_NONE) return ID_NONE;
        if (i > 0) perf_symbols_at(symbols, symbol)->flags |= PERF_SYMBOL_IS_INLINED;
    }
    return symbol;
}

static uint32_t add_cookie(struct perf_symbols *symbols, uint64_t cookie) {
    uint32_t row = (uint32_t)symbols->rows.count;
    struct perf_symbol *added = column_push(&symbols->rows);
    if (!added) return ID_NONE;
    *added = (struct perf_symbol){.address = cookie, .inlined_name = ID_NONE, .flags = PERF_SYMBOL_IS_COOKIE};
    return row;
}

static uint32_t read_line(struct perf_symbols *symbols, struct text line) {
    struct perf_frame_line frame;
    if (!perf_frame_line_parse(line, &frame)) return ID_NONE;
    if (is_perf_map(text_base_name(frame.library))) return add_perf_map_symbol(symbols, &frame);
    if (frame.is_cookie) return add_cookie(symbols, frame.address);
    return add_symbol(symbols, &frame, frame.symbol, ID_NONE);
}

uint32_t perf_symbols_of_line(struct perf_symbols *symbols, struct text line) {
    if (!index_set_reserve(&symbols->lines)) return ID_NONE;
    XXH128_hash_t hash = index_set_identity(line.bytes, line.bytes_count);
    struct index_slot *slot = index_set_first(&symbols->lines, (uint32_t)hash.low64);
    for (; !index_slot_is_empty(slot); slot = index_set_next(&symbols->lines, slot)) {
        if (slot->hash != (uint32_t)hash.low64) continue;
        const struct line_key *key = column_at(&symbols->line_keys, slot->index);
        if (XXH128_isEqual(key->hash, hash)) return key->symbol;
    }
    uint32_t symbol = read_line(symbols, line);
    if (symbol == ID_NONE) return ID_NONE;
    uint32_t row = (uint32_t)symbols->line_keys.count;
    struct line_key *key = column_push(&symbols->line_keys);
    if (!key) return ID_NONE;
    *key = (struct line_key){hash, symbol};
    index_set_fill(&symbols->lines, slot, (uint32_t)hash.low64, row);
    return symbol;
}
