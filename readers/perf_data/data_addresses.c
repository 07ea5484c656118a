#include "data_addresses.h"

/* ---- Records. ---- */

static void use_mapping(struct data_addresses *addresses, const struct perf_record *record) {
    const struct code_map_record mapping = {.pid = record->pid,
                                            .start = record->mapping.start,
                                            .size_bytes = record->mapping.size_bytes,
                                            .file_offset = record->mapping.file_offset,
                                            .path = record->name,
                                            .build_id = record->text};
    data_code_map(&addresses->code, &mapping);
}

static void use(void *context, const struct perf_record *record) {
    struct data_addresses *addresses = context;
    struct data_code *code = &addresses->code;
    if (record->time_ns != TIME_NONE) data_code_advance(code, record->time_ns);
    switch (record->type) {
        case PERF_MAPPING:
            use_mapping(addresses, record);
            break;
        case PERF_UNMAPPING:
            data_code_unmap_kernel(code, record->mapping.start, record->mapping.size_bytes);
            break;
        case PERF_FORK:
            code_maps_fork(&code->maps, record->pid, record->fork.parent_pid, record->fork.is_synthesized);
            break;
        case PERF_BUILD_ID:
            code_maps_set_build_id(&code->maps, record->name, record->text);
            break;
        case PERF_HEADER:
            if (text_equal(record->name, TEXT("os release")))
                code->system.identity.release = arena_copy(&addresses->texts, record->text);
            break;
        default:
            break;
    }
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
    if (record->time_ns != TIME_NONE) data_code_advance(&addresses->code, record->time_ns);
    if (sample->is_in_kernel && addresses->has_threads && !addresses->code.system.is_begun)
        data_code_begin_kernel(&addresses->code);
    data_stacks_clear(stacks);
    for (uint32_t i = 0; i < sample->place_count; i++)
        data_stacks_push(stacks, sample->places[i].address, (uint32_t)sample->places[i].flags);
    if (sample->copy) push_copied_stack(addresses, record);
    if (!stacks->count && sample->only) data_stacks_push(stacks, sample->only->address, (uint32_t)sample->only->flags);
    return (stack_id){data_stacks_row(stacks, record->pid, record->tid)};
}

/* ---- The code of a recording. ---- */

static stack_id *finish(void *context) {
    struct data_addresses *addresses = context;
    struct perf_tallies *tallies = &addresses->recording->tallies;
    struct ledger *ledger = &addresses->recording->profile->ledger;
    const uint64_t *notes = addresses->code.jit.notes;
    /* All records have been used. What is left needs other memory. */
    data_unwind_enter_losses(&addresses->unwind, ledger);
    data_unwind_fini(&addresses->unwind);
    stack_id *stacks = data_code_finish(&addresses->code);
    uint64_t unread_count = addresses->code.system.kernel.unread_count;
    system_code_fini(&addresses->code.system);
    ledger_read(ledger, LEDGER_VALUES, unread_count);
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_LOST,
                 TEXT("symbols of the kernel or a module: the process that reads them could not be started, or ended"),
                 unread_count, NULL);
    perf_tally(tallies, TALLY_JIT_REFUSED, notes[JIT_NOTE_OWNER] + notes[JIT_NOTE_KIND] + notes[JIT_NOTE_SIZE],
               (struct position){0});
    perf_tally(tallies, TALLY_JIT_DAMAGED, notes[JIT_NOTE_DAMAGED], (struct position){0});
    addresses->recording->has_libraries = true;
    return stacks;
}

void data_addresses_init(struct data_addresses *addresses, struct perf_recording *recording, const struct input *input,
                         const struct reader_options *options) {
    struct failure *failure = recording->profile->failure;
    const struct debug_folders *folders = options->ignores_code_files ? NULL : options->debug_folders;
    struct jit_policy policy = {.map_folder = options->perf_map_folder, .opens_files = folders};
    if (folders) policy.sysroot = folders->sysroot;
    policy.has_owner = input_owner(input, &policy.owner);
    *addresses = (struct data_addresses){.recording = recording, .has_threads = options->job_count > 1};
    data_code_init(&addresses->code, recording->profile, folders, &policy);
    addresses->code.system.identity.recording = input;
    data_stacks_init(&addresses->stacks, &addresses->code);
    data_unwind_init(&addresses->unwind, &addresses->code, failure);
    arena_init(&addresses->texts, failure);
    recording->code = (struct perf_code){addresses, use, add_stack, finish, &addresses->code.stacks};
}

void data_addresses_fini(struct data_addresses *addresses) {
    data_stacks_fini(&addresses->stacks);
    data_unwind_fini(&addresses->unwind);
    data_code_fini(&addresses->code);
    arena_fini(&addresses->texts);
}
