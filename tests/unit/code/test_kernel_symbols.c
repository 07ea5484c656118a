/* Tests names of the kernel's functions, from kernels and modules that are made here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "libconvert/symbols/debug_file.h"
#include "readers/code/kernel_list.h"
#include "readers/code/kernel_symbols.h"
#include "tests/support/shell_command.h"
#include "tests/support/unit_test.h"

/* The kernel is linked at LINKED and ran at RUN. The module was loaded at MODULE. */
#define LINKED UINT64_C(0xffffffff81000000)
#define RUN    UINT64_C(0xffffffff9a000000)
#define MODULE UINT64_C(0xffffffffc0123000)

static const char kernel_text[] =
    ".macro function name, size\n.globl \\name\n.type \\name, @function\n\\name: .skip \\size, 0x90\n"
    ".size \\name, \\size\n.endm\n"
    ".text\n.globl _text\n_text:\nfunction first, 16\nfunction second, 16\nfunction __pfx_third, 16\nfunction third, "
    "16\n";

/* The kernel places .text.late at the next multiple of 64 after .text, and drops .init.text. */
static const char module_text[] =
    ".section .init.text, \"ax\"\n.type start_module, @function\nstart_module: .skip 32, 0x90\n"
    ".text\n.type in_text, @function\n.skip 8\nin_text: .skip 24, 0x90\n"
    ".section .text.late, \"ax\"\n.p2align 6\n.skip 4, 0x90\n.type in_late, @function\nin_late: .skip 8, 0x90\n";

static struct {
    struct temp_folder folder;
    struct failure failure;
    struct kernel_symbols kernel;
    char kernel_id[DEBUG_BUILD_ID_DIGITS_MAX + 1];
    char module_id[DEBUG_BUILD_ID_DIGITS_MAX + 1];
    char sysroot[PATH_MAX];
    char debug[PATH_MAX];
} test;

static const char *path_of(const char *name) { return temp_folder_file(&test.folder, name); }

#define run(...) run_in_folder(&test.folder, __VA_ARGS__)

static void read_build_id(const char *name, char id[DEBUG_BUILD_ID_DIGITS_MAX + 1]) {
    struct debug_file file;
    assert_true(debug_file_open_supplement(&file, NULL, path_of(name)));
    snprintf(id, DEBUG_BUILD_ID_DIGITS_MAX + 1, "%s", file.build_id);
    debug_file_close(&file);
    assert_true(strlen(id) > 2);
}

static int set_up_group(void **state) {
    if (!temp_folder_init(&test.folder)) return -1;
    assert_true(file_write(path_of("kernel.s"), TEXT(kernel_text)));
    assert_true(file_write(path_of("module.s"), TEXT(module_text)));
    run("cc -c kernel.s && ld --build-id -Ttext=0xffffffff81000000 -e first kernel.o -o kernel && "
        "cc -c module.s && ld -r --build-id module.o -o module.ko && mkdir root debug home");
    read_build_id("kernel", test.kernel_id);
    read_build_id("module.ko", test.module_id);
    snprintf(test.sysroot, sizeof test.sysroot, "%s", path_of("root"));
    snprintf(test.debug, sizeof test.debug, "%s", path_of("debug"));
    return setenv("HOME", path_of("home"), 1);
}

static int tear_down_group(void **state) {
    run("rm -r * && cd / && rmdir '%s'", test.folder.path);
    return 0;
}

/* ---- Looking up. ---- */

static void load(const char *build_id) {
    static const char *const folders[] = {test.debug};
    static const struct debug_folders all = {.paths = folders, .count = 1, .sysroot = test.sysroot};
    const struct kernel_identity identity = {
        .build_id = text_of(build_id), .release = TEXT("9.9"), .reference = TEXT("_text"), .address = RUN};
    kernel_symbols_init(&test.kernel, &all, &test.failure);
    kernel_symbols_load(&test.kernel, &identity);
    assert_false(failure_is_set(&test.failure));
}

static void assert_name(bool is_found, const struct code_name *name, const char *expected, uint64_t start) {
    assert_int_equal(is_found, expected != NULL);
    if (!expected) return;
    assert_int_equal(name->name.bytes_count, strlen(expected));
    assert_memory_equal(name->name.bytes, expected, name->name.bytes_count);
    assert_int_equal(name->start, start);
}

static void assert_function(uint64_t address, const char *expected, uint64_t start) {
    struct code_name name;
    assert_name(kernel_symbols_find(&test.kernel, address, &name), &name, expected, start);
}

/* Asserts that the kernel with that build id, whose file is at the path, is found, and then removes the file. */
static void assert_kernel_at(const char *path) {
    run("mkdir -p $(dirname %s) && cp kernel %s", path, path);
    load("01234567");
    assert_function(RUN + 8, NULL, 0);
    kernel_symbols_fini(&test.kernel);
    load(test.kernel_id);
    assert_function(RUN + 8, "first", RUN);
    assert_function(RUN + 16, "second", RUN + 16);
    assert_function(RUN + 49, "third", RUN + 48);
    /* No code runs in padding, but a pointer to the function after it may look like a return address. */
    assert_function(RUN + 47, "third", RUN + 48);
    kernel_symbols_fini(&test.kernel);
    run("rm %s", path);
    load(test.kernel_id);
    assert_function(RUN + 8, NULL, 0);
    kernel_symbols_fini(&test.kernel);
}

