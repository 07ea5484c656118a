/* Tests that hashes cannot be foreseen, and that rows with equal hashes are told apart. Every conversion shows the
 * rest. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "libconvert/base/index_set.h"
#include "tests/support/unit_test.h"

enum { KEYS_MAX = 200 };
#define NOT_FOUND UINT32_MAX

/* The caller's rows, whose hashes the test chooses. */
static struct {
    uint64_t keys[KEYS_MAX];
    uint32_t count;
} rows;

static struct failure failure;
static struct index_set set;

static int begin(void **state) {
    failure_clear(&failure);
    index_set_init(&set, &failure);
    rows.count = 0;
    return 0;
}

static int end(void **state) {
    index_set_fini(&set);
    return 0;
}

static struct index_slot *walk(uint64_t key, uint32_t hash) {
    struct index_slot *slot = index_set_first(&set, hash);
    while (!index_slot_is_empty(slot) && !(slot->hash == hash && rows.keys[slot->index] == key))
        slot = index_set_next(&set, slot);
    return slot;
}

static uint32_t find(uint64_t key, uint32_t hash) {
    if (!set.slots) return NOT_FOUND;
    const struct index_slot *slot = walk(key, hash);
    return index_slot_is_empty(slot) ? NOT_FOUND : slot->index;
}

static void insert(uint64_t key, uint32_t hash) {
    assert_true(index_set_reserve(&set));
    struct index_slot *slot = walk(key, hash);
    assert_true(index_slot_is_empty(slot));
    rows.keys[rows.count] = key;
    index_set_fill(&set, slot, hash, rows.count++);
}

TEST(equal_bytes_have_equal_hashes, begin, end) {
    assert_int_equal(index_set_hash("", 0), index_set_hash(NULL, 0));
    assert_int_not_equal(index_set_hash("a", 1), index_set_hash("b", 1));
    assert_int_equal(index_set_hash("abc", 2), index_set_hash("abd", 2));
    assert_true(index_identity_equal(index_set_identity("abc", 2), index_set_identity("abd", 2)));
    assert_false(index_identity_equal(index_set_identity("abc", 3), index_set_identity("abd", 3)));
}

enum { NAME_BYTES = 8, COLLIDING_COUNT = 16 };

/* Names whose unkeyed XXH3 has the same low 32 bits. They were found by running XXH3 backwards. */
static const char *const colliding[COLLIDING_COUNT] = {
    "cyU=Ytv6", "SK><n^1a", "'|5A*rD9", "xH6b6{7x", "tesGk`Za", "^grekK|=", "E.H7F3?J", "3HWYmhia",
    "5bw5$~@r", "PObP,Z_I", "2Ge%o!Zl", "pWko!O~s", "Yh5k'p_m", "4J2'K%m>", "O%^98H|%", "_ei&@I2C",
};

TEST(names_that_were_made_to_collide_do_not, begin, end) {
    size_t alike_count = 0;
    for (size_t i = 0; i < COLLIDING_COUNT; i++) {
        assert_int_equal((uint32_t)XXH3_64bits(colliding[i], NAME_BYTES), 0x12345678);
        for (size_t j = 0; j < i; j++)
            alike_count += index_set_hash(colliding[i], NAME_BYTES) == index_set_hash(colliding[j], NAME_BYTES);
    }
    /* Two random hashes of 32 bits may be equal by chance. */
    assert_true(alike_count <= 1);
}

static const char print_hash[] = "--print-hash";
enum { HASH_DIGITS = 16 };

/* Runs this program once more, which prints the hashes of its process. */
static void ask_another_process(char *line, size_t capacity_bytes) {
    char program[4096], command[4200];
    ssize_t program_bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(program_bytes > 0);
    program[program_bytes] = '\0';
    snprintf(command, sizeof command, "'%s' %s", program, print_hash);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, (int)capacity_bytes, pipe));
    assert_int_equal(pclose(pipe), 0);
}

TEST(each_process_has_hashes_of_its_own, begin, end) {
    char first[64], second[64];
    ask_another_process(first, sizeof first);
    ask_another_process(second, sizeof second);
    assert_memory_not_equal(first, second, HASH_DIGITS);
    assert_string_not_equal(strchr(first, ' '), strchr(second, ' '));
}

static int print_hashes(void) {
    printf("%016llx %016llx\n", index_set_hash("some", 4) * 0x100000000ull + index_set_hash("name", 4),
           (unsigned long long)index_set_identity("name", 4).low);
    return 0;
}

TEST(rows_of_one_hash_are_told_apart, begin, end) {
    for (uint32_t i = 0; i < 200; i++) insert(i, 5);
    for (uint32_t i = 0; i < 200; i++) assert_int_equal(find(i, 5), i);
    assert_int_equal(find(200, 5), NOT_FOUND);
    assert_int_equal(find(3, 5 + 256), NOT_FOUND);
}

int main(int argument_count, char **arguments) {
    if (argument_count == 2 && strcmp(arguments[1], print_hash) == 0) return print_hashes();
    return unit_tests_run(NULL, NULL);
}
