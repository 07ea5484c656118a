#include "kernel_symbols.h"

#include <limits.h>
#include <sys/utsname.h>

#include "kernel_file.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/first_row.h"
#include "readers/input/scan.h"

struct kernel_symbol {
    uint64_t address;
    struct text name;
    struct text module; /* "[nf_tables]"; empty: the symbol is in the kernel itself */
};

void kernel_symbols_init(struct kernel_symbols *kernel, const struct debug_folders *folders, struct failure *failure) {
    *kernel = (struct kernel_symbols){.failure = failure, .folders = folders};
    arena_init(&kernel->texts, failure);
    column_init(&kernel->symbols, sizeof(struct kernel_symbol), failure);
    column_init(&kernel->module_symbols, sizeof(struct kernel_symbol), failure);
    row_table_init(&kernel->modules, sizeof(uint64_t), failure);
}

void kernel_symbols_fini(struct kernel_symbols *kernel) {
    arena_fini(&kernel->texts);
    kernel_list_fini(&kernel->list);
    COLUMNS_FINI(&kernel->symbols, &kernel->module_symbols);
    row_table_fini(&kernel->modules);
}

/* ---- Identifying the running kernel. ---- */

/* Returns whether the running kernel is the recorded one. Without a build id, a kernel of the same release is accepted
 * if the reference symbol has the same address, which is checked when the list is read: a kernel chooses new addresses
 * each time it starts. */
static bool is_running(const struct kernel_identity *identity) {
    char id[KERNEL_BUILD_ID_BYTES_MAX], hex[2 * KERNEL_BUILD_ID_BYTES_MAX + 1];
    if (identity->build_id.bytes_count) {
        size_t id_bytes = kernel_build_id_read("/sys/kernel/notes", id);
        return text_equal(text_hex((struct text){id, id_bytes}, hex), identity->build_id);
    }
    struct utsname names;
    return uname(&names) == 0 && text_equal(text_of(names.release), identity->release);
}

/* ---- Lists of symbols. ---- */

/* Parses a line such as "ffffffff81000000 T _text". The name of a module follows in brackets after a tab. Returns false
 * if the symbol is not a function. */
static bool parse_symbol(struct text line, struct kernel_symbol *symbol) {
    if (!cursor_take_number(&line, 16, &symbol->address)) return false;
    struct text type = cursor_take_token(&line);
    symbol->name = cursor_take_token(&line);
    symbol->module = cursor_take_token(&line);
    return type.bytes_count == 1 && memchr("tTwW", type.bytes[0], 4) && symbol->name.bytes_count;
}

static int compare_symbols(const void *a, const void *b) { return ORDER_BY(struct kernel_symbol, address, a, b); }

struct list_reading {
    struct kernel_symbols *kernel;
    struct column *symbols;     /* those of `kernel` */
    struct text reference_name; /* empty: none */
    struct text last_module;    /* the copied name of the last module; all symbols of a module are adjacent */
    uint64_t reference;         /* address of the reference symbol in the list; 0: the list does not have it */
};

static void add_symbol(struct list_reading *reading, const struct kernel_symbol *symbol) {
    struct kernel_symbols *kernel = reading->kernel;
    if (!reading->reference && text_equal(symbol->name, reading->reference_name)) reading->reference = symbol->address;
    if (!text_equal(symbol->module, reading->last_module))
        reading->last_module = arena_copy(&kernel->texts, symbol->module);
    column_add(reading->symbols, &(struct kernel_symbol){symbol->address, arena_copy(&kernel->texts, symbol->name),
                                                         reading->last_module});
}

/* Adds the symbols in the input, and closes it. */
static void read_symbols(struct list_reading *reading, struct input *input) {
    struct scan scan;
    struct text line;
    scan_init(&scan, input);
    while (!failure_is_set(reading->kernel->failure) && scan_line(&scan, &line)) {
        struct kernel_symbol symbol;
        if (parse_symbol(line, &symbol)) add_symbol(reading, &symbol);
    }
    input_close(input);
    column_sort(reading->symbols, compare_symbols);
}

/* Returns whether the list has addresses. If the user may not see addresses, all are 0. */
static bool has_addresses(const struct kernel_symbols *kernel) {
    size_t count = kernel->symbols.count;
    return count && ((const struct kernel_symbol *)column_at(&kernel->symbols, count - 1))->address;
}

/* `reference` is the address of the reference symbol in the list; 0: the list does not have it. */
static bool is_of(const struct kernel_identity *identity, uint64_t reference) {
    if (identity->build_id.bytes_count) return !identity->address || reference;
    return reference && reference == identity->address;
}

static void set_shift(struct kernel_symbols *kernel, const struct kernel_identity *identity, uint64_t reference) {
    if (reference) kernel->shift = identity->address - reference;
}

