#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>
#include <sys/mman.h>

#include "recorder/unwind/unwind_object.h"
#include "recorder/unwind/unwind_table.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

/* ---- An object in a buffer: code that is never run, then .eh_frame_hdr, then .eh_frame. ---- */

enum { CODE_BYTES = 0x1000, OBJECT_BYTES = 0x3000, HEADER_AT = 0x1000, FRAMES_AT = 0x1800, FUNCTION_COUNT_MAX = 32 };

struct object {
    unsigned char *bytes; /* as a mapping */
    uint32_t at;          /* offset in .eh_frame */
    uint32_t cie_at;
    uint32_t function_count;
    struct {
        uint32_t start;
        uint32_t fde_at;
    } functions[FUNCTION_COUNT_MAX];
    ElfW(Phdr) headers[2];
    struct dl_phdr_info info;
};

static void put(struct object *object, const void *bytes, size_t count) {
    assert_true(object->at + count <= OBJECT_BYTES);
    memcpy(object->bytes + object->at, bytes, count);
    object->at += (uint32_t)count;
}

static void put_word(struct object *object, uint32_t word) { put(object, &word, sizeof word); }

static void patch_word(struct object *object, uint32_t at, uint32_t word) { memcpy(object->bytes + at, &word, 4); }

static void close_entry(struct object *object, uint32_t at) {
    while ((object->at - at) % 4) put(object, "", 1);
    patch_word(object, at, object->at - at - 4);
}

struct span {
    const void *bytes;
    size_t count;
};

#define SPAN(literal) \
    (struct span) { literal, sizeof literal - 1 }

static void add_cie(struct object *object, struct span program, const char *augmentation) {
    object->cie_at = object->at;
    put_word(object, 0);
    put_word(object, 0);
    put(object, "\x01", 1);
    put(object, augmentation, strlen(augmentation) + 1);
    unsigned char factors[] = {1, 0x78 /* -8 */, UNWIND_RETURN};
    put(object, factors, sizeof factors);
    if (augmentation[0] == 'z') put(object, "\x01\x1b", 2);
    put(object, program.bytes, program.count);
    close_entry(object, object->cie_at);
}

static void add_function(struct object *object, uint32_t start, uint32_t count, struct span program) {
    uint32_t at = object->at;
    assert_true(object->function_count < FUNCTION_COUNT_MAX);
    object->functions[object->function_count].start = start;
    object->functions[object->function_count++].fde_at = at;
    put_word(object, 0);
    put_word(object, object->at - object->cie_at);
    put_word(object, start - object->at);
    put_word(object, count);
    put(object, "", 1);
    put(object, program.bytes, program.count);
    close_entry(object, at);
}

#if defined(__x86_64__)
/* CFA = rsp + 8, with the return address below the CFA. */
#define ENTRY_PROGRAM SPAN("\x0c\x07\x08\x90\x01")
#else
#define ENTRY_PROGRAM SPAN("\x0c\x1f\x00")
#endif

