#include "symbol_table.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "go_functions.h"
#include "libconvert/base/first_row.h"
#include "libconvert/base/symbol_version.h"
#include "symbol_names.h"
#include "symbol_stubs.h"

/* How many pairs of the aliases at one address are compared by their demangled names. */
enum { DEMANGLINGS_MAX = 64 };

/* A section with code. */
struct code {
    uint64_t start;
    uint64_t end;
};

struct candidates {
    struct code *code; /* by start */
    size_t code_count;
    struct symbol *rows; /* the end of one without a size is its start */
    size_t count;
    uint64_t sizeless_bytes_max; /* length of a symbol without a size */
};

/* Reasons to prefer another symbol with the same address. The reason with the greatest number weighs most. */
enum { RANK_OLD_VERSION = 1, RANK_LOCAL = 2, RANK_WITHOUT_SIZE = 4 };

static uint8_t rank_of(const GElf_Sym *symbol, bool is_old_version) {
    bool is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
    return (uint8_t)((is_old_version ? RANK_OLD_VERSION : 0) | (is_local ? RANK_LOCAL : 0) |
                     (symbol->st_size ? 0 : RANK_WITHOUT_SIZE));
}

/* "$x" and "$d" mark where code and data begin, on ARM and RISC-V. */
static bool is_mapping_symbol(const char *name) { return name[0] == '$' && name[1] && strchr("adtx", name[1]); }

static int compare_code(const void *left, const void *right) {
    const struct code *a = left, *b = right;
    return ORDER(a->start, b->start) ?: ORDER(a->end, b->end);
}

/* Returns false if memory ran out. */
static bool find_code(struct candidates *candidates, Elf *elf) {
    size_t section_count;
    if (elf_getshdrnum(elf, &section_count) != 0) return true;
    candidates->code = malloc((section_count + 1) * sizeof *candidates->code);
    if (!candidates->code) return false;
    for (Elf_Scn *section = NULL; candidates->code_count < section_count && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR) || !header.sh_size) continue;
        uint64_t end;
        if (__builtin_add_overflow(header.sh_addr, header.sh_size, &end)) continue;
        candidates->code[candidates->code_count++] = (struct code){header.sh_addr, end};
    }
    qsort(candidates->code, candidates->code_count, sizeof *candidates->code, compare_code);
    return true;
}

/* Returns the section that contains the address, or NULL. Of sections that overlap, the last one counts. */
static const struct code *code_at(const struct candidates *candidates, uint64_t address) {
    size_t next = FIRST_ROW(i, candidates->code_count, candidates->code[i].start > address);
    return next && address < candidates->code[next - 1].end ? &candidates->code[next - 1] : NULL;
}

/* Finds the section by address: a program that removes sections need not renumber references to them. */
static const struct code *code_of(const struct candidates *candidates, const GElf_Sym *symbol) {
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || symbol->st_shndx == SHN_COMMON) return NULL;
    return code_at(candidates, symbol->st_value);
}

/* Makes room for more_count more rows. Returns false if memory ran out. */
static bool reserve(struct candidates *candidates, size_t more_count) {
    size_t capacity = candidates->count + more_count;
    struct symbol *rows = realloc(candidates->rows, (capacity ? capacity : 1) * sizeof *rows);
    if (!rows) return false;
    candidates->rows = rows;
    return true;
}

/* Adds the symbol if it may be a function. There must be room for it. A name is read only if it must be, since the
 * names of large libraries take tens of megabytes. */
static void add_symbol(struct candidates *candidates, Elf *elf, const GElf_Sym *symbol, size_t names,
                       bool is_old_version) {
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return;
    const struct code *code = code_of(candidates, symbol);
    if (!code || !symbol->st_name) return;
    const char *name = elf_strptr(elf, names, symbol->st_name);
    if (!name || (type == STT_NOTYPE && is_mapping_symbol(name))) return;
    uint64_t end;
    if (__builtin_add_overflow(symbol->st_value, symbol->st_size, &end) || end > code->end) end = code->end;
    candidates->rows[candidates->count] = (struct symbol){.start = symbol->st_value,
                                                          .end = end,
                                                          .name = name,
                                                          .rank = rank_of(symbol, is_old_version),
                                                          .is_weak = GELF_ST_BIND(symbol->st_info) == STB_WEAK,
                                                          .has_size = symbol->st_size > 0};
    candidates->count++;
}

