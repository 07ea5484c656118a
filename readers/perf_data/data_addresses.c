#include "data_addresses.h"

#include "libconvert/base/memory.h"

/* ---- Records. ---- */

static void use_mapping(struct data_addresses *addresses, const struct perf_record *record) {
    const struct data_mapping mapping = {.pid = record->pid,
                                         .start = record->mapping.start,
                                         .size_bytes = record->mapping.size_bytes,
                                         .file_offset = record->mapping.file_offset,
                                         .path = record->name,
                                         .build_id = record->text};
    bool is_timed = addresses->recording->profile->meta.is_clock_monotonic;
    data_code_map(&addresses->code, &mapping);
    if (record->pid != PERF_PID_KERNEL) data_jit_offer(&addresses->jit, record->pid, record->name, is_timed);
}

static void use(void *context, const struct perf_record *record) {
    struct data_addresses *addresses = context;
    if (record->time_ns != TIME_NONE) data_jit_advance(&addresses->jit, record->time_ns);
    switch (record->type) {
        case PERF_MAPPING:
            use_mapping(addresses, record);
            break;
        case PERF_UNMAPPING:
            data_code_unmap_kernel(&addresses->code, record->mapping.start, record->mapping.size_bytes);
            break;
        case PERF_FORK:
            data_code_fork(&addresses->code, record->pid, record->fork.parent_pid, record->fork.is_synthesized);
            break;
        case PERF_BUILD_ID:
            data_code_set_build_id(&addresses->code, record->name, record->text);
            break;
        case PERF_HEADER:
            if (text_equal(record->name, TEXT("os release")))
                addresses->os_release = arena_copy(&addresses->texts, record->text);
            break;
        default:
            break;
    }
}

/* ---- The kernel. ---- */

static struct data_kernel_identity identify_kernel(struct data_addresses *addresses) {
    struct data_kernel_identity identity = data_code_kernel(&addresses->code);
    identity.release = addresses->os_release;
    identity.recording = addresses->input;
    return identity;
}

/* Begins to load the kernel's symbols at the first sample of kernel code. */
static void load_kernel_ahead(struct data_addresses *addresses) {
    if (addresses->kernel.is_begun || !addresses->has_threads || !addresses->folders) return;
    struct data_kernel_identity identity = identify_kernel(addresses);
    data_kernel_ahead_begin(&addresses->kernel, &identity, addresses->folders, addresses->failure->memory);
}

/* Returns NULL if no files may be opened. Symbols are read at the first look-up that needs them. */
static struct data_kernel *load_kernel(struct data_addresses *addresses) {
    if (addresses->loaded_kernel || !addresses->folders) return addresses->loaded_kernel;
    struct data_kernel_identity identity = identify_kernel(addresses);
    return addresses->loaded_kernel =
               data_kernel_ahead_use(&addresses->kernel, &identity, addresses->folders, addresses->failure);
}

/* ---- Stacks. ---- */

/* Adds what is further out in a copied stack. The callchain of such samples has no user part. */
static void push_copied_stack(struct data_addresses *addresses, const struct perf_record *record) {
    bool is_cut;
    size_t count = data_unwind_walk(&addresses->unwind, record->pid, record->sample.copy, &is_cut);
    for (size_t i = 0; i < count; i++) {
        const struct unwound_frame *frame = &addresses->unwind.frames[i];
        data_stacks_push(&addresses->stacks, frame->address, frame->is_exact ? 0 : (uint32_t)ADDRESS_IS_RETURN);
    }
    if (!is_cut) return;
    data_stacks_push(&addresses->stacks, 0, ADDRESS_IS_CUT);
    perf_tally(&addresses->recording->tallies, TALLY_CUT_STACK, 1, record->position);
}

static stack_id add_stack(void *context, const struct perf_record *record, int64_t pid) {
    (void)pid;
    struct data_addresses *addresses = context;
    const struct perf_sample *sample = &record->sample;
    struct data_stacks *stacks = &addresses->stacks;
    /* The sample's own time counts, though it comes to `use` later. */
    if (record->time_ns != TIME_NONE) data_jit_advance(&addresses->jit, record->time_ns);
    if (sample->is_in_kernel) load_kernel_ahead(addresses);
    data_stacks_clear(stacks);
    for (uint32_t i = 0; i < sample->place_count; i++)
        data_stacks_push(stacks, sample->places[i].address, (uint32_t)sample->places[i].flags);
    if (sample->copy) push_copied_stack(addresses, record);
    if (!stacks->count && sample->only) data_stacks_push(stacks, sample->only->address, (uint32_t)sample->only->flags);
    return (stack_id){data_stacks_row(stacks, record->pid, record->tid)};
}

