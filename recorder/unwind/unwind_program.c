#include "unwind_program.h"

/* ---- The machine that runs an entry's instructions. ---- */

/* Compilers remember one or two rules at a time. More would take stack, of which a signal handler has little. */
enum { REMEMBERED_COUNT_MAX = 8 };

/* Limit for the bytes of a program. Longer programs are hostile; those of the largest functions have a few
 * kilobytes. */
enum { PROGRAM_BYTES_MAX = 1 << 18 };

struct machine {
    const struct unwind_program *program;
    const struct unwind_machine *registers;
    struct unwind_rule rule;
    struct unwind_rule initial;
    uint64_t pc;
    uint32_t remembered_count;
    struct unwind_rule remembered[REMEMBERED_COUNT_MAX];
};

/* ---- Rules. ---- */

static int column_of(const struct machine *machine, uint64_t dwarf_register) {
    if (dwarf_register == machine->registers->return_address) return UNWIND_COLUMN_RETURN;
    if (dwarf_register == machine->registers->fp) return UNWIND_COLUMN_FP;
    return dwarf_register == machine->registers->base ? UNWIND_COLUMN_BASE : -1;
}

static void set_place(struct machine *machine, uint64_t dwarf_register, enum unwind_place_kind kind, int64_t offset) {
    int column = column_of(machine, dwarf_register);
    if (dwarf_register == machine->registers->sp) machine->rule.is_sp_elsewhere = kind != UNWIND_PLACE_SAME;
    if (column < 0) return;
    bool fits = offset >= INT32_MIN && offset <= INT32_MAX;
    machine->rule.place_kinds[column] = (uint8_t)(fits ? kind : UNWIND_PLACE_UNKNOWN);
    machine->rule.place_offsets[column] = fits ? (int32_t)offset : 0;
}

static void set_cfa(struct machine *machine, enum unwind_cfa_kind kind, uint64_t dwarf_register, int64_t offset) {
    struct unwind_rule *rule = &machine->rule;
    bool fits = offset >= INT32_MIN && offset <= INT32_MAX && dwarf_register < machine->registers->register_count;
    rule->cfa_kind = (uint8_t)(fits ? kind : UNWIND_CFA_UNKNOWN);
    rule->cfa_register = (uint8_t)(fits ? dwarf_register : 0);
    rule->cfa_offset = fits ? (int32_t)offset : 0;
}

/* ---- Expressions that compilers, linkers and the C library write. ---- */

enum {
    EXPRESSION_DEREF = 0x06,
    EXPRESSION_BREG_0 = 0x70,
    EXPRESSION_BREG_31 = 0x8f,
    EXPRESSION_LIT_0 = 0x30,
    EXPRESSION_LIT_31 = 0x4f,
};

/* Takes a register and an offset from the start of an expression. */
static bool take_base_register(struct bytes *bytes, uint64_t *dwarf_register, int64_t *offset) {
    uint8_t operation = take_byte(bytes);
    if (operation < EXPRESSION_BREG_0 || operation > EXPRESSION_BREG_31) return false;
    *dwarf_register = (uint64_t)(operation - EXPRESSION_BREG_0);
    *offset = take_sleb(bytes);
    return !bytes->is_bad;
}

/* Returns whether the expression is the CFA of a stub of the procedure linkage table. The stub pushes a word at its
 * instruction at offset N: sp + 8 + (pc % 16 >= N) * 8. */
static bool is_plt(const struct machine *machine, struct bytes expression, uint8_t *threshold) {
    static const uint8_t before[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a}, after[] = {0x2a, 0x33, 0x24, 0x22};
    uint8_t code[sizeof before + 1 + sizeof after];
    if (!machine->registers->has_stub_expressions || expression.end - expression.at != sizeof code) return false;
    if (!take_bytes(&expression, code, sizeof code)) return false;
    uint8_t literal = code[sizeof before];
    if (memcmp(code, before, sizeof before) != 0 || memcmp(code + sizeof before + 1, after, sizeof after) != 0)
        return false;
    if (literal < EXPRESSION_LIT_0 || literal > EXPRESSION_LIT_31) return false;
    *threshold = (uint8_t)(literal - EXPRESSION_LIT_0);
    return true;
}

/* Takes an expression and the length before it. Sets *offset to the offset of the length, which is how rules refer to
 * the expression. Only rules of images that keep expressions may use that offset. */
static struct bytes take_expression(const struct machine *machine, struct bytes *program, int64_t *offset) {
    *offset = (int64_t)(program->at - machine->program->image->entries);
    return take_part(program, take_uleb(program));
}

