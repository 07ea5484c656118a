/* Tests the look-up of functions, files and lines, in programs that are compiled here. */
#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bus_guard.h"
#include "libconvert/profile/sweep.h"
#include "libconvert/symbols/debug_file.h"
#include "libconvert/symbols/library_symbols.h"
#include "libconvert/symbols/symbolize.h"
#include "readers/code/script_frames.h"
#include "tests/support/assert_text.h"
#include "tests/support/profile_check.h"
#include "tests/support/shell_command.h"
#include "tests/support/unit_test.h"

/* The labels mark addresses to look up. The comments are line numbers. */
static const char program_text[] =
    /* 1 */
    "extern \"C\" { volatile int sink; }\n"
    /* 2 */
    "namespace demo {\n"
    /* 3 */
    "struct counter { int add(int value); };\n"
    /* 4 */
    "static inline __attribute__((always_inline)) void deepest(int value) {\n"
    /* 5 */
    "    sink = value;\n"
    /* 6 */
    "    asm volatile(\".globl probe_deepest\\nprobe_deepest:\\n\\tnop\");\n"
    /* 7 */
    "}\n"
    /* 8 */
    "static inline __attribute__((always_inline)) void middle(int value) {\n"
    /* 9 */
    "    deepest(value + 1);\n"
    /* 10 */
    "    asm volatile(\".globl probe_middle\\nprobe_middle:\\n\\tnop\");\n"
    /* 11 */
    "}\n"
    /* 12 */
    "__attribute__((noinline)) int counter::add(int value) {\n"
    /* 13 */
    "    middle(value);\n"
    /* 14 */
    "    asm volatile(\".globl probe_add\\nprobe_add:\\n\\tnop\");\n"
    /* 15 */
    "    return value;\n"
    /* 16 */
    "}\n"
    /* 17 */
    "}\n"
    /* 18 */
    "extern \"C\" __attribute__((noinline)) int plain(int value) {\n"
    /* 19 */
    "    asm volatile(\".globl probe_plain\\nprobe_plain:\\n\\tnop\");\n"
    /* 20 */
    "    return value + sink;\n"
    /* 21 */
    "}\n"
    /* 22 */ "int main(int count, char **) { demo::counter c; return c.add(count) + plain(count); }\n";

static struct {
    struct temp_folder folder;
    struct failure failure;
    struct profile profile;
    struct thread *thread;
    char text[16384];
    char build_id[DEBUG_BUILD_ID_DIGITS_MAX + 1];
} test;

/* ---- Files. ---- */

#define run(...) run_in_folder(&test.folder, __VA_ARGS__)

static const char *path_of(const char *name) { return temp_folder_file(&test.folder, name); }

/* Compiles the program once, with everything that it can have; tests work on copies. `flags` are passed to compiler and
 * linker. */
static void compile(const char *name, const char *flags) {
    assert_true(file_write(path_of("program.cc"), TEXT(program_text)));
    /* Options of sanitizers must not apply to the program that is compiled. */
    run("c++ -g -O2 -gdwarf-4 -rdynamic -Wl,--build-id %s \"$PWD/program.cc\" -o '%s'", flags, name);
}

static void read_build_id(const char *name) {
    struct debug_file file;
    assert_true(debug_file_open(&file, NULL, path_of(name), (char[PATH_MAX]){0}));
    snprintf(test.build_id, sizeof test.build_id, "%s", file.build_id);
    debug_file_close(&file);
}

/* Returns the address of the label in the file. */
static uint64_t label(const char *file, const char *name) {
    size_t bytes_count;
    char *bytes = file_read(path_of(file), &bytes_count);
    assert_non_null(bytes);
    Elf *elf = elf_memory(bytes, bytes_count);
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB) break;
    assert_non_null(section);
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol, found = {.st_value = 0};
    for (int i = 1; gelf_getsym(data, i, &symbol); i++) {
        const char *text = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (text && !strcmp(text, name)) found = symbol;
    }
    if (!found.st_value) fail_msg("%s is not in %s", name, file);
    elf_end(elf);
    free(bytes);
    return found.st_value;
}

static int set_up_group(void **state) {
    if (!temp_folder_init(&test.folder)) return -1;
    compile("whole", "-pie -fPIE");
    read_build_id("whole");
    return 0;
}

static int tear_down_group(void **state) {
    run("rm -rf *  .debug && cd / && rmdir '%s'", test.folder.path);
    return 0;
}

/* ---- Profiles. ---- */

static int set_up(void **state) {
    read_build_id("whole");
    failure_clear(&test.failure);
    profile_init(&test.profile, &test.failure);
    process_id process = profile_add_process(&test.profile, 1, 0);
    test.thread = profile_thread_at(&test.profile, profile_add_thread(&test.profile, process, 1, 0));
    return 0;
}

static int tear_down(void **state) {
    profile_fini(&test.profile);
    return 0;
}

static string_id string_of(const char *text) { return profile_string(&test.profile, text_of(text)); }

static lib_id lib_of(const char *path, const char *build_id) {
    return libs_intern(&test.profile.libs, text_of(path), text_of(build_id));
}

static struct frame frame_of(lib_id lib, uint64_t address, const char *name) {
    struct func func = {.name = string_of(name), .resource = resource_none(), .source = source_none()};
    func.resource = profile_resource(&test.profile, string_of("library"), RESOURCE_LIBRARY);
    return (struct frame){.func = profile_func(&test.profile, &func),
                          .address = (int32_t)address,
                          .lib = lib,
                          .native_symbol = native_symbol_none()};
}

/* Adds a sample of two frames: a root without an address, and a leaf with nothing but an address. */
static void add_sample(lib_id lib, uint64_t address) {
    char name[32];
    snprintf(name, sizeof name, "0x%llx", (unsigned long long)address);
    struct frame root = frame_of(lib_none(), 0, "root"), leaf = frame_of(lib, address, name);
    root.address = ADDRESS_NONE;
    stack_id stack = profile_stack(&test.profile, stack_none(), profile_frame(&test.profile, &root));
    stack = profile_stack(&test.profile, stack, profile_frame(&test.profile, &leaf));
    thread_add_sample(test.thread, 1, stack, 1);
}

static void symbolize_with(enum gecko_convert_symbols choice, const struct debug_folders *folders) {
    struct symbolize_options options = {.symbols = choice, .folders = *folders, .job_count = 8};
    profile_symbolize(&test.profile, &options, (struct progress){0});
    assert_false(failure_is_set(&test.failure));
}

static void symbolize(enum gecko_convert_symbols choice) {
    symbolize_with(choice, &(struct debug_folders){.count = 0});
}

