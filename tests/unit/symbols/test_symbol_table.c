/* Tests functions and stubs of files that are made here: by the compiler, and by hand for another processor. */
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libconvert/symbols/symbol_table.h"
#include "tests/support/shell_command.h"
#include "tests/support/unit_test.h"

static struct {
    struct temp_folder folder;
    struct failure failure;
    struct debug_file file;
    struct symbol_table table;
} test;

static const char *path_of(const char *name) { return temp_folder_file(&test.folder, name); }

#define run(...) run_in_folder(&test.folder, __VA_ARGS__)

static int set_up_group(void **state) { return temp_folder_init(&test.folder) ? 0 : -1; }

static int tear_down_group(void **state) {
    run("rm -f * && cd / && rmdir '%s'", test.folder.path);
    return 0;
}

static void open_table(const char *name) {
    failure_clear(&test.failure);
    assert_true(debug_file_open(&test.file, NULL, path_of(name), (char[PATH_MAX]){0}));
    assert_true(symbol_table_init(&test.table, &test.file, &test.file, &test.failure));
    assert_false(failure_is_set(&test.failure));
}

static void close_table(void) {
    symbol_table_fini(&test.table);
    debug_file_close(&test.file);
}

static void assert_symbol(uint64_t address, const char *name, uint64_t start, uint64_t end) {
    const struct symbol *symbol = symbol_table_find(&test.table, address);
    if (!symbol) fail_msg("%s: nothing at %llx", name, (unsigned long long)address);
    assert_string_equal(symbol->name, name);
    assert_int_equal(symbol->start, start);
    assert_int_equal(symbol->end, end);
}

/* ---- Stubs as the linker makes them. ---- */

