#include "data_code.h"

#include <stdio.h>

#include "libconvert/base/memory.h"
#include "libconvert/profile/cut_stacks.h"
#include "readers/perf/perf_callers.h"
#include "readers/perf/perf_script_frames.h"

/* Keys are compared bytewise, so the structs must have no padding. */

struct file_key {
    string_id path;
    string_id build_id;
};

/* The address space of a process from one fork to the next. A program that is executed keeps the mappings of the
 * previous program. Its own mappings override them, and samples that are taken while the kernel executes the program
 * still have the old addresses. */
struct data_space {
    int64_t pid;
    uint32_t epoch; /* count of mappings so far */
};

struct place_key {
    uint32_t space;
    uint32_t flags;
    uint64_t address;
};

struct known_place {
    struct place_key key;
    uint32_t epoch; /* the space's epoch when the row was looked up */
    uint32_t row;
};

/* The mapping at a page of a process. */
struct known_page {
    uint64_t page;
    uint32_t space;
    uint32_t epoch;
    const struct code_mapping *mapping; /* NULL: none */
};

enum { KNOWN_PLACES_LOG2 = 16, KNOWN_PAGES_LOG2 = 14, PAGE_BYTES = 4096 };

/* Code at an offset in a file, or at an address that is in no file. */
struct code_row {
    uint32_t file;  /* row of files; ID_NONE: unknown */
    uint32_t flags; /* enum address_flag; ADDRESS_IS_RETURN only without a file */
    int64_t pid;    /* 0 if the offset in the file identifies the code */
    uint64_t address;
    uint64_t relative;  /* offset in the file; for the kernel, offset from its start */
    uint64_t generated; /* the data_jit_code at the address; 0: none, or the code is in a file */
};

enum { KERNEL_SPACE = 0 };

static uint32_t add_space(struct data_code *code, int64_t pid) {
    uint32_t row = (uint32_t)code->spaces.count;
    struct data_space *space = column_push(&code->spaces);
    if (!space) return ID_NONE;
    *space = (struct data_space){.pid = pid};
    return row;
}

void data_code_init(struct data_code *code, struct profile *profile) {
    struct failure *failure = profile->failure;
    *code = (struct data_code){.profile = profile, .kernel_start = UINT64_MAX};
    perf_libraries_init(&code->libraries, profile);
    strings_init(&code->texts, failure);
    code_mappings_init(&code->mappings, failure);
    row_table_init(&code->file_keys, sizeof(struct file_key), failure);
    column_init(&code->files, sizeof(struct data_file), failure);
    row_table_init(&code->pids, sizeof(int64_t), failure);
    column_init(&code->pid_spaces, sizeof(uint32_t), failure);
    column_init(&code->spaces, sizeof(struct data_space), failure);
    row_table_init(&code->codes, sizeof(struct code_row), failure);
    stack_table_init(&code->stacks, failure);
    row_table_init(&code->listed_paths, sizeof(string_id), failure);
    column_init(&code->listed_ids, sizeof(string_id), failure);
    add_space(code, PERF_PID_KERNEL);
}

void data_code_fini(struct data_code *code) {
    perf_libraries_fini(&code->libraries);
    strings_fini(&code->texts);
    code_mappings_fini(&code->mappings);
    row_table_fini(&code->file_keys);
    column_fini(&code->files);
    row_table_fini(&code->pids);
    column_fini(&code->pid_spaces);
    column_fini(&code->spaces);
    memory_free(code->places);
    memory_free(code->pages);
    row_table_fini(&code->codes);
    stack_table_fini(&code->stacks);
    row_table_fini(&code->listed_paths);
    column_fini(&code->listed_ids);
}

/* ---- Files. ---- */

static const struct text kernel_name = TEXT("[kernel.kallsyms]");

static bool is_module_path(struct text path) {
    static const struct text endings[] = {TEXT(".ko"), TEXT(".ko.gz"), TEXT(".ko.xz"), TEXT(".ko.zst")};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends_with(path, endings[i])) return true;
    return false;
}

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
    if (is_kernel && text_starts_with(path, kernel_name)) return kernel_name;
    if (is_kernel && is_module_path(path)) return module_name(path, buffer, capacity_bytes);
    return text_ends_with(path, deleted) ? text_slice(path, 0, path.bytes_count - deleted.bytes_count) : path;
}

