/* Tests what stacks in perf's text become: order, addresses relative to libraries, return addresses, inlined frames,
 * source lines, and the kind of code, category, name and script position of each frame. */
#include <stdarg.h>
#include <stdio.h>

#include "readers/reader.h"
#include "tests/support/profile_text.h"
#include "tests/support/unit_test.h"

enum { PID = 12, FRAMES_MAX = 65535 };

struct stack_test {
    char trace[1 << 21]; /* records and samples so far */
    char lines[1 << 21]; /* lines of the next sample */
    unsigned sample_count;

    /* What the trace became when the last sample was read. */
    struct failure failure;
    struct profile profile;
    frame_id frames[FRAMES_MAX]; /* frames of the last sample */
    uint32_t count;
};

static struct stack_test fixture;

static int set_up(void **state) {
    memset(&fixture, 0, sizeof fixture);
    profile_init(&fixture.profile, &fixture.failure);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    profile_fini(&fixture.profile);
    return failure_is_set(&fixture.failure) ? -1 : 0;
}

static void append(char *text, size_t capacity, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(text + used, capacity - used, format, arguments);
    va_end(arguments);
    assert_true(count >= 0 && (size_t)count < capacity - used);
}

static void add(const char *line) { append(fixture.lines, sizeof fixture.lines, "%s\n", line); }

static void map(int64_t pid, uint64_t start, uint64_t length, uint64_t file_offset, const char *path,
                const char *build_id) {
    append(fixture.trace, sizeof fixture.trace,
           "app 12/12 0.5: PERF_RECORD_MMAP2 %lld/%lld: [%#llx(%#llx) @ %#llx <%s>]: r-xp %s\n", (long long)pid,
           (long long)pid, (unsigned long long)start, (unsigned long long)length, (unsigned long long)file_offset,
           build_id, path);
}

/* Sets the frames to those of the newest sample. */
static void take_frames(void) {
    const struct profile *profile = &fixture.profile;
    int64_t newest_ns = INT64_MIN;
    stack_id stack = stack_none();
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct samples *samples = &profile_thread_at(profile, (thread_id){i})->samples;
        const struct sample *last = samples_count(samples) ? samples_at(samples, samples_count(samples) - 1) : NULL;
        if (!last || last->time_ns <= newest_ns) continue;
        newest_ns = last->time_ns;
        stack = last->stack;
    }
    fixture.count = 0;
    for (stack_id at = stack; !stack_is_none(at); at = profile_stack_at(profile, at)->prefix) fixture.count++;
    assert_true(fixture.count <= FRAMES_MAX);
    for (uint32_t i = fixture.count; i-- > 0; stack = profile_stack_at(profile, stack)->prefix)
        fixture.frames[i] = profile_stack_at(profile, stack)->frame;
}

static void read_text(struct text text) {
    profile_fini(&fixture.profile);
    profile_init(&fixture.profile, &fixture.failure);
    struct input *input = input_from_memory(text, 0, &fixture.failure);
    assert_non_null(input);
    reader_perf_script.run(input, &fixture.profile, &(struct reader_options){0});
    profile_finish(&fixture.profile);
    input_close(input);
    assert_false(failure_is_set(&fixture.failure));
}

/* Ends the sample, and reads the trace so far. */
static void take_in(int64_t pid) {
    append(fixture.trace, sizeof fixture.trace, "app %lld/%lld %u.0: x:\n%s\n", (long long)pid, (long long)pid,
           ++fixture.sample_count, fixture.lines);
    *fixture.lines = '\0';
    read_text(text_of(fixture.trace));
    take_frames();
}

static void take(void) { take_in(PID); }

/* Returns frame `i`, counted from the root. */
static const struct frame *frame_at(uint32_t i) {
    assert_true(i < fixture.count);
    return profile_frame_at(&fixture.profile, fixture.frames[i]);
}

static void assert_names(const char *wanted) {
    struct profile_text got = {0};
    for (uint32_t i = 0; i < fixture.count; i++) {
        if (i) profile_text_add(&got, TEXT(";"));
        profile_text_add(&got, frame_func_name(&fixture.profile, fixture.frames[i]));
    }
    assert_string_equal(got.bytes, wanted);
}

static void assert_place(uint32_t i, const char *lib_path, int32_t address) {
    const struct frame *frame = frame_at(i);
    assert_int_equal(frame->address, address);
    if (!lib_path) {
        assert_true(lib_is_none(frame->lib));
        return;
    }
    assert_false(lib_is_none(frame->lib));
    assert_true(text_equal(libs_at(&fixture.profile.libs, frame->lib)->path, text_of(lib_path)));
}

