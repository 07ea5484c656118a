#include "kernel_file.h"

#include <gelf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/base/first_row.h"
#include "libconvert/symbols/symbol_table.h"
#include "libconvert/symbols/sysroot.h"
#include "readers/input/input.h"

/* Size limit of an unpacked module. */
static const size_t MODULE_BYTES_MAX = (size_t)256 << 20;

struct placed_section {
    size_t index;
    uint64_t place; /* from the start of the module's code */
};

/* The state of the child. */
struct listing {
    const struct kernel_file *wanted;
    struct channel *channel;
    struct failure failure;
    bool is_done;           /* a file was found and listed */
    struct column sections; /* sections of code: struct placed_section, by index */
};

/* ---- Sending. ---- */

/* Sends a block of the list; an empty one ends it. */
static void send_block(struct listing *listing, const char *bytes, size_t bytes_count) {
    uint32_t head = (uint32_t)bytes_count;
    if (!channel_send(listing->channel, &head, sizeof head) || !channel_send(listing->channel, bytes, bytes_count))
        child_leave();
}

/* Sends a line such as "ffffffff81000000 T _text". Names that are too long are left out. */
static void send_symbol(struct listing *listing, uint64_t address, const char *name) {
    char line[1024];
    struct text module = listing->wanted->module;
    int wanted = snprintf(line, sizeof line, "%016" PRIx64 " T %s%s%.*s\n", address, name,
                          module.bytes_count ? "\t" : "", TEXT_ARGS(module));
    if (wanted > 0 && (size_t)wanted < sizeof line) send_block(listing, line, (size_t)wanted);
}

/* ---- The kernel. ---- */

typedef void symbol_user(struct listing *listing, const GElf_Sym *symbol, const char *name);

static void for_each_symbol(struct listing *listing, Elf *elf, symbol_user *use) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB) continue;
        Elf_Data *data = elf_getdata(section, NULL);
        size_t entry_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
        for (size_t i = 0; data && data->d_buf && entry_bytes && i < data->d_size / entry_bytes; i++) {
            GElf_Sym symbol;
            if (!gelf_getsym(data, (int)i, &symbol)) break;
            const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (name && *name) use(listing, &symbol, name);
        }
    }
}

static void send_reference(struct listing *listing, const GElf_Sym *symbol, const char *name) {
    if (text_equal(text_of(name), listing->wanted->reference)) send_symbol(listing, symbol->st_value, name);
}

/* Of several symbols at an address, the list has the preferred one. The reference symbol precedes them. */
static void list_kernel(struct listing *listing, const struct debug_file *file) {
    struct symbol_table table;
    for_each_symbol(listing, file->elf, send_reference);
    if (!symbol_table_init(&table, file, file, &listing->failure)) child_leave();
    for (size_t i = 0; i < table.count; i++) send_symbol(listing, table.rows[i].start, table.rows[i].name);
    symbol_table_fini(&table);
}

/* ---- Modules. ---- */

/* Finds the places of the sections of code, counted from the start of the module's code. The kernel lays such sections
 * out one after the other, without those that it needs only to initialise the module. */
static void place_sections(struct listing *listing, Elf *elf) {
    size_t names;
    uint64_t end = 0;
    if (elf_getshdrstrndx(elf, &names) != 0) return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const uint64_t is_code = SHF_ALLOC | SHF_EXECINSTR;
        if (!gelf_getshdr(section, &header) || (header.sh_flags & is_code) != is_code) continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (!name || text_starts_with(text_of(name), TEXT(".init"))) continue;
        uint64_t alignment = header.sh_addralign ? header.sh_addralign : 1;
        uint64_t place = (end + alignment - 1) / alignment * alignment;
        column_add(&listing->sections, &(struct placed_section){elf_ndxscn(section), place});
        end = place + header.sh_size;
    }
}

static const struct placed_section *section_at(const struct listing *listing, size_t i) {
    return column_at(&listing->sections, i);
}

static void send_module_symbol(struct listing *listing, const GElf_Sym *symbol, const char *name) {
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_NOTYPE) return;
    size_t row = FIRST_ROW(i, listing->sections.count, section_at(listing, i)->index >= symbol->st_shndx);
    const struct placed_section *section = row < listing->sections.count ? section_at(listing, row) : NULL;
    if (section && section->index == symbol->st_shndx)
        send_symbol(listing, listing->wanted->address + section->place + symbol->st_value, name);
}

static void list_module(struct listing *listing, const struct debug_file *file) {
    column_init(&listing->sections, sizeof(struct placed_section), &listing->failure);
    place_sections(listing, file->elf);
    if (failure_is_set(&listing->failure)) child_leave();
    for_each_symbol(listing, file->elf, send_module_symbol);
    column_fini(&listing->sections);
}

/* ---- Files. ---- */

/* Lists the file's symbols, and closes it. */
static void use_file(struct listing *listing, struct debug_file *file) {
    struct text build_id = text_of(file->build_id);
    if (text_equal(build_id, listing->wanted->build_id) && file->has_symbol_table) {
        if (listing->wanted->path.bytes_count)
            list_module(listing, file);
        else
            list_kernel(listing, file);
        listing->is_done = true;
    }
    debug_file_close(file);
}