static uint32_t intern_file(struct data_code *code, struct text path, struct text build_id, bool is_kernel) {
    char buffer[128];
    struct file_key key = {strings_intern(&code->texts, path), strings_intern(&code->texts, build_id)};
    if (string_is_none(key.path) || string_is_none(key.build_id)) return ID_NONE;
    uint32_t row = row_table_intern(&code->file_keys, &key);
    if (row == ID_NONE || row < code->files.count) return row;
    struct text name = strings_copy(&code->texts, profile_path(path, is_kernel, buffer, sizeof buffer));
    struct data_file *file = column_push(&code->files);
    if (!file) return ID_NONE;
    *file = (struct data_file){.path = name,
                               .real_path = strings_text(&code->texts, key.path),
                               .build_id = strings_text(&code->texts, key.build_id),
                               .library = perf_libraries_intern(&code->libraries, name),
                               .lib = lib_none()};
    return row;
}

void data_code_set_build_id(struct data_code *code, struct text path, struct text build_id) {
    string_id path_id = strings_intern(&code->texts, path), build_id_id = strings_intern(&code->texts, build_id);
    if (string_is_none(path_id) || string_is_none(build_id_id)) return;
    if (row_table_intern(&code->listed_paths, &path_id) != code->listed_ids.count) return;
    string_id *listed = column_push(&code->listed_ids);
    if (listed) *listed = build_id_id;
}

static struct text listed_build_id(struct data_code *code, struct text path) {
    string_id id = strings_intern(&code->texts, path);
    uint32_t row = row_table_find(&code->listed_paths, &id);
    if (row >= code->listed_ids.count) return (struct text){0};
    return strings_text(&code->texts, *(const string_id *)column_at(&code->listed_ids, row));
}

struct text data_code_build_id(struct data_code *code, const struct data_file *file) {
    if (file->build_id.bytes_count) return file->build_id;
    /* The list has the kernel's name without the symbol that perf appends to the name in its mapping. */
    struct text listed = listed_build_id(code, file->real_path);
    return listed.bytes_count ? listed : listed_build_id(code, file->path);
}

/* ---- Spaces. ---- */

/* Returns where the current space of the pid is stored. Returns NULL if memory ran out (latched). */
static uint32_t *space_slot(struct data_code *code, int64_t pid) {
    uint32_t row = row_table_intern(&code->pids, &pid);
    if (row == ID_NONE) return NULL;
    if (row < code->pid_spaces.count) return column_at(&code->pid_spaces, row);
    uint32_t *slot = column_push(&code->pid_spaces);
    if (slot) *slot = add_space(code, pid);
    return slot;
}

static uint32_t space_of(struct data_code *code, int64_t pid) {
    if (pid == PERF_PID_KERNEL) return KERNEL_SPACE;
    const uint32_t *slot = space_slot(code, pid);
    return slot ? *slot : ID_NONE;
}

static struct data_space *space_at(const struct data_code *code, uint32_t row) { return column_at(&code->spaces, row); }

static void add_mapping(struct data_code *code, const struct data_mapping *mapping, uint64_t file_number) {
    uint32_t space = space_of(code, mapping->pid);
    if (space == ID_NONE) return;
    /* The record of the kernel's text has an address in place of a file offset. */
    uint64_t offset = mapping->pid == PERF_PID_KERNEL ? 0 : mapping->file_offset;
    const struct code_mapping row = {.pid = space,
                                     .address = mapping->start,
                                     .size_bytes = mapping->size_bytes,
                                     .offset = offset,
                                     .library_id = file_number};
    code_mappings_add(&code->mappings, ++code->mapping_count, &row);
    if (space != KERNEL_SPACE && (mapping->start | mapping->size_bytes) % PAGE_BYTES) code->has_parts_of_pages = true;
    space_at(code, space)->epoch++;
}

/* Remembers the symbol that the kernel's mapping names and the symbol's address. The mapping's name is for example
 * "[kernel.kallsyms]_text", and its file offset is the address of "_text". */
static void learn_kernel(struct data_code *code, const struct data_mapping *mapping) {
    if (mapping->pid != PERF_PID_KERNEL || !text_starts_with(mapping->path, kernel_name)) return;
    code->kernel_symbol = strings_copy(&code->texts, text_from(mapping->path, kernel_name.bytes_count));
    code->kernel_symbol_address = mapping->file_offset;
    code->kernel_start = mapping->start;
}

struct data_kernel_identity data_code_kernel(struct data_code *code) {
    struct data_kernel_identity identity = {.reference = code->kernel_symbol, .address = code->kernel_symbol_address};
    for (size_t i = 0; i < code->files.count && !identity.build_id.bytes_count; i++) {
        const struct data_file *file = column_at(&code->files, i);
        if (text_equal(file->path, kernel_name)) identity.build_id = data_code_build_id(code, file);
    }
    return identity;
}

