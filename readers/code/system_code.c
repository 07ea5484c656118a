#include "system_code.h"

#include "libconvert/base/thread_pool.h"

void system_code_init(struct system_code *system, const struct debug_folders *folders, struct failure *failure) {
    *system = (struct system_code){.failure = failure, .folders = folders};
    vdso_init(&system->vdso, failure);
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
    vdso_fini(&system->vdso);
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

struct text system_code_vdso(struct system_code *system, struct text build_id) {
    struct vdso *vdso = &system->vdso;
    bool is_found = system->folders && vdso_load(vdso, system->folders, build_id, system->identity.release);
    return is_found ? vdso->image : (struct text){0};
}

bool system_code_find_in_vdso(struct system_code *system, struct text build_id, uint64_t offset,
                              struct code_name *name) {
    return system_code_vdso(system, build_id).bytes_count && vdso_find(&system->vdso, offset, name);
}
