/* Tests reading perf.data from memory: what records become, their order, and what is kept of damaged recordings. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zstd.h>

#include "libconvert/symbols/debug_file_search.h"
#include "readers/reader.h"
#include "tests/support/assert_text.h"
#include "tests/support/marker_text.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/profile_text.h"
#include "tests/support/reading.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

static struct perf_data_builder builder;

/* Reads the input and closes it. Checks that the result is a profile whose ledger balances, or a failure of the
 * input. */
static void read_input_with(struct input *input, const struct reader_options *options) {
    assert_non_null(input);
    reader_perf_data.run(input, &reading.profile, options);
    if (!failure_is_set(&reading.failure)) profile_finish(&reading.profile);
    input_close(input);
    if (failure_is_set(&reading.failure))
        assert_int_equal(reading.failure.code, FAILURE_INPUT);
    else if (!ledger_is_balanced(&reading.profile.ledger))
        fail_msg("the ledger does not balance");
}

static void read_input(struct input *input) {
    read_input_with(input, &(struct reader_options){.ignores_code_files = true});
}

static void read_any(struct text bytes, size_t window_bytes) {
    begin_reading();
    read_input(input_from_memory(bytes, window_bytes, &reading.failure));
}

static void read_good(size_t window_bytes) {
    read_any(builder_finish(&builder), window_bytes);
    if (failure_is_set(&reading.failure)) fail_msg("%s", reading.failure.message);
}

static void assert_samples(const char *expected) {
    static const size_t windows[] = {0, 1, 7, 64};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        read_good(windows[i]);
        assert_printed(profile_samples_text(&reading.profile), expected);
    }
}

static void assert_entry(enum gecko_convert_unit unit, enum gecko_convert_fate fate, const char *cause,
                         uint64_t count) {
    read_good(0);
    uint64_t got = count_of(&reading.profile.ledger, unit, fate, cause);
    if (got != count) fail_msg("%s: %llu, not %llu", cause, (unsigned long long)got, (unsigned long long)count);
}

static void assert_markers(const char *expected) {
    read_good(0);
    assert_printed(profile_markers_text(&reading.profile), expected);
}

#define CONTEXT_KERNEL   ((uint64_t)-128)
#define CONTEXT_USER     ((uint64_t)-512)
#define CONTEXT_DEFERRED ((uint64_t)-640)

static void add_chain(uint32_t pid, uint32_t tid, uint64_t time_ns, uint64_t address, uint64_t caller) {
    const uint64_t chain[] = {CONTEXT_USER, address, caller};
    builder_sample(&builder, pid, tid, time_ns, chain, 3);
}

/* Adds a process with a name and a program. */
static void begin_app(void) {
    builder_begin(&builder);
    builder_comm(&builder, 5, 5, "app", 0);
    builder_mmap(&builder, 5, 0x400000, 0x10000, 0x1000, "/opt/app", 0);
}

/* ---- What records become. ---- */

TEST(test_places) {
    begin_app();
    add_chain(5, 5, 100, 0x400010, 0x400020);
    add_chain(5, 5, 200, 0x400010, 0x900000);
    add_chain(5, 5, 300, 0x400010, 0x900000);
    /* A return address is looked up one byte before. A caller that is not code is left out. */
    assert_samples(
        "5/5 app 0 1000000 0x101f;0x1010\n5/5 app 100 1000000 0x1010\n"
        "5/5 app 200 1000000 0x1010\n");
    assert_entry(LEDGER_SAMPLES, LEDGER_NOTED, "sample whose outermost callers are no code: left out", 2);
}

TEST(test_order) {
    begin_app();
    /* The second processor's buffer has the mapping, and then a sample in it. Both are older than the first processor's
     * records. */
    add_chain(5, 5, 300, 0x700010, 0x400020);
    builder_mmap(&builder, 5, 0x700000, 0x1000, 0, "/opt/plugin", 100);
    add_chain(5, 5, 200, 0x400010, 0x400020);
    builder_round(&builder);
    add_chain(5, 5, 400, 0x400010, 0x400020);
    assert_samples(
        "5/5 app 0 1000000 0x101f;0x1010\n5/5 app 100 1000000 0x101f;0x10\n"
        "5/5 app 200 1000000 0x101f;0x1010\n");
    assert_entry(LEDGER_SAMPLES, LEDGER_NOTED, "sample earlier than the one before it in its thread: sorted", 0);
}

static void add_time_conversion(uint64_t shift, uint64_t multiplier, uint64_t zero_ns) {
    builder_begin_record(&builder, 79, 0);
    builder_u64(&builder, shift);
    builder_u64(&builder, multiplier);
    builder_u64(&builder, zero_ns);
    builder_end_record(&builder);
}

