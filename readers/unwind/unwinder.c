#include "unwinder.h"

#include <string.h>

#include "libconvert/base/memory.h"
#include "unwind_expression.h"
#include "unwind_file.h"

/* Lowest valid address: no code and no stack lies below it. */
static const uint64_t ADDRESS_MIN = 4096;

/* ---- The unwinder and its files. ---- */

/* The cache stores rules found by walks, by address. Most samples of a recording come from a few thousand addresses. */
enum { CACHE_COUNT_LOG2 = 15, CACHE_COUNT = 1 << CACHE_COUNT_LOG2 };

struct cached_rule {
    const struct unwind_file *file; /* NULL: free */
    uint64_t address;
    const struct unwind_image *image; /* NULL: the address has no rule */
    struct unwind_rule rule;
    bool is_start; /* the address is the first byte of a function */
};

struct unwinder {
    struct unwinder_options options;
    struct child_process *child; /* reads files; NULL: not started */
    const struct unwind_machine *machine;
    struct unwind_file *files;
    struct cached_rule *cache;
    uint64_t lost_counts[UNWIND_LOSS_COUNT]; /* walks */
};

struct unwinder *unwinder_create(const struct unwinder_options *options) {
    struct unwinder *unwinder = memory_allocate_zeroed(options->failure, 1, sizeof *unwinder);
    if (!unwinder) return NULL;
    unwinder->options = *options;
    unwinder->machine = options->machine == UNWINDER_X86_64 ? &unwind_machine_x86_64 : &unwind_machine_aarch64;
    unwinder->cache = memory_allocate_zeroed(options->failure, CACHE_COUNT, sizeof *unwinder->cache);
    if (unwinder->cache) return unwinder;
    memory_free(unwinder);
    return NULL;
}

/* Waits for the child that reads files, if there is one. */
static enum child_end end_child(struct unwinder *unwinder) {
    enum child_end end = unwinder->child ? child_await(unwinder->child) : CHILD_DONE;
    memory_free(unwinder->child);
    unwinder->child = NULL;
    return end;
}

void unwinder_destroy(struct unwinder *unwinder) {
    if (!unwinder) return;
    end_child(unwinder);
    while (unwinder->files) {
        struct unwind_file *file = unwinder->files;
        unwinder->files = file->next;
        unwind_file_destroy(file);
    }
    memory_free(unwinder->cache);
    memory_free(unwinder);
}

static struct unwind_file *add_file(struct unwinder *unwinder) {
    struct unwind_file *file = memory_allocate_zeroed(unwinder->options.failure, 1, sizeof *file);
    if (!file) return NULL;
    file->next = unwinder->files;
    unwinder->files = file;
    return file;
}

static struct text copy_text(char **to, struct text text) {
    struct text copy = {*to, text.bytes_count};
    if (text.bytes_count) memcpy(*to, text.bytes, text.bytes_count);
    *to += text.bytes_count;
    return copy;
}

struct unwind_file *unwinder_add_library(struct unwinder *unwinder, const struct lib *lib) {
    size_t bytes_count = lib->name.bytes_count + lib->path.bytes_count + lib->code_id.bytes_count;
    char *texts = memory_allocate(unwinder->options.failure, bytes_count), *to = texts;
    struct unwind_file *file = texts ? add_file(unwinder) : NULL;
    if (!file) {
        memory_free(texts);
        return NULL;
    }
    file->texts = texts;
    file->lib = (struct lib){
        .name = copy_text(&to, lib->name), .path = copy_text(&to, lib->path), .code_id = copy_text(&to, lib->code_id)};
    return file;
}

struct unwind_file *unwinder_add_bytes(struct unwinder *unwinder, struct text bytes) {
    struct unwind_file *file = add_file(unwinder);
    if (file) file->bytes = bytes;
    return file;
}

enum unwind_file_state unwind_file_state(const struct unwind_file *file) { return file->state; }

/* ---- Reading files. ---- */

static bool copy_part(void *unused, const struct unwind_part *part, char *to) {
    (void)unused;
    memcpy(to, part->bytes, part->bytes_count);
    return true;
}