static const char caller_text[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "static int chosen(int x) { return x; }\n"
    "static void *choose(void) { return chosen; }\n"
    "int several(int x) __attribute__((ifunc(\"choose\")));\n"
    "int (*taken)(const char *);\n"
    "int main(int count, char **words) {\n"
    "    taken = puts;\n"
    "    return atoi(words[0]) + puts(words[0]) + several(count);\n"
    "}\n";

/* Compares with the stubs that a disassembler finds, as lines "address name@plt". */
static void assert_stubs_in(const char *program, const char *flags) {
    run("objdump -d %s | sed -n 's/^0*\\([0-9a-f]*\\) <\\(.*@plt\\)>:$/\\1 \\2/p' > stubs", program);
    char *stubs = file_read(path_of("stubs"), NULL);
    assert_non_null(stubs);
    open_table(program);
    size_t found_count = 0;
    for (char *line = strtok(stubs, "\n"); line; line = strtok(NULL, "\n")) {
        char *name;
        uint64_t start = strtoull(line, &name, 16);
        if (strstr(++name, "*ABS*")) continue; /* an ifunc without a name */
        const struct symbol *symbol = symbol_table_find(&test.table, start + 1);
        if (!symbol) fail_msg("%s: no stub at %s", flags, line);
        assert_string_equal(symbol->name, name);
        assert_int_equal(symbol->start, start);
        found_count++;
    }
    free(stubs);
    close_table();
    assert_true(found_count >= 2);
}

static void assert_stubs_of(const char *program, const char *flags) {
    assert_true(file_write(path_of("caller.c"), text_of(caller_text)));
    run("cc -O1 %s caller.c -o %s", flags, program);
    assert_stubs_in(program, flags);
    run("strip %s", program);
    assert_stubs_in(program, flags);
}

TEST(stubs_have_the_names_of_what_they_call) {
    assert_stubs_of("lazy", "-Wl,-z,lazy");
    assert_stubs_of("now", "-Wl,-z,now");
    assert_stubs_of("fixed", "-no-pie");
    assert_stubs_of("library", "-shared -fPIC -Wl,-z,lazy");
    assert_stubs_of("library_now", "-shared -fPIC -Wl,-z,now");
#ifdef __x86_64__
    assert_stubs_of("endbr", "-fcf-protection -Wl,-z,ibtplt -Wl,-z,lazy");
    assert_stubs_of("endbr_now", "-fcf-protection -Wl,-z,ibtplt -Wl,-z,now");
    assert_stubs_of("endbr_fixed", "-fcf-protection -Wl,-z,ibtplt -no-pie");
    assert_stubs_of("endbr_library", "-fcf-protection -Wl,-z,ibtplt -shared -fPIC");
#endif
}

/* If the file has symbols, its own stub for an ifunc has a name too. */
TEST(stubs_of_chosen_functions_have_the_name_of_the_choice) {
    run("cc -O1 -Wl,-z,lazy caller.c -o chosen && "
        "objdump -d chosen | sed -n 's/^0*\\([0-9a-f]*\\) <\\*ABS\\*+.*@plt>:$/\\1/p' > stubs && "
        "nm chosen | sed -n 's/^\\([0-9a-f]*\\) i several$/\\1/p' > choice");
    char *stub = file_read(path_of("stubs"), NULL);
    assert_non_null(stub);
    uint64_t start = strtoull(stub, NULL, 16);
    assert_true(start > 0);
    open_table("chosen");
    const struct symbol *symbol = symbol_table_find(&test.table, start);
    assert_non_null(symbol);
    /* "several" and "choose" are at the same address; the public name counts. */
    assert_string_equal(symbol->name, "several@plt");
    free(stub);
    close_table();
}

/* ---- Aliases. ---- */

static const char alias_text[] =
    ".macro alias name, binding\n.\\binding \\name\n.type \\name, @function\n\\name:\n.endm\n"
    ".text\n"
    /* Names that others can use win, weak ones too. */
    "alias weak_one weak\nalias local_longest local\n ret\n.size weak_one, 1\n.size local_longest, 1\n"
    "alias local_longer local\nalias public_ globl\n ret\n.size local_longer, 1\n.size public_, 1\n"
    /* Then those with fewer leading underscores, then those that are not weak, and then the shortest. */
    "alias __underlined globl\nalias plain weak\n ret\n.size __underlined, 1\n.size plain, 1\n"
    "alias weak weak\nalias strong globl\n ret\n.size weak, 1\n.size strong, 1\n"
    "alias open64 globl\nalias open globl\n ret\n.size open64, 1\n.size open, 1\n"
    /* Of local names, the longest wins. */
    "alias part local\nalias part_of_more local\n ret\n.size part, 1\n.size part_of_more, 1\n"
    /* Names count as in the source. */
    "alias _Z1av globl\nalias _b globl\n ret\n.size _Z1av, 1\n.size _b, 1\n"
    "alias _Z1ai globl\nalias _Z1ax globl\n ret\n.size _Z1ai, 1\n.size _Z1ax, 1\n"
    /* A name with a size wins in any case. */
    "alias unsized_longest globl\nalias sized weak\n ret\n.size sized, 1\n"
    /* A name of an old version loses. */
    "alias old globl\nalias newest globl\n ret\n.size old, 1\n.size newest, 1\n.symver old, old@V1, remove\n"
    /* So do the names that glibc makes for its own calls. */
    "alias __GI_____own local\nalias ____own local\n ret\n.size __GI_____own, 1\n.size ____own, 1\n"
    ".globl main\nmain: ret\n.section .note.GNU-stack\n";

TEST(the_name_that_programmers_write_is_chosen) {
    static const char *const chosen[] = {"weak_one", "public_", "plain", "strong", "open",   "part_of_more",
                                         "_Z1av",    "_Z1ax",   "sized", "newest", "____own"};
    assert_true(file_write(path_of("alias.s"), TEXT(alias_text)));
    assert_true(file_write(path_of("versions"), TEXT("V1 {}; V2 {};")));
    run("cc -shared -Wl,--version-script=versions alias.s -o alias");
    run("nm alias | sed -n 's/ . weak_one.*$//p' > start && strip alias -o stripped");
    char *start = file_read(path_of("start"), NULL);
    assert_non_null(start);
    uint64_t address = strtoull(start, NULL, 16);
    free(start);
    open_table("alias");
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        assert_symbol(address + i, chosen[i], address + i, address + i + 1);
    close_table();
    /* The table of the dynamic linker has versions elsewhere, and no local names. */
    open_table("stripped");
    assert_symbol(address + 1, "public_", address + 1, address + 2);
    assert_symbol(address + 9, "newest", address + 9, address + 10);
    close_table();
}

static const char nested_text[] =
    ".macro function name, size\n.type \\name, @function\n.size \\name, \\size\n\\name:\n.endm\n"
    ".macro inner number\nfunction inner\\number, 1\n nop\n.endm\n"
    ".text\nfunction outer, 103\n nop\n.altmacro\n.set i, 0\n.rept 100\n inner %i\n.set i, i + 1\n.endr\n nop\n nop\n"
    /* The preferred one of two aliases may be the shorter one. */
    ".globl shorter\nfunction shorter, 1\nfunction longer, 2\n nop\n nop\n nop\n"
    ".globl main\nfunction main, 1\n ret\n.section .note.GNU-stack\n";

TEST(a_function_encloses_any_number_of_others) {
    assert_true(file_write(path_of("nested.s"), TEXT(nested_text)));
    run("cc -no-pie nested.s -o nested && nm nested | sed -n 's/ . outer$//p' > start");
    uint64_t start = read_address(&test.folder, "start");
    open_table("nested");
    assert_symbol(start, "outer", start, start + 103);
    assert_symbol(start + 1, "inner0", start + 1, start + 2);
    assert_symbol(start + 100, "inner99", start + 100, start + 101);
    assert_symbol(start + 101, "outer", start, start + 103);
    assert_symbol(start + 103, "shorter", start + 103, start + 104);
    assert_symbol(start + 104, "longer", start + 103, start + 105);
    assert_null(symbol_table_find(&test.table, start + 105));
    close_table();
}

/* ---- Files by hand. ---- */

enum { SECTION_NULL, SECTION_STUBS, SECTION_SLOTS, SECTION_SYMBOLS, SECTION_STRINGS, SECTION_NAMES, SECTION_COUNT };

enum { STUBS_ADDRESS = 0x5b0, SLOTS_ADDRESS = 0x10fa0 };

struct hand_made {
    uint16_t machine;
    struct text stubs;
    uint32_t types[4];    /* types of the slots' relocations; 0: none */
    Elf64_Sym label;      /* one more symbol; its name is "label" */
    unsigned copied;      /* the section that is there several times; 0: none */
    struct text one_name; /* name of the first function, instead of "first" */
};

enum { COPIES_COUNT = 100 };

/* Writes four slots from SLOTS_ADDRESS on, for "first", "second", no symbol, and a symbol that does not exist. */
static void write_file(const char *name, const struct hand_made *made) {
    char strings[4096] = "\0label\0second\0first";
    static const char names[] = "\0.plt\0.rela.plt\0.dynsym\0.dynstr\0.shstrtab";
    Elf64_Sym symbols[] = {{0}, {.st_name = 14, .st_info = STT_FUNC}, {.st_name = 7, .st_info = STT_FUNC}, made->label};
    symbols[3].st_name = 1;
    if (made->one_name.bytes_count) memcpy(strings + 14, made->one_name.bytes, made->one_name.bytes_count);
    const uint64_t rows[] = {1, 2, 0, 9};
    Elf64_Rela slots[4] = {{0}};
    for (size_t i = 0; i < 4; i++)
        slots[i] = (Elf64_Rela){SLOTS_ADDRESS + i * 8, ELF64_R_INFO(rows[i], made->types[i]), 0x700};
    const Elf64_Phdr segment = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000, .p_memsz = 0x2000};
    Elf64_Shdr sections[SECTION_COUNT + COPIES_COUNT] = {
        [SECTION_STUBS] = {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR},
        [SECTION_SLOTS] = {.sh_name = 6, .sh_type = SHT_RELA, .sh_flags = SHF_ALLOC, .sh_link = SECTION_SYMBOLS},
        [SECTION_SYMBOLS] = {.sh_name = 16, .sh_type = SHT_DYNSYM, .sh_link = SECTION_STRINGS},
        [SECTION_STRINGS] = {.sh_name = 24, .sh_type = SHT_STRTAB},
        [SECTION_NAMES] = {.sh_name = 32, .sh_type = SHT_STRTAB},
    };
    sections[SECTION_STUBS].sh_addr = STUBS_ADDRESS;
    sections[SECTION_SLOTS].sh_entsize = sizeof *slots;
    sections[SECTION_SYMBOLS].sh_entsize = sizeof *symbols;
    const struct text contents[SECTION_COUNT] = {
        [SECTION_STUBS] = made->stubs,
        [SECTION_SLOTS] = {(const char *)slots, sizeof slots},
        [SECTION_SYMBOLS] = {(const char *)symbols, sizeof symbols},
        [SECTION_STRINGS] = {strings, 20 + made->one_name.bytes_count},
        [SECTION_NAMES] = {names, sizeof names},
    };
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = made->machine,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (uint16_t)(SECTION_COUNT + (made->copied ? COPIES_COUNT : 0)),
        .e_shstrndx = SECTION_NAMES,
    };
    char bytes[16384] = {0};
    size_t used = sizeof header + sizeof segment + sizeof sections;
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        used = (used + 7) & ~(size_t)7;
        sections[i].sh_offset = used;
        sections[i].sh_size = contents[i].bytes_count;
        if (contents[i].bytes_count) memcpy(bytes + used, contents[i].bytes, contents[i].bytes_count);
        used += contents[i].bytes_count;
    }
    for (size_t i = 0; i < COPIES_COUNT; i++) sections[SECTION_COUNT + i] = sections[made->copied];
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, &segment, sizeof segment);
    memcpy(bytes + sizeof header + sizeof segment, sections, sizeof sections);
    assert_true(file_write(path_of(name), (struct text){bytes, used}));
}