static void object_init(struct object *object, struct span entry_program) {
    *object = (struct object){.at = FRAMES_AT};
    object->bytes = mmap(NULL, OBJECT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(object->bytes != MAP_FAILED);
    object->headers[0] =
        (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = OBJECT_BYTES, .p_filesz = OBJECT_BYTES};
    object->headers[1] = (ElfW(Phdr)){.p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_vaddr = HEADER_AT};
    object->info = (struct dl_phdr_info){
        .dlpi_addr = (uintptr_t)object->bytes, .dlpi_name = "", .dlpi_phdr = object->headers, .dlpi_phnum = 2};
    add_cie(object, entry_program, "zR");
}

static void object_fini(struct object *object) { munmap(object->bytes, OBJECT_BYTES); }

/* Writes .eh_frame_hdr with or without the linker's search table. */
static void write_header(struct object *object, bool has_table) {
    uint32_t end = object->at;
    put_word(object, 0);
    object->at = HEADER_AT;
    put(object, has_table ? "\x01\x1b\x03\x3b" : "\x01\x1b\xff\xff", 4);
    put_word(object, FRAMES_AT - HEADER_AT - 4);
    if (has_table) {
        put_word(object, object->function_count);
        for (uint32_t i = 0; i < object->function_count; i++) {
            put_word(object, object->functions[i].start - HEADER_AT);
            put_word(object, object->functions[i].fde_at - HEADER_AT);
        }
    }
    object->headers[1].p_memsz = object->at - HEADER_AT;
    object->at = end;
}

static struct unwind_table *create_bounded(const struct object *object, uint64_t bytes_max) {
    struct unwind_image image;
    assert_true(unwind_image_init(&image, &object->info));
    assert_int_equal(image.base, (uintptr_t)object->bytes);
    return unwind_table_create(&image, bytes_max);
}

static struct unwind_table *create(const struct object *object) {
    struct unwind_table *table = create_bounded(object, UNWIND_BYTES_MAX);
    assert_non_null(table);
    return table;
}

static uint64_t count_functions(const struct unwind_table *table) {
    struct unwind_figures figures = {0};
    unwind_table_measure(table, &figures);
    return figures.function_count;
}

static struct unwind_rule rule_at(const struct unwind_table *table, uint64_t offset) {
    struct unwind_rule rule;
    unwind_table_find(table, offset, &rule);
    return rule;
}

/* ---- Rules. ---- */

static struct unwind_rule entry_rule(void) {
#if defined(__x86_64__)
    return (struct unwind_rule){.cfa_kind = UNWIND_CFA_REGISTER,
                                .cfa_register = UNWIND_SP,
                                .cfa_offset = 8,
                                .place_kinds = {UNWIND_PLACE_AT_CFA},
                                .place_offsets = {-8}};
#else
    return (struct unwind_rule){.cfa_kind = UNWIND_CFA_REGISTER,
                                .cfa_register = UNWIND_SP,
                                .place_kinds = {UNWIND_PLACE_REGISTER},
                                .place_offsets = {UNWIND_RETURN}};
#endif
}

static struct unwind_rule with_cfa(uint8_t kind, uint8_t cfa_register, int32_t offset) {
    struct unwind_rule rule = entry_rule();
    rule.cfa_kind = kind;
    rule.cfa_register = cfa_register;
    rule.cfa_offset = offset;
    return rule;
}

static struct unwind_rule with_place(enum unwind_column column, uint8_t kind, int32_t offset) {
    struct unwind_rule rule = entry_rule();
    rule.place_kinds[column] = kind;
    rule.place_offsets[column] = offset;
    return rule;
}

static const struct unwind_rule unknown = {.cfa_kind = UNWIND_CFA_UNKNOWN};

static void assert_rule(const struct unwind_table *table, uint64_t offset, struct unwind_rule expected) {
    struct unwind_rule rule = rule_at(table, offset);
    assert_int_equal(rule.cfa_kind, expected.cfa_kind);
    assert_int_equal(rule.cfa_register, expected.cfa_register);
    assert_int_equal(rule.cfa_offset, expected.cfa_offset);
    for (int i = 0; i < UNWIND_COLUMN_COUNT; i++) {
        assert_int_equal(rule.place_kinds[i], expected.place_kinds[i]);
        assert_int_equal(rule.place_offsets[i], expected.place_offsets[i]);
    }
}

/* Checks the rule that holds after the first four bytes of a function with this program. */
static void assert_program(struct span program, struct unwind_rule expected) {
    unsigned char bytes[64] = {0x44};
    struct object object;
    assert_true(program.count < sizeof bytes);
    memcpy(bytes + 1, program.bytes, program.count);
    object_init(&object, ENTRY_PROGRAM);
    add_function(&object, 0x100, 0x20, (struct span){bytes, program.count + 1});
    write_header(&object, true);
    struct unwind_table *table = create(&object);
    object_fini(&object); /* the tables are copies, so the object can be freed */
    assert_rule(table, 0xff, unknown);
    assert_rule(table, 0x103, expected.cfa_kind == UNWIND_CFA_UNKNOWN ? rule_at(table, 0x103) : entry_rule());
    assert_rule(table, 0x104, expected);
    assert_rule(table, 0x11f, expected);
    assert_rule(table, 0x120, unknown);
    unwind_table_destroy(table);
}

TEST(test_cfa) {
#if defined(__x86_64__)
    const uint8_t sp = 7, fp = 6;
    assert_program(SPAN("\x0e\x10"), with_cfa(UNWIND_CFA_REGISTER, sp, 16));
    assert_program(SPAN("\x0e\x80\x80\x04"), with_cfa(UNWIND_CFA_REGISTER, sp, 65536));
    assert_program(SPAN("\x13\x7e"), with_cfa(UNWIND_CFA_REGISTER, sp, 16));
    assert_program(SPAN("\x0d\x06"), with_cfa(UNWIND_CFA_REGISTER, fp, 8));
    assert_program(SPAN("\x0c\x06\x10"), with_cfa(UNWIND_CFA_REGISTER, fp, 16));
    assert_program(SPAN("\x12\x06\x7e"), with_cfa(UNWIND_CFA_REGISTER, fp, 16));
    assert_program(SPAN("\x0c\x0a\x00"), with_cfa(UNWIND_CFA_REGISTER, 10, 0));
    /* CFA expressions: rbp - 8, the word at rbp - 8, the word at rsp + 160, and the linker's stubs. */
    assert_program(SPAN("\x0f\x02\x76\x78"), with_cfa(UNWIND_CFA_REGISTER, fp, -8));
    assert_program(SPAN("\x0f\x03\x76\x78\x06"), with_cfa(UNWIND_CFA_DEREF, fp, -8));
    assert_program(SPAN("\x0f\x04\x77\xa0\x01\x06"), with_cfa(UNWIND_CFA_DEREF, sp, 160));
    assert_program(SPAN("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), with_cfa(UNWIND_CFA_PLT, 11, 8));
    assert_program(SPAN("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x39\x2a\x33\x24\x22"), with_cfa(UNWIND_CFA_PLT, 9, 8));
#endif
    /* An offset that is too large, an invalid register, and unknown expressions. */
    assert_program(SPAN("\x0e\x80\x80\x80\x80\x08"), unknown);
    assert_program(SPAN("\x0c\x21\x08"), unknown);
    assert_program(SPAN("\x0f\x00"), unknown);
    assert_program(SPAN("\x0f\x01\x76"), unknown);
    assert_program(SPAN("\x0f\x04\x76\x78\x06\x06"), unknown);
    assert_program(SPAN("\x0f\x03\x76\x78\x23"), unknown);
    assert_program(SPAN("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x12\x2a\x33\x24\x22"), unknown);
    /* def_cfa_offset or def_cfa_register alone, after a CFA that is an expression. */
    assert_program(SPAN("\x0f\x00\x0e\x10"), unknown);
    assert_program(SPAN("\x0f\x00\x0d\x06"), unknown);
    assert_program(SPAN("\x0f\x03\x76\x78\x06\x0e\x10"), unknown);
    /* A full definition makes the CFA known again, whatever came before. */
#if defined(__x86_64__)
    assert_program(SPAN("\x0f\x00\x0c\x07\x08"), entry_rule());
#endif
}

TEST(test_places) {
#if defined(__x86_64__)
    assert_program(SPAN("\x86\x02"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_AT_CFA, -16));
    assert_program(SPAN("\x83\x03"), with_place(UNWIND_COLUMN_BASE, UNWIND_PLACE_AT_CFA, -24));
    assert_program(SPAN("\x05\x06\x02"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_AT_CFA, -16));
    assert_program(SPAN("\x11\x06\x7e"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_AT_CFA, 16));
    assert_program(SPAN("\x2f\x06\x02"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_AT_CFA, 16));
    assert_program(SPAN("\x07\x06"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_UNDEFINED, 0));
    assert_program(SPAN("\x86\x02\x08\x06"), entry_rule());
    assert_program(SPAN("\x86\x02\xc6"), entry_rule());
    assert_program(SPAN("\x86\x02\x06\x06"), entry_rule());
    assert_program(SPAN("\x09\x06\x0c"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_REGISTER, 12));
    assert_program(SPAN("\x09\x10\x05"), with_place(UNWIND_COLUMN_RETURN, UNWIND_PLACE_REGISTER, 5));
    assert_program(SPAN("\x07\x10"), with_place(UNWIND_COLUMN_RETURN, UNWIND_PLACE_UNDEFINED, 0));
    assert_program(SPAN("\x08\x10"), with_place(UNWIND_COLUMN_RETURN, UNWIND_PLACE_UNKNOWN, 0));
    assert_program(SPAN("\x10\x06\x02\x76\x00"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_AT_FP, 0));
    assert_program(SPAN("\x10\x03\x02\x76\x70"), with_place(UNWIND_COLUMN_BASE, UNWIND_PLACE_AT_FP, -16));
    assert_program(SPAN("\x10\x10\x03\x77\xa8\x01"), with_place(UNWIND_COLUMN_RETURN, UNWIND_PLACE_AT_SP, 168));
    assert_program(SPAN("\x10\x06\x02\x73\x08"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_AT_BASE, 8));
    assert_program(SPAN("\x10\x06\x02\x7a\x00"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_UNKNOWN, 0));
    assert_program(SPAN("\x16\x06\x02\x76\x00"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_UNKNOWN, 0));
    assert_program(SPAN("\x14\x06\x02"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_CFA_VALUE, -16));
    assert_program(SPAN("\x15\x06\x02"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_CFA_VALUE, -16));
    /* If the caller's sp is not the CFA, the rule is unknown. */
    assert_program(SPAN("\x09\x07\x08"), unknown);
    assert_program(SPAN("\x87\x02"), unknown);
    assert_program(SPAN("\x87\x02\xc7"), entry_rule());
    assert_program(SPAN("\x87\x02\x08\x07"), entry_rule());
    /* Rules of other registers are not stored. */
    assert_program(SPAN("\x8c\x02\x07\x0d\x10\x0e\x02\x76\x00\x16\x0f\x01\x30\x09\x0c\x0d"), entry_rule());
#else
    assert_program(SPAN("\x9d\x02"), with_place(UNWIND_COLUMN_FP, UNWIND_PLACE_AT_CFA, -16));
    assert_program(SPAN("\x9e\x01"), with_place(UNWIND_COLUMN_RETURN, UNWIND_PLACE_AT_CFA, -8));
    assert_program(SPAN("\x93\x03\x2d"), with_place(UNWIND_COLUMN_BASE, UNWIND_PLACE_AT_CFA, -24));
    assert_program(SPAN("\x9e\x01\xde"), entry_rule());
    assert_program(SPAN("\x07\x1e"), with_place(UNWIND_COLUMN_RETURN, UNWIND_PLACE_UNDEFINED, 0));
#endif
    assert_program(SPAN("\x2e\x20"), entry_rule());
    assert_program(SPAN("\x0a\x0e\x30\x0b"), entry_rule());
}

TEST(test_programs_that_are_none) {
    assert_program(SPAN("\x0b"), unknown);
    assert_program(SPAN("\x3f"), unknown);
    assert_program(SPAN("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"), unknown);
    assert_program(SPAN("\x0f\x7f\x00"), unknown);
    assert_program(SPAN("\x01\x00\x00\x00\x80"), unknown);
}

TEST(test_rows) {
    struct object object;
    object_init(&object, ENTRY_PROGRAM);
    /* Advances of each size. The last one goes beyond the function's end. */
    add_function(&object, 0x10, 0x800,
                 SPAN("\x41\x0e\x18\x02\x50\x0e\x20\x03\x00\x02\x0e\x28\x04\x00\x10\x00\x00\x0e\x30"));
    /* Two more functions: one directly after the first, and one after a gap, which states the same rule twice. */
    add_function(&object, 0x810, 0x10, SPAN("\x41\x0e\x18\x41\x0e\x18"));
    add_function(&object, 0x900, 0x10, SPAN("\x40\x40"));
    for (int has_table = 0; has_table < 2; has_table++) {
        write_header(&object, has_table);
        struct unwind_table *table = create(&object);
        assert_rule(table, 0, unknown);
        assert_rule(table, 0xf, unknown);
        assert_rule(table, 0x10, entry_rule());
        assert_rule(table, 0x11, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 24));
        assert_rule(table, 0x60, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 24));
        assert_rule(table, 0x61, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 32));
        assert_rule(table, 0x260, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 32));
        assert_rule(table, 0x261, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 40));
        assert_rule(table, 0x80f, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 40));
        assert_rule(table, 0x810, entry_rule());
        assert_rule(table, 0x81f, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 24));
        assert_rule(table, 0x820, unknown);
        assert_rule(table, 0x8ff, unknown);
        assert_rule(table, 0x900, entry_rule());
        assert_rule(table, 0x910, unknown);
        assert_rule(table, UINT64_MAX, unknown);
        assert_int_equal(count_functions(table), 3);
        unwind_table_destroy(table);
    }
    object_fini(&object);
}

