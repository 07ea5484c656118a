/* Tests that an arena frees what is told to be of no use, and nothing else. Every conversion shows the rest. */
#include <string.h>

#include "libconvert/base/arena.h"
#include "libconvert/base/memory.h"
#include "tests/support/unit_test.h"

enum { TEXT_COUNT = 3000, LARGE_BYTES = 70000 };

/* One in 100 texts is larger than the chunks of others. */
static size_t bytes_of(size_t number) { return number % 100 == 7 ? LARGE_BYTES : number % 97; }

TEST(test_forget) {
    struct memory_limit limit;
    struct failure failure = {.memory = &limit};
    struct arena arena;
    const char *texts[TEXT_COUNT];
    static char expected[LARGE_BYTES];
    memory_limit_init(&limit, 1 << 30);
    arena_init(&arena, &failure);
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        memset(expected, (char)i, sizeof expected);
        texts[i] = arena_copy(&arena, (struct text){expected, bytes_of(i)}).bytes;
    }
    uint64_t before_bytes = limit.held_bytes;
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        memset(expected, (char)i, sizeof expected);
        assert_memory_equal(texts[i], expected, bytes_of(i));
        arena_forget(&arena, texts[i]);
        assert_memory_equal(texts[i], expected, bytes_of(i));
    }
    /* Large texts and the last chunk stay. */
    assert_in_range(before_bytes - limit.held_bytes, TEXT_COUNT * 97 / 2 - 2 * 64 * 1024, TEXT_COUNT * 97 / 2);
    arena_fini(&arena);
    assert_int_equal(limit.held_bytes, 0);
}

int main(void) { return unit_tests_run(NULL, NULL); }
