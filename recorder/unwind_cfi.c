#include "unwind_cfi.h"

#if UNWIND_KNOWS_MACHINE

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind_bytes.h"
#include "unwind_program.h"

/* ---- The object's memory. ---- */

bool unwind_image_init(struct unwind_image *image, const struct dl_phdr_info *object) {
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    *image = (struct unwind_image){.base = UINT64_MAX};
    for (uint32_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !header->p_memsz) continue;
        struct unwind_segment segment = {.start = object->dlpi_addr + header->p_vaddr,
                                         .end = object->dlpi_addr + header->p_vaddr + header->p_memsz,
                                         .is_executable = header->p_flags & PF_X};
        if (segment.end < segment.start) continue;
        if ((segment.start & ~(page_bytes - 1)) < image->base) image->base = segment.start & ~(page_bytes - 1);
        if (segment.end > image->end) image->end = segment.end;
        bool is_readable = header->p_flags & PF_R;
        if (is_readable && image->segment_count < sizeof image->segments / sizeof image->segments[0])
            image->segments[image->segment_count++] = segment;
    }
    return image->base < image->end;
}

const struct unwind_segment *unwind_image_segment(const struct unwind_image *image, uint64_t address, uint64_t count) {
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct unwind_segment *segment = &image->segments[i];
        if (address >= segment->start && address < segment->end && count <= segment->end - address) return segment;
    }
    return NULL;
}

static struct bytes bytes_at(const struct unwind_image *image, uint64_t address) {
    const struct unwind_segment *segment = unwind_image_segment(image, address, 1);
    return segment ? (struct bytes){.at = address, .end = segment->end} : (struct bytes){.is_bad = true};
}

/* ---- Common information entries. ---- */

struct cie {
    uint64_t address;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t pointer_encoding;
    bool has_augmentation;
    bool is_signal;
    struct bytes program;
};

/* An entry's length, and what it is the length of. False: the end. */
static bool take_entry(struct bytes *bytes, struct bytes *entry, uint32_t *id_bytes) {
    uint64_t length = take_unsigned(bytes, 4);
    *id_bytes = 4;
    if (length == UINT32_MAX) {
        length = take_unsigned(bytes, 8);
        *id_bytes = 8;
    }
    if (bytes->is_bad || !length) return false;
    *entry = take_part(bytes, length);
    return !entry->is_bad;
}

static bool take_augmentation(struct bytes *bytes, char augmentation[8]) {
    for (uint32_t i = 0; i < 8; i++) {
        augmentation[i] = (char)take_byte(bytes);
        if (!augmentation[i]) return !bytes->is_bad;
    }
    return false;
}

/* One letter of the augmentation, and what stands for it; false: it is not known. */
static bool take_letter(struct cie *cie, char letter, struct bytes *bytes) {
    switch (letter) {
        case 'R':
            cie->pointer_encoding = take_byte(bytes);
            return true;
        case 'L':
            take_byte(bytes);
            return true;
        case 'P':
            take_pointer_value(bytes, take_byte(bytes));
            return true;
        case 'S':
            cie->is_signal = true;
            return true;
        case 'B': /* pointers are signed with the other key */
        case 'G': /* memory tagging */
            return true;
        default:
            return false;
    }
}

static bool parse_cie(const struct unwind_image *image, uint64_t address, struct cie *cie) {
    struct bytes bytes = bytes_at(image, address), entry;
    uint32_t id_bytes;
    char augmentation[8];
    *cie = (struct cie){.address = address};
    if (!take_entry(&bytes, &entry, &id_bytes) || take_unsigned(&entry, id_bytes)) return false;
    uint8_t version = take_byte(&entry);
    if ((version != 1 && version != 3) || !take_augmentation(&entry, augmentation)) return false;
    cie->code_factor = take_uleb(&entry);
    cie->data_factor = take_sleb(&entry);
    uint64_t return_column = version == 1 ? take_byte(&entry) : take_uleb(&entry);
    if (return_column != UNWIND_RETURN || (augmentation[0] && augmentation[0] != 'z')) return false;
    if (augmentation[0]) {
        cie->has_augmentation = true;
        struct bytes letters = take_part(&entry, take_uleb(&entry));
        /* Behind an unknown letter nothing that is needed may stand. */
        for (uint32_t i = 1; augmentation[i]; i++)
            if (!take_letter(cie, augmentation[i], &letters)) return false;
        if (letters.is_bad) return false;
    }
    cie->program = entry;
    return !entry.is_bad;
}

/* ---- Functions. ---- */

struct compiler {
    const struct unwind_image *image;
    const struct unwind_row_sink *sink;
    uint64_t header;
    struct cie cie;
    bool is_cie_good;
    uint64_t compiled_end; /* rows go up to here */
    uint64_t function_start;
    bool is_full;
};

struct fde {
    uint64_t start;
    uint64_t end;
    struct bytes program;
};