/* Reads the kernel's list, and closes the input; NULL: there is none. Returns false if it is not the kernel's. */
static bool read_list(struct kernel_symbols *kernel, const struct kernel_identity *identity, struct input *input) {
    if (!input) return false;
    struct list_reading reading = {
        .kernel = kernel, .symbols = &kernel->symbols, .reference_name = identity->reference};
    read_symbols(&reading, input);
    if (failure_is_set(kernel->failure) || !has_addresses(kernel) || !is_of(identity, reading.reference)) {
        kernel->symbols.count = 0;
        return false;
    }
    set_shift(kernel, identity, reading.reference);
    return true;
}

static bool read_list_at(struct kernel_symbols *kernel, const struct kernel_identity *identity, const char *path) {
    struct failure failure = {.memory = kernel->failure->memory};
    return read_list(kernel, identity, input_open(path, &failure));
}

/* ---- The running kernel's list. ---- */

static size_t line_start(struct text list, size_t offset) {
    struct text before = text_slice(list, 0, offset);
    size_t newline = text_find_last(before, '\n');
    return newline == before.bytes_count ? 0 : newline + 1;
}

static bool take_first_function(struct text list, struct kernel_symbol *symbol) {
    while (list.bytes_count)
        if (parse_symbol(text_take_until(&list, '\n'), symbol)) return true;
    return false;
}

static bool take_last_function(struct text list, struct kernel_symbol *symbol) {
    while (list.bytes_count) {
        list.bytes_count--; /* the end of the line */
        size_t start = line_start(list, list.bytes_count);
        if (parse_symbol(text_from(list, start), symbol)) return true;
        list.bytes_count = start;
    }
    return false;
}

/* Returns the offset of the first line of a symbol above the address. The lines ascend, as the kernel itself needs. */
static size_t first_above(struct text list, uint64_t address) {
    size_t low = 0, high = list.bytes_count; /* the line is not before `low`, and not after `high` */
    while (low < high) {
        size_t start = line_start(list, low + (high - low) / 2);
        struct text rest = text_from(list, start);
        size_t end = start + text_find(rest, '\n') + 1;
        uint64_t found;
        if (cursor_take_number(&rest, 16, &found) && found > address)
            high = start;
        else
            low = end;
    }
    return low;
}

/* Returns false if the address is not within the part. */
static bool find_code(const struct kernel_symbols *kernel, uint64_t address, struct kernel_symbol *symbol,
                      struct kernel_symbol *next) {
    size_t above = first_above(kernel->code, address);
    return take_last_function(text_slice(kernel->code, 0, above), symbol) &&
           take_first_function(text_from(kernel->code, above), next);
}

static bool use_code(struct kernel_symbols *kernel, const struct kernel_identity *identity, struct text list) {
    uint64_t reference = identity->reference.bytes_count ? kernel_list_address(list, identity->reference) : 0;
    if (!list.bytes_count || !is_of(identity, reference)) return false;
    kernel->code = list;
    set_shift(kernel, identity, reference);
    return true;
}

static bool read_code_at(struct kernel_symbols *kernel, const struct kernel_identity *identity, const char *path) {
    kernel_list_fini(&kernel->list);
    kernel->is_copy = path != kernel_list_running;
    return kernel_list_read(&kernel->list, path, kernel->failure->memory) &&
           use_code(kernel, identity, kernel_list_code(&kernel->list));
}

/* perf's copy of the list has the same code of the kernel as the running kernel's, and is read in a twentieth of the
 * time. */
static bool read_running_list(struct kernel_symbols *kernel, const struct kernel_identity *identity) {
    char path[PATH_MAX];
    if (use_code(kernel, identity, kernel_list_kept())) return true;
    if (debug_copies_find(kernel->folders, identity->build_id, "kallsyms", path) &&
        read_code_at(kernel, identity, path))
        return true;
    return read_code_at(kernel, identity, kernel_list_running) || read_list_at(kernel, identity, kernel_list_running);
}

/* perf's copy may lack modules and what was loaded later, but the user may be allowed to read no other list. */
void kernel_symbols_complete(struct kernel_symbols *kernel) {
    const struct kernel_identity *identity = &kernel->identity;
    struct failure failure = {.memory = kernel->failure->memory};
    struct text list = kernel_list_text(&kernel->list);
    if (!kernel->code.bytes_count) return;
    bool is_own = list.bytes_count && !kernel->is_copy;
    bool is_read = (!is_own && read_list_at(kernel, identity, kernel_list_running)) ||
                   (list.bytes_count && read_list(kernel, identity, input_from_memory(list, 0, &failure)));
    if (is_read) kernel->code = (struct text){0};
}

/* ---- Choosing a list. ---- */

static bool read_own_list(struct kernel_symbols *kernel, const struct kernel_identity *identity) {
    struct failure failure = {.memory = kernel->failure->memory};
    return read_list(kernel, identity, input_open_kernel_list(identity->recording, &failure));
}

/* ---- Files of the kernel and of modules. ---- */

/* Opens the list of symbols in the file. Returns NULL if no process can be started or memory ran out (latched). After
 * the input is closed, call kernel_file_end. */
