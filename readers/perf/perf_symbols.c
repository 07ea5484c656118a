#include "perf_symbols.h"

#include "libconvert/base/symbol_version.h"
#include "libconvert/symbols/symbol_names.h"
#include "readers/code/script_frames.h"

/* Symbols with the same key differ only in their addresses. */
struct name_key {
    struct index_identity name_hash;
    uint32_t library;
    uint32_t flags; /* enum perf_symbol_flags: those of flags_of */
};
_Static_assert(sizeof(struct name_key) == 24, "rows are compared as bytes: no padding");

void perf_symbols_init(struct perf_symbols *symbols, struct profile *profile) {
    symbols->profile = profile;
    column_init(&symbols->memos, sizeof(struct perf_symbol_memo), profile->failure);
    row_table_init(&symbols->names, sizeof(struct name_key), profile->failure);
    column_init(&symbols->of_names, sizeof(struct perf_name), profile->failure);
    column_init(&symbols->rows, sizeof(struct perf_symbol), profile->failure);
    code_libraries_init(&symbols->libraries, profile);
}

void perf_symbols_fini(struct perf_symbols *symbols) {
    COLUMNS_FINI(&symbols->memos, &symbols->of_names, &symbols->rows);
    row_table_fini(&symbols->names);
    code_libraries_fini(&symbols->libraries);
}

/* ---- Symbols. ---- */

func_id perf_symbols_func(struct perf_symbols *symbols, struct perf_symbol *symbol) {
    if (!func_is_none(symbol->func)) return symbol->func;
    const struct code_library *library = perf_symbols_library(symbols, perf_symbols_name(symbols, symbol)->library);
    bool has_address = symbol->flags & PERF_SYMBOL_HAS_ADDRESS;
    struct profile *profile = symbols->profile;
    const struct func func = {.name = has_address ? code_address_name(profile, library->base_name, symbol->address)
                                                  : profile_string(profile, TEXT("[unknown]")),
                              .resource = library->resource,
                              .source = source_none()};
    return symbol->func = profile_func(profile, &func);
}

static uint32_t push_symbol(struct perf_symbols *symbols, const struct perf_symbol *symbol) {
    uint32_t row = (uint32_t)symbols->rows.count;
    /* Memory may have run out between the two columns, which then no longer have the same rows. */
    if (failure_is_set(symbols->profile->failure)) return ID_NONE;
    struct perf_symbol_memo *memo = column_push(&symbols->memos);
    struct perf_symbol *added = memo ? column_push(&symbols->rows) : NULL;
    if (!added) return ID_NONE;
    *memo = (struct perf_symbol_memo){.exact = frame_none(), .caller = frame_none(), .flags = symbol->flags};
    *added = *symbol;
    return row;
}

static struct perf_name make_name(struct perf_symbols *symbols, struct text name, uint32_t library_row,
                                  uint32_t flags) {
    struct profile *profile = symbols->profile;
    struct code_library *library = perf_symbols_library(symbols, library_row);
    bool is_unknown_kernel = !library->path.bytes_count && flags & PERF_SYMBOL_IN_KERNEL_HALF;
    enum code_kind kind = is_unknown_kernel ? CODE_KERNEL : library->kind;
    /* Only generated code is tested for script names: compiled C++ can have one too, "Script::run". */
    struct script_name script = {.name = name};
    if (kind == CODE_JIT || !library->path.bytes_count) script_name_parse(name, &script);
    char demangled[SYMBOL_NAME_BYTES_MAX]; /* without parameters, as perf's own names */
    if (kind != CODE_JIT && script.kind == SCRIPT_NONE)
        script.name = symbol_without_version(symbol_name_demangle_printed(name, false, demangled));

    struct func func = {.resource = library->resource, .source = source_none()};
    if (name.bytes_count) script_frames_set_func(profile, &script, &func);
    struct perf_name made = {
        .library = library_row,
        .category = code_libraries_categorise(&symbols->libraries, library, kind, name, &script),
        .func = name.bytes_count ? profile_func(profile, &func) : func_none(),
        .nowhere = frame_none(),
        .flags = (uint16_t)flags,
    };
    made.flags |= kind == CODE_KERNEL ? PERF_SYMBOL_IS_KERNEL : 0;
    made.flags |= name.bytes_count ? 0 : PERF_SYMBOL_IS_UNKNOWN;
    return made;
}

