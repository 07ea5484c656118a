#include "perf_places.h"

#include <stdio.h>

#include "libconvert/base/memory.h"
#include "libconvert/profile/cut_stacks.h"
#include "perf_callers.h"
#include "readers/code/script_frames.h"

/* Keys are compared bytewise, so the structs must have no padding. */

struct file_key {
    string_id path;
    string_id build_id;
};

struct place_key {
    uint32_t process; /* row of perf_places.maps */
    uint32_t flags;
    uint64_t address;
};

struct known_place {
    struct place_key key;
    uint32_t epoch; /* the process's epoch when the row was looked up */
    uint32_t row;
};

enum { KNOWN_PLACES_LOG2 = 16 };

/* Code at an offset in a file, or at an address that is in no file. */
struct code_row {
    uint32_t file;  /* row of files; ID_NONE: unknown */
    uint32_t flags; /* enum perf_place_flag; ADDRESS_IS_RETURN only without a file */
    int64_t pid;    /* 0 if the offset in the file identifies the code */
    uint64_t address;
    uint64_t relative;  /* offset in the file; for the kernel, offset from its start */
    uint64_t generated; /* the jit_find of the address; 0: none, or the code is in a file */
};

void perf_places_init(struct perf_places *code, struct profile *profile, const struct debug_folders *folders,
                      const struct jit_policy *policy) {
    struct failure *failure = profile->failure;
    *code = (struct perf_places){.profile = profile};
    code_libraries_init(&code->libraries, profile);
    code->unknown_library = code_libraries_intern(&code->libraries, TEXT(""));
    code->unknown_caller = frame_none();
    system_code_init(&code->system, folders, failure);
    jit_init(&code->jit, policy, failure);
    embedded_symbols_init(&code->embedded_symbols, failure);
    code_maps_init(&code->maps, failure);
    row_table_init(&code->file_keys, sizeof(struct file_key), failure);
    column_init(&code->files, sizeof(struct perf_file), failure);
    row_table_init(&code->codes, sizeof(struct code_row), failure);
    stack_table_init(&code->stacks, failure);
}

void perf_places_fini(struct perf_places *code) {
    code_libraries_fini(&code->libraries);
    system_code_fini(&code->system);
    jit_fini(&code->jit);
    embedded_symbols_fini(&code->embedded_symbols);
    code_maps_fini(&code->maps);
    row_table_fini(&code->file_keys);
    column_fini(&code->files);
    MEMORY_FREE_ALL(code->places, code->stack_rows);
    row_table_fini(&code->codes);
    stack_table_fini(&code->stacks);
}

/* ---- Files. ---- */

/* Writes the name of a kernel module as perf prints it: "[nf_tables]" for "…/nf-tables.ko.xz". */
static struct text module_name(struct text path, char *name, size_t capacity_bytes) {
    struct text base = text_base_name(path);
    base = text_slice(base, 0, text_find(base, '.'));
    int wanted =
        snprintf(name, capacity_bytes, "[%.*s]", (int)(base.bytes_count < 100 ? base.bytes_count : 100), base.bytes);
    for (char *dash = name; (dash = strchr(dash, '-'));) *dash = '_';
    return (struct text){name, (size_t)wanted};
}

/* Returns the name that the profile gives the file: the kernel's without the symbol that perf appends, other files'
 * without " (deleted)". */
static struct text profile_path(struct text path, bool is_kernel, char *buffer, size_t capacity_bytes) {
    static const struct text deleted = TEXT(" (deleted)");
    if (is_kernel && text_starts_with(path, code_kernel_name)) return code_kernel_name;
    if (is_kernel && code_library_is_module(path)) return module_name(path, buffer, capacity_bytes);
    return text_ends_with(path, deleted) ? text_slice(path, 0, path.bytes_count - deleted.bytes_count) : path;
}

static uint32_t intern_file(struct perf_places *code, struct text path, struct text build_id, bool is_kernel) {
    char buffer[128];
    struct file_key key = {strings_intern(&code->maps.texts, path), strings_intern(&code->maps.texts, build_id)};
    if (string_is_none(key.path) || string_is_none(key.build_id)) return ID_NONE;
    uint32_t row = row_table_intern(&code->file_keys, &key);
    if (row == ID_NONE || row < code->files.count) return row;
    struct text name = strings_copy(&code->maps.texts, profile_path(path, is_kernel, buffer, sizeof buffer));
    struct perf_file *file = column_push(&code->files);
    if (!file) return ID_NONE;
    *file = (struct perf_file){.path = name,
                               .real_path = strings_text(&code->maps.texts, key.path),
                               .build_id = strings_text(&code->maps.texts, key.build_id),
                               .library = code_libraries_intern(&code->libraries, name),
                               .lib = lib_none()};
    return row;
}