TEST(test_clock_and_counter) {
    static const struct {
        uint64_t shift, multiplier;
        bool is_known;
    } cases[] = {{31, 894784853, true}, {64, 1, false}, {0, (uint64_t)1 << 32, false}, {0, 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_app();
        add_time_conversion(cases[i].shift, cases[i].multiplier, 77);
        add_chain(5, 5, 100, 0x400010, 0x400020);
        read_good(0);
        const struct tick_relation *relation = &reading.profile.meta.tick_relation;
        assert_int_equal(relation->is_known, cases[i].is_known);
        if (relation->is_known) {
            assert_int_equal(relation->shift, 31);
            assert_int_equal(relation->multiplier, 894784853);
            assert_int_equal(relation->base_ticks, 0);
            assert_int_equal(relation->base_ns, 77);
        }
    }
}

/* Each process forks the next one. The last has the mappings of the first. */
TEST(test_many_generations) {
    enum { GENERATIONS = 200, LAST = 5 + GENERATIONS };
    begin_app();
    for (uint32_t pid = 5; pid < LAST; pid++) builder_task(&builder, 7, pid + 1, pid, pid + 1, pid, 100);
    add_chain(LAST, LAST, 200, 0x400010, 0x400020);
    assert_samples("205/205 app 0 1000000 0x101f;0x1010\n");
}

/* A program loads and unloads a library beside another. */
TEST(test_many_mappings) {
    begin_app();
    builder_mmap(&builder, 5, 0x700000, 0x90000, 0, "/opt/stays", 0);
    for (unsigned i = 0; i < 1200; i++) builder_mmap(&builder, 5, 0x790000, 0x90000, 0, "/opt/plugin", 0);
    add_chain(5, 5, 200, 0x790010, 0x700020);
    assert_samples("5/5 app 0 1000000 0x1f;0x10\n");
}

/* Appends a record of a mapping that is marked as one with a build id. */
static void add_marked_mapping(uint64_t start, const char *path, const uint32_t origin[6]) {
    enum { MMAP2 = 10, USER = 2, HAS_BUILD_ID = 1 << 14, PROTECTION = 5, FLAGS = 2 };
    builder_begin_record(&builder, MMAP2, USER | HAS_BUILD_ID);
    builder_u32(&builder, 5);
    builder_u32(&builder, 5);
    builder_u64(&builder, start);
    builder_u64(&builder, 0x1000);
    builder_u64(&builder, 0);
    for (size_t i = 0; i < 6; i++) builder_u32(&builder, origin[i]);
    builder_u32(&builder, PROTECTION);
    builder_u32(&builder, FLAGS);
    builder_name(&builder, path);
    builder_end_with_trailer(&builder, 5, 5, 100);
}

/* Linux marks mappings of one recording as those of another at the same time, which has build ids: the devices 254:0
 * and 8:1 and an inode with its generation are none. */
TEST(test_devices_that_are_marked_as_build_ids) {
    begin_app();
    add_marked_mapping(0x700000, "/opt/long", (uint32_t[6]){20, 0x04030201, 0, 0, 0, 0x44332211});
    add_marked_mapping(0x701000, "/opt/short", (uint32_t[6]){8, 0x04030201, 0x08070605});
    add_marked_mapping(0x702000, "/opt/virtual", (uint32_t[6]){254, 0, 7});
    add_marked_mapping(0x703000, "/opt/disk", (uint32_t[6]){8, 1, 7, 0, 99});
    for (uint64_t i = 0; i < 4; i++) add_chain(5, 5, 200 + i, 0x700010 + i * 0x1000, 0x400020);
    read_good(0);
    static const char *const ids[][2] = {{"long", "0102030400000000000000000000000011223344"},
                                         {"short", "0102030405060708"},
                                         {"virtual", ""},
                                         {"disk", ""}};
    size_t found_count = 0;
    for (uint32_t i = 0; i < libs_count(&reading.profile.libs); i++) {
        const struct lib *lib = libs_at(&reading.profile.libs, (lib_id){i});
        for (size_t j = 0; j < sizeof ids / sizeof *ids; j++) {
            if (!text_equal(lib->name, text_of(ids[j][0]))) continue;
            found_count++;
            if (!text_equal(lib->code_id, text_of(ids[j][1]))) fail_msg("%s: %.*s", ids[j][0], TEXT_ARGS(lib->code_id));
        }
    }
    assert_int_equal(found_count, 4);
}

TEST(test_forks) {
    begin_app();
    builder_task(&builder, 7, 6, 5, 6, 5, 100);
    add_chain(6, 6, 200, 0x400010, 0x400020);
    builder_mmap(&builder, 6, 0x400000, 0x10000, 0, "/opt/other", 300);
    add_chain(6, 6, 400, 0x400010, 0x400020);
    add_chain(5, 5, 500, 0x400010, 0x400020);
    /* The child has its parent's name and mappings until it gets its own. Its own do not affect the parent. */
    assert_samples(
        "5/5 app 300 1000000 0x101f;0x1010\n6/6 app 0 1000000 0x101f;0x1010\n6/6 app 200 1000000 0x1f;0x10\n");
}

/* Asserts the samples if the processes 5 and 7 have generated code, which maps describe. */
static void assert_generated(const char *expected) {
    struct temp_folder folder;
    assert_true(temp_folder_init(&folder));
    assert_true(file_write(temp_folder_file(&folder, "perf-5.map"), TEXT("900000 100 inherited\n")));
    assert_true(file_write(temp_folder_file(&folder, "perf-7.map"), TEXT("900080 80 own\n")));
    begin_reading();
    read_input_with(
        input_from_memory(builder_finish(&builder), 0, &reading.failure),
        &(struct reader_options){.perf_map_folder = folder.path, .debug_folders = &(struct debug_folders){0}});
    assert_printed(profile_samples_text(&reading.profile), expected);
    temp_folder_fini(&folder);
}

/* A forked process runs code that its parent has generated before, until it executes another program, and so do those
 * that it has forked before that. What it describes itself counts first. */
TEST(test_generated_code_of_parents) {
    enum { EXECUTED = 1 << 13 };
    begin_app();
    builder_mmap(&builder, 5, 0x900000, 0x1000, 0, "//anon", 0);
    for (uint32_t pid = 6; pid < 11; pid++) builder_task(&builder, 7, pid, pid - 1, pid, pid - 1, 100);
    builder_begin_record(&builder, 3, EXECUTED);
    builder_u32(&builder, 9);
    builder_u32(&builder, 9);
    builder_name(&builder, "other");
    builder_end_with_trailer(&builder, 9, 9, 150);
    for (uint32_t pid = 6; pid < 11; pid++) add_chain(pid, pid, 200, 0x900010, 0x900090);
    assert_generated(
        "6/6 app 0 1000000 inherited;inherited\n7/7 app 0 1000000 own;inherited\n"
        "8/8 app 0 1000000 own;inherited\n9/9 other 0 1000000 anon+0x90008f;anon+0x900010\n"
        "10/10 app 0 1000000 own;inherited\n");
}

/* Appends what perf tells of a process that runs already. vdso: address; 0: unknown. */
static void add_running(uint32_t pid, uint32_t parent_pid, uint64_t vdso) {
    enum { FORK = 7, SYNTHESIZED = 1 << 13 };
    builder_begin_record(&builder, FORK, SYNTHESIZED);
    builder_u32(&builder, pid);
    builder_u32(&builder, parent_pid);
    builder_u32(&builder, pid);
    builder_u32(&builder, parent_pid);
    builder_u64(&builder, 0);
    builder_end_with_trailer(&builder, parent_pid, parent_pid, 0);
    builder_mmap(&builder, pid, 0x900000, 0x1000, 0, "//anon", 0);
    if (vdso) builder_mmap(&builder, pid, vdso, 0x2000, 0, "[vdso]", 0);
}

/* A process that was forked before the recording has the vDSO of its parent where that has it, or has executed another
 * program. The parent may have a larger number, or not be recorded. */
TEST(test_generated_code_of_parents_before_the_recording) {
    enum { HERE = 0x7f0000000000, ELSEWHERE = 0x7e0000000000 };
    builder_begin(&builder);
    add_running(3, 5, HERE);
    add_running(4, 5, ELSEWHERE);
    add_running(5, 1, HERE);
    add_running(6, 5, HERE);
    add_running(8, 7, HERE);
    add_running(9, 6, HERE);
    add_running(10, 4, ELSEWHERE);
    add_running(11, 3, HERE);
    for (uint32_t pid = 3; pid < 12; pid++)
        if (pid != 5 && pid != 7) add_chain(pid, pid, 200, 0x900010, 0x900090);
    assert_generated(
        "3/3 thread 3 0 1000000 inherited;inherited\n4/4 thread 4 0 1000000 anon+0x90008f;anon+0x900010\n"
        "6/6 thread 6 0 1000000 inherited;inherited\n8/8 thread 8 0 1000000 own;anon+0x900010\n"
        "9/9 thread 9 0 1000000 inherited;inherited\n10/10 thread 10 0 1000000 anon+0x90008f;anon+0x900010\n"
        "11/11 thread 11 0 1000000 inherited;inherited\n");
}

TEST(test_contexts) {
    begin_app();
    builder_mmap(&builder, UINT32_MAX, 0xffffffff81000000, 0x100000, 0xffffffff81000000, "[kernel.kallsyms]_text", 0);
    const uint64_t chain[] = {CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020, CONTEXT_USER, 0x400010, 0x400020};
    builder_sample(&builder, 5, 5, 100, chain, 6);
    /* The first address of each context is the interrupted one, not a return address. */
    assert_samples(
        "5/5 app 0 1000000 0x101f;0x1010;[kernel.kallsyms]+0xffffffff8100001f;"
        "[kernel.kallsyms]+0xffffffff81000010\n");
}

/* The first processor idles in a stack that began in code which the kernel has given back. */
TEST(test_start_of_the_kernel) {
    begin_app();
    builder_mmap(&builder, UINT32_MAX, 0xffffffff81000000, 0x100000, 0xffffffff81000000, "[kernel.kallsyms]_text", 0);
    const uint64_t chain[] = {CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff84790000, 0xffffffffc0000010};
    builder_sample(&builder, 0, 0, 100, chain, 4);
    assert_samples(
        "0/0 swapper 0 1000000 [unknown];[kernel.kallsyms]+0xffffffff8478ffff;"
        "[kernel.kallsyms]+0xffffffff81000010\n");
}

/* The kernel walked on along the frame pointers of user code, as if it were its own. No caller is known. */
TEST(test_a_context_after_the_user_part) {
    begin_app();
    const uint64_t chain[] = {CONTEXT_USER, 0x400010, CONTEXT_KERNEL, 0x55db066c2cd0, 0x55db066c2ce8};
    builder_sample(&builder, 5, 5, 100, chain, 5);
    assert_samples("5/5 app 0 1000000 0x1010\n");
    assert_entry(LEDGER_SAMPLES, LEDGER_NOTED, "sample whose outermost callers are no code: left out", 1);
}

TEST(test_garbage_in_a_callchain) {
    begin_app();
    const uint64_t chain[] = {CONTEXT_USER, 0x400010, 0x400020, (uint64_t)-7, 0x400030};
    builder_sample(&builder, 5, 5, 100, chain, 5);
    assert_samples("5/5 app 0 1000000 0x101f;0x1010\n");
    assert_entry(LEDGER_SAMPLES, LEDGER_NOTED, "sample whose outer frames are garbage: left out", 1);
}

/* The kernel cuts chains at the limit that the event has (--max-stack), or else at its own. */
TEST(test_chains_at_the_limit) {
    enum { ATTR_MAX_STACK_AT = BUILDER_HEADER_BYTES + 104, MAX_STACK_SHIFT = 32, OWN_LIMIT = 127 };
    static const char cause[] =
        "sample whose stack is deeper than kernel.perf_event_max_stack: outer callers are missing";
    const uint64_t chain[] = {CONTEXT_USER, 0x400010, 0x400020, 0x400030};
    begin_app();
    builder_set_u64(&builder, ATTR_MAX_STACK_AT, (uint64_t)3 << MAX_STACK_SHIFT);
    builder_sample(&builder, 5, 5, 100, chain, 4);
    builder_sample(&builder, 5, 5, 200, chain, 3);
    assert_samples("5/5 app 0 1000000 [truncated stack];0x102f;0x101f;0x1010\n5/5 app 100 1000000 0x101f;0x1010\n");
    assert_entry(LEDGER_SAMPLES, LEDGER_NOTED, cause, 1);
    uint64_t long_chain[1 + OWN_LIMIT + 1] = {CONTEXT_USER};
    for (size_t i = 1; i < sizeof long_chain / sizeof *long_chain; i++) long_chain[i] = 0x400010;
    begin_app();
    for (size_t i = 0; i <= OWN_LIMIT; i++) builder_sample(&builder, 5, 5, 100 + i, long_chain, 2 + i);
    assert_entry(LEDGER_SAMPLES, LEDGER_NOTED, cause, 1);
}

/* With "perf record -c 20000", samples do not tell their period. */
TEST(test_fixed_period) {
    begin_app();
    for (uint64_t time_ns = 20000; time_ns <= 60000; time_ns += 20000) {
        builder_begin_record(&builder, 9, 2);
        builder_u64(&builder, 0x400010);
        builder_u32(&builder, 5);
        builder_u32(&builder, 5);
        const uint64_t rest[] = {time_ns, 1, 0x400010};
        for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) builder_u64(&builder, rest[i]);
        builder_end_record(&builder);
    }
    builder_set_u64(&builder, BUILDER_HEADER_BYTES + 16, 20000);
    builder_set_u64(&builder, BUILDER_HEADER_BYTES + 24, BUILDER_SAMPLE_TYPE & ~(uint64_t)(1 << 8));
    builder_set_u64(&builder, BUILDER_HEADER_BYTES + 40, 1 << 18);
    assert_samples("5/5 app 0 20000 0x1010\n5/5 app 20000 20000 0x1010\n5/5 app 40000 20000 0x1010\n");
}