static void set_cfa_expression(struct machine *machine, struct bytes *program) {
    uint64_t dwarf_register = 0;
    int64_t offset = 0, place;
    uint8_t threshold;
    struct bytes expression = take_expression(machine, program, &place);
    if (is_plt(machine, expression, &threshold)) {
        set_cfa(machine, UNWIND_CFA_PLT, 0, 8);
        machine->rule.cfa_register = threshold;
        return;
    }
    bool keeps = machine->program->image->keeps_expressions;
    set_cfa(machine, keeps ? UNWIND_CFA_EXPRESSION : UNWIND_CFA_UNKNOWN, 0, keeps ? place : 0);
    if (!take_base_register(&expression, &dwarf_register, &offset)) return;
    if (expression.at == expression.end)
        set_cfa(machine, UNWIND_CFA_REGISTER, dwarf_register, offset);
    else if (take_byte(&expression) == EXPRESSION_DEREF && expression.at == expression.end)
        set_cfa(machine, UNWIND_CFA_DEREF, dwarf_register, offset);
}

static enum unwind_place_kind place_kind_of(const struct machine *machine, uint64_t dwarf_register) {
    if (dwarf_register == machine->registers->sp) return UNWIND_PLACE_AT_SP;
    if (dwarf_register == machine->registers->fp) return UNWIND_PLACE_AT_FP;
    return dwarf_register == machine->registers->base ? UNWIND_PLACE_AT_BASE : UNWIND_PLACE_UNKNOWN;
}

/* Sets the place of a register to this kind, unless the expression is so simple that another kind describes it. */
static void set_place_expression(struct machine *machine, uint64_t dwarf_register, enum unwind_place_kind kind,
                                 struct bytes *program) {
    uint64_t base = 0;
    int64_t offset = 0, place;
    struct bytes expression = take_expression(machine, program, &place);
    bool keeps = machine->program->image->keeps_expressions;
    set_place(machine, dwarf_register, keeps ? kind : UNWIND_PLACE_UNKNOWN, keeps ? place : 0);
    if (kind != UNWIND_PLACE_AT_EXPRESSION) return;
    if (!take_base_register(&expression, &base, &offset) || expression.at != expression.end) return;
    enum unwind_place_kind simple = place_kind_of(machine, base);
    if (simple != UNWIND_PLACE_UNKNOWN) set_place(machine, dwarf_register, simple, offset);
}

/* ---- Instructions. ---- */

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
    CFA_ADVANCE = 0x40, /* the two high bits; the other bits are the operand */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
};

/* Multiplies by the data factor. Invalid values wrap around, here and in all sums. */
static int64_t scaled(const struct machine *machine, uint64_t factored) {
    return (int64_t)(factored * (uint64_t)machine->program->data_factor);
}

static enum machine_step advance(struct machine *machine, uint64_t factored) {
    machine->pc += factored * machine->program->code_factor;
    return STEP_ADVANCE;
}

static void restore(struct machine *machine, uint64_t dwarf_register) {
    int column = column_of(machine, dwarf_register);
    if (dwarf_register == machine->registers->sp) machine->rule.is_sp_elsewhere = machine->initial.is_sp_elsewhere;
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
    set_place(machine, dwarf_register, UNWIND_PLACE_AT_CFA, offset);
}

/* Changes the register or the offset of the CFA's definition. Without an earlier definition, the other half is
 * unknown. */
static void redefine(struct machine *machine, uint64_t dwarf_register, int64_t offset) {
    bool is_defined = machine->rule.cfa_kind == UNWIND_CFA_REGISTER;
    set_cfa(machine, is_defined ? UNWIND_CFA_REGISTER : UNWIND_CFA_UNKNOWN, dwarf_register, offset);
}

/* Runs an instruction that defines the CFA. */
static enum machine_step run_definition(struct machine *machine, uint8_t operation, struct bytes *program) {
    uint64_t dwarf_register = machine->rule.cfa_register;
    switch (operation) {
        case CFA_DEFINE:
            dwarf_register = take_uleb(program);
            set_cfa(machine, UNWIND_CFA_REGISTER, dwarf_register, (int64_t)take_uleb(program));
            return STEP_DONE;
        case CFA_DEFINE_SIGNED:
            dwarf_register = take_uleb(program);
            set_cfa(machine, UNWIND_CFA_REGISTER, dwarf_register, scaled(machine, (uint64_t)take_sleb(program)));
            return STEP_DONE;
        case CFA_DEFINE_REGISTER: redefine(machine, take_uleb(program), machine->rule.cfa_offset); return STEP_DONE;
        case CFA_DEFINE_OFFSET: redefine(machine, dwarf_register, (int64_t)take_uleb(program)); return STEP_DONE;
        case CFA_DEFINE_OFFSET_SIGNED:
            redefine(machine, dwarf_register, scaled(machine, (uint64_t)take_sleb(program)));
            return STEP_DONE;
        default: set_cfa_expression(machine, program); return STEP_DONE;
    }
}

