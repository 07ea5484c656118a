#include "address_ranges.h"

#include "libconvert/base/first_row.h"
#include "libconvert/base/ids.h"

static int compare_ranges(const void *left, const void *right) {
    const struct address_range *a = left, *b = right;
    return ORDER(a->start, b->start) ?: ORDER(a->row, b->row);
}

void address_ranges_finish(struct column *ranges) {
    column_sort(ranges, compare_ranges);
    if (failure_is_set(ranges->failure)) return;
    uint32_t kept_count = 0;
    uint64_t covered = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        struct address_range range = *(const struct address_range *)column_at(ranges, i);
        if (range.start < covered) range.start = covered;
        if (range.start >= range.end) continue;
        covered = range.end;
        *(struct address_range *)column_at(ranges, kept_count++) = range;
    }
    ranges->count = kept_count;
}

static const struct address_range *range_at(const struct column *ranges, size_t i) { return column_at(ranges, i); }

uint32_t address_ranges_find(const struct column *ranges, uint64_t address) {
    size_t next = FIRST_ROW(i, ranges->count, range_at(ranges, i)->start > address);
    if (!next) return ID_NONE;
    const struct address_range *range = range_at(ranges, next - 1);
    return address < range->end ? range->row : ID_NONE;
}