static void add_words_sample(const uint64_t *words, size_t count) {
    builder_begin_record(&builder, 9, 2);
    builder_u64(&builder, 0x400010);
    builder_u32(&builder, 5);
    builder_u32(&builder, 5);
    for (size_t i = 0; i < count; i++) builder_u64(&builder, words[i]);
    builder_end_record(&builder);
}

/* "perf record -d" adds the address of the data, which follows the time. */
static void add_data_sample(uint64_t time_ns, uint64_t data_address) {
    add_words_sample((const uint64_t[]){time_ns, data_address, 1000000, 1, 0x400010}, 5);
}

TEST(test_addresses_of_data) {
    begin_app();
    add_data_sample(100, 0x7ffd0010);
    add_data_sample(200, 0);
    builder_set_u64(&builder, BUILDER_HEADER_BYTES + 24, BUILDER_SAMPLE_TYPE | 1 << 3);
    assert_samples("5/5 app 0 1000000 0x1010\n5/5 app 100 1000000 0x1010\n");
    assert_entry(LEDGER_VALUES, LEDGER_NOTED, "address or weight of data: profiles have no place for it", 1);
}

/* Copies of stacks come with the source of the data, which says nothing if its operation is "not available". */
TEST(test_sources_of_data) {
    enum { NO_OPERATION = 0x05080021, LOAD = 0x05080022 };
    begin_app();
    add_words_sample((const uint64_t[]){100, 1000000, 1, 0x400010, NO_OPERATION}, 5);
    add_words_sample((const uint64_t[]){200, 1000000, 1, 0x400010, LOAD}, 5);
    builder_set_u64(&builder, BUILDER_HEADER_BYTES + 24, BUILDER_SAMPLE_TYPE | 1 << 15);
    assert_samples("5/5 app 0 1000000 0x1010\n5/5 app 100 1000000 0x1010\n");
    assert_entry(LEDGER_VALUES, LEDGER_NOTED, "address or weight of data: profiles have no place for it", 1);
}

enum { BRANCH_USER = 1 << 0, BRANCH_ANY = 1 << 3, BRANCH_CALL_STACK = 1 << 11, BRANCH_HW_INDEX = 1 << 17 };

/* "perf record -b" and "--call-graph lbr" add the latest branches, the newest first, as words from, to and flags. */
static void add_chain_and_branches(const uint64_t *chain, size_t chain_count, uint64_t branch_type,
                                   const uint64_t (*branches)[2], size_t branch_count) {
    builder_sample(&builder, 5, 5, 100, chain, chain_count);
    builder_u64(&builder, branch_count);
    if (branch_type & BRANCH_HW_INDEX) builder_u64(&builder, 3);
    for (size_t i = 0; i < branch_count; i++) {
        builder_u64(&builder, branches[i][0]);
        builder_u64(&builder, branches[i][1]);
        builder_u64(&builder, 0);
    }
    builder_end_record(&builder);
    builder_set_u64(&builder, BUILDER_HEADER_BYTES + 24, BUILDER_SAMPLE_TYPE | 1 << 11);
    builder_set_u64(&builder, BUILDER_HEADER_BYTES + 72, branch_type);
}