/* The code gets an address as in a file of its own: no address of a file is 0. */
struct unwind_file *unwinder_add_code(struct unwinder *unwinder, uint64_t bytes_count, struct text eh_frame) {
    struct unwind_file *file = add_file(unwinder);
    uint64_t frames_address = ADDRESS_MIN + (bytes_count + 7) / 8 * 8;
    const struct unwind_load load = {.file_offset = 0, .address = ADDRESS_MIN, .bytes_count = bytes_count};
    const struct unwind_extract extract = {
        .state = UNWIND_FILE_READ,
        .low = ADDRESS_MIN,
        .high = frames_address + eh_frame.bytes_count,
        .first_entry = frames_address,
        .part_count = 2,
        .parts = {{UNWIND_PART_LOADS, 0, sizeof load, (const char *)&load},
                  {UNWIND_PART_FRAMES, frames_address, eh_frame.bytes_count, eh_frame.bytes}}};
    if (file) unwind_file_take(file, &extract, &unwinder->options, copy_part, NULL);
    return file;
}

struct taking {
    struct unwind_file *file;
    const struct unwinder_options *options;
};

static void take_extract(void *context, const struct unwind_extract *extract) {
    struct taking *taking = context;
    unwind_file_take(taking->file, extract, taking->options, copy_part, NULL);
}

static bool receive_part(void *channel, const struct unwind_part *part, char *to) {
    return channel_receive(channel, to, part->bytes_count);
}

static bool start_child(struct unwinder *unwinder) {
    if (unwinder->child) return true;
    unwinder->child = memory_allocate(unwinder->options.failure, sizeof *unwinder->child);
    if (!unwinder->child) return false;
    if (child_start(unwinder->child, unwind_extract_serve, &unwinder->options, unwinder->options.failure->memory)) {
        /* The pages of the cache are made now. If a page is read before it is written, that takes two faults, and the
         * second one interrupts all threads. Pages that the child shares would be copied. */
        memset(unwinder->cache, 0, CACHE_COUNT * sizeof *unwinder->cache);
        return true;
    }
    memory_free(unwinder->child);
    unwinder->child = NULL;
    return false;
}

/* Reads a library in the child. If the child ends meanwhile, the library is lost, and the next one gets another child.
 */
static void read_library(struct unwinder *unwinder, struct unwind_file *file) {
    struct unwind_extract extract;
    file->state = UNWIND_FILE_LOST;
    file->loss = UNWIND_LOSS_NO_PROCESS;
    if (!start_child(unwinder)) return;
    struct channel *channel = &unwinder->child->channel;
    if (unwind_extract_ask(channel, &file->lib, &extract) &&
        unwind_file_take(file, &extract, &unwinder->options, receive_part, channel))
        return;
    file->state = UNWIND_FILE_LOST;
    file->loss = UNWIND_LOSS_CRASH;
    end_child(unwinder);
}

static void read_file(struct unwinder *unwinder, struct unwind_file *file) {
    if (file->state != UNWIND_FILE_UNREAD) return;
    file->state = UNWIND_FILE_MISSING;
    struct taking taking = {file, &unwinder->options};
    if (file->bytes.bytes_count)
        unwind_extract_bytes(file->bytes, unwinder->options.machine, take_extract, &taking);
    else if (unwinder->options.folders)
        read_library(unwinder, file);
}

/* ---- Rules. ---- */

static const struct cached_rule *find_rule(struct unwinder *unwinder, struct unwind_file *file, uint64_t address) {
    uint64_t mixed = (address ^ ((uint64_t)(uintptr_t)file >> 4)) * UINT64_C(0x9e3779b97f4a7c15);
    struct cached_rule *cached = &unwinder->cache[mixed >> (64 - CACHE_COUNT_LOG2)];
    if (cached->file == file && cached->address == address) return cached;
    *cached = (struct cached_rule){.file = file, .address = address};
    if (!unwind_file_find(file, address, &cached->rule, &cached->image, &cached->is_start)) cached->image = NULL;
    return cached;
}

/* ---- A walk. ---- */

