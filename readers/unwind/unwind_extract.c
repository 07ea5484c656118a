#include "unwind_extract.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/order.h"

/* Size limit of a section. Larger sections are skipped: they are hostile, or would take too much memory. */
static const uint64_t PART_BYTES_MAX = UINT64_C(512) << 20;

/* Size limit of a vDSO. All known ones are smaller. */
static const uint64_t VDSO_BYTES_MAX = UINT64_C(64) << 10;

/* The child refuses requests with longer texts. */
enum { REQUEST_TEXT_BYTES_MAX = 1 << 16 };

struct reading {
    struct unwind_extract extract;
    struct unwind_load *loads; /* owned; sorted by offset; those without bytes in the file are left out */
    size_t load_count;
    enum unwinder_machine machine;
    struct Elf *elf;
    const char *raw; /* the whole file */
    size_t raw_bytes_count;
};

/* ---- One file. ---- */

static bool is_of_machine(const struct reading *reading) {
    GElf_Ehdr header;
    if (!gelf_getehdr(reading->elf, &header)) return false;
    bool is_right = header.e_machine == (reading->machine == UNWINDER_X86_64 ? EM_X86_64 : EM_AARCH64);
    return is_right && header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
}

static bool open_elf(struct reading *reading, struct Elf *elf) {
    reading->elf = elf;
    reading->raw = elf_rawfile(elf, &reading->raw_bytes_count);
    return reading->raw && is_of_machine(reading);
}

/* Returns false if the part is empty or too large, or if there are too many parts. */
static bool add_part(struct reading *reading, enum unwind_part_kind kind, uint64_t address, const char *bytes,
                     uint64_t bytes_count) {
    struct unwind_extract *extract = &reading->extract;
    bool fits = bytes_count && bytes_count <= PART_BYTES_MAX && bytes_count <= UINT64_MAX - address;
    if (!fits || extract->part_count == UNWIND_PARTS_MAX) return false;
    extract->parts[extract->part_count++] =
        (struct unwind_part){.kind = kind, .address = address, .bytes_count = bytes_count, .bytes = bytes};
    return true;
}

static bool add_file_part(struct reading *reading, enum unwind_part_kind kind, uint64_t address, uint64_t file_offset,
                          uint64_t bytes_count) {
    if (file_offset > reading->raw_bytes_count || bytes_count > reading->raw_bytes_count - file_offset) return false;
    return add_part(reading, kind, address, reading->raw + file_offset, bytes_count);
}

static void add_load(struct reading *reading, const GElf_Phdr *header) {
    struct unwind_extract *extract = &reading->extract;
    if (header->p_memsz > UINT64_MAX - header->p_vaddr) return;
    if (header->p_filesz)
        reading->loads[reading->load_count++] = (struct unwind_load){
            .file_offset = header->p_offset, .address = header->p_vaddr, .bytes_count = header->p_filesz};
    if (header->p_vaddr < extract->low) extract->low = header->p_vaddr;
    if (header->p_vaddr + header->p_memsz > extract->high) extract->high = header->p_vaddr + header->p_memsz;
}

static int compare_loads(const void *left, const void *right) {
    const struct unwind_load *a = left, *b = right;
    return ORDER(a->file_offset, b->file_offset) ?: ORDER(a->address, b->address);
}

static bool read_segments(struct reading *reading) {
    size_t count;
    struct unwind_extract *extract = &reading->extract;
    if (elf_getphdrnum(reading->elf, &count) != 0) return false;
    reading->loads = malloc((count + 1) * sizeof *reading->loads);
    extract->low = UINT64_MAX;
    for (size_t i = 0; i < count && reading->loads; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(reading->elf, (int)i, &header)) continue;
        if (header.p_type == PT_LOAD) add_load(reading, &header);
        if (header.p_type != PT_GNU_EH_FRAME) continue;
        extract->header = header.p_vaddr;
        extract->header_bytes_count = header.p_filesz;
    }
    if (extract->low >= extract->high) return false;
    qsort(reading->loads, reading->load_count, sizeof *reading->loads, compare_loads);
    add_part(reading, UNWIND_PART_LOADS, 0, (const char *)reading->loads, reading->load_count * sizeof *reading->loads);
    return true;
}

