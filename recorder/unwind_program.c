#include "unwind_program.h"

#if UNWIND_KNOWS_MACHINE

const struct unwind_rule unwind_rule_unknown = {.cfa_kind = UNWIND_CFA_UNKNOWN};

/* ---- Rules. ---- */

static int column_of(uint64_t dwarf_register) {
    switch (dwarf_register) {
        case UNWIND_RETURN:
            return UNWIND_COLUMN_RETURN;
        case UNWIND_FP:
            return UNWIND_COLUMN_FP;
        case UNWIND_BASE:
            return UNWIND_COLUMN_BASE;
        default:
            return -1;
    }
}

static void set_place(struct unwind_rule *rule, uint64_t dwarf_register, enum unwind_place_kind kind, int64_t offset) {
    int column = column_of(dwarf_register);
    if (dwarf_register == UNWIND_SP) rule->is_sp_elsewhere = kind != UNWIND_PLACE_SAME;
    if (column < 0) return;
    bool fits = offset >= INT32_MIN && offset <= INT32_MAX;
    rule->place_kinds[column] = (uint8_t)(fits ? kind : UNWIND_PLACE_UNKNOWN);
    rule->place_offsets[column] = fits ? (int32_t)offset : 0;
}

static void set_cfa(struct unwind_rule *rule, enum unwind_cfa_kind kind, uint64_t dwarf_register, int64_t offset) {
    bool fits = offset >= INT32_MIN && offset <= INT32_MAX && dwarf_register < UNWIND_REGISTER_COUNT;
    rule->cfa_kind = (uint8_t)(fits ? kind : UNWIND_CFA_UNKNOWN);
    rule->cfa_register = (uint8_t)(fits ? dwarf_register : 0);
    rule->cfa_offset = fits ? (int32_t)offset : 0;
}

/* ---- Expressions: those that compilers, linkers and the C library do write. ---- */

enum {
    EXPRESSION_DEREF = 0x06,
    EXPRESSION_BREG_0 = 0x70,
    EXPRESSION_BREG_31 = 0x8f,
    EXPRESSION_LIT_0 = 0x30,
    EXPRESSION_LIT_31 = 0x4f,
};

/* Register + offset. What follows is left. */
static bool take_base_register(struct bytes *bytes, uint64_t *dwarf_register, int64_t *offset) {
    uint8_t operation = take_byte(bytes);
    if (operation < EXPRESSION_BREG_0 || operation > EXPRESSION_BREG_31) return false;
    *dwarf_register = (uint64_t)(operation - EXPRESSION_BREG_0);
    *offset = take_sleb(bytes);
    return !bytes->is_bad;
}

#if defined(__x86_64__)
/* A stub of the procedure linkage table pushes a word at its instruction of offset N: sp + 8 + (pc % 16 >= N) * 8. */
static bool is_plt(struct bytes expression, uint8_t *threshold) {
    static const uint8_t before[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a}, behind[] = {0x2a, 0x33, 0x24, 0x22};
    uint8_t code[sizeof before + 1 + sizeof behind];
    if (expression.end - expression.at != sizeof code || !take_bytes(&expression, code, sizeof code)) return false;
    uint8_t literal = code[sizeof before];
    if (memcmp(code, before, sizeof before) != 0 || memcmp(code + sizeof before + 1, behind, sizeof behind) != 0)
        return false;
    if (literal < EXPRESSION_LIT_0 || literal > EXPRESSION_LIT_31) return false;
    *threshold = (uint8_t)(literal - EXPRESSION_LIT_0);
    return true;
}
#else
static bool is_plt(struct bytes expression, uint8_t *threshold) {
    (void)expression;
    (void)threshold;
    return false;
}
#endif

static void set_cfa_expression(struct unwind_rule *rule, struct bytes expression) {
    uint64_t dwarf_register = 0;
    int64_t offset = 0;
    uint8_t threshold;
    if (is_plt(expression, &threshold)) {
        set_cfa(rule, UNWIND_CFA_PLT, 0, 8);
        rule->cfa_register = threshold;
        return;
    }
    set_cfa(rule, UNWIND_CFA_UNKNOWN, 0, 0);
    if (!take_base_register(&expression, &dwarf_register, &offset)) return;
    if (expression.at == expression.end)
        set_cfa(rule, UNWIND_CFA_REGISTER, dwarf_register, offset);
    else if (take_byte(&expression) == EXPRESSION_DEREF && expression.at == expression.end)
        set_cfa(rule, UNWIND_CFA_DEREF, dwarf_register, offset);
}

