#include "trace_code.h"

#include <time.h>

#include "readers/code/code_libraries.h"
#include "readers/code/script_frames.h"

/* Compared as bytes, so it must have no padding. */
struct code_key {
    uint32_t process;
    uint32_t is_return;
    uint64_t mappings_id;
    uint64_t address;
};

/* Tolerance for a system clock that was set between recording and conversion. */
static const int64_t BOOT_SLACK_NS = INT64_C(60000000000);
/* Tolerance for file times, which are only as precise as the kernel's tick or the file system's format. */
static const int64_t BEGIN_SLACK_NS = INT64_C(2000000000);
/* Tolerance for files that a process writes at exit, after the end that the recorder has recorded. */
static const int64_t END_SLACK_NS = INT64_C(10000000000);

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now)) return 0;
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* CLOCK_MONOTONIC stops while the machine sleeps; CLOCK_BOOTTIME does not. So at any time since boot, Unix time less
 * CLOCK_MONOTONIC was between what Unix time less CLOCK_BOOTTIME and Unix time less CLOCK_MONOTONIC are now. */
static bool is_of_this_boot(int64_t epoch_offset_ns) {
    int64_t now_ns = clock_ns(CLOCK_REALTIME);
    int64_t least_ns = now_ns - clock_ns(CLOCK_BOOTTIME), most_ns = now_ns - clock_ns(CLOCK_MONOTONIC);
    return epoch_offset_ns >= least_ns - BOOT_SLACK_NS && epoch_offset_ns <= most_ns + BOOT_SLACK_NS;
}

void trace_code_init(struct trace_code *code, struct profile *profile, struct trace_definitions *definitions,
                     struct trace_clock *clock, int64_t epoch_offset_ns, const struct input *trace,
                     const struct reader_options *options) {
    struct jit_policy policy = {.map_folder = options->perf_map_folder,
                                .opens_files = !options->ignores_code_files && is_of_this_boot(epoch_offset_ns)};
    policy.maps = options->perf_maps;
    policy.map_count = options->perf_map_count;
    policy.has_owner = input_owner(trace, &policy.owner);
    *code = (struct trace_code){
        .profile = profile, .definitions = definitions, .clock = clock, .epoch_offset_ns = epoch_offset_ns};
    jit_init(&code->jit, &policy, profile->failure);
    value_table_init(&code->frames, sizeof(struct code_key), sizeof(frame_id), profile->failure);
    column_init(&code->roles, sizeof(uint8_t), profile->failure);
}

void trace_code_fini(struct trace_code *code) {
    jit_fini(&code->jit);
    value_table_fini(&code->frames);
    column_fini(&code->roles);
}

/* ---- Roles of frames. ---- */