static void assert_native_symbol(uint32_t i, const char *name, uint32_t address) {
    const struct frame *frame = frame_at(i);
    if (!name) {
        assert_true(native_symbol_is_none(frame->native_symbol));
        return;
    }
    assert_false(native_symbol_is_none(frame->native_symbol));
    const struct native_symbol *symbol = profile_native_symbol_at(&fixture.profile, frame->native_symbol);
    assert_true(text_equal(strings_text(&fixture.profile.strings, symbol->name), text_of(name)));
    assert_int_equal(symbol->address, address);
    assert_int_equal(symbol->lib.index, frame->lib.index);
}

static void assert_line(uint32_t i, const char *file, uint32_t line) {
    const struct frame *frame = frame_at(i);
    assert_int_equal(frame->line, line);
    source_id source = profile_func_at(&fixture.profile, frame->func)->source;
    if (!file) {
        assert_true(source_is_none(source));
        return;
    }
    assert_false(source_is_none(source));
    assert_true(text_equal(
        strings_text(&fixture.profile.strings, profile_source_at(&fixture.profile, source)->filename), text_of(file)));
}

static const char *resource_of(uint32_t i) {
    resource_id resource = profile_func_at(&fixture.profile, frame_at(i)->func)->resource;
    static char name[256];
    if (resource_is_none(resource)) return "";
    struct text text = strings_text(&fixture.profile.strings, profile_resource_at(&fixture.profile, resource)->name);
    snprintf(name, sizeof name, "%.*s", (int)text.bytes_count, text.bytes);
    return name;
}

static const struct func *func_at(uint32_t i) { return profile_func_at(&fixture.profile, frame_at(i)->func); }

/* Reads a sample that has only that line. */
static const struct frame *leaf_of(const char *line) {
    append(fixture.lines, sizeof fixture.lines, "\t%s\n", line);
    take();
    return frame_at(fixture.count - 1);
}

static void assert_text(struct text got, const char *wanted, const char *line) {
    if (!text_equal(got, text_of(wanted)))
        fail_msg("%s: \"%.*s\" is not \"%s\"", line, (int)got.bytes_count, got.bytes ? got.bytes : "", wanted);
}

static void assert_leaf_name(const char *line, const char *name) {
    leaf_of(line);
    assert_text(frame_func_name(&fixture.profile, fixture.frames[0]), name, line);
}

/* ---- Order and addresses. ---- */

TEST(test_root_first_and_empty_again, set_up, tear_down) {
    add("\t1190 leaf+0x10 (/usr/bin/app)");
    add("\t1290 caller+0x10 (/usr/bin/app)");
    add("\t1390 main+0x10 (/usr/bin/app)");
    take();
    assert_names("main;caller;leaf");
    add("\t1390 main+0x10 (/usr/bin/app)");
    take();
    assert_names("main");
}

TEST(test_relative_addresses_as_printed, set_up, tear_down) {
    add("\t1190 leaf+0x10 (/usr/bin/app)");
    take();
    assert_place(0, "/usr/bin/app", 0x1190);
    assert_native_symbol(0, "leaf", 0x1180);
    assert_string_equal(resource_of(0), "app");
}

TEST(test_absolute_addresses_by_the_mappings, set_up, tear_down) {
    map(PID, 0x7f0000001000, 0x5000, 0x26000, "/lib/libc.so.6", "00112233445566778899aabbccddeeff00112233");
    map(99, 0x7f0000001000, 0x5000, 0, "/lib/other.so", "");
    add("\t7f0000001190 read+0x10 (/lib/libc.so.6)");
    take();
    assert_place(0, "/lib/libc.so.6", 0x26190);
    assert_native_symbol(0, "read", 0x26180);
    assert_true(text_equal(libs_at(&fixture.profile.libs, frame_at(0)->lib)->code_id,
                           TEXT("00112233445566778899aabbccddeeff00112233")));
    add("\t7f0000009190 read+0x10 (/lib/libc.so.6)"); /* nothing is mapped there */
    take();
    assert_place(0, NULL, ADDRESS_NONE);
    assert_native_symbol(0, NULL, 0);
    assert_string_equal(resource_of(0), "libc.so.6");
}

/* The same line means another address in another process, and later in the same process. */
TEST(test_a_line_is_read_in_its_process, set_up, tear_down) {
    const char *line = "\t7f0000001190 f+0x10 (/a.so)";
    add(line);
    take();
    assert_place(0, NULL, ADDRESS_NONE);
    map(PID, 0x7f0000001000, 0x5000, 0, "/a.so", "");
    add(line);
    take();
    assert_place(0, "/a.so", 0x190);
    map(PID, 0x7f0000000000, 0x5000, 0, "/a.so", "");
    add(line);
    take();
    assert_place(0, "/a.so", 0x1190);
    add(line);
    take_in(PID + 1);
    assert_place(0, NULL, ADDRESS_NONE);
}

