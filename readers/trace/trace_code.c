#include "trace_code.h"

#include <inttypes.h>

#include "readers/code/script_names.h"

/* Compared as bytes, so it must have no padding. */
struct code_key {
    uint32_t process;
    uint32_t is_return;
    uint64_t mappings_id;
    uint64_t address;
};

void trace_code_init(struct trace_code *code, struct profile *profile, struct trace_definitions *definitions,
                     struct trace_clock *clock, const struct reader_options *options) {
    *code = (struct trace_code){.profile = profile, .definitions = definitions};
    trace_jit_init(&code->jit, profile, definitions, clock, options);
    row_table_init(&code->keys, sizeof(struct code_key), profile->failure);
    column_init(&code->frames, sizeof(frame_id), profile->failure);
    column_init(&code->roles, sizeof(uint8_t), profile->failure);
}

void trace_code_fini(struct trace_code *code) {
    trace_jit_fini(&code->jit);
    row_table_fini(&code->keys);
    column_fini(&code->frames);
    column_fini(&code->roles);
}

/* ---- Roles of frames. ---- */

static void set_role(struct trace_code *code, frame_id frame, enum trace_frame_role role) {
    if (frame_is_none(frame)) return;
    while (code->roles.count <= frame.index) {
        uint8_t *added = column_push(&code->roles);
        if (!added) return;
        *added = TRACE_FRAME_IS_OTHER;
    }
    *(uint8_t *)column_at(&code->roles, frame.index) = (uint8_t)role;
}

static bool has_role(const struct trace_code *code, frame_id frame, enum trace_frame_role role) {
    return frame.index < code->roles.count && *(const uint8_t *)column_at(&code->roles, frame.index) == role;
}

void trace_code_note_label(struct trace_code *code, frame_id frame) {
    bool has_category = !frame_is_none(frame) && profile_frame_at(code->profile, frame)->category;
    set_role(code, frame, has_category ? TRACE_FRAME_IS_LABEL : TRACE_FRAME_IS_PLAIN_LABEL);
}

/* ---- Inheriting categories. ---- */

/* A stack whose outermost frames are those of a path. */
struct whole_stack {
    const struct stack_path *path;
    uint32_t kept_count; /* number of frames of the path */
    frame_id *frames;    /* called by those */
};

/* Returns the frame at that depth; the outermost one has depth 0. */
static frame_id frame_at(const struct whole_stack *stack, uint32_t depth) {
    return depth < stack->kept_count ? stack_path_frame(stack->path, depth + 1)
                                     : stack->frames[depth - stack->kept_count];
}

/* Returns the innermost label with a category above that depth, or NULL. */
static const struct frame *find_label(const struct trace_code *code, const struct whole_stack *stack, uint32_t depth) {
    while (depth--) {
        frame_id frame = frame_at(stack, depth);
        if (has_role(code, frame, TRACE_FRAME_IS_LABEL)) return profile_frame_at(code->profile, frame);
    }
    return NULL;
}

static bool passes_category_on(const struct trace_code *code, frame_id caller) {
    return profile_frame_at(code->profile, caller)->inherits_category || has_role(code, caller, TRACE_FRAME_IS_LABEL);
}

/* Returns the row of the frame, which also is a label with a category. */
static frame_id add_label(struct trace_code *code, const struct frame *frame) {
    frame_id added = profile_frame(code->profile, frame);
    set_role(code, added, TRACE_FRAME_IS_LABEL);
    return added;
}

/* Gives a label without a category that of the label that encloses it or, if there is none, of its caller. The category
 * is written out: if labels are put between inlined functions later, the frame before this one may be another. */
static frame_id adopt_category(struct trace_code *code, const struct whole_stack *stack, uint32_t depth) {
    frame_id caller = frame_at(stack, depth - 1);
    bool has_label = passes_category_on(code, caller);
    const struct frame *from = has_label ? find_label(code, stack, depth) : profile_frame_at(code->profile, caller);
    struct frame heir = *profile_frame_at(code->profile, frame_at(stack, depth));
    heir.category = from->category;
    heir.subcategory = from->subcategory;
    return has_label ? add_label(code, &heir) : profile_frame(code->profile, &heir);
}

