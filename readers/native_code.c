#include "native_code.h"

#include <inttypes.h>

#include "perf_script_names.h"

/* Compared as bytes: no padding. */
struct code_key {
    uint32_t process;
    uint32_t is_return;
    uint64_t mappings_id;
    uint64_t address;
};

void native_code_init(struct native_code *code, struct profile *profile, struct native_definitions *definitions,
                      struct native_clock *clock, const struct reader_options *options) {
    *code = (struct native_code){.profile = profile, .definitions = definitions};
    native_jit_init(&code->jit, profile, definitions, clock, options);
    row_table_init(&code->keys, sizeof(struct code_key), profile->failure);
    column_init(&code->frames, sizeof(frame_id), profile->failure);
}

void native_code_fini(struct native_code *code) {
    native_jit_fini(&code->jit);
    row_table_fini(&code->keys);
    column_fini(&code->frames);
}

/* ---- Frames ---- */

/* Where code is no file says nothing of what it is: its category is its caller's, as the client has it for native
 * frames of Gecko. */
static frame_id add_frame(struct profile *profile, const struct func *func, lib_id lib, int32_t address) {
    struct frame frame = {.func = profile_func(profile, func),
                          .address = address,
                          .lib = lib,
                          .native_symbol = native_symbol_none(),
                          .inherits_category = 1};
    return profile_frame(profile, &frame);
}

/* Named by its address, which whoever looks up symbols takes for "not known yet". */
static frame_id file_frame(struct profile *profile, const struct native_library *library, uint64_t relative) {
    struct func func = {.name = strings_intern_format(&profile->strings, "0x%" PRIx64, relative),
                        .resource = library->resource,
                        .source = source_none()};
    bool fits = relative <= INT32_MAX && !lib_is_none(library->lib);
    return add_frame(profile, &func, fits ? library->lib : lib_none(), fits ? (int32_t)relative : ADDRESS_NONE);
}

/* Named by the trace itself. */
static frame_id symbol_frame(struct profile *profile, const struct native_library *library, uint64_t relative,
                             const struct native_function *symbol) {
    string_id name = profile_string(profile, symbol->name);
    struct func func = {.name = name, .resource = library->resource, .source = source_none()};
    struct frame frame = {.func = profile_func(profile, &func),
                          .address = (int32_t)relative,
                          .lib = library->lib,
                          .native_symbol =
                              profile_native_symbol(profile, library->lib, (uint32_t)symbol->offset, name),
                          .inherits_category = 1};
    return profile_frame(profile, &frame);
}

static frame_id absolute_frame(struct profile *profile, uint64_t address) {
    struct func func = {.name = strings_intern_format(&profile->strings, "0x%" PRIx64, address),
                        .resource = resource_none(),
                        .source = source_none()};
    return add_frame(profile, &func, lib_none(), ADDRESS_NONE);
}

/* As the reader of perf's text has it. */
static frame_id generated_frame(struct profile *profile, const struct native_jit_code *generated) {
    struct script_name script;
    script_name_parse(generated->name, &script);
    enum code_kind kind = script.kind == SCRIPT_PYTHON ? CODE_SCRIPT : CODE_JIT;
    struct category_pair category = categories_intern_code(&profile->categories, kind, script.tier);
    bool has_file = script.file.bytes_count > 0;
    struct func func = {
        .name = profile_string(profile, generated->name),
        .resource = has_file ? resource_none() : generated->resource,
        .source = has_file ? profile_source(profile, script.file) : source_none(),
        .line = script.line,
        .column = script.column,
        .flags = script.kind == SCRIPT_JAVASCRIPT ? FUNC_IS_JS : 0,
    };
    struct frame frame = {.func = profile_func(profile, &func),
                          .address = ADDRESS_NONE,
                          .lib = lib_none(),
                          .native_symbol = native_symbol_none(),
                          .category = category.category,
                          .subcategory = category.subcategory};
    return profile_frame(profile, &frame);
}

/* ---- Looking up ---- */

/* The file that the address is in, and in *symbol its function, if the trace names it; NULL: none. */
static const struct native_library *find_file(struct native_code *code, const struct native_address *address,
                                              uint64_t call_address, uint64_t *relative,
                                              const struct native_function **symbol) {
    if (!address->process || !address->mappings_id) return NULL;
    int64_t pid = profile_process_at(code->profile, address->process->id)->pid;
    const struct native_mapping *mapping = native_mappings_find(
        &code->definitions->in_force, pid, address->process->start_ns, call_address, address->mappings_id);
    if (!mapping || __builtin_add_overflow(call_address - mapping->address, mapping->offset, relative)) return NULL;
    const struct native_library *library = native_definitions_library(code->definitions, mapping->library_id);
    if (!library || !library->is_file) return NULL;
    bool has_place = *relative <= INT32_MAX && !lib_is_none(library->lib);
    *symbol = has_place ? native_definitions_function(code->definitions, mapping->library_id, *relative) : NULL;
    return library;
}

/* In *frame; false when it is another one at another time. */
static bool resolve(struct native_code *code, const struct native_address *address, int64_t ticks, frame_id *frame,
                    bool *is_open) {
    bool steps_back = address->is_return && address->address;
    uint64_t call_address = address->address - steps_back, relative;
    const struct native_function *symbol = NULL;
    const struct native_library *library = find_file(code, address, call_address, &relative, &symbol);
    if (library) {
        *frame = symbol ? symbol_frame(code->profile, library, relative, symbol)
                        : file_frame(code->profile, library, relative);
        return true;
    }
    struct native_jit_code generated;
    enum native_jit_answer answer = address->process
                                        ? native_jit_find(&code->jit, address->process, call_address, ticks, &generated)
                                        : NATIVE_JIT_NONE;
    if (answer == NATIVE_JIT_OPEN) {
        *is_open = true;
        *frame = frame_none();
        return false;
    }
    if (answer == NATIVE_JIT_FOUND)
        *frame = generated_frame(code->profile, &generated);
    else
        *frame = absolute_frame(code->profile, call_address);
    return answer == NATIVE_JIT_NONE;
}

frame_id native_code_frame(struct native_code *code, const struct native_address *address, int64_t ticks,
                           bool *is_open) {
    struct code_key key = {address->process ? address->process->id.index : ID_NONE, address->is_return,
                           address->mappings_id, address->address};
    uint32_t row = row_table_intern(&code->keys, &key);
    if (row == ID_NONE) return frame_none();
    if (row == code->frames.count) {
        frame_id *added = column_push(&code->frames);
        if (!added) return frame_none();
        *added = frame_none();
    }
    if (row >= code->frames.count) return frame_none();
    frame_id *known = column_at(&code->frames, row), frame;
    if (!frame_is_none(*known)) return *known;
    if (resolve(code, address, ticks, &frame, is_open)) *known = frame;
    return frame;
}
