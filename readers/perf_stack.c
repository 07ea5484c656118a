#include "perf_stack.h"

#include "libconvert/memory.h"

struct perf_stack_line {
    uint32_t symbol;
    source_id file; /* of the line that runs; none */
    uint32_t line;
    bool is_inlined;
};

void perf_stack_init(struct perf_stack *stack, struct profile *profile) {
    *stack = (struct perf_stack){.profile = profile};
    perf_symbols_init(&stack->symbols, profile);
    perf_maps_init(&stack->maps, profile->failure);
}

void perf_stack_fini(struct perf_stack *stack) {
    perf_symbols_fini(&stack->symbols);
    perf_maps_fini(&stack->maps);
    memory_free(stack->lines);
    memory_free(stack->frames);
    *stack = (struct perf_stack){0};
}

static struct perf_stack_line *push_line(struct perf_stack *stack) {
    if (stack->count == stack->capacity) {
        uint32_t capacity = stack->capacity ? stack->capacity * 2 : 128;
        struct perf_stack_line *lines =
            memory_resize(stack->profile->failure, stack->lines, capacity * sizeof *lines);
        if (!lines) return NULL;
        stack->lines = lines;
        stack->capacity = capacity;
    }
    return &stack->lines[stack->count++];
}

/* Pushes the symbol, and before it, since they run inside it, those inlined into it by its name. */
static void push_symbol(struct perf_stack *stack, uint32_t row) {
    if (stack->count >= PERF_STACK_FRAMES_MAX) {
        stack->too_deep_count++;
        return;
    }
    const struct perf_symbol *symbol = perf_symbols_at(&stack->symbols, row);
    if (symbol->inlined_name != ID_NONE) push_symbol(stack, symbol->inlined_name);
    struct perf_stack_line *line = push_line(stack);
    if (!line) return;
    bool is_inlined = symbol->flags & PERF_SYMBOL_IS_INLINED;
    *line = (struct perf_stack_line){.symbol = row, .file = source_none(), .is_inlined = is_inlined};
}

bool perf_stack_add_line(struct perf_stack *stack, struct text line) {
    uint32_t symbol = perf_symbols_of_line(&stack->symbols, line);
    if (symbol == ID_NONE) return false;
    push_symbol(stack, symbol);
    return true;
}

bool perf_stack_add_source(struct perf_stack *stack, const struct perf_source_line *source) {
    if (!stack->count) return false;
    struct perf_stack_line *line = &stack->lines[stack->count - 1];
    if (source->file.bytes_count) {
        line->file = profile_source(stack->profile, source->file);
        line->line = source->line;
    }
    if (source->is_inlined) line->is_inlined = true;
    return true;
}

/* ---- Frames. ---- */

/* Start of the kernel's image mapping on x86-64 (Documentation/arch/x86/x86_64/mm.rst). Where no record tells the
 * kernel's own start, addresses are taken relative to this: the same within one boot. */
static const uint64_t X86_KERNEL_IMAGE_START = 0xffffffff80000000u;

static bool relative_address(const struct perf_stack *stack, int64_t pid, const struct perf_symbol *symbol,
                             const struct perf_library *library, uint64_t *relative) {
    if (!(symbol->flags & PERF_SYMBOL_HAS_ADDRESS) || !library->is_file) return false;
    uint64_t address = symbol->address;
    if (address <= INT32_MAX)
        *relative = address;
    else if (symbol->flags & PERF_SYMBOL_IS_KERNEL) {
        /* The mappings are those of the host's kernel. */
        if (library->is_guest || !perf_maps_relative_address(&stack->maps, PERF_PID_KERNEL, address, relative)) {
            if (!library->is_kernel_image || address < X86_KERNEL_IMAGE_START) return false;
            *relative = address - X86_KERNEL_IMAGE_START;
        }
    } else if (!perf_maps_relative_address(&stack->maps, pid, address, relative))
        return false;
    return *relative <= INT32_MAX;
}

/* The place in a library that a chain of inlined frames and their physical frame share. */
struct place {
    lib_id lib;
    int32_t address;
    native_symbol_id native_symbol;
};

static struct place place_of(struct perf_stack *stack, int64_t pid, const struct perf_symbol *symbol, bool is_caller) {
    struct place place = {lib_none(), ADDRESS_NONE, native_symbol_none()};
    const struct perf_library *library = perf_symbols_library(&stack->symbols, symbol->library);
    uint64_t relative;
    if (!relative_address(stack, pid, symbol, library, &relative)) return place;
    place.lib = libs_intern(&stack->profile->libs, library->path, perf_maps_build_id(&stack->maps, library->path));
    uint64_t offset = symbol->address - symbol->start;
    bool has_start = symbol->flags & PERF_SYMBOL_HAS_START;
    if (has_start && offset <= relative && !(symbol->flags & PERF_SYMBOL_IS_UNKNOWN))
        place.native_symbol =
            profile_native_symbol(stack->profile, place.lib, (uint32_t)(relative - offset), symbol->name);
    /* A return address is the instruction behind the call. It stays where a step back would leave the symbol: a
     * function that ends in a call returns, for perf, into the next one. */
    bool steps_back = is_caller && relative > 0 && !(has_start && offset == 0);
    place.address = (int32_t)(steps_back ? relative - 1 : relative);
    return place;
}

