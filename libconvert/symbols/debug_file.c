#include "debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/base/regular_file.h"
#include "sysroot.h"

static const uint64_t PAGE_BYTES = 4096;

/* Addresses from here on belong to the kernel, and are not relative to a library. */
static const uint64_t USER_SPACE_END = UINT64_C(1) << 63;

static int open_path(const char *root, const char *path, char real_path[PATH_MAX]) {
    struct stat status;
    if (root) return sysroot_open(root, path, real_path);
    snprintf(real_path, PATH_MAX, "%s", path);
    return regular_file_open(path, &status);
}

/* libelf takes a lock for each segment that it reads, and each address is looked for in all of them. */
struct debug_load {
    uint64_t address;
    uint64_t offset;
    uint64_t bytes_count; /* in the file */
    bool has_code;
};

static void read_loads(struct debug_file *file) {
    size_t segment_count;
    GElf_Phdr segment;
    if (elf_getphdrnum(file->elf, &segment_count) != 0) return;
    file->loads = malloc((segment_count + 1) * sizeof *file->loads);
    for (size_t i = 0; i < segment_count && file->loads && gelf_getphdr(file->elf, (int)i, &segment); i++)
        if (segment.p_type == PT_LOAD)
            file->loads[file->load_count++] =
                (struct debug_load){segment.p_vaddr, segment.p_offset, segment.p_filesz, segment.p_flags & PF_X};
}

static bool read_header(struct debug_file *file) {
    GElf_Ehdr header;
    if (!gelf_getehdr(file->elf, &header)) return false;
    if (header.e_type != ET_DYN && header.e_type != ET_EXEC) return false;
    if (!file->load_count) return false;
    file->base = file->loads->address & ~(PAGE_BYTES - 1);
    return file->base < USER_SPACE_END;
}

/* Leaves the text as it is if there is no build id, or one that is too long. */
static void write_build_id(char build_id[DEBUG_BUILD_ID_DIGITS_MAX + 1], const void *id, size_t bytes_count) {
    if (bytes_count <= DEBUG_BUILD_ID_DIGITS_MAX / 2) text_hex((struct text){id, bytes_count}, build_id);
}

static void read_build_id(struct debug_file *file) {
    const void *id;
    ssize_t bytes_count = dwelf_elf_gnu_build_id(file->elf, &id);
    if (bytes_count > 0) write_build_id(file->build_id, id, (size_t)bytes_count);
}

struct text debug_file_section(const struct debug_file *file, const char *name) {
    size_t names;
    if (elf_getshdrstrndx(file->elf, &names) != 0) return (struct text){0};
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS) continue;
        const char *found = elf_strptr(file->elf, names, header.sh_name);
        if (!found || strcmp(found, name) != 0) continue;
        Elf_Data *data = elf_rawdata(section, NULL);
        if (data && data->d_buf) return (struct text){data->d_buf, data->d_size};
    }
    return (struct text){0};
}

/* Returns whether the section is never read: it says where variables are, in up to a fifth of debug information. */
static bool is_unread(struct text name) {
    return text_equal(name, TEXT(".debug_loc")) || text_equal(name, TEXT(".debug_loclists"));
}

/* Uncompresses a section in less than half of the time that libelf takes with zlib. Returns false if the section stays
 * as it is. */
static bool inflate_section(struct debug_file *file, Elf_Scn *section, GElf_Shdr *header) {
    enum { RATIO_MAX = 1032 }; /* deflate makes nothing smaller by more */
    GElf_Chdr compression;
    Elf_Data *data = elf_rawdata(section, NULL), *read_data = elf_getdata(section, NULL); /* libdw uses one of them */
    size_t head_bytes = gelf_fsize(file->elf, ELF_T_CHDR, 1, EV_CURRENT);
    if (!data || !read_data || !gelf_getchdr(section, &compression) || compression.ch_type != ELFCOMPRESS_ZLIB)
        return false;
    if (data->d_size <= head_bytes || compression.ch_size / RATIO_MAX > data->d_size) return false;
    struct debug_bytes *bytes = malloc(sizeof *bytes + compression.ch_size);
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    bool is_good = bytes && inflater &&
                   libdeflate_zlib_decompress(inflater, (char *)data->d_buf + head_bytes, data->d_size - head_bytes,
                                              bytes->values, compression.ch_size, NULL) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(inflater);
    if (!is_good) {
        free(bytes);
        return false;
    }
    bytes->next = file->uncompressed;
    file->uncompressed = bytes;
    data->d_buf = read_data->d_buf = bytes->values;
    data->d_size = read_data->d_size = header->sh_size = compression.ch_size;
    header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
    return gelf_update_shdr(section, header);
}

