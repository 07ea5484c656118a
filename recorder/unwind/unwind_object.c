#include "unwind_object.h"

#if UNWIND_KNOWS_MACHINE

#include <sys/auxv.h>
#include <unistd.h>

static void add_segment(struct unwind_image *image, const struct dl_phdr_info *object, const ElfW(Phdr) * header) {
    uint64_t page_mask = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
    struct unwind_segment segment = {.start = object->dlpi_addr + header->p_vaddr,
                                     .end = object->dlpi_addr + header->p_vaddr + header->p_memsz,
                                     .is_executable = header->p_flags & PF_X};
    if (segment.end < segment.start) return;
    if ((segment.start & ~page_mask) < image->base) image->base = segment.start & ~page_mask;
    if (segment.end > image->end) image->end = segment.end;
    bool is_readable = header->p_flags & PF_R;
    if (is_readable && image->segment_count < sizeof image->segments / sizeof image->segments[0])
        image->segments[image->segment_count++] = segment;
}

static void find_entries(struct unwind_image *image, const struct dl_phdr_info *object) {
    for (uint32_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        uint64_t address = object->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_GNU_EH_FRAME || !unwind_image_segment(image, address, header->p_memsz)) continue;
        image->entries_kind = UNWIND_ENTRIES_HEADER;
        image->entries = address;
        image->entries_bytes_count = header->p_memsz;
        return;
    }
}

bool unwind_image_init(struct unwind_image *image, const struct dl_phdr_info *object) {
    *image = (struct unwind_image){.machine = UNWIND_OWN_MACHINE, .base = UINT64_MAX};
    for (uint32_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && header->p_memsz) add_segment(image, object, header);
    }
    find_entries(image, object);
    uint64_t kernel_object = getauxval(AT_SYSINFO_EHDR);
    bool is_kernel_object = kernel_object >= image->base && kernel_object < image->end;
    image->has_trampoline = is_kernel_object && UNWIND_OWN_MACHINE == &unwind_machine_aarch64;
    return image->base < image->end;
}

#endif
