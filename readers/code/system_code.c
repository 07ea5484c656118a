#include "system_code.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

#include "libconvert/base/memory.h"
#include "libconvert/base/regular_file.h"
#include "libconvert/base/thread_pool.h"

void system_code_init(struct system_code *system, const struct debug_folders *folders, struct failure *failure) {
    *system = (struct system_code){.failure = failure, .folders = folders};
}

static void await_thread(struct system_code *system) {
    if (system->is_completing)
        pthread_join(system->completing, NULL);
    else if (system->is_loading)
        pthread_join(system->loading, NULL);
    system->is_loading = system->is_completing = false;
}

void system_code_fini(struct system_code *system) {
    await_thread(system);
    kernel_symbols_fini(&system->kernel);
    if (system->vdso.bytes_count) {
        symbol_table_fini(&system->vdso_symbols);
        debug_file_close(&system->vdso_file);
    }
    memory_free(system->vdso_copy);
    *system = (struct system_code){0};
}

/* ---- The kernel. ---- */

static void init_kernel(struct system_code *system) {
    system->kernel_failure = (struct failure){.memory = system->failure->memory};
    system->kernel_identity = system->identity;
    kernel_symbols_init(&system->kernel, system->folders, &system->kernel_failure);
}

static void *load(void *context) {
    struct system_code *system = context;
    kernel_symbols_load(&system->kernel, &system->kernel_identity);
    return NULL;
}

void system_code_begin(struct system_code *system) {
    system->is_begun = true;
    if (!system->folders || !system->identity.build_id.bytes_count) return;
    init_kernel(system);
    system->is_loading = system->is_loaded = thread_start(&system->loading, load, system);
}

static void *complete(void *context) {
    struct system_code *system = context;
    pthread_join(system->loading, NULL);
    kernel_symbols_complete(&system->kernel);
    return NULL;
}

void system_code_complete(struct system_code *system) {
    if (!system->is_loading || system->is_completing) return;
    system->is_completing = thread_start(&system->completing, complete, system);
}

static bool is_same(const struct kernel_identity *a, const struct kernel_identity *b) {
    return text_equal(a->build_id, b->build_id) && text_equal(a->release, b->release) &&
           text_equal(a->reference, b->reference) && a->address == b->address && a->recording == b->recording;
}

/* Returns the symbols of the kernel as it is known now; NULL if no files may be opened. */
static struct kernel_symbols *kernel_of(struct system_code *system) {
    if (!system->folders) return NULL;
    await_thread(system);
    if (!system->is_loaded || !is_same(&system->kernel_identity, &system->identity)) {
        kernel_symbols_fini(&system->kernel);
        init_kernel(system);
        load(system);
        system->is_loaded = true;
    }
    const struct failure *failure = &system->kernel_failure;
    if (failure_is_set(failure)) failure_set(system->failure, failure->code, "%s", failure->message);
    return &system->kernel;
}

bool system_code_find_kernel(struct system_code *system, uint64_t address, struct code_name *name) {
    struct kernel_symbols *kernel = kernel_of(system);
    return kernel && kernel_symbols_find(kernel, address, name);
}

bool system_code_find_in_module(struct system_code *system, const struct kernel_module *module, uint64_t address,
                                struct code_name *name) {
    struct kernel_symbols *kernel = kernel_of(system);
    return kernel && kernel_symbols_find_in_module(kernel, module, address, name);
}

/* ---- The vDSO. ---- */

/* Size limit of a vDSO. Current kernels have a vDSO of two pages. */
enum { VDSO_BYTES_MAX = 64 * 1024 };

/* Returns this process's own vDSO; empty if it has none. The section table is the last part of a vDSO, so its end is
 * the end of the image. */
static struct text own_image(void) {
    const char *start = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    Elf64_Ehdr header;
    if (!start) return (struct text){0};
    memcpy(&header, start, sizeof header);
    uint64_t bytes_count = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
    bool is_sane = header.e_ident[EI_CLASS] == ELFCLASS64 && bytes_count <= VDSO_BYTES_MAX;
    return is_sane ? (struct text){start, (size_t)bytes_count} : (struct text){0};
}

/* Returns perf's copy of the vDSO with that build id; empty if there is none. */
static struct text read_copy(struct system_code *system, struct text build_id) {
    char path[PATH_MAX];
    if (!debug_copies_find(system->folders, build_id, "vdso", path)) return (struct text){0};
    system->vdso_copy = memory_allocate(system->failure, VDSO_BYTES_MAX);
    return system->vdso_copy ? regular_file_start(path, system->vdso_copy, VDSO_BYTES_MAX) : (struct text){0};
}

static bool take(struct system_code *system, struct text image, struct text build_id) {
    struct debug_file *file = &system->vdso_file;
    if (!image.bytes_count || !debug_file_open_memory(file, image)) return false;
    bool is_right = !build_id.bytes_count || text_equal(text_of(file->build_id), build_id);
    if (is_right && symbol_table_init(&system->vdso_symbols, file, file, system->failure)) {
        system->vdso = image;
        return true;
    }
    debug_file_close(file);
    return false;
}

static bool is_running(struct text release) {
    struct utsname names;
    return uname(&names) == 0 && text_equal(text_of(names.release), release);
}

struct text system_code_vdso(struct system_code *system, struct text build_id) {
    struct text release = system->identity.release;
    /* A pipe has what identifies the kernel after the first samples. */
    bool is_known = build_id.bytes_count || release.bytes_count;
    if (system->has_looked_for_vdso || !is_known || !system->folders) return system->vdso;
    system->has_looked_for_vdso = true;
    bool is_own = (build_id.bytes_count || is_running(release)) && take(system, own_image(), build_id);
    if (!is_own && build_id.bytes_count) take(system, read_copy(system, build_id), build_id);
    return system->vdso;
}

bool system_code_find_in_vdso(struct system_code *system, struct text build_id, uint64_t offset,
                              struct code_name *name) {
    uint64_t address;
    if (!system_code_vdso(system, build_id).bytes_count ||
        !debug_file_address_of_offset(&system->vdso_file, offset, &address))
        return false;
    const struct symbol *symbol = symbol_table_find(&system->vdso_symbols, address);
    if (!symbol || address - symbol->start > offset) return false;
    struct text bare = text_of(symbol->name);
    *name = (struct code_name){.name = text_slice(bare, 0, text_find(bare, '@')),
                               .start = offset - (address - symbol->start)};
    return true;
}