/* Returns the versions of the symbols that the dynamic linker sees; NULL: they have none. */
static Elf_Data *find_versions(Elf *elf) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_GNU_versym) return elf_getdata(section, NULL);
    }
    return NULL;
}

static bool has_old_version(Elf_Data *versions, size_t i) {
    enum { VERSION_IS_HIDDEN = 0x8000 };
    GElf_Versym version;
    return versions && gelf_getversym(versions, (int)i, &version) && (version & VERSION_IS_HIDDEN);
}

static bool add_section(struct candidates *candidates, Elf *elf, Elf_Scn *section, size_t names, Elf_Data *versions) {
    Elf_Data *data = elf_getdata(section, NULL);
    size_t entry_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    if (!data || !data->d_buf || !entry_bytes) return true;
    size_t entry_count = data->d_size / entry_bytes;
    if (!reserve(candidates, entry_count)) return false;
    GElf_Ehdr header;
    bool is_arm = gelf_getehdr(elf, &header) && header.e_machine == EM_ARM;
    for (size_t i = 0; i < entry_count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol)) break;
        if (is_arm && GELF_ST_TYPE(symbol.st_info) == STT_FUNC) symbol.st_value &= ~UINT64_C(1); /* Thumb */
        add_symbol(candidates, elf, &symbol, names, has_old_version(versions, i));
    }
    return true;
}

/* Sorts the rows by their starts. Equal ones keep their order. Sorts by eleven bits of the distance from the lowest
 * start at a time: large libraries have hundreds of thousands of symbols, and comparing them takes several times as
 * long. Returns false if memory ran out. */
static bool sort(struct candidates *candidates) {
    enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };
    struct symbol *from = candidates->rows;
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        if (from[i].start < least) least = from[i].start;
        if (from[i].start > most) most = from[i].start;
    }
    if (most <= least) return true;
    struct symbol *to = malloc(candidates->count * sizeof *to);
    if (!to) return false;
    for (unsigned shift = 0; shift < 64 && (most - least) >> shift; shift += DIGIT_BITS) {
        size_t next[DIGITS + 1] = {0}; /* where the next row with each digit goes */
        for (size_t i = 0; i < candidates->count; i++) next[((from[i].start - least) >> shift) % DIGITS + 1]++;
        for (size_t digit = 0; digit < DIGITS; digit++) next[digit + 1] += next[digit];
        for (size_t i = 0; i < candidates->count; i++)
            to[next[((from[i].start - least) >> shift) % DIGITS]++] = from[i];
        struct symbol *sorted = to;
        to = from;
        from = sorted;
    }
    free(to);
    candidates->rows = from;
    return true;
}

/* Counts the underscores at the start of the name; none for a mangled name, whose name in the source counts. glibc
 * makes names with "__GI_" for its own calls, so no programmer writes them. */
static size_t count_underscores(struct text name) {
    size_t count = 0;
    if (text_starts_with(name, TEXT("__GI_"))) return SIZE_MAX;
    while (!symbol_name_is_mangled(name) && count < name.bytes_count && name.bytes[count] == '_') count++;
    return count;
}

/* Returns whether two names differ in nothing but the variant of a constructor or destructor ("C1", "C2"), which the
 * source does not distinguish. */
static bool are_variants(struct text left, struct text right) {
    size_t same = 0, bytes_count = left.bytes_count;
    if (bytes_count != right.bytes_count) return false;
    while (same < bytes_count && left.bytes[same] == right.bytes[same]) same++;
    if (!same || same == bytes_count || !strchr("CD", left.bytes[same - 1])) return false;
    return text_equal(text_from(left, same + 1), text_from(right, same + 1));
}

static size_t demangled_length(struct text name) {
    char buffer[SYMBOL_NAME_BYTES_MAX];
    return symbol_name_demangle(name, true, buffer).bytes_count;
}

/* The full symbol table has versions in its names: "name@OLD" and "name@@DEFAULT". */
static bool names_old_version(struct text name) {
    size_t version = symbol_without_version(name).bytes_count;
    return version < name.bytes_count && !text_starts_with(text_from(name, version), TEXT("@@"));
}

static uint8_t compared_rank(const struct symbol *symbol, struct text name) {
    return symbol->rank | (names_old_version(name) ? RANK_OLD_VERSION : 0);
}

/* Returns the part of the symbol's name that counts for the choice. All symbols of a file may share one name that is as
 * long as the file. */