static enum unwind_place_kind place_kind_of(uint64_t dwarf_register) {
    switch (dwarf_register) {
        case UNWIND_SP:
            return UNWIND_PLACE_AT_SP;
        case UNWIND_FP:
            return UNWIND_PLACE_AT_FP;
        case UNWIND_BASE:
            return UNWIND_PLACE_AT_BASE;
        default:
            return UNWIND_PLACE_UNKNOWN;
    }
}

static void set_place_expression(struct unwind_rule *rule, uint64_t dwarf_register, struct bytes expression) {
    uint64_t base = 0;
    int64_t offset = 0;
    set_place(rule, dwarf_register, UNWIND_PLACE_UNKNOWN, 0);
    if (!take_base_register(&expression, &base, &offset) || expression.at != expression.end) return;
    if (place_kind_of(base) != UNWIND_PLACE_UNKNOWN) set_place(rule, dwarf_register, place_kind_of(base), offset);
}

/* ---- Programs. ---- */

enum { REMEMBERED_COUNT_MAX = 16 };

struct machine {
    const struct unwind_program *program;
    struct unwind_rule rule;
    struct unwind_rule initial;
    uint64_t pc;
    uint32_t remembered_count;
    struct unwind_rule remembered[REMEMBERED_COUNT_MAX];
};

enum machine_step { STEP_DONE, STEP_ADVANCE, STEP_BAD };

enum {
    CFA_NOP = 0x00,
    CFA_SET_LOCATION = 0x01,
    CFA_ADVANCE_1 = 0x02,
    CFA_ADVANCE_2 = 0x03,
    CFA_ADVANCE_4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER = 0x0a,
    CFA_RECALL = 0x0b,
    CFA_DEFINE = 0x0c,
    CFA_DEFINE_REGISTER = 0x0d,
    CFA_DEFINE_OFFSET = 0x0e,
    CFA_DEFINE_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SIGNED = 0x11,
    CFA_DEFINE_SIGNED = 0x12,
    CFA_DEFINE_OFFSET_SIGNED = 0x13,
    CFA_VALUE_OFFSET = 0x14,
    CFA_VALUE_OFFSET_SIGNED = 0x15,
    CFA_VALUE_EXPRESSION = 0x16,
    CFA_SIGN_WITH_PC = 0x2c,
    CFA_SIGN = 0x2d,
    CFA_ARGUMENTS_SIZE = 0x2e,
    CFA_OFFSET_NEGATIVE = 0x2f,
    CFA_ADVANCE = 0x40, /* two high bits; operand in the others */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
};

/* May wrap on nonsense, as may all sums here. */
static int64_t scaled(const struct machine *machine, uint64_t factored) {
    return (int64_t)(factored * (uint64_t)machine->program->data_factor);
}

static enum machine_step advance(struct machine *machine, uint64_t factored) {
    machine->pc += factored * machine->program->code_factor;
    return STEP_ADVANCE;
}

static void restore(struct machine *machine, uint64_t dwarf_register) {
    int column = column_of(dwarf_register);
    if (dwarf_register == UNWIND_SP) machine->rule.is_sp_elsewhere = machine->initial.is_sp_elsewhere;
    if (column < 0) return;
    machine->rule.place_kinds[column] = machine->initial.place_kinds[column];
    machine->rule.place_offsets[column] = machine->initial.place_offsets[column];
}

static enum machine_step remember(struct machine *machine) {
    if (machine->remembered_count == REMEMBERED_COUNT_MAX) return STEP_BAD;
    machine->remembered[machine->remembered_count++] = machine->rule;
    return STEP_DONE;
}

static enum machine_step recall(struct machine *machine) {
    if (!machine->remembered_count) return STEP_BAD;
    machine->rule = machine->remembered[--machine->remembered_count];
    return STEP_DONE;
}

