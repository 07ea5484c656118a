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

static struct chunk_list emit(const struct emitter *emitter) {
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    emitter->emit(&profile, &profile.ledger, &out, &(struct emit_options){0}, (struct progress){0});
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

/* Checks the document. Returns how many slabs it has. */
static uint32_t check_profile(void) {
    struct chunk_list json = emit(&emitter_processed), slabs = emit(&emitter_jslb);
    char *expected = chunk_text(&json), *bytes = chunk_text(&slabs);
    char *expanded = expand((struct text){bytes, slabs.total_bytes}, json.total_bytes);
    assert_string_equal(expanded, expected);
    uint32_t slab_count;
    memcpy(&slab_count, bytes + JSON_SLABS_COUNT_AT, sizeof slab_count);
    free(expected);
    free(bytes);
    free(expanded);
    chunk_list_fini(&json);
    chunk_list_fini(&slabs);
    return slab_count;
}

static void add_samples(uint32_t count, int64_t interval_ns) {
    struct thread *thread = add_only_thread();
    stack_id stack = stack_none();
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i % 700);
        struct text text = profile_text(&profile, text_of(name));
        stack = profile_stack(&profile, i % 50 ? stack : stack_none(),
                              profile_named_frame(&profile, text, (struct category_pair){0}));
        thread_add_sample(thread, i * interval_ns, i % 13 ? stack : stack_none(),
                          profile_weight_encode(&profile, decimal_make(i, 1)));
    }
    finish_profile();
}

/* Slabs of six columns that all threads share, of the times of samples and markers, and the document. */
TEST(test_few_rows, begin_profile, end_profile) {
    add_samples(20, 1234567);
    assert_int_equal(check_profile(), 6 + 3 + 1);
}

/* Columns of JSON get slabs too. */
TEST(test_many_rows, begin_profile, end_profile) {
    profile.meta.weight_type = WEIGHT_SAMPLES;
    add_samples(40000, 1000001);
    uint32_t slab_count = check_profile();
    /* The stacks and weights of the samples are JSON. The frames are few. */
    assert_int_equal(slab_count, 6 + 3 + 1 + 2);
}

/* Doubles do not tell nanoseconds of such times, so they stay text. */
TEST(test_long_times, begin_profile, end_profile) {
    add_samples(3, 99 * DAY_NS);
    assert_int_equal(check_profile(), 6 + 3 + 1);
    end_profile(state);
    begin_profile(state);
    add_samples(3, 100 * DAY_NS);
    assert_int_equal(check_profile(), 6 + 2 + 1);
}

TEST(test_no_rows, begin_profile, end_profile) {
    finish_profile();
    assert_int_equal(check_profile(), 6 + 1);
}

int main(void) { return unit_tests_run(NULL, NULL); }
