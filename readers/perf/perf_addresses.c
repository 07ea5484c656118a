#include "perf_addresses.h"

#include "libconvert/base/memory.h"

/* ---- Records. ---- */

static void use_mapping(struct perf_places *code, const struct perf_record *record) {
    const struct code_map_record mapping = perf_record_mapping(record);
    perf_places_map(code, &mapping);
}

static void use(void *context, const struct perf_record *record) {
    struct perf_addresses *addresses = context;
    struct perf_places *code = &addresses->code;
    if (record->time_ns != TIME_NONE) perf_places_advance(code, record->time_ns);
    switch (record->type) {
        case PERF_MAPPING: use_mapping(code, record); break;
        case PERF_UNMAPPING: perf_places_unmap_kernel(code, record->mapping.start, record->mapping.size_bytes); break;
        case PERF_FUNCTION:
            embedded_symbols_add(&code->embedded_symbols, record->text, record->mapping.start,
                                 record->mapping.size_bytes, record->name);
            break;
        case PERF_FORK:
            perf_places_fork(code, record->pid, record->fork.parent_pid, record->fork.is_synthesized, record->time_ns);
            break;
        case PERF_COMM:
            if (record->is_exec) perf_places_execute(code, record->pid, record->time_ns);
            break;
        case PERF_BUILD_ID: code_maps_set_build_id(&code->maps, record->name, record->text); break;
        case PERF_HEADER:
            if (text_equal(record->name, TEXT("os release")))
                code->system.identity.release = arena_copy(&addresses->texts, record->text);
            break;
        default: break;
    }
}

/* ---- Stacks. ---- */

/* Returns how many addresses there are with what is further out in the copied stack, and sets *places to them. The
 * callchain of such samples has no user part. */
static size_t walk(struct perf_addresses *addresses, const struct perf_record *record,
                   const struct perf_place **places) {
    const struct perf_address_stack *stack = record->sample.addresses;
    bool is_cut;
    size_t count = stack->place_count;
    size_t walked_count = perf_unwind_walk(&addresses->unwind, record->pid, stack->copy, &is_cut);
    if (!memory_reserve(addresses->recording->profile->failure, &addresses->places, &addresses->place_capacity,
                        count + walked_count + 1, sizeof *addresses->places))
        return 0;
    if (count) memcpy(addresses->places, stack->places, count * sizeof *stack->places);
    for (size_t i = 0; i < walked_count; i++) {
        const struct unwound_frame *frame = &addresses->unwind.frames[i];
        addresses->places[count++] = (struct perf_place){frame->address, frame->is_exact ? 0 : ADDRESS_IS_RETURN};
    }
    if (is_cut) addresses->places[count++] = (struct perf_place){0, ADDRESS_IS_CUT};
    perf_tally(&addresses->recording->tallies, TALLY_CUT_STACK, is_cut, record->position);
    *places = addresses->places;
    return count;
}

static stack_id add_stack(void *context, const struct perf_record *record, int64_t pid) {
    (void)pid;
    struct perf_addresses *addresses = context;
    const struct perf_address_stack *stack = record->sample.addresses;
    const struct perf_place *places = stack->places;
    /* The sample's own time counts, though it comes to `use` later. */
    if (record->time_ns != TIME_NONE) perf_places_advance(&addresses->code, record->time_ns);
    if (stack->is_in_kernel && addresses->has_threads && !addresses->code.system.is_begun)
        perf_places_begin_kernel(&addresses->code);
    size_t count = stack->copy ? walk(addresses, record, &places) : stack->place_count;
    if (!count && stack->only) {
        places = stack->only;
        count = 1;
    }
    return (stack_id){perf_places_stack(&addresses->code, record->pid, places, count)};
}

/* ---- The code of a recording. ---- */

static void account_unread(struct perf_addresses *addresses, uint64_t count) {
    ledger_account(
        &addresses->recording->profile->ledger, LEDGER_VALUES, LEDGER_LOST,
        TEXT("symbols of the kernel or a module: the process that reads them could not be started, or ended"), count,
        NULL);
}

static bool find_kernel_function(void *context, uint64_t address, struct text *function, uint64_t *offset) {
    struct perf_addresses *addresses = context;
    struct code_name name;
    const uint64_t *unread_count = &addresses->code.system.kernel.unread_count, before_count = *unread_count;
    bool is_found = perf_places_find_kernel(&addresses->code, address, &name);
    if (*unread_count > before_count) account_unread(addresses, *unread_count - before_count);
    if (!is_found) return false;
    *function = name.name;
    *offset = address > name.start ? address - name.start : 0;
    return true;
}

static stack_id *finish(void *context) {
    struct perf_addresses *addresses = context;
    struct ledger *ledger = &addresses->recording->profile->ledger;
    /* All records have been used. What is left needs other memory. */
    perf_unwind_enter_losses(&addresses->unwind, ledger);
    perf_unwind_fini(&addresses->unwind);
    stack_id *stacks = perf_places_finish(&addresses->code);
    account_unread(addresses, addresses->code.system.kernel.unread_count);
    if (!addresses->recording->has_raw_payloads) system_code_fini(&addresses->code.system);
    perf_tally_generated(&addresses->recording->tallies, addresses->code.jit.notes);
    addresses->recording->has_libraries = true;
    return stacks;
}

void perf_addresses_init(struct perf_addresses *addresses, struct perf_recording *recording, const struct input *input,
                         const struct reader_options *options) {
    struct failure *failure = recording->profile->failure;
    const struct debug_folders *folders = options->ignores_code_files ? NULL : options->debug_folders;
    struct jit_policy policy = {.map_folder = options->perf_map_folder, .opens_files = folders};
    if (folders) policy.sysroot = folders->sysroot;
    policy.maps = options->perf_maps;
    policy.map_count = options->perf_map_count;
    policy.has_owner = input_owner(input, &policy.owner);
    *addresses = (struct perf_addresses){.recording = recording, .has_threads = options->job_count > 1};
    perf_places_init(&addresses->code, recording->profile, folders, &policy);
    addresses->code.system.identity.recording = input;
    perf_unwind_init(&addresses->unwind, &addresses->code, failure);
    arena_init(&addresses->texts, failure);
    recording->code = (struct perf_code){addresses, use, add_stack, finish, &addresses->code.stacks};
    if (folders) recording->tracing.functions = (struct perf_kernel_functions){find_kernel_function, addresses};
}

void perf_addresses_fini(struct perf_addresses *addresses) {
    perf_unwind_fini(&addresses->unwind);
    perf_places_fini(&addresses->code);
    arena_fini(&addresses->texts);
    memory_free(addresses->places);
}
