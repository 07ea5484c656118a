#include "perf_stack.h"

#include <inttypes.h>
#include <stdio.h>

#include "libconvert/base/memory.h"
#include "libconvert/profile/cut_stacks.h"
#include "perf_callers.h"

struct perf_stack_line {
    uint32_t symbol;
    source_id file; /* source of the running line; may be none */
    uint32_t line;
    uint32_t flags; /* the symbol's */
    bool is_inlined;
};

/* A library of the profile as it was when map_count mappings were known. */
struct perf_stack_lib {
    uint64_t map_count;
    lib_id lib; /* none until first used */
};

/* A source line. */
struct perf_stack_source {
    source_id file; /* may be none */
    uint32_t line;
    bool is_inlined;
};

static const uint32_t SOURCE_BIT = UINT32_C(1) << 31;

static uint32_t add_inlined(struct perf_stack *stack, uint32_t row);

/* The symbols that the name says are inlined into it are added first, since they are further in. Returns how many did
 * not fit. */
static inline uint32_t add_symbol(struct perf_stack *stack, uint32_t row) {
    if (stack->count >= PERF_STACK_FRAMES_MAX) return 1;
    uint32_t flags = perf_symbols_memo(&stack->symbols, row)->flags, too_deep_count = 0;
    if (flags & PERF_SYMBOL_HAS_INLINED_NAME) too_deep_count = add_inlined(stack, row);
    if (memory_reserve(stack->profile->failure, &stack->lines, &stack->capacity, stack->count + 1,
                       sizeof *stack->lines))
        stack->lines[stack->count++] = (struct perf_stack_line){
            .symbol = row, .file = source_none(), .flags = flags, .is_inlined = flags & PERF_SYMBOL_IS_INLINED};
    return too_deep_count;
}

static uint32_t add_inlined(struct perf_stack *stack, uint32_t row) {
    return add_symbol(stack, perf_symbols_at(&stack->symbols, row)->inlined_name);
}

/* Gives the last frame its source line. */
static void add_source(struct perf_stack *stack, const struct perf_stack_source *source) {
    if (!stack->count) return;
    struct perf_stack_line *line = &stack->lines[stack->count - 1];
    if (!source_is_none(source->file)) {
        line->file = source->file;
        line->line = source->line;
    }
    if (source->is_inlined) line->is_inlined = true;
}

/* Returns whether more lines are inlined into each other than the depth of a frame can tell. */
static bool has_deep_inlining(const struct perf_stack *stack) {
    uint32_t inlined_count = 0;
    for (uint32_t i = 0; i < stack->count && inlined_count <= INLINE_DEPTH_MAX; i++)
        inlined_count = stack->lines[i].is_inlined ? inlined_count + 1 : 0;
    return inlined_count > INLINE_DEPTH_MAX;
}

/* Returns the row of the function that has the address of the symbol in the perf map that the user names for the
 * process. Returns the row of the symbol itself if it has a name or there is no such function. */
static uint32_t find_generated(struct perf_stack *stack, int64_t pid, uint32_t row) {
    static const uint32_t nameless = PERF_SYMBOL_HAS_ADDRESS | PERF_SYMBOL_IS_UNKNOWN;
    if (!stack->jit.policy.map_count || row == ID_NONE) return row;
    const struct perf_symbol *symbol = perf_symbols_at(&stack->symbols, row);
    if ((symbol->flags & nameless) != nameless) return row;
    const struct jit_process process = {.pid = pid};
    uint64_t number = jit_find(&stack->jit, &process, symbol->address, INT64_MAX);
    if (!number) return row;
    const struct jit_code *code = jit_code_at(&stack->jit, number);
    char library[64];
    snprintf(library, sizeof library, "/tmp/perf-%" PRId64 ".map", pid);
    const struct perf_frame_line frame = {.address = symbol->address,
                                          .offset = symbol->address - code->address,
                                          .symbol = code->name,
                                          .library = text_of(library),
                                          .has_address = true,
                                          .has_offset = true};
    return perf_symbols_add(&stack->symbols, &frame);
}