/* A wait stays in the category "Idle", which the front-end counts as inactive. Its subcategory tells which label's work
 * waits. */
static frame_id name_wait(struct trace_code *code, const struct whole_stack *stack, uint32_t depth) {
    struct categories *categories = &code->profile->categories;
    frame_id frame = frame_at(stack, depth);
    struct frame wait = *profile_frame_at(code->profile, frame);
    if (!text_equal(categories_at(categories, wait.category)->name, TEXT("Idle"))) return frame;
    const struct frame *label = find_label(code, stack, depth);
    if (!label || label->category == wait.category) return frame;
    struct text name = categories_at(categories, label->category)->name;
    wait.subcategory = categories_intern_code(categories, CODE_IDLE, name).subcategory;
    return add_label(code, &wait);
}

static frame_id inherit(struct trace_code *code, const struct whole_stack *stack, uint32_t depth) {
    frame_id frame = frame_at(stack, depth), caller = frame_at(stack, depth - 1);
    if (frame_is_none(frame) || frame_is_none(caller)) return frame;
    if (has_role(code, frame, TRACE_FRAME_IS_LABEL)) return name_wait(code, stack, depth);
    if (has_role(code, frame, TRACE_FRAME_IS_PLAIN_LABEL)) return adopt_category(code, stack, depth);
    if (!has_role(code, frame, TRACE_FRAME_IS_NATIVE) || !passes_category_on(code, caller)) return frame;
    struct frame heir = *profile_frame_at(code->profile, frame);
    heir.inherits_category = 1;
    heir.category = heir.subcategory = 0;
    return profile_frame(code->profile, &heir);
}

void trace_code_inherit(struct trace_code *code, const struct stack_path *path, uint32_t kept_count, frame_id *frames,
                        uint32_t count) {
    const struct whole_stack stack = {path, kept_count, frames};
    for (uint32_t i = kept_count ? 0 : 1; i < count; i++) frames[i] = inherit(code, &stack, kept_count + i);
}

/* ---- Frames. ---- */

/* Adds a frame of machine code. Its category is that of user code, with the name of the library. */
static frame_id add_frame(struct trace_code *code, const struct func *func, lib_id lib, int32_t address,
                          native_symbol_id symbol) {
    struct profile *profile = code->profile;
    struct text library = TEXT("");
    /* If memory ran out, names are missing that this function would read. */
    if (failure_is_set(profile->failure)) return frame_none();
    if (!resource_is_none(func->resource))
        library = strings_text(&profile->strings, profile_resource_at(profile, func->resource)->name);
    struct category_pair category = categories_intern_code(&profile->categories, CODE_USER, library);
    struct frame frame = {.func = profile_func(profile, func),
                          .address = address,
                          .lib = lib,
                          .native_symbol = symbol,
                          .category = category.category,
                          .subcategory = category.subcategory};
    frame_id added = profile_frame(profile, &frame);
    set_role(code, added, TRACE_FRAME_IS_NATIVE);
    return added;
}

/* Names the frame by its address, which the symbolizer recognises as unresolved. */
static frame_id file_frame(struct trace_code *code, const struct trace_library *library, uint64_t relative) {
    struct func func = {.name = strings_intern_format(&code->profile->strings, "0x%" PRIx64, relative),
                        .resource = library->resource,
                        .source = source_none()};
    bool fits = relative <= INT32_MAX && !lib_is_none(library->lib);
    return add_frame(code, &func, fits ? library->lib : lib_none(), fits ? (int32_t)relative : ADDRESS_NONE,
                     native_symbol_none());
}