struct walk {
    struct unwinder *unwinder;
    const struct unwind_machine *machine;
    const struct unwind_process *process;
    const struct unwind_stack *stack;
    struct unwind_registers now; /* registers of the current frame */
    bool is_exact;               /* the frame was interrupted: its pc is not a return address */
    bool is_beyond;              /* this frame's caller needs bytes that were not copied */
    bool is_elsewhere;           /* sp is on a stack that was not copied */
    bool is_guess;               /* the interrupted function is assembly, and this frame is its caller at most */
    bool is_guess_wrong;         /* no code calls this frame, so it is none */
    struct unwind_mapping mapping;
    const struct unwind_file *lost_file; /* the last one on the way that could not be read */
};

enum step { STEP_TAKEN, STEP_OUTERMOST, STEP_LOST };

/* Returns the copy of the bytes at the address; NULL if they were not copied. */
static inline const char *copied(struct walk *walk, uint64_t address, uint32_t bytes_count) {
    const struct unwind_stack *stack = walk->stack;
    uint64_t distance = address - stack->start;
    if (distance < stack->bytes_count && stack->bytes_count - distance >= bytes_count)
        return (const char *)stack->bytes + distance;
    walk->is_beyond |= address >= stack->start;
    return NULL;
}

static bool load(void *context, uint64_t address, uint32_t bytes_count, uint64_t *value) {
    const char *bytes = copied(context, address, bytes_count);
    *value = 0;
    if (bytes) memcpy(value, bytes, bytes_count);
    return bytes;
}

static inline bool load_word(struct walk *walk, uint64_t address, uint64_t *value) {
    const char *bytes = copied(walk, address, sizeof *value);
    if (bytes) memcpy(value, bytes, sizeof *value);
    return bytes;
}

static bool find_register(void *context, uint64_t dwarf_register, uint64_t *value) {
    const struct walk *walk = context;
    if (dwarf_register >= walk->machine->register_count) {
        *value = walk->now.pc;
        return dwarf_register == walk->machine->return_address;
    }
    *value = walk->now.values[dwarf_register];
    return walk->now.known >> dwarf_register & 1;
}

static void forget_registers(struct walk *walk) { walk->now.known = 0; }

static void set_register(struct walk *walk, uint8_t dwarf_register, uint64_t value) {
    walk->now.values[dwarf_register] = value;
    walk->now.known |= UINT32_C(1) << dwarf_register;
}

static uint64_t sp_of(const struct walk *walk) { return walk->now.values[walk->machine->sp]; }

static bool find_mapping(struct walk *walk, uint64_t address) {
    if (address >= walk->mapping.start && address < walk->mapping.end) return true;
    struct unwind_mapping mapping;
    bool is_found = walk->process->find_mapping(walk->process->context, address, &mapping) &&
                    address >= mapping.start && address < mapping.end;
    if (is_found) walk->mapping = mapping;
    return is_found;
}

/* Removes the authentication code from a return address of aarch64. Its number of bits depends on the recorded kernel:
 * addresses of programs have 48 bits, or 39 on small machines. */
static uint64_t strip_signature(struct walk *walk, uint64_t address) {
    static const uint8_t address_bits[] = {48, 39};
    if (!walk->machine->has_signed_returns || find_mapping(walk, address - 1)) return address;
    uint64_t stripped = address;
    for (uint32_t i = 0; i < sizeof address_bits; i++) {
        stripped = address & ((UINT64_C(1) << address_bits[i]) - 1);
        if (find_mapping(walk, stripped - 1)) return stripped;
    }
    return address & ((UINT64_C(1) << address_bits[0]) - 1);
}

static bool is_code(struct walk *walk, uint64_t return_address) {
    return return_address >= ADDRESS_MIN && find_mapping(walk, strip_signature(walk, return_address) - 1);
}