struct text perf_places_build_id(struct perf_places *code, const struct perf_file *file) {
    if (file->build_id.bytes_count) return file->build_id;
    /* The list has the kernel's name without the symbol that perf appends to the name in its mapping. */
    struct text listed = code_maps_build_id(&code->maps, file->real_path);
    return listed.bytes_count ? listed : code_maps_build_id(&code->maps, file->path);
}

/* ---- Mappings. ---- */

/* The process wrote no file that was changed before it began, or executed its program. */
static struct jit_process jit_process_at(const struct perf_places *code, uint32_t row) {
    static const int64_t SLACK_NS = 1000000000; /* the time of day may have been set since */
    const struct code_process *process = code_maps_process_at(&code->maps, row);
    return (struct jit_process){.pid = process->pid,
                                .serial = row,
                                .changed_first_ns = process->begin_ns ? process->begin_ns - SLACK_NS : INT64_MIN,
                                .changed_last_ns = INT64_MAX};
}

static void begin(struct perf_places *code, int64_t pid, int64_t time_ns) {
    uint32_t row = code_maps_process(&code->maps, pid);
    int64_t offset_ns = code->profile->meta.epoch_offset_ns;
    if (row == ID_NONE || !offset_ns || time_ns <= 0 || time_ns > INT64_MAX - offset_ns) return;
    code_maps_process_at(&code->maps, row)->begin_ns = time_ns + offset_ns;
}

void perf_places_fork(struct perf_places *code, int64_t pid, int64_t parent_pid, bool is_synthesized, int64_t time_ns) {
    code_maps_fork(&code->maps, pid, parent_pid, is_synthesized);
    if (pid != parent_pid && !is_synthesized) begin(code, pid, time_ns);
}

void perf_places_execute(struct perf_places *code, int64_t pid, int64_t time_ns) {
    code_maps_execute(&code->maps, pid);
    begin(code, pid, time_ns);
}

/* Remembers the symbol that the kernel's mapping names and the symbol's address. The mapping's name is for example
 * "[kernel.kallsyms]_text", and its file offset is the address of "_text". */
static void learn_kernel(struct perf_places *code, const struct code_map_record *mapping) {
    if (mapping->pid != PID_KERNEL || !text_starts_with(mapping->path, code_kernel_name)) return;
    code->system.identity.reference =
        strings_copy(&code->maps.texts, text_from(mapping->path, code_kernel_name.bytes_count));
    code->system.identity.address = mapping->file_offset;
}

/* Tells what the recording says by now about the kernel's file. */
static void identify_kernel(struct perf_places *code) {
    struct text *build_id = &code->system.identity.build_id;
    *build_id = (struct text){0};
    for (size_t i = 0; i < code->files.count && !build_id->bytes_count; i++) {
        const struct perf_file *file = column_at(&code->files, i);
        if (text_equal(file->path, code_kernel_name)) *build_id = perf_places_build_id(code, file);
    }
}

void perf_places_begin_kernel(struct perf_places *code) {
    identify_kernel(code);
    system_code_begin(&code->system);
}

void perf_places_map(struct perf_places *code, const struct code_map_record *mapping) {
    learn_kernel(code, mapping);
    uint32_t file = intern_file(code, mapping->path, mapping->build_id, mapping->pid == PID_KERNEL);
    if (file != ID_NONE) code_maps_add(&code->maps, mapping, (uint64_t)file + 1);
    uint32_t row = code_maps_process(&code->maps, mapping->pid);
    if (mapping->pid == PID_KERNEL || row == ID_NONE) return;
    const struct jit_process process = jit_process_at(code, row);
    jit_offer(&code->jit, &process, mapping->path);
}

void perf_places_unmap_kernel(struct perf_places *code, uint64_t start, uint64_t size_bytes) {
    code_maps_add(&code->maps, &(struct code_map_record){.pid = PID_KERNEL, .start = start, .size_bytes = size_bytes},
                  0);
}

