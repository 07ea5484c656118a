/* Tests walks of stacks of an aarch64 program with signed return addresses. tests/unwind/aarch64_program.c recorded the
 * stacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/unwind/unwinder.h"
#include "tests/support/unit_test.h"

enum { BYTES_MAX = 65536, FRAMES_MAX = 32, FUNCTION_BYTES = 512, PROGRAM_START = 0x400000 };

/* The program's functions, in the order in which it writes their addresses. */
enum function { PROBE, RECURSE, SIZED, REGISTERS, HANDLER, RESTORER, INTERRUPTED, RUN, START, FUNCTION_COUNT };

static _Alignas(16) char program[BYTES_MAX];
static char samples[BYTES_MAX];
static struct text program_bytes;
static size_t samples_bytes_count;
static size_t samples_at;
static uint64_t functions[FUNCTION_COUNT];

static size_t read_file(const char *path, char bytes[BYTES_MAX]) {
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("cannot read %s", path);
    size_t bytes_count = fread(bytes, 1, BYTES_MAX, file);
    fclose(file);
    return bytes_count;
}

static void take(void *to, size_t bytes_count) {
    assert_true(bytes_count <= samples_bytes_count - samples_at);
    memcpy(to, samples + samples_at, bytes_count);
    samples_at += bytes_count;
}

static bool find_mapping(void *context, uint64_t address, struct unwind_mapping *mapping) {
    *mapping = (struct unwind_mapping){
        .start = PROGRAM_START, .end = PROGRAM_START + program_bytes.bytes_count, .file = context};
    return address >= mapping->start && address < mapping->end;
}

static struct failure failure;
static struct unwinder *unwinder;
static struct unwind_process process;
static struct unwind_registers registers;
static struct unwind_stack stack;

static int set_up(void **state) {
    struct unwinder_options options = {.machine = UNWINDER_AARCH64, .failure = &failure};
    program_bytes = (struct text){program, read_file("tests/unwind/aarch64_program", program)};
    samples_bytes_count = read_file("tests/unwind/aarch64_samples", samples);
    unwinder = unwinder_create(&options);
    assert_non_null(unwinder);
    process =
        (struct unwind_process){.find_mapping = find_mapping, .context = unwinder_add_bytes(unwinder, program_bytes)};
    take(functions, sizeof functions);
    return 0;
}

static int tear_down(void **state) {
    unwinder_destroy(unwinder);
    assert_false(failure_is_set(&failure));
    return 0;
}

static void take_sample(void) {
    uint64_t bytes_count;
    take(&registers.pc, sizeof registers.pc);
    take(registers.values, sizeof registers.values);
    take(&bytes_count, sizeof bytes_count);
    registers.known = UINT32_MAX;
    stack =
        (struct unwind_stack){.start = registers.values[31], .bytes = samples + samples_at, .bytes_count = bytes_count};
    assert_true(bytes_count <= samples_bytes_count - samples_at);
    samples_at += bytes_count;
}

static bool is_in(uint64_t address, enum function function) {
    return address / FUNCTION_BYTES == functions[function] / FUNCTION_BYTES;
}

/* Walks any part of the next sample's stack. */
static void assert_sample(const enum function *expected, size_t expected_count, size_t exact_count) {
    struct unwound_frame frames[FRAMES_MAX];
    enum unwind_end end;
    take_sample();
    size_t whole_bytes_count = stack.bytes_count, count = 0, count_before = 0, found_exact_count = 0;
    for (size_t bytes_count = 0; bytes_count <= whole_bytes_count; bytes_count += 8) {
        stack.bytes_count = bytes_count;
        count = unwinder_walk(unwinder, &process, &registers, &stack, frames, FRAMES_MAX, &end);
        assert_in_range(count, count_before, expected_count);
        for (size_t i = 0; i < count; i++)
            if (!is_in(frames[i].address, expected[i]))
                fail_msg("frame %zu of %zu is at %#llx", i, count, (unsigned long long)frames[i].address);
        assert_int_equal(end, count < expected_count ? UNWIND_END_STACK_CUT : UNWIND_END_OUTERMOST);
        count_before = count;
    }
    assert_int_equal(count, expected_count);
    for (size_t i = 0; i < count; i++) found_exact_count += frames[i].is_exact;
    assert_int_equal(found_exact_count, exact_count);
}

#define ASSERT_SAMPLE(exact_count, ...)                                                \
    do {                                                                               \
        const enum function expected_[] = {__VA_ARGS__};                               \
        assert_sample(expected_, sizeof expected_ / sizeof *expected_, (exact_count)); \
    } while (0)

TEST(test_samples, set_up, tear_down) {
    ASSERT_SAMPLE(1, PROBE, RECURSE, RECURSE, RECURSE, RECURSE, RUN, START);
    ASSERT_SAMPLE(1, PROBE, RECURSE, RECURSE, SIZED, RUN, START);
    ASSERT_SAMPLE(1, PROBE, RECURSE, REGISTERS, RUN, START);
    ASSERT_SAMPLE(2, PROBE, RECURSE, RECURSE, HANDLER, RESTORER, INTERRUPTED, RUN, START);
    assert_int_equal(samples_at, samples_bytes_count);
}

int main(void) { return unit_tests_run(NULL, NULL); }