TEST(test_kernel_addresses, set_up, tear_down) {
    add("\tffffffff8158e375 f+0x5 ([kernel.kallsyms])"); /* no record has the start */
    take();
    assert_place(0, "[kernel.kallsyms]", 0x158e375);
    assert_native_symbol(0, "f", 0x158e370);
    map(-1, 0xffffffff81000000, 0x1200000, 0xffffffff81000000, "[kernel.kallsyms]_text", "");
    map(-1, 0xffffffffc0000000, 0x5000, 0, "/lib/modules/ext4.ko", "");
    add("\tffffffffc0000123 g+0x3 ([ext4])");
    add("\tffffffff8158e377 f+0x7 ([kernel.kallsyms])");
    take();
    assert_place(1, "[ext4]", 0x123);
    assert_native_symbol(1, "g", 0x120);
    assert_place(0, "[kernel.kallsyms]", 0x58e376); /* a return address */
    assert_native_symbol(0, "f", 0x58e370);
    add("\tffffffffd0000123 g+0x3 ([xfs])"); /* a module whose start is unknown */
    add("\tffff8000801c1b2c h+0x2c ([kernel.kallsyms])");
    take();
    assert_place(1, NULL, ADDRESS_NONE);
    assert_place(0, NULL, ADDRESS_NONE);
    add("\tffffffff8158e375 f+0x5 ([guest.kernel.kallsyms])"); /* the mappings are the host's */
    take();
    assert_place(0, "[guest.kernel.kallsyms]", 0x158e375);
}

TEST(test_code_that_is_in_no_file, set_up, tear_down) {
    static const char *const lines[] = {
        "\t1190 f (/tmp/perf-1.map)",
        "\t1190 f ([JIT] tid 5)",
        "\t1190 f (//anon)",
        "\t1190 f ([heap])",
        "\t1190 f ([stack])",
        "\t1190 f",
        "\t1190",
        "\t[unknown] (/usr/bin/app)",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        add(lines[i]);
        take();
        assert_place(0, NULL, ADDRESS_NONE);
        assert_native_symbol(0, NULL, 0);
    }
}

TEST(test_addresses_that_do_not_fit, set_up, tear_down) {
    map(PID, 0x7f0000000000, 0x100000000, 0, "/large.so", "");
    add("\t7f007fffffff f (/large.so)");
    take();
    assert_place(0, "/large.so", INT32_MAX);
    add("\t7f0080000000 f (/large.so)");
    take();
    assert_place(0, NULL, ADDRESS_NONE);
    add("\t7fffffff f (/small.so)");
    take();
    assert_place(0, "/small.so", INT32_MAX);
    add("\t80000000 f (/small.so)");
    take();
    assert_place(0, NULL, ADDRESS_NONE);
}

/* Callers of which perf knows nothing are one function. Code that was interrupted keeps its address. */
TEST(test_unknown_callers_are_one_function, set_up, tear_down) {
    add("\t7f01 [unknown] ([unknown])");
    add("\t7f02 [unknown] ([unknown])");
    add("\t7f03 [unknown] ([unknown])");
    take();
    assert_names("[unknown];[unknown];[unknown]+0x7f01");
    assert_int_equal(fixture.frames[0].index, fixture.frames[1].index);
    assert_place(0, NULL, ADDRESS_NONE);
    add("\tffffffff81001190 k ([kernel.kallsyms])");
    add("\tffffffff81001191 [unknown] ([unknown])");
    add("\t7f02 [unknown] ([unknown])");
    add("\t7f03");
    add("\t7f03 [unknown] (/usr/bin/app)");
    take();
    assert_names("app+0x7f03;[unknown]+0x7f03;[unknown]+0x7f02;[unknown];k");
}

TEST(test_unknown_symbols_have_no_native_symbol, set_up, tear_down) {
    add("\t1190 [unknown] (/usr/bin/app)");
    take();
    assert_names("app+0x1190");
    assert_place(0, "/usr/bin/app", 0x1190);
    assert_native_symbol(0, NULL, 0);
    add("\t1190 f (/usr/bin/app)"); /* without an offset the symbol's start is unknown */
    take();
    assert_native_symbol(0, NULL, 0);
    add("\t1190 f+0x2000 (/usr/bin/app)"); /* the symbol would start before the library */
    take();
    assert_place(0, "/usr/bin/app", 0x1190);
    assert_native_symbol(0, NULL, 0);
}

/* ---- Return addresses. ---- */

TEST(test_callers_step_back_into_the_call, set_up, tear_down) {
    add("\t1190 leaf+0x10 (/usr/bin/app)");
    add("\t1290 caller+0x10 (/usr/bin/app)");
    add("\t1300 ends_in_a_call+0x0 (/usr/bin/app)"); /* moving it back would leave the symbol */
    add("\t1390 no_offset (/usr/bin/app)");
    add("\t0 at_zero (/usr/bin/app)");
    take();
    assert_place(4, "/usr/bin/app", 0x1190);
    assert_place(3, "/usr/bin/app", 0x128f);
    assert_native_symbol(3, "caller", 0x1280);
    assert_place(2, "/usr/bin/app", 0x1300);
    assert_place(1, "/usr/bin/app", 0x138f);
    assert_place(0, "/usr/bin/app", 0);
}

