#include "perf_unwind.h"

#include "libconvert/base/memory.h"
#include "perf_cursor.h"
#include "readers/code/script_names.h"

/* Limits of a walk. A copied stack has less than 64 KiB, and each frame takes at least 16 bytes. */
enum { FRAMES_MAX = 4096, REGISTERS_MAX = 64 };

void perf_unwind_init(struct perf_unwind *unwind, struct perf_places *code, struct failure *failure) {
    *unwind = (struct perf_unwind){.code = code, .failure = failure};
    column_init(&unwind->files, sizeof(struct unwind_file *), failure);
    value_table_init(&unwind->codes, sizeof(uint64_t), sizeof(struct unwind_file *), failure);
}

void perf_unwind_fini(struct perf_unwind *unwind) {
    unwinder_destroy(unwind->unwinder);
    column_fini(&unwind->files);
    value_table_fini(&unwind->codes);
    memory_free(unwind->frames);
    *unwind = (struct perf_unwind){0};
}

/* ---- Files. ---- */

/* Returns where the unwinder's file for that row is stored. Returns NULL if memory ran out (latched). */
static struct unwind_file **file_slot(struct perf_unwind *unwind, uint32_t row) {
    while (row >= unwind->files.count) {
        struct unwind_file **added = column_push(&unwind->files);
        if (!added) return NULL;
        *added = NULL;
    }
    return column_at(&unwind->files, row);
}

/* Returns the unwinder's file for the vDSO; NULL if it was not found. */
static struct unwind_file *add_vdso(struct perf_unwind *unwind, struct text build_id) {
    struct text image = system_code_vdso(&unwind->code->system, build_id);
    return image.bytes_count ? unwinder_add_bytes(unwind->unwinder, image) : NULL;
}

/* Returns the unwinder's file for that row; NULL if the file cannot have call frame information. */
static struct unwind_file *find_file(struct perf_unwind *unwind, uint32_t row) {
    struct perf_places *code = unwind->code;
    const struct perf_file *file = column_at(&code->files, row);
    if (file->library == ID_NONE || !code_libraries_at(&code->libraries, file->library)->is_file) return NULL;
    struct unwind_file **slot = file_slot(unwind, row);
    if (!slot || *slot) return slot ? *slot : NULL;
    struct text build_id = perf_places_build_id(code, file);
    if (text_equal(file->path, vdso_name)) return *slot = add_vdso(unwind, build_id);
    const struct lib lib = {.name = text_base_name(file->path), .path = file->path, .code_id = build_id};
    return *slot = unwinder_add_library(unwind->unwinder, &lib);
}

struct mapping_search {
    struct perf_unwind *unwind;
    int64_t pid;
    enum unwinder_machine machine;
};

/* Returns the unwinder's file for generated code; NULL if memory ran out (latched). */
static struct unwind_file *file_of_code(struct perf_unwind *unwind, uint64_t number, const struct jit_code *code) {
    struct unwind_file *none = NULL, **file = value_table_intern(&unwind->codes, &number, &none);
    if (file && !*file) *file = unwinder_add_code(unwind->unwinder, code->size_bytes, code->eh_frame);
    return file ? *file : NULL;
}

/* Describes frames of code that has no call frame information.
 *
 * Python makes a copy of a small piece of machine code for each of its functions, which calls the interpreter. On
 * x86-64 its frame is one word, which lets the stack be aligned, or is the frame pointer: Python/asm_trampoline.S. V8
 * does not align its frames. Java does, and so do compilers that call C. */
static void describe_frames(const struct jit_code *code, struct unwind_mapping *out) {
    struct script_name name;
    script_name_parse(code->name, &name);
    out->frame_bytes = name.kind == SCRIPT_PYTHON ? sizeof(uint64_t) : 0;
    out->is_aligned = name.kind == SCRIPT_NONE;
}

/* Memory without a file may have generated code of many functions, each with its own call frame information. So what is
 * found holds for the function alone, or for the address alone. */
