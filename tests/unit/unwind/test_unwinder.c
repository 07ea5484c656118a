/* Tests walks of made-up stacks of both machines through a made-up file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "readers/unwind/unwind_expression.h"
#include "readers/unwind/unwinder.h"
#include "tests/support/unit_test.h"

struct span {
    const void *bytes;
    size_t count;
};

#define SPAN(literal) \
    (struct span) { literal, sizeof literal - 1 }

/* ---- The file: code that never runs, then .eh_frame_hdr, .eh_frame, .debug_frame, and the section headers. ---- */

enum { FILE_BYTES = 0x4000, CODE_AT = 0x1000, HEADER_AT = 0x2000, FRAMES_AT = 0x2100, DEBUG_AT = 0x3000 };
enum { SECTIONS_AT = 0x3c00, NAMES_AT = 0x3e00, FUNCTIONS_MAX = 16, SEGMENT_COUNT = 60 };

/* Addresses of the file's functions. STRAY_AT has no call frame information. */
enum { OUTER_AT = 0x1000, TESTED_AT = 0x1100, STUBS_AT = 0x1200, SIGNAL_AT = 0x1300, STRAY_AT = 0x1400 };

static struct {
    _Alignas(16) unsigned char bytes[FILE_BYTES];
    uint32_t at;
    uint32_t cie_at;
    uint32_t function_count;
    struct {
        uint32_t start;
        uint32_t fde_at;
    } functions[FUNCTIONS_MAX];
} file;

static void put(const void *bytes, size_t count) {
    assert_true(file.at + count <= FILE_BYTES);
    if (count) memcpy(file.bytes + file.at, bytes, count);
    file.at += (uint32_t)count;
}

static void put_word(uint32_t word) { put(&word, sizeof word); }

static void put_long(uint64_t value) { put(&value, sizeof value); }

static void close_entry(uint32_t at) {
    while ((file.at - at) % 4) put("", 1);
    uint32_t bytes_count = file.at - at - 4;
    memcpy(file.bytes + at, &bytes_count, sizeof bytes_count);
}

static enum unwinder_machine machine;

static void add_cie(const char *augmentation) {
    bool is_x86_64 = machine == UNWINDER_X86_64;
    struct span program = is_x86_64 ? SPAN("\x0c\x07\x08\x90\x01") : SPAN("\x0c\x1f\x00");
    unsigned char factors[] = {1, 0x78 /* -8 */, is_x86_64 ? 16 : 30, 1, 0x1b};
    file.cie_at = file.at;
    put_word(0);
    put_word(0);
    put("\x01", 1);
    put(augmentation, strlen(augmentation) + 1);
    put(factors, sizeof factors);
    put(program.bytes, program.count);
    close_entry(file.cie_at);
}

static void add_function(uint32_t start, struct span program) {
    uint32_t at = file.at;
    assert_true(file.function_count < FUNCTIONS_MAX);
    file.functions[file.function_count].start = start;
    file.functions[file.function_count++].fde_at = at;
    put_word(0);
    put_word(file.at - file.cie_at);
    put_word(start - file.at);
    put_word(0x40);
    put("", 1);
    put(program.bytes, program.count);
    close_entry(at);
}

static void write_header(void) {
    put_word(0);
    file.at = HEADER_AT;
    put("\x01\x1b\x03\x3b", 4);
    put_word(FRAMES_AT - HEADER_AT - 4);
    put_word(file.function_count);
    for (uint32_t i = 0; i < file.function_count; i++) {
        put_word(file.functions[i].start - HEADER_AT);
        put_word(file.functions[i].fde_at - HEADER_AT);
    }
}

/* Many segments, as linker scripts of firmware write them, come before the one with the code. */
static void write_segments(void) {
    Elf64_Phdr segments[SEGMENT_COUNT];
    for (unsigned i = 0; i < SEGMENT_COUNT; i++)
        segments[i] = (Elf64_Phdr){.p_type = PT_LOAD,
                                   .p_offset = DEBUG_AT + 8 * i,
                                   .p_vaddr = FILE_BYTES + 8 * i,
                                   .p_filesz = 8,
                                   .p_memsz = 8};
    segments[SEGMENT_COUNT - 2] =
        (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = DEBUG_AT, .p_memsz = DEBUG_AT};
    segments[SEGMENT_COUNT - 1] = (Elf64_Phdr){
        .p_type = PT_GNU_EH_FRAME, .p_offset = HEADER_AT, .p_vaddr = HEADER_AT, .p_filesz = 0x100, .p_memsz = 0x100};
    memcpy(file.bytes + sizeof(Elf64_Ehdr), segments, sizeof segments);
}

static void write_elf(void) {
    Elf64_Ehdr header = {.e_ident = ELFMAG,
                         .e_type = ET_DYN,
                         .e_machine = machine == UNWINDER_X86_64 ? EM_X86_64 : EM_AARCH64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof header,
                         .e_shoff = SECTIONS_AT,
                         .e_ehsize = sizeof header,
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = SEGMENT_COUNT,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = 4,
                         .e_shstrndx = 3};
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    static const char names[] = "\0.plt\0.debug_frame\0.shstrtab";
    const Elf64_Shdr sections[] = {
        {.sh_type = SHT_NULL},
        {.sh_name = 1,
         .sh_type = SHT_PROGBITS,
         .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
         .sh_addr = STUBS_AT,
         .sh_offset = STUBS_AT,
         .sh_size = 0x40},
        {.sh_name = 6, .sh_type = SHT_PROGBITS, .sh_offset = DEBUG_AT},
        {.sh_name = 19, .sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = sizeof names}};
    memcpy(file.bytes, &header, sizeof header);
    write_segments();
    memcpy(file.bytes + SECTIONS_AT, sections, sizeof sections);
    memcpy(file.bytes + NAMES_AT, names, sizeof names);
}