/* A line can be the leaf in one stack and a caller in another. */
TEST(test_a_line_as_leaf_and_as_caller, set_up, tear_down) {
    for (int round = 0; round < 2; round++) {
        add("\t1190 f+0x10 (/usr/bin/app)");
        add("\t1190 f+0x10 (/usr/bin/app)");
        take();
        assert_place(1, "/usr/bin/app", 0x1190);
        assert_place(0, "/usr/bin/app", 0x118f);
        assert_int_equal(frame_at(0)->func.index, frame_at(1)->func.index);
    }
}

TEST(test_the_first_user_frame_is_exact, set_up, tear_down) {
    add("\tffffffff81001190 k1+0x10 ([kernel.kallsyms])");
    add("\tffffffff81001290 k2+0x10 ([kernel.kallsyms])");
    add("\t1190 read+0x10 (/lib/libc.so.6)");
    add("\t1290 main+0x10 (/usr/bin/app)");
    take();
    assert_place(3, "[kernel.kallsyms]", 0x1001190);
    assert_place(2, "[kernel.kallsyms]", 0x100128f);
    assert_place(1, "/lib/libc.so.6", 0x1190);
    assert_place(0, "/usr/bin/app", 0x128f);
}

TEST(test_unwound_callers_stay, set_up, tear_down) {
    append(fixture.trace, sizeof fixture.trace, "# cmdline : /usr/bin/perf record --call-graph dwarf ./app\n");
    add("\tffffffff81001190 k1+0x10 ([kernel.kallsyms])");
    add("\tffffffff81001290 k2+0x10 ([kernel.kallsyms])");
    add("\t1190 read+0x10 (/lib/libc.so.6)");
    add("\t1290 main+0x10 (/usr/bin/app)");
    take();
    assert_place(2, "[kernel.kallsyms]",
                 0x100128f); /* perf does not unwind kernel frames, so this is a return address */
    assert_place(0, "/usr/bin/app", 0x1290);
}

/* ---- Inlined frames. ---- */

TEST(test_an_inlined_chain, set_up, tear_down) {
    add("\t3477 innermost+0x1f7 (inlined)");
    add("\t3477 middle+0x1f7 (inlined)");
    add("\t3477 physical+0x1f7 (/usr/bin/app)");
    add("\t3577 main+0x10 (/usr/bin/app)");
    take();
    assert_names("main;physical;middle;innermost");
    static const uint8_t depths[] = {0, 0, 1, 2};
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(frame_at(i)->inline_depth, depths[i]);
    for (uint32_t i = 1; i < 4; i++) {
        assert_place(i, "/usr/bin/app", 0x3477);
        assert_native_symbol(i, "physical", 0x3280);
        assert_string_equal(resource_of(i), "app");
        assert_int_equal(frame_at(i)->category, frame_at(1)->category);
        assert_int_equal(frame_at(i)->subcategory, frame_at(1)->subcategory);
    }
    assert_place(0, "/usr/bin/app", 0x3576);
}

TEST(test_an_inlined_chain_among_callers, set_up, tear_down) {
    add("\t1190 leaf+0x10 (/usr/bin/app)");
    add("\t3477 inlined+0x1f7 (inlined)");
    add("\t3477 physical+0x1f7 (/usr/bin/app)");
    take();
    assert_names("physical;inlined;leaf");
    assert_place(0, "/usr/bin/app", 0x3476);
    assert_place(1, "/usr/bin/app", 0x3476);
    assert_int_equal(frame_at(1)->inline_depth, 1);
    assert_int_equal(frame_at(2)->inline_depth, 0);
}

TEST(test_an_inlined_chain_in_the_kernel, set_up, tear_down) {
    add("\tffffffff81001190 inlined (inlined)");
    add("\tffffffff81001190 physical+0x10 ([kernel.kallsyms])");
    add("\t1290 main+0x10 (/usr/bin/app)");
    take();
    assert_names("main;physical;inlined");
    assert_place(0, "/usr/bin/app", 0x1290); /* the first user frame */
    assert_int_equal(frame_at(2)->category, frame_at(1)->category);
    assert_string_equal(resource_of(2), "[kernel.kallsyms]");
}

TEST(test_a_chain_without_its_physical_frame, set_up, tear_down) {
    add("\t3477 innermost (inlined)");
    add("\t3477 last (inlined)");
    take();
    assert_names("last;innermost");
    assert_int_equal(frame_at(0)->inline_depth, 0);
    assert_int_equal(frame_at(1)->inline_depth, 1);
    assert_place(0, NULL, ADDRESS_NONE);
}

