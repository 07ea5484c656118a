/* Compares line tables with those that libdw reads, in programs that are compiled here, and reads damaged ones. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/symbols/line_table.h"
#include "tests/support/shell_command.h"
#include "tests/support/unit_test.h"

static struct {
    struct temp_folder folder;
    struct failure failure;
    struct debug_file file;
    struct line_sections sections;
    Dwarf *dwarf;
} test;

#define run(...) run_in_folder(&test.folder, __VA_ARGS__)

static const char *path_of(const char *name) { return temp_folder_file(&test.folder, name); }

static const char header_text[] =
    "static inline int twice(int x) {\n"
    "    return x * 2;\n"
    "}\n";

static const char source_text[] =
    "#include <stdlib.h>\n"
    "#include \"sub/header.h\"\n"
    "volatile int sink;\n"
    "__attribute__((cold, noinline)) static void rare(int x) {\n"
    "    sink = twice(x);\n"
    "    abort();\n"
    "}\n"
    "int unused(int x) { return x + 1; }\n"
    "__attribute__((noinline)) int often(int x) {\n"
    "    for (int i = 0; i < x; i++) {\n"
    "        if (i == 77) rare(i);\n"
    "        sink += twice(i);\n"
    "    }\n"
    "    return sink;\n"
    "}\n"
    "int main(int count, char **words) {\n"
    "    return often(count) + atoi(words[0]);\n"
    "}\n";

static int set_up_group(void **state) {
    if (!temp_folder_init(&test.folder)) return -1;
    run("mkdir sub");
    bool is_written =
        file_write(path_of("sub/header.h"), TEXT(header_text)) && file_write(path_of("a.c"), TEXT(source_text));
    return is_written ? 0 : -1;
}

static int tear_down_group(void **state) {
    run("rm -rf sub * && cd / && rmdir '%s'", test.folder.path);
    return 0;
}

static void open_program(const char *flags) {
    run("${CC:-cc} -w -O2 -g %s a.c -o program", flags);
    failure_clear(&test.failure);
    assert_true(debug_file_open(&test.file, path_of("program")));
    assert_true(debug_file_uncompress(&test.file));
    test.sections = line_sections_find(&test.file);
    test.dwarf = dwarf_begin_elf(test.file.elf, DWARF_C_READ, NULL);
    assert_non_null(test.dwarf);
}

static void close_program(void) {
    dwarf_end(test.dwarf);
    debug_file_close(&test.file);
}

/* Returns the entry of the unit that has a line table. */
static Dwarf_Die unit_of_program(uint64_t *offset, const char **folder) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(test.dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        Dwarf_Attribute attribute;
        if (!dwarf_attr(&die, DW_AT_stmt_list, &attribute)) continue;
        assert_int_equal(dwarf_formudata(&attribute, offset), 0);
        *folder = dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &attribute));
        return die;
    }
    fail_msg("no unit has a line table");
    return die;
}

/* ---- Programs. ---- */

static void assert_same_row(struct line_table *table, Dwarf_Line *line, Dwarf_Addr address) {
    int number, column;
    const struct line_row *row = line_table_find(table, address);
    if (!row) fail_msg("nothing at %llx", (unsigned long long)address);
    assert_int_equal(dwarf_lineno(line, &number) | dwarf_linecol(line, &column), 0);
    assert_int_equal(row->line, number);
    assert_int_equal(row->column, column);
    assert_string_equal(line_table_file(table, row->file), dwarf_linesrc(line, NULL, NULL));
}

/* Compares what is at each address from each row to the next one. Returns the number of rows. */
static size_t compare_rows(struct line_table *table, Dwarf_Lines *lines, size_t count) {
    size_t compared_count = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        Dwarf_Addr address, next;
        bool is_end;
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        assert_int_equal(dwarf_lineaddr(line, &address) | dwarf_lineendsequence(line, &is_end), 0);
        assert_int_equal(dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &next), 0);
        if (address < DEBUG_ADDRESS_MIN || next <= address) continue;
        if (is_end) {
            assert_null(line_table_find(table, address));
            continue;
        }
        assert_same_row(table, line, address);
        assert_same_row(table, line, next - 1);
        compared_count++;
    }
    return compared_count;
}

static void assert_same_table(const char *flags) {
    uint64_t offset;
    const char *folder;
    struct line_table table;
    open_program(flags);
    Dwarf_Die die = unit_of_program(&offset, &folder);
    Dwarf_Lines *lines;
    Dwarf_Files *files;
    size_t count, file_count;
    assert_int_equal(dwarf_getsrclines(&die, &lines, &count) | dwarf_getsrcfiles(&die, &files, &file_count), 0);
    line_table_init(&table, &test.sections, offset, folder, &test.failure);
    assert_false(failure_is_set(&test.failure));
    assert_true(compare_rows(&table, lines, count) > 10);
    assert_null(line_table_find(&table, 0));
    assert_null(line_table_find(&table, UINT64_MAX));
    assert_null(line_table_file(&table, file_count));
    for (size_t i = 1; i < file_count; i++)
        assert_string_equal(line_table_file(&table, i), dwarf_filesrc(files, i, NULL, NULL));
    line_table_fini(&table);
    close_program();
}