static void add_lines(struct perf_stack *stack, const struct perf_record *record, int64_t pid) {
    const struct perf_sample *sample = &record->sample;
    uint64_t too_deep_count = 0;
    for (uint32_t i = 0; i < sample->line_count; i++) {
        uint32_t meaning = stack->meanings[sample->lines[i]];
        if (meaning & SOURCE_BIT)
            add_source(stack, column_at(&stack->sources, meaning & ~SOURCE_BIT));
        else
            too_deep_count += add_symbol(stack, find_generated(stack, pid, meaning));
    }
    perf_tally(&stack->recording->tallies, TALLY_DEEP_FRAME, too_deep_count, record->position);
    if (stack->count > INLINE_DEPTH_MAX)
        perf_tally(&stack->recording->tallies, TALLY_DEEP_INLINING, has_deep_inlining(stack), record->position);
}

/* ---- Lines. ---- */

/* Returns the row of a source line; ID_NONE if memory ran out (latched). */
static uint32_t learn_source(struct perf_stack *stack, const struct perf_source_line *source) {
    struct perf_stack_source *added = column_push(&stack->sources);
    if (!added) return ID_NONE;
    bool has_file = source->file.bytes_count;
    *added = (struct perf_stack_source){.file = has_file ? profile_source(stack->profile, source->file) : source_none(),
                                        .line = source->line,
                                        .is_inlined = source->is_inlined};
    return (stack->sources.count - 1) | SOURCE_BIT;
}

/* Lines come in the order of their numbers. */
static void learn_line(struct perf_stack *stack, const struct perf_line *line) {
    const struct perf_frame_line *frame = &line->frame;
    stack->has_symbols |=
        !line->is_source && (frame->symbol.bytes_count || (frame->is_unknown && frame->library.bytes_count));
    if (!memory_reserve(stack->profile->failure, &stack->meanings, &stack->meaning_capacity, stack->meaning_count + 1,
                        sizeof *stack->meanings))
        return;
    stack->meanings[stack->meaning_count++] =
        line->is_source ? learn_source(stack, &line->source) : perf_symbols_add(&stack->symbols, &line->frame);
}

/* ---- Frames. ---- */

/* Start of the kernel's image mapping on x86-64 (Documentation/arch/x86/x86_64/mm.rst). If no record has the kernel's
 * actual start, addresses are made relative to this one. Results then agree within one boot. */
static const uint64_t X86_KERNEL_IMAGE_START = 0xffffffff80000000u;

static bool relative_in_process(struct code_maps *maps, int64_t pid, uint64_t address, uint64_t *relative) {
    uint32_t process = code_maps_process(maps, pid);
    const struct code_mapping *mapping = process == ID_NONE ? NULL : code_maps_find(maps, process, address);
    if (mapping) *relative = address - mapping->address + mapping->offset;
    return mapping;
}

/* Records are about the host's kernel. Code that ran when it started is after the end of its recorded mapping. */
static bool relative_in_kernel(struct code_maps *maps, const struct code_library *library, uint64_t address,
                               uint64_t *relative) {
    bool is_host = !library->is_guest;
    if (is_host && relative_in_process(maps, PID_KERNEL, address, relative)) return true;
    uint64_t start = is_host && maps->kernel_start ? maps->kernel_start : X86_KERNEL_IMAGE_START;
    if (!library->is_kernel_image || address < start) return false;
    *relative = address - start;
    return true;
}

static bool relative_address(struct perf_stack *stack, int64_t pid, const struct perf_symbol *symbol,
                             const struct code_library *library, uint64_t *relative) {
    if (!(symbol->flags & PERF_SYMBOL_HAS_ADDRESS) || !library->is_file) return false;
    *relative = symbol->address;
    if (symbol->address <= INT32_MAX) return true;
    bool is_known = symbol->flags & PERF_SYMBOL_IS_KERNEL
                        ? relative_in_kernel(&stack->maps, library, symbol->address, relative)
                        : relative_in_process(&stack->maps, pid, symbol->address, relative);
    return is_known && *relative <= INT32_MAX;
}

/* Location in a library. A chain of inlined frames shares the location of its physical frame. */
struct place {
    lib_id lib;
    int32_t address;
    native_symbol_id native_symbol;
};

/* Returns the library of the profile. Its build id may become known with a mapping, so it is looked up again after one.
 */
