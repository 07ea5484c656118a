#include "frame_depth.h"

#include <string.h>

#if defined(__x86_64__)

/* ---- Instructions: their lengths, and how they change sp and the frame pointer. ---- */

/* The operands of each opcode. '-': none; 'm': ModR/M; 'b', 'w', 'z': a number of one, two, and two or four bytes; 'B',
 * 'Z': ModR/M and such a number; 'd': four bytes; 'v': as many bytes as the operand size; 'o': an address; 'p': the
 * byte is a prefix; 'x': unknown to this code. */
static const char one_byte_forms[] =
    "mmmmbzxxmmmmbzxx" /* 00 */
    "mmmmbzxxmmmmbzxx"
    "mmmmbzpxmmmmbzpx"
    "mmmmbzpxmmmmbzpx"
    "pppppppppppppppp" /* 40 */
    "----------------"
    "xxxmppppzZbB----"
    "bbbbbbbbbbbbbbbb"
    "BZxBmmmmmmmmmmmm" /* 80 */
    "----------x-----"
    "oooo----bz------"
    "bbbbbbbbvvvvvvvv"
    "BBw-xxBZx-xx-bxx" /* c0 */
    "mmmmxxx-mmmmmmmm"
    "bbbbbbbbddxb----"
    "pxpp--mm------mm";
static const char two_byte_forms[] =
    "mmmmx-----x-xm-x" /* 00 */
    "mmmmmmmmmmmmmmmm"
    "mmmmxxxxmmmmmmmm"
    "------x-xxxxxxxx"
    "mmmmmmmmmmmmmmmm" /* 40 */
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "BBBBmmm-mmmmmmmm"
    "dddddddddddddddd" /* 80 */
    "mmmmmmmmmmmmmmmm"
    "---mBmxx---mBmmm"
    "mmmmmmmmmmBmmmmm"
    "mmBmBBBm--------" /* c0 */
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm";
_Static_assert(sizeof one_byte_forms == 257 && sizeof two_byte_forms == 257, "a form for each opcode");

enum { RSP = 4, RBP = 5, NO_REGISTER = 16 };

struct instruction {
    const unsigned char *bytes;
    uint32_t length;
    uint32_t map; /* opcode map: 1, 2 (0f), 3 (0f 38), 4 (0f 3a) */
    uint8_t opcode;
    uint8_t rex;
    bool is_vector; /* VEX or EVEX: such an instruction sets neither sp nor the frame pointer */
    bool is_short;  /* the operand size is two bytes */
    uint8_t mode;   /* mode field of ModR/M; 3: the operands are two registers */
    uint8_t reg;
    uint8_t rm; /* second register if mode is 3, else the base register; NO_REGISTER: none, or there is an index */
    int64_t displacement;
    int64_t number;
};

struct reader {
    const unsigned char *at;
    const unsigned char *end;
    bool is_bad;
};

static uint8_t take_byte(struct reader *reader) {
    if (reader->at == reader->end) {
        reader->is_bad = true;
        return 0;
    }
    return *reader->at++;
}

static int64_t take_number(struct reader *reader, uint32_t bytes_count) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes_count; i++) value |= (uint64_t)take_byte(reader) << 8 * i;
    uint32_t bits = 64 - 8 * bytes_count;
    return bytes_count ? (int64_t)(value << bits) >> bits : 0;
}

static void take_operands(struct reader *reader, struct instruction *instruction) {
    uint8_t byte = take_byte(reader);
    instruction->mode = byte >> 6;
    instruction->reg = (uint8_t)((byte >> 3 & 7) | (instruction->rex & 4) << 1);
    instruction->rm = (uint8_t)((byte & 7) | (instruction->rex & 1) << 3);
    if (instruction->mode == 3) return;
    bool has_base = true;
    if ((byte & 7) == 4) {
        uint8_t scale = take_byte(reader);
        bool has_index = (scale >> 3 & 7) != 4 || instruction->rex & 2;
        has_base = (scale & 7) != 5 || instruction->mode != 0;
        instruction->rm = (uint8_t)(has_index ? NO_REGISTER : (scale & 7) | (instruction->rex & 1) << 3);
    } else {
        has_base = (byte & 7) != 5 || instruction->mode != 0; /* otherwise the base is rip */
    }
    if (!has_base) instruction->rm = NO_REGISTER;
    instruction->displacement = take_number(reader, !has_base || instruction->mode == 2 ? 4 : instruction->mode);
}