/* Returns the mapping of the kernel's address. The recorded mapping of the kernel itself ends with the code that stays
 * in memory. Functions that run only while it starts follow, and the idle stack of the first processor has some. */
static const struct code_mapping *find_kernel_mapping(const struct perf_places *code, uint64_t address) {
    static const uint64_t KERNEL_BYTES_MAX = 256 * 1024 * 1024;
    const struct code_maps *maps = &code->maps;
    const struct code_mapping *mapping = code_maps_find(maps, KERNEL_SPACE, address);
    bool is_kernel = maps->kernel_start && address - maps->kernel_start < KERNEL_BYTES_MAX;
    return mapping || !is_kernel ? mapping : code_maps_find(maps, KERNEL_SPACE, maps->kernel_start);
}

static const struct code_mapping *find_mapping(const struct perf_places *code, uint32_t process, uint64_t address) {
    return process == KERNEL_SPACE ? find_kernel_mapping(code, address) : code_maps_find(&code->maps, process, address);
}

const struct code_mapping *perf_places_find(struct perf_places *code, int64_t pid, uint64_t address) {
    uint32_t process = code_maps_process(&code->maps, pid);
    return process == ID_NONE ? NULL : find_mapping(code, process, address);
}

/* ---- Code. ---- */

/* Passes the forks that led to the process to the generated code. Records of them come before those that show what has
 * executed another program. */
static void inherit_generated_code(struct perf_places *code, uint32_t row) {
    for (uint32_t parent_row = code_maps_take_parent(&code->maps, row); parent_row != KERNEL_SPACE;
         row = parent_row, parent_row = code_maps_take_parent(&code->maps, row)) {
        const struct jit_process process = jit_process_at(code, row), parent = jit_process_at(code, parent_row);
        jit_fork(&code->jit, &process, &parent);
    }
}

static uint64_t find_generated(struct perf_places *code, int64_t pid, uint64_t address, int64_t time_ns) {
    uint32_t row = pid > 0 ? code_maps_process(&code->maps, pid) : ID_NONE;
    if (row == ID_NONE) return 0;
    inherit_generated_code(code, row);
    const struct jit_process process = jit_process_at(code, row);
    return jit_find(&code->jit, &process, address, time_ns);
}

static bool has_times(const struct perf_places *code) { return code->profile->meta.is_clock_monotonic; }

/* Returns the number of the code that was generated at the address up to now; 0: none, or the recording's times are not
 * those of jitdumps. */
static uint64_t generated_now(struct perf_places *code, uint32_t process, uint64_t address) {
    if (process == KERNEL_SPACE || !has_times(code)) return 0;
    return find_generated(code, code_maps_process_at(&code->maps, process)->pid, address, code->now_ns);
}

const struct jit_code *perf_places_generated(struct perf_places *code, int64_t pid, uint64_t address,
                                             uint64_t *number) {
    *number = find_generated(code, pid, address, has_times(code) ? code->now_ns : INT64_MAX);
    return *number ? jit_code_at(&code->jit, *number) : NULL;
}

void perf_places_advance(struct perf_places *code, int64_t time_ns) {
    code->now_ns = time_ns;
    if (has_times(code)) jit_advance(&code->jit, time_ns);
}

static bool is_module(const struct perf_file *file) {
    return code_library_is_module(file->real_path) ||
           (text_starts_with(file->path, TEXT("[")) && !text_equal(file->path, code_kernel_name));
}

static struct code_row look_up(struct perf_places *code, const struct place_key *key) {
    int64_t pid = code_maps_process_at(&code->maps, key->process)->pid;
    bool steps_back = key->flags & ADDRESS_IS_RETURN && key->address;
    uint64_t address = key->address - steps_back;
    struct code_row row = {.file = ID_NONE, .flags = key->flags & ~(uint32_t)ADDRESS_IS_RETURN, .pid = pid};
    row.address = address;
    if (key->flags & (ADDRESS_IS_GUEST | ADDRESS_IS_CUT)) return row;
    const struct code_mapping *mapping = find_mapping(code, key->process, address);
    if (!mapping) {
        row.generated = generated_now(code, key->process, address);
        if (!row.generated) row.flags = key->flags;
        return row;
    }
    row.file = perf_places_file_of(mapping);
    row.relative = address - mapping->address + mapping->offset;
    const struct perf_file *file = column_at(&code->files, row.file);
    if (key->process == KERNEL_SPACE && is_module(file)) system_code_complete(&code->system);
    if (file->library == ID_NONE || !code_libraries_at(&code->libraries, file->library)->is_file) {
        row.generated = generated_now(code, key->process, address);
        return row;
    }
    /* All processes share one frame for this code. */
    row.pid = 0;
    if (key->process != KERNEL_SPACE) row.address = 0;
    return row;
}