static const unsigned char stubs[] = {
    0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0,    0x90, 0x90, 0x90, 0x90, /* the first stub; others jump to it */
    0xff, 0x25, 0, 0, 0, 0, 0x68, 0,    0, 0, 0, 0xe9, 0,    0,    0,    0};

/* The instructions mov x8, 139; svc 0. */
static const unsigned char trampoline[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};

/* Writes a file with one function that has the tested program, one that ends stacks, and one to which signal handlers
 * return. */
static void write_file(enum unwinder_machine of_machine, struct span tested) {
    memset(&file, 0, sizeof file);
    machine = of_machine;
    file.at = FRAMES_AT;
    add_cie("zR");
    add_function(OUTER_AT, machine == UNWINDER_X86_64 ? SPAN("\x07\x10") : SPAN("\x07\x1e"));
    add_function(TESTED_AT, tested);
    if (machine == UNWINDER_X86_64) {
        add_cie("zRS");
        add_function(SIGNAL_AT, SPAN(""));
    }
    write_header();
    write_elf();
    memcpy(file.bytes + STUBS_AT, stubs, sizeof stubs);
    memcpy(file.bytes + SIGNAL_AT, trampoline, sizeof trampoline);
}

/* ---- A sample. ---- */

enum { STACK_AT = 0x7000000, STACK_WORDS = 256, FILE_START = 0x400000, JIT_START = 0x700000, FRAMES_MAX = 16 };

/* Return addresses into the outermost function, the signal trampoline and generated code. */
enum { OUTER = FILE_START + OUTER_AT + 0x10, HANDLED = FILE_START + SIGNAL_AT, GENERATED = JIT_START + 0x100 };

/* Generated code from here on has frames of one word, and later aligned ones. */
enum { WORD_FRAMES_START = JIT_START + 0x1000, IN_WORD_FRAME = WORD_FRAMES_START + 0x100 };
enum { ALIGNED_START = JIT_START + 0x2000, ALIGNED = ALIGNED_START + 0x100 };

static struct {
    struct unwind_registers registers;
    uint64_t stack[STACK_WORDS];
    size_t stack_bytes_count;
} sample;

static struct unwound_frame frames[FRAMES_MAX];
static size_t frame_count;
static enum unwind_end walk_end;
static uint8_t sp, fp;

static uint64_t stack_word_at(uint32_t word) { return STACK_AT + 8 * (uint64_t)word; }

static void set_register(uint32_t dwarf_register, uint64_t value) {
    sample.registers.values[dwarf_register] = value;
    sample.registers.known |= UINT32_C(1) << dwarf_register;
}

/* Begins the sample of a thread that was interrupted at pc. All of its stack but a few words is nonsense. */
static void begin_sample(uint64_t pc) {
    memset(&sample, 0, sizeof sample);
    sp = machine == UNWINDER_X86_64 ? 7 : 31;
    fp = machine == UNWINDER_X86_64 ? 6 : 29;
    sample.registers.pc = pc;
    set_register(sp, STACK_AT);
    set_register(fp, 0xdead);
    sample.stack_bytes_count = sizeof sample.stack;
    for (size_t i = 0; i < STACK_WORDS; i++) sample.stack[i] = 0xdead0000 + i;
}

static bool find_mapping(void *context, uint64_t address, struct unwind_mapping *mapping) {
    bool is_file = address >= FILE_START + CODE_AT && address < FILE_START + HEADER_AT;
    *mapping = (struct unwind_mapping){.start = JIT_START, .end = JIT_START + 0x1000};
    if (is_file)
        *mapping = (struct unwind_mapping){FILE_START + CODE_AT, FILE_START + HEADER_AT, CODE_AT, context, 0, false};
    if (address >= WORD_FRAMES_START)
        *mapping =
            (struct unwind_mapping){.start = WORD_FRAMES_START, .end = WORD_FRAMES_START + 0x1000, .frame_bytes = 8};
    if (address >= ALIGNED_START)
        *mapping = (struct unwind_mapping){.start = ALIGNED_START, .end = ALIGNED_START + 0x1000, .is_aligned = true};
    return is_file || (address >= JIT_START && address < mapping->end);
}

static void walk_with(size_t frames_max) {
    struct failure failure = {0};
    struct unwinder_options options = {.machine = machine, .failure = &failure};
    struct unwinder *unwinder = unwinder_create(&options);
    assert_non_null(unwinder);
    struct text bytes = {(const char *)file.bytes, sizeof file.bytes};
    struct unwind_process process = {.find_mapping = find_mapping, .context = unwinder_add_bytes(unwinder, bytes)};
    struct unwind_stack stack = {.start = STACK_AT, .bytes = sample.stack, .bytes_count = sample.stack_bytes_count};
    frame_count = unwinder_walk(unwinder, &process, &sample.registers, &stack, frames, frames_max, &walk_end);
    unwinder_destroy(unwinder);
    assert_false(failure_is_set(&failure));
}