static char form_of(const struct instruction *instruction) {
    switch (instruction->map) {
        case 1: return one_byte_forms[instruction->opcode];
        case 2: return two_byte_forms[instruction->opcode];
        case 3: return 'm';
        case 4: return 'B';
        default: return 'x';
    }
}

/* Takes the opcode, which comes after legacy prefixes. */
static void take_opcode(struct reader *reader, struct instruction *instruction) {
    instruction->map = 1;
    instruction->opcode = take_byte(reader);
    if (instruction->opcode != 0x0f) return;
    instruction->map = 2;
    instruction->opcode = take_byte(reader);
    if (instruction->opcode != 0x38 && instruction->opcode != 0x3a) return;
    instruction->map = instruction->opcode == 0x38 ? 3 : 4;
    instruction->opcode = take_byte(reader);
}

static void take_vector_opcode(struct reader *reader, struct instruction *instruction, uint8_t prefix) {
    uint8_t first = take_byte(reader);
    instruction->is_vector = true;
    instruction->map = prefix == 0xc5 ? 2 : (first & (prefix == 0x62 ? 7 : 31)) + 1u;
    uint32_t more_count = prefix == 0x62 ? 2 : prefix == 0xc4;
    for (uint32_t i = 0; i < more_count; i++) take_byte(reader);
    instruction->opcode = take_byte(reader);
    /* The prefix has the high bits of the address registers, inverted. They are not needed. */
}

static void take_prefixes(struct reader *reader, struct instruction *instruction) {
    while (reader->at < reader->end && one_byte_forms[*reader->at] == 'p') {
        uint8_t prefix = take_byte(reader);
        bool is_rex = prefix >= 0x40 && prefix <= 0x4f;
        instruction->rex = is_rex ? prefix : 0; /* a REX prefix has no effect unless it is the last prefix */
        instruction->is_short |= prefix == 0x66;
        if (prefix == 0x67) reader->is_bad = true;
    }
}

static uint32_t number_bytes(const struct instruction *instruction, char form) {
    switch (form) {
        case 'b':
        case 'B': return 1;
        case 'w': return 2;
        case 'z':
        case 'Z': return instruction->is_short && !(instruction->rex & 8) ? 2 : 4;
        case 'd': return 4;
        case 'v': return instruction->rex & 8 ? 8 : instruction->is_short ? 2 : 4;
        case 'o': return 8;
        default: return 0;
    }
}

/* Returns false if the instruction is unknown or incomplete. */
static bool take_instruction(const unsigned char *code, uint32_t bytes_count, struct instruction *instruction) {
    struct reader reader = {.at = code, .end = code + bytes_count};
    *instruction = (struct instruction){.bytes = code};
    take_prefixes(&reader, instruction);
    uint8_t first = reader.at < reader.end ? *reader.at : 0;
    if (first == 0xc4 || first == 0xc5 || first == 0x62)
        take_vector_opcode(&reader, instruction, take_byte(&reader));
    else
        take_opcode(&reader, instruction);
    char form = form_of(instruction);
    bool has_operands = form == 'm' || form == 'B' || form == 'Z';
    if (form == 'x' || form == 'p') return false;
    if (has_operands) take_operands(&reader, instruction);
    bool is_test = instruction->map == 1 && (instruction->opcode & 0xfe) == 0xf6 && (instruction->reg & 7) < 2;
    if (is_test) form = instruction->opcode == 0xf6 ? 'B' : 'Z';
    instruction->number = take_number(&reader, number_bytes(instruction, form));
    instruction->length = (uint32_t)(reader.at - code);
    return !reader.is_bad;
}

static bool is_one_of(uint8_t opcode, const char *opcodes, size_t count) {
    return memchr(opcodes, opcode, count) != NULL;
}
#define IS_ONE_OF(opcode, opcodes) is_one_of(opcode, opcodes, sizeof opcodes - 1)