/* The stubs as GNU ld makes them for aarch64. The first entry calls the dynamic linker; the slots are on page
 * 0x10000. */
static const uint32_t aarch64_stubs[] = {
    /* 5b0: stp x16, x30, [sp, #-16]!; adrp x16, 10000; ldr x17, [x16, #3992]; add; br x17; nop, three times */
    0xa9bf7bf0, 0x90000090, 0xf947ce11, 0x913e6210, 0xd61f0220, 0xd503201f, 0xd503201f, 0xd503201f,
    /* 5d0: adrp x16, 10000; ldr x17, [x16, #4000]; add x16, x16, #4000; br x17 */
    0x90000090, 0xf947d211, 0x913e8210, 0xd61f0220,
    /* 5e0: bti c; the same for offset 4008; nop */
    0xd503245f, 0x90000090, 0xf947d611, 0x913ea210, 0xd61f0220, 0xd503201f,
    /* 5f8: offset 4016, which is the slot of no function */
    0x90000090, 0xf947da11, 0x913ec210, 0xd61f0220,
    /* 608: bti c at the end; nothing after it may be read */
    0xd503245f, 0x90000090};

TEST(stubs_of_aarch64) {
    const struct text code = {(const char *)aarch64_stubs, sizeof aarch64_stubs};
    write_file("aarch64",
               &(struct hand_made){
                   .machine = EM_AARCH64, .stubs = code, .types = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, 0, 0}});
    open_table("aarch64");
    assert_int_equal(test.table.count, 2);
    assert_symbol(0x5d0, "first@plt", 0x5d0, 0x5e0);
    assert_symbol(0x5f7, "second@plt", 0x5e0, 0x5f8);
    assert_null(symbol_table_find(&test.table, 0x5cf));
    assert_null(symbol_table_find(&test.table, 0x5f8));
    close_table();
}