TEST(test_a_chain_deeper_than_its_field, set_up, tear_down) {
    for (int i = 0; i < 600; i++) add("\t3477 f (inlined)");
    add("\t3477 physical+0x7 (/usr/bin/app)");
    take();
    assert_int_equal(fixture.count, 601);
    assert_int_equal(frame_at(0)->inline_depth, 0);
    for (uint32_t i = 1; i < 601; i++) {
        uint8_t depth = frame_at(i)->inline_depth, below = frame_at(i - 1)->inline_depth;
        assert_true(depth == 0 || depth == below + 1);
    }
}

TEST(test_inlined_by_name_in_perf_maps, set_up, tear_down) {
    add("\t7f01 A::f->B::g (/tmp/perf-1.map)");
    add("\t7f09 Main::main (/tmp/perf-1.map)");
    take();
    assert_names("Main::main;A::f;B::g");
    assert_int_equal(frame_at(1)->inline_depth, 0);
    assert_int_equal(frame_at(2)->inline_depth, 1);
    add("\t7f01 A::f->B::g (/usr/bin/app)");
    take();
    assert_names("A::f->B::g");
}

/* ---- Source lines. ---- */

TEST(test_source_lines, set_up, tear_down) {
    add("\t1190 leaf+0x10 (/usr/bin/app)");
    add("  file.c:12");
    add("\t1290 main+0x10 (/usr/bin/app)");
    add("  app[1290]");
    take();
    assert_line(1, "file.c", 12);
    assert_line(0, NULL, 0);
    assert_place(1, "/usr/bin/app", 0x1190);
    assert_string_equal(resource_of(1), "app");
    add("\t1190 leaf+0x10 (/usr/bin/app)"); /* a frame without a source line; a function has one file */
    take();
    assert_line(0, "file.c", 0);
    add("\t1190 leaf+0x10 (/usr/bin/app)");
    add("  file.c:13");
    take();
    assert_line(0, "file.c", 13);
}

TEST(test_inlined_told_by_the_source_line, set_up, tear_down) {
    add("\t3477 compare");
    add("  basic_string.h:234 (inlined)");
    add("\t3477 physical+0x7 (/usr/bin/app)");
    add("  app.cpp:9");
    take();
    assert_names("physical;compare");
    assert_int_equal(frame_at(1)->inline_depth, 1);
    assert_line(1, "basic_string.h", 234);
    assert_line(0, "app.cpp", 9);
    assert_place(1, "/usr/bin/app", 0x3477);
    assert_string_equal(resource_of(1), "app");
}

/* ---- Symbols. ---- */