/* Goes on to the caller. An interrupted function that has no frame has the sp of its caller. */
static enum step enter_caller(struct walk *walk, uint64_t sp, uint64_t return_address) {
    uint64_t stack_pointer = sp_of(walk);
    walk->is_guess_wrong = walk->is_guess && !walk->is_exact && !is_code(walk, return_address);
    if (walk->is_guess_wrong) return STEP_LOST;
    if (!return_address) return STEP_OUTERMOST;
    if (sp < stack_pointer || (sp == stack_pointer && !walk->is_exact)) return STEP_LOST;
    return_address = strip_signature(walk, return_address);
    if (return_address < ADDRESS_MIN) return STEP_LOST;
    walk->now.pc = return_address;
    walk->is_exact = walk->is_guess = false;
    set_register(walk, walk->machine->sp, sp);
    return STEP_TAKEN;
}

/* ---- By a rule. ---- */

struct found_rule {
    const struct unwind_rule *rule;
    const struct unwind_image *image;
    uint64_t slide; /* address in the process minus address in the file */
};

static uint64_t moved(uint64_t address, int32_t offset) { return address + (uint64_t)(int64_t)offset; }

static bool evaluate(struct walk *walk, const struct found_rule *found, int32_t offset, const uint64_t *first,
                     uint64_t *value) {
    struct unwind_expression_reads reads = {
        .find_register = find_register, .load = load, .context = walk, .slide = found->slide};
    return unwind_expression_evaluate(found->image, offset, &reads, first, value);
}

static bool find_cfa(struct walk *walk, const struct found_rule *found, uint64_t *cfa) {
    const struct unwind_rule *rule = found->rule;
    uint64_t value;
    switch ((enum unwind_cfa_kind)rule->cfa_kind) {
        case UNWIND_CFA_REGISTER:
            if (!find_register(walk, rule->cfa_register, &value)) return false;
            *cfa = moved(value, rule->cfa_offset);
            return true;
        case UNWIND_CFA_DEREF:
            return find_register(walk, rule->cfa_register, &value) &&
                   load_word(walk, moved(value, rule->cfa_offset), cfa);
        case UNWIND_CFA_PLT:
            *cfa = moved(sp_of(walk), rule->cfa_offset) + (walk->now.pc % 16 >= rule->cfa_register ? 8 : 0);
            return true;
        case UNWIND_CFA_EXPRESSION: return evaluate(walk, found, rule->cfa_offset, NULL, cfa);
        case UNWIND_CFA_UNKNOWN:
        case UNWIND_CFA_SIGNAL:
        case UNWIND_CFA_TO_COME: break;
    }
    return false;
}

/* Loads a saved register. Call frame information may not describe that a function has already restored a register. The
 * place of such a register is below sp, or it is outside the frame because the frame pointer is the caller's again. */
static bool load_saved(struct walk *walk, uint64_t address, uint64_t cfa, uint8_t dwarf_register, uint64_t *value) {
    bool is_restored = address < sp_of(walk) || address >= cfa;
    if (is_restored && dwarf_register != walk->machine->return_address)
        return find_register(walk, dwarf_register, value);
    return load_word(walk, address, value);
}

/* Finds the caller's value of the column's register. */
static bool find_place(struct walk *walk, const struct found_rule *found, enum unwind_column column,
                       uint8_t dwarf_register, uint64_t cfa, uint64_t *value) {
    const struct unwind_machine *machine = walk->machine;
    int32_t offset = found->rule->place_offsets[column];
    uint64_t base;
    switch ((enum unwind_place_kind)found->rule->place_kinds[column]) {
        case UNWIND_PLACE_SAME: return find_register(walk, dwarf_register, value);
        case UNWIND_PLACE_REGISTER: return find_register(walk, (uint64_t)(int64_t)offset, value);
        case UNWIND_PLACE_AT_CFA: return load_saved(walk, moved(cfa, offset), UINT64_MAX, dwarf_register, value);
        case UNWIND_PLACE_AT_SP: return load_word(walk, moved(sp_of(walk), offset), value);
        case UNWIND_PLACE_AT_FP:
            return find_register(walk, machine->fp, &base) &&
                   load_saved(walk, moved(base, offset), cfa, dwarf_register, value);
        case UNWIND_PLACE_AT_BASE:
            return find_register(walk, machine->base, &base) &&
                   load_saved(walk, moved(base, offset), cfa, dwarf_register, value);
        case UNWIND_PLACE_CFA_VALUE: *value = moved(cfa, offset); return true;
        case UNWIND_PLACE_AT_EXPRESSION:
            return evaluate(walk, found, offset, &cfa, &base) && load_word(walk, base, value);
        case UNWIND_PLACE_EXPRESSION: return evaluate(walk, found, offset, &cfa, value);
        case UNWIND_PLACE_UNDEFINED:
        case UNWIND_PLACE_UNKNOWN: break;
    }
    return false;
}