/* Without a search table, the order of entries does not matter. Where one function is inside another, the inner one
 * counts. */
TEST(test_order) {
    struct object object;
    object_init(&object, ENTRY_PROGRAM);
    add_function(&object, 0x200, 0x10, SPAN("\x0e\x20"));
    add_function(&object, 0x100, 0x10, SPAN("\x0e\x18"));
    add_function(&object, 0x108, 0x10, SPAN("\x0e\x40"));
    add_function(&object, OBJECT_BYTES - 8, 0x10, SPAN(""));
    add_function(&object, 0x300, 0, SPAN(""));
    for (int has_table = 0; has_table < 2; has_table++) {
        write_header(&object, has_table);
        struct unwind_table *table = create(&object);
        assert_rule(table, 0x107, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 24));
        assert_rule(table, 0x108, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 64));
        assert_rule(table, 0x117, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 64));
        assert_rule(table, 0x118, unknown);
        assert_rule(table, 0x200, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 32));
        assert_rule(table, 0x300, unknown);
        assert_rule(table, OBJECT_BYTES - 8, unknown);
        unwind_table_destroy(table);
    }
    object_fini(&object);
}

TEST(test_entries) {
    struct object object;
    object_init(&object, ENTRY_PROGRAM);
    add_cie(&object, ENTRY_PROGRAM, "zRS");
    add_function(&object, 0x100, 0x10, SPAN("\x0e\x20"));
    add_cie(&object, ENTRY_PROGRAM, "zR?");
    add_function(&object, 0x200, 0x10, SPAN("\x0e\x20"));
    add_cie(&object, ENTRY_PROGRAM, "eh");
    add_function(&object, 0x300, 0x10, SPAN("\x0e\x20"));
    add_cie(&object, SPAN("\x0b"), "zR");
    add_function(&object, 0x400, 0x10, SPAN("\x0e\x20"));
    add_cie(&object, ENTRY_PROGRAM, "zRB");
    add_function(&object, 0x500, 0x10, SPAN("\x0e\x20"));
    write_header(&object, true);
    struct unwind_table *table = create(&object);
    assert_rule(table, 0x0ff, unknown);
    assert_rule(table, 0x100, (struct unwind_rule){.cfa_kind = UNWIND_CFA_SIGNAL});
    assert_rule(table, 0x110, unknown);
    assert_rule(table, 0x200, unknown);
    assert_rule(table, 0x300, unknown);
    assert_rule(table, 0x400, unknown);
    assert_rule(table, 0x500, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 32));
    assert_int_equal(count_functions(table), 5);
    unwind_table_destroy(table);
    object_fini(&object);
}