/* Returns false if memory ran out. */
static bool uncompress_section(struct debug_file *file, Elf_Scn *section, GElf_Shdr *header, struct text name) {
    errno = 0;
    if (text_starts_with(name, TEXT(".zdebug_"))) elf_compress_gnu(section, 0, 0);
    if (!(header->sh_flags & SHF_COMPRESSED) || !text_starts_with(name, TEXT(".debug_"))) return errno != ENOMEM;
    if (is_unread(name)) {
        header->sh_type = SHT_NOBITS; /* libdw passes over it */
        gelf_update_shdr(section, header);
    } else if (!inflate_section(file, section, header)) {
        elf_compress(section, 0, 0);
    }
    return errno != ENOMEM;
}

bool debug_file_uncompress(struct debug_file *file) {
    size_t names;
    errno = 0;
    if (elf_getshdrstrndx(file->elf, &names) != 0) return errno != ENOMEM;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header)) continue;
        const char *found = elf_strptr(file->elf, names, header.sh_name);
        if (!uncompress_section(file, section, &header, text_of(found ? found : ""))) return false;
    }
    return true;
}

static void read_sections(struct debug_file *file) {
    size_t names;
    if (elf_getshdrstrndx(file->elf, &names) != 0) return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header)) continue;
        bool has_bytes = header.sh_type != SHT_NOBITS;
        if (has_bytes && header.sh_type == SHT_SYMTAB) file->has_symbol_table = true;
        if (has_bytes && header.sh_flags & SHF_EXECINSTR) file->has_code = true;
        const char *name = elf_strptr(file->elf, names, header.sh_name);
        if (!name || !has_bytes) continue;
        if (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0) file->has_dwarf = true;
    }
}

/* `has_segments`: the file must be a program or a library. */
static bool read_file(struct debug_file *file, bool has_segments) {
    bool is_elf = file->elf && elf_kind(file->elf) == ELF_K_ELF;
    if (is_elf) read_loads(file);
    if (!is_elf || (has_segments && !read_header(file))) {
        debug_file_close(file);
        return false;
    }
    read_build_id(file);
    read_sections(file);
    return true;
}

static bool take_file(struct debug_file *file, int descriptor, bool has_segments) {
    struct stat status;
    *file = (struct debug_file){.descriptor = descriptor};
    if (descriptor < 0) return false;
    if (elf_version(EV_CURRENT) == EV_NONE || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        debug_file_close(file);
        return false;
    }
    file->size_bytes = (uint64_t)status.st_size;
    file->elf = elf_begin(file->descriptor, ELF_C_READ_MMAP, NULL);
    return read_file(file, has_segments);
}

static bool open_memory(struct debug_file *file, struct text bytes, bool has_segments) {
    *file = (struct debug_file){.descriptor = -1, .size_bytes = bytes.bytes_count};
    if (elf_version(EV_CURRENT) == EV_NONE) return false;
    file->elf = elf_memory((char *)(uintptr_t)bytes.bytes, bytes.bytes_count); /* only reads the bytes */
    return read_file(file, has_segments);
}

bool debug_file_open_memory(struct debug_file *file, struct text bytes) { return open_memory(file, bytes, true); }

bool debug_file_open_object(struct debug_file *file, struct text bytes) { return open_memory(file, bytes, false); }

bool debug_file_open(struct debug_file *file, const char *root, const char *path, char real_path[PATH_MAX]) {
    return take_file(file, open_path(root, path, real_path), true);
}

bool debug_file_open_supplement(struct debug_file *file, const char *root, const char *path) {
    char real_path[PATH_MAX];
    return take_file(file, open_path(root, path, real_path), false);
}

