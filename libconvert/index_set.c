#include "index_set.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOT_COUNT = 64 };

void index_set_init(struct index_set *set, struct failure *failure) { *set = (struct index_set){.failure = failure}; }

void index_set_fini(struct index_set *set) {
    free(set->slots);
    *set = (struct index_set){0};
}

bool index_set_grow(struct index_set *set) {
    size_t old_count = set->slots ? set->mask + 1 : 0;
    size_t new_count = old_count ? old_count * 2 : FIRST_SLOT_COUNT;
    struct index_slot *slots = malloc(new_count * sizeof *slots);
    if (!slots) {
        failure_set_memory(set->failure);
        return false;
    }
    memset(slots, 0xff, new_count * sizeof *slots);
    size_t mask = new_count - 1;
    for (size_t i = 0; i < old_count; i++) {
        if (index_slot_is_empty(&set->slots[i])) continue;
        size_t at = set->slots[i].hash & mask;
        while (!index_slot_is_empty(&slots[at])) at = (at + 1) & mask;
        slots[at] = set->slots[i];
    }
    free(set->slots);
    set->slots = slots;
    set->mask = mask;
    set->limit = new_count / 4 * 3;
    return true;
}
