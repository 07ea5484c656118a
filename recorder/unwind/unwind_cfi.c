#include "unwind_cfi.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "unwind_bytes.h"
#include "unwind_program.h"

/* ---- The object's bytes. ---- */

static struct bytes bytes_at(const struct unwind_image *image, uint64_t address) {
    const struct unwind_segment *segment = unwind_image_segment(image, address, 1);
    return segment ? (struct bytes){.at = address, .end = segment->end, .shift = segment->shift}
                   : (struct bytes){.is_bad = true};
}

/* ---- Common information entries. ---- */

/* Takes an entry: its length, and as many bytes. Returns false at the end. */
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

/* Takes the data of one letter of the augmentation. Returns false if the letter is unknown. */
static bool take_letter(struct unwind_cie *cie, char letter, struct bytes *bytes) {
    switch (letter) {
        case 'R': cie->pointer_encoding = take_byte(bytes); return true;
        case 'L': take_byte(bytes); return true;
        case 'P': take_pointer_value(bytes, take_byte(bytes)); return true;
        case 'S': cie->is_signal = true; return true;
        case 'B': /* pointers are signed with the other key */
        case 'G': /* memory tagging */ return true;
        default: return false;
    }
}

/* Returns whether an entry with this id is a common one. */
static bool is_common(const struct unwind_image *image, uint64_t id, uint32_t id_bytes) {
    if (image->entries_kind != UNWIND_ENTRIES_DEBUG_FRAME) return id == 0;
    return id == (id_bytes == 4 ? UINT32_MAX : UINT64_MAX);
}

/* Takes the version. Version 4, which only .debug_frame has, is followed by the sizes of addresses and of segment
 * selectors. */
static bool take_version(const struct unwind_image *image, struct bytes *entry, uint8_t *version,
                         char augmentation[8]) {
    *version = take_byte(entry);
    bool is_known = *version == 1 || *version == 3;
    bool has_sizes = *version == 4 && image->entries_kind == UNWIND_ENTRIES_DEBUG_FRAME;
    if ((!is_known && !has_sizes) || !take_augmentation(entry, augmentation)) return false;
    return !has_sizes || (take_byte(entry) == 8 && take_byte(entry) == 0);
}

static bool parse_cie(const struct unwind_image *image, uint64_t address, struct unwind_cie *cie) {
    struct bytes bytes = bytes_at(image, address), entry;
    uint32_t id_bytes;
    uint8_t version;
    char augmentation[8];
    *cie = (struct unwind_cie){.address = address};
    if (!take_entry(&bytes, &entry, &id_bytes)) return false;
    if (!is_common(image, take_unsigned(&entry, id_bytes), id_bytes)) return false;
    if (!take_version(image, &entry, &version, augmentation)) return false;
    cie->code_factor = take_uleb(&entry);
    cie->data_factor = take_sleb(&entry);
    uint64_t return_column = version == 1 ? take_byte(&entry) : take_uleb(&entry);
    if (return_column != image->machine->return_address || (augmentation[0] && augmentation[0] != 'z')) return false;
    if (augmentation[0]) {
        cie->has_augmentation = true;
        struct bytes letters = take_part(&entry, take_uleb(&entry));
        /* The data after an unknown letter cannot be parsed. */
        for (uint32_t i = 1; augmentation[i]; i++)
            if (!take_letter(cie, augmentation[i], &letters)) return false;
        if (letters.is_bad) return false;
    }
    cie->program_start = entry.at;
    cie->program_end = entry.end;
    return !entry.is_bad;
}

/* ---- Functions. ---- */

struct unwind_function {
    uint32_t start; /* offset from the image's base */
    int32_t entry;  /* offset from image->entries; TRAMPOLINE: no entry */
};

#define TRAMPOLINE INT32_MIN

struct fde {
    uint64_t start;
    uint64_t end;
    struct bytes program;
};

static bool use_cie(struct unwind_index *index, uint64_t address) {
    if (index->cie.address == address && index->cie.is_good) return true;
    index->cie.is_good = parse_cie(index->image, address, &index->cie);
    return index->cie.is_good;
}

static bool has_function(const struct unwind_image *image, const struct fde *fde) {
    /* Linkers give address 0 to the debug information of functions that they dropped. */
    if (!fde->start && image->entries_kind == UNWIND_ENTRIES_DEBUG_FRAME) return false;
    return fde->start < fde->end && fde->start >= image->base && fde->end <= image->end &&
           fde->end - image->base <= UINT32_MAX;
}

