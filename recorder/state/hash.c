/* XXH3-64 by its specification (doc/xxhash_spec.md of xxHash), with seed 0 and the default secret. The recorder has
 * code of its own, so that nothing but a compiler is needed to build it. */
#include "hash.h"

#include <string.h>

static const uint64_t PRIME32_1 = 0x9E3779B1, PRIME32_2 = 0x85EBCA77, PRIME32_3 = 0xC2B2AE3D;
static const uint64_t PRIME64_1 = 0x9E3779B185EBCA87, PRIME64_2 = 0xC2B2AE3D27D4EB4F, PRIME64_3 = 0x165667B19E3779F9;
static const uint64_t PRIME64_4 = 0x85EBCA77C2B2AE63, PRIME64_5 = 0x27D4EB2F165667C5;

enum { LANE_COUNT = 8, STRIPE_BYTES = 64, BLOCK_STRIPE_COUNT = 16, SECRET_BYTES = 192 };

static const unsigned char secret[SECRET_BYTES] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4,
    0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43,
    0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19,
    0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78,
    0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16,
    0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

static uint64_t load32(const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t load64(const unsigned char *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t rotate(uint64_t value, unsigned bits) { return value << bits | value >> (64 - bits); }

/* Returns the exclusive or of both halves of the product, which has 128 bits. */
static uint64_t multiply_and_fold(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX), high = (a >> 32) * (b >> 32);
    uint64_t first = (a >> 32) * (b & UINT32_MAX), second = (a & UINT32_MAX) * (b >> 32);
    uint64_t middle = (low >> 32) + (first & UINT32_MAX) + second;
    return ((first >> 32) + (middle >> 32) + high) ^ (middle << 32 | (low & UINT32_MAX));
#endif
}

static uint64_t avalanche(uint64_t hash) {
    hash = (hash ^ hash >> 37) * 0x165667919E3779F9;
    return hash ^ hash >> 32;
}

static uint64_t avalanche_short(uint64_t hash) {
    hash = (hash ^ hash >> 33) * PRIME64_2;
    hash = (hash ^ hash >> 29) * PRIME64_3;
    return hash ^ hash >> 32;
}

static uint64_t mix_16_bytes(const unsigned char *bytes, const unsigned char *key) {
    return multiply_and_fold(load64(bytes) ^ load64(key), load64(bytes + 8) ^ load64(key + 8));
}

static uint64_t hash_up_to_3(const unsigned char *bytes, size_t count) {
    if (!count) return avalanche_short(load64(secret + 56) ^ load64(secret + 64));
    uint32_t joined =
        (uint32_t)bytes[0] << 16 | (uint32_t)bytes[count / 2] << 24 | bytes[count - 1] | (uint32_t)count << 8;
    return avalanche_short(joined ^ load32(secret) ^ load32(secret + 4));
}

static uint64_t hash_up_to_8(const unsigned char *bytes, size_t count) {
    uint64_t joined = load32(bytes + count - 4) | load32(bytes) << 32;
    uint64_t hash = joined ^ load64(secret + 8) ^ load64(secret + 16);
    hash = (hash ^ rotate(hash, 49) ^ rotate(hash, 24)) * 0x9FB21C651E98DF25;
    hash = (hash ^ ((hash >> 35) + count)) * 0x9FB21C651E98DF25;
    return hash ^ hash >> 28;
}

static uint64_t hash_up_to_16(const unsigned char *bytes, size_t count) {
    uint64_t low = load64(bytes) ^ load64(secret + 24) ^ load64(secret + 32);
    uint64_t high = load64(bytes + count - 8) ^ load64(secret + 40) ^ load64(secret + 48);
    return avalanche(count + __builtin_bswap64(low) + high + multiply_and_fold(low, high));
}

/* Mixes 16 bytes from each end, then the next ones inwards, until the ends meet. */
static uint64_t hash_up_to_128(const unsigned char *bytes, size_t count) {
    uint64_t hash = count * PRIME64_1;
    for (size_t i = 0; i <= (count - 1) / 32; i++) {
        hash += mix_16_bytes(bytes + 16 * i, secret + 32 * i);
        hash += mix_16_bytes(bytes + count - 16 * (i + 1), secret + 32 * i + 16);
    }
    return avalanche(hash);
}

static uint64_t hash_up_to_240(const unsigned char *bytes, size_t count) {
    uint64_t hash = count * PRIME64_1, end = mix_16_bytes(bytes + count - 16, secret + 119);
    for (size_t i = 0; i < 8; i++) hash += mix_16_bytes(bytes + 16 * i, secret + 16 * i);
    for (size_t i = 8; i < count / 16; i++) end += mix_16_bytes(bytes + 16 * i, secret + 16 * (i - 8) + 3);
    return avalanche(avalanche(hash) + end);
}

/* Adds a stripe to the lanes. The loops have no dependencies between lanes, so compilers make vectors of them. */
static inline void add_stripe(uint64_t lanes[LANE_COUNT], const unsigned char *bytes, const unsigned char *key) {
    uint64_t values[LANE_COUNT], keyed[LANE_COUNT];
    for (size_t i = 0; i < LANE_COUNT; i++) values[i] = load64(bytes + 8 * i);
    for (size_t i = 0; i < LANE_COUNT; i++) keyed[i] = values[i] ^ load64(key + 8 * i);
    for (size_t i = 0; i < LANE_COUNT; i++) lanes[i] += (keyed[i] & UINT32_MAX) * (keyed[i] >> 32) + values[i ^ 1];
}

static uint64_t hash_long(const unsigned char *bytes, size_t count) {
    uint64_t lanes[LANE_COUNT] = {PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3,
                                  PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1};
    for (size_t i = 0; i < (count - 1) / STRIPE_BYTES; i++) {
        add_stripe(lanes, bytes + i * STRIPE_BYTES, secret + 8 * (i % BLOCK_STRIPE_COUNT));
        if (i % BLOCK_STRIPE_COUNT < BLOCK_STRIPE_COUNT - 1) continue;
        for (size_t j = 0; j < LANE_COUNT; j++)
            lanes[j] = (lanes[j] ^ lanes[j] >> 47 ^ load64(secret + SECRET_BYTES - STRIPE_BYTES + 8 * j)) * PRIME32_1;
    }
    add_stripe(lanes, bytes + count - STRIPE_BYTES, secret + SECRET_BYTES - STRIPE_BYTES - 7);
    uint64_t hash = count * PRIME64_1;
    for (size_t i = 0; i < LANE_COUNT; i += 2)
        hash += multiply_and_fold(lanes[i] ^ load64(secret + 11 + 8 * i), lanes[i + 1] ^ load64(secret + 19 + 8 * i));
    return avalanche(hash);
}

uint64_t hash_bytes(const void *bytes, size_t bytes_count) {
    static const struct {
        size_t bytes_count_max;
        uint64_t (*hash)(const unsigned char *bytes, size_t count);
    } ways[] = {{3, hash_up_to_3},     {8, hash_up_to_8},     {16, hash_up_to_16},
                {128, hash_up_to_128}, {240, hash_up_to_240}, {SIZE_MAX, hash_long}};
    size_t i = 0;
    while (bytes_count > ways[i].bytes_count_max) i++;
    return ways[i].hash(bytes, bytes_count);
}