/* Functions of 32-bit ARM in Thumb code have odd values, and their code begins one byte before. */
TEST(functions_in_thumb_code) {
    static const char code[16];
    const Elf64_Sym label = {
        .st_info = STT_FUNC, .st_shndx = SECTION_STUBS, .st_value = STUBS_ADDRESS + 9, .st_size = 4};
    write_file("thumb", &(struct hand_made){.machine = EM_ARM, .stubs = {code, sizeof code}, .label = label});
    open_table("thumb");
    assert_symbol(STUBS_ADDRESS + 8, "label", STUBS_ADDRESS + 8, STUBS_ADDRESS + 12);
    close_table();
}

/* The offset of a slot may be negative. */
TEST(slots_may_lie_before_the_stubs) {
    /* 5b0: jmp *(5b0 + 6 - 0x5b6 + 0x10fa8), as a signed 32-bit offset */
    char code[16] = "\xff\x25....";
    int32_t distance = SLOTS_ADDRESS + 8 - (STUBS_ADDRESS + 6);
    memcpy(code + 2, &distance, sizeof distance);
    write_file("x86", &(struct hand_made){
                          .machine = EM_X86_64, .stubs = {code, sizeof code}, .types = {0, R_X86_64_JUMP_SLOT, 0, 0}});
    open_table("x86");
    assert_symbol(0x5b0, "second@plt", 0x5b0, 0x5c0);
    close_table();
}