/* A table that does not fit is not made. */
TEST(test_bounds) {
    struct object object;
    object_init(&object, ENTRY_PROGRAM);
    for (uint32_t i = 0; i < 8; i++) add_function(&object, 0x100 * (i + 1), 0x100, SPAN("\x41\x0e\x20"));
    write_header(&object, true);
    struct unwind_table *table = create(&object);
    struct unwind_figures figures = {0};
    unwind_table_measure(table, &figures);
    assert_int_equal(figures.object_count, 1);
    assert_int_equal(figures.function_count, 8);
    unwind_table_destroy(table);
    assert_null(create_bounded(&object, 0));
    assert_null(create_bounded(&object, figures.bytes_count - 1));
    table = create_bounded(&object, figures.bytes_count);
    assert_non_null(table);
    assert_rule(table, 0x8ff, with_cfa(UNWIND_CFA_REGISTER, UNWIND_SP, 32));
    assert_rule(table, 0x900, unknown);
    unwind_table_destroy(table);
    object_fini(&object);
}

/* ---- Broken objects. ---- */

TEST(test_objects_without_functions) {
    struct object object;
    object_init(&object, ENTRY_PROGRAM);
    add_function(&object, 0x100, 0x10, SPAN(""));
    write_header(&object, true);
    object.headers[1].p_vaddr = OBJECT_BYTES - 4; /* extends beyond the object */
    assert_null(create_bounded(&object, UNWIND_BYTES_MAX));
    object.headers[1].p_vaddr = UINT64_MAX - 64;
    assert_null(create_bounded(&object, UNWIND_BYTES_MAX));
    object.headers[1].p_vaddr = HEADER_AT;
    object.bytes[HEADER_AT] = 2; /* an unsupported version */
    assert_null(create_bounded(&object, UNWIND_BYTES_MAX));
    object.bytes[HEADER_AT] = 1;
    object.headers[1].p_type = PT_NULL;
    assert_null(create_bounded(&object, UNWIND_BYTES_MAX));
    object.headers[1].p_type = PT_GNU_EH_FRAME;
    object.headers[0].p_flags = PF_X; /* not readable */
    assert_null(create_bounded(&object, UNWIND_BYTES_MAX));
    object.headers[0].p_memsz = 0;
    struct unwind_image image;
    assert_false(unwind_image_init(&image, &object.info));
    object_fini(&object);
}