TEST(uncompressed_kernels) {
    char path[PATH_MAX];
    assert_kernel_at("root/boot/vmlinux-9.9");
    assert_kernel_at("root/usr/lib/debug/lib/modules/9.9/vmlinux");
    assert_kernel_at("root/lib/modules/9.9/build/vmlinux");
    assert_kernel_at("debug/vmlinux");
    snprintf(path, sizeof path, "home/.debug/.build-id/%.2s/%s/elf", test.kernel_id, test.kernel_id + 2);
    assert_kernel_at(path);
    snprintf(path, sizeof path, "debug/.build-id/%.2s/%s.debug", test.kernel_id, test.kernel_id + 2);
    assert_kernel_at(path);
}

TEST(copies_of_the_list) {
    assert_true(file_write(path_of("list"), TEXT("ffffffff81000000 T _text\nffffffff81000010 t listed\n"
                                                 "ffffffffc0123008 t in_module\t[demo]\n")));
    static const char *const folders[] = {"debug", "home/.debug"};
    for (size_t i = 0; i < 2; i++) {
        run("mkdir -p %s/.build-id/%.2s/%s && cp list %s/.build-id/%.2s/%s/kallsyms", folders[i], test.kernel_id,
            test.kernel_id + 2, folders[i], test.kernel_id, test.kernel_id + 2);
        load(test.kernel_id);
        assert_function(RUN + 17, "listed", RUN + 16);
        /* The list is of another start of the kernel: its modules were elsewhere. */
        assert_function(MODULE + 8 + (RUN - LINKED), NULL, 0);
        kernel_symbols_fini(&test.kernel);
        run("rm -r %s/.build-id", folders[i]);
    }
}

TEST(the_list_is_counted) {
    struct kernel_list list;
    struct memory_limit large, small;
    memory_limit_init(&large, UINT64_C(1) << 40);
    memory_limit_init(&small, 1);
    if (!kernel_list_read(&list, kernel_list_running, &large)) skip();
    assert_true(large.held_bytes >= list.bytes_count);
    kernel_list_fini(&list);
    assert_int_equal(large.held_bytes, 0);
    assert_false(kernel_list_read(&list, kernel_list_running, &small));
    assert_null(list.bytes);
}

/* Modules are in the rest of the running kernel's list, which cannot be read without a descriptor. */
TEST(a_part_of_the_list_is_kept) {
    struct utsname names;
    struct rlimit limit, none;
    struct text list = kernel_list_keep();
    if (!list.bytes_count || uname(&names) != 0) skip();
    uint64_t start = kernel_list_address(list, TEXT("_text")), end = kernel_list_address(list, TEXT("_etext"));
    const struct kernel_identity identity = {
        .release = text_of(names.release), .reference = TEXT("_text"), .address = start};
    kernel_symbols_init(&test.kernel, NULL, &test.failure);
    assert_true(kernel_symbols_load(&test.kernel, &identity));
    getrlimit(RLIMIT_NOFILE, &limit);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    assert_function(end, NULL, 0);
    setrlimit(RLIMIT_NOFILE, &limit);
    struct code_name name;
    assert_true(kernel_symbols_find(&test.kernel, start, &name));
    assert_int_equal(name.start, start);
    assert_true(kernel_symbols_find(&test.kernel, end, &name));
    assert_int_equal(name.start, end);
    kernel_symbols_fini(&test.kernel);
    kernel_list_forget();
}

/* The copy of the running kernel's list has another name for where the kernel begins, and nothing after _etext. */
TEST(copies_have_the_running_kernels_code) {
    char notes[KERNEL_BUILD_ID_BYTES_MAX], id[2 * KERNEL_BUILD_ID_BYTES_MAX + 1], path[PATH_MAX];
    struct kernel_list list;
    if (!kernel_list_read(&list, kernel_list_running, NULL)) skip();
    size_t id_bytes = kernel_build_id_read("/sys/kernel/notes", notes);
    text_hex((struct text){notes, id_bytes}, id);
    uint64_t start = kernel_list_address(kernel_list_text(&list), TEXT("_text"));
    uint64_t end = kernel_list_address(kernel_list_text(&list), TEXT("_etext"));
    const struct kernel_identity identity = {.build_id = text_of(id), .reference = TEXT("_etext"), .address = end + 64};
    static const struct debug_folders none = {.count = 0};
    snprintf(path, sizeof path, "home/.debug/.build-id/%.2s/%s", id, id + 2);
    run("mkdir -p %s && sed '/^%" PRIx64 " /s/ [^ ]*$/ copied/; / _etext$/q' /proc/kallsyms > %s/kallsyms", path, start,
        path);
    kernel_symbols_init(&test.kernel, &none, &test.failure);
    assert_true(kernel_symbols_load(&test.kernel, &identity));
    assert_function(start + 64, "copied", start + 64); /* the recording's addresses are 64 above the list's */
    struct code_name name;
    assert_true(kernel_symbols_find(&test.kernel, end + 64, &name));
    assert_int_equal(name.start, end + 64);
    /* The rest has come from the running kernel, and the whole list with it. */
    assert_true(kernel_symbols_find(&test.kernel, start + 64, &name));
    assert_false(text_equal(name.name, TEXT("copied")));
    kernel_symbols_fini(&test.kernel);
    kernel_list_fini(&list);
    run("rm -r home/.debug");
}