static void assert_frames(const uint64_t *addresses, size_t count, enum unwind_end end) {
    walk_with(FRAMES_MAX);
    for (size_t i = 0; i < count && i < frame_count; i++) assert_int_equal(frames[i].address, addresses[i]);
    assert_int_equal(frame_count, count);
    assert_int_equal(walk_end, end);
}

#define ASSERT_FRAMES(end, ...)                                                              \
    do {                                                                                     \
        const uint64_t addresses_[] = {__VA_ARGS__};                                         \
        assert_frames(addresses_, sizeof addresses_ / sizeof *addresses_, UNWIND_END_##end); \
    } while (0)

#define TESTED ((uint64_t)FILE_START + TESTED_AT + 4)

/* ---- Rules, x86-64. ---- */

/* Begins a sample in the tested function. rax is the return address; rbx and rbp point into the stack, and so do two
 * words of the stack. */
static void begin_tested(struct span program, uint32_t return_word) {
    write_file(UNWINDER_X86_64, program);
    begin_sample(TESTED);
    set_register(0, OUTER);
    set_register(3, stack_word_at(12));
    set_register(fp, stack_word_at(8));
    sample.stack[1] = stack_word_at(6);
    if (return_word) sample.stack[return_word] = OUTER;
}

static void assert_caller(struct span program, uint32_t return_word) {
    begin_tested(program, return_word);
    ASSERT_FRAMES(OUTERMOST, TESTED, OUTER);
    assert_true(frames[0].is_exact);
    assert_false(frames[1].is_exact);
}

TEST(test_rules) {
    assert_caller(SPAN("\x0e\x18"), 2);
    assert_caller(SPAN("\x0c\x06\x10"), 9);
    assert_caller(SPAN("\x0c\x03\x10"), 13);
    /* The CFA is computed by expressions: the word at rsp + 8, plus 8; rbp + 16; rbp + rbx - rsp - 16. */
    assert_caller(SPAN("\x0f\x05\x77\x08\x06\x23\x08"), 6);
    assert_caller(SPAN("\x0f\x04\x40\x76\x00\x22"), 9);
    assert_caller(SPAN("\x0f\x0a\x76\x00\x73\x00\x22\x77\x00\x1c\x40\x1c"), 17);
    /* The return address is found by expressions, at an offset, and in a register. */
    assert_caller(SPAN("\x10\x10\x03\x77\x08\x06"), 6);
    assert_caller(SPAN("\x10\x10\x02\x73\x08"), 13);
    assert_caller(SPAN("\x10\x10\x02\x23\x10"), 3);
    assert_caller(SPAN("\x16\x10\x02\x70\x00"), 0);
    assert_caller(SPAN("\x09\x10\x00"), 0);
}

TEST(test_broken_rules) {
    static const struct span programs[] = {
        SPAN("\x0f\x01\x22"),                 /* an operation without operands */
        SPAN("\x0f\x03\x2f\xfd\xff"),         /* an endless loop */
        SPAN("\x0f\x03\x2f\x10\x00"),         /* a jump out of the expression */
        SPAN("\x0f\x03\x30\x30\x1b"),         /* a division by zero */
        SPAN("\x0f\x02\x30\x06"),             /* a load from unknown memory */
        SPAN("\x0f\x03\x92\x40\x00"),         /* a register that does not exist */
        SPAN("\x0e\x18\x07\x00\x09\x10\x15"), /* a return address in a register that does not exist */
        SPAN("\x0c\x05\x08"),                 /* an unknown register */
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        begin_tested(programs[i], 0);
        ASSERT_FRAMES(LOST, TESTED);
    }
    /* The caller's sp would be below this one's. */
    begin_tested(SPAN("\x0f\x02\x77\x70"), 0);
    ASSERT_FRAMES(LOST, TESTED);
}

/* A frame pointer that a rule computes is used to walk on through generated code. */
TEST(test_frame_pointer_by_rule) {
    static const struct span programs[] = {SPAN("\x15\x06\x7f"), SPAN("\x16\x06\x02\x23\x08"), SPAN("\x11\x06\x7d")};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        begin_tested(programs[i], 0);
        sample.stack[0] = GENERATED;
        sample.stack[4] = stack_word_at(2); /* the word at CFA + 24 */
        sample.stack[2] = 0;
        sample.stack[3] = OUTER;
        if (i < 2) {
            sample.stack[2] = stack_word_at(5);
            sample.stack[3] = GENERATED;
            sample.stack[5] = 0;
            sample.stack[6] = OUTER;
            ASSERT_FRAMES(OUTERMOST, TESTED, GENERATED, GENERATED, OUTER);
        } else {
            ASSERT_FRAMES(OUTERMOST, TESTED, GENERATED, OUTER);
        }
    }
}

/* ---- Without rules. ---- */