static enum step step_by_rule(struct walk *walk, const struct found_rule *found) {
    const struct unwind_machine *machine = walk->machine;
    uint64_t cfa, return_address, fp, base;
    if (found->rule->place_kinds[UNWIND_COLUMN_RETURN] == UNWIND_PLACE_UNDEFINED) return STEP_OUTERMOST;
    if (!find_cfa(walk, found, &cfa) || cfa < sp_of(walk)) return STEP_LOST;
    if (!find_place(walk, found, UNWIND_COLUMN_RETURN, machine->return_address, cfa, &return_address)) return STEP_LOST;
    bool is_fp_known = find_place(walk, found, UNWIND_COLUMN_FP, machine->fp, cfa, &fp);
    bool is_base_known = find_place(walk, found, UNWIND_COLUMN_BASE, machine->base, cfa, &base);
    forget_registers(walk);
    if (is_fp_known) set_register(walk, machine->fp, fp);
    if (is_base_known) set_register(walk, machine->base, base);
    return enter_caller(walk, cfa, return_address);
}

/* ---- Leaving a signal handler. ---- */

/* Where the kernel's signal frame, which begins at sp, has the registers. */
struct signal_frame {
    uint64_t registers_at;
    uint64_t pc_at;
    const uint8_t *places; /* DWARF numbers of the registers at registers_at; NULL: ascending from 0 */
    uint32_t register_count;
};

