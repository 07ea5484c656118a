#include "symbol_stubs.h"

#include <gelf.h>
#include <string.h>

#include "libconvert/base/first_row.h"

/* What the dynamic linker writes into a slot. */
struct slot {
    uint64_t address;
    const char *name; /* NULL: what the ifunc at `target` returns */
    uint64_t target;
};

struct code {
    const unsigned char *bytes;
    size_t bytes_count;
    uint64_t address; /* where the first byte is */
};

/* Decodes a stub that begins at the offset. Returns the offset after it and stores the address of its slot; returns 0
 * if no stub begins there. */
typedef size_t stub_decoder(const struct code *code, size_t offset, uint64_t *slot);

/* How the stubs of a processor look. */
struct machine {
    uint16_t number;
    uint8_t step_bytes;                      /* stubs begin at multiples of this */
    uint32_t jump_slot, global_data, chosen; /* types of relocations: two that name a function, and one for an ifunc */
    stub_decoder *decode;
};

static uint32_t load32(const struct code *code, size_t offset) {
    const unsigned char *bytes = code->bytes + offset;
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static bool has_bytes(const struct code *code, size_t offset, const char *bytes, size_t bytes_count) {
    return bytes_count <= code->bytes_count - offset && memcmp(code->bytes + offset, bytes, bytes_count) == 0;
}

/* [endbr64] [bnd] jmp *slot(%rip) */
static size_t decode_x86_64(const struct code *code, size_t offset, uint64_t *slot) {
    if (has_bytes(code, offset, "\xf3\x0f\x1e\xfa", 4)) offset += 4;
    if (has_bytes(code, offset, "\xf2", 1)) offset++;
    if (!has_bytes(code, offset, "\xff\x25", 2) || code->bytes_count - offset < 6) return 0;
    *slot = code->address + offset + 6 + (uint64_t)(int32_t)load32(code, offset + 2);
    return offset + 6;
}

/* [bti c]; adrp x16, page of the slot; ldr x17, [x16, offset in the page] */
static size_t decode_aarch64(const struct code *code, size_t offset, uint64_t *slot) {
    static const uint64_t PAGE_BYTES = 4096;
    static const uint32_t BTI_C = 0xd503245f, ADRP_X16 = 0x90000010, ADRP_MASK = 0x9f00001f, LDR_X17_X16 = 0xf9400211,
                          LDR_MASK = 0xffc003ff;
    if (code->bytes_count - offset >= 4 && load32(code, offset) == BTI_C) offset += 4;
    if (code->bytes_count - offset < 8) return 0;
    uint32_t adrp = load32(code, offset), ldr = load32(code, offset + 4);
    if ((adrp & ADRP_MASK) != ADRP_X16 || (ldr & LDR_MASK) != LDR_X17_X16) return 0;
    uint32_t bits = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    int64_t page_count = (int32_t)(bits << 11) / 2048; /* 21 bits, sign-extended */
    uint64_t page = (code->address + offset) / PAGE_BYTES + (uint64_t)page_count;
    *slot = page * PAGE_BYTES + (ldr >> 10 & 0xfff) * 8;
    return offset + 8;
}

static const struct machine machines[] = {
    {EM_X86_64, 8, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE, decode_x86_64},
    {EM_AARCH64, 4, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE, decode_aarch64},
};

static const struct machine *find_machine(Elf *elf) {
    GElf_Ehdr header;
    if (!gelf_getehdr(elf, &header)) return NULL;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].number == header.e_machine) return &machines[i];
    return NULL;
}

/* ---- Slots. ---- */

/* Returns the name of a symbol, or NULL if it has none. `symbols` is the section of symbols that a section of
 * relocations refers to. */
static const char *symbol_name(Elf *elf, size_t symbols, size_t row) {
    Elf_Scn *section = elf_getscn(elf, symbols);
    GElf_Shdr header;
    GElf_Sym symbol;
    if (!row || !section || !gelf_getshdr(section, &header)) return NULL;
    if (!gelf_getsym(elf_getdata(section, NULL), (int)row, &symbol)) return NULL;
    const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
    return name && *name ? name : NULL;
}