static void print(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void print(const char *format, ...) {
    size_t used = strlen(test.text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(test.text + used, sizeof test.text - used, format, arguments);
    va_end(arguments);
}

static struct text string_at(string_id id) { return strings_text(&test.profile.strings, id); }

/* Prints "name from line of the function, file:line" and, for inlined frames, their depth. */
static void print_frame(const struct frame *frame) {
    const struct func *func = profile_func_at(&test.profile, frame->func);
    print("%.*s", TEXT_ARGS(string_at(func->name)));
    if (func->line) print(" from %u", func->line);
    if (!source_is_none(func->source)) {
        struct text file = text_base_name(string_at(profile_source_at(&test.profile, func->source)->filename));
        print(", %.*s:%u", TEXT_ARGS(file), frame->line);
    }
    if (frame->inline_depth) print(" #%u", frame->inline_depth);
    if (!native_symbol_is_none(frame->native_symbol)) {
        const struct native_symbol *symbol = profile_native_symbol_at(&test.profile, frame->native_symbol);
        print(" [%.*s]", TEXT_ARGS(string_at(symbol->name)));
    }
    print("\n");
}

static void print_stack(stack_id stack) {
    if (stack_is_none(stack)) return;
    const struct stack *row = profile_stack_at(&test.profile, stack);
    print_stack(row->prefix);
    print_frame(profile_frame_at(&test.profile, row->frame));
}

static stack_id sample_stack(size_t row) { return samples_at(&test.thread->samples, row)->stack; }

static const struct frame *leaf(size_t row) {
    return profile_frame_at(&test.profile, profile_stack_at(&test.profile, sample_stack(row))->frame);
}

static struct text source_of_leaf(size_t row) {
    const struct func *func = profile_func_at(&test.profile, leaf(row)->func);
    return string_at(profile_source_at(&test.profile, func->source)->filename);
}

static void assert_stack(size_t row, const char *expected) {
    test.text[0] = '\0';
    print_stack(sample_stack(row));
    assert_string_equal(test.text, expected);
    assert_null(stacks_fault(&test.profile));
    assert_null(frames_fault(&test.profile));
}

/* Compares all entries of that fate, as lines "count cause" without the path of the folder. */
static void assert_entries(enum gecko_convert_fate fate, const char *expected) {
    test.text[0] = '\0';
    for (size_t i = 0; i < test.profile.ledger.entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(&test.profile.ledger, i);
        assert_int_equal(entry->unit, LEDGER_VALUES);
        if (entry->fate == fate) print("%u %.*s\n", (unsigned)entry->count, TEXT_ARGS(entry->cause));
    }
    assert_true(ledger_is_balanced(&test.profile.ledger));
    char *place;
    while ((place = strstr(test.text, test.folder.path))) {
        size_t bytes_count = strlen(test.folder.path) + 1;
        memmove(place, place + bytes_count, strlen(place + bytes_count) + 1);
    }
    assert_string_equal(test.text, expected);
}

/* Asserts that there are exactly these notes, and no losses. */
static void assert_notes(const char *expected) {
    assert_entries(LEDGER_LOST, "");
    assert_entries(LEDGER_NOTED, expected);
}

/* ---- What is found. ---- */

static const char deepest_lines[] =
    "root\n"
    "demo::counter::add(int) from 12, program.cc:13 [demo::counter::add(int)]\n"
    "demo::middle from 8, program.cc:9 #1 [demo::counter::add(int)]\n"
    "demo::deepest from 4, program.cc:6 #2 [demo::counter::add(int)]\n";

static const char add_symbols[] = "root\ndemo::counter::add(int) [demo::counter::add(int)]\n";

TEST(inlined_calls_become_frames, set_up, tear_down) {
    lib_id lib = lib_of(path_of("whole"), test.build_id);
    add_sample(lib, label("whole", "probe_deepest"));
    add_sample(lib, label("whole", "probe_middle"));
    add_sample(lib, label("whole", "probe_add"));
    add_sample(lib, label("whole", "probe_plain"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, deepest_lines);
    assert_stack(1,
                 "root\n"
                 "demo::counter::add(int) from 12, program.cc:13 [demo::counter::add(int)]\n"
                 "demo::middle from 8, program.cc:10 #1 [demo::counter::add(int)]\n");
    assert_stack(2, "root\ndemo::counter::add(int) from 12, program.cc:14 [demo::counter::add(int)]\n");
    assert_stack(3, "root\nplain from 18, program.cc:19 [plain]\n");
    assert_notes("");
    assert_int_equal(leaf(0)->address, label("whole", "probe_deepest"));
    const struct func *func = profile_func_at(&test.profile, leaf(0)->func);
    assert_int_equal(func->resource.index, 0);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", path_of("program.cc"));
    assert_true(text_equal(source_of_leaf(0), text_of(path)));
    const struct native_symbol *symbol = profile_native_symbol_at(&test.profile, leaf(0)->native_symbol);
    assert_int_equal(symbol->address, label("whole", "_ZN4demo7counter3addEi"));
}

/* Looks up an address without a child process, in a file that is in memory. */
TEST(bytes_of_a_file_are_enough, set_up, tear_down) {
    struct text bytes = {.bytes_count = 0};
    struct debug_files files = {.first.descriptor = -1};
    struct library_symbols symbols;
    struct symbol_place place;
    uint64_t address = label("whole", "probe_deepest");
    bytes.bytes = file_read(path_of("whole"), &bytes.bytes_count);
    assert_true(debug_file_open_memory(&files.first, bytes));
    assert_string_equal(files.first.build_id, test.build_id);
    assert_true(library_symbols_init(&symbols, &files, NULL, &test.failure));
    assert_int_equal(library_symbols_find(&symbols, (int32_t)address, false, &place), SYMBOL_FOUND);
    assert_int_equal(place.address, address);
    assert_string_equal(place.symbol->name, "_ZN4demo7counter3addEi");
    assert_int_equal(place.call_count, 3);
    assert_string_equal(place.calls[2].name, "demo::deepest");
    assert_int_equal(place.calls[2].line, 6);
    assert_int_equal(library_symbols_find(&symbols, INT32_MAX, false, &place), SYMBOL_UNKNOWN);
    library_symbols_fini(&symbols);
    debug_file_close(&files.first);
    assert_false(debug_file_open_memory(&files.first, text_slice(bytes, 0, 100)));
    free((char *)(uintptr_t)bytes.bytes);
}

static void assert_compiled(const char *flags) {
    compile("variant", flags);
    read_build_id("variant");
    add_sample(lib_of(path_of("variant"), test.build_id), label("variant", "probe_deepest"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(samples_count(&test.thread->samples) - 1, deepest_lines);
    read_build_id("whole");
}

TEST(other_ways_to_compile, set_up, tear_down) {
    assert_compiled("-gdwarf-5");
    assert_compiled("-gdwarf-3 -gstrict-dwarf");
    assert_compiled("-gz=zlib");
    assert_compiled("-ffunction-sections -Wl,--gc-sections");
    assert_compiled("-shared -fPIC");
}

/* Debug information that does not say where it was built has a relative folder. */
TEST(relative_folders_are_joined_once, set_up, tear_down) {
    static const char *const versions[] = {"4", "5"};
    run("mkdir -p build other && printf 'void outer(void) {}\\n' > other/outer.h && "
        "printf '#include \"../other/outer.h\"\\nint main(void) { outer(); return 0; }\\n' > build/inner.c");
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        run("cd build && cc -g -gdwarf-%s -ffile-prefix-map=\"$PWD\"=./build -Wl,--build-id inner.c -o ../relative",
            versions[i]);
        read_build_id("relative");
        lib_id lib = lib_of(path_of("relative"), test.build_id);
        add_sample(lib, label("relative", "main"));
        add_sample(lib, label("relative", "outer"));
        symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
        assert_text(source_of_leaf(2 * i), "build/inner.c");
        assert_text(source_of_leaf(2 * i + 1), "other/outer.h");
    }
    run("rm -r build other relative");
}

TEST(clang_too, set_up, tear_down) {
    if (system("command -v clang++ >/dev/null") != 0) skip();
    run("clang++ -g -O2 -rdynamic -fPIE -pie -Wl,--build-id \"$PWD/program.cc\" -o clang");
    read_build_id("clang");
    add_sample(lib_of(path_of("clang"), test.build_id), label("clang", "probe_deepest"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0,
                 "root\n"
                 "demo::counter::add(int) from 12, program.cc:13 [demo::counter::add(int)]\n"
                 "demo::middle(int) from 8, program.cc:9 #1 [demo::counter::add(int)]\n"
                 "demo::deepest(int) from 4, program.cc:6 #2 [demo::counter::add(int)]\n");
}

TEST(split_dwarf_is_followed, set_up, tear_down) {
    assert_true(file_write(path_of("program.cc"), TEXT(program_text)));
    run("c++ -g -O2 -gsplit-dwarf -c \"$PWD/program.cc\" -o split.o && c++ -rdynamic -Wl,--build-id split.o -o split");
    read_build_id("split");
    add_sample(lib_of(path_of("split"), test.build_id), label("split", "probe_deepest"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, deepest_lines);
    run("rm split.dwo");
    tear_down(NULL);
    set_up(NULL);
    read_build_id("split");
    add_sample(lib_of(path_of("split"), test.build_id), label("split", "probe_deepest"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "root\ndemo::counter::add(int), program.cc:6 [demo::counter::add(int)]\n");
    assert_notes("1 address in split: a part of its debug information is in .dwo files, which were not found\n");
}

/* ---- Debug information that is shared (dwz). ---- */

static const char shared_header[] =
    "namespace demo {\n"
    "extern volatile int sink;\n"
    "struct counter { int add(int value); int b1; int b2; long c; struct { int x; int y; double z; } d; };\n"
    "struct other {\n"
    "    counter a, b, c;\n"
    "    static inline __attribute__((always_inline)) void deepest(int value) {\n"
    "        sink = value;\n"
    "        asm volatile(\".weak probe_deepest\\nprobe_deepest:\\n\\tnop\");\n"
    "    }\n"
    "};\n"
    "static inline __attribute__((always_inline)) void middle(int value) {\n"
    "    other::deepest(value + 1);\n"
    "    asm volatile(\".weak probe_middle\\nprobe_middle:\\n\\tnop\");\n"
    "}\n"
    "}\n";

static const char shared_lines[] =
    "root\n"
    "f(int) from 2, first.cc:2 [f(int)]\n"
    "demo::middle from 11, shared.h:12 #1 [f(int)]\n"
    "demo::other::deepest(int) from 6, shared.h:8 #2 [f(int)]\n";

static const char shared_middle_lines[] =
    "root\n"
    "f(int) from 2, first.cc:2 [f(int)]\n"
    "demo::middle from 11, shared.h:13 #1 [f(int)]\n";

/* Compiles two programs, `one` and `two`, each with two units, which share inlined functions. */
static void compile_sharing(const char *flags) {
    assert_true(file_write(path_of("shared.h"), TEXT(shared_header)));
    run("printf '#include \"shared.h\"\nint f(int v) { demo::middle(v); return v; }\n' > first.cc && "
        "printf '#include \"shared.h\"\nint demo::counter::add(int v) { middle(v); return v; }\n' > second.cc && "
        "printf '#include \"shared.h\"\nvolatile int demo::sink;\nint f(int);\n"
        "int main(int c, char **) { demo::counter d; return f(c) + d.add(c); }\n' > third.cc && "
        "c++ -g -O2 -Wl,--build-id %s first.cc second.cc third.cc -o one && "
        "c++ -g -O1 -Wl,--build-id %s first.cc second.cc third.cc -o two",
        flags, flags);
}

static void assert_shared(const char *file, const char *folder, const char *notes) {
    const char *const folders[] = {folder};
    tear_down(NULL);
    set_up(NULL);
    read_build_id(file);
    add_sample(lib_of(path_of(file), test.build_id), label("one", "probe_deepest"));
    add_sample(lib_of(path_of(file), test.build_id), label("one", "probe_middle"));
    symbolize_with(GECKO_CONVERT_SYMBOLS_AUTO, &(struct debug_folders){.paths = folders, .count = folder ? 1 : 0});
    assert_notes(notes);
}

static void assert_shared_lines(const char *file, const char *folder) {
    assert_shared(file, folder, "");
    assert_stack(0, shared_lines);
    assert_stack(1, shared_middle_lines);
}

/* dwz moves what several units of a file share to units of their own. */
TEST(shared_units_are_read, set_up, tear_down) {
    compile_sharing("-gdwarf-5");
    assert_shared_lines("one", NULL);
    run("cp one own && dwz own && readelf --debug-dump=info own | grep -q DW_TAG_partial_unit");
    assert_shared_lines("own", NULL);
    compile_sharing("-gdwarf-4 -fdebug-types-section");
    assert_shared_lines("one", NULL);
    run("cp one own && dwz own");
    assert_shared_lines("own", NULL);
    run("rm own");
}

/* dwz moves what several files share to a supplement. */
TEST(supplements_are_read, set_up, tear_down) {
    static const char note[] = "2 address in one: what its debug information shares with others was not found\n";
    char folder[PATH_MAX], id[DEBUG_BUILD_ID_DIGITS_MAX + 1];
    snprintf(folder, sizeof folder, "%s", path_of("d"));
    compile_sharing("-gdwarf-5");
    run("mkdir -p s && dwz -m s/common one two && readelf -SW s/common | grep -q debug_info");
    assert_shared_lines("one", NULL);

    struct debug_file supplement;
    assert_true(debug_file_open_supplement(&supplement, NULL, path_of("s/common")));
    snprintf(id, sizeof id, "%s", supplement.build_id);
    debug_file_close(&supplement);
    run("rm -rf d && mkdir -p d/.build-id/%.2s && mv s/common d/.build-id/%.2s/%s.debug", id, id, id + 2);
    assert_shared_lines("one", folder);

    /* Without the supplement, inlined functions have no names: they are left out. The physical function has the name
     * from the symbols, and its own line. */
    assert_shared("one", NULL, note);
    assert_stack(0, "root\nf(int) from 2, first.cc:2 [f(int)]\n");

    /* libdw cannot read a supplement in the form of DWARF 5. */
    compile_sharing("-gdwarf-5");
    run("dwz -5 -m s/common one two && readelf -SW one | grep -q debug_sup");
    assert_shared("one", NULL, note);

    /* A wrong supplement at the right path is refused. */
    run("sed -i s/counter/ticker/ shared.h second.cc third.cc && "
        "c++ -g -O3 first.cc second.cc third.cc -o three && c++ -g -O0 first.cc second.cc third.cc -o four && "
        "dwz -m s/common three four && readelf -SW s/common | grep -q debug_info");
    assert_shared("one", NULL, note);
    run("rm -rf three four s d");
}

/* The layout of Debian: the program is stripped, its debug information is found by build id, and the supplement is
 * beside that. */
TEST(supplements_of_separate_debug_information_are_read, set_up, tear_down) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path_of("d"));
    compile_sharing("-gdwarf-5");
    read_build_id("one");
    run("rm -rf d && mkdir -p d/.dwz d/.build-id/%.2s && dwz -m d/.dwz/common -M ../../.dwz/common one two && "
        "objcopy --only-keep-debug --compress-debug-sections one d/.build-id/%.2s/%s.debug && "
        "cp one whole-one && strip --strip-all one -o stripped && mv whole-one one",
        test.build_id, test.build_id, test.build_id + 2);
    assert_shared_lines("stripped", folder);
    /* A file that is found by its build id may be a symbolic link. The path of the supplement is relative to the folder
     * of its target. */
    run("mkdir -p d/e/f && mv d/.build-id/%.2s/%s.debug d/e/f && ln -s ../../e/f/%s.debug d/.build-id/%.2s",
        test.build_id, test.build_id + 2, test.build_id + 2, test.build_id);
    assert_shared_lines("stripped", folder);
    run("rm -rf stripped d");
}

/* The linkage name of a C function adds nothing to its name. */
TEST(functions_in_functions_are_found, set_up, tear_down) {
    run("printf 'volatile int sink;\n"
        "static inline __attribute__((always_inline)) void deep(int v) {\n"
        "    sink = v;\n"
        "    __asm__ volatile(\".globl probe\\\\nprobe: nop\");\n"
        "}\n"
        "int main(int count, char **texts) {\n"
        "    __attribute__((noinline, noclone)) int inner(int v) { deep(v + count); return v; }\n"
        "    (void)texts;\n"
        "    return inner(count);\n"
        "}\n' > nested.c && gcc -g -O2 nested.c -Wl,--build-id -o nested");
    read_build_id("nested");
    add_sample(lib_of(path_of("nested"), test.build_id), label("nested", "probe"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "root\ninner from 7, nested.c:7 [inner.0]\ndeep from 2, nested.c:4 #1 [inner.0]\n");
}

TEST(inlined_functions_of_the_recorder_are_left_out, set_up, tear_down) {
    static const char header[] =
        "static inline __attribute__((always_inline)) void grec_sample(void) {\n"
        "    __asm__ volatile(\".globl probe\\nprobe: nop\");\n"
        "}\n";
    assert_true(file_write(path_of("gecko_recorder.h"), TEXT(header)));
    run("printf '#include \"gecko_recorder.h\"\\nint main(void) {\\n    grec_sample();\\n    return 0;\\n}\\n' > "
        "sampled.c && "
        "cc -g -O1 sampled.c -Wl,--build-id -o sampled");
    read_build_id("sampled");
    lib_id lib = lib_of(path_of("sampled"), test.build_id);
    add_sample(lib, label("sampled", "probe"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "root\nmain from 2, sampled.c:3 [main]\n");
}

/* Compilers other than gcc do not list the addresses of their units. */
TEST(units_have_lines_whether_or_not_they_are_listed, set_up, tear_down) {
    run("printf 'int unlisted(void) { return 1; }\\n' > u.c && cc -g -c u.c && objcopy -R .debug_aranges u.o && "
        "printf 'int unlisted(void);\\nint main(void) { return unlisted(); }\\n' > l.c && "
        "cc -g l.c u.o -Wl,--build-id -o l");
    read_build_id("l");
    lib_id lib = lib_of(path_of("l"), test.build_id);
    add_sample(lib, label("l", "main"));
    add_sample(lib, label("l", "unlisted"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "root\nmain from 2, l.c:2 [main]\n");
    assert_stack(1, "root\nunlisted from 1, u.c:1 [unlisted]\n");
}

/* Each unit is listed with the addresses of the other one. */
TEST(units_have_lines_even_if_they_are_listed_wrong, set_up, tear_down) {
    run("printf 'int called(void) { return 1; }\\n' > c.c && "
        "printf 'int called(void);\\nint main(void) { return called(); }\\n' > w.c && "
        "cc -g w.c c.c -Wl,--build-id -o w && objcopy --dump-section .debug_aranges=all w && "
        "cp all was && for places in '6 54' '54 6'; do set -- $places && "
        "dd if=was of=all bs=1 skip=$1 seek=$2 count=4 conv=notrunc status=none; done && "
        "objcopy --update-section .debug_aranges=all w");
    read_build_id("w");
    lib_id lib = lib_of(path_of("w"), test.build_id);
    add_sample(lib, label("w", "main"));
    add_sample(lib, label("w", "called"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "root\nmain from 2, w.c:2 [main]\n");
    assert_stack(1, "root\ncalled from 1, c.c:1 [called]\n");
}

/* The name that others use for a function is that of its symbol. */
TEST(a_function_has_the_name_of_its_symbol, set_up, tear_down) {
    run("printf 'int own(void) __asm__(\"alias\");\\n__attribute__((noinline)) int own(void) { return 1; }\\n"
        "int main(void) { return own(); }\\n' > c.c && cc -g c.c -Wl,--build-id -o c");
    read_build_id("c");
    add_sample(lib_of(path_of("c"), test.build_id), label("c", "alias"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "root\nalias from 2, c.c:2 [alias]\n");
}

/* glibc names the symbols of functions that it calls itself after them. */
TEST(a_name_that_glibc_makes_is_that_of_its_function, set_up, tear_down) {
    run("printf 'int own(void) __asm__(\"__GI_own.part.0\");\n__attribute__((noinline)) int own(void) { return 1; }\n"
        "int main(void) { return own(); }\n' > c.c && cc -g c.c -Wl,--build-id -o c");
    read_build_id("c");
    add_sample(lib_of(path_of("c"), test.build_id), label("c", "__GI_own.part.0"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "root\nown from 2, c.c:2 [__GI_own.part.0]\n");
}

/* Calls in which the compiler leaves no symbol. */
static const char lambda_text[] =
    "volatile unsigned sink;\n"
    "#define PROBE(name) __asm__ volatile(\".globl \" name \"\\n\" name \": nop\")\n"
    "static unsigned shapes(unsigned n) {\n"
    "    { auto first = [&](unsigned x) { sink += x * n; PROBE(\"probe_1\"); }; first(1); }\n"
    "    auto second = [&](unsigned x) { sink ^= x + n; PROBE(\"probe_2\"); };\n"
    "    struct local { void run() { sink++; PROBE(\"probe_3\"); } };\n"
    "    second(2), local().run();\n"
    "    return sink;\n"
    "}\n"
    "int main() { return shapes(2); }\n";

static void assert_name_at(size_t row, const char *expected) {
    struct text name = string_at(profile_func_at(&test.profile, leaf(row)->func)->name);
    assert_int_equal(name.bytes_count, strlen(expected));
    assert_memory_equal(name.bytes, expected, name.bytes_count);
}

TEST(lambdas_and_local_types_are_functions_of_their_own, set_up, tear_down) {
    assert_true(file_write(path_of("lambda.cc"), TEXT(lambda_text)));
    run("g++ -g -O2 lambda.cc -Wl,--build-id -o lambda");
    read_build_id("lambda");
    lib_id lib = lib_of(path_of("lambda"), test.build_id);
    for (char name[] = "probe_1"; name[6] <= '3'; name[6]++) add_sample(lib, label("lambda", name));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_name_at(0, "shapes::{lambda#1}::operator()");
    assert_name_at(1, "shapes::{lambda#2}::operator()");
    assert_name_at(2, "shapes::local::run");
}

/* A function in 20 namespaces and a type without a name, which has no linkage name, and 300 calls in each other. */
static const char deep_text[] =
    "for i in $(seq 20); do echo \"namespace n$i {\"; done > deep.cc\n"
    "cat >> deep.cc <<'EOF'\n"
    "#define CALL static inline __attribute__((always_inline)) void call\n"
    "volatile unsigned sink;\n"
    "template <int n> CALL() { sink = n; call<n - 1>(); }\n"
    "template <> inline __attribute__((always_inline)) void call<0>() { __asm__(\".globl deep\\ndeep: nop\"); }\n"
    "struct { void run() { sink++; __asm__(\".globl named\\nnamed: nop\"); } } object;\n"
    "void outer() { object.run(); call<300>(); }\n"
    "EOF\n"
    "for i in $(seq 20); do echo '}'; done >> deep.cc\n"
    "{ printf 'int main() { n1'; for i in $(seq 2 20); do printf '::n%s' $i; done; echo '::outer(); }'; } >> deep.cc";

TEST(deep_nesting_is_followed_or_told, set_up, tear_down) {
    run("%s", deep_text);
    run("c++ -g -O2 deep.cc -Wl,--build-id -o deep");
    read_build_id("deep");
    add_sample(lib_of(path_of("deep"), test.build_id), label("deep", "named"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_name_at(0,
                   "n1::n2::n3::n4::n5::n6::n7::n8::n9::n10::n11::n12::n13::n14::n15::n16::n17::n18::n19::n20::"
                   "{unnamed type#1}::run");
    assert_notes("");
    add_sample(lib_of(path_of("deep"), test.build_id), label("deep", "deep"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_notes("2 address in deep: its debug information nests calls more deeply than is read\n");
}

#ifdef __x86_64__
static const char return_text[] =
    ".macro function name\n.type \\name, @function\n\\name:\n.endm\n"
    ".text\n"
    "function caller\n call looping\n.size caller, .-caller\n"
    "resumed:\n ret\n"
    "function last_caller\n call looping\n.size last_caller, .-last_caller\n"
    "function looping\n jmp looping\n.size looping, .-looping\n"
    "function pointed_to\n ret\n.size pointed_to, .-pointed_to\n"
    "function adjacent\n ret\n.size adjacent, .-adjacent\n"
    ".p2align 4\n"
    "function padded\n ret\n.size padded, .-padded\n"
    ".globl main\nmain: ret\n.section .note.GNU-stack\n";

/* Each case is the address before a return address that is the start of a function. */
TEST(return_addresses_at_the_start_of_a_function, set_up, tear_down) {
    static const struct {
        const char *start, *expected;
    } cases[] = {
        {"resumed", "resumed"},       /* a call in assembly, and then a label */
        {"looping", "last_caller"},   /* a call that does not return */
        {"pointed_to", "pointed_to"}, /* no call: a pointer to the function */
        {"adjacent", "pointed_to"},   /* no call: the sampled instruction may be the return of one byte */
        {"padded", "padded"},         /* no function is before it */
    };
    assert_true(file_write(path_of("r.s"), TEXT(return_text)));
    run("cc r.s -Wl,--build-id -o r");
    read_build_id("r");
    test.profile.meta.has_file_offsets = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        add_sample(lib_of(path_of("r"), test.build_id), label("r", cases[i].start) - 1);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "root\n%s [%s]\n", cases[i].expected, cases[i].expected);
        assert_stack(i, expected);
    }
}
#endif

/* The program is mapped at its own addresses, not relative to 0. */
TEST(addresses_are_relative_to_the_first_segment, set_up, tear_down) {
    compile("fixed", "-no-pie -fno-pie");
    read_build_id("fixed");
    lib_id lib = lib_of(path_of("fixed"), test.build_id);
    read_build_id("whole");
    uint64_t address = label("fixed", "probe_deepest");
    assert_true(address > 0x400000);
    add_sample(lib, address - 0x400000);
    add_sample(lib, address);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, deepest_lines);
    assert_int_equal(leaf(0)->address, address - 0x400000);
    assert_notes("1 address of which the library's symbols say nothing\n");
}

/* Addresses from perf, in a program whose code has other offsets in the file than addresses. */
TEST(offsets_in_the_file_become_addresses, set_up, tear_down) {
    compile("moved", "-pie -fPIE -Wl,-Ttext-segment=0x200000,--section-start=.text=0x345000");
    read_build_id("moved");
    lib_id lib = lib_of(path_of("moved"), test.build_id);
    read_build_id("whole");
    uint64_t address = label("moved", "probe_deepest"), offset = 0, found = 0;
    struct debug_file file;
    assert_true(debug_file_open(&file, NULL, path_of("moved"), (char[PATH_MAX]){0}));
    uint64_t base = file.base;
    for (; offset < file.size_bytes; offset++)
        if (debug_file_address_of_offset(&file, offset, &found) && found == address) break;
    debug_file_close(&file);
    assert_int_equal(found, address);
    assert_int_not_equal(offset, address - base);
    test.profile.meta.has_file_offsets = true;
    add_sample(lib, offset);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, deepest_lines);
    assert_int_equal(leaf(0)->address, address - base);
}

/* Nothing says what the code is, but where it is can be told from the file. */
TEST(offsets_of_code_without_names_become_addresses, set_up, tear_down) {
    run("printf 'void f(void) { }\\nint main(void) { return 0; }\\n' > bare.c && cc -fno-asynchronous-unwind-tables "
        "bare.c "
        "-Wl,--build-id -Wl,-z,noseparate-code,-Ttext=0x8000 -o bare && nm bare | sed -n 's/ . f$//p' > address && "
        "objcopy --remove-section=.eh_frame --strip-all bare && "
        "readelf -SW bare | sed -n 's/.* .text *PROGBITS *[0-9a-f]* *//p' | cut -d' ' -f1 > offset");
    char *address_text = file_read(path_of("address"), NULL), *offset_text = file_read(path_of("offset"), NULL);
    uint64_t address = strtoull(address_text, NULL, 16), offset = strtoull(offset_text, NULL, 16) + address - 0x8000;
    free(address_text);
    free(offset_text);
    assert_int_not_equal(address, offset);
    read_build_id("bare");
    test.profile.meta.has_file_offsets = true;
    add_sample(lib_of(path_of("bare"), test.build_id), offset);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    char expected[64];
    snprintf(expected, sizeof expected, "root\n0x%llx\n", (unsigned long long)address);
    assert_stack(0, expected);
    assert_int_equal(leaf(0)->address, address);
}

/* Compiles "large", which has addresses that are valid offsets as well. In hexadecimal, its code is at the offsets 1000
 * to 29000 and at the addresses 11000 to 39000. The label is after the first 8000 bytes of code. Returns its
 * address. */
static uint64_t compile_large(void) {
    run("printf '__asm__(\".text; .skip 0x8000, 0x90\");' > before.c && "
        "printf '__asm__(\".text; .skip 0x20000, 0x90\");' > behind.c && cc -c before.c behind.c && "
        "c++ -g -O2 -no-pie -fno-pie -Wl,--build-id,-Ttext-segment=0x10000 before.o program.cc behind.o -o large");
    uint64_t address = label("large", "probe_deepest");
    assert_true(address > 0x19000 && address < 0x21000);
    return address;
}

static void assert_meaning(uint64_t number, uint64_t another, enum gecko_convert_symbols choice, const char *expected) {
    tear_down(NULL);
    set_up(NULL);
    read_build_id("large");
    test.profile.meta.has_file_offsets = true;
    lib_id lib = lib_of(path_of("large"), test.build_id);
    add_sample(lib, number);
    if (another) add_sample(lib, another);
    symbolize(choice);
    char nothing[64];
    snprintf(nothing, sizeof nothing, "root\n0x%llx\n", (unsigned long long)number);
    assert_stack(0, expected ? expected : nothing);
}

/* perf prints offsets or addresses, and does not say which. */
TEST(a_number_that_may_be_two_things_is_decided_by_others, set_up, tear_down) {
    static const char note[] = "1 address in large: may be an offset in the file or not, so it was not looked up\n";
    uint64_t address = compile_large(), offset = address - 0x10000;
    enum { ADDRESS_ALONE = 0x30000, BOTH = 0x18000, NEITHER = 0x40000 };
    assert_meaning(offset, 0, GECKO_CONVERT_SYMBOLS_AUTO, deepest_lines);
    assert_int_equal(leaf(0)->address, offset);
    assert_notes("");
    assert_meaning(address, 0, GECKO_CONVERT_SYMBOLS_AUTO, NULL);
    assert_notes(note);
    assert_meaning(address, BOTH, GECKO_CONVERT_SYMBOLS_AUTO, NULL);
    assert_meaning(address, NEITHER, GECKO_CONVERT_SYMBOLS_AUTO, NULL);
    assert_meaning(address, ADDRESS_ALONE, GECKO_CONVERT_SYMBOLS_AUTO, deepest_lines);
    assert_int_equal(leaf(0)->address, offset);
    /* Read as an offset, the number is at the end of the code, where no function is. */
    assert_meaning(address, offset, GECKO_CONVERT_SYMBOLS_AUTO, NULL);
    assert_notes("1 address of which the library's symbols say nothing\n");
    assert_stack(1, deepest_lines);
    assert_meaning(address, 0, GECKO_CONVERT_SYMBOLS_ALWAYS, NULL);
    assert_notes("1 address of which the library's symbols say nothing\n");
    /* If the numbers are of both kinds, each that can be only one is read as that. */
    tear_down(NULL);
    set_up(NULL);
    read_build_id("large");
    test.profile.meta.has_file_offsets = true;
    lib_id lib = lib_of(path_of("large"), test.build_id);
    add_sample(lib, offset);
    add_sample(lib, address);
    add_sample(lib, ADDRESS_ALONE);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, deepest_lines);
    assert_notes(
        "1 address in large: may be an offset in the file or not, so it was not looked up\n"
        "1 address of which the library's symbols say nothing\n");
}

/* ---- What is looked up. ---- */

TEST(only_nameless_frames_by_default, set_up, tear_down) {
    lib_id lib = lib_of(path_of("whole"), test.build_id);
    uint64_t address = label("whole", "probe_add");
    static const char *const names[] = {"known", "0x", "0xg", "libc.so.6+0x12", "0xAB", "[unknown]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct frame frame = frame_of(lib, address, names[i]);
        stack_id stack = profile_stack(&test.profile, stack_none(), profile_frame(&test.profile, &frame));
        thread_add_sample(test.thread, 1, stack, 1);
    }
    symbolize(GECKO_CONVERT_SYMBOLS_NONE);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "%s\n", names[i]);
        assert_stack(i, expected);
    }
    symbolize(GECKO_CONVERT_SYMBOLS_ALWAYS);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_stack(i, "demo::counter::add(int) from 12, program.cc:14 [demo::counter::add(int)]\n");
    assert_notes("");
}

static void add_named(lib_id lib, uint64_t address, const char *name) {
    struct frame frame = frame_of(lib, address, name);
    stack_id stack = profile_stack(&test.profile, stack_none(), profile_frame(&test.profile, &frame));
    thread_add_sample(test.thread, 1, stack, 1);
}

/* A frame without a name from perf is looked up if the trace has the build id of the file. */
TEST(frames_that_perf_does_not_know_need_a_build_id, set_up, tear_down) {
    uint64_t address = label("whole", "probe_add");
    lib_id known = lib_of(path_of("whole"), test.build_id);
    run("cp whole copy");
    lib_id unknown = lib_of(path_of("copy"), "");
    add_named(known, address, "whole+0x5");
    add_named(unknown, address, "copy+0x5");
    add_named(known, address, "whole+5");
    add_named(known, address, "whole+0x");
    add_named(known, address, "copy+0x5");
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "demo::counter::add(int) from 12, program.cc:14 [demo::counter::add(int)]\n");
    assert_stack(1, "copy+0x5\n");
    assert_stack(2, "whole+5\n");
    assert_stack(3, "whole+0x\n");
    assert_stack(4, "copy+0x5\n");
    assert_notes("");
    run("rm copy");
}

/* Adds a sample of a frame that perf has named, with the start of its symbol. */
static void add_symbol(lib_id lib, uint64_t address, const char *name, uint64_t start, uint32_t line) {
    struct frame frame = frame_of(lib, address, name);
    frame.native_symbol = profile_native_symbol(&test.profile, lib, (uint32_t)start, string_of(name));
    frame.line = line;
    stack_id stack = profile_stack(&test.profile, stack_none(), profile_frame(&test.profile, &frame));
    thread_add_sample(test.thread, 1, stack, 1);
}

static const char short_deepest_lines[] =
    "demo::counter::add from 12, program.cc:13 [demo::counter::add]\n"
    "demo::middle from 8, program.cc:9 #1 [demo::counter::add]\n"
    "demo::deepest from 4, program.cc:6 #2 [demo::counter::add]\n";

/* Where the file has the symbol that perf has, it adds inlined functions and lines, without a build id too. Names stay
 * as perf makes them. */
TEST(named_frames_get_inlined_functions_if_symbols_agree, set_up, tear_down) {
    test.profile.meta.has_file_offsets = true;
    lib_id lib = lib_of(path_of("whole"), "");
    uint64_t address = label("whole", "probe_deepest"), add = label("whole", "_ZN4demo7counter3addEi");
    uint64_t plain = label("whole", "plain");
    add_symbol(lib, address, "demo::counter::add", add, 0);
    add_symbol(lib, plain, "plain", plain, 0);
    add_symbol(lib, plain + 1, "plain", plain + 1, 0);
    add_named(lib, label("whole", "probe_add"), "whole+0x5");
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, short_deepest_lines);
    assert_stack(1, "plain from 18, program.cc:19 [plain]\n");
    assert_stack(2, "plain [plain]\n");
    assert_stack(3, "demo::counter::add from 12, program.cc:14 [demo::counter::add]\n");
    assert_notes("");
}

/* Of several symbols at an address, perf may have chosen another one. */
TEST(named_frames_agree_with_any_symbol_of_their_function, set_up, tear_down) {
    run("printf 'int __private(void) { return 1; }\\nint public(void) __attribute__((alias(\"__private\")));\\n"
        "int main(void) { return public(); }\\n' > aliased.c && cc -g aliased.c -o aliased");
    test.profile.meta.has_file_offsets = true;
    lib_id lib = lib_of(path_of("aliased"), "");
    uint64_t start = label("aliased", "__private");
    add_symbol(lib, start, "__private", start, 0);
    add_symbol(lib, start, "public", start, 0);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "__private from 1, aliased.c:1 [public]\n");
    assert_stack(1, "public from 1, aliased.c:1 [public]\n");
}

/* A file with other functions is not used, and nothing is said about frames that have names. */
TEST(named_frames_stay_if_symbols_differ, set_up, tear_down) {
    test.profile.meta.has_file_offsets = true;
    lib_id lib = lib_of(path_of("whole"), "");
    uint64_t address = label("whole", "probe_deepest"), add = label("whole", "_ZN4demo7counter3addEi");
    add_symbol(lib, address, "demo::counter::subtract", add, 0);
    add_symbol(lib, label("whole", "plain"), "plain", add, 0);
    add_named(lib, label("whole", "probe_add"), "whole+0x5");
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "demo::counter::subtract [demo::counter::subtract]\n");
    assert_stack(1, "plain [plain]\n");
    assert_stack(2, "whole+0x5\n");
    assert_notes("");
}

TEST(named_frames_stay_if_perf_has_lines, set_up, tear_down) {
    lib_id lib = lib_of(path_of("whole"), test.build_id);
    uint64_t add = label("whole", "_ZN4demo7counter3addEi"), plain = label("whole", "plain");
    add_symbol(lib, label("whole", "probe_deepest"), "demo::counter::add", add, 0);
    add_symbol(lib, plain, "plain", plain, 7);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "demo::counter::add [demo::counter::add]\n");
    assert_stack(1, "plain [plain]\n");
    assert_notes("");
}

TEST(nothing_when_asked_for_nothing, set_up, tear_down) {
    add_sample(lib_of(path_of("whole"), test.build_id), 0x1);
    symbolize(GECKO_CONVERT_SYMBOLS_NONE);
    assert_stack(0, "root\n0x1\n");
    assert_notes("");
}

/* The inlined frames in perf's trace are replaced by those found here. If only a symbol is found, they stay. */
TEST(inlined_frames_of_the_trace_are_replaced, set_up, tear_down) {
    run("strip -o symbols-only --strip-debug whole");
    static const char *const files[] = {"whole", "symbols-only"};
    uint64_t address = label("whole", "probe_deepest");
    for (size_t i = 0; i < 2; i++) {
        lib_id lib = lib_of(path_of(files[i]), test.build_id);
        struct frame physical = frame_of(lib, address, "perf's add"),
                     inlined = frame_of(lib, address, "perf's inlined");
        inlined.inline_depth = 1;
        stack_id stack = profile_stack(&test.profile, stack_none(), profile_frame(&test.profile, &physical));
        stack = profile_stack(&test.profile, stack, profile_frame(&test.profile, &inlined));
        struct frame callee = frame_of(lib_none(), 0, "callee");
        callee.address = ADDRESS_NONE;
        stack = profile_stack(&test.profile, stack, profile_frame(&test.profile, &callee));
        thread_add_sample(test.thread, 1, stack, 1);
    }
    symbolize(GECKO_CONVERT_SYMBOLS_ALWAYS);
    char expected[1024];
    snprintf(expected, sizeof expected, "%scallee\n", deepest_lines + sizeof "root");
    assert_stack(0, expected);
    assert_stack(1,
                 "demo::counter::add(int) [demo::counter::add(int)]\n"
                 "perf's inlined #1 [demo::counter::add(int)]\n"
                 "callee\n");
}

TEST(all_that_have_stacks_are_renumbered, set_up, tear_down) {
    lib_id lib = lib_of(path_of("whole"), test.build_id);
    add_sample(lib, label("whole", "probe_deepest"));
    thread_add_sample(test.thread, 2, stack_none(), 1);
    struct marker marker = {.start_ns = 1, .end_ns = 1, .name = string_of("marker"), .stack = sample_stack(0)};
    marker.schema = MARKER_SCHEMA_NONE;
    profile_add_marker(&test.profile, test.thread, marker, NULL);
    profile_add_allocation(&test.profile, (thread_id){0}, 1, 16, 4096, sample_stack(0));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, deepest_lines);
    assert_true(stack_is_none(sample_stack(1)));
    const struct marker *added = column_at(&test.thread->markers, 0);
    assert_int_equal(added->stack.index, sample_stack(0).index);
    const struct allocation *allocation = column_at(&test.thread->allocations, 0);
    assert_int_equal(allocation->stack.index, sample_stack(0).index);
    profile_finish(&test.profile);
    sweep_profile(&test.profile);
    assert_stack(0, deepest_lines);
    assert_int_equal(row_table_count(&test.profile.frames), 4);
    assert_int_equal(stack_table_count(&test.profile.stacks), 4);
}

static frame_id label_frame(const char *name, const char *file, uint32_t line) {
    struct func func = {.name = string_of(name),
                        .resource = resource_none(),
                        .source = profile_source(&test.profile, text_of(file)),
                        .line = line};
    struct frame frame = frame_of_func(profile_func(&test.profile, &func), (struct category_pair){0});
    return profile_frame(&test.profile, &frame);
}

/* A label belongs to the function that has its line, even if others are inlined there. Labels keep their order. */
TEST(labels_are_in_the_function_of_their_line, set_up, tear_down) {
    lib_id lib = lib_of(path_of("whole"), test.build_id);
    struct frame leaf = frame_of(lib, label("whole", "probe_deepest"), "0x1");
    frame_id leaf_id = profile_frame(&test.profile, &leaf);
    const frame_id in_add = label_frame("in add", "./program.cc", 14),
                   also_in_add = label_frame("also in add", "program.cc", 15),
                   in_middle = label_frame("in middle", "program.cc", 9),
                   elsewhere = label_frame("elsewhere", "other.cc", 9);
    const frame_id stacks[][4] = {{leaf_id, in_add, also_in_add, in_middle},
                                  {leaf_id, in_middle, in_add, elsewhere},
                                  {in_add, leaf_id, elsewhere, leaf_id}};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        stack_id stack = stack_none();
        for (size_t j = 0; j < 4; j++) stack = profile_stack(&test.profile, stack, stacks[i][j]);
        thread_add_sample(test.thread, 1, stack, 1);
    }
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
#define ADD     "demo::counter::add(int) from 12, program.cc:13 [demo::counter::add(int)]\n"
#define MIDDLE  "demo::middle from 8, program.cc:9 #1 [demo::counter::add(int)]\n"
#define DEEPEST "demo::deepest from 4, program.cc:6 #2 [demo::counter::add(int)]\n"
    assert_stack(0, ADD "in add from 14, program.cc:0\nalso in add from 15, program.cc:0\n" MIDDLE
                        "in middle from 9, program.cc:0\n" DEEPEST);
    /* The label in add was pushed after that in middle, so it cannot precede it. */
    assert_stack(1, ADD MIDDLE "in middle from 9, program.cc:0\nin add from 14, program.cc:0\n" DEEPEST
                               "elsewhere from 9, other.cc:0\n");
    assert_stack(
        2, "in add from 14, program.cc:0\n" ADD MIDDLE DEEPEST "elsewhere from 9, other.cc:0\n" ADD MIDDLE DEEPEST);
}

TEST(kernel_and_nameless_places_are_left_alone, set_up, tear_down) {
    add_sample(lib_of("[vdso]", ""), 16);
    add_sample(lib_of("[kernel.kallsyms]", ""), 16);
    symbolize(GECKO_CONVERT_SYMBOLS_ALWAYS);
    assert_stack(0, "root\n0x10\n");
    assert_notes("");
}

/* ---- Where files are. ---- */

/* The files of perf inject --jit have no debug information, and symbols such as V8 and Python name their code. */
TEST(symbols_of_generated_code_are_parsed, set_up, tear_down) {
    static const char *const symbols[] = {"JS:*fib /app/fib.js:1:13", "JS:^fib /app/fib.js:1:13", "py::work:/app/a.py",
                                          "Builtin:Add"};
    char *source = NULL;
    size_t source_bytes;
    FILE *stream = open_memstream(&source, &source_bytes);
    fprintf(stream, ".text\n");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        fprintf(stream, ".globl \"%s\"\n.type \"%s\", %%function\n\"%s\": .fill 16\n.size \"%s\", 16\n", symbols[i],
                symbols[i], symbols[i], symbols[i]);
    fclose(stream);
    assert_true(file_write(path_of("jitted.s"), (struct text){source, source_bytes}));
    free(source);
    run("${CC:-cc} -shared -nostdlib jitted.s -o jitted-1-1.so");
    lib_id lib = lib_of(path_of("jitted-1-1.so"), "");
    struct category_pair generated = categories_intern_code(&test.profile.categories, CODE_JIT, TEXT(""));
    uint64_t start = label("jitted-1-1.so", "Builtin:Add") - 3 * 16;
    for (uint64_t i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "0x%" PRIx64, start + i % 4 * 16);
        struct frame frame = frame_of(lib, start + i % 4 * 16, name);
        if (i < 4) frame.category = generated.category;
        thread_add_sample(test.thread, 1,
                          profile_stack(&test.profile, stack_none(), profile_frame(&test.profile, &frame)), 1);
    }
    const struct symbolize_options options = {.job_count = 1, .name_func = script_frames_name};
    profile_symbolize(&test.profile, &options, (struct progress){0});
    assert_stack(0, "fib from 1, fib.js:0 [JS:*fib /app/fib.js:1:13]\n");
    assert_stack(1, "fib from 1, fib.js:0 [JS:^fib /app/fib.js:1:13]\n");
    assert_stack(2, "work, a.py:0 [py::work:/app/a.py]\n");
    assert_stack(3, "Builtin:Add [Builtin:Add]\n");
    assert_stack(4, "JS:*fib /app/fib.js:1:13 [JS:*fib /app/fib.js:1:13]\n");
    assert_int_equal(leaf(0)->func.index, leaf(1)->func.index);
    assert_int_equal(profile_func_at(&test.profile, leaf(0)->func)->flags, FUNC_IS_JS);
    assert_int_not_equal(leaf(0)->subcategory, leaf(1)->subcategory);
    assert_int_equal(leaf(3)->category, generated.category);
}

