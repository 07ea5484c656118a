#include "stack_walk.h"

#if UNWIND_KNOWS_MACHINE

#include <errno.h>

/* Exempts loads from the sanitizers. The address sanitizer could report a load outside of a variable, which is allowed
 * here. The thread sanitizer does not know that the stack of a thread that has ended may belong to another thread
 * now. */
#define READS_STACK __attribute__((no_sanitize("address", "thread")))

/* Lowest valid frame pointer and return address. */
static const uint64_t ADDRESS_MIN = 4096;

/* ---- The registers of an interrupted thread. ---- */

#if defined(__x86_64__)

enum { CONTEXT_AT_SIGNAL_FRAME_BYTES = 0 };

static const uint8_t register_places[UNWIND_REGISTER_COUNT] = {
    REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

READS_STACK static uint64_t context_register(const ucontext_t *context, uint32_t dwarf_register) {
    return (uint64_t)context->uc_mcontext.gregs[register_places[dwarf_register]];
}

READS_STACK static uint64_t context_pc(const ucontext_t *context) {
    return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

static uint64_t strip_signature(uint64_t address) { return address; }

#else

/* The context follows the siginfo_t. */
enum { CONTEXT_AT_SIGNAL_FRAME_BYTES = sizeof(siginfo_t) };

READS_STACK static uint64_t context_register(const ucontext_t *context, uint32_t dwarf_register) {
    return dwarf_register == UNWIND_SP ? context->uc_mcontext.sp : context->uc_mcontext.regs[dwarf_register];
}

READS_STACK static uint64_t context_pc(const ucontext_t *context) { return context->uc_mcontext.pc; }

/* Removes the authentication code from a return address. The instruction xpaclri does this to x30; processors without
 * that extension ignore it. */
static uint64_t strip_signature(uint64_t address) {
    register uint64_t link __asm__("x30") = address;
    __asm__("hint #7" : "+r"(link));
    return link;
}

#endif

/* ---- The walk. ---- */

struct walk {
    const struct unwind_snapshot *snapshot;
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    uint64_t base;
    bool is_fp_known;
    bool is_base_known;
    bool is_exact;
    const ucontext_t *interrupted; /* all registers of this frame; NULL: only the registers above are known */
    struct stack_limits stack;     /* the stack that sp is on */
    bool is_elsewhere;             /* `stack` is neither the thread's own nor its alternate stack, but a coroutine's */
    uint64_t shift;                /* what to add to an address on the stack to find its bytes; 0 unless in a copy */
    bool is_beyond;                /* the walk needed bytes above the stack */
    stack_find_depth *find_depth;  /* finds frame pointers that are unknown; NULL: none */
    struct stack_limits own;       /* the thread's own stack */
    struct stack_limits alternate; /* the thread's alternate stack; empty: none */
};

enum step { STEP_TAKEN, STEP_OUTERMOST, STEP_LOST };

static bool is_within(struct stack_limits range, uint64_t address) {
    return address >= range.low && address < range.high;
}

/* Loads a word of the stack, at sp or above. */
READS_STACK static bool load(struct walk *walk, uint64_t address, uint64_t *value) {
    if (address < walk->sp || address >= walk->stack.high || walk->stack.high - address < 8 || address % 8) {
        walk->is_beyond |= address >= walk->stack.high;
        return false;
    }
    *value = *(const uint64_t *)(uintptr_t)(address + walk->shift);
    return true;
}

static bool find_register(const struct walk *walk, uint32_t dwarf_register, uint64_t *value) {
    switch (dwarf_register) {
        case UNWIND_SP: *value = walk->sp; return true;
        case UNWIND_FP: *value = walk->fp; return walk->is_fp_known;
        case UNWIND_BASE: *value = walk->base; return walk->is_base_known;
        default:
            if (!walk->interrupted || dwarf_register >= UNWIND_REGISTER_COUNT) return false;
            *value = context_register(walk->interrupted, dwarf_register);
            return true;
    }
}

static uint64_t moved(uint64_t address, int32_t offset) { return address + (uint64_t)(int64_t)offset; }

static bool find_fp(struct walk *walk, const struct unwind_rule *rule) {
    uint32_t sp_bytes;
    if (!walk->find_depth || rule->cfa_register != UNWIND_FP || rule->cfa_offset < 0) return false;
    if (!walk->find_depth(walk->snapshot, walk->pc, (uint32_t)rule->cfa_offset, &sp_bytes)) return false;
    walk->fp = walk->sp + sp_bytes - (uint32_t)rule->cfa_offset;
    walk->is_fp_known = true;
    return true;
}

static bool find_cfa(struct walk *walk, const struct unwind_rule *rule, uint64_t *cfa) {
    uint64_t value;
    switch ((enum unwind_cfa_kind)rule->cfa_kind) {
        case UNWIND_CFA_REGISTER:
            if (!find_register(walk, rule->cfa_register, &value)) {
                if (!find_fp(walk, rule)) return false;
                value = walk->fp;
            }
            *cfa = moved(value, rule->cfa_offset);
            return true;
        case UNWIND_CFA_DEREF:
            return find_register(walk, rule->cfa_register, &value) && load(walk, moved(value, rule->cfa_offset), cfa);
        case UNWIND_CFA_PLT:
            *cfa = moved(walk->sp, rule->cfa_offset) + (walk->pc % 16 >= rule->cfa_register ? 8 : 0);
            return true;
        case UNWIND_CFA_UNKNOWN:
        case UNWIND_CFA_SIGNAL:
        case UNWIND_CFA_TO_COME:
        case UNWIND_CFA_EXPRESSION: return false;
    }
    return false;
}

/* Finds a register that was saved in this frame, below `frame_end`. If its address is not in the frame, the register
 * was already restored, which compilers do not always describe. An address below sp means that the register was popped.
 * An address computed from the frame pointer is beyond the frame once the frame pointer is the caller's again. */
static bool find_saved(struct walk *walk, uint64_t address, uint64_t frame_end, uint32_t dwarf_register,
                       uint64_t *value) {
    bool is_restored = (address < walk->sp || address >= frame_end) && dwarf_register != UNWIND_RETURN;
    return is_restored ? find_register(walk, dwarf_register, value) : load(walk, address, value);
}

/* Finds the caller's value of the column's register. */
static bool find_place(struct walk *walk, const struct unwind_rule *rule, enum unwind_column column, uint64_t cfa,
                       uint32_t dwarf_register, uint64_t *value) {
    uint64_t base;
    int32_t offset = rule->place_offsets[column];
    switch ((enum unwind_place_kind)rule->place_kinds[column]) {
        case UNWIND_PLACE_SAME: return find_register(walk, dwarf_register, value);
        case UNWIND_PLACE_REGISTER: return offset >= 0 && find_register(walk, (uint32_t)offset, value);
        case UNWIND_PLACE_AT_CFA: return find_saved(walk, moved(cfa, offset), UINT64_MAX, dwarf_register, value);
        case UNWIND_PLACE_AT_SP: return load(walk, moved(walk->sp, offset), value);
        case UNWIND_PLACE_AT_FP:
            return walk->is_fp_known && find_saved(walk, moved(walk->fp, offset), cfa, dwarf_register, value);
        case UNWIND_PLACE_AT_BASE:
            return find_register(walk, UNWIND_BASE, &base) &&
                   find_saved(walk, moved(base, offset), cfa, dwarf_register, value);
        case UNWIND_PLACE_CFA_VALUE: *value = moved(cfa, offset); return true;
        case UNWIND_PLACE_UNDEFINED:
        case UNWIND_PLACE_UNKNOWN:
        case UNWIND_PLACE_AT_EXPRESSION:
        case UNWIND_PLACE_EXPRESSION: return false;
    }
    return false;
}

/* Steps to the caller, which has this sp and return address. */
static enum step enter_caller(struct walk *walk, uint64_t sp, uint64_t return_address) {
    return_address = strip_signature(return_address);
    if (!return_address) return STEP_OUTERMOST;
    walk->is_beyond |= sp > walk->stack.high;
    if (return_address < ADDRESS_MIN || sp < walk->sp || sp > walk->stack.high) return STEP_LOST;
    /* Only an interrupted function may have no frame: its return address is then in a register. */
    if (sp == walk->sp && !walk->interrupted) return STEP_LOST;
    walk->pc = return_address;
    walk->sp = sp;
    walk->is_exact = false;
    walk->interrupted = NULL;
    return STEP_TAKEN;
}

static enum step step_by_frame_pointer(struct walk *walk) {
    uint64_t fp, return_address, sp = walk->fp + 16;
    if (!walk->is_fp_known || !load(walk, walk->fp, &fp) || !load(walk, walk->fp + 8, &return_address))
        return STEP_LOST;
    enum step step = enter_caller(walk, sp, return_address);
    if (step != STEP_TAKEN) return step;
    /* A wrong value ends the walk when it is used: nothing is loaded below sp. */
    walk->fp = fp;
    walk->is_base_known = false;
    return step;
}

static enum step step_by_rule(struct walk *walk, const struct unwind_rule *rule) {
    uint64_t cfa, return_address = 0, fp = 0, base = 0;
    if (rule->place_kinds[UNWIND_COLUMN_RETURN] == UNWIND_PLACE_UNDEFINED) return STEP_OUTERMOST;
    if (!find_cfa(walk, rule, &cfa) || cfa < walk->sp) return STEP_LOST;
    if (!find_place(walk, rule, UNWIND_COLUMN_RETURN, cfa, UNWIND_RETURN, &return_address)) return STEP_LOST;
    bool is_fp_known = find_place(walk, rule, UNWIND_COLUMN_FP, cfa, UNWIND_FP, &fp);
    bool is_base_known = find_place(walk, rule, UNWIND_COLUMN_BASE, cfa, UNWIND_BASE, &base);
    walk->fp = fp;
    walk->is_fp_known = is_fp_known;
    walk->base = base;
    walk->is_base_known = is_base_known;
    return enter_caller(walk, cfa, return_address);
}

static void enter_interrupted(struct walk *walk, const ucontext_t *context) {
    walk->pc = context_pc(context);
    walk->sp = context_register(context, UNWIND_SP);
    walk->fp = context_register(context, UNWIND_FP);
    walk->base = context_register(context, UNWIND_BASE);
    walk->is_fp_known = walk->is_base_known = walk->is_exact = true;
    walk->interrupted = context;
}

/* Finds the stack that contains sp. The alternate stack may lie within the thread's own stack, so check it first. */
static bool find_stack(struct walk *walk, uint64_t sp) {
    walk->is_elsewhere = false;
    if (is_within(walk->alternate, sp))
        walk->stack = walk->alternate;
    else if (is_within(walk->own, sp))
        walk->stack = walk->own;
    else
        walk->is_elsewhere = mappings_find(sp, &walk->stack);
    return is_within(walk->stack, sp);
}

/* Steps out of a signal handler, perhaps from the alternate stack to the one that was interrupted. */
static enum step step_by_signal(struct walk *walk) {
    uint64_t place = walk->sp + CONTEXT_AT_SIGNAL_FRAME_BYTES, before = walk->sp;
    uint64_t needed_bytes = offsetof(ucontext_t, uc_mcontext) + sizeof(mcontext_t);
    if (place % 8 || place < walk->sp || place >= walk->stack.high || walk->stack.high - place < needed_bytes)
        return STEP_LOST;
    const ucontext_t *context = (const ucontext_t *)(uintptr_t)(place + walk->shift);
    uint64_t sp = context_register(context, UNWIND_SP);
    if (is_within(walk->stack, sp)) {
        if (sp <= before) return STEP_LOST;
    } else if (walk->shift || !find_stack(walk, sp)) {
        return STEP_LOST;
    }
    enter_interrupted(walk, context);
    return STEP_TAKEN;
}

static bool has_rule(const struct walk *walk, uint64_t return_address) {
    struct unwind_rule rule;
    return walk->snapshot && unwind_snapshot_find(walk->snapshot, return_address - 1, &rule) &&
           rule.cfa_kind != UNWIND_CFA_UNKNOWN && rule.cfa_kind != UNWIND_CFA_TO_COME;
}

#if defined(__aarch64__)
/* Returns whether the return address is still in its register. Stubs of the linkage table, and assembly, have no rules.
 * If a thread was interrupted there, the register still has the return address, unless the code has made a call since:
 * then the register points into the same code. */
static bool is_link_good(const struct walk *walk, uint64_t *link) {
    if (!walk->interrupted) return false;
    *link = strip_signature(context_register(walk->interrupted, UNWIND_RETURN));
    return has_rule(walk, *link);
}

static enum step step_by_word(struct walk *walk) {
    (void)walk;
    return STEP_LOST;
}
#else
static bool is_link_good(const struct walk *walk, uint64_t *link) {
    (void)walk;
    (void)link;
    return false;
}

/* Steps out of generated code whose frame is one word, which aligns the stack: of that kind is the code that Python
 * (-X perf) makes for each of its functions. The interpreter is its caller, and has a rule. */
static enum step step_by_word(struct walk *walk) {
    uint64_t return_address;
    if (walk->is_exact || !load(walk, walk->sp + 8, &return_address) || !has_rule(walk, return_address))
        return STEP_LOST;
    walk->is_base_known = false;
    return enter_caller(walk, walk->sp + 16, return_address);
}
#endif

/* Steps out of code without a rule. Threads end with a rule that ends the stack, but the first function of a coroutine
 * has no such rule. */
static enum step step_without_rule(struct walk *walk) {
    enum step step = step_by_frame_pointer(walk);
    if (step == STEP_LOST && !walk->is_elsewhere) step = step_by_word(walk);
    return step == STEP_LOST && walk->is_elsewhere && !walk->is_exact ? STEP_OUTERMOST : step;
}

static enum step step_out(struct walk *walk) {
    uint64_t link = 0;
    struct unwind_rule rule;
    if (!walk->snapshot || !unwind_snapshot_find(walk->snapshot, walk->is_exact ? walk->pc : walk->pc - 1, &rule))
        return step_without_rule(walk);
    switch ((enum unwind_cfa_kind)rule.cfa_kind) {
        case UNWIND_CFA_SIGNAL: return step_by_signal(walk);
        case UNWIND_CFA_TO_COME: return STEP_LOST;
        case UNWIND_CFA_UNKNOWN:
            return is_link_good(walk, &link) ? enter_caller(walk, walk->sp, link) : step_without_rule(walk);
        default: return step_by_rule(walk, &rule);
    }
}

static size_t walk_out(struct walk *walk, struct walked_frame *frames, size_t capacity, bool *is_truncated) {
    enum step step = STEP_TAKEN;
    size_t count = 0;
    while (step == STEP_TAKEN && count < capacity) {
        struct walked_frame *frame = &frames[count++];
        uint64_t own_high = walk->stack.high;
        *frame = (struct walked_frame){
            .address = walk->pc, .stack_end = walk->sp & STACK_END_MAX, .is_exact = walk->is_exact};
        if (!is_within(walk->stack, walk->sp)) {
            walk->is_beyond = true;
            step = STEP_LOST;
            break;
        }
        step = step_out(walk);
        if (step == STEP_TAKEN) frame->stack_end = (own_high == walk->stack.high ? walk->sp : own_high) & STACK_END_MAX;
        if (step == STEP_OUTERMOST) frame->stack_end = own_high & STACK_END_MAX;
    }
    *is_truncated = step != STEP_OUTERMOST;
    return count;
}

/* ---- Where walks begin. ---- */

static struct stack_limits range_of(const stack_t *stack) {
    uint64_t low = (uint64_t)(uintptr_t)stack->ss_sp;
    if ((stack->ss_flags & SS_DISABLE) || stack->ss_size > UINT64_MAX - low) return (struct stack_limits){0, 0};
    return (struct stack_limits){.low = low, .high = low + stack->ss_size};
}

size_t stack_walk(const struct unwind_snapshot *snapshot, const ucontext_t *context, struct stack_limits own,
                  struct walked_frame *frames, size_t capacity, bool *is_truncated) {
    struct walk walk = {.snapshot = snapshot, .own = own, .alternate = range_of(&context->uc_stack)};
    enter_interrupted(&walk, context);
    find_stack(&walk, walk.sp);
    return walk_out(&walk, frames, capacity, is_truncated);
}

static struct stack_limits alternate_range(void) {
    stack_t stack;
    int saved_errno = errno;
    bool is_known = sigaltstack(NULL, &stack) == 0;
    errno = saved_errno;
    return is_known ? range_of(&stack) : (struct stack_limits){0, 0};
}

/* Reads registers that a function must preserve. The outputs are in other registers, so writing an output does not
 * overwrite a register that is read later. */
#if defined(__x86_64__)
#define READ_REGISTERS(pc, sp, fp, base)                                                   \
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2\n\tmov %%rbx, %3" \
                     : "=a"(pc), "=d"(sp), "=c"(fp), "=S"(base))
#else
#define READ_REGISTERS(pc, sp, fp, base)                                                                   \
    do {                                                                                                   \
        register uint64_t pc_ __asm__("x9"), sp_ __asm__("x10"), fp_ __asm__("x11"), base_ __asm__("x12"); \
        __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x19"                           \
                         : "=r"(pc_), "=r"(sp_), "=r"(fp_), "=r"(base_));                                  \
        (pc) = pc_, (sp) = sp_, (fp) = fp_, (base) = base_;                                                \
    } while (0)
#endif

__attribute__((noinline)) size_t stack_walk_here(const struct unwind_snapshot *snapshot, struct stack_limits own,
                                                 struct walked_frame *frames, size_t capacity, bool *is_truncated) {
    struct walk walk = {.snapshot = snapshot, .is_fp_known = true, .is_base_known = true, .is_exact = true, .own = own};
    READ_REGISTERS(walk.pc, walk.sp, walk.fp, walk.base);
    if (!is_within(own, walk.sp)) walk.alternate = alternate_range();
    /* Step out of this function first, which is not one of the caller's frames. */
    if (!find_stack(&walk, walk.sp) || step_out(&walk) != STEP_TAKEN) {
        *is_truncated = true;
        return 0;
    }
    return walk_out(&walk, frames, capacity, is_truncated);
}

size_t stack_walk_copy(const struct unwind_snapshot *snapshot, uint64_t pc, uint64_t sp, const struct stack_copy *copy,
                       stack_find_depth *find_depth, struct walked_frame *frames, size_t capacity, bool *is_truncated,
                       bool *is_cut) {
    struct walk walk = {.snapshot = snapshot,
                        .pc = pc,
                        .sp = sp,
                        .is_exact = true,
                        .stack = {.low = sp, .high = copy->start + copy->bytes_count},
                        .shift = (uint64_t)(uintptr_t)copy->bytes - copy->start,
                        .find_depth = find_depth};
    size_t count = walk_out(&walk, frames, capacity, is_truncated);
    *is_cut = walk.is_beyond;
    return count;
}

#endif