/* Adds the section that contains the address. If the file has no sections, adds the rest of the address's segment. */
static bool add_around(struct reading *reading, uint64_t address) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(reading->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS || !(header.sh_flags & SHF_ALLOC)) continue;
        if (address >= header.sh_addr && address - header.sh_addr < header.sh_size)
            return add_file_part(reading, UNWIND_PART_FRAMES, header.sh_addr, header.sh_offset, header.sh_size);
    }
    for (size_t i = 0; i < reading->load_count; i++) {
        const struct unwind_load *load = &reading->loads[i];
        uint64_t distance = address - load->address;
        if (address >= load->address && distance < load->bytes_count)
            return add_file_part(reading, UNWIND_PART_FRAMES, address, load->file_offset + distance,
                                 load->bytes_count - distance);
    }
    return false;
}

/* Returns the first section with that name that has bytes; NULL if there is none. */
static Elf_Scn *find_section(const struct reading *reading, const char *name, GElf_Shdr *header) {
    size_t names;
    if (elf_getshdrstrndx(reading->elf, &names) != 0) return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(reading->elf, section));) {
        if (!gelf_getshdr(section, header) || header->sh_type == SHT_NOBITS) continue;
        const char *found = elf_strptr(reading->elf, names, header->sh_name);
        if (found && strcmp(found, name) == 0) return section;
    }
    return NULL;
}

/* Returns the address of the first entry from the header, if the header has the only form that linkers write; else
 * 0. */
static uint64_t entries_of_header(const struct unwind_part *part, uint64_t header) {
    enum { ENCODING_AT = 1, POINTER_AT = 4, FROM_HERE_S4 = 0x1b };
    const char *bytes = part->bytes + (header - part->address);
    int32_t distance;
    if (part->bytes_count - (header - part->address) < POINTER_AT + sizeof distance) return 0;
    if (bytes[ENCODING_AT] != FROM_HERE_S4) return 0;
    memcpy(&distance, bytes + POINTER_AT, sizeof distance);
    return header + POINTER_AT + (uint64_t)(int64_t)distance;
}

static void read_eh_frame(struct reading *reading) {
    struct unwind_extract *extract = &reading->extract;
    const struct unwind_part *header = &extract->parts[extract->part_count];
    GElf_Shdr section;
    bool has_header = extract->header && add_around(reading, extract->header);
    if (!has_header) extract->header = 0;
    if (find_section(reading, ".eh_frame", &section))
        extract->first_entry = section.sh_addr;
    else if (has_header)
        extract->first_entry = entries_of_header(header, extract->header);
    uint64_t first = extract->first_entry;
    bool is_beside = has_header && first >= header->address && first - header->address < header->bytes_count;
    if (first && !is_beside) add_around(reading, first);
}

static void read_debug_frame(struct reading *reading) {
    GElf_Shdr header;
    Elf_Scn *section = find_section(reading, ".debug_frame", &header);
    if (section && header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0) return;
    if (!section) {
        section = find_section(reading, ".zdebug_frame", &header);
        if (!section || elf_compress_gnu(section, 0, 0) < 0) return;
    }
    Elf_Data *data = elf_rawdata(section, NULL);
    if (data && data->d_buf) add_part(reading, UNWIND_PART_DEBUG_FRAME, 0, data->d_buf, data->d_size);
}

static void read_stubs(struct reading *reading) {
    static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        GElf_Shdr header;
        if (find_section(reading, names[i], &header))
            add_file_part(reading, UNWIND_PART_STUBS, header.sh_addr, header.sh_offset, header.sh_size);
    }
}

/* Reads `elf`, the file with the code. If that has no .debug_frame, reads it from `debug`, which may be NULL. */
static void read_elf(struct reading *reading, struct Elf *elf, struct Elf *debug) {
    struct unwind_extract *extract = &reading->extract;
    extract->state = UNWIND_FILE_READ;
    if (!open_elf(reading, elf) || !read_segments(reading)) return;
    read_eh_frame(reading);
    uint32_t part_count = extract->part_count;
    read_debug_frame(reading);
    if (debug && extract->part_count == part_count && open_elf(reading, debug)) read_debug_frame(reading);
    if (reading->machine == UNWINDER_X86_64 && open_elf(reading, elf)) read_stubs(reading);
}

