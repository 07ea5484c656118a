#include "unwind_file.h"

#include <string.h>

#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"

/* ---- Taking what was extracted. ---- */

/* Copies a part. Returns false if its bytes cannot be read or there is no memory (latched). */
static bool take_part(struct unwind_file *file, const struct unwind_part *part, struct failure *failure,
                      unwind_part_read *read, void *context) {
    char *bytes = memory_allocate(failure, part->bytes_count);
    if (!bytes) return false;
    file->spans[file->span_count++] = (struct unwind_span){
        .kind = part->kind,
        .segment = {.start = part->address,
                    .end = part->address + part->bytes_count,
                    .shift = (uint64_t)(uintptr_t)bytes - part->address,
                    .is_executable = part->kind == UNWIND_PART_STUBS || part->kind == UNWIND_PART_VDSO},
        .bytes = bytes};
    if (!read(context, part, bytes)) return false;
    if (part->kind != UNWIND_PART_LOADS) return true;
    file->loads = (const void *)bytes;
    file->load_count = part->bytes_count / sizeof *file->loads;
    return true;
}

static void add_segments(const struct unwind_file *file, struct unwind_image *image, enum unwind_part_kind kind) {
    for (uint32_t i = 0; i < file->span_count; i++)
        if (file->spans[i].kind == kind) image->segments[image->segment_count++] = file->spans[i].segment;
}

static void list_functions(struct unwind_entries *entries, const struct unwind_image *image) {
    if (!image->segment_count) return;
    entries->image = *image;
    unwind_index_init(&entries->index, &entries->image);
}

static void read_entries(struct unwind_file *file, const struct unwind_extract *extract,
                         enum unwinder_machine machine) {
    const struct unwind_image empty = {
        .machine = machine == UNWINDER_X86_64 ? &unwind_machine_x86_64 : &unwind_machine_aarch64,
        .base = extract->low & ~UINT64_C(4095),
        .end = extract->high,
        .keeps_expressions = true};
    struct unwind_image eh_frame = empty, debug_frame = empty;
    add_segments(file, &eh_frame, UNWIND_PART_FRAMES);
    add_segments(file, &eh_frame, UNWIND_PART_VDSO);
    add_segments(file, &debug_frame, UNWIND_PART_DEBUG_FRAME);
    eh_frame.has_trampoline = machine == UNWINDER_AARCH64;
    eh_frame.entries_bytes_count = extract->header_bytes_count;
    eh_frame.entries = extract->header ? extract->header : extract->first_entry;
    if (eh_frame.entries) eh_frame.entries_kind = extract->header ? UNWIND_ENTRIES_HEADER : UNWIND_ENTRIES_EH_FRAME;
    debug_frame.entries_kind = UNWIND_ENTRIES_DEBUG_FRAME;
    list_functions(&file->entries[0], &eh_frame);
    list_functions(&file->entries[1], &debug_frame);
}

bool unwind_file_take(struct unwind_file *file, const struct unwind_extract *extract,
                      const struct unwinder_options *options, unwind_part_read *read, void *context) {
    file->state = extract->state;
    for (uint32_t i = 0; i < extract->part_count; i++)
        if (!take_part(file, &extract->parts[i], options->failure, read, context)) return false;
    read_entries(file, extract, options->machine);
    return true;
}

void unwind_file_destroy(struct unwind_file *file) {
    for (size_t i = 0; i < sizeof file->entries / sizeof *file->entries; i++)
        unwind_index_fini(&file->entries[i].index);
    for (uint32_t i = 0; i < file->span_count; i++) memory_free(file->spans[i].bytes);
    memory_free(file->texts);
    memory_free(file);
}

/* ---- Asking. ---- */

bool unwind_file_address(const struct unwind_file *file, uint64_t file_offset, uint64_t *address) {
    size_t next = FIRST_ROW(i, file->load_count, file->loads[i].file_offset > file_offset);
    const struct unwind_load *load = next ? &file->loads[next - 1] : NULL;
    if (!load || file_offset - load->file_offset >= load->bytes_count) return false;
    *address = load->address + (file_offset - load->file_offset);
    return true;
}

bool unwind_file_find(struct unwind_file *file, uint64_t address, struct unwind_rule *rule,
                      const struct unwind_image **image, bool *is_start) {
    for (size_t i = 0; i < sizeof file->entries / sizeof *file->entries; i++) {
        struct unwind_entries *entries = &file->entries[i];
        uint64_t start;
        *image = &entries->image;
        if (!entries->index.count || !unwind_index_find(&entries->index, address, rule, &start)) continue;
        *is_start = start == address;
        return true;
    }
    return false;
}

/* The code at an address in a linkage table, with the counts of the table's bytes before the address and from it on. */
struct stub_code {
    const unsigned char *at;
    uint64_t before;
    uint64_t left;
};

static bool find_stub_code(const struct unwind_file *file, uint64_t address, struct stub_code *code) {
    for (uint32_t i = 0; i < file->span_count; i++) {
        const struct unwind_segment *segment = &file->spans[i].segment;
        if (!segment->is_executable || address < segment->start || address >= segment->end) continue;
        *code = (struct stub_code){.at = (const unsigned char *)(uintptr_t)(address + segment->shift),
                                   .before = address - segment->start,
                                   .left = segment->end - address};
        return true;
    }
    return false;
}

/* Finds how many bytes a stub has pushed. A stub may push a number (push imm32) and jump to the first stub of the
 * table, which pushes one more word (push m64). */
bool unwind_file_find_stub(const struct unwind_file *file, uint64_t address, uint64_t *pushed_bytes) {
    enum { PUSH_NUMBER = 0x68, PUSH_NUMBER_BYTES = 5, PUSH_WORD = 0x35, PUSH_WORD_BYTES = 6 };
    enum { JUMP = 0xe9, INDIRECT = 0xff, BOUND_PREFIX = 0xf2 };
    struct stub_code code;
    *pushed_bytes = 0;
    if (!find_stub_code(file, address, &code)) return false;
    const unsigned char *at = code.at;
    bool has_prefix = code.left > 1 && at[0] == BOUND_PREFIX;
    unsigned char operation = at[has_prefix];
    bool pushes_word = code.left > 1 && at[0] == INDIRECT && at[1] == PUSH_WORD;
    bool has_pushed_word = code.before >= PUSH_WORD_BYTES && operation == INDIRECT &&
                           at[-PUSH_WORD_BYTES] == INDIRECT && at[1 - PUSH_WORD_BYTES] == PUSH_WORD;
    bool has_pushed_number =
        code.before >= PUSH_NUMBER_BYTES && operation == JUMP && at[-PUSH_NUMBER_BYTES] == PUSH_NUMBER;
    if (pushes_word || has_pushed_number) *pushed_bytes = 8;
    if (has_pushed_word) *pushed_bytes = 16;
    return true;
}
