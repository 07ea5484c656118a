/* Tests the files of an archive as inputs. */
#include <errno.h>
#include <stdlib.h>

#include "readers/input/input_members.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

enum { LARGE_BYTES = 300 * 1000 };

static struct temp_folder folder;

static void shell(const char *command) {
    char line[PATH_MAX + 512];
    snprintf(line, sizeof line, "cd '%s' && { %s; }", folder.path, command);
    assert_int_equal(system(line), 0);
}

static int begin(void **state) {
    if (!temp_folder_init(&folder)) return -1;
    char *bytes = malloc(LARGE_BYTES);
    if (!bytes) return -1;
    uint32_t random = 1;
    for (int i = 0; i < LARGE_BYTES; i++) {
        random = random * 1664525u + 1013904223u;
        bytes[i] = (char)('a' + (random >> 8) % 26);
    }
    bool is_good = file_write(temp_folder_file(&folder, "large"), (struct text){bytes, LARGE_BYTES}) &&
                   file_write(temp_folder_file(&folder, "small"), TEXT("main;a 1\n"));
    free(bytes);
    return is_good ? 0 : -1;
}

static int end(void **state) {
    char line[PATH_MAX + 16];
    snprintf(line, sizeof line, "rm -rf '%s'", folder.path);
    return system(line);
}

static struct input_members *open_members(const char *name, struct failure *failure) {
    struct input *input = input_open_outer(temp_folder_file(&folder, name), failure);
    assert_non_null(input);
    assert_true(input_is_archive(input));
    return input_members_open(input, failure);
}

static uint64_t read_all(struct input *input) {
    for (struct text block; (block = input_peek(input, 1)).bytes_count;) input_consume(input, block.bytes_count);
    uint64_t bytes_count = input_offset(input);
    input_close(input);
    return bytes_count;
}

static const char *const archives[] = {"all.tar", "all.tar.gz", "all.zip"};
enum { ARCHIVE_COUNT = sizeof archives / sizeof *archives };

static void pack(void) {
    shell("tar -cf all.tar large small large && tar -czf all.tar.gz large small && zip -q all.zip large small");
}

/* However much of a member is read, the next one must be found, and the digest must cover the whole member. */
TEST(test_all_members, begin, end) {
    pack();
    for (size_t i = 0; i < ARCHIVE_COUNT; i++) {
        uint64_t first_xxh3 = 0;
        for (int how = 0; how < 4; how++) {
            struct failure failure = {0};
            struct input_members *members = open_members(archives[i], &failure);
            struct input_member member;
            struct input_digest digest = {0, 0};
            assert_true(input_members_next(members, &member));
            assert_true(text_equal(member.path, TEXT("large")));
            assert_int_equal(member.kind, INPUT_MEMBER_FILE);
            assert_true(member.has_size && member.size_bytes == LARGE_BYTES);
            struct input *input = how ? input_members_input(members, "name") : NULL;
            if (how == 1) assert_true(input_peek(input, 10).bytes_count >= 10);
            if (how == 2) {
                assert_int_equal(read_all(input), LARGE_BYTES);
                input = NULL;
            }
            input_close(input);
            if (how) input_members_finish(members, &digest);
            if (how == 1) first_xxh3 = digest.xxh3;
            if (how) assert_int_equal(digest.bytes_count, LARGE_BYTES);
            if (how) assert_true(digest.xxh3 == first_xxh3);
            assert_true(input_members_recover(members));
            assert_true(input_members_next(members, &member));
            assert_true(text_equal(member.path, TEXT("small")));
            assert_int_equal(read_all(input_members_input(members, "small")), 9);
            while (input_members_next(members, &member)) continue;
            assert_false(failure_is_set(&failure));
            input_members_close(members);
        }
    }
}

TEST(test_kinds, begin, end) {
    shell(
        "mkdir folder && ln -s small link && ln small hard && mkfifo pipe && "
        "tar -cf kinds.tar folder link small hard pipe");
    static const enum input_member_kind kinds[] = {INPUT_MEMBER_FOLDER, INPUT_MEMBER_LINK, INPUT_MEMBER_FILE,
                                                   INPUT_MEMBER_LINK, INPUT_MEMBER_SPECIAL};
    struct failure failure = {0};
    struct input_members *members = open_members("kinds.tar", &failure);
    struct input_member member;
    size_t count = 0;
    while (input_members_next(members, &member)) assert_int_equal(member.kind, kinds[count++]);
    assert_int_equal(count, 5);
    input_members_close(members);
}

/* If a name cannot be converted and errno is ENOMEM, libarchive ends the process. */
TEST(test_name_after_failed_allocation, begin, end) {
    shell("cp small \"$(printf 'x\\377')\" && tar --format=ustar -cf names.tar x* && tar --format=pax -cf pax.tar x*");
    static const char *const names[] = {"names.tar", "pax.tar"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct failure failure = {0};
        struct input_members *members = open_members(names[i], &failure);
        struct input_member member;
        errno = ENOMEM;
        assert_true(input_members_next(members, &member));
        assert_false(input_members_next(members, &member));
        assert_false(failure_is_set(&failure));
        input_members_close(members);
    }
}

/* A zip archive can still be read after a damaged or encrypted member. */
TEST(test_failed_members, begin, end) {
    shell(
        "zip -q -P secret locked.zip large && zip -q locked.zip small && "
        "zip -q -0 bad.zip large small && printf XXXX | dd of=bad.zip bs=1 seek=200000 conv=notrunc status=none");
    static const char *const names[] = {"locked.zip", "bad.zip"};
    for (size_t i = 0; i < 2; i++) {
        struct failure failure = {0};
        struct input_members *members = open_members(names[i], &failure);
        struct input_member member;
        struct input_digest digest;
        assert_true(input_members_next(members, &member));
        input_close(input_members_input(members, "large"));
        input_members_finish(members, &digest);
        assert_int_equal(failure.code, FAILURE_INPUT);
        assert_true(input_members_recover(members));
        assert_false(failure_is_set(&failure));
        assert_true(input_members_next(members, &member));
        assert_int_equal(read_all(input_members_input(members, "small")), 9);
        assert_false(input_members_next(members, &member));
        assert_false(failure_is_set(&failure));
        input_members_close(members);
    }
}

/* If the input below the archive is truncated, nothing after that can be read. */
TEST(test_cut_off, begin, end) {
    shell("tar -cf - large small | gzip -c > whole.tar.gz && head -c 2000 whole.tar.gz > cut.tar.gz");
    struct failure failure = {0};
    struct input_members *members = open_members("cut.tar.gz", &failure);
    struct input_member member;
    struct input_digest digest;
    assert_true(input_members_next(members, &member));
    input_members_finish(members, &digest);
    assert_int_equal(failure.code, FAILURE_INPUT);
    assert_false(input_members_recover(members));
    assert_non_null(strstr(failure.message, "it ends in the middle"));
    assert_false(input_members_next(members, &member));
    input_members_close(members);
}

static struct text two_blocks(void *context) {
    int *number = context;
    static const struct text blocks[] = {TEXT("first "), TEXT("second"), TEXT("")};
    return blocks[(*number)++];
}

TEST(test_input_from_blocks) {
    struct failure failure = {0};
    int number = 0;
    struct input *input = input_uncompress(input_from_blocks("blocks", two_blocks, &number, &failure));
    assert_non_null(input);
    assert_false(input_is_archive(input));
    assert_true(text_equal(input_peek(input, 100), TEXT("first second")));
    assert_string_equal(input_name(input), "blocks");
    input_close(input);
}

int main(void) { return unit_tests_run(NULL, NULL); }