static void add_branch_sample(uint64_t branch_type, const uint64_t (*branches)[2], size_t branch_count) {
    const uint64_t chain[] = {CONTEXT_KERNEL, 0xffffffff81000010, CONTEXT_USER, 0x400018, 0x400f00};
    add_chain_and_branches(chain, 5, branch_type, branches, branch_count);
}

TEST(test_call_stacks_of_branches) {
    static const uint64_t calls[][2] = {{0x400020, 0x400010}, {0x400030, 0x400018}, {0x400040, 0x400028}};
    static const uint64_t types[] = {BRANCH_USER | BRANCH_CALL_STACK,
                                     BRANCH_USER | BRANCH_CALL_STACK | BRANCH_HW_INDEX};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        begin_app();
        builder_mmap(&builder, UINT32_MAX, 0xffffffff81000000, 0x100000, 0xffffffff81000000, "[kernel.kallsyms]_text",
                     0);
        add_branch_sample(types[i], calls, 3);
        /* The calls replace the user part of the callchain. Their addresses are those of the calls themselves. */
        assert_samples("5/5 app 0 1000000 0x1040;0x1030;0x1020;0x1010;[kernel.kallsyms]+0xffffffff81000010\n");
        assert_entry(LEDGER_VALUES, LEDGER_LOST, "branch stack", 0);
    }
}

/* Code of the kernel that no program called has none of the program's callers. */
TEST(test_branches_beside_the_kernel_alone) {
    static const uint64_t calls[][2] = {{0x400020, 0x400010}};
    const uint64_t chain[] = {CONTEXT_KERNEL, 0xffffffff81000010};
    begin_app();
    add_chain_and_branches(chain, 2, BRANCH_USER | BRANCH_CALL_STACK, calls, 1);
    assert_samples("5/5 app 0 1000000 [unknown]+0xffffffff81000010\n");
    assert_entry(LEDGER_VALUES, LEDGER_LOST, "branch stack", 1);
}

TEST(test_branches_that_are_not_calls) {
    static const uint64_t jumps[][2] = {{0x400020, 0x400010}};
    begin_app();
    add_branch_sample(BRANCH_USER | BRANCH_ANY, jumps, 1);
    assert_samples("5/5 app 0 1000000 0x1eff;0x1018;[unknown]+0xffffffff81000010\n");
    assert_entry(LEDGER_VALUES, LEDGER_LOST, "branch stack", 1);
    /* A processor that has recorded no branch leaves the callchain as it is. */
    begin_app();
    add_branch_sample(BRANCH_USER | BRANCH_CALL_STACK, NULL, 0);
    assert_samples("5/5 app 0 1000000 0x1eff;0x1018;[unknown]+0xffffffff81000010\n");
    assert_entry(LEDGER_VALUES, LEDGER_LOST, "branch stack", 0);
}

TEST(test_damaged_branches) {
    static const uint64_t calls[][2] = {{0x400020, 0x400010}};
    begin_app();
    add_branch_sample(BRANCH_USER | BRANCH_CALL_STACK, calls, 1);
    add_branch_sample(BRANCH_USER | BRANCH_CALL_STACK, calls, 1);
    /* The second record ends before its last branch. */
    builder_set_u64(&builder, builder.bytes_count - 4 * 8, 2);
    assert_samples("5/5 app 0 1000000 0x1020;0x1010;[unknown]+0xffffffff81000010\n");
    assert_entry(LEDGER_SAMPLES, LEDGER_LOST, "damaged sample", 1);
}

TEST(test_losses) {
    begin_app();
    add_chain(5, 5, 100, 0x400010, 0x400020);
    builder_begin_record(&builder, 2, 0);
    builder_u64(&builder, 1);
    builder_u64(&builder, 40);
    builder_end_with_trailer(&builder, 5, 5, 200);
    builder_begin_record(&builder, 13, 0);
    builder_u64(&builder, 48);
    builder_end_with_trailer(&builder, 5, 5, 0);
    /* LOST and LOST_SAMPLES records count the same losses. */
    assert_entry(LEDGER_SAMPLES, LEDGER_NOTED, "sample that perf itself lost while recording", 48);
}

TEST(test_unknown_records) {
    begin_app();
    builder_begin_record(&builder, 99, 0);
    builder_u64(&builder, 0);
    builder_end_record(&builder);
    add_chain(5, 5, 100, 0x400010, 0x400020);
    assert_samples("5/5 app 0 1000000 0x101f;0x1010\n");
    assert_entry(LEDGER_RECORDS, LEDGER_LOST, "record of the unknown type 99", 1);
}

TEST(test_threads) {
    begin_app();
    builder_task(&builder, 7, 5, 5, 7, 5, 100);
    builder_comm(&builder, 5, 7, "a worker", 150);
    add_chain(5, 7, 200, 0x400010, 0x400020);
    builder_task(&builder, 4, 5, 5, 7, 5, 250);
    builder_task(&builder, 7, 5, 5, 7, 5, 300);
    add_chain(5, 7, 400, 0x400010, 0x400020);
    assert_samples("5/7 a worker 0 1000000 0x101f;0x1010\n5/7.2 app 200 1000000 0x101f;0x1010\n");
}

/* ---- Command lines. ---- */

enum { EXECUTED = 1 << 13 };

/* Adds the record of a program's name. `field` follows the name, up to a multiple of 8 bytes. */
static void add_program(uint32_t pid, const char *name, uint16_t flags, struct text field, uint64_t time_ns) {
    builder_begin_record(&builder, 3, flags);
    builder_u32(&builder, pid);
    builder_u32(&builder, pid);
    builder_name(&builder, name);
    builder_put(&builder, field.bytes, field.bytes_count);
    while ((builder.bytes_count - builder.record_at) % 8) builder_put(&builder, "", 1);
    builder_end_with_trailer(&builder, pid, pid, time_ns);
}

static void add_fork(uint32_t pid, uint32_t parent, uint64_t time_ns) {
    builder_task(&builder, 7, pid, parent, pid, parent, time_ns);
}

/* Compares the arguments of each process, with "|" after each. */
static void assert_command_lines(const char *expected) {
    read_good(0);
    char got[512] = "";
    for (size_t i = 0; i < reading.profile.processes.count; i++) {
        const struct process *process = column_at(&reading.profile.processes, i);
        struct text arguments = process->command_line ? process->command_line->arguments : TEXT("none");
        size_t used = strlen(got);
        used += (size_t)snprintf(got + used, sizeof got - used, "%d ", (int)process->pid);
        for (size_t at = 0; at < arguments.bytes_count; at++)
            got[used++] = arguments.bytes[at] ? arguments.bytes[at] : '|';
        memcpy(got + used, "\n", 2);
    }
    assert_string_equal(got, expected);
}

TEST(test_command_lines) {
    begin_app();
    add_program(5, "app", EXECUTED, TEXT("cmdline\0./app\0-x\0a b\0"), 20);
    add_fork(6, 5, 30);
    add_fork(7, 5, 40);
    add_program(7, "sh", EXECUTED, TEXT(""), 50);
    add_fork(8, 5, 60);
    add_program(8, "request 8", 0, TEXT(""), 70);
    add_fork(9, 7, 80);
    add_program(9, "tool", EXECUTED, TEXT("cmdline\0tool\0\0"), 90);
    add_program(10, "running", 0, TEXT("cmdline\0running"), 0);
    assert_command_lines("5 ./app|-x|a b|\n10 running|\n6 ./app|-x|a b|\n7 none\n8 none\n9 tool|\n");
}