void data_code_map(struct data_code *code, const struct data_mapping *mapping) {
    learn_kernel(code, mapping);
    uint32_t file = intern_file(code, mapping->path, mapping->build_id, mapping->pid == PERF_PID_KERNEL);
    if (file != ID_NONE) add_mapping(code, mapping, (uint64_t)file + 1);
}

void data_code_unmap_kernel(struct data_code *code, uint64_t start, uint64_t size_bytes) {
    add_mapping(code, &(struct data_mapping){.pid = PERF_PID_KERNEL, .start = start, .size_bytes = size_bytes}, 0);
}

void data_code_fork(struct data_code *code, int64_t pid, int64_t parent_pid, bool is_new) {
    if (pid == PERF_PID_KERNEL || parent_pid == PERF_PID_KERNEL || pid == parent_pid) return;
    uint32_t parent = space_of(code, parent_pid);
    uint32_t *slot = space_slot(code, pid);
    if (parent == ID_NONE || !slot) return;
    *slot = add_space(code, pid);
    if (is_new || *slot == ID_NONE) return;
    const struct code_inheritance inheritance = {.pid = *slot, .parent_pid = parent, .last_id = code->mapping_count};
    code_mappings_add_inheritance(&code->mappings, ++code->mapping_count, &inheritance);
}

static const struct code_mapping *search_mapping(const struct data_code *code, uint32_t space, uint64_t address) {
    return code_mappings_find(&code->mappings, space, 0, address, code->mapping_count);
}

/* Returns the mapping of the kernel's address. The recorded one of the kernel itself ends with the code that stays in
 * memory: functions that ran at its start are behind it, and the first processor waits in a stack of them. */
static const struct code_mapping *find_kernel_mapping(const struct data_code *code, uint64_t address) {
    static const uint64_t KERNEL_BYTES_MAX = 256 * 1024 * 1024;
    const struct code_mapping *mapping = search_mapping(code, KERNEL_SPACE, address);
    bool is_kernel = address >= code->kernel_start && address - code->kernel_start < KERNEL_BYTES_MAX;
    return mapping || !is_kernel ? mapping : search_mapping(code, KERNEL_SPACE, code->kernel_start);
}

/* Returns the mapping of an address. In a process, all addresses of a page are in the same mappings. */
static const struct code_mapping *find_mapping(struct data_code *code, uint32_t space, uint64_t address) {
    size_t count = (size_t)1 << KNOWN_PAGES_LOG2;
    if (space == KERNEL_SPACE) return find_kernel_mapping(code, address);
    if (code->has_parts_of_pages) return search_mapping(code, space, address);
    if (!code->pages) code->pages = memory_allocate_zeroed(code->profile->failure, count, sizeof *code->pages);
    if (!code->pages) return NULL;
    uint64_t page = address / PAGE_BYTES, mixed = (page ^ (uint64_t)space << 40) * UINT64_C(0x9e3779b97f4a7c15);
    struct known_page *known = &code->pages[mixed >> (64 - KNOWN_PAGES_LOG2)];
    uint32_t epoch = space_at(code, space)->epoch + 1; /* never 0, which is that of an unused entry */
    if (known->page != page || known->space != space || known->epoch != epoch)
        *known = (struct known_page){page, space, epoch, search_mapping(code, space, address)};
    return known->mapping;
}

const struct code_mapping *data_code_find(struct data_code *code, int64_t pid, uint64_t address) {
    uint32_t row = row_table_find(&code->pids, &pid);
    if (row >= code->pid_spaces.count) return NULL;
    uint32_t space = *(const uint32_t *)column_at(&code->pid_spaces, row);
    return space == ID_NONE ? NULL : find_mapping(code, space, address);
}

/* ---- Code. ---- */

static struct code_row look_up(struct data_code *code, const struct place_key *key) {
    int64_t pid = space_at(code, key->space)->pid;
    bool steps_back = key->flags & ADDRESS_IS_RETURN && key->address;
    uint64_t address = key->address - steps_back;
    struct code_row row = {.file = ID_NONE, .flags = key->flags & ~(uint32_t)ADDRESS_IS_RETURN, .pid = pid};
    row.address = address;
    if (key->flags & (ADDRESS_IS_GUEST | ADDRESS_IS_CUT)) return row;
    const struct code_mapping *mapping = find_mapping(code, key->space, address);
    if (code->jit && key->space != KERNEL_SPACE) row.generated = data_jit_code(code->jit, pid, address);
    if (!mapping) {
        if (!row.generated) row.flags = key->flags;
        return row;
    }
    row.file = data_code_file_of(mapping);
    row.relative = address - mapping->address + mapping->offset;
    const struct data_file *file = column_at(&code->files, row.file);
    if (file->library == ID_NONE || !perf_libraries_at(&code->libraries, file->library)->is_file) return row;
    /* All processes share one frame for this code. */
    row.pid = 0;
    row.generated = 0;
    if (key->space != KERNEL_SPACE) row.address = 0;
    return row;
}