/* Makes a folder with `program`, stripped of its debug information, which is in program.debug. */
static void strip_program(const char *options) {
    run("rm -rf a && mkdir a && cp whole a/program && cd a && objcopy --only-keep-debug program program.debug && "
        "strip %s program",
        options);
}

/* Looks up the label in a/program and compares the outcome. */
static void assert_found(const char *folder, const char *expected, const char *notes) {
    const char *const folders[] = {folder};
    profile_fini(&test.profile);
    profile_init(&test.profile, &test.failure);
    process_id process = profile_add_process(&test.profile, 1, 0);
    test.thread = profile_thread_at(&test.profile, profile_add_thread(&test.profile, process, 1, 0));
    add_sample(lib_of(path_of("a/program"), test.build_id), label("whole", "probe_deepest"));
    symbolize_with(GECKO_CONVERT_SYMBOLS_AUTO, &(struct debug_folders){.paths = folders, .count = folder ? 1 : 0});
    assert_stack(0, expected);
    assert_notes(notes);
}

TEST(stripped_files_have_symbols_only, set_up, tear_down) {
    strip_program("--strip-debug");
    assert_found(NULL, add_symbols, "");
    strip_program("--strip-all");
    assert_found(NULL, add_symbols, "");
}

/* Looks up the label in a library at that path of the file system below "root", and compares the outcome. */
static void assert_found_below(const char *path, const char *build_id, const char *expected, const char *notes) {
    profile_fini(&test.profile);
    profile_init(&test.profile, &test.failure);
    process_id process = profile_add_process(&test.profile, 1, 0);
    test.thread = profile_thread_at(&test.profile, profile_add_thread(&test.profile, process, 1, 0));
    add_sample(lib_of(path, build_id), label("whole", "probe_deepest"));
    char root[PATH_MAX];
    snprintf(root, sizeof root, "%s", path_of("root"));
    symbolize_with(GECKO_CONVERT_SYMBOLS_AUTO, &(struct debug_folders){.sysroot = root});
    assert_stack(0, expected);
    assert_notes(notes);
}

