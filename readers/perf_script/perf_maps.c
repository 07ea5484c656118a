#include "perf_maps.h"

#include "libconvert/base/cursor.h"

void perf_maps_init(struct perf_maps *maps, struct failure *failure) {
    code_mappings_init(&maps->mappings, failure);
    maps->last_id = 0;
    maps->kernel_start = 0;
    strings_init(&maps->paths, failure);
    strings_init(&maps->texts, failure);
    column_init(&maps->build_ids, sizeof(struct text), failure);
}

void perf_maps_fini(struct perf_maps *maps) {
    code_mappings_fini(&maps->mappings);
    strings_fini(&maps->paths);
    strings_fini(&maps->texts);
    column_fini(&maps->build_ids);
}

/* ---- The record's text. ---- */

/* Takes "0x12". perf prints zero as "0". */
static bool take_hex(struct text *text, uint64_t *out) {
    cursor_take(text, TEXT("0x"));
    return cursor_take_number(text, 16, out);
}

bool perf_map_record_parse(struct text payload, struct perf_map_record *out) {
    static const struct text deleted = TEXT(" (deleted)");
    struct text left = text_trim_start(payload);
    *out = (struct perf_map_record){0};
    if (!cursor_take_id(&left, &out->pid) || !cursor_take(&left, TEXT("/")) || !cursor_take_id(&left, &out->tid))
        return false;
    if (!cursor_take(&left, TEXT(": [")) || !take_hex(&left, &out->start)) return false;
    if (!cursor_take(&left, TEXT("(")) || !take_hex(&left, &out->length)) return false;
    if (!cursor_take(&left, TEXT(") @ ")) || !take_hex(&left, &out->file_offset)) return false;
    size_t close = text_find(left, ']');
    if (close == left.bytes_count) return false;
    struct text origin = text_trim(text_slice(left, 0, close));
    left = text_from(left, close + 1);
    if (!cursor_take(&left, TEXT(": "))) return false;
    out->path = text_trim(text_from(left, text_find(left, ' ')));
    if (text_ends_with(out->path, deleted)) out->path.bytes_count -= deleted.bytes_count;
    if (text_starts_with(origin, TEXT("<")) && text_ends_with(origin, TEXT(">")))
        out->build_id = text_slice(origin, 1, origin.bytes_count - 1);
    return out->path.bytes_count > 0;
}

/* ---- Mappings and build ids. ---- */

static void add_build_id(struct perf_maps *maps, struct text path, struct text build_id) {
    if (perf_maps_build_id(maps, path).bytes_count) return;
    string_id id = strings_intern(&maps->paths, path);
    if (id.index < maps->build_ids.count)
        *(struct text *)column_at(&maps->build_ids, id.index) = strings_copy(&maps->texts, build_id);
}

void perf_maps_add(struct perf_maps *maps, const struct perf_map_record *record) {
    if (record->build_id.bytes_count) add_build_id(maps, record->path, record->build_id);
    /* In kernel records the offset is the kernel text's own address, so it is not a file offset. */
    uint64_t file_offset = record->pid == PERF_PID_KERNEL ? 0 : record->file_offset;
    bool is_image = record->pid == PERF_PID_KERNEL && text_starts_with(record->path, TEXT("[kernel.kallsyms]"));
    if (is_image) maps->kernel_start = record->start;
    struct code_mapping mapping = {.pid = record->pid,
                                   .address = record->start,
                                   .size_bytes = record->length,
                                   .offset = file_offset,
                                   .library_id = 1};
    code_mappings_add(&maps->mappings, ++maps->last_id, &mapping);
}

bool perf_maps_relative_address(const struct perf_maps *maps, int64_t pid, uint64_t address, uint64_t *relative) {
    const struct code_mapping *mapping = code_mappings_find(&maps->mappings, pid, 0, address, maps->last_id);
    if (mapping) *relative = address - mapping->address + mapping->offset;
    return mapping;
}

struct text perf_maps_build_id(struct perf_maps *maps, struct text path) {
    string_id id = strings_intern(&maps->paths, path);
    if (string_is_none(id)) return (struct text){0};
    if (id.index < maps->build_ids.count) return *(const struct text *)column_at(&maps->build_ids, id.index);
    struct text *added = column_push(&maps->build_ids);
    if (added) *added = (struct text){0};
    return (struct text){0};
}