static struct text compared_name(const struct symbol *symbol) {
    enum { COMPARED_BYTES_MAX = 16384 };
    return (struct text){symbol->name, strnlen(symbol->name, COMPARED_BYTES_MAX)};
}

/* Of two names that the source distinguishes, prefers the longer one, like perf: it says more. But libraries export C
 * functions by variants of their names: "open64", "strtoimax". Each use of a demangled name takes one of those that are
 * left; without any, the length of mangled names decides. */
static bool is_better_length(struct text name, struct text other, bool is_exported, size_t *demanglings_left) {
    bool is_mangled = symbol_name_is_mangled(name) || symbol_name_is_mangled(other);
    if (!is_mangled && is_exported) return name.bytes_count < other.bytes_count;
    if (!is_mangled || !*demanglings_left) return name.bytes_count > other.bytes_count;
    if (are_variants(name, other)) return false;
    --*demanglings_left;
    return demangled_length(name) > demangled_length(other);
}

/* Prefers what a programmer would write: an exported name of the present version, without underscores in front. */
static bool is_better(const struct symbol *symbol, const struct symbol *other, size_t *demanglings_left) {
    struct text name = compared_name(symbol), other_name = compared_name(other);
    uint8_t rank = compared_rank(symbol, name), other_rank = compared_rank(other, other_name);
    if (rank != other_rank) return rank < other_rank;
    name = symbol_without_version(name);
    other_name = symbol_without_version(other_name);
    size_t underscores = count_underscores(name), other_underscores = count_underscores(other_name);
    if (underscores != other_underscores) return underscores < other_underscores;
    if (symbol->is_weak != other->is_weak) return other->is_weak;
    return is_better_length(name, other_name, !(symbol->rank & RANK_LOCAL), demanglings_left);
}

/* Returns the number of the row with the preferred name. */
static uint32_t choose(const struct symbol *aliases, size_t count) {
    uint32_t best = 0;
    size_t demanglings_left = DEMANGLINGS_MAX;
    for (uint32_t i = 1; i < count; i++)
        if (is_better(&aliases[i], &aliases[best], &demanglings_left)) best = i;
    return best;
}

static bool has_sized(const struct symbol *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (rows[i].has_size) return true;
    return false;
}

/* Sets the ends of symbols without a size. One inside a symbol that has a size is a label in a function, and is
 * dropped. One at its start has no code of its own. */
static void take_rows(struct symbol_table *table, struct candidates *candidates) {
    struct symbol *rows = candidates->rows;
    uint64_t covered = 0; /* where the code of symbols with a size ends so far */
    for (size_t i = 0, next; i < candidates->count; i = next) {
        for (next = i + 1; next < candidates->count; next++)
            if (rows[next].start != rows[i].start) break;
        bool is_sized = has_sized(&rows[i], next - i);
        if (rows[i].start < covered && !is_sized) continue;
        for (size_t j = i; j < next; j++) {
            struct symbol symbol = rows[j];
            uint64_t limit = code_at(candidates, symbol.start)->end;
            if (limit - symbol.start > candidates->sizeless_bytes_max)
                limit = symbol.start + candidates->sizeless_bytes_max;
            if (!symbol.has_size && is_sized)
                symbol.end = symbol.start;
            else if (!symbol.has_size)
                symbol.end = next < candidates->count && rows[next].start < limit ? rows[next].start : limit;
            else if (symbol.end > covered)
                covered = symbol.end;
            rows[table->count++] = symbol;
        }
    }
    table->rows = rows;
    candidates->rows = NULL;
}

/* Reads at most bytes_left bytes of sections. */
static bool collect(struct candidates *candidates, Elf *elf, uint32_t type, uint64_t bytes_left) {
    Elf_Data *versions = type == SHT_DYNSYM ? find_versions(elf) : NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != type) continue;
        if (!debug_file_take_section(&bytes_left, header.sh_size)) continue;
        if (!add_section(candidates, elf, section, header.sh_link, versions)) return false;
    }
    return true;
}

/* Adds the functions of a stripped Go program. */
static bool collect_go(struct candidates *candidates, const struct debug_file *file) {
    struct go_functions functions;
    if (!go_functions_find(&functions, file)) return true;
    if (!reserve(candidates, functions.count)) return false;
    for (uint32_t i = 0; i < functions.count; i++) {
        struct go_function function;
        const struct code *code =
            go_functions_read(&functions, i, &function) ? code_at(candidates, function.start) : NULL;
        if (!code) continue;
        candidates->rows[candidates->count++] =
            (struct symbol){.start = function.start,
                            .end = function.end < code->end ? function.end : code->end,
                            .name = function.name,
                            .has_size = true};
    }
    return true;
}