/* Returns where the result for the place is stored. Other places may share it. NULL if memory ran out (latched). */
static struct known_place *known_place_of(struct data_code *code, const struct place_key *key) {
    size_t count = (size_t)1 << KNOWN_PLACES_LOG2;
    if (!code->places) code->places = memory_allocate_zeroed(code->profile->failure, count, sizeof *code->places);
    if (!code->places) return NULL;
    uint64_t mixed = (key->address ^ (uint64_t)key->space << 40 ^ key->flags) * UINT64_C(0x9e3779b97f4a7c15);
    return &code->places[mixed >> (64 - KNOWN_PLACES_LOG2)];
}

uint32_t data_code_space(struct data_code *code, int64_t pid) { return space_of(code, pid); }

uint64_t data_code_moment(const struct data_code *code, uint32_t space) {
    uint64_t moment = (uint64_t)space_at(code, space)->epoch + space_at(code, KERNEL_SPACE)->epoch;
    return moment + (code->jit ? code->jit->valid_count : 0);
}

uint32_t data_code_row(struct data_code *code, uint32_t space, uint64_t address, uint32_t flags) {
    const struct place_key key = {flags & ADDRESS_IS_KERNEL ? KERNEL_SPACE : space, flags, address};
    struct known_place *known = known_place_of(code, &key);
    if (!known) return ID_NONE;
    uint32_t epoch = space_at(code, key.space)->epoch + 1; /* never 0: unused entries have epoch 0 */
    if (code->jit) epoch += (uint32_t)code->jit->valid_count;
    if (known->epoch == epoch && memcmp(&known->key, &key, sizeof key) == 0) return known->row;
    struct code_row row = look_up(code, &key);
    *known = (struct known_place){key, epoch, row_table_intern(&code->codes, &row)};
    return known->row;
}

uint32_t data_code_stack(struct data_code *code, uint32_t caller, uint32_t row) {
    if (row == ID_NONE) return caller;
    return stack_table_intern(&code->stacks, (stack_id){caller}, (frame_id){row}).index;
}

/* ---- Frames. ---- */

/* What is known about one code row while its frame is made. */
struct frame_making {
    struct data_code *code;
    struct profile *profile;
    const struct code_row *row;
    struct perf_library *library; /* the unknown library if the row has no file */
    struct data_file *file;       /* NULL: none */
    enum code_kind kind;
    struct data_name name; /* empty: unknown */
};

static bool is_known_address(const struct frame_making *making) {
    return making->file && making->library->is_file && making->row->relative <= INT32_MAX;
}

static lib_id lib_of(const struct frame_making *making) {
    struct data_file *file = making->file;
    if (lib_is_none(file->lib))
        file->lib = libs_intern(&making->profile->libs, file->path, data_code_build_id(making->code, file));
    return file->lib;
}

static bool has_build_id(const struct frame_making *making) {
    lib_id lib = lib_of(making);
    return !lib_is_none(lib) && libs_at(&making->profile->libs, lib)->code_id.bytes_count;
}

/* Returns a name such as "libc.so.6+0x1f", or "0x1f" if there is no base (NULL). This is faster than printf, and most
 * frames need one. */
static string_id address_name(struct profile *profile, const struct text *base, uint64_t address) {
    enum { BASE_BYTES_MAX = 4000, DIGITS_MAX = 16 };
    char name[BASE_BYTES_MAX + sizeof "+0x" + DIGITS_MAX];
    size_t end = 0;
    if (base) {
        end = text_slice(*base, 0, BASE_BYTES_MAX).bytes_count;
        memcpy(name, base->bytes, end);
        name[end++] = '+';
    }
    name[end++] = '0';
    name[end++] = 'x';
    unsigned digit_count = address ? (67 - (unsigned)__builtin_clzll(address)) / 4 : 1;
    for (unsigned i = digit_count; i-- > 0;) name[end++] = "0123456789abcdef"[address >> (4 * i) & 15];
    return profile_string(profile, (struct text){name, end});
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
    return address_name(making->profile, is_open ? NULL : &making->library->base_name, shown);
}