/* Returns the row of the name in this library; ID_NONE if memory ran out (latched). */
static uint32_t intern_name(struct perf_symbols *symbols, struct text name, uint32_t library, uint32_t flags) {
    struct name_key key = {index_set_identity(name.bytes, name.bytes_count), library, flags};
    uint32_t row = row_table_intern(&symbols->names, &key);
    if (row == ID_NONE || row < symbols->of_names.count) return row;
    struct perf_name *added = column_push(&symbols->of_names);
    if (!added) return ID_NONE;
    *added = make_name(symbols, name, library, flags);
    return row;
}

/* Adds a symbol with that name. Without a name, the address takes its place. */
static uint32_t add_with_name(struct perf_symbols *symbols, const struct perf_frame_line *frame, uint32_t name_row,
                              uint32_t inlined_name) {
    const struct perf_name *name = column_at(&symbols->of_names, name_row);
    const struct code_library *library = perf_symbols_library(symbols, name->library);
    struct perf_symbol symbol = {
        .address = frame->address,
        .start = frame->address - frame->offset,
        .name_row = name_row,
        .func = name->func,
        .inlined_name = inlined_name,
        .flags = name->flags,
    };
    symbol.flags |= frame->is_unknown && !library->path.bytes_count ? PERF_SYMBOL_IS_NOWHERE : 0;
    symbol.flags |= inlined_name != ID_NONE ? PERF_SYMBOL_HAS_INLINED_NAME : 0;
    bool is_kernel = symbol.flags & PERF_SYMBOL_IS_KERNEL;
    symbol.flags |= symbol.address > INT32_MAX && !is_kernel && library->is_file ? PERF_SYMBOL_IS_ABSOLUTE : 0;
    return push_symbol(symbols, &symbol);
}

/* Returns the flags that are in the line itself. */
static uint32_t flags_of(const struct perf_frame_line *frame) {
    uint32_t flags = frame->is_inlined ? PERF_SYMBOL_IS_INLINED : 0;
    if (!frame->has_address) return flags;
    flags |= PERF_SYMBOL_HAS_ADDRESS;
    if (frame->has_offset && frame->offset <= frame->address) flags |= PERF_SYMBOL_HAS_START;
    return code_address_is_kernel(frame->address) ? flags | PERF_SYMBOL_IN_KERNEL_HALF : flags;
}

static uint32_t add_symbol(struct perf_symbols *symbols, const struct perf_frame_line *frame, struct text name,
                           uint32_t inlined_name) {
    uint32_t library_row = code_libraries_intern(&symbols->libraries, frame->library);
    if (library_row == ID_NONE) return ID_NONE;
    uint32_t name_row = intern_name(symbols, name, library_row, flags_of(frame));
    return name_row == ID_NONE ? ID_NONE : add_with_name(symbols, frame, name_row, inlined_name);
}

/* Adds the symbols of a perf map's name. "A::f->B::g" means that B::g is inlined into A::f, whose frame is the physical
 * one. */
static uint32_t add_perf_map_symbol(struct perf_symbols *symbols, const struct perf_frame_line *frame) {
    struct text names[INLINE_DEPTH_MAX];
    size_t count = 0;
    struct text left = frame->symbol;
    while (count + 1 < INLINE_DEPTH_MAX) {
        size_t arrow = text_find_part(left, TEXT("->"));
        if (arrow == left.bytes_count) break;
        names[count++] = text_slice(left, 0, arrow);
        left = text_from(left, arrow + 2);
    }
    names[count++] = left;
    uint32_t symbol = ID_NONE;
    for (size_t i = count; i-- > 0;) {
        struct perf_frame_line part = *frame;
        part.is_inlined |= i > 0;
        symbol = add_symbol(symbols, &part, names[i], symbol);
        if (symbol == ID_NONE) return ID_NONE;
    }
    return symbol;
}

uint32_t perf_symbols_add(struct perf_symbols *symbols, const struct perf_frame_line *frame) {
    /* After a failure, tables that grow together may differ in length. */
    if (failure_is_set(symbols->profile->failure)) return ID_NONE;
    if (code_library_is_perf_map(text_base_name(frame->library))) return add_perf_map_symbol(symbols, frame);
    return add_symbol(symbols, frame, frame->symbol, ID_NONE);
}