TEST(the_sysroot_is_a_file_system_of_its_own, set_up, tear_down) {
    static const char not_found[] = "1 address in a library whose file was not found\n";
    char nothing[64], beside[PATH_MAX + 16];
    snprintf(nothing, sizeof nothing, "root\n0x%llx\n", (unsigned long long)label("whole", "probe_deepest"));
    run("rm -rf root && mkdir -p root/opt/real root/bin root/usr/lib/debug/.build-id/%.2s && cp whole root/opt/real/p",
        test.build_id);
    assert_found_below("/opt/real/p", test.build_id, deepest_lines, "");
    assert_found_below("/opt/real/../real/./p", test.build_id, deepest_lines, "");
    /* Links, absolute and relative ones, to files and to folders, are followed within the sysroot. */
    run("ln -s /opt/real/p root/bin/absolute && ln -s ../../../opt/real/p root/bin/relative && ln -s /opt root/linked "
        "&&"
        "ln -s loop root/bin/loop && ln -s '%s' root/bin/outside",
        path_of("whole"));
    assert_found_below("/bin/absolute", test.build_id, deepest_lines, "");
    assert_found_below("/bin/relative", test.build_id, deepest_lines, "");
    assert_found_below("/linked/real/p", test.build_id, deepest_lines, "");
    assert_found_below("/linked/../opt/real/p", test.build_id, deepest_lines, "");
    /* They do not lead out of it, nor does "..". */
    assert_found_below("/bin/outside", test.build_id, nothing, not_found);
    assert_found_below("/bin/loop", test.build_id, nothing, not_found);
    snprintf(beside, sizeof beside, "/../%s", "whole");
    assert_found_below(beside, test.build_id, nothing, not_found);
    /* The build id decides. */
    run("cp root/opt/real/p root/opt/real/q");
    assert_found_below("/opt/real/q", "0123", nothing,
                       "1 address in /opt/real/q: the file there has another build id, or none, and was not used\n");
    /* Debug information, by build id and by the link in the file. */
    run("cd root && objcopy --only-keep-debug opt/real/p d && strip --strip-all opt/real/p && "
        "cp d usr/lib/debug/.build-id/%.2s/%s.debug",
        test.build_id, test.build_id + 2);
    assert_found_below("/opt/real/p", test.build_id, deepest_lines, "");
    run("rm -r root/usr/lib/debug/.build-id && mkdir root/opt/real/.debug && mv root/d root/opt/real/.debug && "
        "objcopy --add-gnu-debuglink=root/opt/real/.debug/d root/opt/real/p");
    assert_found_below("/bin/relative", test.build_id, deepest_lines, "");
    /* A file that is not there is used from this machine. */
    assert_found_below(path_of("whole"), test.build_id, deepest_lines, "");
    run("rm -r root");
}

