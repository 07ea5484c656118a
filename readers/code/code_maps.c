#include "code_maps.h"

static uint32_t add_process(struct code_maps *maps, int64_t pid) {
    if (!column_add(&maps->processes, &(struct code_process){.pid = pid})) return ID_NONE;
    return maps->processes.count - 1;
}

void code_maps_init(struct code_maps *maps, struct failure *failure) {
    *maps = (struct code_maps){0};
    code_spaces_init(&maps->spaces, failure);
    value_table_init(&maps->pid_processes, sizeof(int64_t), sizeof(uint32_t), failure);
    column_init(&maps->processes, sizeof(struct code_process), failure);
    strings_init(&maps->texts, failure);
    value_table_init(&maps->build_ids, sizeof(string_id), sizeof(string_id), failure);
    add_process(maps, PID_KERNEL);
}

void code_maps_fini(struct code_maps *maps) {
    code_spaces_fini(&maps->spaces);
    value_table_fini(&maps->pid_processes);
    column_fini(&maps->processes);
    strings_fini(&maps->texts);
    value_table_fini(&maps->build_ids);
}

/* ---- Processes. ---- */

/* Returns where the current process of the pid is stored. Returns NULL if memory ran out (latched). */
static uint32_t *process_slot(struct code_maps *maps, int64_t pid) {
    struct recent_process *recent = &maps->recent[(uint64_t)pid % (sizeof maps->recent / sizeof *maps->recent)];
    if (recent->slot && recent->pid == pid) return recent->slot;
    uint32_t *slot = value_table_intern(&maps->pid_processes, &pid, &(uint32_t){ID_NONE});
    if (slot && *slot == ID_NONE) *slot = add_process(maps, pid);
    *recent = (struct recent_process){pid, slot};
    return slot;
}

uint32_t code_maps_process(struct code_maps *maps, int64_t pid) {
    if (pid == PID_KERNEL) return maps->processes.count ? KERNEL_SPACE : ID_NONE;
    const uint32_t *slot = process_slot(maps, pid);
    return slot ? *slot : ID_NONE;
}

/* Returns whether nothing is known of the process, except perhaps that it is the parent of another. */
static bool is_bare(const struct code_maps *maps, uint32_t row) {
    const struct code_process *process = code_maps_process_at(maps, row);
    return !process->epoch && !process->begin_ns && !process->parent;
}

void code_maps_fork(struct code_maps *maps, int64_t pid, int64_t parent_pid, bool is_described) {
    if (pid == PID_KERNEL || parent_pid == PID_KERNEL || pid == parent_pid) return;
    uint32_t parent = code_maps_process(maps, parent_pid);
    uint32_t *slot = process_slot(maps, pid);
    if (parent == ID_NONE || !slot || *slot == ID_NONE) return;
    if (!is_described || !is_bare(maps, *slot)) *slot = add_process(maps, pid);
    if (*slot == ID_NONE) return;
    struct code_process *child = code_maps_process_at(maps, *slot);
    child->parent = parent < *slot ? parent : KERNEL_SPACE;
    if (is_described) return;
    const struct code_process *forking = code_maps_process_at(maps, parent);
    child->space = code_space_copy(&maps->spaces, forking->space);
    child->vdso = forking->vdso;
}

uint32_t code_maps_take_parent(struct code_maps *maps, uint32_t process) {
    struct code_process *child = code_maps_process_at(maps, process);
    uint32_t taken = child->parent;
    const struct code_process *parent = code_maps_process_at(maps, taken);
    bool has_executed = child->vdso && parent->vdso && child->vdso != parent->vdso;
    child->parent = KERNEL_SPACE;
    return has_executed ? KERNEL_SPACE : taken;
}

/* Nothing is looked up in the previous address space any more, so that the new one takes it over. */
void code_maps_execute(struct code_maps *maps, int64_t pid) {
    uint32_t *slot = process_slot(maps, pid);
    if (!slot || *slot == ID_NONE) return;
    struct code_space space = code_maps_process_at(maps, *slot)->space;
    *slot = add_process(maps, pid);
    if (*slot != ID_NONE) code_maps_process_at(maps, *slot)->space = space;
}

/* ---- Mappings. ---- */

void code_maps_add(struct code_maps *maps, const struct code_map_record *record, uint64_t library_id) {
    bool is_kernel = record->pid == PID_KERNEL;
    uint32_t row = code_maps_process(maps, record->pid);
    if (row == ID_NONE) return;
    if (is_kernel && text_starts_with(record->path, code_kernel_name)) maps->kernel_start = record->start;
    struct code_process *process = code_maps_process_at(maps, row);
    const struct code_mapping mapping = {.address = record->start,
                                         .size_bytes = record->size_bytes,
                                         .offset = is_kernel ? 0 : record->file_offset,
                                         .library_id = library_id};
    code_space_map(&maps->spaces, &process->space, &mapping);
    if (text_equal(record->path, vdso_name)) process->vdso = record->start;
    process->epoch++;
    maps->count++;
}

const struct code_mapping *code_maps_find(const struct code_maps *maps, uint32_t process, uint64_t address) {
    return code_space_find(&maps->spaces, code_maps_process_at(maps, process)->space, address);
}

/* ---- Build ids. ---- */

void code_maps_set_build_id(struct code_maps *maps, struct text path, struct text build_id) {
    string_id path_id = strings_intern(&maps->texts, path), build_id_id = strings_intern(&maps->texts, build_id);
    if (!string_is_none(path_id) && !string_is_none(build_id_id))
        value_table_intern(&maps->build_ids, &path_id, &build_id_id);
}

struct text code_maps_build_id(struct code_maps *maps, struct text path) {
    string_id id = strings_intern(&maps->texts, path);
    const string_id *build_id = value_table_find(&maps->build_ids, &id);
    return build_id ? strings_text(&maps->texts, *build_id) : (struct text){0};
}