TEST(test_generated_code) {
    static const enum unwinder_machine machines[] = {UNWINDER_X86_64, UNWINDER_AARCH64};
    for (size_t i = 0; i < 2; i++) {
        write_file(machines[i], SPAN(""));
        begin_sample(JIT_START);
        set_register(fp, stack_word_at(2));
        sample.stack[2] = stack_word_at(5);
        sample.stack[3] = GENERATED;
        sample.stack[5] = 0;
        sample.stack[6] = GENERATED + 1;
        ASSERT_FRAMES(OUTERMOST, JIT_START, GENERATED, GENERATED + 1);
        sample.stack[6] = 0;
        ASSERT_FRAMES(OUTERMOST, JIT_START, GENERATED);
        sample.stack[6] = 0x123456789; /* not an address of code */
        ASSERT_FRAMES(LOST, JIT_START, GENERATED);
        sample.stack[2] = stack_word_at(2); /* points back down the stack */
        ASSERT_FRAMES(LOST, JIT_START, GENERATED);
        sample.stack[2] = stack_word_at(STACK_WORDS);
        ASSERT_FRAMES(STACK_CUT, JIT_START, GENERATED);
        set_register(fp, STACK_AT + 17);
        ASSERT_FRAMES(LOST, JIT_START);
        sample.registers.known &= ~(UINT32_C(1) << fp);
        ASSERT_FRAMES(LOST, JIT_START);
    }
}

TEST(test_generated_code_with_frames_of_a_word) {
    begin_tested(SPAN("\x0e\x10"), 0);
    sample.stack[1] = IN_WORD_FRAME;
    sample.stack[3] = IN_WORD_FRAME + 1;
    sample.stack[5] = OUTER;
    ASSERT_FRAMES(OUTERMOST, TESTED, IN_WORD_FRAME, IN_WORD_FRAME + 1, OUTER);
    /* A word that is no code ends the walk, and so does the end of the stack. */
    sample.stack[5] = 0x123456789;
    ASSERT_FRAMES(LOST, TESTED, IN_WORD_FRAME, IN_WORD_FRAME + 1);
    sample.stack_bytes_count = 40;
    ASSERT_FRAMES(STACK_CUT, TESTED, IN_WORD_FRAME, IN_WORD_FRAME + 1);
    /* The word is the caller's frame pointer if the frame pointer is its address. */
    begin_tested(SPAN("\x0e\x10"), 0);
    set_register(fp, stack_word_at(2));
    sample.stack[1] = IN_WORD_FRAME;
    sample.stack[2] = stack_word_at(7);
    sample.stack[3] = GENERATED;
    sample.stack[8] = OUTER;
    ASSERT_FRAMES(OUTERMOST, TESTED, IN_WORD_FRAME, GENERATED, OUTER);
}

/* Moves the thread into generated code that is called by GENERATED, whose own frame pointer leads to OUTER. On top of
 * the stack is the return address of the call, or what an earlier call left there. */
static void begin_aligned(uint64_t pc, uint64_t stack_pointer) {
    write_file(UNWINDER_X86_64, SPAN(""));
    begin_sample(pc);
    set_register(sp, stack_pointer);
    set_register(fp, stack_word_at(8));
    sample.stack[1] = GENERATED;
    sample.stack[2] = GENERATED + 1;
    sample.stack[8] = 0;
    sample.stack[9] = OUTER;
}

TEST(test_aligned_generated_code_without_a_frame) {
    begin_aligned(ALIGNED, stack_word_at(1));
    ASSERT_FRAMES(OUTERMOST, ALIGNED, GENERATED, OUTER);
    /* A word that is no code is none of a call. */
    sample.stack[1] = 0x123456789;
    ASSERT_FRAMES(OUTERMOST, ALIGNED, OUTER);
    /* In a frame, the word is stale. */
    begin_aligned(ALIGNED, stack_word_at(2));
    ASSERT_FRAMES(OUTERMOST, ALIGNED, OUTER);
    /* Frames of other code may have any size. */
    begin_aligned(GENERATED + 2, stack_word_at(1));
    ASSERT_FRAMES(OUTERMOST, GENERATED + 2, OUTER);
    /* Code that calls has a frame. */
    begin_tested(SPAN("\x0e\x10"), 0);
    sample.stack[1] = ALIGNED;
    sample.stack[3] = GENERATED;
    sample.stack[9] = OUTER;
    sample.stack[8] = 0;
    ASSERT_FRAMES(OUTERMOST, TESTED, ALIGNED, OUTER);
}

TEST(test_stubs) {
    static const struct {
        uint32_t at;
        uint32_t return_word;
    } places[] = {{0x00, 1}, {0x06, 2}, {0x10, 0}, {0x16, 0}, {0x1b, 1}, {STRAY_AT - STUBS_AT, 0}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        write_file(UNWINDER_X86_64, SPAN(""));
        uint64_t pc = FILE_START + STUBS_AT + places[i].at;
        begin_sample(pc);
        sample.stack[places[i].return_word] = OUTER;
        ASSERT_FRAMES(OUTERMOST, pc, OUTER);
        /* A caller without a rule is walked by its frame pointer. */
        sample.stack[places[i].return_word] = FILE_START + STRAY_AT + 0x20;
        set_register(fp, stack_word_at(4));
        sample.stack[4] = 0;
        sample.stack[5] = OUTER;
        ASSERT_FRAMES(OUTERMOST, pc, FILE_START + STRAY_AT + 0x20, OUTER);
    }
}

/* Assembly without call frame information can have a frame. A word in it that was left by an earlier call is not its
 * return address: nothing calls the function that it points to. */
