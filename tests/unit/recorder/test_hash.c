#define XXH_INLINE_ALL
#include <xxhash.h>

#include "recorder/state/hash.h"
#include "tests/support/unit_test.h"

/* Inputs of every length up to this are hashed. The longest have several blocks of 1024 bytes. */
enum { BYTES_MAX = 5000 };

TEST(hashes_are_those_of_xxhash) {
    unsigned char bytes[BYTES_MAX + 1];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * i * 31 + i / 7);
    for (size_t count = 0; count <= BYTES_MAX; count++)
        assert_int_equal(hash_bytes(bytes + count % 2, count), XXH3_64bits(bytes + count % 2, count));
}

int main(void) { return unit_tests_run(NULL, NULL); }