TEST(test_what_is_no_command_line) {
    begin_app();
    add_program(5, "app", EXECUTED, TEXT("cmdline\0"), 20);
    add_program(6, "app", EXECUTED, TEXT("cmdlines"), 30);
    add_program(7, "app", EXECUTED, TEXT("cmdline"), 40);
    add_program(8, "app", EXECUTED, TEXT("\0\0\0\0\0\0\0\0"), 50);
    assert_command_lines("5 none\n6 none\n7 none\n8 none\n");
}

/* ---- What threads do. ---- */

enum { SWITCH_OUT = 1 << 13, SWITCH_PREEMPTED = 1 << 14 };

static void add_switch(uint16_t flags, uint32_t tid, uint64_t time_ns) {
    builder_begin_record(&builder, 14, flags);
    builder_end_with_trailer(&builder, 5, tid, time_ns);
}

TEST(test_switches) {
    begin_app();
    add_chain(5, 5, 100, 0x400010, 0x400020);
    add_switch(0, 5, 150); /* when the thread stopped is unknown */
    add_switch(SWITCH_OUT, 5, 200);
    add_switch(0, 5, 300);
    add_switch(SWITCH_OUT | SWITCH_PREEMPTED, 5, 400);
    builder_begin_record(&builder, 15, 0); /* the same with the thread that ran before */
    builder_u64(&builder, 0);
    builder_end_with_trailer(&builder, 5, 5, 500);
    add_switch(SWITCH_OUT, 0, 500); /* the idle task */
    add_switch(0, 0, 600);
    add_switch(SWITCH_OUT, 5, 700);
    add_chain(6, 6, 900, 0x400010, 0x400020);
    assert_markers(
        "5/5 interval 100..200 Kernel Off CPU Off CPU{reason='waiting'}\n"
        "5/5 interval 300..400 Kernel Off CPU Off CPU{reason='preempted'}\n"
        "5/5 interval 600..800 Kernel Off CPU Off CPU{reason='waiting'}\n");
}

TEST(test_processors_of_switches) {
    enum { ID = 1 << 6, CPU = 1 << 7, STREAM_ID = 1 << 9, FORK = 7 };
    begin_app();
    builder_set_u64(&builder, BUILDER_HEADER_BYTES + 24, BUILDER_SAMPLE_TYPE | ID | CPU | STREAM_ID);
    static const struct {
        uint16_t type, flags;
        uint64_t time_ns, processor;
    } records[] = {{FORK, 0, 100, 1}, {14, SWITCH_OUT, 200, 3}, {14, 0, 300, 4}, {14, SWITCH_OUT, 400, 4}};
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        builder_begin_record(&builder, records[i].type, records[i].flags);
        const uint32_t ids[] = {5, 5, 6, 5};
        if (records[i].type == FORK) builder_put(&builder, ids, sizeof ids);
        if (records[i].type == FORK) builder_u64(&builder, records[i].time_ns);
        builder_u64(&builder, 5 | (uint64_t)(records[i].type == FORK ? 5 : 6) << 32);
        builder_u64(&builder, records[i].time_ns);
        builder_u64(&builder, 77);
        builder_u64(&builder, 88);
        builder_u64(&builder, records[i].processor);
        builder_end_record(&builder);
    }
    begin_reading();
    read_input_with(input_from_memory(builder_finish(&builder), 0, &reading.failure),
                    &(struct reader_options){.ignores_code_files = true, .keeps_processors = true});
    const struct thread *thread = NULL;
    for (size_t i = 0; i < reading.profile.thread_order.count; i++)
        if (profile_ordered_thread(&reading.profile, i)->tid == 6) thread = profile_ordered_thread(&reading.profile, i);
    assert_non_null(thread);
    static const int64_t expected[] = {3, TIME_NONE, 4};
    assert_int_equal(samples_count(&thread->samples), 3);
    for (uint32_t row = 0; row < 3; row++) assert_int_equal(samples_processor(&thread->samples, row), expected[row]);
}

static void add_throttle(uint32_t type, uint64_t stream, uint64_t time_ns) {
    builder_begin_record(&builder, type, 0);
    builder_u64(&builder, time_ns);
    builder_u64(&builder, 1);
    builder_u64(&builder, stream);
    builder_end_with_trailer(&builder, 5, 5, time_ns);
}

TEST(test_throttling) {
    enum { THROTTLE = 5, UNTHROTTLE = 6 };
    begin_app();
    add_chain(5, 5, 100, 0x400010, 0x400020);
    add_throttle(UNTHROTTLE, 7, 150);
    add_throttle(THROTTLE, 7, 200);
    add_throttle(THROTTLE, 8, 250);
    add_throttle(UNTHROTTLE, 7, 300);
    add_chain(5, 5, 400, 0x400010, 0x400020);
    assert_markers(
        "5/5 interval 100..200 Kernel Throttled Throttled{event='cpu-clock'}\n"
        "5/5 interval 150..300 Kernel Throttled Throttled{event='cpu-clock'}\n");
}

static void add_namespaces(uint32_t tid, uint64_t network, uint64_t mounts, uint64_t time_ns) {
    enum { NAMESPACES_COUNT = 7, NETWORK = 0, MOUNTS = 5 };
    builder_begin_record(&builder, 16, 0);
    builder_u32(&builder, tid);
    builder_u32(&builder, tid);
    builder_u64(&builder, NAMESPACES_COUNT);
    for (int i = 0; i < NAMESPACES_COUNT; i++) {
        builder_u64(&builder, 4);
        builder_u64(&builder, i == NETWORK ? network : i == MOUNTS ? mounts : 100);
    }
    builder_end_with_trailer(&builder, tid, tid, time_ns);
}

TEST(test_namespaces) {
    begin_app();
    add_namespaces(5, 1, 2, 0);
    add_chain(5, 5, 100, 0x400010, 0x400020);
    builder_task(&builder, 7, 6, 5, 6, 5, 200);
    add_namespaces(6, 1, 2, 200); /* the parent's */
    add_namespaces(6, 11, 12, 300);
    assert_markers("6/6 instant 200 Kernel Namespaces Namespaces{namespaces='net:[11] mnt:[12]'}\n");
    read_good(0);
    for (uint32_t i = 0; i < reading.profile.processes.count; i++)
        assert_int_equal(profile_process_at(&reading.profile, (process_id){i})->home_namespace, 100);
}

TEST(test_control_groups) {
    begin_app();
    builder_set_u64(&builder, BUILDER_HEADER_BYTES + 24, BUILDER_SAMPLE_TYPE | 1 << 21);
    builder_begin_record(&builder, 19, 0);
    builder_u64(&builder, 77);
    builder_name(&builder, "/user.slice");
    builder_end_with_trailer(&builder, 5, 5, 0);
    static const uint64_t groups[] = {77, 77, 78};
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++) {
        add_chain(5, 5, 100 * (i + 1), 0x400010, 0x400020);
        builder_u64(&builder, groups[i]);
        builder_end_record(&builder);
    }
    assert_markers(
        "5/5 instant 0 Kernel Control group Control group{path='/user.slice'}\n"
        "5/5 instant 200 Kernel Control group Control group{path='id 78'}\n");
}