/* Random damage anywhere may only cost rules. The object ends where its mapping ends, so a read beyond its end would
 * crash. */
TEST(test_mutations) {
    struct object object;
    struct random_numbers random = {11};
    object_init(&object, ENTRY_PROGRAM);
    for (uint32_t i = 0; i < 16; i++)
        add_function(&object, 0x40 * (i + 1), 0x40,
                     SPAN("\x41\x0e\x20\x86\x02\x44\x0a\x0d\x06\x0f\x03\x76\x78\x06\x48\x0b"));
    write_header(&object, true);
    unsigned char *whole = malloc(OBJECT_BYTES);
    assert_non_null(whole);
    memcpy(whole, object.bytes, OBJECT_BYTES);
    for (uint32_t round = 0; round < 5000; round++) {
        memcpy(object.bytes + HEADER_AT, whole + HEADER_AT, OBJECT_BYTES - HEADER_AT);
        object.headers[0].p_memsz = OBJECT_BYTES - (round % 4 == 0 ? random_below(&random, 0x1400) : 0u);
        for (uint32_t count = 1 + random_below(&random, 4); count; count--) {
            uint32_t area = random_below(&random, 4) ? FRAMES_AT : HEADER_AT;
            uint32_t bytes_count = area == FRAMES_AT ? object.at - FRAMES_AT : 0x90;
            object.bytes[area + random_below(&random, bytes_count)] = (unsigned char)random_next(&random);
        }
        struct unwind_table *table = create_bounded(&object, UNWIND_BYTES_MAX);
        if (!table) continue;
        for (uint64_t at = 0; at < OBJECT_BYTES; at += 0x11)
            assert_in_range(rule_at(table, at).cfa_kind, UNWIND_CFA_UNKNOWN, UNWIND_CFA_SIGNAL);
        unwind_table_destroy(table);
    }
    free(whole);
    object_fini(&object);
}