static bool make_places(struct perf_places *code) {
    enum { PAGE_BYTES = 4096 };
    size_t count = (size_t)1 << KNOWN_PLACES_LOG2;
    code->places = memory_allocate_zeroed(code->profile->failure, count, sizeof *code->places);
    /* Makes the pages: see start_child in unwinder.c. */
    for (size_t i = 0; code->places && i < count * sizeof *code->places; i += PAGE_BYTES) ((char *)code->places)[i] = 0;
    return code->places;
}

/* Returns where the result for the place is stored. Other places may share it. */
static struct known_place *known_place_of(struct perf_places *code, const struct place_key *key) {
    uint64_t mixed = (key->address ^ (uint64_t)key->process << 40 ^ key->flags) * UINT64_C(0x9e3779b97f4a7c15);
    return &code->places[mixed >> (64 - KNOWN_PLACES_LOG2)];
}

/* Returns ID_NONE if memory ran out (latched). */
static uint32_t find_row(struct perf_places *code, const struct code_process *process, const struct place_key *key) {
    struct known_place *known = known_place_of(code, key);
    /* Never 0: unused entries have epoch 0. */
    uint32_t epoch = process->epoch + 1 + (uint32_t)code->jit.moment;
    if (known->epoch == epoch && memcmp(&known->key, key, sizeof *key) == 0) return known->row;
    struct code_row row = look_up(code, key);
    *known = (struct known_place){*key, epoch, row_table_intern(&code->codes, &row)};
    return known->row;
}

uint32_t perf_places_stack(struct perf_places *code, int64_t pid, const struct perf_place *places, size_t count) {
    struct failure *failure = code->profile->failure;
    uint32_t process = code_maps_process(&code->maps, pid);
    stack_id stack = stack_none();
    if (!count || process == ID_NONE) return ID_NONE;
    if ((!code->places && !make_places(code)) ||
        !memory_reserve(failure, &code->stack_rows, &code->stack_capacity, count, sizeof *code->stack_rows))
        return ID_NONE;
    const struct code_process *kernel = code_maps_process_at(&code->maps, KERNEL_SPACE),
                              *user = code_maps_process_at(&code->maps, process);
    for (size_t i = 0; i < count; i++) {
        bool is_kernel = places[i].flags & ADDRESS_IS_KERNEL;
        const struct place_key key = {is_kernel ? KERNEL_SPACE : process, (uint32_t)places[i].flags, places[i].address};
        code->stack_rows[i] = find_row(code, is_kernel ? kernel : user, &key);
    }
    if (failure_is_set(failure)) return ID_NONE;
    while (count--) stack = stack_table_intern(&code->stacks, stack, (frame_id){code->stack_rows[count]});
    return stack.index;
}

/* ---- Frames. ---- */

/* What is known about one code row while its frame is made. */
struct frame_making {
    struct perf_places *code;
    struct profile *profile;
    const struct code_row *row;
    struct code_library *library; /* the unknown library if the row has no file */
    struct perf_file *file;       /* NULL: none */
    enum code_kind kind;
    struct code_name name; /* empty: unknown */
};

static bool is_known_address(const struct frame_making *making) {
    return making->file && making->library->is_file && making->row->relative <= INT32_MAX;
}

static lib_id lib_of(const struct frame_making *making) {
    struct perf_file *file = making->file;
    if (lib_is_none(file->lib))
        file->lib = libs_intern(&making->profile->libs, file->path, perf_places_build_id(making->code, file));
    return file->lib;
}

static bool has_build_id(const struct frame_making *making) {
    lib_id lib = lib_of(making);
    return !lib_is_none(lib) && libs_at(&making->profile->libs, lib)->code_id.bytes_count;
}