static void set_role(struct trace_code *code, frame_id frame, enum trace_frame_role role) {
    if (frame_is_none(frame)) return;
    while (code->roles.count <= frame.index)
        if (!column_add(&code->roles, &(uint8_t){TRACE_FRAME_IS_OTHER})) return;
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

/* Returns the frame of machine code at an offset in a library or, without one, at an address. Unless the trace has a
 * name for it, it is named by the number, which the symbolizer recognises as unresolved. */
static frame_id native_frame(struct trace_code *code, const struct trace_library *library, uint64_t address,
                             const struct trace_function *symbol) {
    struct profile *profile = code->profile;
    /* If memory ran out, names are missing that this function would read. */
    if (failure_is_set(profile->failure)) return frame_none();
    string_id name = symbol ? profile_string(profile, symbol->name) : code_address_name(profile, TEXT(""), address);
    struct func func = {
        .name = name, .resource = library ? library->resource : resource_none(), .source = source_none()};
    struct text library_name = TEXT("");
    if (!resource_is_none(func.resource))
        library_name = strings_text(&profile->strings, profile_resource_at(profile, func.resource)->name);
    struct frame frame = frame_of_func(profile_func(profile, &func),
                                       categories_intern_code(&profile->categories, CODE_USER, library_name));
    if (library && address <= INT32_MAX && !lib_is_none(library->lib)) {
        frame.lib = library->lib;
        frame.address = (int32_t)address;
    }
    if (symbol) frame.native_symbol = profile_native_symbol(profile, library->lib, (uint32_t)symbol->offset, name);
    frame_id added = profile_frame(profile, &frame);
    set_role(code, added, TRACE_FRAME_IS_NATIVE);
    return added;
}

static frame_id generated_frame(struct trace_code *code, const struct jit_code *generated) {
    struct profile *profile = code->profile;
    struct script_name script;
    script_name_parse(generated->name, &script);
    struct func func = {
        .resource = profile_resource(profile, profile_string(profile, generated->file_name), RESOURCE_LIBRARY),
        .source = source_none()};
    script_frames_set_func(profile, &script, &func);
    struct frame frame = frame_of_func(profile_func(profile, &func), script_frames_category(profile, &script));
    return profile_frame(profile, &frame);
}

/* ---- Generated code. ---- */

/* Returns the process with the times at which it can have changed its files. An earlier or later process with the same
 * pid changed files at other times. */
static struct jit_process jit_process_of(const struct trace_code *code, int64_t pid, uint64_t start_ns,
                                         int64_t end_ticks) {
    int64_t begin_ns = code->epoch_offset_ns + (int64_t)(start_ns <= INT64_MAX / 2 ? start_ns : 0);
    struct jit_process process = {pid, start_ns, begin_ns - BEGIN_SLACK_NS, INT64_MAX};
    if (end_ticks != TIME_NONE)
        process.changed_last_ns = code->epoch_offset_ns + trace_clock_convert(code->clock, end_ticks) + END_SLACK_NS;
    return process;
}

static void offer_jitdumps(struct trace_code *code) {
    const struct column *dumps = &code->definitions->jitdumps;
    while (code->jitdump_count < dumps->count) {
        const struct trace_jitdump *dump = column_at(dumps, code->jitdump_count++);
        const struct jit_process process = jit_process_of(code, dump->pid, dump->process_start_ns, TIME_NONE);
        jit_offer(&code->jit, &process, dump->path);
    }
}

static void add_forks(struct trace_code *code) {
    const struct column *forks = &code->definitions->rows_of[TRACE_DEFINE_INHERITANCE];
    while (code->fork_count < forks->count) {
        const struct trace_inheritance *fork = column_at(forks, code->fork_count++);
        const struct trace_process_key *child = &fork->child, *parent = &fork->parent;
        const struct jit_process forked = jit_process_of(code, child->pid, child->start_ns, TIME_NONE);
        const struct jit_process forking = jit_process_of(code, parent->pid, parent->start_ns, TIME_NONE);
        jit_fork(&code->jit, &forked, &forking);
    }
}

/* Passes on to `jit` which jitdumps and forks were defined since the last call. */
static void update_jit(struct trace_code *code) {
    offer_jitdumps(code);
    add_forks(code);
}

/* The ends of processes come last, as definitions do not have them. */
void trace_code_make_ready(struct trace_code *code, const struct trace_tasks *tasks) {
    code->is_ready = true;
    update_jit(code);
    COLUMN_EACH(const struct trace_process, row, &tasks->processes) {
        const struct process *own = profile_process_at(code->profile, row->id);
        const struct jit_process process = jit_process_of(code, own->pid, row->start_ns, own->end_ticks);
        jit_describe(&code->jit, &process);
    }
}

/* Sets *frame to that of an address that is in no file. Returns false if the result applies only at this time. Once
 * definitions are complete, an entry cannot be postponed, so it gets no name. */
static bool resolve_generated(struct trace_code *code, const struct trace_address *address, uint64_t call_address,
                              int64_t ticks, frame_id *frame, bool *is_open) {
    *frame = frame_none();
    bool has_files = false;
    struct jit_process process;
    if (address->process && code->jit.policy.opens_files) {
        const struct process *own = profile_process_at(code->profile, address->process->id);
        process =
            jit_process_of(code, own->pid, address->process->start_ns, code->is_ready ? own->end_ticks : TIME_NONE);
        update_jit(code);
        has_files = jit_has_files(&code->jit, &process);
    }
    *is_open |= has_files && !code->is_ready && !code->definitions->is_complete;
    if (*is_open) return false;
    bool is_timed = has_files && code->is_ready;
    uint64_t number =
        is_timed ? jit_find(&code->jit, &process, call_address, trace_clock_convert(code->clock, ticks)) : 0;
    *frame =
        number ? generated_frame(code, jit_code_at(&code->jit, number)) : native_frame(code, NULL, call_address, NULL);
    return !is_timed;
}

void trace_code_enter_notes(struct trace_code *code) {
    static const enum trace_cause causes[JIT_NOTE_COUNT] = {
        [JIT_NOTE_OWNER] = TRACE_NOTE_JIT_OWNER,    [JIT_NOTE_KIND] = TRACE_NOTE_JIT_KIND,
        [JIT_NOTE_SIZE] = TRACE_NOTE_JIT_SIZE,      [JIT_NOTE_UNUSABLE] = TRACE_NOTE_JIT_FILE,
        [JIT_NOTE_DAMAGED] = TRACE_NOTE_JIT_RECORD,
    };
    for (size_t i = 0; i < JIT_NOTE_COUNT; i++)
        trace_ledger_count_placeless(code->definitions->ledger, causes[i], code->jit.notes[i]);
}

/* ---- Looking up. ---- */

/* Returns the file that contains the address, or NULL. Sets *symbol to the function that the trace names there, or to
 * NULL. */
static const struct trace_library *find_file(struct trace_code *code, const struct trace_address *address,
                                             uint64_t call_address, uint64_t *relative,
                                             const struct trace_function **symbol) {
    if (!address->process || !address->mappings_id) return NULL;
    int64_t pid = profile_process_at(code->profile, address->process->id)->pid;
    const struct code_mapping *mapping = trace_definitions_mapping(code->definitions, pid, address->process->start_ns,
                                                                   call_address, address->mappings_id);
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
        *frame = native_frame(code, library, relative, symbol);
        return true;
    }
    return resolve_generated(code, address, call_address, ticks, frame, is_open);
}

frame_id trace_code_frame(struct trace_code *code, const struct trace_address *address, int64_t ticks, bool *is_open) {
    struct code_key key = {address->process ? address->process->id.index : ID_NONE, address->is_return,
                           address->mappings_id, address->address};
    frame_id frame = frame_none(), *known = value_table_intern(&code->frames, &key, &frame);
    if (!known || !frame_is_none(*known)) return known ? *known : frame;
    if (resolve(code, address, ticks, &frame, is_open)) *known = frame;
    return frame;
}