/* A function without a symbol is named by its start, which its call frame information has. A symbol without a size does
 * not reach into it. That where the program starts has a name. */
TEST(functions_without_symbols_are_one_each, set_up, tear_down) {
    assert_true(
        file_write(path_of("hidden.c"),
                   TEXT("volatile int sink;\n"
                        "__attribute__((noinline)) static void hidden(void) {\n"
                        "    asm volatile(\".globl first\\nfirst:\\n\\tnop\\n\\t.globl second\\nsecond:\\n\\tnop\");\n"
                        "    sink = 1;\n"
                        "}\n"
                        "__attribute__((noinline)) static void other(void) {\n"
                        "    asm volatile(\".globl third\\nthird:\\n\\tnop\");\n"
                        "}\n"
                        "asm(\".text\\n.globl nameless\\nnameless:\\n\\tnop\\n\");\n"
                        "int main(void) { hidden(); other(); return sink; }\n")));
    run("cc -O1 hidden.c -o labels && strip -s -K nameless -o hidden labels");
    static const char *const labels[] = {"first", "second", "third"};
    static const char *const functions[] = {"hidden", "hidden", "other"};
    lib_id lib = lib_of(path_of("hidden"), "");
    for (size_t i = 0; i < 3; i++) add_sample(lib, label("labels", labels[i]));
    add_sample(lib, label("labels", "_start") + 1);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    for (size_t i = 0; i < 3; i++) {
        unsigned start = (unsigned)label("labels", functions[i]);
        char expected[64];
        snprintf(expected, sizeof expected, "root\nfun_%x [fun_%x]\n", start, start);
        assert_stack(i, expected);
    }
    assert_stack(3, "root\n_start [_start]\n");
    run("rm labels hidden hidden.c");
}