/* The full symbol table includes all others. If only exported symbols are known, much other code may be between one and
 * the next: the last exported function in assembly language is followed by those that are not exported. */
static bool collect_all(struct candidates *candidates, struct symbol_table *table, const struct debug_file *symbols,
                        struct failure *failure) {
    enum { EXPORTED_BYTES_MAX = 4096 };
    if (!find_code(candidates, symbols->elf)) return false;
    candidates->sizeless_bytes_max = UINT64_MAX;
    if (symbols->has_symbol_table) return collect(candidates, symbols->elf, SHT_SYMTAB, symbols->size_bytes);
    debug_data_open(&table->data, symbols, failure);
    if (!table->data.elf) candidates->sizeless_bytes_max = EXPORTED_BYTES_MAX;
    if (table->data.elf && !collect(candidates, table->data.elf, SHT_SYMTAB, DEBUG_DATA_BYTES_MAX)) return false;
    return collect(candidates, symbols->elf, SHT_DYNSYM, symbols->size_bytes) && collect_go(candidates, symbols);
}

/* Returns false if memory ran out. */
static bool measure_reach(struct symbol_table *table) {
    size_t leaf_count = 1;
    while (leaf_count < table->count) leaf_count *= 2;
    uint64_t *reach = realloc(table->reach, 2 * leaf_count * sizeof *reach);
    if (!reach) return false;
    for (size_t i = 0; i < leaf_count; i++) reach[leaf_count + i] = i < table->count ? table->rows[i].end : 0;
    for (size_t i = leaf_count - 1; i > 0; i--)
        reach[i] = reach[2 * i] > reach[2 * i + 1] ? reach[2 * i] : reach[2 * i + 1];
    table->reach = reach;
    table->leaf_count = leaf_count;
    return true;
}

/* Returns the last of the first `count` rows that ends after the address; NULL if there is none. */
static const struct symbol *last_reaching(const struct symbol_table *table, size_t count, uint64_t address) {
    const uint64_t *reach = table->reach;
    if (!count) return NULL;
    size_t node = table->leaf_count + count - 1;
    while (reach[node] <= address) {
        while (node % 2 == 0) node /= 2;
        if (node == 1) return NULL;
        node--; /* the rows before */
    }
    while (node < table->leaf_count) node = 2 * node + (reach[2 * node + 1] > address);
    return &table->rows[node - table->leaf_count];
}

/* ---- Stubs. ---- */

/* Returns the stub's name without "@plt", or NULL if it has none. An ifunc has the name of the function that it
 * selects. */
static const char *stub_name(const struct symbol_table *table, const struct symbol_stub *stub) {
    if (stub->name) return stub->name;
    const struct symbol *chooser = symbol_table_find(table, stub->target);
    return chooser && chooser->start == stub->target ? chooser->name : NULL;
}

static char *join_stub_name(struct symbol_table *table, struct text name) {
    static const char suffix[] = "@plt";
    char *joined = arena_take_bytes(&table->stub_names, name.bytes_count + sizeof suffix);
    if (!joined) return NULL;
    memcpy(joined, name.bytes, name.bytes_count);
    memcpy(joined + name.bytes_count, suffix, sizeof suffix);
    return joined;
}

/* Inserts rows, which are sorted like those of the table. There must be room for them. */
static void merge_rows(struct symbol_table *table, const struct symbol *added, size_t added_count) {
    size_t left_count = table->count, to = table->count + added_count;
    table->count = to;
    while (added_count) {
        bool is_last = !left_count || table->rows[left_count - 1].start <= added[added_count - 1].start;
        table->rows[--to] = is_last ? added[--added_count] : table->rows[--left_count];
    }
}

/* Returns whether a symbol is for the stub: one that begins there, or that has a size and covers the stub's start. One
 * that only reaches up to the next symbol is for something else. */
static bool has_symbol(const struct symbol_table *table, const struct symbol_stub *stub) {
    const struct symbol *found = symbol_table_find(table, stub->start);
    return found && (found->has_size || found->start == stub->start);
}

/* Adds the stubs that have no symbol. Their names have less than name_bytes_left bytes together, because a hostile file
 * can give all stubs one long name. */