static lib_id lib_of(struct perf_stack *stack, uint32_t library_row) {
    while (stack->libs.count <= library_row)
        if (!column_add(&stack->libs, &(struct perf_stack_lib){.lib = lib_none()})) return lib_none();
    struct perf_stack_lib *known = column_at(&stack->libs, library_row);
    if (lib_is_none(known->lib) || known->map_count != stack->maps.count) {
        struct text path = perf_symbols_library(&stack->symbols, library_row)->path;
        known->lib = libs_intern(&stack->profile->libs, path, code_maps_build_id(&stack->maps, path));
        known->map_count = stack->maps.count;
    }
    return known->lib;
}

static struct place place_of(struct perf_stack *stack, int64_t pid, const struct perf_symbol *symbol, bool is_caller) {
    struct place place = {lib_none(), ADDRESS_NONE, native_symbol_none()};
    const struct perf_name *name = perf_symbols_name(&stack->symbols, symbol);
    const struct code_library *library = perf_symbols_library(&stack->symbols, name->library);
    uint64_t relative;
    if (!relative_address(stack, pid, symbol, library, &relative)) return place;
    place.lib = lib_of(stack, name->library);
    uint64_t offset = symbol->address - symbol->start;
    bool has_start = symbol->flags & PERF_SYMBOL_HAS_START;
    if (has_start && offset <= relative && !(symbol->flags & PERF_SYMBOL_IS_UNKNOWN))
        place.native_symbol = profile_native_symbol(stack->profile, place.lib, (uint32_t)(relative - offset),
                                                    profile_func_at(stack->profile, name->func)->name);
    /* A return address is that of the instruction after the call, so it is moved back by one byte. If that would leave
     * the symbol, it stays: for perf, a function that ends in a call returns into the next function. */
    bool steps_back = is_caller && relative > 0 && !(has_start && offset == 0);
    place.address = (int32_t)(steps_back ? relative - 1 : relative);
    return place;
}

static func_id func_of(struct perf_stack *stack, const struct perf_stack_line *line, struct perf_symbol *symbol,
                       const struct perf_symbol *physical) {
    uint32_t library = perf_symbols_name(&stack->symbols, physical)->library;
    func_id own = perf_symbols_func(&stack->symbols, symbol);
    bool has_library = perf_symbols_name(&stack->symbols, symbol)->library == library;
    if (func_is_none(own) || (source_is_none(line->file) && has_library)) return own;
    struct func func = *profile_func_at(stack->profile, own);
    func.resource = perf_symbols_library(&stack->symbols, library)->resource;
    if (!source_is_none(line->file)) func.source = line->file;
    return profile_func(stack->profile, &func);
}

static frame_id make_frame(struct perf_stack *stack, const struct perf_stack_line *line,
                           const struct perf_symbol *physical, const struct place *place, uint32_t depth) {
    struct perf_symbol *symbol = perf_symbols_at(&stack->symbols, line->symbol);
    const struct perf_symbol *categorised = line->is_inlined ? physical : symbol;
    const struct category_pair category = perf_symbols_name(&stack->symbols, categorised)->category;
    struct frame frame = {
        .func = func_of(stack, line, symbol, physical),
        .address = place->address,
        .lib = place->lib,
        .native_symbol = place->native_symbol,
        .line = line->line,
        .inline_depth = (uint8_t)depth,
        .category = category.category,
        .subcategory = category.subcategory,
    };
    return profile_frame(stack->profile, &frame);
}

/* True if the frame depends on its line, the kernel's mappings and build ids alone, so that it can be stored in the
 * symbol. Without any mapping, the process does not matter. */
static bool is_context_free(const struct perf_stack *stack, const struct perf_stack_line *line, uint32_t flags) {
    return !line->line && source_is_none(line->file) && (!(flags & PERF_SYMBOL_IS_ABSOLUTE) || !stack->maps.count);
}

/* Returns the frame of a line that nothing is inlined into, from the symbol if it is stored there. This is the usual
 * case. */
static frame_id physical_frame(struct perf_stack *stack, int64_t pid, const struct perf_stack_line *line,
                               bool is_caller) {
    struct perf_symbol_memo *memo = perf_symbols_memo(&stack->symbols, line->symbol);
    frame_id *known = is_caller ? &memo->caller : &memo->exact;
    if (memo->change_count != stack->change_count) {
        memo->exact = memo->caller = frame_none();
        memo->change_count = stack->change_count;
    }
    bool is_context_free_frame = is_context_free(stack, line, memo->flags);
    if (is_context_free_frame && !frame_is_none(*known)) return *known;
    const struct perf_symbol *symbol = perf_symbols_at(&stack->symbols, line->symbol);
    struct place place = place_of(stack, pid, symbol, is_caller);
    frame_id frame = make_frame(stack, line, symbol, &place, 0);
    if (is_context_free_frame) *known = frame;
    return frame;
}