/* Reads a compressed module. */
static void use_compressed(struct listing *listing, const char *path) {
    struct stat status;
    struct failure failure = {0};
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return;
    struct input *input = input_open_outer(path, &failure);
    char *bytes = input ? malloc(MODULE_BYTES_MAX) : NULL; /* only the pages that are filled take memory */
    size_t bytes_count = 0;
    while (bytes && bytes_count < MODULE_BYTES_MAX) {
        struct text block = text_slice(input_peek(input, 1), 0, MODULE_BYTES_MAX - bytes_count);
        if (!block.bytes_count) break;
        memcpy(bytes + bytes_count, block.bytes, block.bytes_count);
        bytes_count += block.bytes_count;
        input_consume(input, block.bytes_count);
    }
    input_close(input);
    struct debug_file file;
    if (bytes && debug_file_open_object(&file, (struct text){bytes, bytes_count})) use_file(listing, &file);
    free(bytes);
}

static void try_below(struct listing *listing, const char *root, const char *path) {
    struct debug_file file;
    char real_path[PATH_MAX], whole[2 * PATH_MAX];
    if (debug_file_open_supplement(&file, root, path)) {
        use_file(listing, &file);
        return;
    }
    int descriptor = sysroot_open(root, path, real_path);
    if (descriptor < 0) return;
    snprintf(whole, sizeof whole, "%s%s", root, real_path);
    use_compressed(listing, whole);
    close(descriptor);
}

static void try_path(struct listing *listing, const char *path) {
    struct debug_file file;
    if (debug_file_open_supplement(&file, NULL, path))
        use_file(listing, &file);
    else if (listing->wanted->path.bytes_count)
        use_compressed(listing, path);
}

/* Tries the path that the format makes, below the sysroot first if the path begins with "/" there too. */
static void try_place(struct listing *listing, bool is_of_system, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void try_place(struct listing *listing, bool is_of_system, const char *format, ...) {
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    int bytes_count = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    if (bytes_count <= 0 || bytes_count >= PATH_MAX || listing->is_done) return;
    const char *sysroot = listing->wanted->folders->sysroot;
    if (sysroot && is_of_system) try_below(listing, sysroot, path);
    if (!listing->is_done) try_path(listing, path);
}

/* Tries the file of that build id in a folder of debug information, and in one of perf's copies. */
static void try_folder(struct listing *listing, const char *folder, bool is_of_system) {
    struct text id = listing->wanted->build_id;
    struct text rest = text_from(id, 2);
    static const char *const names[] = {".debug", "/debug", "/elf", "/vmlinux"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        try_place(listing, is_of_system, "%s/.build-id/%.2s/%.*s%s", folder, id.bytes, TEXT_ARGS(rest), names[i]);
}

/* Tries where distributions put the kernel. */
static void try_kernels(struct listing *listing) {
    static const struct {
        const char *start, *end;
    } places[] = {
        {"/boot/vmlinux-", ""},
        {"/usr/lib/debug/boot/vmlinux-", ""},
        {"/lib/modules/", "/vmlinux"},
        {"/usr/lib/debug/lib/modules/", "/vmlinux"},
        {"/lib/modules/", "/build/vmlinux"},
    };
    struct text release = listing->wanted->release;
    if (!release.bytes_count || text_find(release, '/') < release.bytes_count) return;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        try_place(listing, true, "%s%.*s%s", places[i].start, TEXT_ARGS(release), places[i].end);
}

static void list(void *context, struct channel *channel) {
    const struct kernel_file *wanted = context;
    struct listing listing = {.wanted = wanted, .channel = channel};
    bool is_module = wanted->path.bytes_count > 0;
    char own_copies[PATH_MAX];
    struct text name = is_module ? text_base_name(wanted->path) : TEXT("vmlinux");
    if (text_starts_with(wanted->path, TEXT("/"))) try_place(&listing, true, "%.*s", TEXT_ARGS(wanted->path));
    if (!is_module) try_kernels(&listing);
    for (size_t i = 0; i < wanted->folders->count; i++) {
        const char *folder = wanted->folders->paths[i];
        try_folder(&listing, folder, false);
        try_place(&listing, false, "%s/%.*s", folder, TEXT_ARGS(name));
    }
    if (debug_copies_folder(own_copies)) try_folder(&listing, own_copies, false);
    try_folder(&listing, "/usr/lib/debug", true);
    send_block(&listing, NULL, 0);
}

/* ---- In the parent. ---- */

bool kernel_file_begin(struct kernel_file_reading *reading, const struct kernel_file *file) {
    reading->file = file;
    /* Only reads the file's description. */
    return child_start(&reading->child, list, (void *)(uintptr_t)file, file->memory);
}

struct text kernel_file_next(void *context) {
    struct kernel_file_reading *reading = context;
    struct channel *channel = &reading->child.channel;
    uint32_t bytes_count;
    if (!channel_receive(channel, &bytes_count, sizeof bytes_count) || bytes_count > sizeof reading->block ||
        !channel_receive(channel, reading->block, bytes_count))
        return (struct text){0};
    return (struct text){reading->block, bytes_count};
}

bool kernel_file_end(struct kernel_file_reading *reading) { return child_await(&reading->child) == CHILD_DONE; }