static void add_slots(struct column *slots, Elf *elf, Elf_Scn *section, const struct machine *machine,
                      uint64_t *bytes_left) {
    GElf_Shdr header;
    GElf_Rela relocation;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC)) return;
    if (!debug_file_take_section(bytes_left, header.sh_size)) return;
    Elf_Data *data = elf_getdata(section, NULL);
    for (int i = 0; gelf_getrela(data, i, &relocation); i++) {
        uint64_t type = GELF_R_TYPE(relocation.r_info);
        struct slot slot = {.address = relocation.r_offset};
        if (type == machine->jump_slot || type == machine->global_data)
            slot.name = symbol_name(elf, header.sh_link, GELF_R_SYM(relocation.r_info));
        else if (type == machine->chosen)
            slot.target = (uint64_t)relocation.r_addend;
        if (!slot.name && !slot.target) continue;
        if (!column_add(slots, &slot)) return;
    }
}

static int compare_slots(const void *a, const void *b) { return ORDER_BY(struct slot, address, a, b); }

static const struct slot *slot_at(const struct column *slots, size_t i) { return column_at(slots, i); }

static const struct slot *find_slot(const struct column *slots, uint64_t address) {
    size_t i = FIRST_ROW(row, slots->count, slot_at(slots, row)->address >= address);
    const struct slot *slot = i < slots->count ? slot_at(slots, i) : NULL;
    return slot && slot->address == address ? slot : NULL;
}

/* ---- Stubs. ---- */

/* Returns whether it is ".plt", ".plt.sec", ".plt.got" or ".iplt". */
static bool is_linkage_table(Elf *elf, size_t names, const GElf_Shdr *header) {
    const char *name = elf_strptr(elf, names, header->sh_name);
    if (!name || header->sh_type != SHT_PROGBITS || !(header->sh_flags & SHF_EXECINSTR)) return false;
    return strcmp(name, ".plt") == 0 || strncmp(name, ".plt.", 5) == 0 || strcmp(name, ".iplt") == 0;
}

static void add_stubs(struct column *stubs, const struct column *slots, const struct code *code,
                      const struct machine *machine) {
    struct symbol_stub *last = NULL;
    const size_t step = machine->step_bytes;
    for (size_t offset = 0, next; offset < code->bytes_count; offset = next) {
        uint64_t address;
        size_t end = machine->decode(code, offset, &address);
        next = end ? (end + step - 1) / step * step : offset + step;
        if (!end) continue;
        if (last) last->end = code->address + offset;
        last = NULL;
        const struct slot *slot = find_slot(slots, address);
        if (!slot) continue;
        last = column_push(stubs);
        if (!last) return;
        *last =
            (struct symbol_stub){code->address + offset, code->address + code->bytes_count, slot->name, slot->target};
    }
}

static int compare_stubs(const void *a, const void *b) { return ORDER_BY(struct symbol_stub, start, a, b); }

static void find_stubs(struct column *stubs, const struct column *slots, const struct debug_file *library,
                       const struct machine *machine) {
    Elf *elf = library->elf;
    uint64_t bytes_left = library->size_bytes;
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0) return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !is_linkage_table(elf, names, &header)) continue;
        if (!debug_file_take_section(&bytes_left, header.sh_size)) continue;
        Elf_Data *data = elf_rawdata(section, NULL);
        if (!data || !data->d_buf || header.sh_addr > UINT64_MAX - data->d_size) continue;
        add_stubs(stubs, slots, &(struct code){data->d_buf, data->d_size, header.sh_addr}, machine);
    }
    column_sort(stubs, compare_stubs);
}

void symbol_stubs_read(struct column *stubs, const struct debug_file *library) {
    const struct machine *machine = find_machine(library->elf);
    if (!machine || !library->has_code) return;
    struct column slots;
    column_init(&slots, sizeof(struct slot), stubs->failure);
    uint64_t bytes_left = library->size_bytes;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(library->elf, section));)
        add_slots(&slots, library->elf, section, machine, &bytes_left);
    column_sort(&slots, compare_slots);
    if (!failure_is_set(stubs->failure)) find_stubs(stubs, &slots, library, machine);
    column_fini(&slots);
}