/* Writes the frames from line `first` to its physical frame, downwards from *out. A chain of inlined frames ends at the
 * first line that is not inlined. If there is none, or the depth would not fit its field, it ends at the last possible
 * line. Returns the line after the chain. */
static uint32_t resolve_chain(struct perf_stack *stack, int64_t pid, uint32_t first, bool is_caller, frame_id **out) {
    uint32_t last = first;
    while (stack->lines[last].is_inlined && last + 1 < stack->count && last - first < INLINE_DEPTH_MAX) last++;
    if (last == first) {
        *--*out = physical_frame(stack, pid, &stack->lines[first], is_caller);
        return first + 1;
    }
    const struct perf_symbol *physical = perf_symbols_at(&stack->symbols, stack->lines[last].symbol);
    struct place place = place_of(stack, pid, physical, is_caller);
    for (uint32_t i = first; i <= last; i++) *--*out = make_frame(stack, &stack->lines[i], physical, &place, last - i);
    return last + 1;
}

/* User code has no callers in the kernel, whatever their addresses are. */
static struct category_pair category_outside_kernel(struct perf_stack *stack, const struct perf_name *name) {
    struct code_library *library = perf_symbols_library(&stack->symbols, name->library);
    return code_libraries_categorise(&stack->symbols.libraries, library, library->kind, TEXT(""),
                                     &(struct script_name){.kind = SCRIPT_NONE});
}

/* Returns the frame of a caller of which perf knows neither the function nor the library. Its address is often no code
 * at all, for instance where a function uses the frame pointer for something else. All such callers are one function,
 * since each address as a function of its own would split the callers of what it called. */
static frame_id unknown_caller(struct perf_stack *stack, uint32_t line, bool calls_user_code) {
    const struct perf_symbol *symbol = perf_symbols_at(&stack->symbols, stack->lines[line].symbol);
    struct perf_name *name = perf_symbols_name(&stack->symbols, symbol);
    bool is_misplaced = calls_user_code && symbol->flags & PERF_SYMBOL_IS_KERNEL;
    if (!is_misplaced && !frame_is_none(name->nowhere)) return name->nowhere;
    struct func func = {.name = profile_string(stack->profile, TEXT(PERF_UNKNOWN_CALLER)),
                        .resource = perf_symbols_library(&stack->symbols, name->library)->resource,
                        .source = source_none()};
    struct frame frame = frame_of_func(profile_func(stack->profile, &func),
                                       is_misplaced ? category_outside_kernel(stack, name) : name->category);
    frame_id caller = profile_frame(stack->profile, &frame);
    if (!is_misplaced) name->nowhere = caller;
    return caller;
}

/* Returns whether the kernel, or perf where it walked a copied stack, gave up before the outermost caller. */
static bool is_at_limit(const struct perf_stack *stack) {
    uint32_t place_count = 0;
    for (uint32_t i = 0; stack->count >= PERF_PLACES_MAX && i < stack->count; i++)
        place_count += !stack->lines[i].is_inlined;
    return place_count == PERF_PLACES_MAX;
}

/* Returns the number of frames and points *frames to them, root first. Addresses become relative by the mappings of
 * `pid`. */