/* r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, in a ucontext_t. */
static const uint8_t x86_64_signal_places[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
static const struct signal_frame x86_64_signal_frame = {
    .registers_at = 40, .pc_at = 168, .places = x86_64_signal_places, .register_count = 16};
/* A siginfo_t of 128 bytes comes before the ucontext_t. */
static const struct signal_frame aarch64_signal_frame = {.registers_at = 312, .pc_at = 568, .register_count = 32};

static const struct signal_frame *signal_frame_of(const struct walk *walk) {
    return walk->machine == &unwind_machine_x86_64 ? &x86_64_signal_frame : &aarch64_signal_frame;
}

/* Goes from the kernel's frame to the function that the signal interrupted. If that function ran on another stack than
 * the handler, nothing of its stack was copied, and it is the last frame. */
static enum step step_by_signal(struct walk *walk) {
    const struct signal_frame *frame = signal_frame_of(walk);
    uint64_t at = sp_of(walk), pc;
    struct unwind_registers interrupted = {0};
    if (!load_word(walk, at + frame->pc_at, &pc)) return STEP_LOST;
    for (uint32_t i = 0; i < frame->register_count; i++) {
        uint32_t dwarf_register = frame->places ? frame->places[i] : i;
        if (!load_word(walk, at + frame->registers_at + 8 * i, &interrupted.values[dwarf_register])) return STEP_LOST;
    }
    uint64_t sp = interrupted.values[walk->machine->sp];
    bool is_copied = sp - walk->stack->start < walk->stack->bytes_count;
    if (pc < ADDRESS_MIN || (is_copied && sp <= at)) return STEP_LOST;
    interrupted.pc = pc;
    interrupted.known = (uint32_t)((UINT64_C(1) << frame->register_count) - 1);
    walk->now = interrupted;
    walk->is_exact = true;
    walk->is_elsewhere = !is_copied;
    return STEP_TAKEN;
}

/* Returns whether there is a signal frame at sp, judging by its contents. Some C libraries have no call frame
 * information for the code that returns from signal handlers, and the vDSO may be missing. */
static bool is_signal_frame(struct walk *walk) {
    enum { CONTEXT_AT_X86_64 = 0, CONTEXT_AT_AARCH64 = 128, FLAGS_MAX = 15, USER_CODE_SEGMENT = 0x33 };
    const struct signal_frame *frame = signal_frame_of(walk);
    bool is_x86_64 = walk->machine == &unwind_machine_x86_64;
    uint64_t at = sp_of(walk), context = at + (is_x86_64 ? CONTEXT_AT_X86_64 : CONTEXT_AT_AARCH64);
    uint64_t flags, link, pc, segments = USER_CODE_SEGMENT;
    if (!load_word(walk, context, &flags) || !load_word(walk, context + 8, &link)) return false;
    if (flags > FLAGS_MAX || link || !load_word(walk, at + frame->pc_at, &pc)) return false;
    if (is_x86_64 && !load_word(walk, at + frame->pc_at + 16, &segments)) return false;
    return (segments & UINT16_MAX) == USER_CODE_SEGMENT && find_mapping(walk, pc);
}

/* ---- Without a rule. ---- */

/* Steps to the caller, assuming that the frame pointer is the address of the caller's frame pointer and return address.
 * A frame pointer of 0 marks the outermost frame, unless it is that of assembly, which uses it for anything. */
static enum step step_by_frame_pointer(struct walk *walk) {
    uint64_t fp, caller_fp, return_address;
    if (!find_register(walk, walk->machine->fp, &fp)) return STEP_LOST;
    if (!fp) return walk->is_guess ? STEP_LOST : STEP_OUTERMOST;
    if (fp < sp_of(walk) || fp % 8 || !load_word(walk, fp, &caller_fp) || !load_word(walk, fp + 8, &return_address))
        return STEP_LOST;
    if (return_address && !is_code(walk, return_address)) return STEP_LOST;
    forget_registers(walk);
    set_register(walk, walk->machine->fp, caller_fp);
    return enter_caller(walk, fp + 16, return_address);
}

/* Steps out of a function that was interrupted while it had no frame. Its return address is the word at sp +
 * pushed_bytes, or is in a register. */
static enum step step_by_leaf(struct walk *walk, uint64_t pushed_bytes) {
    const struct unwind_machine *machine = walk->machine;
    bool is_in_register = machine->return_address < machine->register_count;
    uint64_t sp = sp_of(walk) + (is_in_register ? 0 : pushed_bytes), return_address, fp, base;
    bool is_known = is_in_register ? find_register(walk, machine->return_address, &return_address)
                                   : load_word(walk, sp, &return_address);
    if (!is_known || !is_code(walk, return_address)) return STEP_LOST;
    bool is_fp_known = find_register(walk, machine->fp, &fp), is_base_known = find_register(walk, machine->base, &base);
    forget_registers(walk);
    if (is_fp_known) set_register(walk, machine->fp, fp);
    if (is_base_known) set_register(walk, machine->base, base);
    return enter_caller(walk, is_in_register ? sp : sp + 8, return_address);
}

/* Steps out of generated code, in a call of its own, whose frames have a known size. The frame pointer is the caller's,
 * unless the frame has it. */
static enum step step_by_frame_size(struct walk *walk) {
    uint64_t fp;
    bool is_in_frame = find_register(walk, walk->machine->fp, &fp) && fp == sp_of(walk);
    return is_in_frame ? step_by_frame_pointer(walk) : step_by_leaf(walk, walk->mapping.frame_bytes);
}

/* Returns whether interrupted generated code has no frame: it is a stub, or it has not set up its frame yet, or has
 * left it. Then only the return address lies below the caller's frame, and the frame pointer is the caller's. */
static bool is_frameless(const struct walk *walk) {
    return walk->mapping.is_aligned && walk->is_exact && sp_of(walk) % 16 == 8;
}

/* Steps out of code without a rule. In a file that was read, such code is a linkage stub or assembly, mostly without a
 * frame. Generated code and the code of unreadable files mostly have frame pointers. */
static enum step step_without_rule(struct walk *walk, const struct unwind_file *file, uint64_t address) {
    uint64_t pushed_bytes = 0;
    if (!walk->is_exact && is_signal_frame(walk)) return step_by_signal(walk);
    if (!walk->is_exact) return step_by_frame_pointer(walk);
    bool is_leaf = file && file->state == UNWIND_FILE_READ;
    if (is_leaf) unwind_file_find_stub(file, address, &pushed_bytes);
    enum step step = is_leaf ? step_by_leaf(walk, pushed_bytes) : step_by_frame_pointer(walk);
    walk->is_guess = is_leaf;
    if (step != STEP_LOST) return step;
    if (is_leaf) return step_by_frame_pointer(walk);
    return walk->machine->has_signed_returns ? step_by_leaf(walk, 0) : STEP_LOST;
}

/* ---- All steps. ---- */

/* That the frame pointer is zero means nothing here: the file's rules might have named another register. */
static enum step step_in_lost_file(struct walk *walk, const struct unwind_file *file) {
    walk->lost_file = file;
    enum step step = step_without_rule(walk, file, 0);
    return step == STEP_OUTERMOST ? STEP_LOST : step;
}

static enum step step_out(struct walk *walk) {
    uint64_t lookup = walk->is_exact ? walk->now.pc : walk->now.pc - 1, address = 0;
    bool is_mapped = find_mapping(walk, lookup);
    if (is_mapped && walk->mapping.frame_bytes && !walk->is_exact) return step_by_frame_size(walk);
    if (is_mapped && is_frameless(walk) && step_by_leaf(walk, 0) == STEP_TAKEN) return STEP_TAKEN;
    struct unwind_file *file = is_mapped ? walk->mapping.file : NULL;
    if (!file) return step_without_rule(walk, NULL, 0);
    read_file(walk->unwinder, file);
    uint64_t file_offset = walk->mapping.file_offset + (lookup - walk->mapping.start);
    if (file->state == UNWIND_FILE_LOST) return step_in_lost_file(walk, file);
    if (!unwind_file_address(file, file_offset, &address)) return step_without_rule(walk, file, 0);
    const struct cached_rule *cached = find_rule(walk->unwinder, file, address);
    struct found_rule found = {.rule = &cached->rule, .image = cached->image, .slide = lookup - address};
    if (!cached->image || cached->rule.cfa_kind == UNWIND_CFA_UNKNOWN) return step_without_rule(walk, file, address);
    if (cached->rule.cfa_kind == UNWIND_CFA_SIGNAL) return step_by_signal(walk);
    /* No call instruction has one byte, so none has this return address. On x86-64, Go begins goroutines with such an
     * address in runtime.goexit, and does not clear the memory in which its caller is looked for. */
    if (cached->is_start && !walk->is_exact) return STEP_OUTERMOST;
    return step_by_rule(walk, &found);
}

size_t unwinder_walk(struct unwinder *unwinder, const struct unwind_process *process,
                     const struct unwind_registers *registers, const struct unwind_stack *stack,
                     struct unwound_frame *frames, size_t frames_max, enum unwind_end *end) {
    struct walk walk = {.unwinder = unwinder,
                        .machine = unwinder->machine,
                        .process = process,
                        .stack = stack,
                        .now = *registers,
                        .is_exact = true};
    enum step step = STEP_TAKEN;
    size_t count = 0;
    while (step == STEP_TAKEN && count < frames_max) {
        frames[count++] = (struct unwound_frame){.address = walk.now.pc, .is_exact = walk.is_exact};
        walk.is_beyond = false;
        step = step_out(&walk);
    }
    count -= walk.is_guess_wrong;
    *end = UNWIND_END_FRAMES_MAX;
    if (step == STEP_OUTERMOST) *end = UNWIND_END_OUTERMOST;
    if (step == STEP_LOST) *end = walk.is_beyond || walk.is_elsewhere ? UNWIND_END_STACK_CUT : UNWIND_END_LOST;
    if (step != STEP_OUTERMOST && walk.lost_file) unwinder->lost_counts[walk.lost_file->loss]++;
    return count;
}

uint64_t unwinder_lost_count(const struct unwinder *unwinder, enum unwind_loss loss) {
    return unwinder->lost_counts[loss];
}