/* ---- A file in memory. ---- */

void unwind_extract_bytes(struct text bytes, enum unwinder_machine machine, unwind_extract_take *take, void *context) {
    struct reading reading = {.machine = machine, .extract.state = UNWIND_FILE_MISSING};
    struct debug_file file;
    bool is_open = debug_file_open_memory(&file, bytes);
    if (is_open) read_elf(&reading, file.elf, NULL);
    const struct unwind_load *code = reading.loads;
    if (machine == UNWINDER_AARCH64 && reading.load_count && bytes.bytes_count <= VDSO_BYTES_MAX)
        add_file_part(&reading, UNWIND_PART_VDSO, code->address, code->file_offset, code->bytes_count);
    take(context, &reading.extract);
    free(reading.loads);
    if (is_open) debug_file_close(&file);
}

/* ---- In the child. ---- */

static bool receive_text(struct channel *channel, char **bytes, struct text *text) {
    uint64_t bytes_count;
    if (!channel_receive(channel, &bytes_count, sizeof bytes_count)) return false;
    if (bytes_count > REQUEST_TEXT_BYTES_MAX) return false;
    *bytes = malloc(bytes_count + 1);
    if (!*bytes) child_leave();
    *text = (struct text){*bytes, bytes_count};
    return channel_receive(channel, *bytes, bytes_count);
}

/* Returns false if the parent closed the channel. */
static bool send_extract(struct channel *channel, const struct unwind_extract *extract) {
    bool is_sent = channel_send(channel, extract, sizeof *extract);
    for (uint32_t i = 0; i < extract->part_count && is_sent; i++)
        is_sent = channel_send(channel, extract->parts[i].bytes, extract->parts[i].bytes_count);
    return is_sent && channel_flush(channel);
}

static bool answer(struct channel *channel, const struct lib *lib, const struct unwinder_options *options) {
    struct reading reading = {.machine = options->machine, .extract.state = UNWIND_FILE_MISSING};
    struct failure failure = {.memory = options->failure->memory};
    struct debug_files files;
    enum debug_search_outcome outcome = debug_files_open(&files, lib, options->folders, &failure);
    if (failure_is_set(&failure)) child_leave();
    if (outcome == DEBUG_FILE_REFUSED) reading.extract.state = UNWIND_FILE_REFUSED;
    if (outcome != DEBUG_FILE_FOUND) return send_extract(channel, &reading.extract);
    const struct debug_file *code = files.first.has_code ? &files.first : &files.second;
    const struct debug_file *debug = code == &files.first ? &files.second : &files.first;
    if (code->elf && code->has_code) read_elf(&reading, code->elf, debug->elf);
    bool is_sent = send_extract(channel, &reading.extract);
    free(reading.loads);
    debug_files_close(&files);
    return is_sent;
}

void unwind_extract_serve(void *options, struct channel *channel) {
    bool is_good = true;
    while (is_good) {
        char *name = NULL, *path = NULL, *code_id = NULL;
        struct lib lib = {0};
        is_good = receive_text(channel, &name, &lib.name) && receive_text(channel, &path, &lib.path) &&
                  receive_text(channel, &code_id, &lib.code_id) && answer(channel, &lib, options);
        free(name);
        free(path);
        free(code_id);
    }
}

/* ---- In the parent. ---- */

static bool send_text(struct channel *channel, struct text text) {
    uint64_t bytes_count = text.bytes_count;
    return channel_send(channel, &bytes_count, sizeof bytes_count) && channel_send(channel, text.bytes, bytes_count);
}

bool unwind_extract_ask(struct channel *channel, const struct lib *lib, struct unwind_extract *extract) {
    return send_text(channel, lib->name) && send_text(channel, lib->path) && send_text(channel, lib->code_id) &&
           channel_receive(channel, extract, sizeof *extract) && extract->part_count <= UNWIND_PARTS_MAX;
}