static bool add_stubs(struct symbol_table *table, const struct column *stubs, uint64_t name_bytes_left) {
    struct symbol *added = malloc((stubs->count + 1) * sizeof *added);
    struct symbol *rows = added ? realloc(table->rows, (table->count + stubs->count + 1) * sizeof *rows) : NULL;
    if (rows) table->rows = rows;
    size_t added_count = 0;
    bool is_good = rows;
    for (size_t i = 0; i < stubs->count && is_good; i++) {
        const struct symbol_stub *stub = column_at(stubs, i);
        const char *name = stub_name(table, stub);
        if (!name || has_symbol(table, stub)) continue;
        size_t name_bytes_count = strnlen(name, name_bytes_left);
        name_bytes_left -= name_bytes_count;
        if (!name_bytes_left) break;
        char *joined = join_stub_name(table, (struct text){name, name_bytes_count});
        is_good = joined;
        added[added_count++] =
            (struct symbol){.start = stub->start, .end = stub->end, .name = joined, .has_size = true};
    }
    if (is_good) merge_rows(table, added, added_count);
    free(added);
    return is_good && measure_reach(table);
}

static bool read_stubs(struct symbol_table *table, const struct debug_file *library, struct failure *failure) {
    struct column stubs;
    column_init(&stubs, sizeof(struct symbol_stub), failure);
    symbol_stubs_read(&stubs, library);
    bool is_good = !failure_is_set(failure) && (!stubs.count || add_stubs(table, &stubs, library->size_bytes));
    column_fini(&stubs);
    return is_good;
}

/* ---- The whole table. ---- */

bool symbol_table_init(struct symbol_table *table, const struct debug_file *symbols, const struct debug_file *library,
                       struct failure *failure) {
    *table = (struct symbol_table){0};
    arena_init(&table->stub_names, failure);
    struct candidates candidates = {.code_count = 0};
    errno = 0; /* libelf treats data that it has no memory for as damaged */
    bool is_good = collect_all(&candidates, table, symbols, failure);
    if (is_good) {
        is_good = sort(&candidates);
        take_rows(table, &candidates);
        is_good = is_good && measure_reach(table) && read_stubs(table, library, failure);
    }
    if (errno == ENOMEM || failure_is_set(failure)) is_good = false;
    free(candidates.rows);
    free(candidates.code);
    if (is_good) return true;
    symbol_table_fini(table);
    failure_set_memory(failure);
    return false;
}

void symbol_table_fini(struct symbol_table *table) {
    free(table->rows);
    free(table->reach);
    debug_data_close(&table->data);
    arena_fini(&table->stub_names);
    *table = (struct symbol_table){0};
}

/* Returns the preferred one of the symbols that have the address of the row. It is chosen when it is first needed,
 * since demangling the names of all aliases of a large library takes longer than everything else here. */
static const struct symbol *choose_alias(const struct symbol_table *table, size_t first, size_t count) {
    struct symbol *aliases = &table->rows[first];
    if (count == 1) return aliases;
    uint32_t choice = __atomic_load_n(&aliases->choice, __ATOMIC_RELAXED);
    if (!choice) {
        choice = choose(aliases, count) + 1;
        __atomic_store_n(&aliases->choice, choice, __ATOMIC_RELAXED);
    }
    return &aliases[choice - 1];
}

const struct symbol *symbol_table_aliases(const struct symbol_table *table, uint64_t start, size_t *count) {
    const struct symbol *rows = table->rows;
    size_t first = FIRST_ROW(i, table->count, rows[i].start >= start);
    *count = FIRST_ROW(i, table->count, rows[i].start > start) - first;
    return &rows[first];
}

/* The preferred symbol may be shorter than another one with its start. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address) {
    const struct symbol *rows = table->rows;
    size_t count = FIRST_ROW(i, table->count, rows[i].start > address);
    const struct symbol *last = last_reaching(table, count, address);
    if (!last) return NULL;
    bool is_alone = (last == rows || last[-1].start != last->start) &&
                    (last + 1 == rows + table->count || last[1].start != last->start);
    if (is_alone) return last;
    size_t alias_count;
    const struct symbol *aliases = symbol_table_aliases(table, last->start, &alias_count);
    const struct symbol *chosen = choose_alias(table, (size_t)(aliases - rows), alias_count);
    return address < chosen->end ? chosen : last;
}
