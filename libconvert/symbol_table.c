#include "symbol_table.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "symbol_stubs.h"

/* Functions inside functions are looked for so many symbols back. */
enum { ENCLOSING_SYMBOLS_MAX = 16 };

struct candidate {
    struct symbol symbol; /* end: the start where the table tells no size */
    uint64_t limit;       /* where the section ends */
    uint8_t rank;         /* low: rather this one */
};

/* A section with code. */
struct code {
    uint64_t start;
    uint64_t end;
};

enum { CODE_SECTIONS_MAX = 64 };

struct candidates {
    struct code code[CODE_SECTIONS_MAX];
    size_t code_count;
    struct candidate *rows;
    size_t count;
    size_t capacity;
};

/* Global, weak, local; functions before what only lies in a section of code. */
static uint8_t rank_of(const GElf_Sym *symbol) {
    uint8_t binding = GELF_ST_BIND(symbol->st_info);
    uint8_t rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
    return (uint8_t)(rank + (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 4 : 0) + (symbol->st_size ? 0 : 8));
}

/* "$x", "$d": where code and data begin, on ARM and RISC-V. */
static bool is_mapping_symbol(const char *name) { return name[0] == '$' && name[1] && strchr("adtx", name[1]); }

static void find_code(struct candidates *candidates, Elf *elf) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (candidates->code_count == CODE_SECTIONS_MAX) return;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR)) continue;
        uint64_t end;
        if (__builtin_add_overflow(header.sh_addr, header.sh_size, &end)) continue;
        candidates->code[candidates->code_count++] = (struct code){header.sh_addr, end};
    }
}

/* By its address: a program that takes sections out need not renumber what refers to them. */
static const struct code *code_of(const struct candidates *candidates, const GElf_Sym *symbol) {
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || symbol->st_shndx == SHN_COMMON) return NULL;
    for (size_t i = 0; i < candidates->code_count; i++) {
        const struct code *code = &candidates->code[i];
        if (symbol->st_value >= code->start && symbol->st_value < code->end) return code;
    }
    return NULL;
}

static bool push(struct candidates *candidates, struct candidate candidate) {
    if (candidates->count == candidates->capacity) {
        size_t capacity = candidates->capacity ? candidates->capacity * 2 : 1024;
        struct candidate *rows = realloc(candidates->rows, capacity * sizeof *rows);
        if (!rows) return false;
        candidates->rows = rows;
        candidates->capacity = capacity;
    }
    candidates->rows[candidates->count++] = candidate;
    return true;
}

/* False when memory ran out. */
static bool add_symbol(struct candidates *candidates, Elf *elf, const GElf_Sym *symbol, size_t names) {
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return true;
    const struct code *code = code_of(candidates, symbol);
    if (!code) return true;
    const char *name = elf_strptr(elf, names, symbol->st_name);
    if (!name || !*name || is_mapping_symbol(name)) return true;
    uint64_t end;
    if (__builtin_add_overflow(symbol->st_value, symbol->st_size, &end) || end > code->end) end = code->end;
    return push(candidates, (struct candidate){{symbol->st_value, end, name}, code->end, rank_of(symbol)});
}

static bool add_section(struct candidates *candidates, Elf *elf, Elf_Scn *section, size_t names) {
    Elf_Data *data = elf_getdata(section, NULL);
    size_t entry_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    if (!data || !data->d_buf || !entry_bytes) return true;
    for (size_t i = 0; i < data->d_size / entry_bytes; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol)) break;
        if (!add_symbol(candidates, elf, &symbol, names)) return false;
    }
    return true;
}

static int compare_candidates(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    if (a->symbol.start != b->symbol.start) return a->symbol.start < b->symbol.start ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return strcmp(a->symbol.name, b->symbol.name);
}

/* The first of each place, ended. What has no size and lies in something that has is a label in a function. */
static bool take_rows(struct symbol_table *table, const struct candidates *candidates) {
    table->rows = malloc((candidates->count ? candidates->count : 1) * sizeof *table->rows);
    if (!table->rows) return false;
    uint64_t covered = 0; /* by symbols that have a size */
    for (size_t i = 0, next; i < candidates->count; i = next) {
        const struct candidate *candidate = &candidates->rows[i];
        struct symbol symbol = candidate->symbol;
        for (next = i + 1; next < candidates->count; next++)
            if (candidates->rows[next].symbol.start != symbol.start) break;
        bool has_size = symbol.end > symbol.start;
        if (!has_size && symbol.start < covered) continue;
        if (has_size && symbol.end > covered) covered = symbol.end;
        if (!has_size) {
            bool has_next = next < candidates->count && candidates->rows[next].symbol.start < candidate->limit;
            symbol.end = has_next ? candidates->rows[next].symbol.start : candidate->limit;
        }
        table->rows[table->count++] = symbol;
    }
    return true;
}

