#include "function_ranges.h"

#include <gelf.h>

void function_ranges_init(struct function_ranges *ranges, const struct debug_file *file) {
    *ranges = (struct function_ranges){.file = file};
}

void function_ranges_fini(struct function_ranges *ranges) { unwind_index_fini(&ranges->index); }

static const struct unwind_machine *machine_of(const struct debug_file *file) {
    GElf_Ehdr header;
    if (!gelf_getehdr(file->elf, &header)) return NULL;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) return NULL;
    return header.e_machine == EM_X86_64    ? &unwind_machine_x86_64
           : header.e_machine == EM_AARCH64 ? &unwind_machine_aarch64
                                            : NULL;
}

/* Adds the bytes of the file that the segment maps. */
static void add_segment(struct unwind_image *image, const GElf_Phdr *segment, struct text bytes) {
    enum { SEGMENTS_MAX = sizeof image->segments / sizeof *image->segments };
    uint64_t end;
    if (image->segment_count == SEGMENTS_MAX || !segment->p_filesz) return;
    if (segment->p_offset > bytes.bytes_count || segment->p_filesz > bytes.bytes_count - segment->p_offset) return;
    if (__builtin_add_overflow(segment->p_vaddr, segment->p_filesz, &end)) return;
    image->segments[image->segment_count++] =
        (struct unwind_segment){.start = segment->p_vaddr,
                                .end = end,
                                .shift = (uint64_t)(uintptr_t)(bytes.bytes + segment->p_offset) - segment->p_vaddr};
    if (end > image->end) image->end = end;
}

/* Adds the segments that have the entries, or those that have not. An image has no room for those of any file. */
static void add_segments(struct unwind_image *image, Elf *elf, size_t count, bool have_entries) {
    struct text bytes = {.bytes_count = 0};
    bytes.bytes = elf_rawfile(elf, &bytes.bytes_count);
    for (size_t i = 0; i < count && bytes.bytes; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD) continue;
        bool has_entries = image->entries >= segment.p_vaddr && image->entries - segment.p_vaddr < segment.p_filesz;
        if (has_entries == have_entries) add_segment(image, &segment, bytes);
    }
}

static void read_segments(struct unwind_image *image, Elf *elf) {
    size_t count;
    if (elf_getphdrnum(elf, &count) != 0) return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_GNU_EH_FRAME) continue;
        image->entries_kind = UNWIND_ENTRIES_HEADER;
        image->entries = segment.p_vaddr;
        image->entries_bytes_count = segment.p_filesz;
    }
    add_segments(image, elf, count, true);
    add_segments(image, elf, count, false);
}

static void read(struct function_ranges *ranges) {
    const struct debug_file *file = ranges->file;
    ranges->is_read = true;
    ranges->image = (struct unwind_image){.machine = machine_of(file), .base = file->base};
    if (!ranges->image.machine || !file->has_code) return;
    read_segments(&ranges->image, file->elf);
    if (ranges->image.entries_kind != UNWIND_ENTRIES_NONE) unwind_index_init(&ranges->index, &ranges->image);
}

bool function_ranges_find(struct function_ranges *ranges, uint64_t address, uint64_t *start, uint64_t *end) {
    if (!ranges->is_read) read(ranges);
    return ranges->index.count && unwind_index_find_function(&ranges->index, address, start, end);
}
