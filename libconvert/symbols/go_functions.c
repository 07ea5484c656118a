#include "go_functions.h"

#include <gelf.h>
#include <string.h>

/* The header: a magic number, 4 bytes of which the last is the size of an address, and 64-bit words. */
enum { MAGIC_OF_1_18 = 0xfffffff0, MAGIC_OF_1_20 = 0xfffffff1, ADDRESS_BYTES = 8, WORDS_AT = 8, HEADER_BYTES = 72 };
enum header_word { WORD_COUNT, WORD_CODE = 2, WORD_NAMES, WORD_FUNCTIONS = 7 };

/* An entry of the list: the offset of the code, and where in the list the description is, whose second number is the
 * place of the name. */
enum { ENTRY_BYTES = 8, DESCRIPTION_BYTES = 8 };

/* A damaged table may have one long name for all functions. */
enum { NAME_BYTES_MAX = 4096 };

/* The offset must be inside the table. */
static uint32_t number_at(const struct go_functions *functions, uint64_t offset) {
    uint32_t number;
    memcpy(&number, functions->table.bytes + offset, sizeof number);
    return number;
}

static uint64_t word_at(const struct go_functions *functions, enum header_word word) {
    uint64_t value;
    memcpy(&value, functions->table.bytes + WORDS_AT + ADDRESS_BYTES * word, sizeof value);
    return value;
}

/* Returns whether the table has that many bytes at the offset. */
static bool has_bytes(const struct go_functions *functions, uint64_t offset, uint64_t count) {
    return offset <= functions->table.bytes_count && count <= functions->table.bytes_count - offset;
}

/* Stores the table, and the address of the code section. */
static void find_sections(struct go_functions *functions, Elf *elf) {
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0) return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!name) continue;
        if (strcmp(name, ".text") == 0) functions->code = header.sh_addr;
        bool is_table = strcmp(name, ".gopclntab") == 0 || strcmp(name, ".data.rel.ro.gopclntab") == 0;
        Elf_Data *data = is_table && header.sh_type == SHT_PROGBITS ? elf_rawdata(section, NULL) : NULL;
        if (data && data->d_buf) functions->table = (struct text){data->d_buf, data->d_size};
    }
}

/* Reads the header of the table. Returns false if it is of another kind. */
static bool read_header(struct go_functions *functions) {
    if (!has_bytes(functions, 0, HEADER_BYTES)) return false;
    uint32_t magic = number_at(functions, 0);
    bool is_known = magic == MAGIC_OF_1_18 || magic == MAGIC_OF_1_20;
    if (!is_known || functions->table.bytes[WORDS_AT - 1] != ADDRESS_BYTES) return false;
    uint64_t count = word_at(functions, WORD_COUNT);
    functions->names = word_at(functions, WORD_NAMES);
    functions->functions = word_at(functions, WORD_FUNCTIONS);
    functions->count = (uint32_t)count;
    /* After the last entry is the end of the code. */
    return count < UINT32_MAX / ENTRY_BYTES && has_bytes(functions, functions->names, 0) &&
           has_bytes(functions, functions->functions, (count + 1) * ENTRY_BYTES);
}

/* Returns whether the program starts in the function of the table that starts programs. */
static bool starts_program(const struct go_functions *functions, uint64_t entry) {
    struct go_function function;
    for (uint32_t i = 0; i < functions->count; i++)
        if (go_functions_read(functions, i, &function) && function.start == entry)
            return strncmp(function.name, "_rt0_", 5) == 0;
    return false;
}

/* Since Go 1.26, the header does not tell where the code is. It is the section, unless C code was linked before it. */
bool go_functions_find(struct go_functions *functions, const struct debug_file *file) {
    GElf_Ehdr header;
    *functions = (struct go_functions){.code = 0};
    if (!gelf_getehdr(file->elf, &header) || header.e_ident[EI_DATA] != ELFDATA2LSB) return false;
    find_sections(functions, file->elf);
    if (!read_header(functions)) return false;
    uint64_t code = word_at(functions, WORD_CODE);
    if (code) functions->code = code;
    return code || starts_program(functions, header.e_entry);
}

bool go_functions_read(const struct go_functions *functions, uint32_t number, struct go_function *function) {
    uint64_t entry = functions->functions + (uint64_t)number * ENTRY_BYTES, description, name;
    description = functions->functions + number_at(functions, entry + sizeof(uint32_t));
    if (!has_bytes(functions, description, DESCRIPTION_BYTES)) return false;
    name = functions->names + number_at(functions, description + sizeof(uint32_t));
    function->start = functions->code + number_at(functions, entry);
    function->end = functions->code + number_at(functions, entry + ENTRY_BYTES);
    if (function->end <= function->start || !has_bytes(functions, name, 1)) return false;
    function->name = functions->table.bytes + name;
    uint64_t left_bytes = functions->table.bytes_count - name;
    return *function->name && memchr(function->name, 0, left_bytes < NAME_BYTES_MAX ? left_bytes : NAME_BYTES_MAX);
}