static bool use_cie(struct compiler *compiler, uint64_t address) {
    if (compiler->cie.address == address) return compiler->is_cie_good;
    compiler->is_cie_good = parse_cie(compiler->image, address, &compiler->cie);
    return compiler->is_cie_good;
}

/* A function's entry; false: it is none. */
static bool parse_fde(struct compiler *compiler, uint64_t address, struct fde *fde) {
    struct bytes bytes = bytes_at(compiler->image, address), entry;
    uint32_t id_bytes;
    if (!take_entry(&bytes, &entry, &id_bytes)) return false;
    uint64_t id_at = entry.at, id = take_unsigned(&entry, id_bytes);
    if (entry.is_bad || !id || !use_cie(compiler, id_at - id)) return false;
    fde->start = take_pointer(&entry, compiler->cie.pointer_encoding, compiler->header);
    fde->end = fde->start + take_pointer_value(&entry, compiler->cie.pointer_encoding & POINTER_FORMAT_MASK);
    if (compiler->cie.has_augmentation) take_part(&entry, take_uleb(&entry));
    fde->program = entry;
    return !entry.is_bad && fde->start < fde->end && fde->start >= compiler->image->base &&
           fde->end <= compiler->image->end && fde->end - compiler->image->base <= UINT32_MAX;
}

static void emit(struct compiler *compiler, uint64_t address, const struct unwind_rule *rule) {
    if (compiler->is_full) return;
    uint32_t start = (uint32_t)(address - compiler->image->base);
    compiler->is_full = !compiler->sink->take(compiler->sink->context, start, rule);
}

static void visit_rule(void *context, uint64_t address, const struct unwind_rule *rule) {
    struct compiler *compiler = context;
    struct unwind_rule first = *rule;
    first.is_first = true;
    bool is_first = address == compiler->function_start && rule->cfa_kind != UNWIND_CFA_UNKNOWN;
    emit(compiler, address, is_first ? &first : rule);
}

static void run_program(struct compiler *compiler, const struct fde *fde) {
    const struct cie *cie = &compiler->cie;
    compiler->function_start = fde->start;
    struct unwind_program program = {.start = fde->start,
                                     .end = fde->end,
                                     .code_factor = cie->code_factor,
                                     .data_factor = cie->data_factor,
                                     .pointer_encoding = cie->pointer_encoding,
                                     .header = compiler->header,
                                     .initial = cie->program,
                                     .own = fde->program};
    unwind_program_run(&program, visit_rule, compiler);
}

static void compile_fde(struct compiler *compiler, uint64_t address) {
    struct fde fde;
    if (!parse_fde(compiler, address, &fde) || fde.start < compiler->compiled_end) return;
    /* What is between functions is nobody's. */
    emit(compiler, compiler->compiled_end, &unwind_rule_unknown);
    if (compiler->cie.is_signal)
        emit(compiler, fde.start, &(struct unwind_rule){.cfa_kind = UNWIND_CFA_SIGNAL});
    else
        run_program(compiler, &fde);
    compiler->compiled_end = fde.end;
}

/* ---- All functions of an object, in order. ---- */

struct function {
    uint32_t start; /* from the image's base */
    int32_t entry;  /* from the header; TRAMPOLINE: it has none */
};

#define TRAMPOLINE INT32_MIN

struct functions {
    struct function *all; /* mapped */
    uint64_t count;
    uint64_t capacity;
};

