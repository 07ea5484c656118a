#include <stdlib.h>
#include <string.h>

#include "libconvert/base/utf8.h"
#include "tests/support/unit_test.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Copies exactly the text's bytes to the heap, so that a sanitizer sees a read past the end. */
static struct text heap_copy(struct text text) {
    char *bytes = malloc(text.bytes_count ? text.bytes_count : 1);
    assert_non_null(bytes);
    memcpy(bytes, text.bytes, text.bytes_count);
    return (struct text){bytes, text.bytes_count};
}

static void free_copy(struct text copy) { free((char *)(uintptr_t)copy.bytes); }

static size_t encode(uint32_t code_point, unsigned char out[4]) {
    if (code_point < 0x80) {
        out[0] = (unsigned char)code_point;
        return 1;
    }
    size_t bytes_count = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = bytes_count - 1; i > 0; i--, code_point >>= 6) out[i] = (unsigned char)(0x80 | (code_point & 0x3f));
    out[0] = (unsigned char)(leads[bytes_count] | code_point);
    return bytes_count;
}

TEST(every_code_point_but_surrogates_is_valid) {
    for (uint32_t code_point = 0; code_point < 0x120000; code_point++) {
        unsigned char bytes[4];
        size_t bytes_count = encode(code_point, bytes);
        bool is_valid = code_point <= 0x10ffff && (code_point < 0xd800 || code_point > 0xdfff);
        struct text text = {(const char *)bytes, bytes_count};
        if (utf8_sequence_bytes(text) != (is_valid ? bytes_count : 0)) fail_msg("U+%04X", code_point);
        if (bytes_count > 1 && utf8_sequence_bytes(text_slice(text, 0, bytes_count - 1)) != 0)
            fail_msg("cut U+%04X", code_point);
    }
}

/* A model of the decoder, by definition: a sequence is valid if encoding its code point gives the same bytes. */
static size_t model_sequence_bytes(const unsigned char bytes[4]) {
    static const uint32_t lead_masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t bytes_count = bytes[0] < 0x80   ? 1
                         : bytes[0] < 0xc0 ? 0
                         : bytes[0] < 0xe0 ? 2
                         : bytes[0] < 0xf0 ? 3
                         : bytes[0] < 0xf8 ? 4
                                           : 0;
    if (!bytes_count) return 0;
    uint32_t code_point = bytes[0] & lead_masks[bytes_count];
    for (size_t i = 1; i < bytes_count; i++) code_point = code_point << 6 | (bytes[i] & 0x3f);
    if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff)) return 0;
    unsigned char again[4];
    return encode(code_point, again) == bytes_count && memcmp(again, bytes, bytes_count) == 0 ? bytes_count : 0;
}

TEST(four_bytes_of_any_kind_are_judged_right) {
    static const unsigned char edges[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
                                          0xaf, 0xbf, 0xc0, 0xc2, 0xe0, 0xed, 0xf4, 0xff};
    enum { EDGE_COUNT = sizeof edges };
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned rest = 0; rest < EDGE_COUNT * EDGE_COUNT * EDGE_COUNT; rest++) {
            unsigned char bytes[4] = {(unsigned char)first, edges[rest % EDGE_COUNT],
                                      edges[rest / EDGE_COUNT % EDGE_COUNT], edges[rest / EDGE_COUNT / EDGE_COUNT]};
            if (utf8_sequence_bytes((struct text){(const char *)bytes, 4}) != model_sequence_bytes(bytes))
                fail_msg("%02x %02x %02x %02x", bytes[0], bytes[1], bytes[2], bytes[3]);
        }
    }
}

TEST(the_valid_prefix_ends_at_the_first_malformed_byte) {
    enum { BYTES_MAX = 40 };
    for (size_t bytes_count = 1; bytes_count < BYTES_MAX; bytes_count++) {
        for (size_t bad = 0; bad < bytes_count; bad++) {
            char bytes[BYTES_MAX];
            memset(bytes, 'a', bytes_count);
            bytes[bad] = '\xff';
            struct text copy = heap_copy((struct text){bytes, bytes_count});
            assert_int_equal(utf8_valid_prefix_bytes(copy), bad);
            assert_int_equal(utf8_valid_prefix_bytes(text_slice(copy, 0, bad)), bad);
            free_copy(copy);
        }
    }
    assert_int_equal(utf8_valid_prefix_bytes(TEXT("")), 0);
    assert_int_equal(utf8_valid_prefix_bytes((struct text){NULL, 0}), 0);
}

