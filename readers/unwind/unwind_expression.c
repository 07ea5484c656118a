#include "unwind_expression.h"

#include "recorder/unwind/unwind_bytes.h"

enum { STACK_COUNT_MAX = 64, OPERATION_COUNT_MAX = 1000 };

enum {
    OP_ADDRESS = 0x03,
    OP_DEREF = 0x06,
    OP_CONST_1U = 0x08,
    OP_CONST_8S = 0x0f,
    OP_CONST_ULEB = 0x10,
    OP_CONST_SLEB = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROTATE = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_ULEB = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRANCH = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT_0 = 0x30,
    OP_LIT_31 = 0x4f,
    OP_BREG_0 = 0x70,
    OP_BREG_31 = 0x8f,
    OP_BREG_X = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

struct evaluation {
    const struct unwind_expression_reads *reads;
    struct bytes code;
    uint64_t start;
    uint64_t stack[STACK_COUNT_MAX];
    uint32_t count;
    bool is_bad;
};

static void push(struct evaluation *evaluation, uint64_t value) {
    if (evaluation->count == STACK_COUNT_MAX)
        evaluation->is_bad = true;
    else
        evaluation->stack[evaluation->count++] = value;
}

static uint64_t pop(struct evaluation *evaluation) {
    if (evaluation->count) return evaluation->stack[--evaluation->count];
    evaluation->is_bad = true;
    return 0;
}

/* Pushes the value that is `depth` below the top one. */
static void pick(struct evaluation *evaluation, uint32_t depth) {
    if (depth < evaluation->count)
        push(evaluation, evaluation->stack[evaluation->count - 1 - depth]);
    else
        evaluation->is_bad = true;
}

/* Moves the top value below the `count` - 1 values under it. */
static void rotate(struct evaluation *evaluation, uint32_t count) {
    if (evaluation->count < count) {
        evaluation->is_bad = true;
        return;
    }
    uint64_t *values = &evaluation->stack[evaluation->count - count], top = values[count - 1];
    for (uint32_t i = count - 1; i; i--) values[i] = values[i - 1];
    values[0] = top;
}

static void push_constant(struct evaluation *evaluation, uint8_t operation) {
    uint32_t bytes_count = 1u << ((operation - OP_CONST_1U) / 2);
    bool is_signed = (operation - OP_CONST_1U) % 2;
    push(evaluation, is_signed ? (uint64_t)take_signed(&evaluation->code, bytes_count)
                               : take_unsigned(&evaluation->code, bytes_count));
}

static void push_register(struct evaluation *evaluation, uint64_t dwarf_register) {
    uint64_t value = 0, offset = (uint64_t)take_sleb(&evaluation->code);
    if (!evaluation->reads->find_register(evaluation->reads->context, dwarf_register, &value))
        evaluation->is_bad = true;
    push(evaluation, value + offset);
}

static void dereference(struct evaluation *evaluation, uint32_t bytes_count) {
    uint64_t value = 0, address = pop(evaluation);
    bool is_size = bytes_count >= 1 && bytes_count <= 8;
    if (!is_size || !evaluation->reads->load(evaluation->reads->context, address, bytes_count, &value))
        evaluation->is_bad = true;
    push(evaluation, value);
}

static void jump(struct evaluation *evaluation, bool is_taken) {
    uint64_t distance = (uint64_t)take_signed(&evaluation->code, 2);
    uint64_t target = evaluation->code.at + distance;
    if (!is_taken) return;
    if (target < evaluation->start || target > evaluation->code.end)
        evaluation->is_bad = true;
    else
        evaluation->code.at = target;
}

static uint64_t shifted_arithmetically(uint64_t value, uint64_t bits_count) {
    uint64_t sign = value >> 63 ? UINT64_MAX : 0;
    if (bits_count >= 64) return sign;
    return bits_count ? (value >> bits_count) | (sign << (64 - bits_count)) : value;
}

/* Divides signed numbers. Division by zero makes the evaluation bad. Division by -1 negates, because the quotient of
 * the lowest number does not fit. */
static uint64_t divided(struct evaluation *evaluation, uint64_t left, uint64_t right) {
    if (!right) {
        evaluation->is_bad = true;
        return 0;
    }
    return right == UINT64_MAX ? 0 - left : (uint64_t)((int64_t)left / (int64_t)right);
}

static void run_binary(struct evaluation *evaluation, uint8_t operation) {
    uint64_t right = pop(evaluation), left = pop(evaluation), value = 0;
    int64_t signed_left = (int64_t)left, signed_right = (int64_t)right;
    switch (operation) {
        case OP_AND: value = left & right; break;
        case OP_DIV: value = divided(evaluation, left, right); break;
        case OP_MINUS: value = left - right; break;
        case OP_MOD:
            evaluation->is_bad |= !right;
            value = right ? left % right : 0;
            break;
        case OP_MUL: value = left * right; break;
        case OP_OR: value = left | right; break;
        case OP_PLUS: value = left + right; break;
        case OP_SHL: value = right < 64 ? left << right : 0; break;
        case OP_SHR: value = right < 64 ? left >> right : 0; break;
        case OP_SHRA: value = shifted_arithmetically(left, right); break;
        case OP_XOR: value = left ^ right; break;
        case OP_EQ: value = left == right; break;
        case OP_GE: value = signed_left >= signed_right; break;
        case OP_GT: value = signed_left > signed_right; break;
        case OP_LE: value = signed_left <= signed_right; break;
        case OP_LT: value = signed_left < signed_right; break;
        case OP_NE: value = left != right; break;
        default: evaluation->is_bad = true;
    }
    push(evaluation, value);
}

static void run_operation(struct evaluation *evaluation, uint8_t operation) {
    struct bytes *code = &evaluation->code;
    uint64_t value;
    switch (operation) {
        case OP_ADDRESS: push(evaluation, take_unsigned(code, 8) + evaluation->reads->slide); return;
        case OP_DEREF: dereference(evaluation, 8); return;
        case OP_DEREF_SIZE: dereference(evaluation, take_byte(code)); return;
        case OP_CONST_ULEB: push(evaluation, take_uleb(code)); return;
        case OP_CONST_SLEB: push(evaluation, (uint64_t)take_sleb(code)); return;
        case OP_DUP: pick(evaluation, 0); return;
        case OP_DROP: pop(evaluation); return;
        case OP_OVER: pick(evaluation, 1); return;
        case OP_PICK: pick(evaluation, take_byte(code)); return;
        case OP_SWAP: rotate(evaluation, 2); return;
        case OP_ROTATE: rotate(evaluation, 3); return;
        case OP_ABS:
            value = pop(evaluation);
            push(evaluation, value >> 63 ? 0 - value : value);
            return;
        case OP_NEG: push(evaluation, 0 - pop(evaluation)); return;
        case OP_NOT: push(evaluation, ~pop(evaluation)); return;
        case OP_PLUS_ULEB: push(evaluation, pop(evaluation) + take_uleb(code)); return;
        case OP_BRANCH: jump(evaluation, pop(evaluation) != 0); return;
        case OP_SKIP: jump(evaluation, true); return;
        case OP_BREG_X: push_register(evaluation, take_uleb(code)); return;
        case OP_NOP: return;
        default: break;
    }
    if (operation >= OP_CONST_1U && operation <= OP_CONST_8S)
        push_constant(evaluation, operation);
    else if (operation >= OP_LIT_0 && operation <= OP_LIT_31)
        push(evaluation, (uint64_t)(operation - OP_LIT_0));
    else if (operation >= OP_BREG_0 && operation <= OP_BREG_31)
        push_register(evaluation, (uint64_t)(operation - OP_BREG_0));
    else
        run_binary(evaluation, operation);
}

static struct bytes find_expression(const struct unwind_image *image, int32_t offset) {
    uint64_t address = image->entries + (uint64_t)(int64_t)offset;
    const struct unwind_segment *segment = unwind_image_segment(image, address, 1);
    if (!segment) return (struct bytes){.is_bad = true};
    struct bytes bytes = {.at = address, .end = segment->end, .shift = segment->shift};
    return take_part(&bytes, take_uleb(&bytes));
}

bool unwind_expression_evaluate(const struct unwind_image *image, int32_t offset,
                                const struct unwind_expression_reads *reads, const uint64_t *first, uint64_t *value) {
    struct evaluation evaluation = {.reads = reads, .code = find_expression(image, offset)};
    evaluation.start = evaluation.code.at;
    if (first) push(&evaluation, *first);
    for (uint32_t i = 0; evaluation.code.at < evaluation.code.end; i++) {
        if (i == OPERATION_COUNT_MAX) return false;
        run_operation(&evaluation, take_byte(&evaluation.code));
        if (evaluation.is_bad || evaluation.code.is_bad) return false;
    }
    *value = pop(&evaluation);
    return !evaluation.is_bad && !evaluation.code.is_bad;
}