static func_id make_func(const struct frame_making *making, const struct script_name *script) {
    struct profile *profile = making->profile;
    resource_id resource = making->library->resource;
    if (making->name.file.bytes_count)
        resource = profile_resource(profile, profile_string(profile, making->name.file), RESOURCE_LIBRARY);
    struct func func = {.resource = resource, .source = source_none()};
    if (script->name.bytes_count)
        perf_script_frames_set_func(profile, script, &func);
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

static bool is_module(const struct data_file *file) {
    return is_module_path(file->real_path) ||
           (text_starts_with(file->path, TEXT("[")) && !text_equal(file->path, kernel_name));
}

static void find_in_module(struct frame_making *making, const struct data_names *names) {
    const struct code_row *row = making->row;
    const struct data_kernel_module module = {.name = making->file->path,
                                              .path = making->file->real_path,
                                              .build_id = data_code_build_id(making->code, making->file),
                                              .address = row->address - row->relative};
    names->find_in_module(names->context, &module, row->address, &making->name);
}

static void find_name(struct frame_making *making, const struct data_names *names) {
    const struct code_row *row = making->row;
    if (row->flags & ADDRESS_IS_GUEST) return;
    if (row->flags & ADDRESS_IS_KERNEL) {
        if (making->file && making->kind == CODE_KERNEL && !making->library->is_file)
            /* The record of a BPF program has the program's name in place of a file's. */
            making->name = (struct data_name){.name = making->file->path, .start = row->address - row->relative};
        else if (making->file && is_module(making->file))
            find_in_module(making, names);
        else
            names->find_kernel(names->context, row->address, &making->name);
        /* The address is in a kernel module whose mapping was not recorded. */
        if (!making->file && making->name.module.bytes_count) {
            uint32_t library = perf_libraries_intern(&making->code->libraries, making->name.module);
            if (library != ID_NONE) making->library = perf_libraries_at(&making->code->libraries, library);
        }
        return;
    }
    if (making->file && text_equal(making->file->path, TEXT("[vdso]"))) {
        names->find_vdso(names->context, data_code_build_id(making->code, making->file), row->relative, &making->name);
        return;
    }
    if (making->file && making->library->is_file) return;
    if (names->find_generated(names->context, row->pid, row->address, row->generated, &making->name))
        making->kind = CODE_JIT;
}

static frame_id cut_frame(struct profile *profile) {
    return profile_named_frame(profile, TEXT(TRUNCATED_STACK_NAME), (struct category_pair){0});
}

static frame_id make_frame(struct data_code *code, const struct code_row *row, const struct data_names *names) {
    if (row->flags & ADDRESS_IS_CUT) return cut_frame(code->profile);
    struct frame_making making = {.code = code, .profile = code->profile, .row = row};
    making.file = row->file == ID_NONE ? NULL : column_at(&code->files, row->file);
    uint32_t library = making.file ? making.file->library : perf_libraries_intern(&code->libraries, TEXT(""));
    if (library == ID_NONE) return frame_none();
    making.library = perf_libraries_at(&code->libraries, library);
    making.kind = making.file || !(row->flags & ADDRESS_IS_KERNEL) ? making.library->kind : CODE_KERNEL;
    find_name(&making, names);
    struct script_name script = {.name = making.name.name};
    if (making.kind == CODE_JIT) script_name_parse(making.name.name, &script);
    struct category_pair category =
        perf_libraries_categorise(&code->libraries, making.library, making.kind, making.name.name, &script);
    struct frame frame = frame_of_func(make_func(&making, &script), category);
    set_place(&making, &frame);
    return profile_frame(code->profile, &frame);
}

static frame_id *make_frames(struct data_code *code, const struct data_names *names) {
    struct failure *failure = code->profile->failure;
    uint32_t count = row_table_count(&code->codes);
    frame_id *frames = memory_allocate(failure, count * sizeof *frames);
    for (uint32_t i = 0; frames && i < count && !failure_is_set(failure); i++)
        frames[i] = make_frame(code, row_table_at(&code->codes, i), names);
    return frames;
}

stack_id *data_code_finish(struct data_code *code, struct data_names *names) {
    /* Memory that is not needed any more is freed before frames and stacks take it. */
    memory_free(code->places);
    memory_free(code->pages);
    code->places = NULL;
    code->pages = NULL;
    row_table_seal(&code->codes);
    stack_table_seal(&code->stacks);
    if (!stack_table_count(&code->stacks)) return NULL;
    frame_id *frames = make_frames(code, names);
    row_table_fini(&code->codes);
    stack_id *stacks = frames ? stack_table_renumber(&code->stacks, frames) : NULL;
    memory_free(frames);
    stack_table_seal(&code->stacks);
    if (stacks) profile_take_stacks(code->profile, &code->stacks);
    return stacks;
}