static struct input *open_file(struct kernel_symbols *kernel, struct kernel_file_reading *reading,
                               const struct kernel_file *file) {
    if (file->build_id.bytes_count <= 2) return NULL;
    if (!kernel_file_begin(reading, file)) {
        kernel->unread_count++;
        return NULL;
    }
    struct input *input = input_from_blocks("kernel", kernel_file_next, reading, kernel->failure);
    if (!input) kernel_file_end(reading);
    return input;
}

static void close_file(struct kernel_symbols *kernel, struct kernel_file_reading *reading) {
    if (!kernel_file_end(reading)) kernel->unread_count++;
}

static bool read_vmlinux(struct kernel_symbols *kernel, const struct kernel_identity *identity) {
    const struct kernel_file file = {.build_id = identity->build_id,
                                     .release = identity->release,
                                     .reference = identity->reference,
                                     .folders = kernel->folders,
                                     .memory = kernel->failure->memory};
    struct kernel_file_reading reading;
    struct input *input = open_file(kernel, &reading, &file);
    if (!input) return false;
    bool is_good = read_list(kernel, identity, input);
    close_file(kernel, &reading);
    return is_good;
}

static void read_module(struct kernel_symbols *kernel, const struct kernel_module *module) {
    const struct kernel_file file = {.build_id = module->build_id,
                                     .path = module->path,
                                     .module = module->name,
                                     .address = module->address,
                                     .folders = kernel->folders,
                                     .memory = kernel->failure->memory};
    struct kernel_file_reading reading;
    struct input *input = open_file(kernel, &reading, &file);
    if (!input) return;
    struct list_reading list = {.kernel = kernel, .symbols = &kernel->module_symbols};
    read_symbols(&list, input);
    close_file(kernel, &reading);
}

bool kernel_symbols_load(struct kernel_symbols *kernel, const struct kernel_identity *identity) {
    char path[PATH_MAX];
    kernel->identity = *identity;
    if (identity->recording && read_own_list(kernel, identity)) return true;
    if (is_running(identity) && read_running_list(kernel, identity)) return true;
    if (debug_copies_find(kernel->folders, identity->build_id, "kallsyms", path) &&
        read_list_at(kernel, identity, path))
        return true;
    return read_vmlinux(kernel, identity);
}

/* ---- Looking up. ---- */

static const struct kernel_symbol *symbol_at(const struct column *symbols, size_t i) { return column_at(symbols, i); }

/* Returns whether the address is the last one of the padding before the next function. No code runs there, so the
 * address comes from a pointer to that function: walks by frame pointers find such pointers, too. */
static bool is_end_of_padding(const struct kernel_symbol *symbol, const struct kernel_symbol *next, uint64_t address) {
    return next->address == address + 1 && text_starts_with(symbol->name, TEXT("__pfx_"));
}

/* `next`: the function after the symbol; NULL: there is none. The address is one of the list. */
static struct code_name name_at(const struct kernel_symbol *symbol, const struct kernel_symbol *next,
                                uint64_t address) {
    if (next && is_end_of_padding(symbol, next, address)) symbol = next;
    return (struct code_name){.name = symbol->name, .start = symbol->address, .module = symbol->module};
}

static bool find(const struct column *symbols, uint64_t address, struct code_name *name) {
    size_t next = FIRST_ROW(i, symbols->count, symbol_at(symbols, i)->address > address);
    if (!next) return false;
    *name = name_at(symbol_at(symbols, next - 1), next < symbols->count ? symbol_at(symbols, next) : NULL, address);
    return true;
}

/* `name` is that of the list: its start is an address there. */
static bool find_in_list(struct kernel_symbols *kernel, uint64_t address, struct code_name *name) {
    struct kernel_symbol symbol, next;
    if (kernel->code.bytes_count && find_code(kernel, address - kernel->shift, &symbol, &next)) {
        *name = name_at(&symbol, &next, address - kernel->shift);
        return true;
    }
    kernel_symbols_complete(kernel);
    return find(&kernel->symbols, address - kernel->shift, name);
}

/* If the kernel has started again since the recording, the list has its modules at other addresses. */
bool kernel_symbols_find(struct kernel_symbols *kernel, uint64_t address, struct code_name *name) {
    struct code_name found;
    if (!find_in_list(kernel, address, &found)) return false;
    if (found.module.bytes_count && kernel->shift) return false;
    *name = found;
    name->start += kernel->shift;
    return true;
}

bool kernel_symbols_find_in_module(struct kernel_symbols *kernel, const struct kernel_module *module, uint64_t address,
                                   struct code_name *name) {
    struct code_name found;
    bool is_listed = kernel_symbols_find(kernel, address, &found) && text_equal(found.module, module->name);
    uint32_t known_count = row_table_count(&kernel->modules);
    if (!is_listed && row_table_intern(&kernel->modules, &module->address) == known_count) read_module(kernel, module);
    if (!is_listed && (!find(&kernel->module_symbols, address, &found) || found.start < module->address)) return false;
    *name = found;
    return true;
}