TEST(test_stray_words) {
    static const uint64_t callers[] = {0, 0xdead};
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        write_file(UNWINDER_X86_64, SPAN("\x0e\x18"));
        begin_sample(FILE_START + STRAY_AT);
        sample.stack[0] = TESTED;
        sample.stack[3] = callers[i];
        ASSERT_FRAMES(LOST, FILE_START + STRAY_AT);
        sample.stack[3] = OUTER;
        ASSERT_FRAMES(OUTERMOST, FILE_START + STRAY_AT, TESTED, OUTER);
    }
    /* Assembly can have any number in the frame pointer. */
    sample.stack[0] = 0;
    set_register(fp, 0);
    ASSERT_FRAMES(LOST, FILE_START + STRAY_AT);
    sample.stack[0] = FILE_START + STRAY_AT + 0x20;
    ASSERT_FRAMES(LOST, FILE_START + STRAY_AT, FILE_START + STRAY_AT + 0x20);
}

/* ---- Signal handlers. ---- */

TEST(test_signal_frames) {
    static const uint64_t trampolines[] = {HANDLED, GENERATED};
    for (size_t i = 0; i < 2; i++) {
        /* The stack has a handler interrupted at its first instruction, the signal frame, and the function interrupted
         * by the signal. */
        write_file(UNWINDER_X86_64, SPAN(""));
        begin_sample(TESTED);
        sample.stack[0] = trampolines[i];
        uint64_t *context = &sample.stack[1];
        context[0] = 7;                       /* flags */
        context[1] = 0;                       /* link */
        context[5 + 10] = 0;                  /* rbp */
        context[5 + 15] = stack_word_at(100); /* rsp */
        context[5 + 16] = TESTED + 1;         /* rip */
        context[5 + 18] = 0x002b000000000033; /* segments */
        sample.stack[100] = OUTER;
        ASSERT_FRAMES(OUTERMOST, TESTED, trampolines[i], TESTED + 1, OUTER);
        assert_false(frames[1].is_exact);
        assert_true(frames[2].is_exact);
        /* The interrupted function ran on another stack. */
        context[5 + 15] = 0x9000000;
        ASSERT_FRAMES(STACK_CUT, TESTED, trampolines[i], TESTED + 1);
        /* The signal frame points back down the stack. */
        context[5 + 15] = STACK_AT;
        ASSERT_FRAMES(LOST, TESTED, trampolines[i]);
        /* The signal frame was copied only in part. */
        context[5 + 15] = stack_word_at(100);
        sample.stack_bytes_count = 8 * 20;
        ASSERT_FRAMES(STACK_CUT, TESTED, trampolines[i]);
    }
}

TEST(test_signal_frames_aarch64) {
    static const uint64_t trampolines[] = {HANDLED, GENERATED};
    for (size_t i = 0; i < 2; i++) {
        write_file(UNWINDER_AARCH64, SPAN(""));
        begin_sample(TESTED);
        set_register(30, trampolines[i]);
        sample.stack[16] = sample.stack[17] = 0; /* flags and link, after a siginfo_t */
        uint64_t *registers = &sample.stack[39];
        registers[29] = 0;
        registers[30] = OUTER;
        registers[31] = stack_word_at(150);
        registers[32] = TESTED + 4; /* pc */
        ASSERT_FRAMES(OUTERMOST, TESTED, trampolines[i], TESTED + 4, OUTER);
        assert_true(frames[2].is_exact);
    }
}

/* ---- aarch64. ---- */

TEST(test_return_register) {
    static const uint64_t places[] = {TESTED, FILE_START + STRAY_AT, JIT_START};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        write_file(UNWINDER_AARCH64, SPAN(""));
        begin_sample(places[i]);
        set_register(30, OUTER);
        ASSERT_FRAMES(OUTERMOST, places[i], OUTER);
        sample.registers.known &= ~(UINT32_C(1) << 30);
        ASSERT_FRAMES(LOST, places[i]);
    }
    /* In a function that has made a call, the return register is unknown. */
    begin_sample(TESTED);
    set_register(30, TESTED + 8);
    ASSERT_FRAMES(LOST, TESTED, TESTED + 8);
}

TEST(test_signed_returns) {
    static const uint64_t signatures[] = {0, UINT64_C(0xab) << 48, UINT64_C(0x7f) << 56, UINT64_C(0xabcd) << 39};
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        write_file(UNWINDER_AARCH64, SPAN("\x0e\x20\x9d\x04\x9e\x03\x2d"));
        begin_sample(TESTED);
        sample.stack[0] = stack_word_at(8);
        sample.stack[1] = GENERATED | signatures[i];
        sample.stack[8] = 0;
        sample.stack[9] = OUTER | signatures[i];
        ASSERT_FRAMES(OUTERMOST, TESTED, GENERATED, OUTER);
    }
}

/* ---- .debug_frame. ---- */

static void put_debug_cie(uint32_t version) {
    uint32_t at = file.at;
    put_word(0);
    put_word(UINT32_MAX);
    unsigned char start[] = {(unsigned char)version, 0, 8, 0};
    put(start, version == 4 ? 4 : 2);
    put("\x01\x78\x10\x0c\x07\x08\x90\x01", 8);
    close_entry(at);
}

static void put_debug_function(uint64_t start, struct span program) {
    uint32_t at = file.at;
    put_word(0);
    put_word(0); /* offset of the common information entry */
    put_long(start);
    put_long(0x40);
    put(program.bytes, program.count);
    close_entry(at);
}

