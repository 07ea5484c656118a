/* Tests limits of memory: what counts against them, and how a conversion that reaches one ends. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "libconvert/base/column.h"
#include "libconvert/base/machine.h"
#include "libconvert/base/memory.h"
#include "tests/support/converted_trace.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"

enum { MIB = 1024 * 1024 };

/* Options for the address sanitizer. By default it ends the program when malloc would return NULL. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

/* ---- Blocks. ---- */

static struct memory_limit limit;
static struct failure failure;

static void begin_limit(uint64_t limit_bytes) {
    memory_limit_init(&limit, limit_bytes);
    failure = (struct failure){.memory = &limit};
}

static void assert_refused(const void *block, const char *message) {
    assert_null(block);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_string_equal(failure.message, message);
    failure_clear(&failure);
    assert_ptr_equal(failure.memory, &limit);
}

static const char beyond_a_mib[] =
    "more memory is needed than the limit of 1 MiB: raise it with --max-memory, or split the input";

TEST(test_blocks_count_until_they_are_given_back) {
    begin_limit(MIB);
    char *first = memory_allocate(&failure, 600 * 1024);
    assert_non_null(first);
    assert_in_range(limit.held_bytes, 600 * 1024, 601 * 1024);
    assert_refused(memory_allocate(&failure, 600 * 1024), beyond_a_mib);
    assert_refused(memory_allocate_zeroed(&failure, 600, 1024), beyond_a_mib);
    memory_free(first);
    assert_int_equal(limit.held_bytes, 0);
    char *zeroed = memory_allocate_zeroed(&failure, 600, 1024);
    assert_non_null(zeroed);
    for (size_t i = 0; i < 600 * 1024; i++) assert_int_equal(zeroed[i], 0);
    memory_free(zeroed);
    memory_free(NULL);
    assert_int_equal(limit.held_bytes, 0);
}

TEST(test_a_resized_block_counts_with_its_new_size) {
    begin_limit(MIB);
    char *block = memory_resize(&failure, NULL, 5);
    assert_non_null(block);
    memcpy(block, "five", 5);
    block = memory_resize(&failure, block, 900 * 1024);
    assert_string_equal(block, "five");
    assert_refused(memory_resize(&failure, block, 2 * MIB), beyond_a_mib);
    assert_string_equal(block, "five");
    assert_in_range(limit.held_bytes, 900 * 1024, 901 * 1024);
    block = memory_resize(&failure, block, 100);
    assert_string_equal(block, "five");
    assert_in_range(limit.held_bytes, 100, 1024);
    memory_free(block);
    assert_int_equal(limit.held_bytes, 0);
}

TEST(test_sizes_beyond_all_memory) {
    begin_limit(UINT64_MAX);
    assert_refused(memory_allocate(&failure, SIZE_MAX), "memory ran out");
    assert_refused(memory_allocate_zeroed(&failure, SIZE_MAX / 2, 4), "memory ran out");
    assert_refused(memory_allocate(&failure, PTRDIFF_MAX), "memory ran out");
    char *block = memory_allocate(&failure, 1);
    assert_refused(memory_resize(&failure, block, PTRDIFF_MAX), "memory ran out");
    memory_free(block);
    assert_int_equal(limit.held_bytes, 0);
}

TEST(test_without_a_limit_nothing_counts) {
    struct failure free_of_limits = {0};
    char *block = memory_allocate(&free_of_limits, MIB);
    assert_non_null(block);
    block = memory_resize(&free_of_limits, block, 2 * MIB);
    assert_non_null(block);
    assert_true(memory_check_resident(&free_of_limits));
    memory_free(block);
}

static int compare_numbers(const void *left, const void *right) { return *(const int *)left - *(const int *)right; }

TEST(test_sorting_counts_its_copy) {
    begin_limit(MIB);
    enum { NUMBER_COUNT = 100000 };
    int *numbers = memory_allocate(&failure, NUMBER_COUNT * sizeof *numbers);
    assert_non_null(numbers);
    for (int i = 0; i < NUMBER_COUNT; i++) numbers[i] = NUMBER_COUNT - i;
    memory_sort(&failure, numbers, NUMBER_COUNT, sizeof *numbers, compare_numbers);
    assert_false(failure_is_set(&failure));
    for (int i = 0; i < NUMBER_COUNT; i++) assert_int_equal(numbers[i], i + 1);
    char *other = memory_allocate(&failure, 400 * 1024);
    assert_non_null(other);
    memory_sort(&failure, numbers, NUMBER_COUNT, sizeof *numbers, compare_numbers);
    assert_refused(NULL, beyond_a_mib);
    memory_free(other);
    memory_free(numbers);
}