/* Relocations of other types, rows that do not exist, functions without a name, and code that ends within a stub. */
TEST(damage_gives_fewer_stubs) {
    char code[64];
    for (size_t i = 0; i < 4; i++) {
        int32_t distance = (int32_t)(SLOTS_ADDRESS + i * 8 - (STUBS_ADDRESS + i * 16 + 6));
        memset(code + i * 16, 0x90, 16);
        memcpy(code + i * 16, "\xff\x25", 2);
        memcpy(code + i * 16 + 2, &distance, sizeof distance);
    }
    struct hand_made made = {
        .machine = EM_X86_64, .stubs = {code, sizeof code}, .types = {R_X86_64_COPY, R_X86_64_JUMP_SLOT}};
    made.types[2] = R_X86_64_JUMP_SLOT;
    made.types[3] = R_X86_64_JUMP_SLOT;
    write_file("damaged", &made);
    open_table("damaged");
    assert_int_equal(test.table.count, 1);
    assert_symbol(0x5c0, "second@plt", 0x5c0, 0x5d0);
    close_table();
    made.types[2] = R_X86_64_IRELATIVE; /* an ifunc without a name */
    made.types[3] = R_X86_64_IRELATIVE;
    write_file("damaged", &made);
    open_table("damaged");
    assert_int_equal(test.table.count, 1);
    close_table();
    for (size_t bytes_count = 0; bytes_count <= 22; bytes_count++) {
        made.stubs.bytes_count = bytes_count;
        write_file("damaged", &made);
        open_table("damaged");
        assert_int_equal(test.table.count, bytes_count == 22);
        close_table();
    }
    made.machine = EM_RISCV;
    write_file("damaged", &made);
    open_table("damaged");
    assert_int_equal(test.table.count, 0);
    close_table();
}

/* Writes stubs for x86-64 that all jump to the first slot. */
static void make_equal_stubs(char *code, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        int32_t distance = (int32_t)(SLOTS_ADDRESS - (STUBS_ADDRESS + i * 8 + 6));
        memcpy(code + i * 8, "\xff\x25....\x90\x90", 8);
        memcpy(code + i * 8 + 2, &distance, sizeof distance);
    }
}

TEST(symbols_without_a_size_do_not_reach_into_stubs) {
    char code[24] = "\x90";
    make_equal_stubs(code, 1, 3);
    struct hand_made made = {.machine = EM_X86_64, .stubs = {code, sizeof code}, .types = {R_X86_64_JUMP_SLOT}};
    made.label = (Elf64_Sym){.st_info = STT_FUNC, .st_shndx = SECTION_STUBS, .st_value = STUBS_ADDRESS};
    write_file("label", &made);
    open_table("label");
    assert_string_equal(symbol_table_find(&test.table, STUBS_ADDRESS)->name, "label");
    assert_symbol(STUBS_ADDRESS + 8, "first@plt", STUBS_ADDRESS + 8, STUBS_ADDRESS + 16);
    assert_symbol(STUBS_ADDRESS + 23, "first@plt", STUBS_ADDRESS + 16, STUBS_ADDRESS + 24);
    close_table();
    made.label.st_size = 16; /* covers the first stub */
    write_file("label", &made);
    open_table("label");
    assert_symbol(STUBS_ADDRESS + 8, "label", STUBS_ADDRESS, STUBS_ADDRESS + 16);
    assert_symbol(STUBS_ADDRESS + 16, "first@plt", STUBS_ADDRESS + 16, STUBS_ADDRESS + 24);
    close_table();
}