TEST(test_debug_frame) {
    for (uint32_t version = 1; version <= 4; version++) {
        write_file(UNWINDER_X86_64, SPAN(""));
        memset(file.bytes + HEADER_AT, 0, DEBUG_AT - HEADER_AT);
        file.at = DEBUG_AT;
        put_debug_cie(version);
        put_debug_function(0, SPAN("\x0e\x40")); /* entry of a function that the linker dropped */
        put_debug_function(STRAY_AT, SPAN("\x0e\x18"));
        put_debug_function(OUTER_AT, SPAN("\x07\x10"));
        uint64_t bytes_count = file.at - DEBUG_AT;
        memcpy(file.bytes + SECTIONS_AT + 2 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), &bytes_count, 8);
        begin_sample(FILE_START + STRAY_AT);
        sample.stack[2] = OUTER;
        if (version == 2)
            ASSERT_FRAMES(LOST, FILE_START + STRAY_AT);
        else
            ASSERT_FRAMES(OUTERMOST, FILE_START + STRAY_AT, OUTER);
    }
}

/* The stack of a goroutine begins with the address of the second instruction of runtime.goexit, after a nop. The words
 * above it are left from earlier uses of the memory. A function that was interrupted at such an address has a caller.
 */
TEST(test_planted_return_addresses) {
    enum { PLANTED = FILE_START + TESTED_AT + 1 };
    write_file(UNWINDER_X86_64, SPAN(""));
    begin_sample(JIT_START);
    set_register(fp, stack_word_at(0));
    sample.stack[0] = 0;
    sample.stack[1] = PLANTED;
    sample.stack[2] = HANDLED;
    ASSERT_FRAMES(OUTERMOST, JIT_START, PLANTED);
    sample.stack[1] = PLANTED + 1;
    sample.stack[2] = OUTER;
    ASSERT_FRAMES(OUTERMOST, JIT_START, PLANTED + 1, OUTER);
    begin_sample(PLANTED);
    sample.stack[0] = OUTER;
    ASSERT_FRAMES(OUTERMOST, PLANTED, OUTER);
    begin_sample(PLANTED - 1);
    sample.stack[0] = OUTER;
    ASSERT_FRAMES(OUTERMOST, PLANTED - 1, OUTER);
}

/* ---- Around walks. ---- */

TEST(test_frames_max) {
    begin_tested(SPAN(""), 0);
    sample.stack[0] = OUTER;
    walk_with(1);
    assert_int_equal(frame_count, 1);
    assert_int_equal(walk_end, UNWIND_END_FRAMES_MAX);
    walk_with(0);
    assert_int_equal(frame_count, 0);
    assert_int_equal(walk_end, UNWIND_END_FRAMES_MAX);
    walk_with(2);
    assert_int_equal(frame_count, 2);
}

TEST(test_no_stack) {
    begin_tested(SPAN(""), 0);
    sample.stack_bytes_count = 0;
    ASSERT_FRAMES(STACK_CUT, TESTED);
    begin_sample(0x1234567);
    ASSERT_FRAMES(LOST, 0x1234567);
}

TEST(test_other_machine) {
    begin_tested(SPAN("\x0e\x18"), 2);
    machine = UNWINDER_AARCH64;
    ASSERT_FRAMES(LOST, TESTED);
}

/* ---- Files that a recording names. ---- */

static struct failure library_failure;

static struct unwinder *create_for_libraries(const struct debug_folders *folders) {
    struct unwinder_options options = {.machine = UNWINDER_X86_64, .folders = folders, .failure = &library_failure};
    struct unwinder *unwinder = unwinder_create(&options);
    assert_non_null(unwinder);
    return unwinder;
}

/* Walks through a library that is new to the unwinder. */
static enum unwind_file_state state_after_walk(struct unwinder *unwinder, const char *path, const char *build_id) {
    struct text whole = text_of(path);
    struct lib lib = {.name = text_base_name(whole), .path = whole, .code_id = text_of(build_id)};
    struct unwind_file *added = unwinder_add_library(unwinder, &lib);
    struct unwind_process process = {.find_mapping = find_mapping, .context = added};
    struct unwind_stack stack = {.start = STACK_AT, .bytes = sample.stack};
    assert_int_equal(unwind_file_state(added), UNWIND_FILE_UNREAD);
    unwinder_walk(unwinder, &process, &sample.registers, &stack, frames, FRAMES_MAX, &walk_end);
    assert_false(failure_is_set(&library_failure));
    return unwind_file_state(added);
}

static char own_path[4096];

static int find_own_path(void **state) {
    ssize_t bytes_count = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    return bytes_count > 0 ? 0 : -1;
}

TEST(test_files, find_own_path) {
    static const struct debug_folders folders;
    const char *other_id = "00112233445566778899aabbccddeeff00112233";
    struct unwinder *unwinder = create_for_libraries(&folders);
    begin_tested(SPAN(""), 0);
    assert_int_equal(state_after_walk(unwinder, own_path, ""), UNWIND_FILE_READ);
    assert_int_equal(state_after_walk(unwinder, own_path, other_id), UNWIND_FILE_REFUSED);
    assert_int_equal(state_after_walk(unwinder, "/nonexistent/file", ""), UNWIND_FILE_MISSING);
    assert_int_equal(state_after_walk(unwinder, "[vdso]", ""), UNWIND_FILE_MISSING);
    assert_int_equal(state_after_walk(unwinder, own_path, ""), UNWIND_FILE_READ);
    unwinder_destroy(unwinder);
    unwinder = create_for_libraries(NULL);
    assert_int_equal(state_after_walk(unwinder, own_path, ""), UNWIND_FILE_MISSING);
    unwinder_destroy(unwinder);
    unwinder_destroy(NULL);
}

