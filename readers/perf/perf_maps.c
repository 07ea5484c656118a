#include "perf_maps.h"

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

static void add_build_id(struct perf_maps *maps, struct text path, struct text build_id) {
    if (perf_maps_build_id(maps, path).bytes_count) return;
    string_id id = strings_intern(&maps->paths, path);
    if (id.index < maps->build_ids.count)
        *(struct text *)column_at(&maps->build_ids, id.index) = strings_copy(&maps->texts, build_id);
}

void perf_maps_add(struct perf_maps *maps, const struct perf_record *mapping) {
    if (mapping->text.bytes_count) add_build_id(maps, mapping->name, mapping->text);
    /* In kernel records the offset is the kernel text's own address, so it is not a file offset. */
    bool is_kernel = mapping->pid == PERF_PID_KERNEL;
    if (is_kernel && text_starts_with(mapping->name, TEXT("[kernel.kallsyms]")))
        maps->kernel_start = mapping->mapping.start;
    struct code_mapping added = {.pid = mapping->pid,
                                 .address = mapping->mapping.start,
                                 .size_bytes = mapping->mapping.size_bytes,
                                 .offset = is_kernel ? 0 : mapping->mapping.file_offset,
                                 .library_id = 1};
    code_mappings_add(&maps->mappings, ++maps->last_id, &added);
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