/* The linker gives a library an entry as well, but no program starts there. */
TEST(the_entry_of_a_library_is_no_start, set_up, tear_down) {
    assert_true(file_write(path_of("entry.c"),
                           TEXT("volatile int sink;\n"
                                "__attribute__((visibility(\"hidden\"), noinline)) void first(void) { sink = 1; }\n"
                                "void shown(void) { first(); }\n")));
    run("cc -O1 -shared -fPIC -Wl,-e,first entry.c -o labels && strip -s -o entry.so labels");
    lib_id lib = lib_of(path_of("entry.so"), "");
    uint64_t start = label("labels", "first");
    add_sample(lib, start + 1);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    char expected[64];
    snprintf(expected, sizeof expected, "root\nfun_%x [fun_%x]\n", (unsigned)start, (unsigned)start);
    assert_stack(0, expected);
    run("rm labels entry.so entry.c");
}

/* Behind the last exported symbol without a size may be functions that are not exported. */
TEST(exported_symbols_without_a_size_are_short, set_up, tear_down) {
    assert_true(
        file_write(path_of("exported.c"),
                   TEXT("asm(\".text\\n.globl exported\\nexported:\\n\\t.skip 4096\\nbehind:\\n\\tnop\\n\");\n")));
    run("cc -shared -nostdlib -fPIC -O1 exported.c -o whole.so && strip -s -o exported.so whole.so");
    lib_id whole = lib_of(path_of("whole.so"), ""), stripped = lib_of(path_of("exported.so"), "");
    uint64_t start = label("whole.so", "exported");
    char unknown[64];
    snprintf(unknown, sizeof unknown, "root\n0x%" PRIx64 "\n", start + 4096);
    add_sample(whole, start + 4096);
    add_sample(stripped, start + 4095);
    add_sample(stripped, start + 4096);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "root\nbehind [behind]\n");
    assert_stack(1, "root\nexported [exported]\n");
    assert_stack(2, unknown);
    run("rm exported.c whole.so exported.so");
}