/* ---- Deferred user stacks. ---- */

static void add_deferred_sample(uint64_t cookie, uint64_t time_ns) {
    const uint64_t chain[] = {CONTEXT_KERNEL, 0xffffffff81000010, CONTEXT_DEFERRED, cookie};
    builder_sample(&builder, 5, 5, time_ns, chain, 4);
}

static void add_user_stack(uint64_t cookie, uint64_t address, uint64_t time_ns) {
    const uint64_t chain[] = {CONTEXT_USER, address, 0x400020};
    builder_begin_record(&builder, 22, 2);
    builder_u64(&builder, cookie);
    builder_u64(&builder, sizeof chain / sizeof *chain);
    builder_put(&builder, chain, sizeof chain);
    builder_end_with_trailer(&builder, 5, 5, time_ns);
}

static void begin_deferred(void) {
    begin_app();
    builder_mmap(&builder, UINT32_MAX, 0xffffffff81000000, 0x100000, 0xffffffff81000000, "[kernel.kallsyms]_text", 0);
    add_deferred_sample(3, 100);
    add_deferred_sample(3, 200);
    add_user_stack(3, 0x400010, 300);
}

#define KERNEL_FRAME "[kernel.kallsyms]+0xffffffff81000010\n"

TEST(test_deferred_stacks) {
    begin_deferred();
    assert_samples("5/5 app 0 1000000 0x101f;0x1010;" KERNEL_FRAME "5/5 app 100 1000000 0x101f;0x1010;" KERNEL_FRAME);
    assert_entry(LEDGER_SAMPLES, LEDGER_NOTED, "sample whose deferred user stack never came", 0);
}

/* A sample that interrupted user code has no kernel stack: its address is the start of the user stack. */
TEST(test_deferred_stack_alone) {
    begin_app();
    const uint64_t chain[] = {CONTEXT_DEFERRED, 3};
    builder_sample(&builder, 5, 5, 100, chain, 2);
    add_user_stack(3, 0x400010, 200);
    assert_samples("5/5 app 0 1000000 0x101f;0x1010\n");
}

TEST(test_lost_deferred_stacks) {
    begin_deferred();
    add_deferred_sample(4, 400); /* its user stack is lost: the next one has another cookie */
    add_user_stack(5, 0x400010, 500);
    add_deferred_sample(6, 600); /* the recording ends before its user stack */
    assert_samples("5/5 app 0 1000000 0x101f;0x1010;" KERNEL_FRAME "5/5 app 100 1000000 0x101f;0x1010;" KERNEL_FRAME
                   "5/5 app 300 1000000 " KERNEL_FRAME "5/5 app 500 1000000 " KERNEL_FRAME);
    assert_entry(LEDGER_SAMPLES, LEDGER_NOTED, "sample whose deferred user stack never came", 2);
    assert_entry(LEDGER_RECORDS, LEDGER_NOTED, "deferred user stack that no sample waits for", 1);
}

/* perf on ARM writes an empty section about the processor. */
TEST(test_an_empty_section) {
    begin_app();
    add_chain(5, 5, 100, 0x400010, 0x400020);
    size_t table_at = builder_finish(&builder).bytes_count;
    builder_set_u64(&builder, 72, 1 << 8);
    builder_u64(&builder, table_at + 16);
    builder_u64(&builder, 0);
    for (size_t window_bytes = 0; window_bytes < 2; window_bytes++) {
        read_any((struct text){builder.bytes, builder.bytes_count}, window_bytes);
        assert_int_equal(reading.failure.code, FAILURE_NONE);
        assert_int_equal(ledger_sum(&reading.profile.ledger, LEDGER_RECORDS, LEDGER_LOST), 0);
    }
}

/* ---- Tracepoints. ---- */

/* Makes the event a tracepoint with that format, whose samples are built by add_payload, and adds the formats. */
static struct text finish_tracepoint(const char *format) {
    static const uint64_t sample_type = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 8 | 1 << 10; /* IP, TID, TIME, PERIOD, RAW */
    static const char head[] = "\x17\x08\x44tracing0.6\0\0\x08\0\x10\0\0header_page\0\0\0\0\0\0\0\0\0header_event\0";
    char *attr = builder.bytes + BUILDER_HEADER_BYTES;
    uint32_t type = 2;
    memcpy(attr, &type, sizeof type);
    memcpy(attr + 8, &(uint64_t){77}, 8);
    memcpy(attr + 24, &sample_type, sizeof sample_type);
    size_t table_at = builder_finish(&builder).bytes_count;
    builder_set_u64(&builder, 72, 1 << 1);
    builder_u64(&builder, table_at + 16);
    builder_u64(&builder, 0);
    size_t start = builder.bytes_count;
    builder_put(&builder, head, sizeof head - 1);
    builder_u64(&builder, 0);
    builder_u32(&builder, 0); /* formats of ftrace */
    builder_u32(&builder, 1);
    builder_put(&builder, "s", 2);
    builder_u32(&builder, 1);
    builder_u64(&builder, strlen(format));
    builder_put(&builder, format, strlen(format));
    builder_u64(&builder, 0); /* kallsyms, texts of printk */
    builder_u64(&builder, 0); /* command lines */
    builder_set_u64(&builder, table_at + 8, builder.bytes_count - start);
    return (struct text){builder.bytes, builder.bytes_count};
}

static void assert_function(const char *name, int shown_bytes) {
    static const char format[] =
        "name: t\nID: 77\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
        "\tfield:void * site;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"site=%pS\", REC->site\n";
    static const struct debug_folders nowhere = {0};
    static const uint64_t start = 0xffffffffc0000000;
    builder_begin(&builder);
    builder_begin_record(&builder, 17, 0); /* KSYMBOL */
    builder_u64(&builder, start);
    builder_u32(&builder, 0x100);
    builder_u32(&builder, 1); /* the type of a BPF program */
    builder_name(&builder, name);
    builder_end_with_trailer(&builder, 0, 0, 100);
    builder_begin_record(&builder, 9, 1);
    builder_u64(&builder, 0);
    builder_u32(&builder, 5);
    builder_u32(&builder, 5);
    builder_u64(&builder, 200);
    builder_u64(&builder, 1);
    builder_u32(&builder, 20);
    builder_u64(&builder, 77);
    builder_u64(&builder, start + 4);
    builder_u32(&builder, 0);
    builder_end_record(&builder);
    begin_reading();
    read_input_with(input_from_memory(finish_tracepoint(format), 0, &reading.failure),
                    &(struct reader_options){.debug_folders = &nowhere});
    struct profile_text *got = profile_markers_text(&reading.profile);
    char expected[1024];
    snprintf(expected, sizeof expected, "5/5 instant 0 Kernel tracepoint:77 s:t{site='%.*s+0x4'}\n", shown_bytes, name);
    assert_printed(got, expected);
}

/* A function that the kernel was told while it ran has its name in payloads, as in stacks. */
TEST(test_functions_of_bpf_programs) {
    char name[600] = "bpf_prog_6deef7357e7b4530_f";
    assert_function(name, sizeof name);
    memset(name + strlen(name), 'f', sizeof name - 1 - strlen(name));
    assert_function(name, 512); /* the kernel has no longer names */
}

/* ---- Damage. ---- */