/* Runs an instruction that defines the place of one register. */
static enum machine_step run_place(struct machine *machine, uint8_t operation, struct bytes *program) {
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
        case CFA_RESTORE_EXTENDED: restore(machine, dwarf_register); return STEP_DONE;
        case CFA_UNDEFINED: set_place(machine, dwarf_register, UNWIND_PLACE_UNDEFINED, 0); return STEP_DONE;
        case CFA_SAME: set_place(machine, dwarf_register, UNWIND_PLACE_SAME, 0); return STEP_DONE;
        case CFA_REGISTER:
            set_place(machine, dwarf_register, UNWIND_PLACE_REGISTER, (int64_t)take_uleb(program));
            return STEP_DONE;
        case CFA_EXPRESSION:
            set_place_expression(machine, dwarf_register, UNWIND_PLACE_AT_EXPRESSION, program);
            return STEP_DONE;
        case CFA_VALUE_EXPRESSION:
            set_place_expression(machine, dwarf_register, UNWIND_PLACE_EXPRESSION, program);
            return STEP_DONE;
        case CFA_VALUE_OFFSET:
            set_place(machine, dwarf_register, UNWIND_PLACE_CFA_VALUE, scaled(machine, take_uleb(program)));
            return STEP_DONE;
        default:
            set_place(machine, dwarf_register, UNWIND_PLACE_CFA_VALUE, scaled(machine, (uint64_t)take_sleb(program)));
            return STEP_DONE;
    }
}

static enum machine_step run_extended(struct machine *machine, uint8_t operation, struct bytes *program) {
    switch (operation) {
        case CFA_NOP: return STEP_DONE;
        case CFA_SIGN:
        case CFA_SIGN_WITH_PC:
            /* Whether the return address is signed does not matter: a walk strips it anyway. */
            return machine->registers->has_signed_returns ? STEP_DONE : STEP_BAD;
        case CFA_SET_LOCATION:
            machine->pc = take_pointer(program, machine->program->pointer_encoding, machine->program->image->entries);
            return STEP_ADVANCE;
        case CFA_ADVANCE_1: return advance(machine, take_unsigned(program, 1));
        case CFA_ADVANCE_2: return advance(machine, take_unsigned(program, 2));
        case CFA_ADVANCE_4: return advance(machine, take_unsigned(program, 4));
        case CFA_REMEMBER: return remember(machine);
        case CFA_RECALL: return recall(machine);
        case CFA_ARGUMENTS_SIZE: take_uleb(program); return STEP_DONE;
        case CFA_DEFINE:
        case CFA_DEFINE_REGISTER:
        case CFA_DEFINE_OFFSET:
        case CFA_DEFINE_EXPRESSION:
        case CFA_DEFINE_SIGNED:
        case CFA_DEFINE_OFFSET_SIGNED: return run_definition(machine, operation, program);
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
        case CFA_OFFSET_NEGATIVE: return run_place(machine, operation, program);
        default: return STEP_BAD;
    }
}

/* Runs one instruction. Returns STEP_ADVANCE if the rule before the instruction holds up to the machine's new pc. */
static enum machine_step run(struct machine *machine, struct bytes *program) {
    uint8_t operation = take_byte(program), operand = operation & 0x3f;
    switch (operation & 0xc0) {
        case CFA_ADVANCE: return advance(machine, operand);
        case CFA_OFFSET: set_place_offset(machine, operand, scaled(machine, take_uleb(program))); return STEP_DONE;
        case CFA_RESTORE: restore(machine, operand); return STEP_DONE;
        default: return run_extended(machine, operation, program);
    }
}

/* ---- The rule at an address. ---- */

/* Completes a rule. A return address that is marked as unchanged is in its register, if the machine has a register for
 * it. */
static const struct unwind_rule *made_whole(const struct machine *machine, struct unwind_rule *rule) {
    if (rule->place_kinds[UNWIND_COLUMN_RETURN] == UNWIND_PLACE_SAME) {
        uint8_t dwarf_register = machine->registers->return_address;
        bool is_register = dwarf_register < machine->registers->register_count;
        rule->place_kinds[UNWIND_COLUMN_RETURN] = is_register ? UNWIND_PLACE_REGISTER : UNWIND_PLACE_UNKNOWN;
        rule->place_offsets[UNWIND_COLUMN_RETURN] = is_register ? dwarf_register : 0;
    }
    return rule->cfa_kind == UNWIND_CFA_UNKNOWN || rule->is_sp_elsewhere ? &unwind_rule_unknown : rule;
}

static bool run_initial(struct machine *machine) {
    struct bytes program = machine->program->initial, own = machine->program->own;
    if (program.end - program.at > PROGRAM_BYTES_MAX || own.end - own.at > PROGRAM_BYTES_MAX) return false;
    while (program.at < program.end)
        if (run(machine, &program) != STEP_DONE) return false;
    machine->initial = machine->rule;
    return !program.is_bad;
}

void unwind_program_find(const struct unwind_program *program, uint64_t address, struct unwind_rule *rule) {
    struct machine machine = {.program = program, .registers = program->image->machine, .pc = program->start};
    struct bytes own = program->own;
    bool is_good = run_initial(&machine);
    while (is_good && own.at < own.end) {
        uint64_t start = machine.pc;
        is_good = run(&machine, &own) != STEP_BAD && !own.is_bad && machine.pc >= start;
        /* The instruction that has advanced beyond the address has changed no rule. */
        if (machine.pc > address) break;
    }
    *rule = is_good ? *made_whole(&machine, &machine.rule) : unwind_rule_unknown;
}