/* ---- Snapshots of the loaded objects. ---- */

static struct unwind_figures measure(void) {
    struct unwind_figures figures;
    unwind_snapshot_measure(unwind_snapshot_current(), &figures);
    return figures;
}

static void refresh_snapshot(void) {
    unwind_snapshot_refresh();
    unwind_snapshot_want_all();
    unwind_snapshot_build_wanted();
}

static bool knows(const struct unwind_snapshot *snapshot, uint64_t address) {
    struct unwind_rule rule;
    return unwind_snapshot_find(snapshot, address, &rule);
}

static uint8_t kind_at(uint64_t address) {
    struct unwind_rule rule;
    assert_true(unwind_snapshot_find(unwind_snapshot_current(), address, &rule));
    return rule.cfa_kind;
}

static uint64_t qsort_in_libc(void) { return (uintptr_t)dlsym(RTLD_DEFAULT, "qsort"); }

TEST(test_snapshots) {
    assert_null(unwind_snapshot_current());
    refresh_snapshot();
    const struct unwind_snapshot *first = unwind_snapshot_current();
    assert_non_null(first);
    struct unwind_figures before = measure();
    assert_true(before.object_count > 2 && before.function_count > 1000);
    assert_true(knows(first, (uintptr_t)test_snapshots));
    assert_false(knows(first, 0));
    assert_false(knows(first, UINT64_MAX));
    assert_false(knows(first, (uintptr_t)&before));
    /* Nothing was loaded, so the snapshot stays the same. */
    refresh_snapshot();
    assert_ptr_equal(unwind_snapshot_current(), first);

    void *object = dlopen("libBrokenLocale.so.1", RTLD_NOW);
    if (!object) object = dlopen("libutil.so.1", RTLD_NOW);
    assert_non_null(object);
    struct link_map *map = object;
    uint64_t dynamic = (uintptr_t)map->l_ld;
    assert_false(knows(first, dynamic));
    refresh_snapshot();
    const struct unwind_snapshot *second = unwind_snapshot_current();
    assert_ptr_not_equal(second, first);
    assert_true(knows(second, dynamic));
    assert_int_equal(measure().object_count, before.object_count + 1);
    /* Snapshots share the tables of objects that stay loaded. The tables stay after the first snapshot is freed. */
    struct unwind_figures both = measure();
    assert_int_equal(kind_at((uintptr_t)test_snapshots), UNWIND_CFA_REGISTER);
    unwind_snapshot_reclaim();
    assert_int_equal(measure().bytes_count, both.bytes_count);
    assert_int_equal(kind_at(qsort_in_libc()), UNWIND_CFA_REGISTER);

    dlclose(object);
    assert_true(knows(second, dynamic));
    refresh_snapshot();
    assert_false(knows(unwind_snapshot_current(), dynamic));
    assert_int_equal(measure().function_count, before.function_count);
    unwind_snapshot_forget();
    assert_null(unwind_snapshot_current());
    unwind_snapshot_reclaim();
}