static struct unwind_mapping generated_at(const struct mapping_search *search, uint64_t address) {
    uint64_t number;
    const struct jit_code *code = perf_places_generated(search->unwind->code, search->pid, address, &number);
    /* Distances in call frame information have 32 bits. */
    bool has_rules = code && code->eh_frame.bytes_count && code->size_bytes <= INT32_MAX;
    if (has_rules)
        return (struct unwind_mapping){.start = code->address,
                                       .end = code->address + code->size_bytes,
                                       .file = file_of_code(search->unwind, number, code)};
    struct unwind_mapping alone = {.start = address, .end = address + 1};
    if (code && search->machine == UNWINDER_X86_64) describe_frames(code, &alone);
    return alone;
}

static bool find_mapping(void *context, uint64_t address, struct unwind_mapping *out) {
    const struct mapping_search *search = context;
    const struct code_mapping *mapping = perf_places_find(search->unwind->code, search->pid, address);
    if (!mapping) return false;
    struct unwind_file *file = find_file(search->unwind, perf_places_file_of(mapping));
    *out = file ? (struct unwind_mapping){.start = mapping->address,
                                          .end = mapping->address + mapping->size_bytes,
                                          .file_offset = mapping->offset,
                                          .file = file}
                : generated_at(search, address);
    return true;
}

/* ---- Walks. ---- */

/* Returns the machine of the recording. Only aarch64 has a user register 32: the program counter. */
static enum unwinder_machine machine_of(const struct perf_stack_copy *copy) {
    return copy->registers_mask >> 32 & 1 ? UNWINDER_AARCH64 : UNWINDER_X86_64;
}

static bool prepare(struct perf_unwind *unwind, enum unwinder_machine machine) {
    const struct unwinder_options options = {
        .machine = machine, .folders = unwind->code->system.folders, .failure = unwind->failure};
    if (!unwind->unwinder) unwind->unwinder = unwinder_create(&options);
    if (!unwind->frames) unwind->frames = memory_allocate(unwind->failure, FRAMES_MAX * sizeof *unwind->frames);
    return unwind->unwinder && unwind->frames;
}

size_t perf_unwind_walk(struct perf_unwind *unwind, int64_t pid, const struct perf_stack_copy *copy, bool *is_cut) {
    uint64_t values[REGISTERS_MAX];
    size_t value_count = copy->registers.bytes_count / sizeof *values;
    enum unwinder_machine machine = machine_of(copy);
    struct unwind_registers registers;
    *is_cut = false;
    if (!value_count || value_count > REGISTERS_MAX || !prepare(unwind, machine)) return 0;
    for (size_t i = 0; i < value_count; i++) values[i] = perf_word_at(copy->registers, i);
    if (!unwind_registers_of_perf(machine, copy->registers_abi, copy->registers_mask, values, value_count, &registers))
        return 0;
    enum { X86_STACK_POINTER = 7, AARCH64_STACK_POINTER = 31 };
    unsigned stack_pointer = machine == UNWINDER_X86_64 ? X86_STACK_POINTER : AARCH64_STACK_POINTER;
    const struct unwind_stack stack = {registers.values[stack_pointer], copy->bytes.bytes, copy->bytes.bytes_count};
    struct mapping_search search = {unwind, pid, machine};
    const struct unwind_process process = {find_mapping, &search};
    enum unwind_end end;
    size_t count = unwinder_walk(unwind->unwinder, &process, &registers, &stack, unwind->frames, FRAMES_MAX, &end);
    *is_cut = end != UNWIND_END_OUTERMOST;
    return count;
}

void perf_unwind_enter_losses(const struct perf_unwind *unwind, struct ledger *ledger) {
    static const char *const causes[UNWIND_LOSS_COUNT] = {
        [UNWIND_LOSS_NO_PROCESS] =
            "callers in a copied stack: no process could be started that reads call frame "
            "information",
        [UNWIND_LOSS_CRASH] =
            "callers in a copied stack: reading a library's call frame information crashed, or "
            "needs more memory than there is",
    };
    for (unsigned i = 0; unwind->unwinder && i < UNWIND_LOSS_COUNT; i++) {
        uint64_t count = unwinder_lost_count(unwind->unwinder, (enum unwind_loss)i);
        ledger_account(ledger, LEDGER_VALUES, LEDGER_LOST, text_of(causes[i]), count, NULL);
    }
}