/* Returns one of the general registers that the instruction sets. Returns NO_REGISTER if it sets none, or none that
 * matters here. */
static uint8_t target_of(const struct instruction *instruction) {
    uint8_t opcode = instruction->opcode, direct = instruction->mode == 3 ? instruction->rm : NO_REGISTER;
    uint8_t numbered = (uint8_t)((opcode & 7) | (instruction->rex & 1) << 3);
    if (instruction->is_vector) return NO_REGISTER;
    if (instruction->map == 2) {
        bool is_to_reg =
            (opcode & 0xf0) == 0x40 || IS_ONE_OF(opcode, "\x2c\x2d\x50\xaf\xb6\xb7\xb8\xbc\xbd\xbe\xbf\xd7");
        bool is_to_rm =
            (opcode == 0x7e && instruction->is_short) || IS_ONE_OF(opcode, "\xa4\xa5\xac\xad\xb1\xb3\xba\xbb\xc1");
        return is_to_reg ? instruction->reg : is_to_rm ? direct : (opcode & 0xf8) == 0xc8 ? numbered : NO_REGISTER;
    }
    if (instruction->map != 1) return NO_REGISTER;
    if (opcode < 0x40) {
        bool is_compare = (opcode & 0x38) == 0x38;
        return is_compare || (opcode & 7) > 3 || !(opcode & 1) ? NO_REGISTER : opcode & 2 ? instruction->reg : direct;
    }
    if ((opcode & 0xf8) == 0x58 || (opcode & 0xf8) == 0xb8) return numbered;
    if (opcode > 0x90 && opcode < 0x98) return numbered; /* exchanged with rax */
    if (opcode == 0x87) return instruction->reg == RSP || instruction->reg == RBP ? instruction->reg : direct;
    if (IS_ONE_OF(opcode, "\x63\x69\x6b\x8b\x8d")) return instruction->reg;
    if ((opcode == 0x81 || opcode == 0x83) && (instruction->reg & 7) == 7) return NO_REGISTER;
    if (opcode == 0xf7) return (instruction->reg & 7) == 2 || (instruction->reg & 7) == 3 ? direct : NO_REGISTER;
    if (opcode == 0xff) return (instruction->reg & 7) < 2 ? direct : NO_REGISTER;
    return IS_ONE_OF(opcode, "\x81\x83\x89\x8f\xc1\xc7\xd1\xd3") ? direct : NO_REGISTER;
}

/* ---- What is known about the registers before an instruction. ---- */

enum { NOT_REACHED = INT32_MIN, VARIES = INT32_MAX, DEPTH_MAX = 1 << 24 };

struct state {
    int32_t depth;    /* depth of sp */
    int32_t fp_depth; /* depth of the frame pointer */
};

static const struct state not_reached = {NOT_REACHED, NOT_REACHED};

static int32_t deeper(int32_t depth, int64_t bytes) {
    int64_t sum = depth + bytes;
    return depth == VARIES || sum < -DEPTH_MAX || sum > DEPTH_MAX ? VARIES : (int32_t)sum;
}

static int32_t joined(int32_t a, int32_t b) {
    if (a == NOT_REACHED || a == b) return b;
    return b == NOT_REACHED ? a : VARIES;
}

/* Returns the depth that sp or the frame pointer gets from an address or a register. */
static int32_t value_of(const struct instruction *instruction, struct state before) {
    bool is_whole = instruction->rex & 8 && instruction->map == 1;
    uint8_t source = NO_REGISTER;
    if (!is_whole) return VARIES;
    if (instruction->opcode == 0x8d)
        source = instruction->rm;
    else if (instruction->opcode == 0x89 && instruction->mode == 3)
        source = instruction->reg;
    else if (instruction->opcode == 0x8b && instruction->mode == 3)
        source = instruction->rm;
    int64_t displacement = instruction->opcode == 0x8d ? instruction->displacement : 0;
    if (source == RSP) return deeper(before.depth, -displacement);
    return source == RBP ? deeper(before.fp_depth, -displacement) : VARIES;
}

