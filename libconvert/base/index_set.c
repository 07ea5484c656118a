#include "index_set.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "memory.h"

enum { FIRST_SLOT_COUNT = 64 };

_Static_assert((int)INDEX_SET_SECRET_BYTES >= (int)XXH3_SECRET_SIZE_MIN, "XXH3 takes no shorter secret");

_Alignas(64) uint8_t index_set_secret[INDEX_SET_SECRET_BYTES];

/* Runs before anything is hashed. If getrandom is missing or forbidden, the secret is derived from the 16 random bytes
 * that the kernel gives every process. */
__attribute__((constructor)) static void draw_secret(void) {
    if (getrandom(index_set_secret, sizeof index_set_secret, GRND_NONBLOCK) == sizeof index_set_secret) return;
    enum { KERNEL_RANDOM_BYTES = 16 };
    const void *kernel_random = (const void *)getauxval(AT_RANDOM);
    for (uint64_t i = 0; kernel_random && i < sizeof index_set_secret / sizeof i; i++) {
        uint64_t part = XXH3_64bits_withSeed(kernel_random, KERNEL_RANDOM_BYTES, i);
        memcpy(index_set_secret + i * sizeof part, &part, sizeof part);
    }
}

/* Most rows and texts are short. For them, the compiler leaves out of XXH3 the part for long ones, which would take a
 * third of the time with the registers and the stack that it needs. */
enum { SHORT_BYTES = 128 };

__attribute__((noinline)) static XXH128_hash_t hash_long(const void *bytes, size_t bytes_count) {
    return XXH3_128bits_withSecret(bytes, bytes_count, index_set_secret, INDEX_SET_SECRET_BYTES);
}

__attribute__((flatten)) uint32_t index_set_hash(const void *bytes, size_t bytes_count) {
    if (bytes_count > SHORT_BYTES) return (uint32_t)hash_long(bytes, bytes_count).low64;
    return (uint32_t)XXH3_64bits_withSecret(bytes, bytes_count, index_set_secret, INDEX_SET_SECRET_BYTES);
}

__attribute__((flatten)) struct index_identity index_set_identity(const void *bytes, size_t bytes_count) {
    XXH128_hash_t hash;
    if (bytes_count > SHORT_BYTES)
        hash = hash_long(bytes, bytes_count);
    else
        hash = XXH3_128bits_withSecret(bytes, bytes_count, index_set_secret, INDEX_SET_SECRET_BYTES);
    return (struct index_identity){hash.low64, hash.high64};
}

void index_set_init(struct index_set *set, struct failure *failure) { *set = (struct index_set){.failure = failure}; }

void index_set_fini(struct index_set *set) {
    memory_free(set->slots);
    *set = (struct index_set){0};
}

bool index_set_grow(struct index_set *set) {
    size_t old_count = set->slots ? set->mask + 1 : 0;
    size_t new_count = old_count ? old_count * 2 : FIRST_SLOT_COUNT;
    struct index_slot *slots = memory_allocate(set->failure, new_count * sizeof *slots);
    if (!slots) return false;
    memset(slots, 0xff, new_count * sizeof *slots);
    size_t mask = new_count - 1;
    for (size_t i = 0; i < old_count; i++) {
        if (index_slot_is_empty(&set->slots[i])) continue;
        size_t at = set->slots[i].hash & mask;
        while (!index_slot_is_empty(&slots[at])) at = (at + 1) & mask;
        slots[at] = set->slots[i];
    }
    memory_free(set->slots);
    set->slots = slots;
    set->mask = mask;
    set->limit = new_count / 4 * 3;
    return true;
}