static struct text build_all(void) {
    begin_app();
    builder_mmap(&builder, UINT32_MAX, 0xffffffff81000000, 0x100000, 0xffffffff81000000, "[kernel.kallsyms]_text", 0);
    builder_task(&builder, 7, 6, 5, 6, 5, 100);
    add_chain(5, 5, 200, 0x400010, 0x400020);
    builder_round(&builder);
    add_chain(6, 6, 300, 0x400010, 0x400020);
    add_switch(SWITCH_OUT, 6, 310);
    add_switch(0, 6, 320);
    add_throttle(5, 7, 330);
    add_throttle(6, 7, 340);
    add_namespaces(6, 11, 12, 350);
    builder_begin_record(&builder, 19, 0);
    builder_u64(&builder, 77);
    builder_name(&builder, "/user.slice");
    builder_end_with_trailer(&builder, 5, 5, 360);
    add_deferred_sample(3, 370);
    add_user_stack(3, 0x400010, 380);
    builder_task(&builder, 4, 6, 5, 6, 5, 400);
    return builder_finish(&builder);
}

TEST(test_cut_at_any_byte) {
    struct text all = build_all();
    for (size_t count = 0; count < all.bytes_count; count++) {
        read_any(text_slice(all, 0, count), 0);
    }
}

TEST(test_any_byte_changed) {
    static const unsigned char changes[] = {0x01, 0x80, 0xff};
    struct text all = build_all();
    for (size_t at = 0; at < all.bytes_count; at++) {
        for (size_t i = 0; i < sizeof changes; i++) {
            builder.bytes[at] = (char)(builder.bytes[at] ^ changes[i]);
            read_any(all, 0);
            builder.bytes[at] = (char)(builder.bytes[at] ^ changes[i]);
        }
    }
}

/* A recorder that was killed wrote no size and no sections. All complete records are read. */
TEST(test_killed_recorder) {
    begin_app();
    add_chain(5, 5, 100, 0x400010, 0x400020);
    builder_finish(&builder);
    builder_set_u64(&builder, 48, 0);
    builder_set_u64(&builder, 72, UINT64_MAX);
    read_any((struct text){builder.bytes, builder.bytes_count}, 0);
    assert_false(failure_is_set(&reading.failure));
    assert_printed(profile_samples_text(&reading.profile), "5/5 app 0 1000000 0x101f;0x1010\n");
}

/* ---- Recordings in folders. ---- */

enum { PARTS_COUNT = 2 };

static struct temp_folder folder;
static char parts[PARTS_COUNT][BUILDER_BYTES_MAX];
static size_t parts_bytes[PARTS_COUNT];

static int make_folder(void **state) { return temp_folder_init(&folder) ? 0 : -1; }

static int remove_folder(void **state) {
    remove(temp_folder_file(&folder, "kcore_dir/kallsyms"));
    remove(temp_folder_file(&folder, "kcore_dir"));
    temp_folder_fini(&folder);
    return 0;
}

/* Moves the records that the builder has to a part. */
static void end_part(unsigned number) {
    parts_bytes[number] = builder.bytes_count - BUILDER_RECORDS_AT;
    memcpy(parts[number], builder.bytes + BUILDER_RECORDS_AT, parts_bytes[number]);
}

static void write_part(unsigned number, size_t bytes_count) {
    char name[16];
    snprintf(name, sizeof name, "data.%u", number);
    assert_true(file_write(temp_folder_file(&folder, name), (struct text){parts[number], bytes_count}));
}

/* Writes a recording whose records are in data.0 and data.1. */
static void build_folder(void) {
    builder_begin(&builder);
    builder_comm(&builder, 5, 5, "app", 50);
    add_chain(5, 5, 300, 0x400010, 0x400020);
    add_chain(5, 5, 20000500, 0x400010, 0x400020);
    end_part(0);
    builder_begin(&builder);
    builder_mmap(&builder, 5, 0x400000, 0x10000, 0x1000, "/opt/app", 100);
    add_chain(5, 5, 400, 0x400010, 0x400020);
    builder_task(&builder, 4, 5, 5, 5, 5, 20000600);
    end_part(1);
    builder_begin(&builder);
    builder_comm(&builder, 5, 5, "before", 0);
    struct text header = builder_finish(&builder);
    builder_set_u64(&builder, 72, (uint64_t)1 << 24);
    assert_true(file_write(temp_folder_file(&folder, "data"), header));
    for (unsigned i = 0; i < PARTS_COUNT; i++) write_part(i, parts_bytes[i]);
}

static void read_folder(void) {
    begin_reading();
    read_input(input_open(folder.path, &reading.failure));
}

TEST(test_folder, make_folder, remove_folder) {
    build_folder();
    read_folder();
    if (failure_is_set(&reading.failure)) fail_msg("%s", reading.failure.message);
    /* The mapping is in another file than the first sample, and is older. */
    assert_printed(profile_samples_text(&reading.profile),
                   "5/5 app 0 1000000 0x101f;0x1010\n5/5 app 100 1000000 0x101f;0x1010\n"
                   "5/5 app 20000200 1000000 0x101f;0x1010\n");
}

TEST(test_folder_cut_or_changed, make_folder, remove_folder) {
    build_folder();
    for (unsigned number = 0; number < PARTS_COUNT; number++) {
        for (size_t count = 0; count < parts_bytes[number]; count++) {
            write_part(number, count);
            read_folder();
        }
        for (size_t at = 0; at < parts_bytes[number]; at++) {
            parts[number][at] ^= 0x55;
            write_part(number, parts_bytes[number]);
            read_folder();
            parts[number][at] ^= 0x55;
        }
        write_part(number, parts_bytes[number]);
    }
}

/* perf record --kcore stores the kernel's list of symbols in the folder. */
TEST(test_folder_with_kernel, make_folder, remove_folder) {
    static const struct debug_folders nowhere = {0};
    static const uint64_t kernel = UINT64_C(0xffffffff9a000000);
    const uint64_t chain[] = {CONTEXT_KERNEL, kernel + 0x18};
    builder_begin(&builder);
    builder_comm(&builder, 5, 5, "app", 0);
    builder_mmap(&builder, UINT32_MAX, kernel, 0x1000, kernel, "[kernel.kallsyms]_text", 0);
    builder_sample(&builder, 5, 5, 100, chain, 2);
    assert_true(file_write(temp_folder_file(&folder, "data"), builder_finish(&builder)));
    assert_int_equal(mkdir(temp_folder_file(&folder, "kcore_dir"), 0700), 0);
    assert_true(file_write(temp_folder_file(&folder, "kcore_dir/kallsyms"),
                           TEXT("ffffffff9a000000 T _text\nffffffff9a000010 t of_this_recording\n")));
    begin_reading();
    read_input_with(input_open(folder.path, &reading.failure), &(struct reader_options){.debug_folders = &nowhere});
    if (failure_is_set(&reading.failure)) fail_msg("%s", reading.failure.message);
    assert_printed(profile_samples_text(&reading.profile), "5/5 app 0 1000000 of_this_recording\n");
}

/* The header of a folder's recording has no samples: reading it alone would lose them. */
TEST(test_file_of_a_folder) {
    begin_app();
    builder_finish(&builder);
    builder_set_u64(&builder, 72, (uint64_t)1 << 24);
    read_any((struct text){builder.bytes, builder.bytes_count}, 0);
    assert_true(failure_is_set(&reading.failure));
    assert_non_null(strstr(reading.failure.message, "name the folder itself"));
}