/* Names an unknown function by its address. The name is a bare "0x…" if a symbol table may later provide the function's
 * name: tools that look up symbols replace such names. Callers outside of files are one function, as in perf's text:
 * their addresses are often no code at all. */
static string_id place_name(const struct frame_making *making) {
    const struct code_row *row = making->row;
    if (row->flags & ADDRESS_IS_RETURN) return profile_string(making->profile, TEXT(PERF_UNKNOWN_CALLER));
    bool is_kernel = row->flags & ADDRESS_IS_KERNEL;
    uint64_t shown = making->file && !is_kernel && making->library->is_file ? row->relative : row->address;
    bool is_open = is_known_address(making) && !is_kernel && !has_build_id(making);
    return code_address_name(making->profile, is_open ? TEXT("") : making->library->base_name, shown);
}

static func_id make_func(const struct frame_making *making, const struct script_name *script) {
    struct profile *profile = making->profile;
    resource_id resource = making->library->resource;
    if (making->name.file.bytes_count)
        resource = profile_resource(profile, profile_string(profile, making->name.file), RESOURCE_LIBRARY);
    struct func func = {.resource = resource, .source = source_none()};
    if (script->name.bytes_count)
        script_frames_set_func(profile, script, &func);
    else
        func.name = place_name(making);
    return profile_func(profile, &func);
}

static void set_place(const struct frame_making *making, struct frame *frame) {
    if (!is_known_address(making)) return;
    const struct code_row *row = making->row;
    frame->lib = lib_of(making);
    frame->address = (int32_t)row->relative;
    bool is_kernel = row->flags & ADDRESS_IS_KERNEL;
    uint64_t offset = (is_kernel ? row->address : row->relative) - making->name.start;
    if (!making->name.name.bytes_count || making->name.file.bytes_count || offset > row->relative) return;
    frame->native_symbol = profile_native_symbol(making->profile, frame->lib, (uint32_t)(row->relative - offset),
                                                 profile_string(making->profile, making->name.name));
}

static void find_in_module(struct frame_making *making) {
    const struct code_row *row = making->row;
    const struct kernel_module module = {.name = making->file->path,
                                         .path = making->file->real_path,
                                         .build_id = perf_places_build_id(making->code, making->file),
                                         .address = row->address - row->relative};
    system_code_find_in_module(&making->code->system, &module, row->address, &making->name);
}

/* Without times, the last code that the process generated at the address applies. */
static void name_generated(struct frame_making *making) {
    const struct code_row *row = making->row;
    struct perf_places *code = making->code;
    bool is_timed = row->generated || has_times(code);
    uint64_t number = is_timed ? row->generated : find_generated(code, row->pid, row->address, INT64_MAX);
    if (!number) return;
    const struct jit_code *found = jit_code_at(&code->jit, number);
    making->name = (struct code_name){.name = found->name, .start = found->address, .file = found->file_name};
    making->kind = CODE_JIT;
}

/* Finds the function that the recording itself names there: by its place in a file or in a module of the kernel, and by
 * its address elsewhere. */
static bool find_embedded_symbol(struct frame_making *making) {
    const struct code_row *row = making->row;
    struct perf_file *file = making->file;
    bool is_kernel = row->flags & ADDRESS_IS_KERNEL, is_in_module = is_kernel && file && is_module(file);
    bool is_in_file = is_kernel ? is_in_module : file && making->library->is_file;
    struct text path = is_kernel && !is_in_module ? code_kernel_name : file ? file->real_path : TEXT("");
    uint64_t place = is_in_file ? row->relative : row->address;
    if (!embedded_symbols_find(&making->code->embedded_symbols, path, place, &making->name)) return false;
    if (is_in_module) making->name.start += row->address - row->relative;
    return true;
}

static void find_kernel_name(struct frame_making *making) {
    const struct code_row *row = making->row;
    if (making->file && making->kind == CODE_KERNEL && !making->library->is_file)
        /* The record of a BPF program has the program's name in place of a file's. */
        making->name = (struct code_name){.name = making->file->path, .start = row->address - row->relative};
    else if (making->file && is_module(making->file))
        find_in_module(making);
    else
        system_code_find_kernel(&making->code->system, row->address, &making->name);
}