/* Parses a function's entry. Returns false if there is none. */
static bool parse_fde(struct unwind_index *index, uint64_t address, struct fde *fde) {
    const struct unwind_image *image = index->image;
    struct bytes bytes = bytes_at(image, address), entry;
    uint32_t id_bytes;
    if (!take_entry(&bytes, &entry, &id_bytes)) return false;
    uint64_t id_at = entry.at, id = take_unsigned(&entry, id_bytes);
    if (entry.is_bad || is_common(image, id, id_bytes)) return false;
    if (!use_cie(index, image->entries_kind == UNWIND_ENTRIES_DEBUG_FRAME ? image->entries + id : id_at - id))
        return false;
    uint8_t encoding = index->cie.pointer_encoding;
    fde->start = take_pointer(&entry, encoding, image->entries);
    fde->end = fde->start + take_pointer_value(&entry, encoding & POINTER_FORMAT_MASK);
    if (index->cie.has_augmentation) take_part(&entry, take_uleb(&entry));
    fde->program = entry;
    return !entry.is_bad && has_function(image, fde);
}

static void run_program(const struct unwind_index *index, const struct fde *fde, uint64_t address,
                        struct unwind_rule *rule) {
    const struct unwind_cie *cie = &index->cie;
    struct bytes initial = bytes_at(index->image, cie->address);
    initial.at = cie->program_start;
    initial.end = cie->program_end;
    struct unwind_program program = {.image = index->image,
                                     .start = fde->start,
                                     .code_factor = cie->code_factor,
                                     .data_factor = cie->data_factor,
                                     .pointer_encoding = cie->pointer_encoding,
                                     .initial = initial,
                                     .own = fde->program};
    unwind_program_find(&program, address, rule);
}

/* ---- All functions of an object, in order. ---- */