/* Opens no file while it looks up a function of a module, as if the user were not allowed to read the running kernel's
 * list. */
TEST(copies_have_modules_if_no_other_list_can_be_read) {
    char notes[KERNEL_BUILD_ID_BYTES_MAX], id[2 * KERNEL_BUILD_ID_BYTES_MAX + 1], path[PATH_MAX];
    struct kernel_list list;
    struct rlimit limit, none;
    struct code_name name;
    if (!kernel_list_read(&list, kernel_list_running, NULL)) skip();
    size_t id_bytes = kernel_build_id_read("/sys/kernel/notes", notes);
    text_hex((struct text){notes, id_bytes}, id);
    uint64_t start = kernel_list_address(kernel_list_text(&list), TEXT("_text"));
    const struct kernel_identity identity = {.build_id = text_of(id), .reference = TEXT("_text"), .address = start};
    static const struct debug_folders folders = {.count = 0};
    snprintf(path, sizeof path, "home/.debug/.build-id/%.2s/%s", id, id + 2);
    run("mkdir -p %s && sed '/ _etext$/q' /proc/kallsyms > %s/kallsyms && "
        "printf '%%x t in_demo\\t[demo]\\n%%x t later\\t[demo]\\n' %" PRIu64 " %" PRIu64 " >> %s/kallsyms",
        path, path, MODULE, MODULE + 16, path);
    kernel_symbols_init(&test.kernel, &folders, &test.failure);
    assert_true(kernel_symbols_load(&test.kernel, &identity));
    getrlimit(RLIMIT_NOFILE, &limit);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    bool is_found = kernel_symbols_find(&test.kernel, MODULE + 4, &name);
    setrlimit(RLIMIT_NOFILE, &limit);
    assert_name(is_found, &name, "in_demo", MODULE);
    assert_true(text_equal(name.module, TEXT("[demo]")));
    kernel_symbols_fini(&test.kernel);
    kernel_list_fini(&list);
    run("rm -r home/.debug");
}

/* ---- Modules. ---- */

static void assert_in_module(const char *path, const char *build_id, uint64_t offset, const char *expected,
                             uint64_t start) {
    const struct kernel_module module = {TEXT("[demo]"), text_of(path), text_of(build_id), MODULE};
    struct code_name name;
    bool is_found = kernel_symbols_find_in_module(&test.kernel, &module, MODULE + offset, &name);
    assert_name(is_found, &name, expected, MODULE + start);
    if (expected) assert_true(text_equal(name.module, TEXT("[demo]")));
}

TEST(modules_may_be_compressed) {
    static const struct {
        const char *ending, *command;
    } kinds[] = {{"", "cat"}, {".gz", "gzip"}, {".xz", "xz --check=crc32"}, {".zst", "zstd -q"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char path[64];
        snprintf(path, sizeof path, "/lib/modules/9.9/kernel/demo.ko%s", kinds[i].ending);
        run("mkdir -p root/lib/modules/9.9/kernel && %s < module.ko > root/%s", kinds[i].command, path);
        load("01234567");
        assert_in_module(path, test.module_id, 4, NULL, 0);
        assert_in_module(path, test.module_id, 9, "in_text", 8);
        assert_in_module(path, test.module_id, 64 + 5, "in_late", 64 + 4);
        kernel_symbols_fini(&test.kernel);
        load("01234567");
        assert_in_module(path, "01234567", 9, NULL, 0);
        kernel_symbols_fini(&test.kernel);
        /* A folder of files gives the same. */
        run("mv root/%s debug", path);
        load("01234567");
        assert_in_module(path, test.module_id, 9, "in_text", 8);
        kernel_symbols_fini(&test.kernel);
        run("rm debug/demo.ko*");
        load("01234567");
        assert_in_module(path, test.module_id, 9, NULL, 0);
        kernel_symbols_fini(&test.kernel);
    }
}

TEST(damaged_modules) {
    static const char path[] = "/lib/modules/demo.ko.xz";
    static const char *const commands[] = {"head -c 300 module.ko", "xz < module.ko | head -c 200", "true",
                                           "head -c 3000 /dev/zero | xz"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        run("mkdir -p root/lib/modules && (%s) > root%s", commands[i], path);
        load("01234567");
        assert_in_module(path, test.module_id, 9, NULL, 0);
        kernel_symbols_fini(&test.kernel);
    }
}

int main(void) { return unit_tests_run(set_up_group, tear_down_group); }