/* Each address is asked for three times, among many others that share its place in the cache. */
TEST(test_cached_rules) {
    enum { ADDRESS_COUNT = 20000, STEP_BYTES = 7 };
    uint64_t start = qsort_in_libc(), known_count = 0;
    struct unwind_rule *rules = calloc(ADDRESS_COUNT, sizeof *rules);
    assert_non_null(rules);
    refresh_snapshot();
    const struct unwind_snapshot *snapshot = unwind_snapshot_current();
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < ADDRESS_COUNT; i++) {
            struct unwind_rule found, again;
            assert_true(unwind_snapshot_find(snapshot, start + i * STEP_BYTES, &found));
            assert_true(unwind_snapshot_find(snapshot, start + i * STEP_BYTES, &again));
            assert_memory_equal(&again, &found, sizeof found);
            if (pass) assert_memory_equal(&found, &rules[i], sizeof found);
            rules[i] = found;
            known_count += found.cfa_kind == UNWIND_CFA_REGISTER;
        }
    }
    assert_true(known_count > ADDRESS_COUNT);
    free(rules);
    unwind_snapshot_forget();
}

/* Tables are built for requested objects only. */
TEST(test_tables_on_demand) {
    uint64_t here = (uintptr_t)test_tables_on_demand, library = qsort_in_libc();
    assert_false(unwind_snapshot_has_wanted());
    unwind_snapshot_build_wanted(); /* there is no snapshot yet */
    unwind_snapshot_refresh();
    assert_int_equal(measure().function_count, 0);
    unwind_snapshot_build_wanted();
    assert_int_equal(measure().function_count, 0);

    assert_int_equal(kind_at(here), UNWIND_CFA_TO_COME);
    assert_true(unwind_snapshot_has_wanted());
    assert_int_equal(kind_at(here), UNWIND_CFA_TO_COME);
    unwind_snapshot_build_wanted();
    assert_false(unwind_snapshot_has_wanted());
    assert_int_equal(kind_at(here), UNWIND_CFA_REGISTER);
    assert_int_equal(measure().object_count, 1);

    assert_int_equal(kind_at(library), UNWIND_CFA_TO_COME);
    /* A snapshot does not contain objects that are loaded after it was made, and is never extended. */
    void *object = dlopen("libBrokenLocale.so.1", RTLD_NOW);
    if (!object) object = dlopen("libutil.so.1", RTLD_NOW);
    assert_non_null(object);
    unwind_snapshot_build_wanted();
    assert_int_equal(kind_at(library), UNWIND_CFA_TO_COME);
    /* After a refresh, objects of the last snapshot are requested or not, as before. New objects are requested. */
    unwind_snapshot_refresh();
    assert_int_equal(kind_at(here), UNWIND_CFA_REGISTER);
    assert_true(unwind_snapshot_has_wanted());
    unwind_snapshot_build_wanted();
    assert_int_equal(kind_at(library), UNWIND_CFA_REGISTER);
    assert_int_equal(measure().object_count, 3);
    unwind_snapshot_want_all();
    unwind_snapshot_build_wanted();
    assert_true(measure().object_count > 3);
    /* All tables are built, so another call changes nothing. */
    unwind_snapshot_want_all();
    assert_false(unwind_snapshot_has_wanted());
    dlclose(object);
    unwind_snapshot_forget();
}

int main(void) { return unit_tests_run(NULL, NULL); }