static void set_place_offset(struct machine *machine, uint64_t dwarf_register, int64_t offset) {
    set_place(&machine->rule, dwarf_register, UNWIND_PLACE_AT_CFA, offset);
}

/* A change of one half of a definition; without a definition before it there is no other half. */
static void redefine(struct unwind_rule *rule, uint64_t dwarf_register, int64_t offset) {
    bool is_defined = rule->cfa_kind == UNWIND_CFA_REGISTER;
    set_cfa(rule, is_defined ? UNWIND_CFA_REGISTER : UNWIND_CFA_UNKNOWN, dwarf_register, offset);
}

/* The instructions about the CFA. */
static enum machine_step run_definition(struct machine *machine, uint8_t operation, struct bytes *program) {
    struct unwind_rule *rule = &machine->rule;
    uint64_t dwarf_register = rule->cfa_register;
    switch (operation) {
        case CFA_DEFINE:
            dwarf_register = take_uleb(program);
            set_cfa(rule, UNWIND_CFA_REGISTER, dwarf_register, (int64_t)take_uleb(program));
            return STEP_DONE;
        case CFA_DEFINE_SIGNED:
            dwarf_register = take_uleb(program);
            set_cfa(rule, UNWIND_CFA_REGISTER, dwarf_register, scaled(machine, (uint64_t)take_sleb(program)));
            return STEP_DONE;
        case CFA_DEFINE_REGISTER:
            redefine(rule, take_uleb(program), rule->cfa_offset);
            return STEP_DONE;
        case CFA_DEFINE_OFFSET:
            redefine(rule, dwarf_register, (int64_t)take_uleb(program));
            return STEP_DONE;
        case CFA_DEFINE_OFFSET_SIGNED:
            redefine(rule, dwarf_register, scaled(machine, (uint64_t)take_sleb(program)));
            return STEP_DONE;
        default:
            set_cfa_expression(rule, take_part(program, take_uleb(program)));
            return STEP_DONE;
    }
}

/* The instructions about where one register is. */
static enum machine_step run_place(struct machine *machine, uint8_t operation, struct bytes *program) {
    struct unwind_rule *rule = &machine->rule;
    uint64_t dwarf_register = take_uleb(program);
    switch (operation) {
        case CFA_OFFSET_EXTENDED:
            set_place_offset(machine, dwarf_register, scaled(machine, take_uleb(program)));
            return STEP_DONE;
        case CFA_OFFSET_EXTENDED_SIGNED:
            set_place_offset(machine, dwarf_register, scaled(machine, (uint64_t)take_sleb(program)));
            return STEP_DONE;
        case CFA_OFFSET_NEGATIVE:
            set_place_offset(machine, dwarf_register, scaled(machine, 0 - take_uleb(program)));
            return STEP_DONE;
        case CFA_RESTORE_EXTENDED:
            restore(machine, dwarf_register);
            return STEP_DONE;
        case CFA_UNDEFINED:
            set_place(rule, dwarf_register, UNWIND_PLACE_UNDEFINED, 0);
            return STEP_DONE;
        case CFA_SAME:
            set_place(rule, dwarf_register, UNWIND_PLACE_SAME, 0);
            return STEP_DONE;
        case CFA_REGISTER:
            set_place(rule, dwarf_register, UNWIND_PLACE_REGISTER, (int64_t)take_uleb(program));
            return STEP_DONE;
        case CFA_EXPRESSION:
            set_place_expression(rule, dwarf_register, take_part(program, take_uleb(program)));
            return STEP_DONE;
        case CFA_VALUE_EXPRESSION:
            take_part(program, take_uleb(program));
            break;
        default:
            take_uleb(program);
            break; /* a value at an offset, signed or not */
    }
    set_place(rule, dwarf_register, UNWIND_PLACE_UNKNOWN, 0);
    return STEP_DONE;
}