TEST(test_categories_by_library_first, set_up, tear_down) {
    static const struct {
        const char *line, *category, *subcategory;
    } rows[] = {
        {"ffffffff8158e375 f ([kernel.kallsyms])", "Kernel", "Other"},
        {"ffff8000801c1b2c f ([kernel.kallsyms])", "Kernel", "Other"}, /* aarch64 */
        {"ffffffff8158e375 f ([kernel.vmlinux])", "Kernel", "Other"},
        {"ffffffff8158e375 f (vmlinux-6.1.0-18-amd64)", "Kernel", "Other"},
        {"ffffffff8158e375 f (/usr/lib/debug/boot/vmlinux-6.1.0)", "Kernel", "Other"},
        {"ffffffffc0158e37 f ([ext4])", "Kernel", "ext4"},
        {"1234 f ([nf_conntrack])", "Kernel", "nf_conntrack"}, /* the library decides, not the address */
        {"ffffffffc0158e37 f (/lib/modules/6.1/kernel/fs/xfs.ko.zst)", "Kernel", "xfs"},
        {"ffffffffc0158e37 f (/lib/modules/6.1/kernel/fs/btrfs.ko)", "Kernel", "btrfs"},
        {"ffffffffc0158e37 f (snd_hda.ko.xz)", "Kernel", "snd_hda"},
        {"ffffffffc0158e37 bpf_prog_6deef7357e7b4530_f (bpf_prog_6deef7357e7b4530_f)", "Kernel", "BPF"},
        {"ffffffffc0158e37 bpf_prog_6deef7357e7b4530_f ([kernel.kallsyms])", "Kernel", "BPF"},
        {"ffffffffc0158e37 f ([bpf])", "Kernel", "BPF"},
        {"ffffffff8158e375 f ([guest.kernel.kallsyms])", "Kernel", "Guest"},
        {"ffffffff8158e375 f ([guest.kernel.kallsyms.123])", "Kernel", "Guest"},
        {"ffffffff8158e375 f", "Kernel", "Other"}, /* without a library, the address decides */
        {"ffff8000801c1b2c f", "Kernel", "Other"},
        {"ffffffff8158e375 [unknown] ([unknown])", "Kernel", "Other"},
        {"7f01 f", "User", "Other"},
        {"7f01 [unknown] ([unknown])", "User", "Other"},
        {"7ffd1234 f ([vdso])", "User", "[vdso]"},
        {"ffffffffff600000 f ([vsyscall])", "User", "[vsyscall]"},
        {"7f01 f (/usr/lib/libc.so.6)", "User", "libc.so.6"},
        {"7f01 f (/usr/bin/anonymizer)", "User", "anonymizer"},
        {"7f01 f (/usr/bin/perf-1234.mapper)", "User", "perf-1234.mapper"},
        {"7f01 f (/tmp/perf-1234.map)", "JIT", "Other"},
        {"7f01 f ([JIT] tid 5)", "JIT", "Other"},
        {"7f01 f ([JIT app cache])", "JIT", "Other"},
        {"7f01 f (/home/u/.debug/jit/x/jitted-123-4.so)", "JIT", "Other"},
        {"7f01 LazyCompile:*fn file.js:10:3 (/tmp/perf-1.map)", "JIT", "TurboFan"},
        {"7f01 py::fn:/file.py (/tmp/perf-1.map)", "Script", "Python"},
        {"7f01 Builtin:ArrayMap (/tmp/perf-1.map)", "JIT", "Builtin"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct frame *frame = leaf_of(rows[i].line);
        const struct category *category = categories_at(&fixture.profile.categories, frame->category);
        assert_text(category->name, rows[i].category, rows[i].line);
        assert_text(*category_subcategory_at(category, frame->subcategory), rows[i].subcategory, rows[i].line);
    }
}

TEST(test_idle, set_up, tear_down) {
    static const char *const idle[] = {
        "ffffffff81 native_safe_halt+0xb ([kernel.kallsyms])", "ffffffff81 intel_idle+0x63 ([kernel.kallsyms])",
        "ffffffff81 do_idle+0x1a ([kernel.kallsyms])",         "ffffffff81 cpu_startup_entry+0x2a ([kernel.kallsyms])",
        "ffffffff81 acpi_idle_do_entry ([kernel.kallsyms])",   "ffff80008 cpu_do_idle+0x8 ([kernel.kallsyms])",
    };
    static const char *const busy[] = {
        "ffffffff81 idle_cpu+0xb ([kernel.kallsyms])",
        "ffffffff81 do_idle_work ([kernel.kallsyms])",
        "7f01 do_idle (/usr/bin/app)",
    };
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        assert_text(categories_at(&fixture.profile.categories, leaf_of(idle[i])->category)->name, "Idle", idle[i]);
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++) {
        struct text name = categories_at(&fixture.profile.categories, leaf_of(busy[i])->category)->name;
        if (text_equal(name, TEXT("Idle"))) fail_msg("%s is idle", busy[i]);
    }
}

