/* Tests walks of copied stacks through this machine's vDSO and through generated code. Those of the vDSO are skipped if
 * it has no function of that name, as on aarch64. */
#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

#include "readers/perf/perf_unwind.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

enum { VDSO_ADDRESS = 0x7000000, CALLER_ADDRESS = 0x400000, STACK_ADDRESS = 0x10000, PID = 5 };

static struct {
    struct failure failure;
    struct profile profile;
    struct perf_places code;
    struct perf_unwind unwind;
} test;

static void set_up_with(const struct debug_folders *folders, struct text os_release, const struct jit_policy *jit) {
    profile_init(&test.profile, &test.failure);
    perf_places_init(&test.code, &test.profile, folders, jit);
    test.code.system.identity.release = os_release;
    perf_unwind_init(&test.unwind, &test.code, &test.failure);
    perf_places_map(&test.code, &(struct code_map_record){PID, VDSO_ADDRESS, 0x10000, 0, TEXT("[vdso]"), TEXT("")});
    perf_places_map(&test.code, &(struct code_map_record){PID, CALLER_ADDRESS, 0x1000, 0, TEXT("/no/such"), TEXT("")});
}

static void tear_down(void) {
    perf_unwind_fini(&test.unwind);
    perf_places_fini(&test.code);
    profile_fini(&test.profile);
}

/* Walks from the first instruction of a function of the vDSO, where the caller's address is on top of the stack.
 * Returns the count of frames. */
static size_t walk(uint64_t function_offset) {
    enum { MASK_OF_STACK_POINTER_AND_PC = 0x180, ABI_64_BIT = 2 };
    const uint64_t registers[] = {STACK_ADDRESS, VDSO_ADDRESS + function_offset}, stack[] = {CALLER_ADDRESS + 0x10, 0};
    const struct perf_stack_copy copy = {.registers_abi = ABI_64_BIT,
                                         .registers_mask = MASK_OF_STACK_POINTER_AND_PC,
                                         .registers = {(const char *)registers, sizeof registers},
                                         .bytes = {(const char *)stack, sizeof stack}};
    bool is_cut;
    return perf_unwind_walk(&test.unwind, PID, &copy, &is_cut);
}

TEST(walks_pass_through_the_vdso) {
    struct utsname names;
    static const struct debug_folders no_folders = {.count = 0};
    static const struct jit_policy no_jit = {0};
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    const char *function = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
    if (!function || uname(&names) != 0) skip();
    uint64_t offset = (uint64_t)(uintptr_t)function - getauxval(AT_SYSINFO_EHDR);

    set_up_with(&no_folders, text_of(names.release), &no_jit);
    assert_true(walk(offset) >= 2);
    assert_int_equal(test.unwind.frames[1].address, CALLER_ADDRESS + 0x10);
    tear_down();

    /* In a pipe, the release comes after the first samples. */
    set_up_with(&no_folders, TEXT(""), &no_jit);
    assert_int_equal(walk(offset), 1);
    test.code.system.identity.release = text_of(names.release);
    assert_true(walk(offset) >= 2);
    tear_down();

    /* Another kernel has another vDSO, and without folders no file is used. */
    set_up_with(&no_folders, TEXT("another"), &no_jit);
    assert_int_equal(walk(offset), 1);
    assert_false(test.code.system.vdso.bytes_count);
    tear_down();
    set_up_with(NULL, text_of(names.release), &no_jit);
    assert_int_equal(walk(offset), 1);
    assert_false(test.code.system.vdso.bytes_count);
    tear_down();
    dlclose(vdso);
}

/* Returns the number of callers that the top of the stack has for code at the address, whose stack pointer is not that
 * of an aligned frame. The frame pointer leads nowhere. */
static size_t count_callers(uint64_t address) {
    enum { MASK_OF_FRAME_POINTER_STACK_POINTER_AND_PC = 0x1c0, ABI_64_BIT = 2 };
    const uint64_t registers[] = {0xdead, STACK_ADDRESS + 8, address}, stack[] = {CALLER_ADDRESS + 0x10, 0};
    const struct perf_stack_copy copy = {.registers_abi = ABI_64_BIT,
                                         .registers_mask = MASK_OF_FRAME_POINTER_STACK_POINTER_AND_PC,
                                         .registers = {(const char *)registers, sizeof registers},
                                         .bytes = {(const char *)stack, sizeof stack}};
    bool is_cut;
    return perf_unwind_walk(&test.unwind, PID, &copy, &is_cut) - 1;
}

TEST(code_of_java_without_a_frame_has_its_caller) {
    enum { JAVA = 0x700000, SCRIPT = 0x700100, UNNAMED = 0x700200, JIT_BYTES = 0x1000 };
    struct temp_folder folder;
    assert_true(temp_folder_init(&folder));
    const char *path = temp_folder_file(&folder, "map");
    assert_true(file_write(path, TEXT("700000 100 long App.work(long)\n"
                                      "700100 100 JS:*work app.js:1:1\n")));
    char map[PATH_MAX + sizeof "5="];
    snprintf(map, sizeof map, "5=%s", path);
    const struct jit_policy policy = {.maps = (const char *const[]){map}, .map_count = 1, .map_folder = ""};
    set_up_with(NULL, TEXT(""), &policy);
    perf_places_map(&test.code, &(struct code_map_record){PID, JAVA, JIT_BYTES, 0, TEXT("//anon"), TEXT("")});
    assert_int_equal(count_callers(JAVA + 8), 1);
    assert_int_equal(test.unwind.frames[1].address, CALLER_ADDRESS + 0x10);
    /* Frames of V8 have any size, and of other code nothing is known. */
    assert_int_equal(count_callers(SCRIPT + 8), 0);
    assert_int_equal(count_callers(UNNAMED), 0);
    tear_down();
    temp_folder_fini(&folder);
}

int main(void) { return unit_tests_run(NULL, NULL); }