/* Reads the recording and expects a failure whose message contains both texts. */
static void assert_refused(struct text bytes, const char *what, const char *advice) {
    read_any(bytes, 0);
    assert_true(failure_is_set(&reading.failure));
    assert_non_null(strstr(reading.failure.message, what));
    assert_non_null(strstr(reading.failure.message, advice));
}

/* Ends the recording with one section of the header: a text. */
static struct text finish_on(const char *machine) {
    enum { BITS_AT = 72, SECTION_BYTES = 16, ARCH_BIT = 6 };
    struct text records = builder_finish(&builder);
    builder_set_u64(&builder, BITS_AT, 1 << ARCH_BIT);
    builder_u64(&builder, records.bytes_count + SECTION_BYTES);
    builder_u64(&builder, 4 + strlen(machine) + 1);
    builder_u32(&builder, (uint32_t)strlen(machine) + 1);
    builder_put(&builder, machine, strlen(machine) + 1);
    return (struct text){builder.bytes, builder.bytes_count};
}

/* Lists of ids do not overlap. If many events name one, only the first of them has it. */
TEST(test_events_with_one_list_of_ids) {
    enum { EVENT_COUNT = 3, ENTRY_BYTES = BUILDER_ATTR_BYTES + 16 };
    builder_begin(&builder);
    const uint64_t list[] = {BUILDER_HEADER_BYTES, EVENT_COUNT * ENTRY_BYTES};
    memcpy(builder.bytes + BUILDER_HEADER_BYTES + BUILDER_ATTR_BYTES, list, sizeof list);
    for (size_t i = 1; i < EVENT_COUNT; i++) builder_put(&builder, builder.bytes + BUILDER_HEADER_BYTES, ENTRY_BYTES);
    builder_set_u64(&builder, 32, EVENT_COUNT * ENTRY_BYTES);
    builder_set_u64(&builder, 40, builder.bytes_count);
    assert_entry(LEDGER_RECORDS, LEDGER_LOST, "damaged description of an event", EVENT_COUNT - 1);
}

/* Samples whose ids no event has are lost, however many there are. */
TEST(test_ids_without_events) {
    enum { EVENT_COUNT = 2, ENTRY_BYTES = BUILDER_ATTR_BYTES + 16, SAMPLE_TYPE_AT = 24, SAMPLE_COUNT = 1000 };
    const uint64_t identifier = 1 << 16;
    builder_begin(&builder);
    builder_set_u64(&builder, BUILDER_HEADER_BYTES + SAMPLE_TYPE_AT, identifier);
    for (size_t i = 1; i < EVENT_COUNT; i++) builder_put(&builder, builder.bytes + BUILDER_HEADER_BYTES, ENTRY_BYTES);
    builder_set_u64(&builder, 32, EVENT_COUNT * ENTRY_BYTES);
    builder_set_u64(&builder, 40, builder.bytes_count);
    for (uint64_t i = 0; i < SAMPLE_COUNT; i++) {
        builder_begin_record(&builder, 9, 2);
        builder_u64(&builder, 1 + i);
        builder_end_record(&builder);
    }
    assert_entry(LEDGER_SAMPLES, LEDGER_LOST, "sample of an event that the recording does not describe", SAMPLE_COUNT);
}

TEST(test_other_machines) {
    /* A kernel of 32 bits is at addresses that are those of programs elsewhere. */
    static const uint64_t chain[] = {(uint64_t)-128, 0xc0008010, 0xc0008024, (uint64_t)-512, 0x400010};
    begin_app();
    builder_mmap(&builder, UINT32_MAX, 0xc0008000, 0x1000, 0xc0008000, "[kernel.kallsyms]_text", 0);
    builder_sample(&builder, 5, 5, 100, chain, sizeof chain / sizeof *chain);
    read_any(finish_on("armv7l"), 0);
    assert_printed(profile_samples_text(&reading.profile),
                   "5/5 app 0 1000000 0x1010;[kernel.kallsyms]+0xc0008023;[kernel.kallsyms]+0xc0008010\n");
    assert_refused(TEXT("2ELIFREP\0\0\0\0\0\0\0\150"), "a big-endian machine",
                   "perf script -F +pid -i memory | gecko-convert -");
}

/* Replaces the records of the builder by one zstd stream of them, cut into records of that type. Those of type 83 say
 * how long their part is, and are padded. */
static void compress_records(uint32_t type) {
    enum { COMPRESSED2 = 83, PART_BYTES = 51 /* so that parts need padding */ };
    static char packed[BUILDER_BYTES_MAX];
    size_t packed_bytes = ZSTD_compress(packed, sizeof packed, builder.bytes + BUILDER_RECORDS_AT,
                                        builder.bytes_count - BUILDER_RECORDS_AT, 1);
    assert_false(ZSTD_isError(packed_bytes));
    assert_true(packed_bytes > 2 * PART_BYTES);
    builder.bytes_count = BUILDER_RECORDS_AT;
    for (size_t at = 0; at < packed_bytes; at += PART_BYTES) {
        size_t part_bytes = packed_bytes - at < PART_BYTES ? packed_bytes - at : PART_BYTES;
        builder_begin_record(&builder, type, 0);
        if (type == COMPRESSED2) builder_u64(&builder, part_bytes);
        builder_put(&builder, packed + at, part_bytes);
        while (type == COMPRESSED2 && (builder.bytes_count - builder.record_at) % 8) builder_put(&builder, "", 1);
        builder_end_record(&builder);
    }
}

TEST(test_compressed_records) {
    for (uint32_t type = 81; type <= 83; type += 2) {
        begin_app();
        add_chain(5, 5, 300, 0x400010, 0x400020);
        add_chain(5, 5, 200, 0x400030, 0x400020);
        builder_round(&builder);
        add_chain(5, 5, 400, 0x400010, 0x400020);
        compress_records(type);
        assert_samples(
            "5/5 app 0 1000000 0x101f;0x1030\n5/5 app 100 1000000 0x101f;0x1010\n"
            "5/5 app 200 1000000 0x101f;0x1010\n");
    }
}

TEST(test_cut_record) {
    begin_app();
    add_chain(5, 5, 100, 0x400010, 0x400020);
    add_chain(5, 5, 200, 0x400010, 0x400020);
    struct text all = builder_finish(&builder);
    read_any(text_slice(all, 0, all.bytes_count - 5), 0);
    assert_printed(profile_samples_text(&reading.profile), "5/5 app 0 1000000 0x101f;0x1010\n");
    assert_true(ledger_has_losses(&reading.profile.ledger));
}

/* Damage after damage costs the rounds that have it, not all that follows. */
TEST(test_several_damaged_records) {
    begin_app();
    for (uint64_t round = 1; round <= 5; round++) {
        if (round % 2 == 0) builder_begin_record(&builder, 4, 0); /* it has no size */
        add_chain(5, 5, round * 100, 0x400010, 0x400020);
        builder_round(&builder);
    }
    assert_samples(
        "5/5 app 0 1000000 0x101f;0x1010\n5/5 app 200 1000000 0x101f;0x1010\n"
        "5/5 app 400 1000000 0x101f;0x1010\n");
    assert_entry(LEDGER_RECORDS, LEDGER_LOST, "damaged record", 2);
}

int main(void) { return unit_tests_run(NULL, end_reading); }
