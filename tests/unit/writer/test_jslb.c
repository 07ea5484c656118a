/* Tests that JsonSlabs stand for exactly the JSON that the emitter of the processed format writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/json_slabs.h"
#include "readers/input/input.h"
#include "tests/support/chunk_text.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"
#include "writer/emitter.h"

static const int64_t DAY_NS = 86400000000000;

static struct chunk_list emit(const struct emitter *emitter, unsigned thread_count) {
    struct chunk_list out;
    struct emit_options options = {.thread_count = thread_count};
    chunk_list_init(&out, &failure);
    emitter->emit(&profile, &profile.ledger, &out, &options, (struct progress){0});
    assert_false(failure_is_set(&failure));
    return out;
}

/* Returns the JSON that the slabs stand for. The caller frees it. */
static char *expand(struct text slabs, size_t json_bytes) {
    char *json = calloc(1, json_bytes + 1);
    size_t length = 0;
    struct input *input = input_unwrap(input_from_memory(slabs, 0, &failure));
    assert_non_null(input);
    for (struct text part; (part = input_peek(input, 1)).bytes_count; input_consume(input, part.bytes_count)) {
        assert_true(length + part.bytes_count <= json_bytes);
        memcpy(json + length, part.bytes, part.bytes_count);
        length += part.bytes_count;
    }
    input_close(input);
    assert_string_equal(failure.message, "");
    return json;
}

/* Returns how many slabs have that type. */
static uint32_t count_slabs(const char *bytes, enum slab_type type) {
    uint32_t slab_count, found, count = 0;
    memcpy(&slab_count, bytes + JSON_SLABS_COUNT_AT, sizeof slab_count);
    const char *entry = bytes + JSON_SLABS_HEADER_BYTES;
    for (uint32_t i = 0; i < slab_count; i++, entry += JSON_SLABS_ENTRY_BYTES) {
        memcpy(&found, entry + JSON_SLABS_TYPE_AT, sizeof found);
        count += found + 1 == type;
    }
    return count;
}

/* Checks the document of any number of threads, and how many of its slabs have a type. */
static void check_profile(uint32_t int_count, uint32_t double_count, uint32_t json_count) {
    struct chunk_list json = emit(&emitter_processed, 1), slabs = emit(&emitter_jslb, 1);
    char *expected = chunk_text(&json), *bytes = chunk_text(&slabs);
    char *expanded = expand((struct text){bytes, slabs.total_bytes}, json.total_bytes);
    assert_string_equal(expanded, expected);
    struct chunk_list parallel = emit(&emitter_jslb, 4);
    char *parallel_bytes = chunk_text(&parallel);
    assert_int_equal(parallel.total_bytes, slabs.total_bytes);
    assert_memory_equal(parallel_bytes, bytes, slabs.total_bytes);
    assert_int_equal(count_slabs(bytes, SLAB_INT32) + count_slabs(bytes, SLAB_UINT8), int_count);
    assert_int_equal(count_slabs(bytes, SLAB_FLOAT64), double_count);
    assert_int_equal(count_slabs(bytes, SLAB_JSON), json_count);
    free(expected);
    free(bytes);
    free(expanded);
    free(parallel_bytes);
    chunk_list_fini(&json);
    chunk_list_fini(&slabs);
    chunk_list_fini(&parallel);
}

static void add_samples(uint32_t count, int64_t interval_ns, uint32_t weight_scale) {
    struct thread *thread = add_only_thread();
    stack_id stack = stack_none();
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i % 700);
        struct text text = profile_text(&profile, text_of(name));
        stack = profile_stack(&profile, i % 50 ? stack : stack_none(),
                              profile_named_frame(&profile, text, (struct category_pair){0}));
        thread_add_sample(thread, i * interval_ns, i % 13 ? stack : stack_none(),
                          profile_weight_encode(&profile, decimal_make(i, weight_scale)));
    }
    finish_profile();
}

/* All threads share six columns of whole numbers. Samples and markers have three of times. */
TEST(test_few_rows, begin_profile, end_profile) {
    add_samples(20, 1234567, 1);
    check_profile(6, 3, 1);
}

/* Stacks of samples are JSON, because the front-end sets some to null. */
TEST(test_many_rows, begin_profile, end_profile) {
    profile.meta.weight_type = WEIGHT_SAMPLES;
    add_samples(40000, 1000001, 1);
    check_profile(6, 3 + 1, 1 + 1);
}

TEST(test_whole_weights, begin_profile, end_profile) {
    profile.meta.weight_type = WEIGHT_SAMPLES;
    add_samples(40000, 1000001, 0);
    check_profile(6 + 1, 3, 1 + 1);
}

/* Doubles do not tell such weights exactly. */
TEST(test_small_weights, begin_profile, end_profile) {
    profile.meta.weight_type = WEIGHT_SAMPLES;
    add_samples(2000, 1000001, 7);
    check_profile(6, 3, 1 + 2);
}

/* Weights of samples that count one are their processor time. A double has more than 32 bits. */
TEST(test_processor_times, begin_profile, end_profile) {
    profile.meta.cpu_delta_unit = CPU_DELTA_NS;
    add_samples(2000, 1000001, 0);
    check_profile(6 + 1, 3, 1 + 1);
    thread_add_sample(profile_thread_at(&profile, (thread_id){0}), 2000 * INT64_C(1000001), stack_none(),
                      profile_weight_encode(&profile, decimal_make(5000000000, 0)));
    check_profile(6, 3 + 1, 1 + 1);
}

static void set_processor_times(int64_t last_ns) {
    struct thread *thread = add_only_thread();
    profile.meta.cpu_delta_unit = CPU_DELTA_NS;
    profile.meta.has_cpu_apart = true;
    for (int i = 0; i < 1500; i++) {
        thread_add_sample(thread, i * 1000000, stack_none(), 1);
        samples_set_details(&thread->samples, i < 1499 ? i : last_ns, TIME_NONE);
    }
    finish_profile();
}

/* Processor times beside weights are whole numbers if all are known and have 32 bits. */
TEST(test_processor_times_apart, begin_profile, end_profile) {
    static const int64_t others[] = {INT64_C(1) << 31, TIME_NONE};
    set_processor_times(INT32_MAX);
    check_profile(6 + 1, 3, 1 + 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        end_profile(state);
        begin_profile(state);
        set_processor_times(others[i]);
        check_profile(6, 3, 1 + 2);
    }
}

/* Doubles do not tell nanoseconds of such times, so they stay text. */
TEST(test_long_times, begin_profile, end_profile) {
    add_samples(3, 99 * DAY_NS, 1);
    check_profile(6, 3, 1);
    end_profile(state);
    begin_profile(state);
    add_samples(3, 100 * DAY_NS, 1);
    check_profile(6, 2, 1);
}

TEST(test_no_rows, begin_profile, end_profile) {
    finish_profile();
    check_profile(6, 0, 1);
}

int main(void) { return unit_tests_run(NULL, NULL); }