bool perf_places_find_kernel(struct perf_places *code, uint64_t address, struct code_name *name) {
    const struct place_key key = {KERNEL_SPACE, ADDRESS_IS_KERNEL, address};
    const struct code_row row = look_up(code, &key);
    struct frame_making making = {.code = code, .profile = code->profile, .row = &row, .kind = CODE_KERNEL};
    making.file = row.file == ID_NONE ? NULL : column_at(&code->files, row.file);
    if (making.file && making.file->library == ID_NONE) return false;
    if (making.file) making.library = code_libraries_at(&code->libraries, making.file->library);
    if (making.file) making.kind = making.library->kind;
    if (!find_embedded_symbol(&making)) find_kernel_name(&making);
    *name = making.name;
    return name->name.bytes_count;
}

static void find_name(struct frame_making *making) {
    struct system_code *system = &making->code->system;
    const struct code_row *row = making->row;
    if (row->flags & ADDRESS_IS_GUEST || find_embedded_symbol(making)) return;
    if (row->flags & ADDRESS_IS_KERNEL) {
        find_kernel_name(making);
        /* The address is in a kernel module whose mapping was not recorded. */
        if (!making->file && making->name.module.bytes_count) {
            uint32_t library = code_libraries_intern(&making->code->libraries, making->name.module);
            if (library != ID_NONE) making->library = code_libraries_at(&making->code->libraries, library);
        }
        return;
    }
    if (making->file && text_equal(making->file->path, vdso_name)) {
        struct text build_id = perf_places_build_id(making->code, making->file);
        system_code_find_in_vdso(system, build_id, row->relative, &making->name);
        return;
    }
    if (making->file && making->library->is_file) return;
    name_generated(making);
}

static frame_id cut_frame(struct profile *profile) {
    return profile_named_frame(profile, TEXT(TRUNCATED_STACK_NAME), (struct category_pair){0});
}

static frame_id make_frame(struct perf_places *code, const struct code_row *row) {
    if (row->flags & ADDRESS_IS_CUT) return cut_frame(code->profile);
    struct frame_making making = {.code = code, .profile = code->profile, .row = row};
    making.file = row->file == ID_NONE ? NULL : column_at(&code->files, row->file);
    uint32_t library = making.file ? making.file->library : code->unknown_library;
    if (library == ID_NONE) return frame_none();
    making.library = code_libraries_at(&code->libraries, library);
    making.kind = making.file || !(row->flags & ADDRESS_IS_KERNEL) ? making.library->kind : CODE_KERNEL;
    find_name(&making);
    /* A recording without frame pointers has many, whose addresses are data. All are one frame. */
    bool is_unknown_caller = row->flags == ADDRESS_IS_RETURN && !making.name.name.bytes_count;
    if (is_unknown_caller && !frame_is_none(code->unknown_caller)) return code->unknown_caller;
    struct script_name script = {.name = making.name.name};
    if (making.kind == CODE_JIT) script_name_parse(making.name.name, &script);
    struct category_pair category =
        code_libraries_categorise(&code->libraries, making.library, making.kind, making.name.name, &script);
    struct frame frame = frame_of_func(make_func(&making, &script), category);
    set_place(&making, &frame);
    frame_id made = profile_frame(code->profile, &frame);
    if (is_unknown_caller) code->unknown_caller = made;
    return made;
}

static frame_id *make_frames(struct perf_places *code) {
    struct failure *failure = code->profile->failure;
    uint32_t count = row_table_count(&code->codes);
    frame_id *frames = memory_allocate(failure, count * sizeof *frames);
    for (uint32_t i = 0; frames && i < count && !failure_is_set(failure); i++)
        frames[i] = make_frame(code, row_table_at(&code->codes, i));
    return frames;
}

stack_id *perf_places_finish(struct perf_places *code) {
    /* Memory that is not needed any more is freed before frames and stacks take it. */
    memory_free(code->places);
    code->places = NULL;
    row_table_seal(&code->codes);
    stack_table_seal(&code->stacks);
    identify_kernel(code);
    if (!stack_table_count(&code->stacks)) return NULL;
    frame_id *frames = make_frames(code);
    row_table_fini(&code->codes);
    stack_id *stacks = frames ? stack_table_renumber(&code->stacks, frames) : NULL;
    memory_free(frames);
    stack_table_seal(&code->stacks);
    if (stacks) profile_take_stacks(code->profile, &code->stacks);
    return stacks;
}