static bool collect(struct candidates *candidates, Elf *elf, uint32_t type) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != type) continue;
        if (!add_section(candidates, elf, section, header.sh_link)) return false;
    }
    return true;
}

/* The table of symbols has all that the others have. */
static bool collect_all(struct candidates *candidates, struct symbol_table *table, const struct debug_file *symbols,
                        struct failure *failure) {
    find_code(candidates, symbols->elf);
    if (symbols->has_symbol_table) return collect(candidates, symbols->elf, SHT_SYMTAB);
    debug_data_open(&table->data, symbols, failure);
    if (table->data.elf && !collect(candidates, table->data.elf, SHT_SYMTAB)) return false;
    return collect(candidates, symbols->elf, SHT_DYNSYM);
}

/* ---- Stubs. ---- */

static int compare_symbols(const void *left, const void *right) {
    const struct symbol *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* The stub's name without "@plt"; NULL when it has none. A function that chooses has the name of what it chooses. */
static const char *stub_name(const struct symbol_table *table, const struct symbol_stub *stub) {
    if (stub->name) return stub->name;
    const struct symbol *chooser = symbol_table_find(table, stub->target);
    return chooser && chooser->start == stub->target ? chooser->name : NULL;
}

static char *join_stub_name(struct symbol_table *table, const char *name) {
    static const char suffix[] = "@plt";
    size_t bytes_count = strlen(name);
    char *joined = arena_take_bytes(&table->stub_names, bytes_count + sizeof suffix);
    if (!joined) return NULL;
    memcpy(joined, name, bytes_count);
    memcpy(joined + bytes_count, suffix, sizeof suffix);
    return joined;
}

/* Adds those that no symbol has. */
static bool add_stubs(struct symbol_table *table, const struct column *stubs) {
    struct symbol *rows = realloc(table->rows, (table->count + stubs->count + 1) * sizeof *rows);
    if (!rows) return false;
    table->rows = rows;
    size_t count = table->count;
    for (size_t i = 0; i < stubs->count; i++) {
        const struct symbol_stub *stub = column_at(stubs, i);
        const char *name = stub_name(table, stub);
        if (!name || symbol_table_find(table, stub->start)) continue;
        char *joined = join_stub_name(table, name);
        if (!joined) return false;
        rows[count++] = (struct symbol){stub->start, stub->end, joined};
    }
    table->count = count;
    qsort(rows, count, sizeof *rows, compare_symbols);
    return true;
}

static bool read_stubs(struct symbol_table *table, const struct debug_file *library, struct failure *failure) {
    struct column stubs;
    column_init(&stubs, sizeof(struct symbol_stub), failure);
    symbol_stubs_read(&stubs, library);
    bool is_good = !failure_is_set(failure) && (!stubs.count || add_stubs(table, &stubs));
    column_fini(&stubs);
    return is_good;
}

/* ---- The face. ---- */

bool symbol_table_init(struct symbol_table *table, const struct debug_file *symbols, const struct debug_file *library,
                       struct failure *failure) {
    *table = (struct symbol_table){0};
    arena_init(&table->stub_names, failure);
    struct candidates candidates = {.code_count = 0};
    errno = 0; /* libelf takes what it has no memory for to be damaged */
    bool is_good = collect_all(&candidates, table, symbols, failure);
    if (is_good) {
        if (candidates.count) qsort(candidates.rows, candidates.count, sizeof *candidates.rows, compare_candidates);
        is_good = take_rows(table, &candidates) && read_stubs(table, library, failure);
    }
    if (errno == ENOMEM || failure_is_set(failure)) is_good = false;
    free(candidates.rows);
    if (is_good) return true;
    symbol_table_fini(table);
    failure_set_memory(failure);
    return false;
}

void symbol_table_fini(struct symbol_table *table) {
    free(table->rows);
    debug_data_close(&table->data);
    arena_fini(&table->stub_names);
    *table = (struct symbol_table){0};
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address) {
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->rows[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && low - i < ENCLOSING_SYMBOLS_MAX; i--)
        if (address < table->rows[i - 1].end) return &table->rows[i - 1];
    return NULL;
}