/* Uses the name that the trace has for the address. */
static frame_id symbol_frame(struct trace_code *code, const struct trace_library *library, uint64_t relative,
                             const struct trace_function *symbol) {
    string_id name = profile_string(code->profile, symbol->name);
    struct func func = {.name = name, .resource = library->resource, .source = source_none()};
    return add_frame(code, &func, library->lib, (int32_t)relative,
                     profile_native_symbol(code->profile, library->lib, (uint32_t)symbol->offset, name));
}

static frame_id absolute_frame(struct trace_code *code, uint64_t address) {
    struct func func = {.name = strings_intern_format(&code->profile->strings, "0x%" PRIx64, address),
                        .resource = resource_none(),
                        .source = source_none()};
    return add_frame(code, &func, lib_none(), ADDRESS_NONE, native_symbol_none());
}

/* Makes the same frame as the perf script reader does. */
static frame_id generated_frame(struct profile *profile, const struct trace_jit_code *generated) {
    struct script_name script;
    script_name_parse(generated->name, &script);
    enum code_kind kind = script.kind == SCRIPT_PYTHON ? CODE_SCRIPT : CODE_JIT;
    struct category_pair category = categories_intern_code(&profile->categories, kind, script.tier);
    bool has_file = script.file.bytes_count > 0;
    struct func func = {
        .name = profile_string(profile, script.name),
        .resource = has_file ? resource_none() : generated->resource,
        .source = has_file ? profile_source(profile, script.file) : source_none(),
        .line = script.line,
        .column = script.column,
        .flags = script.kind == SCRIPT_JAVASCRIPT ? FUNC_IS_JS : 0,
    };
    struct frame frame = frame_of_func(profile_func(profile, &func), category);
    return profile_frame(profile, &frame);
}

/* ---- Looking up. ---- */

/* Returns the file that contains the address, or NULL. Sets *symbol to the function that the trace names there, or to
 * NULL. */
static const struct trace_library *find_file(struct trace_code *code, const struct trace_address *address,
                                             uint64_t call_address, uint64_t *relative,
                                             const struct trace_function **symbol) {
    if (!address->process || !address->mappings_id) return NULL;
    int64_t pid = profile_process_at(code->profile, address->process->id)->pid;
    const struct code_mapping *mapping = code_mappings_find(
        &code->definitions->in_force, pid, address->process->start_ns, call_address, address->mappings_id);
    if (!mapping || __builtin_add_overflow(call_address - mapping->address, mapping->offset, relative)) return NULL;
    const struct trace_library *library = trace_definitions_library(code->definitions, mapping->library_id);
    if (!library || !library->is_file) return NULL;
    bool fits = *relative <= INT32_MAX && !lib_is_none(library->lib);
    *symbol = fits ? trace_definitions_function(code->definitions, mapping->library_id, *relative) : NULL;
    return library;
}

/* Sets *frame. Returns false if the result applies only at this time. */
static bool resolve(struct trace_code *code, const struct trace_address *address, int64_t ticks, frame_id *frame,
                    bool *is_open) {
    bool steps_back = address->is_return && address->address;
    uint64_t call_address = address->address - steps_back, relative;
    const struct trace_function *symbol = NULL;
    const struct trace_library *library = find_file(code, address, call_address, &relative, &symbol);
    if (library) {
        *frame = symbol ? symbol_frame(code, library, relative, symbol) : file_frame(code, library, relative);
        return true;
    }
    struct trace_jit_code generated;
    enum trace_jit_answer answer = address->process
                                       ? trace_jit_find(&code->jit, address->process, call_address, ticks, &generated)
                                       : TRACE_JIT_NONE;
    if (answer == TRACE_JIT_OPEN) {
        *is_open = true;
        *frame = frame_none();
        return false;
    }
    if (answer == TRACE_JIT_FOUND)
        *frame = generated_frame(code->profile, &generated);
    else
        *frame = absolute_frame(code, call_address);
    return answer == TRACE_JIT_NONE;
}

frame_id trace_code_frame(struct trace_code *code, const struct trace_address *address, int64_t ticks, bool *is_open) {
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
