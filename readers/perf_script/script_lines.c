#include "script_lines.h"

#include "libconvert/base/ids.h"
#include "script_frame_line.h"

void script_lines_init(struct script_lines *lines, struct perf_sink sink, struct failure *failure) {
    lines->sink = sink;
    index_set_init(&lines->index, failure);
    column_init(&lines->hashes, sizeof(struct index_identity), failure);
}

void script_lines_fini(struct script_lines *lines) {
    index_set_fini(&lines->index);
    column_fini(&lines->hashes);
}

/* Returns the slot of the line with that hash, which is empty if the line is new; NULL if memory ran out (latched). */
static struct index_slot *find(struct script_lines *lines, struct index_identity hash) {
    if (!index_set_reserve(&lines->index)) return NULL;
    struct index_slot *slot = index_set_first(&lines->index, (uint32_t)hash.low);
    for (; !index_slot_is_empty(slot); slot = index_set_next(&lines->index, slot)) {
        if (slot->hash != (uint32_t)hash.low) continue;
        if (index_identity_equal(*(const struct index_identity *)column_at(&lines->hashes, slot->index), hash)) break;
    }
    return slot;
}

static uint32_t add(struct script_lines *lines, struct index_slot *slot, struct index_identity hash,
                    struct perf_record *record) {
    if (!column_add(&lines->hashes, &hash)) return ID_NONE;
    record->line.number = lines->hashes.count - 1;
    index_set_fill(&lines->index, slot, (uint32_t)hash.low, record->line.number);
    perf_emit(lines->sink, record);
    return record->line.number;
}

__attribute__((noinline)) static uint32_t add_frame(struct script_lines *lines, struct text line,
                                                    struct index_slot *slot, struct index_identity hash,
                                                    uint64_t *cookie) {
    struct perf_record record = {.type = PERF_LINE, .time_ns = TIME_NONE};
    if (!script_frame_line_parse(line, &record.line.frame)) return ID_NONE;
    if (!record.line.frame.is_cookie) return add(lines, slot, hash, &record);
    *cookie = record.line.frame.address;
    return SCRIPT_LINE_COOKIE;
}

uint32_t script_lines_frame(struct script_lines *lines, struct text line, uint64_t *cookie) {
    struct index_identity hash = index_set_identity(line.bytes, line.bytes_count);
    struct index_slot *slot = find(lines, hash);
    if (!slot || !index_slot_is_empty(slot)) return slot ? slot->index : ID_NONE;
    return add_frame(lines, line, slot, hash, cookie);
}

uint32_t script_lines_source(struct script_lines *lines, struct text line) {
    struct index_identity hash = index_set_identity(line.bytes, line.bytes_count);
    hash.high = ~hash.high; /* the same text may be a frame line elsewhere */
    struct index_slot *slot = find(lines, hash);
    if (!slot || !index_slot_is_empty(slot)) return slot ? slot->index : ID_NONE;
    struct perf_record record = {.type = PERF_LINE, .time_ns = TIME_NONE, .line = {.is_source = true}};
    return script_source_line_parse(line, &record.line.source) ? add(lines, slot, hash, &record) : ID_NONE;
}