static enum machine_step run_extended(struct machine *machine, uint8_t operation, struct bytes *program) {
    switch (operation) {
        case CFA_NOP:
#if defined(__aarch64__)
        /* Whether the return address is signed does not matter: the walk strips it anyway. */
        case CFA_SIGN:
        case CFA_SIGN_WITH_PC:
#endif
            return STEP_DONE;
        case CFA_SET_LOCATION:
            machine->pc = take_pointer(program, machine->program->pointer_encoding, machine->program->header);
            return STEP_ADVANCE;
        case CFA_ADVANCE_1:
            return advance(machine, take_unsigned(program, 1));
        case CFA_ADVANCE_2:
            return advance(machine, take_unsigned(program, 2));
        case CFA_ADVANCE_4:
            return advance(machine, take_unsigned(program, 4));
        case CFA_REMEMBER:
            return remember(machine);
        case CFA_RECALL:
            return recall(machine);
        case CFA_ARGUMENTS_SIZE:
            take_uleb(program);
            return STEP_DONE;
        case CFA_DEFINE:
        case CFA_DEFINE_REGISTER:
        case CFA_DEFINE_OFFSET:
        case CFA_DEFINE_EXPRESSION:
        case CFA_DEFINE_SIGNED:
        case CFA_DEFINE_OFFSET_SIGNED:
            return run_definition(machine, operation, program);
        case CFA_OFFSET_EXTENDED:
        case CFA_RESTORE_EXTENDED:
        case CFA_UNDEFINED:
        case CFA_SAME:
        case CFA_REGISTER:
        case CFA_EXPRESSION:
        case CFA_OFFSET_EXTENDED_SIGNED:
        case CFA_VALUE_OFFSET:
        case CFA_VALUE_OFFSET_SIGNED:
        case CFA_VALUE_EXPRESSION:
        case CFA_OFFSET_NEGATIVE:
            return run_place(machine, operation, program);
        default:
            return STEP_BAD;
    }
}

/* One instruction. STEP_ADVANCE: the rule holds up to the pc that is now the machine's. */
static enum machine_step run(struct machine *machine, struct bytes *program) {
    uint8_t operation = take_byte(program), operand = operation & 0x3f;
    switch (operation & 0xc0) {
        case CFA_ADVANCE:
            return advance(machine, operand);
        case CFA_OFFSET:
            set_place_offset(machine, operand, scaled(machine, take_uleb(program)));
            return STEP_DONE;
        case CFA_RESTORE:
            restore(machine, operand);
            return STEP_DONE;
        default:
            return run_extended(machine, operation, program);
    }
}

/* ---- A function's rows. ---- */

/* On x86-64 a return address that is said to be the same would be in no register. */
static const struct unwind_rule *made_whole(struct unwind_rule *rule) {
    if (rule->place_kinds[UNWIND_COLUMN_RETURN] == UNWIND_PLACE_SAME) {
        rule->place_kinds[UNWIND_COLUMN_RETURN] =
            UNWIND_RETURN < UNWIND_REGISTER_COUNT ? UNWIND_PLACE_REGISTER : UNWIND_PLACE_UNKNOWN;
        rule->place_offsets[UNWIND_COLUMN_RETURN] = UNWIND_RETURN < UNWIND_REGISTER_COUNT ? UNWIND_RETURN : 0;
    }
    return rule->cfa_kind == UNWIND_CFA_UNKNOWN || rule->is_sp_elsewhere ? &unwind_rule_unknown : rule;
}

static bool run_initial(struct machine *machine) {
    struct bytes program = machine->program->initial;
    while (program.at < program.end)
        if (run(machine, &program) != STEP_DONE) return false;
    machine->initial = machine->rule;
    return !program.is_bad;
}

void unwind_program_run(const struct unwind_program *program, unwind_rule_visit *visit, void *context) {
    struct machine machine = {.program = program, .pc = program->start};
    struct bytes own = program->own;
    enum machine_step step = run_initial(&machine) ? STEP_DONE : STEP_BAD;
    uint64_t start = program->start;
    while (step != STEP_BAD && own.at < own.end && start < program->end) {
        struct unwind_rule rule = machine.rule;
        step = run(&machine, &own);
        if (own.is_bad || machine.pc < start) step = STEP_BAD;
        if (step != STEP_ADVANCE || machine.pc == start) continue;
        visit(context, start, made_whole(&rule));
        start = machine.pc;
    }
    if (step == STEP_BAD) machine.rule = unwind_rule_unknown;
    if (start < program->end) visit(context, start, made_whole(&machine.rule));
}

#endif