/* What is read is not more than the file is large, even if a hundred sections are at one place, or all stubs have one
 * long name. */
TEST(repeated_bytes_are_not_read_without_end) {
    enum { STUBS_COUNT = 64 };
    char code[STUBS_COUNT * 8], name[2048];
    make_equal_stubs(code, 0, STUBS_COUNT);
    struct hand_made made = {.machine = EM_X86_64, .stubs = {code, sizeof code}, .types = {R_X86_64_JUMP_SLOT}};
    made.copied = SECTION_STUBS;
    write_file("repeated", &made);
    open_table("repeated");
    assert_in_range(test.table.count, STUBS_COUNT, test.file.size_bytes / 8);
    close_table();
    made.label = (Elf64_Sym){.st_info = STT_FUNC, .st_shndx = SECTION_STUBS, .st_value = STUBS_ADDRESS, .st_size = 512};
    made.copied = SECTION_SYMBOLS;
    write_file("repeated", &made);
    open_table("repeated");
    assert_in_range(test.table.count, 1, test.file.size_bytes / (4 * sizeof(Elf64_Sym)));
    close_table();
    made = (struct hand_made){.machine = EM_X86_64, .stubs = {code, sizeof code}, .types = {R_X86_64_JUMP_SLOT}};
    memset(name, 'n', sizeof name);
    made.one_name = (struct text){name, sizeof name};
    write_file("repeated", &made);
    open_table("repeated");
    assert_in_range(test.table.count, 1, test.file.size_bytes / sizeof name);
    close_table();
}

/* ---- .gnu_debugdata. ---- */

static const char packed_text[] =
    "static __attribute__((noinline)) int hidden(int x) { __asm__ volatile(\"\"); return x + 1; }\n"
    "__attribute__((noinline)) int shown(int x) { __asm__ volatile(\"\"); return hidden(x) + 1; }\n"
    "int main(int count, char **words) { (void)words; return shown(count); }\n";

/* Makes "packed", whose symbols are in the compressed file `data`, except those that it exports. */
static void make_packed(const char *data) {
    run("strip --strip-all -o packed whole && objcopy --add-section .gnu_debugdata=%s packed", data);
}

static uint64_t address_of(const char *name) {
    run("nm whole | sed -n 's/^\\([0-9a-f]*\\) [tT] %s$/\\1/p' > address", name);
    return read_address(&test.folder, "address");
}

static const char *name_at(uint64_t address) {
    const struct symbol *symbol = symbol_table_find(&test.table, address);
    return symbol ? symbol->name : "";
}

TEST(packed_symbols_are_read) {
    assert_true(file_write(path_of("packed.c"), text_of(packed_text)));
    run("cc -O1 -rdynamic packed.c -o whole && objcopy --only-keep-debug whole mini && "
        "objcopy -S --keep-symbol=hidden mini && xz -k mini");
    uint64_t hidden = address_of("hidden"), shown = address_of("shown");
    make_packed("mini.xz");
    open_table("packed");
    assert_string_equal(name_at(hidden), "hidden");
    assert_string_equal(name_at(shown), "shown");
    close_table();
    /* For xz, two concatenated streams are one file. */
    run("head -c 100 mini > a && tail -c +101 mini > b && rm -f a.xz b.xz && xz a b && cat a.xz b.xz > two.xz");
    make_packed("two.xz");
    open_table("packed");
    assert_string_equal(name_at(hidden), "hidden");
    close_table();
}

static void assert_nothing_packed(const char *data) {
    make_packed(data);
    open_table("packed");
    assert_string_equal(name_at(address_of("hidden")), "");
    assert_string_equal(name_at(address_of("shown")), "shown");
    close_table();
}