static bool index_reserve(struct unwind_index *index, uint64_t count) {
    if (count <= index->capacity) return true;
    if (count > (uint64_t)1 << 28) return false;
    size_t element_bytes = sizeof *index->functions;
    void *all = index->functions
                    ? mremap(index->functions, index->capacity * element_bytes, count * element_bytes, MREMAP_MAYMOVE)
                    : mmap(NULL, count * element_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return false;
    index->functions = all;
    index->capacity = count;
    return true;
}

static bool index_add(struct unwind_index *index, struct unwind_function function) {
    if (index->count == index->capacity && !index_reserve(index, index->capacity * 2 + 512)) return false;
    index->functions[index->count++] = function;
    return true;
}

static int compare_functions(const void *left, const void *right) {
    const struct unwind_function *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static void index_sort(struct unwind_index *index) {
    for (uint64_t i = 1; i < index->count; i++) {
        if (index->functions[i - 1].start <= index->functions[i].start) continue;
        qsort(index->functions, index->count, sizeof *index->functions, compare_functions);
        return;
    }
}

/* Reads the linker's sorted table of functions. Linkers may leave it out. */
static bool read_search_table(struct unwind_index *index, struct bytes table, uint64_t count) {
    const struct unwind_image *image = index->image;
    if (count > (table.end - table.at) / 8 || !index_reserve(index, count + 1)) return false;
    const char *rows = (const char *)(uintptr_t)(table.at + table.shift);
    for (uint64_t i = 0; i < count; i++) {
        int32_t row[2]; /* start and entry, as distances from the header */
        memcpy(row, rows + i * sizeof row, sizeof row);
        uint64_t offset = image->entries + (uint64_t)(int64_t)row[0] - image->base;
        if (offset <= UINT32_MAX && row[1] != TRAMPOLINE)
            index->functions[index->count++] = (struct unwind_function){.start = (uint32_t)offset, .entry = row[1]};
    }
    return true;
}

static void read_entries(struct unwind_index *index, uint64_t address) {
    struct bytes bytes = bytes_at(index->image, address), entry;
    uint32_t id_bytes;
    struct fde fde;
    for (uint64_t at = address; take_entry(&bytes, &entry, &id_bytes); at = bytes.at) {
        int64_t distance = (int64_t)(at - index->image->entries);
        if (distance <= INT32_MIN || distance > INT32_MAX) return;
        if (!parse_fde(index, at, &fde)) continue;
        uint32_t start = (uint32_t)(fde.start - index->image->base);
        if (!index_add(index, (struct unwind_function){.start = start, .entry = (int32_t)distance})) return;
    }
}

static void read_header(struct unwind_index *index) {
    const struct unwind_image *image = index->image;
    struct bytes bytes = bytes_at(image, image->entries);
    if (bytes.is_bad || image->entries_bytes_count > bytes.end - bytes.at) return;
    bytes.end = bytes.at + image->entries_bytes_count;
    uint8_t version = take_byte(&bytes), entries_encoding = take_byte(&bytes), count_encoding = take_byte(&bytes),
            table_encoding = take_byte(&bytes);
    if (version != 1) return;
    uint64_t entries = take_pointer(&bytes, entries_encoding, image->entries);
    index->first_entry = entries;
    bool has_table = count_encoding != POINTER_NONE && table_encoding == (POINTER_FROM_HEADER | POINTER_S4);
    uint64_t count = has_table ? take_pointer(&bytes, count_encoding, image->entries) : 0;
    if (bytes.is_bad) return;
    if (has_table && read_search_table(index, bytes, count)) return;
    read_entries(index, entries);
}

/* On aarch64, the kernel's code that returns from signal handlers has no entry, so unwinders recognize its two
 * instructions. Nothing calls that code: its address is looked up like a return address, one too low, so the
 * instruction before it counts too. */
enum { TRAMPOLINE_BYTES_BEFORE = 4, TRAMPOLINE_BYTES = 8 };

static void find_trampoline(struct unwind_index *index) {
    static const uint32_t instructions[] = {0xd2801168 /* mov x8, 139 */, 0xd4000001 /* svc 0 */};
    const struct unwind_image *image = index->image;
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct unwind_segment *segment = &image->segments[i];
        if (!segment->is_executable) continue;
        uint64_t first = ((segment->start + 3) & ~(uint64_t)3) + TRAMPOLINE_BYTES_BEFORE;
        for (uint64_t at = first; at < segment->end && segment->end - at >= sizeof instructions; at += 4) {
            if (memcmp((const void *)(uintptr_t)(at + segment->shift), instructions, sizeof instructions) != 0)
                continue;
            uint32_t start = (uint32_t)(at - TRAMPOLINE_BYTES_BEFORE - image->base);
            index_add(index, (struct unwind_function){.start = start, .entry = TRAMPOLINE});
        }
    }
}

void unwind_index_init(struct unwind_index *index, const struct unwind_image *image) {
    *index = (struct unwind_index){.image = image};
    if (image->entries_kind == UNWIND_ENTRIES_HEADER)
        read_header(index);
    else if (image->entries_kind != UNWIND_ENTRIES_NONE)
        read_entries(index, image->entries);
    if (image->has_trampoline) find_trampoline(index);
    index_sort(index);
}

size_t unwind_index_functions_bytes(const struct unwind_index *index) {
    return (size_t)index->count * sizeof *index->functions;
}

bool unwind_index_find_entries(const struct unwind_index *index, uint64_t *start, uint64_t *end) {
    const struct unwind_image *image = index->image;
    uint64_t first = index->first_entry, last = first;
    for (uint64_t i = 0; i < index->count; i++) {
        uint64_t entry = image->entries + (uint64_t)(int64_t)index->functions[i].entry;
        if (index->functions[i].entry != TRAMPOLINE && entry > last) last = entry;
    }
    struct bytes bytes = bytes_at(image, last), entry;
    uint32_t id_bytes;
    *start = first;
    *end = take_entry(&bytes, &entry, &id_bytes) ? bytes.at : last;
    return *end > *start && unwind_image_segment(image, *start, *end - *start);
}

void unwind_index_fini(struct unwind_index *index) {
    if (index->functions) munmap(index->functions, index->capacity * sizeof *index->functions);
    *index = (struct unwind_index){0};
}

/* ---- One address. ---- */

/* Returns the last function that starts at or before the offset; NULL if there is none. */
static const struct unwind_function *find_function(const struct unwind_index *index, uint64_t offset) {
    const struct unwind_function *function = index->functions;
    uint64_t count = index->count;
    if (!count || offset < function->start) return NULL;
    while (count > 1) {
        uint64_t half = count / 2;
        function = function[half].start <= offset ? function + half : function;
        count -= half;
    }
    return function;
}

/* Parses the entry of the function at the address. Returns false if it does not have the address. */
static bool parse_fde_of(struct unwind_index *index, const struct unwind_function *function, uint64_t address,
                         struct fde *fde) {
    return parse_fde(index, index->image->entries + (uint64_t)(int64_t)function->entry, fde) && address >= fde->start &&
           address < fde->end;
}

bool unwind_index_find_function(struct unwind_index *index, uint64_t address, uint64_t *start, uint64_t *end) {
    const struct unwind_function *function =
        address < index->image->base ? NULL : find_function(index, address - index->image->base);
    struct fde fde;
    if (!function || function->entry == TRAMPOLINE || !parse_fde_of(index, function, address, &fde)) return false;
    *start = fde.start;
    *end = fde.end;
    return true;
}

bool unwind_index_find(struct unwind_index *index, uint64_t address, struct unwind_rule *rule, uint64_t *start) {
    uint64_t offset = address - index->image->base;
    const struct unwind_function *function = address < index->image->base ? NULL : find_function(index, offset);
    struct fde fde;
    *rule = unwind_rule_unknown;
    if (!function) return false;
    if (function->entry == TRAMPOLINE) {
        rule->cfa_kind = UNWIND_CFA_SIGNAL;
        *start = index->image->base + function->start;
        return offset - function->start < TRAMPOLINE_BYTES_BEFORE + TRAMPOLINE_BYTES;
    }
    if (!parse_fde_of(index, function, address, &fde)) return false;
    *start = fde.start;
    if (index->cie.is_signal)
        rule->cfa_kind = UNWIND_CFA_SIGNAL;
    else
        run_program(index, &fde, address, rule);
    return true;
}