/* Returns the depth of sp after a number is added to it or subtracted from it. */
static int32_t moved_sp(const struct instruction *instruction, struct state before) {
    bool is_number = (instruction->opcode == 0x81 || instruction->opcode == 0x83) && instruction->rex & 8;
    if (instruction->map == 1 && is_number && instruction->reg == 0) return deeper(before.depth, -instruction->number);
    if (instruction->map == 1 && is_number && instruction->reg == 5) return deeper(before.depth, instruction->number);
    return value_of(instruction, before);
}

/* Returns how many bytes the instruction pushes. */
static int64_t pushed_bytes(const struct instruction *instruction) {
    uint8_t opcode = instruction->opcode, group = instruction->reg & 7;
    bool is_push = false, is_pop = false;
    if (instruction->map == 1) {
        is_push = (opcode & 0xf8) == 0x50 || IS_ONE_OF(opcode, "\x68\x6a\x9c") || (opcode == 0xff && group == 6);
        is_pop = (opcode & 0xf8) == 0x58 || opcode == 0x9d || opcode == 0x8f;
    } else if (instruction->map == 2) {
        is_push = opcode == 0xa0 || opcode == 0xa8;
        is_pop = opcode == 0xa1 || opcode == 0xa9;
    }
    int64_t bytes = instruction->is_short ? 2 : 8;
    return is_push ? bytes : is_pop ? -bytes : 0;
}

static struct state state_after(const struct instruction *instruction, struct state state) {
    if (instruction->is_vector) return state;
    if (instruction->map == 1 && instruction->opcode == 0xc9)
        return (struct state){.depth = deeper(state.fp_depth, -8), .fp_depth = VARIES};
    struct state before = state;
    uint8_t target = target_of(instruction);
    state.depth = deeper(state.depth, pushed_bytes(instruction));
    if (target == RSP) state.depth = moved_sp(instruction, before);
    if (target == RBP) state.fp_depth = value_of(instruction, before);
    return state;
}

/* ---- All paths through a function. ---- */

enum { WAITING_COUNT_MAX = 4096, GAP_COUNT_MAX = 4096 };

struct paths {
    const unsigned char *code;
    uint32_t bytes_count;
    uint32_t end;          /* end of the instruction whose state is looked for */
    struct state at_end;   /* state after the instruction that ends at `end` */
    struct state at_table; /* the state before jumps to unknown addresses */
    uint32_t waiting_count;
    uint32_t gap_count;
};
static struct state states[FRAME_CODE_BYTES_MAX];
static uint32_t waiting[WAITING_COUNT_MAX]; /* offsets of instructions still to be visited */
static uint32_t gaps[GAP_COUNT_MAX];        /* ends of instructions that do not continue with the next one */

static struct state both_of(struct state a, struct state b) {
    return (struct state){joined(a.depth, b.depth), joined(a.fp_depth, b.fp_depth)};
}

/* Marks the instruction at `at` as reached with this state. Returns false if there is no room. */
static bool reach(struct paths *paths, int64_t at, struct state state) {
    if (at < 0 || at >= paths->bytes_count) return true; /* a jump to another function */
    struct state *known = &states[at];
    struct state both = both_of(*known, state);
    if (both.depth == known->depth && both.fp_depth == known->fp_depth) return true;
    *known = both;
    if (paths->waiting_count == WAITING_COUNT_MAX) return false;
    waiting[paths->waiting_count++] = (uint32_t)at;
    return true;
}

enum flow { FLOW_ON, FLOW_JUMP, FLOW_BRANCH, FLOW_END, FLOW_TABLE, FLOW_UNKNOWN };

static enum flow flow_of(const struct instruction *instruction) {
    uint8_t opcode = instruction->opcode, group = instruction->reg & 7;
    if (instruction->is_vector) return FLOW_ON;
    if (instruction->map == 2) {
        if (opcode == 0x0b || opcode == 0xff) return FLOW_END;
        return (opcode & 0xf0) == 0x80 ? FLOW_BRANCH : FLOW_ON;
    }
    if (instruction->map != 1) return FLOW_ON;
    if (opcode == 0xe9 || opcode == 0xeb) return FLOW_JUMP;
    if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0) return FLOW_BRANCH;
    if (IS_ONE_OF(opcode, "\xc2\xc3\xcc\xcf\xf4")) return FLOW_END;
    if (opcode == 0xe8)
        return instruction->number ? FLOW_ON : FLOW_UNKNOWN; /* a call of the next instruction only reads pc */
    if (opcode != 0xff) return FLOW_ON;
    return group == 4 ? FLOW_TABLE : group == 3 || group == 5 ? FLOW_UNKNOWN : FLOW_ON;
}

