#include "vdso.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

#include "debug_copies.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/regular_file.h"

/* Size limit of a vDSO. Current kernels have a vDSO of two pages. */
enum { VDSO_BYTES_MAX = 64 * 1024 };

void vdso_init(struct vdso *vdso, struct failure *failure) { *vdso = (struct vdso){.failure = failure}; }

void vdso_fini(struct vdso *vdso) {
    if (vdso->image.bytes_count) {
        symbol_table_fini(&vdso->symbols);
        debug_file_close(&vdso->file);
    }
    memory_free(vdso->copy);
}

/* Returns this process's own vDSO; empty if it has none. The section table is the last part of a vDSO, so its end is
 * the end of the image. */
static struct text own_image(void) {
    const char *start = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    Elf64_Ehdr header;
    if (!start) return (struct text){0};
    memcpy(&header, start, sizeof header);
    uint64_t bytes_count = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
    bool is_sane = header.e_ident[EI_CLASS] == ELFCLASS64 && bytes_count <= VDSO_BYTES_MAX;
    return is_sane ? (struct text){start, (size_t)bytes_count} : (struct text){0};
}

/* Returns perf's copy of the vDSO with that build id; empty if there is none. The caller frees the bytes. */
static struct text read_copy(struct vdso *vdso, const struct debug_folders *folders, struct text build_id) {
    char path[PATH_MAX];
    if (!debug_copies_find(folders, build_id, "vdso", path)) return (struct text){0};
    vdso->copy = memory_allocate(vdso->failure, VDSO_BYTES_MAX);
    return vdso->copy ? regular_file_start(path, vdso->copy, VDSO_BYTES_MAX) : (struct text){0};
}

static bool take(struct vdso *vdso, struct text image, struct text build_id) {
    if (!image.bytes_count || !debug_file_open_memory(&vdso->file, image)) return false;
    bool is_right = !build_id.bytes_count || text_equal(text_of(vdso->file.build_id), build_id);
    if (is_right && symbol_table_init(&vdso->symbols, &vdso->file, &vdso->file, vdso->failure)) {
        vdso->image = image;
        return true;
    }
    debug_file_close(&vdso->file);
    return false;
}

static bool is_running(struct text release) {
    struct utsname names;
    return uname(&names) == 0 && text_equal(text_of(names.release), release);
}

bool vdso_load(struct vdso *vdso, const struct debug_folders *folders, struct text build_id, struct text release) {
    if (vdso->has_looked) return vdso->image.bytes_count > 0;
    /* A pipe has what identifies the kernel after the first samples. */
    if (!build_id.bytes_count && !release.bytes_count) return false;
    vdso->has_looked = true;
    if ((build_id.bytes_count || is_running(release)) && take(vdso, own_image(), build_id)) return true;
    return build_id.bytes_count && take(vdso, read_copy(vdso, folders, build_id), build_id);
}

bool vdso_find(const struct vdso *vdso, uint64_t offset, struct code_name *name) {
    uint64_t address;
    if (!vdso->image.bytes_count || !debug_file_address_of_offset(&vdso->file, offset, &address)) return false;
    const struct symbol *symbol = symbol_table_find(&vdso->symbols, address);
    if (!symbol || address - symbol->start > offset) return false;
    struct text bare = text_of(symbol->name);
    *name = (struct code_name){.name = text_slice(bare, 0, text_find(bare, '@')),
                               .start = offset - (address - symbol->start)};
    return true;
}
