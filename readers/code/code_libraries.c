#include "code_libraries.h"

void code_libraries_init(struct code_libraries *libraries, struct profile *profile) {
    libraries->profile = profile;
    strings_init(&libraries->names, profile->failure);
    column_init(&libraries->rows, sizeof(struct code_library), profile->failure);
}

void code_libraries_fini(struct code_libraries *libraries) {
    strings_fini(&libraries->names);
    column_fini(&libraries->rows);
}

/* ---- Libraries. ---- */

enum name_match { MATCH_WHOLE, MATCH_START };

/* Rules by the library's file name; the first row that matches applies. A name that no row matches is a user's file,
 * a kernel module by its ending or, in brackets, by its own name. */
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
    {MATCH_START, TEXT("memfd:doublemapper"), CODE_USER, false, false, false}, /* .NET's */
    {MATCH_START, TEXT("[JIT"), CODE_JIT, false, false, false},
    {MATCH_START, TEXT("jitted-"), CODE_JIT, true, false, false}, /* written by perf inject --jit */
    {MATCH_WHOLE, TEXT("[unknown]"), CODE_USER, false, false, false},
};

bool code_library_is_perf_map(struct text base_name) {
    return text_starts_with(base_name, TEXT("perf-")) && text_ends_with(base_name, TEXT(".map"));
}

bool code_library_is_module(struct text path) {
    static const struct text endings[] = {TEXT(".ko"), TEXT(".ko.gz"), TEXT(".ko.xz"), TEXT(".ko.zst")};
    return TEXT_ENDS_IN(path, endings);
}

static void classify_library(struct code_library *library) {
    for (size_t i = 0; i < sizeof library_rules / sizeof *library_rules; i++) {
        struct text name = library->base_name, pattern = library_rules[i].pattern;
        bool is_whole = library_rules[i].match == MATCH_WHOLE;
        if (is_whole ? !text_equal(name, pattern) : !text_starts_with(name, pattern)) continue;
        library->kind = library_rules[i].kind;
        library->is_file = library_rules[i].is_file;
        library->is_kernel_image = library_rules[i].is_kernel_image;
        library->is_guest = library_rules[i].is_guest;
        return;
    }
    bool is_module = text_starts_with(library->path, TEXT("[")) || code_library_is_module(library->base_name);
    library->kind = code_library_is_perf_map(library->base_name) ? CODE_JIT : is_module ? CODE_KERNEL : CODE_USER;
    library->is_file = library->kind != CODE_JIT;
}

uint32_t code_libraries_intern(struct code_libraries *libraries, struct text path) {
    string_id id = strings_intern(&libraries->names, path);
    if (string_is_none(id) || id.index < libraries->rows.count) return id.index;
    struct code_library *library = column_push(&libraries->rows);
    if (!library) return ID_NONE;
    struct text stored = strings_text(&libraries->names, id);
    bool is_known = stored.bytes_count > 0;
    /* A name in brackets is not a path, even with a slash in it: "[JIT] tid 5". */
    struct text base_name = text_starts_with(stored, TEXT("[")) ? stored : text_base_name(stored);
    *library = (struct code_library){
        .path = stored, .base_name = is_known ? base_name : TEXT("[unknown]"), .resource = resource_none()};
    classify_library(library);
    if (is_known) {
        string_id name = profile_string(libraries->profile, library->base_name);
        library->resource = profile_resource(libraries->profile, name, RESOURCE_LIBRARY);
    }
    return id.index;
}

/* A large recording has hundreds of thousands of such names, and printf would take 6 % of the time. */
string_id code_address_name(struct profile *profile, struct text library, uint64_t address) {
    enum { FILE_NAME_BYTES_MAX = 255, DIGITS_MAX = 16 };
    char name[FILE_NAME_BYTES_MAX + sizeof "+0x" + DIGITS_MAX], *out = name;
    struct text base = text_slice(library, 0, FILE_NAME_BYTES_MAX);
    if (base.bytes_count) {
        out = mempcpy(out, base.bytes, base.bytes_count);
        *out++ = '+';
    }
    *out++ = '0';
    *out++ = 'x';
    unsigned digit_count = (67 - (unsigned)__builtin_clzll(address | 1)) / 4;
    for (unsigned i = digit_count; i-- > 0;) *out++ = "0123456789abcdef"[address >> 4 * i & 15];
    return profile_string(profile, (struct text){name, (size_t)(out - name)});
}

/* ---- Categories. ---- */

/* Kernel functions in which an idle processor waits. */
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

static bool is_idle_function(struct text name) { return TEXT_IS_IN(name, idle_functions); }

static struct text kernel_subcategory(const struct code_library *library, struct text name) {
    if (library->is_guest) return TEXT("Guest");
    if (text_starts_with(name, TEXT("bpf_prog_")) || !library->is_file) return TEXT("BPF");
    if (library->is_kernel_image) return TEXT("");
    struct text module = library->base_name;
    if (text_starts_with(module, TEXT("["))) return text_slice(module, 1, text_find(module, ']'));
    return text_slice(module, 0, text_find(module, '.'));
}

static struct category_pair own_category(struct code_libraries *libraries, struct code_library *library) {
    struct text name = library->path.bytes_count ? library->base_name : TEXT("");
    if (!library->has_own_category)
        library->own_category = categories_intern_code(&libraries->profile->categories, CODE_USER, name);
    library->has_own_category = true;
    return library->own_category;
}

struct category_pair code_libraries_categorise(struct code_libraries *libraries, struct code_library *library,
                                               enum code_kind kind, struct text name,
                                               const struct script_name *script) {
    struct categories *categories = &libraries->profile->categories;
    if (script->kind != SCRIPT_NONE)
        return categories_intern_code(categories, script->kind == SCRIPT_PYTHON ? CODE_SCRIPT : CODE_JIT, script->tier);
    switch (kind) {
        case CODE_KERNEL:
            if (is_idle_function(name)) return categories_intern_code(categories, CODE_IDLE, TEXT(""));
            if (!library->path.bytes_count) return categories_intern_code(categories, CODE_KERNEL, TEXT(""));
            return categories_intern_code(categories, CODE_KERNEL, kernel_subcategory(library, name));
        case CODE_USER: return own_category(libraries, library);
        default: return categories_intern_code(categories, kind, TEXT(""));
    }
}