static bool follow(struct paths *paths, uint32_t at) {
    struct instruction instruction;
    if (!take_instruction(paths->code + at, paths->bytes_count - at, &instruction)) return false;
    enum flow flow = flow_of(&instruction);
    struct state after = state_after(&instruction, states[at]);
    int64_t next = (int64_t)at + instruction.length;
    if (flow == FLOW_UNKNOWN) return false;
    if (flow == FLOW_TABLE) paths->at_table = both_of(paths->at_table, states[at]);
    if (next == paths->end) paths->at_end = both_of(paths->at_end, after);
    bool has_room = true;
    if (flow == FLOW_JUMP || flow == FLOW_BRANCH) has_room = reach(paths, next + instruction.number, after);
    if (flow == FLOW_ON || flow == FLOW_BRANCH) return has_room && reach(paths, next, after);
    if (paths->gap_count == GAP_COUNT_MAX) return false;
    gaps[paths->gap_count++] = (uint32_t)next;
    return has_room;
}

enum { ENTRY_DEPTH = 8 }; /* the return address */

static bool is_known(int32_t depth) { return depth != NOT_REACHED && depth != VARIES && depth >= ENTRY_DEPTH; }

static bool follow_all(struct paths *paths) {
    bool is_good = true;
    while (is_good && paths->waiting_count) is_good = follow(paths, waiting[--paths->waiting_count]);
    return is_good;
}

/* Continues from the gaps. Code that no path has reached is assumed to be the target of a jump table, with the state
 * before the jump. */
static bool follow_tables(struct paths *paths) {
    bool is_good = is_known(paths->at_table.depth);
    for (uint32_t i = 0; is_good && i < paths->gap_count; i++) {
        bool is_reached = gaps[i] >= paths->bytes_count || states[gaps[i]].depth != NOT_REACHED;
        is_good = is_reached || (reach(paths, gaps[i], paths->at_table) && follow_all(paths));
    }
    return is_good;
}

/* Returns whether the depth found is that before the jumps. A call that never returns appears to continue with the code
 * after it. So in a function with a jump table, the depth must be that of the jumps. A jump to an unknown address
 * without a table leaves the function, with the depth at its entry. */
static bool is_table_depth(const struct paths *paths) {
    return paths->at_table.depth == NOT_REACHED || paths->at_table.depth == ENTRY_DEPTH ||
           paths->at_table.depth == paths->at_end.depth;
}

bool frame_depth_find(const unsigned char *code, uint32_t bytes_count, uint32_t end, struct frame_depth *depth) {
    struct paths paths = {
        .code = code, .bytes_count = bytes_count, .end = end, .at_end = not_reached, .at_table = not_reached};
    if (bytes_count > FRAME_CODE_BYTES_MAX) return false;
    for (uint32_t i = 0; i < bytes_count; i++) states[i] = not_reached;
    bool is_good = reach(&paths, 0, (struct state){.depth = ENTRY_DEPTH, .fp_depth = VARIES});
    is_good = is_good && follow_all(&paths);
    if (is_good && paths.at_end.depth == NOT_REACHED) is_good = follow_tables(&paths);
    if (!is_good || !is_known(paths.at_end.depth) || !is_table_depth(&paths)) return false;
    depth->sp_bytes = (uint32_t)paths.at_end.depth;
    depth->fp_bytes = is_known(paths.at_end.fp_depth) ? (uint32_t)paths.at_end.fp_depth : FRAME_DEPTH_UNKNOWN;
    return true;
}

#else

bool frame_depth_find(const unsigned char *code, uint32_t bytes_count, uint32_t end, struct frame_depth *depth) {
    (void)code;
    (void)bytes_count;
    (void)end;
    (void)depth;
    return false;
}

#endif