TEST(test_versions, set_up, tear_down) {
    static const char *const rows[][2] = {
        {"7f01 __libc_start_main@@GLIBC_2.34+0x85 (/usr/lib/libc.so.6)", "__libc_start_main"},
        {"7f01 memcpy@GLIBC_2.2.5 (/usr/lib/libc.so.6)", "memcpy"},
        {"7f01 memcpy@@GLIBC_2.14", "memcpy"},
        {"7f01 memcpy@plt (/usr/bin/app)", "memcpy@plt"},
        {"7f01 Lcom/app;::run@Other (/tmp/perf-1.map)", "Lcom/app;::run@Other"},
        {"7f01 LazyCompile:*fn /node_modules/@scope/a.js:10:3 (/tmp/perf-1.map)", "fn"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_leaf_name(rows[i][0], rows[i][1]);
    add("\t7f01 memcpy@GLIBC_2.2.5 (/usr/lib/libc.so.6)");
    add("\t7f01 memcpy@@GLIBC_2.14 (/usr/lib/libc.so.6)");
    take();
    assert_int_equal(frame_at(0)->func.index, frame_at(1)->func.index);
}

TEST(test_unknown_names, set_up, tear_down) {
    static const char *const rows[][2] = {
        {"7f01 [unknown] (/usr/bin/app)", "app+0x7f01"},
        {"7f02 [unknown] (/usr/bin/app)", "app+0x7f02"},
        {"7f01 (/usr/bin/app)", "app+0x7f01"},
        {"7f01 [unknown] ([unknown])", "[unknown]+0x7f01"},
        {"7f01", "[unknown]+0x7f01"},
        {"0 [unknown] ([unknown])", "[unknown]+0x0"},
        {"[unknown] ([unknown])", "[unknown]"},
        {"[unknown] (/usr/bin/perf)", "[unknown]"},
        {"ffffffff8158e375 [unknown] ([kernel.kallsyms])", "[kernel.kallsyms]+0xffffffff8158e375"},
        {"7f01 [unknown] (//anon)", "anon+0x7f01"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_leaf_name(rows[i][0], rows[i][1]);
}

TEST(test_unknown_libraries_are_told_apart, set_up, tear_down) {
    leaf_of("[unknown] ([unknown])");
    assert_string_equal(resource_of(0), "");
    leaf_of("[unknown] (/usr/bin/perf)");
    assert_string_equal(resource_of(0), "perf");
}

TEST(test_functions_of_several_places, set_up, tear_down) {
    add("\t1190 fib+0x12 (/usr/bin/app)");
    add("\t11a0 fib+0x22 (/usr/bin/app)");
    add("\t1190 fib+0x12 (/usr/bin/other)");
    take();
    assert_int_equal(frame_at(1)->func.index,
                     frame_at(2)->func.index); /* the call tree merges functions that are equal */
    assert_int_not_equal(frame_at(0)->func.index, frame_at(1)->func.index);
    assert_native_symbol(2, "fib", 0x117e);
    leaf_of("10 fib+0x12 (/usr/bin/app)"); /* the symbol would start below address 0 */
    assert_native_symbol(0, NULL, 0);
}

TEST(test_scripts, set_up, tear_down) {
    add("\t7f01 LazyCompile:*fn file.js:10:3 (/tmp/perf-1.map)");
    add("\t7f02 LazyCompile:~fn file.js:10:3 (/tmp/perf-1.map)"); /* in another tier */
    add("\t7f01 py::fn:/file.py (/tmp/perf-1.map)");
    take();
    const struct func *func = func_at(2);
    assert_names("fn;fn;fn");
    assert_int_equal(frame_at(1)->func.index, frame_at(2)->func.index);
    assert_line(2, "file.js", 0);
    assert_int_equal(func->line, 10);
    assert_int_equal(func->column, 3);
    assert_int_equal(func->flags, FUNC_IS_JS);
    assert_line(0, "/file.py", 0);
    assert_int_equal(func_at(0)->flags, FUNC_IS_JS);
    /* Compiled code with names that look like a script's. */
    static const char *const compiled[] = {
        "7f01 JS::Call (/usr/lib/libxul.so)",
        "7f01 Script:run a.js:1:2 (/usr/lib/libxul.so)",
        "7f01 py::fn:/file.py (/usr/lib/libpybind.so)",
        "ffffffff8158e375 py::fn:/file.py ([kernel.kallsyms])",
    };
    for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++) {
        leaf_of(compiled[i]);
        if (!source_is_none(func_at(0)->source) || func_at(0)->flags) fail_msg("%s is a script", compiled[i]);
    }
}

TEST(test_java, set_up, tear_down) {
    leaf_of("7f01 Ljava/io/PrintStream;::print (/tmp/perf-1.map)");
    assert_names("Ljava/io/PrintStream;::print");
    /* h is inlined into g and g into f; f is the physical frame */
    leaf_of("7f01 A::f->B::g->C::h (/tmp/perf-1.map)");
    assert_names("A::f;B::g;C::h");
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(frame_at(i)->inline_depth, i);
    /* In other libraries, an arrow is part of the name. */
    leaf_of("7f01 Foo::operator->() (/usr/bin/app)");
    assert_names("Foo::operator->()");
    leaf_of("7f01 A::f->B::g ([JIT] tid 5)");
    assert_names("A::f->B::g");
}

TEST(test_more_arrows_than_frames, set_up, tear_down) {
    append(fixture.lines, sizeof fixture.lines, "\t7f01 ");
    for (int i = 0; i < 600; i++) append(fixture.lines, sizeof fixture.lines, "a->");
    append(fixture.lines, sizeof fixture.lines, "z (/tmp/perf-1.map)\n");
    take();
    assert_int_equal(fixture.count, INLINE_DEPTH_MAX);
}

/* ---- Limits. ---- */

TEST(test_depth_is_bounded, set_up, tear_down) {
    static const char line[] = "\t1190 f+0x10 (/usr/bin/app)\n";
    for (size_t i = 0; i < FRAMES_MAX + 10; i++) memcpy(fixture.lines + i * (sizeof line - 1), line, sizeof line);
    take();
    assert_int_equal(fixture.count, FRAMES_MAX);
    struct profile_text *entries = ledger_entries_text(&fixture.profile.ledger);
    assert_non_null(strstr(entries->bytes, "values lost 10 frame deeper than 65535\n"));
    free(entries);
}

static void add_places(unsigned place_count) {
    for (unsigned i = 0; i < place_count; i++) add("1190 f+0x10 (/usr/bin/app)");
}

/* perf prints no more places than the kernel records. Inlined frames have none of their own. */
TEST(test_depth_at_the_limit_of_the_kernel, set_up, tear_down) {
    enum { KERNEL_LIMIT = 127 };
    add_places(KERNEL_LIMIT - 1);
    take();
    assert_int_equal(fixture.count, KERNEL_LIMIT - 1);
    add("1190 g (inlined)");
    add_places(KERNEL_LIMIT);
    take();
    assert_int_equal(fixture.count, KERNEL_LIMIT + 2);
    struct text root = frame_func_name(&fixture.profile, fixture.frames[0]);
    assert_text(root, "[truncated stack]", "the outermost frame");
    add_places(KERNEL_LIMIT + 1);
    take();
    assert_int_equal(fixture.count, KERNEL_LIMIT + 1);
    struct profile_text *entries = ledger_entries_text(&fixture.profile.ledger);
    assert_non_null(strstr(entries->bytes, "samples noted 1 sample whose stack is deeper than "));
    free(entries);
}

/* ---- Lines that were broken. ---- */

/* Adds the line as a terminal with so many columns or, with at_blanks, a mail program breaks it. */
static void add_broken(const char *line, size_t columns, bool at_blanks) {
    size_t used = 7; /* by the tab, besides its byte */
    for (; strlen(line) > columns - used; used = 0) {
        size_t taken = columns - used, next = taken;
        while (at_blanks && line[next] != ' ') next--;
        if (at_blanks) taken = next++;
        while (line[taken - 1] == ' ') taken--; /* blanks at the end of a line are lost */
        append(fixture.lines, sizeof fixture.lines, "%.*s\n", (int)taken, line);
        line += next;
    }
    add(line);
}

static void assert_joined(size_t columns, bool at_blanks) {
    tear_down(NULL);
    set_up(&(void *){NULL});
    add_broken(
        "\t    401106 demo::walk<int, std::char_traits<char> >(std::vector<int> const&, unsigned long)+0x6 (/opt/app)",
        columns, at_blanks);
    add_broken("\t    401150 std::map<int, long>::operator[](int const&)+0x12 (/opt/a folder/libmap.so)", columns,
               at_blanks);
    add("\t    401200 main+0x10 (/opt/app)");
    take();
    assert_names(
        "main;std::map<int, long>::operator[](int const&);"
        "demo::walk<int, std::char_traits<char> >(std::vector<int> const&, unsigned long)");
}

TEST(test_broken_lines_are_joined, set_up, tear_down) {
    for (size_t columns = 50; columns < 80; columns++) assert_joined(columns, false);
    assert_joined(50, true);
    assert_joined(72, true);
}

static uint64_t first_line(const char *cause) {
    const struct ledger *ledger = &fixture.profile.ledger;
    for (size_t i = 0; i < ledger->entries.count; i++)
        if (text_equal(ledger_at(ledger, i)->cause, text_of(cause))) return ledger_at(ledger, i)->first.line;
    return 0;
}

/* A frame counts as being where it begins, and each other line where it is. */
TEST(test_places_of_broken_lines, set_up, tear_down) {
    add("\t    401106 work(std::vector<int> const&,");
    add("unsigned long)+0x6 (/opt/app)");
    take();
    assert_int_equal(first_line("event line"), 1);
    assert_int_equal(first_line("frame line"), 2);
    assert_int_equal(first_line("rest of a frame line that was broken: joined with it"), 3);
    assert_int_equal(first_line("blank line"), 4);
}

/* A line is joined until it is as long as a line may be. */
TEST(test_line_broken_into_long_ones, set_up, tear_down) {
    enum { REST_BYTES = 1024 * 1024, REST_COUNT = 5 };
    static const char begin[] = "app 7/7 1.0: x:\n\t    401106 work\nand more\n";
    size_t begin_bytes = sizeof begin - 1;
    struct text text = {.bytes_count = begin_bytes + (size_t)REST_COUNT * REST_BYTES};
    char *bytes = malloc(text.bytes_count);
    assert_non_null(bytes);
    memset(bytes, 'w', text.bytes_count);
    memcpy(bytes, begin, begin_bytes);
    for (size_t i = 1; i <= REST_COUNT; i++) bytes[begin_bytes + i * REST_BYTES - 1] = '\n';
    text.bytes = bytes;
    read_text(text);
    free(bytes);
    assert_int_equal(first_line("rest of a frame line that was broken: joined with it"), 3);
    assert_int_equal(first_line("line that is no event, frame or record"), 7);
}

/* In a text without libraries, no frame says where it ends. */
TEST(test_lines_without_libraries_are_not_joined, set_up, tear_down) {
    add("\t    401106 work+0x6");
    add("\tnoise");
    add("\t    401200 main+0x10");
    take();
    assert_names("main;work");
}

/* The depth of a frame is a byte. */
TEST(test_more_inlined_frames_than_a_depth_can_tell, set_up, tear_down) {
    char text[32 * 1024];
    for (int inlined_count = 255; inlined_count <= 256; inlined_count++) {
        int bytes_count = sprintf(text, "app 7/7 1.0: x:\n");
        for (int i = 0; i < inlined_count; i++)
            bytes_count += sprintf(text + bytes_count, "\t    401106 f (/app) (inlined)\n");
        bytes_count += sprintf(text + bytes_count, "\t    401106 main (/app)\n");
        read_text((struct text){text, (size_t)bytes_count});
        uint64_t line = first_line("sample with more than 255 frames inlined into each other");
        assert_int_equal(line, inlined_count == 255 ? 0 : 1);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