/* If call frame information tells how long the function is, the function has one name. */
TEST(call_frame_information_tells_how_far_a_symbol_reaches, set_up, tear_down) {
    assert_true(file_write(path_of("framed.c"),
                           TEXT("asm(\".text\\n.globl framed\\nframed:\\n\\t.cfi_startproc\\n\\t.skip 8192\\n"
                                "\\t.cfi_endproc\\nbehind:\\n\\tnop\\n\");\n")));
    run("cc -shared -nostdlib -fPIC -O1 framed.c -o whole.so && strip -s -o framed.so whole.so");
    lib_id lib = lib_of(path_of("framed.so"), "");
    uint64_t start = label("whole.so", "framed");
    char unknown[64];
    snprintf(unknown, sizeof unknown, "root\n0x%" PRIx64 "\n", start + 8192);
    add_sample(lib, start + 8191);
    add_sample(lib, start + 8192);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "root\nframed [framed]\n");
    assert_stack(1, unknown);
    run("rm framed.c whole.so framed.so");
}

TEST(debug_information_is_found, set_up, tear_down) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path_of("d"));
    strip_program("--strip-all");
    run("rm -rf d && mkdir -p d/.build-id/%.2s && cp a/program.debug d/.build-id/%.2s/%s.debug", test.build_id,
        test.build_id, test.build_id + 2);
    assert_found(folder, deepest_lines, "");
    run("rm -rf d && mkdir -p d/$PWD/a && cp a/program.debug d/$PWD/a/program");
    assert_found(folder, deepest_lines, "");
    run("mv d/$PWD/a/program d/$PWD/a/program.debug");
    assert_found(folder, deepest_lines, "");
    run("rm -rf d && mkdir d && cp whole d/program");
    assert_found(folder, deepest_lines, "");
    run("mv d/program d/program.debug");
    assert_found(folder, deepest_lines, "");
    run("rm a/program");
    assert_found(folder, deepest_lines, "");
    /* The file with the debug information has no code, but segments and symbols. */
    run("cp a/program.debug d/program.debug");
    assert_found(folder, deepest_lines, "");
    tear_down(NULL);
    set_up(NULL);
    run("rm -rf a d");
}

TEST(links_to_debug_information_are_followed, set_up, tear_down) {
    static const char strip[] = "--strip-all program && objcopy --add-gnu-debuglink=program.debug";
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path_of("d"));
    strip_program(strip);
    assert_found(NULL, deepest_lines, "");
    run("cd a && mkdir .debug && mv program.debug .debug");
    assert_found(NULL, deepest_lines, "");
    run("rm -rf d && mkdir d && mv a/.debug/program.debug d");
    assert_found(NULL, add_symbols, "");
    assert_found(folder, deepest_lines, "");
    run("mkdir -p d/$PWD/a && mv d/program.debug d/$PWD/a");
    assert_found(folder, deepest_lines, "");
    run("rm -rf a d");
}

/* Without a build id, only the checksum of the link shows whether the file is right. */
TEST(a_link_needs_the_right_checksum, set_up, tear_down) {
    static const char note[] = "1 address in a/program: looked up in the file there, without a build id to compare\n";
    run("(rm -rf a && mkdir a && objcopy -R .note.gnu.build-id whole a/program && cd a && "
        "objcopy --only-keep-debug program program.debug && strip --strip-all program && "
        "objcopy --add-gnu-debuglink=program.debug program) 2>/dev/null");
    test.build_id[0] = '\0';
    assert_found(NULL, deepest_lines, note);
    run("echo >> a/program.debug");
    assert_found(NULL, add_symbols, note);
    run("rm -rf a");
}

TEST(another_build_is_refused, set_up, tear_down) {
    static const char note[] =
        "1 address in a/program: the file there has another build id, or none, and was not used\n";
    char expected[64], folder[PATH_MAX];
    snprintf(expected, sizeof expected, "root\n0x%llx\n", (unsigned long long)label("whole", "probe_deepest"));
    snprintf(folder, sizeof folder, "%s", path_of("d"));
    compile("other", "-O1 -pie -fPIE");
    run("rm -rf a d && mkdir a d && cp other a/program && cp other d/program.debug");
    assert_found(folder, expected, note);
    run("cp whole d/program.debug");
    assert_found(folder, deepest_lines, "");
    run("rm d/program.debug && objcopy -R .note.gnu.build-id whole a/program");
    assert_found(folder, expected, note);
    run("rm -rf a d");
}

TEST(a_library_without_build_id_is_taken_on_trust, set_up, tear_down) {
    add_sample(lib_of(path_of("whole"), ""), label("whole", "probe_deepest"));
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, deepest_lines);
    assert_notes("1 address in whole: looked up in the file there, without a build id to compare\n");
}

TEST(missing_files_are_noted, set_up, tear_down) {
    run("mkfifo fifo && echo no library > text && : > empty && mkdir folder && c++ -c program.cc -o object.o");
    add_sample(lib_of(path_of("nothing"), test.build_id), 16);
    add_sample(lib_of(path_of("fifo"), test.build_id), 16);
    add_sample(lib_of(path_of("folder"), ""), 16);
    add_sample(lib_of(path_of("text"), ""), 16);
    add_sample(lib_of(path_of("empty"), ""), 16);
    add_sample(lib_of(path_of("object.o"), ""), 16);
    add_sample(lib_of("relative/path", ""), 16);
    add_sample(lib_of("/dev/zero", ""), 16);
    add_sample(lib_of("", ""), 16);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    for (size_t i = 0; i < 9; i++) assert_stack(i, "root\n0x10\n");
    assert_notes("9 address in a library whose file was not found\n");
}

/* A relative path is looked up only below the folders, and must not lead out of them. */
TEST(paths_of_traces_stay_in_the_folders, set_up, tear_down) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path_of("d"));
    const char *const folders[] = {folder};
    run("rm -rf d && mkdir -p d/sub && cp whole d/sub/program");
    uint64_t address = label("whole", "probe_deepest");
    add_sample(lib_of("sub/program", ""), address);
    add_sample(lib_of("../whole", ""), address);
    add_sample(lib_of("sub/../../whole", ""), address);
    symbolize_with(GECKO_CONVERT_SYMBOLS_AUTO, &(struct debug_folders){.paths = folders, .count = 1});
    assert_stack(0, deepest_lines);
    char expected[64];
    snprintf(expected, sizeof expected, "root\n0x%llx\n", (unsigned long long)address);
    assert_stack(1, expected);
    assert_stack(2, expected);
    run("rm -rf d");
}

/* ---- Many, and hostile ones. ---- */

TEST(many_addresses_are_looked_up_once_each, set_up, tear_down) {
    lib_id lib = lib_of(path_of("whole"), test.build_id);
    uint64_t address = label("whole", "probe_add");
    enum { ADDRESS_COUNT = 100000 };
    for (uint64_t i = 0; i < ADDRESS_COUNT; i++) add_sample(lib, i);
    add_sample(lib, address);
    struct frame again = frame_of(lib, address, "0xother");
    again.func = leaf(address)->func;
    again.line = 1;
    profile_frame(&test.profile, &again);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(address, "root\ndemo::counter::add(int) from 12, program.cc:14 [demo::counter::add(int)]\n");
    assert_int_equal(sample_stack(address).index, sample_stack(ADDRESS_COUNT).index);
    uint64_t unknown_count = ledger_sum(&test.profile.ledger, LEDGER_VALUES, LEDGER_NOTED);
    assert_true(unknown_count > ADDRESS_COUNT / 2 && unknown_count < ADDRESS_COUNT);
}

/* Many addresses are looked up by several threads, and few by one. */
TEST(answers_do_not_depend_on_the_number_of_threads, set_up, tear_down) {
    enum { FIRST = 0x1000, CODE_BYTES = 0x400, MANY = 9000 };
    static char *texts[CODE_BYTES];
    for (size_t pass = 0; pass < 2; pass++) {
        if (pass && (tear_down(state) != 0 || set_up(state) != 0)) fail();
        lib_id lib = lib_of(path_of("whole"), test.build_id);
        uint64_t first = pass ? FIRST : 0, count = pass ? CODE_BYTES : MANY;
        for (uint64_t i = 0; i < count; i++) add_sample(lib, first + i);
        symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
        for (size_t i = 0; i < CODE_BYTES; i++) {
            test.text[0] = '\0';
            print_stack(sample_stack(FIRST + i - first));
            if (pass) assert_string_equal(test.text, texts[i]);
            free(texts[i]);
            texts[i] = pass ? NULL : strdup(test.text);
        }
    }
}