static bool functions_reserve(struct functions *functions, uint64_t count) {
    if (count <= functions->capacity) return true;
    if (count > (uint64_t)1 << 28) return false;
    void *all = functions->all ? mremap(functions->all, functions->capacity * sizeof *functions->all,
                                        count * sizeof *functions->all, MREMAP_MAYMOVE)
                               : mmap(NULL, count * sizeof *functions->all, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return false;
    functions->all = all;
    functions->capacity = count;
    return true;
}

static bool functions_add(struct functions *functions, struct function function) {
    if (functions->count == functions->capacity && !functions_reserve(functions, functions->capacity * 2 + 512))
        return false;
    functions->all[functions->count++] = function;
    return true;
}

static int compare_functions(const void *left, const void *right) {
    const struct function *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static void functions_sort(struct functions *functions) {
    for (uint64_t i = 1; i < functions->count; i++) {
        if (functions->all[i - 1].start <= functions->all[i].start) continue;
        qsort(functions->all, functions->count, sizeof *functions->all, compare_functions);
        return;
    }
}

/* The linker's table of functions, sorted, which it may have left out. */
static bool read_search_table(struct compiler *compiler, struct bytes table, uint64_t count,
                              struct functions *functions) {
    if (count > (table.end - table.at) / 8 || !functions_reserve(functions, count + 1)) return false;
    for (uint64_t i = 0; i < count; i++) {
        int64_t start = take_signed(&table, 4), entry = take_signed(&table, 4);
        uint64_t offset = compiler->header + (uint64_t)start - compiler->image->base;
        if (offset <= UINT32_MAX && entry != TRAMPOLINE)
            functions_add(functions, (struct function){.start = (uint32_t)offset, .entry = (int32_t)entry});
    }
    return true;
}

static void read_entries(struct compiler *compiler, uint64_t address, struct functions *functions) {
    struct bytes bytes = bytes_at(compiler->image, address), entry;
    uint32_t id_bytes;
    struct fde fde;
    for (uint64_t at = address; take_entry(&bytes, &entry, &id_bytes); at = bytes.at) {
        int64_t distance = (int64_t)(at - compiler->header);
        if (distance <= INT32_MIN || distance > INT32_MAX) return;
        if (!parse_fde(compiler, at, &fde)) continue;
        struct function function = {.start = (uint32_t)(fde.start - compiler->image->base), .entry = (int32_t)distance};
        if (!functions_add(functions, function)) return;
    }
}

static void read_functions(struct compiler *compiler, uint64_t header_bytes, struct functions *functions) {
    struct bytes bytes = {.at = compiler->header, .end = compiler->header + header_bytes};
    uint8_t version = take_byte(&bytes), entries_encoding = take_byte(&bytes), count_encoding = take_byte(&bytes),
            table_encoding = take_byte(&bytes);
    if (version != 1) return;
    uint64_t entries = take_pointer(&bytes, entries_encoding, compiler->header);
    bool has_table = count_encoding != POINTER_NONE && table_encoding == (POINTER_FROM_HEADER | POINTER_S4);
    uint64_t count = has_table ? take_pointer(&bytes, count_encoding, compiler->header) : 0;
    if (bytes.is_bad) return;
    if (has_table && read_search_table(compiler, bytes, count, functions)) return;
    read_entries(compiler, entries, functions);
}

#if defined(__aarch64__)
/* The kernel's return from signal handlers has no entry, so that unwinders know it by its two instructions. */
static void find_trampoline(const struct unwind_image *image, struct functions *functions) {
    static const uint32_t instructions[] = {0xd2801168 /* mov x8, 139 */, 0xd4000001 /* svc 0 */};
    uint64_t kernel_object = getauxval(AT_SYSINFO_EHDR);
    if (kernel_object < image->base || kernel_object >= image->end) return;
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct unwind_segment *segment = &image->segments[i];
        if (!segment->is_executable) continue;
        for (uint64_t at = (segment->start + 3) & ~(uint64_t)3; at + sizeof instructions <= segment->end; at += 4)
            if (memcmp((const void *)(uintptr_t)at, instructions, sizeof instructions) == 0)
                functions_add(functions, (struct function){.start = (uint32_t)(at - image->base), .entry = TRAMPOLINE});
    }
}
#else
static void find_trampoline(const struct unwind_image *image, struct functions *functions) {
    (void)image;
    (void)functions;
}
#endif

/* Nothing calls it: its address is looked up like a return address, one too low, so the instruction before counts. */
static void compile_trampoline(struct compiler *compiler, uint32_t start) {
    uint64_t first = compiler->image->base + start - 4;
    if (first < compiler->compiled_end) return;
    emit(compiler, compiler->compiled_end, &unwind_rule_unknown);
    emit(compiler, first, &(struct unwind_rule){.cfa_kind = UNWIND_CFA_SIGNAL});
    compiler->compiled_end = compiler->image->base + start + 8;
}

static uint64_t find_header(const struct dl_phdr_info *object, const struct unwind_image *image,
                            uint64_t *bytes_count) {
    for (uint32_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        uint64_t address = object->dlpi_addr + header->p_vaddr;
        *bytes_count = header->p_memsz;
        if (header->p_type == PT_GNU_EH_FRAME && unwind_image_segment(image, address, header->p_memsz)) return address;
    }
    return 0;
}

void unwind_cfi_compile(const struct dl_phdr_info *object, const struct unwind_image *image,
                        const struct unwind_row_sink *sink) {
    uint64_t header_bytes;
    struct compiler compiler = {
        .image = image, .sink = sink, .header = find_header(object, image, &header_bytes), .compiled_end = image->base};
    struct functions functions = {0};
    if (compiler.header) read_functions(&compiler, header_bytes, &functions);
    find_trampoline(image, &functions);
    functions_sort(&functions);
    for (uint64_t i = 0; i < functions.count && !compiler.is_full; i++) {
        if (functions.all[i].entry == TRAMPOLINE)
            compile_trampoline(&compiler, functions.all[i].start);
        else
            compile_fde(&compiler, compiler.header + (uint64_t)functions.all[i].entry);
    }
    if (functions.count) emit(&compiler, compiler.compiled_end, &unwind_rule_unknown);
    if (functions.all) munmap(functions.all, functions.capacity * sizeof *functions.all);
}

#endif