static void tables_of_all_versions_are_those_of_libdw(void **state) {
    assert_same_table("-gdwarf-2 -gstrict-dwarf");
    assert_same_table("-gdwarf-3 -gstrict-dwarf");
    assert_same_table("-gdwarf-4");
    assert_same_table("-gdwarf-5");
    assert_same_table("-gdwarf-5 -gz=zlib");
}

/* The linker places the sections of functions in another order, and drops one. */
static void sequences_in_any_order_are_found(void **state) {
    assert_same_table("-ffunction-sections -Wl,--gc-sections");
    assert_same_table("-gdwarf-4 -ffunction-sections -Wl,--gc-sections -fno-pie -no-pie");
}

/* ---- Made by hand. ---- */

/* A table of version 4 for a machine with two operations in an instruction of 16 bytes. */
static const unsigned char two_operations[] = {
    57,  0, 0, 0,    4,    0,  30, 0, 0, 0,                         /* the lengths and the version */
    16,  2, 1, 0xfb, 14,   13, 0,  1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, /* up to the counts of operands */
    'd', 0, 0, 'f',  0,    1,  0,  0, 0, 0, 0, 0,                   /* a folder and a file */
    0,   9, 2, 0,    0x10, 0,  0,  0, 0, 0, 0,                      /* the address 0x1000 */
    1,                                                              /* a row for line 1 */
    33,                                                             /* one operation and one line on */
    2,   2, 1,                                                      /* two operations on, and a row */
    2,   1, 0, 1,    1,                                             /* one operation on, and the end */
};

static void operations_of_an_instruction_are_counted(void **state) {
    struct line_table table;
    const struct line_sections sections = {.lines = {(const char *)two_operations, sizeof two_operations}};
    line_table_init(&table, &sections, 0, "/unit", &test.failure);
    assert_int_equal(table.row_count, 4);
    assert_int_equal(table.rows[0].address, 0x1000);
    assert_int_equal(table.rows[1].address, 0x1000);
    assert_int_equal(table.rows[2].address, 0x1010);
    assert_int_equal(table.rows[3].address, 0x1020);
    assert_int_equal(table.rows[1].line, 2);
    assert_true(table.rows[3].is_end);
    assert_string_equal(line_table_file(&table, 1), "d/f");
    assert_null(line_table_file(&table, 0));
    line_table_fini(&table);
}

/* ---- Damage. ---- */

static void read_table(struct text bytes) {
    struct line_table table;
    struct line_sections sections = test.sections;
    /* A copy, so that a sanitizer sees what is read beyond its end. */
    char *copy = malloc(bytes.bytes_count + 1);
    assert_non_null(copy);
    memcpy(copy, bytes.bytes, bytes.bytes_count);
    copy[bytes.bytes_count] = 1;
    sections.lines = (struct text){copy, bytes.bytes_count};
    line_table_init(&table, &sections, 0, "/unit", &test.failure);
    assert_false(failure_is_set(&test.failure));
    for (uint64_t address = 0; address < 0x3000; address += 0x77) {
        const struct line_row *row = line_table_find(&table, address);
        if (row) line_table_file(&table, row->file);
    }
    line_table_fini(&table);
    free(copy);
}

static void damaged_tables_are_read_without_harm(void **state) {
    static const char *const flags[] = {"-gdwarf-4 -fno-pie -no-pie", "-gdwarf-5"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        open_program(flags[i]);
        struct text lines = test.sections.lines;
        char *damaged = malloc(lines.bytes_count);
        assert_non_null(damaged);
        for (size_t end = 0; end <= lines.bytes_count; end++) read_table(text_slice(lines, 0, end));
        for (size_t at = 0; at < lines.bytes_count; at++) {
            memcpy(damaged, lines.bytes, lines.bytes_count);
            damaged[at] = (char)~damaged[at];
            read_table((struct text){damaged, lines.bytes_count});
            damaged[at] = 0;
            read_table((struct text){damaged, lines.bytes_count});
        }
        free(damaged);
        close_program();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_all_versions_are_those_of_libdw),
        cmocka_unit_test(sequences_in_any_order_are_found),
        cmocka_unit_test(operations_of_an_instruction_are_counted),
        cmocka_unit_test(damaged_tables_are_read_without_harm),
    };
    return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