void debug_file_close(struct debug_file *file) {
    if (file->elf) elf_end(file->elf);
    while (file->uncompressed) {
        struct debug_bytes *bytes = file->uncompressed;
        file->uncompressed = bytes->next;
        free(bytes);
    }
    free(file->loads);
    if (file->descriptor >= 0) close(file->descriptor);
    *file = (struct debug_file){.descriptor = -1};
}

bool debug_file_is_whole(const struct debug_file *file) {
    struct stat status;
    return fstat(file->descriptor, &status) == 0 && (uint64_t)status.st_size >= file->size_bytes;
}

bool debug_file_address_of_offset(const struct debug_file *file, uint64_t offset, uint64_t *address) {
    bool is_found = false;
    for (size_t i = 0; i < file->load_count; i++) {
        const struct debug_load *load = &file->loads[i];
        if (offset < load->offset || offset - load->offset >= load->bytes_count) continue;
        *address = load->address + (offset - load->offset);
        is_found = true;
        if (load->has_code) break;
    }
    return is_found;
}

/* Returns the segment with code that has the address in the file; NULL if there is none. */
static const struct debug_load *find_code(const struct debug_file *file, uint64_t address) {
    for (size_t i = 0; i < file->load_count; i++) {
        const struct debug_load *load = &file->loads[i];
        if (load->has_code && address >= load->address && address - load->address < load->bytes_count) return load;
    }
    return NULL;
}

bool debug_file_has_code_at(const struct debug_file *file, uint64_t address) { return find_code(file, address); }

struct text debug_file_code(const struct debug_file *file, uint64_t address) {
    size_t file_bytes;
    const char *bytes = elf_rawfile(file->elf, &file_bytes);
    const struct debug_load *load = bytes && file->has_code ? find_code(file, address) : NULL;
    if (!load || load->offset > file_bytes || load->bytes_count > file_bytes - load->offset) return (struct text){0};
    struct text code = {bytes + load->offset, load->bytes_count};
    return text_from(code, address - load->address);
}

unsigned debug_file_machine(const struct debug_file *file) {
    GElf_Ehdr header;
    return gelf_getehdr(file->elf, &header) ? header.e_machine : EM_NONE;
}

/* Linkers give a library an entry, too: where its code begins, whatever that is. */
uint64_t debug_file_entry(const struct debug_file *file) {
    GElf_Ehdr header;
    GElf_Phdr segment;
    if (!gelf_getehdr(file->elf, &header)) return 0;
    bool is_program = header.e_type == ET_EXEC;
    for (int i = 0; !is_program && gelf_getphdr(file->elf, i, &segment); i++) is_program = segment.p_type == PT_INTERP;
    return is_program ? header.e_entry : 0;
}

bool debug_file_link(const struct debug_file *file, struct text *name, uint32_t *checksum) {
    GElf_Word crc;
    const char *found = dwelf_elf_gnu_debuglink(file->elf, &crc);
    if (!found || !*found || strchr(found, '/')) return false;
    *name = text_of(found);
    *checksum = crc;
    return true;
}

bool debug_file_supplement_link(const struct debug_file *file, struct text *path,
                                char build_id[DEBUG_BUILD_ID_DIGITS_MAX + 1]) {
    struct text link = debug_file_section(file, ".gnu_debugaltlink");
    size_t end = text_find(link, '\0');
    if (!end || end >= link.bytes_count) return false;
    build_id[0] = '\0';
    write_build_id(build_id, link.bytes + end + 1, link.bytes_count - end - 1);
    *path = text_slice(link, 0, end);
    return *build_id;
}

bool debug_file_has_checksum(const struct debug_file *file, uint32_t checksum) {
    unsigned char bytes[65536];
    uint32_t sum = 0;
    off_t offset = 0;
    ssize_t bytes_count;
    while ((bytes_count = pread(file->descriptor, bytes, sizeof bytes, offset)) > 0) {
        sum = libdeflate_crc32(sum, bytes, (size_t)bytes_count);
        offset += bytes_count;
    }
    return bytes_count == 0 && sum == checksum;
}