static func_id func_of(struct perf_stack *stack, const struct perf_stack_line *line, const struct perf_symbol *symbol,
                       const struct perf_symbol *physical) {
    if (source_is_none(line->file) && symbol->library == physical->library) return symbol->func;
    struct func func = *profile_func_at(stack->profile, symbol->func);
    func.resource = perf_symbols_library(&stack->symbols, physical->library)->resource;
    if (!source_is_none(line->file)) func.source = line->file;
    return profile_func(stack->profile, &func);
}

static frame_id make_frame(struct perf_stack *stack, const struct perf_stack_line *line,
                           const struct perf_symbol *physical, const struct place *place, uint32_t depth) {
    const struct perf_symbol *symbol = perf_symbols_at(&stack->symbols, line->symbol);
    const struct category_pair category = line->is_inlined ? physical->category : symbol->category;
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

/* True when the frame depends on its line alone, so that it can be kept with the symbol. */
static bool is_context_free(const struct perf_stack_line *line, const struct perf_symbol *symbol) {
    bool is_absolute = symbol->address > INT32_MAX && !(symbol->flags & PERF_SYMBOL_IS_KERNEL);
    return !line->line && !is_absolute;
}

/* A single physical frame: the usual case, from the symbol where it is known. */
static frame_id physical_frame(struct perf_stack *stack, int64_t pid, const struct perf_stack_line *line,
                               bool is_caller) {
    struct perf_symbol *symbol = perf_symbols_at(&stack->symbols, line->symbol);
    frame_id *known = is_caller ? &symbol->caller : &symbol->exact;
    bool is_context_free_frame = is_context_free(line, symbol);
    if (is_context_free_frame && !frame_is_none(*known)) return *known;
    struct place place = place_of(stack, pid, symbol, is_caller);
    frame_id frame = make_frame(stack, line, symbol, &place, 0);
    if (is_context_free_frame) *known = frame;
    return frame;
}

static bool reserve_frames(struct perf_stack *stack) {
    if (stack->count <= stack->frames_capacity) return true;
    frame_id *frames = memory_resize(stack->profile->failure, stack->frames, stack->capacity * sizeof *frames);
    if (!frames) return false;
    stack->frames = frames;
    stack->frames_capacity = stack->capacity;
    return true;
}

/* The frames from line `first` to its physical frame, written downwards from *out: the chain of inlined frames ends at
 * the first that is not, or, where none follows or the depth would not fit its field, at the last. Returns the line
 * behind it. */
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

static bool line_is_kernel(const struct perf_stack *stack, uint32_t line) {
    return perf_symbols_at(&stack->symbols, stack->lines[line].symbol)->flags & PERF_SYMBOL_IS_KERNEL;
}

/* Cookies are no frames, wherever they stand; the last one counts. */
static void take_cookie(struct perf_stack *stack, uint64_t *cookie) {
    uint32_t kept_count = 0;
    *cookie = 0;
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct perf_symbol *symbol = perf_symbols_at(&stack->symbols, stack->lines[i].symbol);
        if (symbol->flags & PERF_SYMBOL_IS_COOKIE)
            *cookie = symbol->address;
        else
            stack->lines[kept_count++] = stack->lines[i];
    }
    stack->count = kept_count;
}

uint32_t perf_stack_take(struct perf_stack *stack, int64_t pid, const frame_id **frames, uint64_t *cookie) {
    take_cookie(stack, cookie);
    uint32_t count = stack->count;
    *frames = NULL;
    if (!count || !reserve_frames(stack)) {
        stack->count = 0;
        return 0;
    }
    frame_id *out = stack->frames + count;
    /* The instruction pointer itself, not a return address: the first frame, and the first user frame behind the
     * kernel's, which was interrupted or made the system call. */
    bool is_exact = true, was_kernel = false;
    for (uint32_t line = 0; line < count;) {
        bool is_kernel = line_is_kernel(stack, line);
        if (was_kernel && !is_kernel) is_exact = true;
        bool is_caller = !is_exact && (is_kernel || !stack->callers_are_adjusted);
        line = resolve_chain(stack, pid, line, is_caller, &out);
        is_exact = false;
        was_kernel = is_kernel;
    }
    stack->count = 0;
    *frames = stack->frames;
    return count;
}