/* Returns the process whose parent is this one; 0: none. */
static pid_t only_child(void) {
    DIR *processes = opendir("/proc");
    pid_t child = 0;
    assert_non_null(processes);
    for (struct dirent *entry; (entry = readdir(processes));) {
        char path[300];
        int pid, parent;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *stat_file = fopen(path, "r");
        if (!stat_file) continue;
        if (fscanf(stat_file, "%d (%*[^)]) %*c %d", &pid, &parent) == 2 && parent == getpid()) child = pid;
        fclose(stat_file);
    }
    closedir(processes);
    return child;
}

/* If the child that reads files dies, its library has no call frame information, and the next one gets another child.
 */
TEST(test_dead_child, find_own_path) {
    static const struct debug_folders folders;
    struct unwinder *unwinder = create_for_libraries(&folders);
    begin_tested(SPAN(""), 0);
    assert_int_equal(state_after_walk(unwinder, own_path, ""), UNWIND_FILE_READ);
    pid_t child = only_child();
    assert_true(child);
    assert_int_equal(kill(child, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(state_after_walk(unwinder, own_path, ""), UNWIND_FILE_LOST);
    assert_int_equal(unwinder_lost_count(unwinder, UNWIND_LOSS_CRASH), 1);
    assert_int_equal(unwinder_lost_count(unwinder, UNWIND_LOSS_NO_PROCESS), 0);
    assert_int_equal(state_after_walk(unwinder, own_path, ""), UNWIND_FILE_READ);
    unwinder_destroy(unwinder);
    assert_int_equal(only_child(), 0);
}

static int fork_error;

pid_t fork(void) {
    pid_t (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "fork");
    errno = fork_error;
    return fork_error ? -1 : next();
}

/* Once a child can be started, the next library is read. */
TEST(test_no_child, find_own_path) {
    static const struct debug_folders folders;
    struct unwinder *unwinder = create_for_libraries(&folders);
    begin_tested(SPAN(""), 0);
    fork_error = EAGAIN;
    assert_int_equal(state_after_walk(unwinder, own_path, ""), UNWIND_FILE_LOST);
    fork_error = 0;
    assert_int_equal(unwinder_lost_count(unwinder, UNWIND_LOSS_NO_PROCESS), 1);
    assert_int_equal(state_after_walk(unwinder, own_path, ""), UNWIND_FILE_READ);
    assert_int_equal(unwinder_lost_count(unwinder, UNWIND_LOSS_NO_PROCESS), 1);
    unwinder_destroy(unwinder);
}

TEST(test_perf_registers) {
    uint64_t values[33];
    struct unwind_registers registers;
    for (uint64_t i = 0; i < 33; i++) values[i] = 100 + i;
    assert_true(unwind_registers_of_perf(UNWINDER_X86_64, 2, 0xff0fff, values, 20, &registers));
    static const uint8_t perf_numbers[] = {0, 3, 2, 1, 4, 5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19};
    assert_int_equal(registers.known, 0xffff);
    for (size_t i = 0; i < 16; i++) assert_int_equal(registers.values[i], 100 + perf_numbers[i]);
    assert_int_equal(registers.pc, 108);
    assert_true(unwind_registers_of_perf(UNWINDER_AARCH64, 2, 0x1ffffffff, values, 33, &registers));
    for (size_t i = 0; i < 32; i++) assert_int_equal(registers.values[i], 100 + i);
    assert_int_equal(registers.pc, 132);
    assert_int_equal(registers.known, UINT32_MAX);
    /* Fails for a 32-bit thread, for a kernel thread, and if values are missing. */
    assert_false(unwind_registers_of_perf(UNWINDER_X86_64, 1, 0xff0fff, values, 20, &registers));
    assert_false(unwind_registers_of_perf(UNWINDER_X86_64, 0, 0xff0fff, values, 0, &registers));
    assert_false(unwind_registers_of_perf(UNWINDER_X86_64, 2, 0xff0fff, values, 8, &registers));
    assert_false(unwind_registers_of_perf(UNWINDER_X86_64, 2, 1 << 8, values, 1, &registers));
    assert_false(unwind_registers_of_perf(UNWINDER_AARCH64, 2, 0xffffffff, values, 32, &registers));
}

/* ---- Expressions. ---- */

static bool find_register(void *context, uint64_t dwarf_register, uint64_t *value) {
    *value = 1000 * dwarf_register;
    return dwarf_register < 40;
}

static bool load(void *context, uint64_t address, uint32_t bytes_count, uint64_t *value) {
    *value = address + bytes_count;
    return true;
}

/* Evaluates an expression that begins with 7 on its stack. Returns false if it has no value. */
static bool evaluate(struct span expression, uint64_t *value) {
    unsigned char bytes[128] = {(unsigned char)expression.count};
    const uint64_t first = 7;
    assert_true(expression.count < 127);
    memcpy(bytes + 1, expression.bytes, expression.count);
    struct unwind_image image = {.machine = &unwind_machine_x86_64, .entries = 0x1000, .segment_count = 1};
    image.segments[0] = (struct unwind_segment){
        .start = 0x1000, .end = 0x1001 + expression.count, .shift = (uint64_t)(uintptr_t)bytes - 0x1000};
    struct unwind_expression_reads reads = {.find_register = find_register, .load = load, .slide = 0x100000};
    return unwind_expression_evaluate(&image, 0, &reads, &first, value);
}

static void assert_value(struct span expression, uint64_t expected) {
    uint64_t value = 0;
    assert_true(evaluate(expression, &value));
    assert_int_equal(value, expected);
}

TEST(test_expressions) {
    assert_value(SPAN(""), 7);
    assert_value(SPAN("\x03\x01\x02\x03\x00\x00\x00\x00\x00"), 0x130201);
    assert_value(SPAN("\x06"), 15);
    assert_value(SPAN("\x94\x04"), 11);
    assert_value(SPAN("\x08\xff"), 255);
    assert_value(SPAN("\x09\xff"), UINT64_MAX);
    assert_value(SPAN("\x0a\xff\xff"), 65535);
    assert_value(SPAN("\x0b\xfe\xff"), UINT64_MAX - 1);
    assert_value(SPAN("\x0c\xff\xff\xff\xff"), UINT32_MAX);
    assert_value(SPAN("\x0d\xff\xff\xff\xff"), UINT64_MAX);
    assert_value(SPAN("\x0e\x01\x00\x00\x00\x00\x00\x00\x80"), UINT64_C(0x8000000000000001));
    assert_value(SPAN("\x0f\x01\x00\x00\x00\x00\x00\x00\x80"), UINT64_C(0x8000000000000001));
    assert_value(SPAN("\x10\x80\x01"), 128);
    assert_value(SPAN("\x11\x7f"), UINT64_MAX);
    assert_value(SPAN("\x12\x22"), 14);
    assert_value(SPAN("\x31\x13"), 7);
    assert_value(SPAN("\x31\x14"), 7);
    assert_value(SPAN("\x31\x32\x15\x02"), 7);
    assert_value(SPAN("\x32\x16\x1c"), (uint64_t)-5);
    /* The stack changes from 7 1 2 to 2 7 1. */
    assert_value(SPAN("\x31\x32\x17"), 1);
    assert_value(SPAN("\x31\x32\x17\x13\x13"), 2);
    assert_value(SPAN("\x1f\x19"), 7);
    assert_value(SPAN("\x33\x1a"), 3);
    assert_value(SPAN("\x1f\x32\x1b"), (uint64_t)-3);
    assert_value(SPAN("\x09\xff\x1b"), (uint64_t)-7);
    assert_value(SPAN("\x34\x1d"), 3);
    assert_value(SPAN("\x33\x1e"), 21);
    assert_value(SPAN("\x20"), ~UINT64_C(7));
    assert_value(SPAN("\x38\x21"), 15);
    assert_value(SPAN("\x23\x90\x01"), 151);
    assert_value(SPAN("\x32\x24"), 28);
    assert_value(SPAN("\x08\x40\x24"), 0);
    assert_value(SPAN("\x31\x25"), 3);
    assert_value(SPAN("\x1f\x31\x26"), (uint64_t)-4);
    assert_value(SPAN("\x1f\x08\x50\x26"), UINT64_MAX);
    assert_value(SPAN("\x35\x27"), 2);
    assert_value(SPAN("\x37\x29"), 1);
    assert_value(SPAN("\x37\x2e"), 0);
    assert_value(SPAN("\x1f\x31\x2d"), 1);
    assert_value(SPAN("\x1f\x31\x2c"), 1);
    assert_value(SPAN("\x1f\x31\x2b"), 0);
    assert_value(SPAN("\x1f\x31\x2a"), 0);
    assert_value(SPAN("\x31\x31\x28\x01\x00\x13"), 1);
    assert_value(SPAN("\x31\x30\x28\x01\x00\x13"), 7);
    assert_value(SPAN("\x2f\x01\x00\x13"), 7);
    assert_value(SPAN("\x4f"), 31);
    assert_value(SPAN("\x73\x7f"), 2999);
    assert_value(SPAN("\x92\x20\x01"), 32001);
    assert_value(SPAN("\x96"), 7);
    /* Counts down from 7. */
    assert_value(SPAN("\x31\x1c\x12\x28\xfa\xff"), 0);
}

TEST(test_broken_expressions) {
    uint64_t value;
    static const struct span expressions[] = {
        SPAN("\x13"),
        SPAN("\x22"),
        SPAN("\x17"),
        SPAN("\x15\x01"),
        SPAN("\x15"),
        SPAN("\x2f\xfd\xff"),
        SPAN("\x2f\xff"),
        SPAN("\x2f\x01\x00"),
        SPAN("\x28"),
        SPAN("\x30\x1b"),
        SPAN("\x30\x1d"),
        SPAN("\x08"),
        SPAN("\x10\x80"),
        SPAN("\x50"),
        SPAN("\x94\x00"),
        SPAN("\x94\x09"),
        SPAN("\xff"),
        SPAN("\x92\x7f\x00"),
        SPAN("\x12\x2f\xfc\xff"),
    };
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        if (evaluate(expressions[i], &value)) fail_msg("expression %zu has a value", i);
}

int main(void) { return unit_tests_run(NULL, NULL); }
