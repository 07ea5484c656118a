#include "perf_line_set.h"

#include <string.h>

#include "libconvert/base/memory.h"

enum { FIRST_SLOT_COUNT = 64 };

/* Line numbers, like those of rows, are below 2^31, and 32 bits of the hash place a slot. */
static const size_t SLOT_COUNT_MAX = (size_t)1 << 31;

void perf_line_set_init(struct perf_line_set *set, struct failure *failure) {
    *set = (struct perf_line_set){.failure = failure};
}

void perf_line_set_fini(struct perf_line_set *set) {
    memory_free(set->slots);
    *set = (struct perf_line_set){0};
}

bool perf_line_set_grow(struct perf_line_set *set) {
    size_t old_count = set->slots ? set->mask + 1 : 0, new_count = old_count ? old_count * 2 : FIRST_SLOT_COUNT;
    if (new_count > SLOT_COUNT_MAX) {
        failure_set(set->failure, FAILURE_MEMORY, "too many different lines: split the input");
        return false;
    }
    struct perf_line_slot *slots = memory_allocate(set->failure, new_count * sizeof *slots);
    if (!slots) return false;
    memset(slots, 0xff, new_count * sizeof *slots);
    size_t mask = new_count - 1;
    for (size_t i = 0; i < old_count; i++) {
        if (set->slots[i].number == UINT32_MAX) continue;
        size_t at = set->slots[i].low & mask;
        while (slots[at].number != UINT32_MAX) at = (at + 1) & mask;
        slots[at] = set->slots[i];
    }
    memory_free(set->slots);
    set->slots = slots;
    set->mask = mask;
    set->limit = new_count / 4 * 3;
    return true;
}