TEST(test_columns_count) {
    begin_limit(MIB);
    struct column column;
    column_init(&column, sizeof(uint64_t), &failure);
    uint32_t count = 0;
    for (uint64_t *row; (row = column_push(&column)); count++) *row = count;
    assert_in_range(count, MIB / sizeof(uint64_t) / 4, MIB / sizeof(uint64_t));
    assert_int_equal(column.count, count);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(*(uint64_t *)column_at(&column, i), i);
    assert_refused(NULL, beyond_a_mib);
    column_fini(&column);
    assert_int_equal(limit.held_bytes, 0);
}

TEST(test_messages_name_the_limit) {
    static const struct {
        uint64_t limit_bytes;
        const char *name;
    } cases[] = {{1, "0.000977 KiB"},       {64 * 1024, "64 KiB"},    {1536 * 1024, "1.5 MiB"},
                 {300ull * MIB, "300 MiB"}, {2048ull * MIB, "2 GiB"}, {12700ull * MIB, "12.4 GiB"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[200];
        snprintf(message, sizeof message,
                 "more memory is needed than the limit of %s: raise it with --max-memory, or split the input",
                 cases[i].name);
        begin_limit(cases[i].limit_bytes);
        assert_refused(memory_allocate(&failure, PTRDIFF_MAX), message);
    }
}

TEST(test_what_a_library_takes_is_seen) {
    enum { TAKEN_BYTES = 64 * MIB };
    begin_limit(TAKEN_BYTES / 2);
    assert_true(memory_check_resident(&failure));
    char *taken = malloc(TAKEN_BYTES);
    assert_non_null(taken);
    memset(taken, 1, TAKEN_BYTES);
    assert_false(memory_check_resident(&failure));
    assert_refused(NULL,
                   "more memory is needed than the limit of 32 MiB: raise it with --max-memory, or split the input");
    free(taken);
}

/* ---- The machine. ---- */

static struct temp_folder kernel;

static void write_kernel_file(const char *path, const char *content) {
    char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s%s", kernel.path, path);
    for (char *slash = whole + strlen(kernel.path) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    assert_true(file_write(whole, text_of(content)));
}

static int begin_kernel(void **state) { return temp_folder_init(&kernel) ? 0 : -1; }

static int end_kernel(void **state) {
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", kernel.path);
    return system(command);
}

TEST(test_a_machine_without_groups, begin_kernel, end_kernel) {
    uint64_t machine_bytes = machine_memory_bytes(kernel.path);
    assert_true(machine_bytes > 16 * MIB && machine_bytes < UINT64_MAX);
    write_kernel_file("/proc/self/cgroup", "0::/\n");
    assert_int_equal(machine_memory_bytes(kernel.path), machine_bytes);
    begin_limit(0);
    assert_int_equal(limit.limit_bytes, machine_memory_bytes("") / 2);
}

TEST(test_groups_of_version_2, begin_kernel, end_kernel) {
    write_kernel_file("/proc/self/cgroup", "0::/user.slice/app.service\n");
    write_kernel_file("/sys/fs/cgroup/user.slice/app.service/memory.max", "max\n");
    write_kernel_file("/sys/fs/cgroup/user.slice/memory.max", "2097152\n");
    assert_int_equal(machine_memory_bytes(kernel.path), 2 * MIB);
    write_kernel_file("/sys/fs/cgroup/user.slice/app.service/memory.max", "1048576\n");
    assert_int_equal(machine_memory_bytes(kernel.path), MIB);
    write_kernel_file("/sys/fs/cgroup/user.slice/app.service/memory.max", "4194304\n");
    assert_int_equal(machine_memory_bytes(kernel.path), 2 * MIB);
    /* A container sees its own group as the root. */
    write_kernel_file("/proc/self/cgroup", "0::/../other\n");
    write_kernel_file("/sys/fs/cgroup/memory.max", "3145728\n");
    assert_int_equal(machine_memory_bytes(kernel.path), 3 * MIB);
}

TEST(test_groups_of_version_1, begin_kernel, end_kernel) {
    write_kernel_file("/proc/self/cgroup", "9:pids:/a\n8:cpu,memory:/docker/abc\n1:name=systemd:/b\n0::/\n");
    write_kernel_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_kernel_file("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "5242880\n");
    assert_int_equal(machine_memory_bytes(kernel.path), 5 * MIB);
    /* In a container, the group that the host calls /docker/abc is the root. */
    write_kernel_file("/proc/self/cgroup", "8:memory:/docker/other\n");
    write_kernel_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "6291456\n");
    assert_int_equal(machine_memory_bytes(kernel.path), 6 * MIB);
}

/* A quota of processor time per period counts as the quotient of the two, in processors. */
TEST(test_groups_limit_processors, begin_kernel, end_kernel) {
    assert_int_equal(machine_processor_limit(kernel.path), UINT_MAX);
    write_kernel_file("/proc/self/cgroup", "0::/user.slice/app.service\n");
    write_kernel_file("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
    assert_int_equal(machine_processor_limit(kernel.path), UINT_MAX);
    write_kernel_file("/sys/fs/cgroup/user.slice/app.service/cpu.max", "300000 100000\n");
    assert_int_equal(machine_processor_limit(kernel.path), 3);
    write_kernel_file("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    assert_int_equal(machine_processor_limit(kernel.path), 2);
    write_kernel_file("/sys/fs/cgroup/user.slice/cpu.max", "0 100000\n");
    assert_int_equal(machine_processor_limit(kernel.path), 1);
    write_kernel_file("/sys/fs/cgroup/user.slice/cpu.max", "1 0\n");
    assert_int_equal(machine_processor_limit(kernel.path), 3);
    write_kernel_file("/proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n0::/\n");
    write_kernel_file("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "-1\n");
    write_kernel_file("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "50000\n");
    assert_int_equal(machine_processor_limit(kernel.path), UINT_MAX);
    write_kernel_file("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "200000\n");
    assert_int_equal(machine_processor_limit(kernel.path), 4);
    assert_true(machine_processor_count() >= 1);
}

/* ---- Conversions. ---- */

struct growing_text {
    char *bytes;
    size_t bytes_count;
    FILE *file;
};

static void open_text(struct growing_text *text) {
    text->file = open_memstream(&text->bytes, &text->bytes_count);
    assert_non_null(text->file);
}

static struct text close_text(struct growing_text *text) {
    assert_int_equal(fclose(text->file), 0);
    return (struct text){text->bytes, text->bytes_count};
}

/* Every stack is a new one: no two share any callers. */
static struct text make_different_stacks(struct growing_text *text) {
    enum { STACK_COUNT = 4000, DEPTH = 500 };
    open_text(text);
    for (int i = 0; i < STACK_COUNT; i++) {
        fprintf(text->file, "root%d", i);
        for (int j = 0; j < DEPTH; j++) fputs(";f", text->file);
        fputs(" 1\n", text->file);
    }
    return close_text(text);
}

static int begin_conversion(void **state) {
    static struct conversion conversion;
    *state = &conversion;
    return conversion_init(&conversion) ? 0 : -1;
}

static int end_conversion(void **state) {
    conversion_fini(*state);
    return 0;
}

TEST(test_a_conversion_beyond_its_limit_fails, begin_conversion, end_conversion) {
    struct conversion *conversion = *state;
    struct growing_text text;
    struct text stacks = make_different_stacks(&text);
    conversion->options.max_memory_bytes = 20 * MIB;
    assert_int_equal(convert_trace(conversion, stacks), GECKO_CONVERT_NO_MEMORY);
    assert_string_equal(
        conversion->result.message,
        "more memory is needed than the limit of 20 MiB: raise it with --max-memory, or split the input");
    assert_int_equal(temp_folder_count(&conversion->folder), 1);
    gecko_convert_result_fini(&conversion->result);
    conversion->options.max_memory_bytes = GECKO_CONVERT_UNLIMITED;
    assert_int_equal(convert_trace(conversion, stacks), GECKO_CONVERT_GOOD);
    free(text.bytes);
}

static enum gecko_convert_status convert_within(struct conversion *conversion, uint64_t limit_bytes,
                                                struct growing_text *text) {
    conversion->options.max_memory_bytes = limit_bytes;
    enum gecko_convert_status status = convert_trace(conversion, close_text(text));
    free(text->bytes);
    return status;
}

/* The profile names all events in one text. Adding them to it one by one once kept each of its starts. */
TEST(test_many_names_take_little_memory, begin_conversion, end_conversion) {
    struct growing_text text;
    open_text(&text);
    for (int i = 0; i < 4000; i++) fprintf(text.file, "app 1/1 1.0: event-of-no-other-name-%d:\n\t10 f (/a)\n\n", i);
    assert_int_equal(convert_within(*state, 40 * MIB, &text), GECKO_CONVERT_GOOD);
    open_text(&text);
    fputs(
        "{\"meta\":{\"preprocessedProfileVersion\":60,\"version\":31,\"interval\":1,\"startTime\":0,\"product\":\"a\","
        "\"processType\":0,\"stackwalk\":1,\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":"
        "[\"Other\"]}],\"markerSchema\":[],\"configuration\":{\"capacity\":0,\"threads\":[],\"features\":[\"first\"",
        text.file);
    for (int i = 0; i < 4000; i++) fprintf(text.file, ",\"feature-of-no-other-name-%d\"", i);
    fputs("]}},\"libs\":[],\"shared\":{\"stringArray\":[]},\"threads\":[]}", text.file);
    /* This profile has no samples, which is found once all of it is read. */
    assert_int_equal(convert_within(*state, 40 * MIB, &text), GECKO_CONVERT_BAD_INPUT);
}

/* Returns the peak memory of a conversion in a process of its own. */
static long peak_kib_of(struct conversion *conversion, enum gecko_convert_status status) {
    pid_t child = fork();
    if (child == 0) {
        enum gecko_convert_status got = gecko_convert(&conversion->options, &conversion->result);
        gecko_convert_result_fini(&conversion->result);
        _exit(got == status ? 0 : 1);
    }
    int wait_status;
    struct rusage usage;
    assert_int_equal(wait4(child, &wait_status, 0, &usage), child);
    assert_true(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0);
    return usage.ru_maxrss;
}

TEST(test_a_limit_bounds_the_process, begin_conversion, end_conversion) {
    if (IS_SANITIZED) skip(); /* sanitizers need memory themselves */
    struct conversion *conversion = *state;
    struct growing_text text;
    struct text stacks = make_different_stacks(&text);
    assert_true(file_write(conversion->input, stacks));
    free(text.bytes);
    static const uint64_t limits[] = {1 * MIB, 30 * MIB};
    conversion->options.max_memory_bytes = limits[0];
    long least_kib = peak_kib_of(conversion, GECKO_CONVERT_NO_MEMORY);
    conversion->options.max_memory_bytes = limits[1];
    long peak_kib = peak_kib_of(conversion, GECKO_CONVERT_NO_MEMORY);
    assert_in_range(peak_kib - least_kib, 0, (long)(limits[1] / 1024));
}

/* Columns and tables grow at powers of two, so the counts lie on both sides of some. The converter counts its memory in
 * the same way in all builds, and sanitizers would only make this slow. */
TEST(test_a_thread_without_samples_is_cheap, begin_conversion, end_conversion) {
    if (IS_SANITIZED) skip();
    struct conversion *conversion = *state;
    enum { THREAD_BYTES = 584, LEXER_BYTES = 8 * MIB };
    static const int thread_counts[] = {98310, 130000, 131500, 200000};
    for (size_t i = 0; i < sizeof thread_counts / sizeof *thread_counts; i++) {
        struct growing_text text;
        open_text(&text);
        fputs("app 5/5 0.5: cycles: 1000 f (app)\n\n", text.file);
        for (int j = 0; j < thread_counts[i]; j++)
            fprintf(text.file, "t 9 1.%06d: PERF_RECORD_COMM: t%d:%d/%d\n", j, j, j + 10, j + 10);
        struct text threads = close_text(&text);
        conversion->options.max_memory_bytes = (uint64_t)thread_counts[i] * THREAD_BYTES + LEXER_BYTES;
        assert_int_equal(convert_trace(conversion, threads), GECKO_CONVERT_GOOD);
        assert_int_equal(conversion->result.counts.threads, 1);
        gecko_convert_result_fini(&conversion->result);
        free(text.bytes);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