TEST(characters_may_stand_anywhere) {
    static const struct text characters[] = {TEXT("\xc3\xa9"), TEXT("\xe2\x82\xac"), TEXT("\xf0\x9f\xa6\x8a")};
    enum { BYTES_MAX = 32 };
    for (size_t c = 0; c < sizeof characters / sizeof *characters; c++) {
        size_t character_bytes = characters[c].bytes_count;
        for (size_t at = 0; at + character_bytes <= BYTES_MAX; at++) {
            char bytes[BYTES_MAX];
            memset(bytes, 'a', sizeof bytes);
            memcpy(bytes + at, characters[c].bytes, character_bytes);
            assert_int_equal(utf8_valid_prefix_bytes((struct text){bytes, sizeof bytes}), sizeof bytes);
            /* Cut within the character. */
            for (size_t kept = 1; kept < character_bytes; kept++) {
                struct text copy = heap_copy((struct text){bytes, at + kept});
                assert_int_equal(utf8_valid_prefix_bytes(copy), at);
                free_copy(copy);
            }
        }
    }
}

static void assert_repaired(struct text text, struct text expected) {
    struct text copy = heap_copy(text);
    char *out = malloc(utf8_repaired_bytes_max(text.bytes_count) + 1);
    assert_non_null(out);
    size_t bytes_count = utf8_repair(copy, out);
    if (!text_equal((struct text){out, bytes_count}, expected))
        fail_msg("\"%.*s\", wanted \"%.*s\"", (int)bytes_count, out, (int)expected.bytes_count, expected.bytes);
    free(out);
    free_copy(copy);
}

TEST(each_malformed_byte_is_shown) {
    static const struct {
        struct text text, repaired;
    } cases[] = {
        {TEXT(""), TEXT("")},
        {TEXT("plain text, longer than eight bytes"), TEXT("plain text, longer than eight bytes")},
        {TEXT("caf\xc3\xa9 \xf0\x9f\xa6\x8a"), TEXT("caf\xc3\xa9 \xf0\x9f\xa6\x8a")},
        {TEXT("a\0b"), TEXT("a\0b")},
        {TEXT("\xff"), TEXT("\\xff")},
        {TEXT("caf\xe9"), TEXT("caf\\xe9")},
        {TEXT("\xff\xfe"), TEXT("\\xff\\xfe")},
        {TEXT("a\x80z"), TEXT("a\\x80z")},
        {TEXT("\xc0\x80"), TEXT("\\xc0\\x80")},
        {TEXT("\xed\xa0\x80"), TEXT("\\xed\\xa0\\x80")},
        {TEXT("\xf0\x9f\xa6"), TEXT("\\xf0\\x9f\\xa6")},
        {TEXT("\xf0\x9f\xa6z"), TEXT("\\xf0\\x9f\\xa6z")},
        {TEXT("\xe2\x82\xe2\x82\xac"), TEXT("\\xe2\\x82\xe2\x82\xac")},
        {TEXT("\xc3\xc3\xa9"), TEXT("\\xc3\xc3\xa9")},
        {TEXT(REPLACEMENT), TEXT(REPLACEMENT)},
        {TEXT("12345678\xff"
              "12345678"),
         TEXT("12345678\\xff12345678")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_repaired(cases[i].text, cases[i].repaired);
}

TEST(the_bound_of_a_repair_is_reached) {
    enum { COUNT = 100 };
    char bytes[COUNT], out[COUNT * 4];
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(utf8_repaired_bytes_max(COUNT), sizeof out);
    assert_int_equal(utf8_repair((struct text){bytes, sizeof bytes}, out), sizeof out);
    assert_int_equal(utf8_repaired_bytes_max(0), 0);
}

int main(void) { return unit_tests_run(NULL, NULL); }