/* ---- Names. ---- */

static bool find_kernel(void *context, uint64_t address, struct data_name *name) {
    const struct data_kernel *kernel = load_kernel(context);
    return kernel && data_kernel_find(kernel, address, name);
}

static bool find_in_module(void *context, const struct data_kernel_module *module, uint64_t address,
                           struct data_name *name) {
    struct data_kernel *kernel = load_kernel(context);
    return kernel && data_kernel_find_in_module(kernel, module, address, name);
}

static bool find_vdso(void *context, struct text build_id, uint64_t offset, struct data_name *name) {
    struct data_addresses *addresses = context;
    const struct debug_folders *folders = addresses->folders;
    return folders && data_vdso_load(&addresses->vdso, folders, build_id, addresses->os_release) &&
           data_vdso_find(&addresses->vdso, offset, name);
}

static bool find_generated(void *context, int64_t pid, uint64_t address, uint64_t code_number, struct data_name *name) {
    struct data_addresses *addresses = context;
    return data_jit_find(&addresses->jit, pid, address, code_number, name);
}

static stack_id *finish(void *context) {
    struct data_addresses *addresses = context;
    struct perf_tallies *tallies = &addresses->recording->tallies;
    struct data_names names = {addresses, find_kernel, find_in_module, find_vdso, find_generated};
    struct ledger *ledger = &addresses->recording->profile->ledger;
    /* All records have been used. What is left needs other memory. */
    data_unwind_enter_losses(&addresses->unwind, ledger);
    data_unwind_fini(&addresses->unwind);
    stack_id *stacks = data_code_finish(&addresses->code, &names);
    data_kernel_ahead_fini(&addresses->kernel);
    uint64_t unread_count = addresses->kernel.kernel.unread_count;
    ledger_read(ledger, LEDGER_VALUES, unread_count);
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_LOST,
                 TEXT("symbols of the kernel or a module: the process that reads them could not be started, or ended"),
                 unread_count, NULL);
    perf_tally(tallies, TALLY_JIT_REFUSED, addresses->jit.refused_count, (struct position){0});
    perf_tally(tallies, TALLY_JIT_DAMAGED, addresses->jit.damaged_count, (struct position){0});
    addresses->recording->has_libraries = true;
    return stacks;
}

void data_addresses_init(struct data_addresses *addresses, struct perf_recording *recording, const struct input *input,
                         const struct reader_options *options) {
    struct failure *failure = recording->profile->failure;
    const struct debug_folders *folders = options->debug_folders;
    *addresses = (struct data_addresses){.recording = recording,
                                         .input = input,
                                         .failure = failure,
                                         .folders = options->ignores_code_files ? NULL : folders,
                                         .has_threads = options->job_count > 1};
    data_code_init(&addresses->code, recording->profile);
    data_stacks_init(&addresses->stacks, &addresses->code);
    data_jit_init(&addresses->jit, options->perf_map_folder, addresses->folders, failure);
    addresses->code.jit = &addresses->jit;
    if (folders) addresses->jit.sysroot = folders->sysroot;
    addresses->jit.has_owner = input_owner(input, &addresses->jit.owner);
    data_vdso_init(&addresses->vdso, failure);
    const struct data_unwind_sources sources = {&addresses->code, &addresses->vdso, &addresses->os_release,
                                                addresses->folders};
    data_unwind_init(&addresses->unwind, &sources, failure);
    arena_init(&addresses->texts, failure);
    recording->code = (struct perf_code){addresses, use, add_stack, finish, &addresses->code.stacks};
}

void data_addresses_fini(struct data_addresses *addresses) {
    data_stacks_fini(&addresses->stacks);
    arena_fini(&addresses->texts);
    data_unwind_fini(&addresses->unwind);
    data_vdso_fini(&addresses->vdso);
    data_kernel_ahead_fini(&addresses->kernel);
    data_jit_fini(&addresses->jit);
    data_code_fini(&addresses->code);
}