/* Threads divide the requests of a library, but not those of one address. */
TEST(many_requests_of_one_address_are_answered_by_one_thread, set_up, tear_down) {
    enum { REQUEST_COUNT = 1024 };
    lib_id lib = lib_of(path_of("whole"), test.build_id);
    uint64_t address = label("whole", "probe_plain");
    for (uint32_t i = 0; i < REQUEST_COUNT; i++) {
        struct frame frame = frame_of(lib, address, "0x1");
        frame.line = i + 1;
        profile_frame(&test.profile, &frame);
    }
    add_sample(lib, address);
    add_sample(lib_of("/nowhere/other", ""), 1);
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_stack(0, "root\nplain from 18, program.cc:19 [plain]\n");
    assert_notes("1 address in a library whose file was not found\n");
}

/* ---- Processes that do not survive. ---- */

/* Called in the child process when libdw opens "copy", if the file "harm" is there. */
static void (*harm)(void);

/* Size of "copy". Several libraries may be opened side by side, and "copy" is a byte longer than "whole". */
static size_t copy_bytes;

static bool is_copy(Elf *elf) {
    size_t bytes_count = 0;
    return elf_rawfile(elf, &bytes_count) && bytes_count == copy_bytes;
}

/* Replaces the function of libdw for all of this program. */
Dwarf *dwarf_begin_elf(Elf *elf, Dwarf_Cmd command, Elf_Scn *section) {
    Dwarf *(*next)(Elf *, Dwarf_Cmd, Elf_Scn *);
    *(void **)&next = dlsym(RTLD_NEXT, "dwarf_begin_elf");
    if (harm && is_copy(elf) && unlink(path_of("harm")) == 0) harm();
    return next(elf, command, section);
}

static void crash(void) { __builtin_trap(); }
static void leave(void) { exit(EXIT_FAILURE); }
static void cut_file(void) { assert_int_equal(truncate(path_of("copy"), 8192), 0); }
static void cut_last_byte(void) {
    struct stat status;
    assert_int_equal(stat(path_of("copy"), &status), 0);
    assert_int_equal(truncate(path_of("copy"), status.st_size - 1), 0);
}

/* Looks up two addresses in a library that does harm, and one in another library. */
static void symbolize_jobs_with_harm(unsigned job_count, void (*what)(void)) {
    harm = what;
    run("cp whole copy && echo >> copy && : > harm");
    struct stat status;
    assert_int_equal(stat(path_of("copy"), &status), 0);
    copy_bytes = (size_t)status.st_size;
    lib_id lib = lib_of(path_of("copy"), test.build_id);
    add_sample(lib, label("whole", "probe_deepest"));
    add_sample(lib, label("whole", "probe_plain"));
    add_sample(lib_of(path_of("whole"), test.build_id), label("whole", "probe_deepest"));
    struct symbolize_options options = {.symbols = GECKO_CONVERT_SYMBOLS_AUTO, .job_count = job_count};
    profile_symbolize(&test.profile, &options, (struct progress){0});
    harm = NULL;
    run("rm -f harm copy");
}

static void symbolize_with_harm(void (*what)(void)) { symbolize_jobs_with_harm(1, what); }
static void symbolize_side_by_side_with_harm(void (*what)(void)) { symbolize_jobs_with_harm(2, what); }

static void assert_harmed(void) {
    char expected[64];
    snprintf(expected, sizeof expected, "root\n0x%llx\n", (unsigned long long)label("whole", "probe_deepest"));
    assert_false(failure_is_set(&test.failure));
    assert_stack(0, expected);
    assert_stack(2, deepest_lines);
}

TEST(a_crash_loses_one_library, set_up, tear_down) {
    symbolize_with_harm(crash);
    assert_harmed();
    assert_entries(LEDGER_NOTED, "");
    assert_entries(LEDGER_LOST,
                   "2 address in copy: not looked up, as reading the file there crashed: memory ran out, or the file "
                   "is damaged\n");
}

/* Crashes in the process that looks up several libraries side by side, and in the next one, which looks up one after
 * the other and begins with "copy". */
static void crash_twice(void) {
    if (unlink(path_of("again")) == 0) assert_true(file_write(path_of("harm"), TEXT("")));
    crash();
}

TEST(a_crash_beside_other_libraries_loses_the_one_that_crashes, set_up, tear_down) {
    run(": > again");
    symbolize_side_by_side_with_harm(crash_twice);
    assert_harmed();
    assert_int_not_equal(access(path_of("again"), F_OK), 0);
    assert_entries(LEDGER_NOTED, "");
    assert_entries(LEDGER_LOST,
                   "2 address in copy: not looked up, as reading the file there crashed: memory ran out, or the file "
                   "is damaged\n");
}

TEST(a_crash_that_does_not_come_again_loses_nothing, set_up, tear_down) {
    symbolize_side_by_side_with_harm(crash);
    assert_stack(0, deepest_lines);
    assert_stack(2, deepest_lines);
    assert_entries(LEDGER_NOTED, "");
    assert_entries(LEDGER_LOST, "");
}

static pid_t main_pid;

static void must_not_be_called(void) { assert_true(file_write(path_of("called"), TEXT(""))); }

static void must_not_be_called_in_a_copy(void) {
    if (getpid() != main_pid) must_not_be_called();
}

/* The program's SIGBUS handler must not run in the child process. */
TEST(a_file_that_becomes_shorter_has_no_symbols, set_up, tear_down) {
    static const char note[] =
        "2 address in copy: not looked up, as the file there became shorter, or its disk failed, while it was read\n";
    bus_guard_install(must_not_be_called, FAILURE_IO);
    symbolize_with_harm(cut_file);
    assert_harmed();
    assert_notes(note);
    tear_down(NULL);
    set_up(NULL);
    symbolize_with_harm(cut_last_byte);
    assert_harmed();
    assert_notes(note);
    signal(SIGBUS, SIG_DFL);
    assert_int_not_equal(access(path_of("called"), F_OK), 0);
}

/* libdw exits if memory runs out. */
TEST(a_library_that_exits_is_counted_as_lost, set_up, tear_down) {
    symbolize_with_harm(leave);
    assert_harmed();
    assert_entries(LEDGER_NOTED, "");
    assert_entries(LEDGER_LOST,
                   "2 address in copy: not looked up, as reading the file there needs more memory than "
                   "there is, or than --max-memory allows\n");
    assert_int_not_equal(access(path_of("called"), F_OK), 0);
}

static int fork_error;

pid_t fork(void) {
    pid_t (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "fork");
    errno = fork_error;
    return fork_error ? -1 : next();
}

TEST(without_a_process_nothing_is_looked_up, set_up, tear_down) {
    fork_error = EAGAIN;
    symbolize_with_harm(NULL);
    fork_error = 0;
    assert_false(failure_is_set(&test.failure));
    assert_entries(LEDGER_NOTED, "");
    assert_entries(LEDGER_LOST,
                   "2 address in copy: not looked up, as no child process could be started: Resource temporarily "
                   "unavailable\n"
                   "1 address in whole: not looked up, as no child process could be started: Resource temporarily "
                   "unavailable\n");
}

/* Whatever files contain, looking them up must end, and the profile must be consistent. A process is started for
 * several files at a time, because with a sanitizer that takes longer than reading a file. */
enum { TRIED_MAX = 16 };

static size_t tried_count;

static void try_files(void) {
    symbolize(GECKO_CONVERT_SYMBOLS_AUTO);
    assert_entries(LEDGER_LOST, "");
    assert_null(stacks_fault(&test.profile));
    assert_null(frames_fault(&test.profile));
    assert_null(funcs_fault(&test.profile));
    tried_count = 0;
    tear_down(NULL);
    set_up(NULL);
}

static void try_file(struct text bytes, uint64_t address) {
    char name[32];
    snprintf(name, sizeof name, "damaged%zu", tried_count);
    assert_true(file_write(path_of(name), bytes));
    lib_id lib = lib_of(path_of(name), "");
    for (uint64_t i = 0; i < 64; i++) add_sample(lib, address - 128 + i * 4);
    if (++tried_count == TRIED_MAX) try_files();
}

TEST(cut_files_do_no_harm, set_up, tear_down) {
    size_t bytes_count = 0;
    uint64_t address = label("whole", "probe_deepest");
    char *bytes = file_read(path_of("whole"), &bytes_count);
    for (size_t end = 0; end < bytes_count; end += end < 256 ? 7 : 211) try_file((struct text){bytes, end}, address);
    try_files();
    free(bytes);
}

/* Changes a few bytes of the file at a time. SYMBOL_DAMAGE_ROUNDS sets the number of rounds. */
static void damage(const char *name) {
    size_t bytes_count = 0;
    uint64_t address = label(name, "probe_deepest"), random = 88172645463325252u;
    char *bytes = file_read(path_of(name), &bytes_count);
    char *damaged = malloc(bytes_count);
    assert_true(bytes && damaged);
    const char *rounds_text = getenv("SYMBOL_DAMAGE_ROUNDS");
    size_t rounds = rounds_text ? strtoul(rounds_text, NULL, 10) : 300;
    for (size_t round = 0; round < rounds; round++) {
        memcpy(damaged, bytes, bytes_count);
        for (size_t i = 0; i < 1 + round % 16; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            /* The first half holds code and data for the dynamic linker. What matters here is in the second half and in
             * the header. */
            size_t at = round % 8 ? bytes_count / 2 + random % (bytes_count / 2) : random % 1024;
            damaged[at] = (char)(random >> 32);
        }
        try_file((struct text){damaged, bytes_count}, address);
    }
    try_files();
    free(damaged);
    free(bytes);
}

TEST(damaged_files_do_no_harm, set_up, tear_down) {
    compile("five", "-gdwarf-5");
    compile("compressed", "-gdwarf-5 -gz=zlib");
    damage("whole");
    damage("five");
    damage("compressed");
}

int main(void) {
    main_pid = getpid();
    atexit(must_not_be_called_in_a_copy);
    return unit_tests_run(set_up_group, tear_down_group);
}