static uint32_t make_frames(struct perf_stack *stack, int64_t pid, bool is_cut, const frame_id **frames) {
    uint32_t count = stack->count, frame_count = count + is_cut;
    if (!count || !memory_reserve(stack->profile->failure, &stack->frames, &stack->frames_capacity, frame_count,
                                  sizeof *stack->frames))
        return 0;
    frame_id *out = stack->frames + frame_count;
    if (is_cut)
        stack->frames[0] = profile_named_frame(stack->profile, TEXT(TRUNCATED_STACK_NAME), (struct category_pair){0});
    /* The first frame is the interrupted instruction itself, not a return address. So is the first user frame after
     * kernel frames, which was interrupted or made the system call. */
    bool is_exact = true, was_kernel = false, has_user_code = false;
    for (uint32_t line = 0; line < count;) {
        uint32_t flags = stack->lines[line].flags;
        bool is_kernel = flags & PERF_SYMBOL_IS_KERNEL;
        if (was_kernel && !is_kernel) is_exact = true;
        bool is_caller = !is_exact && (is_kernel || !stack->recording->header.has_dwarf_stacks);
        if (!is_exact && flags & PERF_SYMBOL_IS_NOWHERE)
            *--out = unknown_caller(stack, line++, has_user_code);
        else
            line = resolve_chain(stack, pid, line, is_caller, &out);
        is_exact = false;
        was_kernel = stack->lines[line - 1].flags & PERF_SYMBOL_IS_KERNEL;
        has_user_code = has_user_code || !was_kernel;
    }
    *frames = stack->frames;
    return frame_count;
}

/* ---- The code of a recording. ---- */

static void use_mapping(struct perf_stack *stack, const struct perf_record *record) {
    struct code_maps *maps = &stack->maps;
    const struct code_map_record mapping = perf_record_mapping(record);
    if (mapping.build_id.bytes_count) code_maps_set_build_id(maps, mapping.path, mapping.build_id);
    code_maps_add(maps, &mapping, 1);
    stack->change_count = code_maps_process_at(maps, KERNEL_SPACE)->epoch + value_table_count(&maps->build_ids);
}

static void use(void *context, const struct perf_record *record) {
    struct perf_stack *stack = context;
    if (record->type == PERF_LINE) {
        perf_tally(&stack->recording->tallies, TALLY_CUT_LIBRARY, record->line.frame.is_cut, record->position);
        learn_line(stack, &record->line);
    }
    /* The mappings of a guest are not used, so its addresses stay absolute: its pids are not the host's. */
    if (record->type == PERF_MAPPING && !record->machine) use_mapping(stack, record);
    if (record->type == PERF_FORK && !record->machine)
        code_maps_fork(&stack->maps, record->pid, record->fork.parent_pid, record->fork.is_synthesized);
}

static stack_id add_stack(void *context, const struct perf_record *record, int64_t pid) {
    struct perf_stack *stack = context;
    const frame_id *frames = NULL;
    stack->count = 0;
    add_lines(stack, record, pid == PID_UNKNOWN ? record->tid : pid);
    bool is_cut = is_at_limit(stack);
    perf_tally(&stack->recording->tallies, TALLY_DEEP_STACK, is_cut, record->position);
    uint32_t count = make_frames(stack, pid, is_cut, &frames);
    return profile_stack_of(stack->profile, frames, count);
}

/* What lines mean is freed before finishing needs memory of its own: a quarter of the peak. */
static stack_id *finish(void *context) {
    struct perf_stack *stack = context;
    perf_tally_generated(&stack->recording->tallies, stack->jit.notes);
    /* Without -F dso, all libraries are the unknown one. */
    stack->recording->has_libraries = stack->symbols.libraries.rows.count > 1;
    /* Without -F sym, perf has looked for none. */
    stack->profile->meta.lacks_symbols = !stack->has_symbols;
    perf_stack_fini(stack);
    return NULL;
}

void perf_stack_init(struct perf_stack *stack, struct perf_recording *recording, const struct reader_options *options) {
    const struct jit_policy policy = {.maps = options->perf_maps, .map_count = options->perf_map_count};
    struct profile *profile = recording->profile;
    *stack = (struct perf_stack){.recording = recording, .profile = profile};
    perf_symbols_init(&stack->symbols, profile);
    code_maps_init(&stack->maps, profile->failure);
    jit_init(&stack->jit, &policy, profile->failure);
    column_init(&stack->libs, sizeof(struct perf_stack_lib), profile->failure);
    column_init(&stack->sources, sizeof(struct perf_stack_source), profile->failure);
    recording->code = (struct perf_code){stack, use, add_stack, finish, &profile->stacks};
}

void perf_stack_fini(struct perf_stack *stack) {
    perf_symbols_fini(&stack->symbols);
    code_maps_fini(&stack->maps);
    jit_fini(&stack->jit);
    COLUMNS_FINI(&stack->libs, &stack->sources);
    MEMORY_FREE_ALL(stack->meanings, stack->lines, stack->frames);
    *stack = (struct perf_stack){0};
}