TEST(packed_symbols_that_are_damaged_are_left_out) {
    run("head -c 200 mini.xz > cut && echo text > text && : > empty && echo text | xz > text.xz && : | xz > empty.xz "
        "&& "
        "head -c %u /dev/zero | cat mini - | xz -0 > large.xz",
        (unsigned)DEBUG_DATA_BYTES_MAX);
    assert_nothing_packed("cut");
    assert_nothing_packed("text");
    assert_nothing_packed("empty");
    assert_nothing_packed("text.xz");
    assert_nothing_packed("empty.xz");
    assert_nothing_packed("large.xz");
}

/* With these symbols, all functions are known: one without a size reaches to the next. */
TEST(packed_symbols_without_a_size_are_long) {
    assert_true(file_write(path_of("long.c"), TEXT("asm(\".text\\n.type hidden, @function\\nhidden:\\n\\t.skip 8192\\n"
                                                   ".globl shown\\nshown:\\n\\tnop\\n\");\n")));
    run("cc -shared -nostdlib long.c -o whole && objcopy --only-keep-debug whole long && "
        "objcopy -S --keep-symbol=hidden long && xz -k long");
    make_packed("long.xz");
    open_table("packed");
    assert_string_equal(name_at(address_of("hidden") + 8191), "hidden");
    assert_string_equal(name_at(address_of("shown")), "shown");
    close_table();
}

/* ---- Programs of Go. ---- */

/* Makes a stripped program whose table for tracebacks lists three functions, of which the last one has no name. `code`
 * is the address of the code as the table tells it. */
static void make_go(const char *magic, const char *code, const char *first_name) {
    char text[1024];
    snprintf(text, sizeof text,
             ".text\n.globl _start\ncode:\n_start:\n.skip 32\nwork:\n.skip 16\nlost:\n.skip 16\nend:\n"
             ".section .gopclntab,\"a\"\ntable:\n.long %s\n.byte 0, 0, 1, 8\n"
             ".quad 3, 0, %s, names - table, 0, 0, 0, list - table\n"
             "names:\n.byte 0\nfirst_name:\n.asciz \"%s\"\nsecond_name:\n.asciz \"main.work\"\n"
             "list:\n.long 0, first - list, work - code, second - list, lost - code, third - list, end - code\n"
             "first:\n.long 0, first_name - names\nsecond:\n.long work - code, second_name - names\n"
             "third:\n.long lost - code, 0x7fffffff\n",
             magic, code, first_name);
    assert_true(file_write(path_of("go.s"), text_of(text)));
    run("cc -nostdlib -static -no-pie go.s -o go && nm go | sed -n 's/ T _start$//p' > start && strip go");
}

static void assert_no_go(void) {
    uint64_t start = read_address(&test.folder, "start");
    open_table("go");
    assert_null(symbol_table_find(&test.table, start));
    assert_null(symbol_table_find(&test.table, start + 40));
    close_table();
}

static void assert_go(void) {
    uint64_t start = read_address(&test.folder, "start");
    open_table("go");
    assert_symbol(start + 31, "_rt0_test", start, start + 32);
    assert_symbol(start + 32, "main.work", start + 32, start + 48);
    assert_null(symbol_table_find(&test.table, start + 48));
    close_table();
}

TEST(stripped_programs_of_go_have_names) {
    make_go("0xfffffff0", "code", "_rt0_test");
    assert_go();
    make_go("0xfffffff1", "code", "_rt0_test");
    assert_go();
    /* Newer tables do not tell where the code is: the program starts in a certain function. */
    make_go("0xfffffff1", "0", "_rt0_test");
    assert_go();
}

TEST(tables_of_go_that_are_not_understood_name_nothing) {
    make_go("0xfffffff1", "0", "main.start");
    assert_no_go();
    make_go("0xffffff00", "code", "_rt0_test");
    assert_no_go();
    make_go("0xfffffff1", "code", "_rt0_test");
    run("objcopy --dump-section .gopclntab=table go && head -c 120 table > cut && "
        "objcopy --update-section .gopclntab=cut go");
    assert_no_go();
}

int main(void) { return unit_tests_run(set_up_group, tear_down_group); }
