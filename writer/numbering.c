#include "numbering.h"

#include <string.h>

#include "libconvert/base/memory.h"

void numbering_init(struct numbering *numbering, size_t row_count, struct failure *failure) {
    *numbering = (struct numbering){.epoch = 1};
    column_init(&numbering->used, sizeof(uint32_t), failure);
    numbering->rows = memory_allocate_zeroed(failure, row_count, sizeof *numbering->rows);
    if (numbering->rows) numbering->row_count = row_count;
}

void numbering_fini(struct numbering *numbering) {
    memory_free(numbering->rows);
    column_fini(&numbering->used);
    *numbering = (struct numbering){0};
}

void numbering_restart(struct numbering *numbering) {
    numbering->used.count = 0;
    if (++numbering->epoch) return;
    memset(numbering->rows, 0, numbering->row_count * sizeof *numbering->rows);
    numbering->epoch = 1;
}

uint32_t numbering_of(struct numbering *numbering, uint32_t row) {
    if (row >= numbering->row_count) return 0;
    struct numbered_row *numbered = &numbering->rows[row];
    if (numbered->epoch == numbering->epoch) return numbered->number;
    uint32_t number = numbering_count(numbering);
    uint32_t *used = column_push(&numbering->used);
    if (!used) return 0;
    *used = row;
    *numbered = (struct numbered_row){numbering->epoch, number};
    return number;
}
