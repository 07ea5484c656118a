#include "symbol_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>

#include "arena.h"
#include "child_process.h"
#include "column.h"
#include "ids.h"
#include "index_set.h"
#include "symbol_names.h"

/* Of nested debugging entries. Compilers nest some dozens. */
enum { LEVELS_MAX = 512 };

/* After so many units, lines or functions of shared units libdw is started anew: it frees nothing before its end. */
enum { UNITS_KEPT_MAX = 128, ROWS_KEPT_MAX = 1 << 20, SHARED_MEMBERS_KEPT_MAX = 1 << 20 };

/* The first bytes of a file are its header: no function is there, but those that the linker dropped are said to be. */
enum { HEADER_BYTES_MIN = 52 };

/* Addresses of a unit or a function, of which `row` is the number. */
struct range {
    uint64_t start;
    uint64_t end;
    uint32_t row;
};

struct function {
    Dwarf_Die die;
    size_t first_inlined;
    size_t inlined_count;
};

/* Addresses of a call that was inlined into its function. Outer calls stand before those in them. */
struct inlined_call {
    uint64_t start;
    uint64_t end;
    Dwarf_Die die;
    uint32_t depth;
};

/* A namespace or a type that has functions. */
struct name_scope {
    Dwarf_Die die;
    uint32_t parent; /* ID_NONE: none */
};

/* A function in a name scope. */
struct member {
    Dwarf_Off offset; /* of its entry; ascending */
    uint32_t scope;
    const char *name; /* "scope::name", in `texts`; NULL until asked for */
};

/* What has to be known of units to name the functions in them. */
struct scoped_names {
    struct column scopes;  /* struct name_scope */
    struct column members; /* struct member */
    struct arena texts;
};

/* A unit that others refer to: dwz and link-time optimisation make them. */
struct shared_unit {
    const struct Dwarf_CU *unit;
    size_t first_member;
    size_t member_count;
};

struct symbol_lines {
    struct failure *failure; /* borrowed */
    Elf *elf;                /* borrowed */
    Dwarf *dwarf;
    Elf *supplement_elf; /* borrowed, or `empty_elf` */
    Elf *empty_elf;      /* NULL where it is not needed */
    Dwarf *supplement;
    bool is_broken;
    uint64_t steps_left;       /* entries and ranges still to be read: far more than there are in any sound file */
    struct column units;       /* Dwarf_Off */
    struct column unit_ranges; /* struct range: sorted, disjoint */

    /* Of the unit that was read last: */
    uint32_t unit;  /* ID_NONE: none */
    Dwarf_Die root; /* of its entries */
    const char *folder;
    Dwarf_Lines *rows;
    size_t row_count;
    Dwarf_Files *files;
    struct column functions;       /* struct function */
    struct column function_ranges; /* struct range: sorted, disjoint */
    struct column inlined;         /* struct inlined_call */
    struct scoped_names names;

    /* Since libdw was started: */
    struct column shared_units;    /* struct shared_unit */
    struct index_set unit_numbers; /* of shared_units, by `unit` */
    struct scoped_names shared_names;
    size_t kept_unit_count;
    size_t kept_row_count;
};

/* ---- Memory of libdw's. ---- */

/* If libdw has no memory for something, it reports damage or ends the process. errno tells the two apart. */
static void check_memory(const struct symbol_lines *lines) {
    if (errno == ENOMEM) failure_set_memory(lines->failure);
}

/* A file whose debug information is of nothing. */
static const struct {
    Elf64_Ehdr header;
    Elf64_Shdr sections[3];
    char names[24];
} empty_file = {
    .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                           __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB, EV_CURRENT},
               .e_type = ET_REL,
               .e_version = EV_CURRENT,
               .e_shoff = sizeof(Elf64_Ehdr),
               .e_ehsize = sizeof(Elf64_Ehdr),
               .e_shentsize = sizeof(Elf64_Shdr),
               .e_shnum = 3,
               .e_shstrndx = 2},
    .sections = {[1] = {.sh_name = 1,
                        .sh_type = SHT_PROGBITS,
                        .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
                        .sh_size = 1},
                 [2] = {.sh_name = 13,
                        .sh_type = SHT_STRTAB,
                        .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
                        .sh_size = 24}},
    .names = "\0.debug_info\0.shstrtab",
};

static void init_names(struct scoped_names *names, struct failure *failure) {
    column_init(&names->scopes, sizeof(struct name_scope), failure);
    column_init(&names->members, sizeof(struct member), failure);
    arena_init(&names->texts, failure);
}

static void fini_names(struct scoped_names *names) {
    column_fini(&names->scopes);
    column_fini(&names->members);
    arena_fini(&names->texts);
}

static void init_shared(struct symbol_lines *lines) {
    column_init(&lines->shared_units, sizeof(struct shared_unit), lines->failure);
    index_set_init(&lines->unit_numbers, lines->failure);
    init_names(&lines->shared_names, lines->failure);
}

static void fini_shared(struct symbol_lines *lines) {
    column_fini(&lines->shared_units);
    index_set_fini(&lines->unit_numbers);
    fini_names(&lines->shared_names);
}

static void end_libdw(struct symbol_lines *lines) {
    if (lines->dwarf) dwarf_end(lines->dwarf);
    if (lines->supplement) dwarf_end(lines->supplement);
    lines->dwarf = lines->supplement = NULL;
}

/* libdw, not told of a supplement, would look for one by itself, and take one of another build. So where there is none
 * it gets one that is empty. */
static bool start_libdw(struct symbol_lines *lines) {
    end_libdw(lines);
    fini_shared(lines);
    init_shared(lines);
    lines->unit = ID_NONE;
    lines->kept_unit_count = 0;
    lines->kept_row_count = 0;
    lines->supplement = dwarf_begin_elf(lines->supplement_elf, DWARF_C_READ, NULL);
    if (!lines->supplement) return false;
    lines->dwarf = dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL);
    if (!lines->dwarf) return false;
    dwarf_new_oom_handler(lines->dwarf, child_leave);
    dwarf_new_oom_handler(lines->supplement, child_leave);
    dwarf_setalt(lines->dwarf, lines->supplement);
    return true;
}

/* ---- Ranges. ---- */

/* Checks errno at each step, since libdw may open files later and overwrite it. */
static bool take_step(struct symbol_lines *lines) {
    check_memory(lines);
    return lines->steps_left && lines->steps_left--;
}

static int compare_ranges(const void *left, const void *right) {
    const struct range *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Sorts the ranges and cuts off what a range shares with one before it. */
static void settle_ranges(struct column *ranges) {
    column_sort(ranges, compare_ranges);
    if (failure_is_set(ranges->failure)) return;
    uint32_t kept_count = 0;
    uint64_t covered = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        struct range range = *(const struct range *)column_at(ranges, i);
        if (range.start < covered) range.start = covered;
        if (range.start >= range.end) continue;
        covered = range.end;
        *(struct range *)column_at(ranges, kept_count++) = range;
    }
    ranges->count = kept_count;
}

/* Number of what has the address; ID_NONE: nothing. */
static uint32_t find_in_ranges(const struct column *ranges, uint64_t address) {
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (((const struct range *)column_at(ranges, middle))->start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return ID_NONE;
    const struct range *range = column_at(ranges, low - 1);
    return address < range->end ? range->row : ID_NONE;
}

/* A position in the ranges of an entry. dwarf_ranges reads the base address that it wrote in the call before. */
struct range_position {
    ptrdiff_t offset;
    Dwarf_Addr base;
};

/* Advances to the entry's next range. A position of zeros is before the first one. Returns false after the last one. */
static bool next_range(struct symbol_lines *lines, Dwarf_Die *die, struct range_position *at, uint64_t *start,
                       uint64_t *end) {
    while (take_step(lines) && (at->offset = dwarf_ranges(die, at->offset, &at->base, start, end)) > 0)
        if (*start >= HEADER_BYTES_MIN && *start < *end) return true;
    return false;
}

/* How many ranges of the entry were added. */
static size_t add_ranges(struct symbol_lines *lines, struct column *ranges, Dwarf_Die *die, uint32_t row) {
    struct range_position at = {0};
    uint64_t start, end;
    size_t count = 0;
    while (next_range(lines, die, &at, &start, &end)) {
        struct range *range = column_push(ranges);
        if (!range) break;
        *range = (struct range){start, end, row};
        count++;
    }
    return count;
}

/* ---- The entries of a unit. ---- */

/* Where an entry is in the tree. */
struct place {
    struct scoped_names *names;
    uint32_t function; /* ID_NONE: outside of all */
    uint32_t scope;    /* ID_NONE: none */
    uint32_t depth;    /* of inlined calls around it */
    unsigned level;
};

static void read_children(struct symbol_lines *lines, Dwarf_Die *parent, struct place place);

static void add_member(Dwarf_Die *die, const struct place *place) {
    struct member *member = place->scope == ID_NONE ? NULL : column_push(&place->names->members);
    if (member) *member = (struct member){.offset = dwarf_dieoffset(die), .scope = place->scope};
}

/* What is in the entry is in its scope. */
static void enter_scope(Dwarf_Die *die, struct place *place) {
    struct column *scopes = &place->names->scopes;
    struct name_scope *scope = column_push(scopes);
    if (!scope) return;
    *scope = (struct name_scope){*die, place->scope};
    place->scope = (uint32_t)(scopes->count - 1);
}

static bool is_scope_tag(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
           tag == DW_TAG_union_type || tag == DW_TAG_module || tag == DW_TAG_enumeration_type;
}

static void read_function(struct symbol_lines *lines, Dwarf_Die *die, struct place place) {
    uint32_t row = (uint32_t)lines->functions.count;
    add_member(die, &place);
    place.scope = ID_NONE;
    place.depth = 0;
    place.function = ID_NONE;
    bool is_shared = place.names == &lines->shared_names;
    if (!is_shared && add_ranges(lines, &lines->function_ranges, die, row)) {
        struct function *function = column_push(&lines->functions);
        if (!function) return;
        *function = (struct function){.die = *die, .first_inlined = lines->inlined.count};
        place.function = row;
    }
    read_children(lines, die, place);
    if (place.function == ID_NONE) return;
    struct function *function = column_at(&lines->functions, row);
    function->inlined_count = lines->inlined.count - function->first_inlined;
}

static void read_inlined(struct symbol_lines *lines, Dwarf_Die *die, struct place place) {
    if (place.function == ID_NONE) return;
    struct range_position at = {0};
    uint64_t start, end;
    place.depth++;
    while (next_range(lines, die, &at, &start, &end)) {
        struct inlined_call *call = column_push(&lines->inlined);
        if (!call) return;
        *call = (struct inlined_call){start, end, *die, place.depth};
    }
    read_children(lines, die, place);
}

static void read_entry(struct symbol_lines *lines, Dwarf_Die *die, struct place place) {
    int tag = dwarf_tag(die);
    if (is_scope_tag(tag) && dwarf_haschildren(die) == 1) enter_scope(die, &place);
    if (tag == DW_TAG_subprogram)
        read_function(lines, die, place);
    else if (tag == DW_TAG_inlined_subroutine)
        read_inlined(lines, die, place);
    else if (dwarf_haschildren(die) == 1)
        read_children(lines, die, place);
}

static void read_children(struct symbol_lines *lines, Dwarf_Die *parent, struct place place) {
    if (++place.level > LEVELS_MAX) return;
    Dwarf_Off last = dwarf_dieoffset(parent);
    Dwarf_Die die;
    for (int result = dwarf_child(parent, &die); result == 0; result = dwarf_siblingof(&die, &die)) {
        /* A damaged unit could send its reader in circles. */
        Dwarf_Off offset = dwarf_dieoffset(&die);
        if (offset <= last || !take_step(lines) || failure_is_set(lines->failure)) return;
        last = offset;
        read_entry(lines, &die, place);
    }
}

/* ---- Units. ---- */

static const char *text_attribute(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static void init_unit(struct symbol_lines *lines) {
    column_init(&lines->functions, sizeof(struct function), lines->failure);
    column_init(&lines->function_ranges, sizeof(struct range), lines->failure);
    column_init(&lines->inlined, sizeof(struct inlined_call), lines->failure);
    init_names(&lines->names, lines->failure);
    lines->unit = ID_NONE;
    lines->folder = NULL;
    lines->rows = NULL;
    lines->row_count = 0;
    lines->files = NULL;
}

static void fini_unit(struct symbol_lines *lines) {
    column_fini(&lines->functions);
    column_fini(&lines->function_ranges);
    column_fini(&lines->inlined);
    fini_names(&lines->names);
}

/* A unit's entries are elsewhere when it was split ("-gsplit-dwarf"); its lines stay. */
static void find_root(struct symbol_lines *lines, Dwarf_Die *unit_die) {
    uint8_t unit_type = 0;
    Dwarf_Die split;
    lines->root = *unit_die;
    if (dwarf_cu_info(unit_die->cu, NULL, &unit_type, NULL, &split, NULL, NULL, NULL) != 0) return;
    if (unit_type != DW_UT_skeleton || !split.cu || dwarf_tag(&split) == DW_TAG_invalid) return;
    dwarf_new_oom_handler(dwarf_cu_getdwarf(split.cu), child_leave);
    lines->root = split;
}

static void read_functions(struct symbol_lines *lines, uint32_t unit) {
    Dwarf_Die die;
    fini_unit(lines);
    init_unit(lines);
    if (!dwarf_offdie(lines->dwarf, *(const Dwarf_Off *)column_at(&lines->units, unit), &die)) return;
    find_root(lines, &die);
    read_children(lines, &lines->root, (struct place){&lines->names, .function = ID_NONE, .scope = ID_NONE});
    settle_ranges(&lines->function_ranges);
    size_t file_count;
    if (dwarf_getsrclines(&die, &lines->rows, &lines->row_count) != 0) lines->row_count = 0;
    if (dwarf_getsrcfiles(&lines->root, &lines->files, &file_count) != 0) lines->files = NULL;
    lines->folder = text_attribute(&die, DW_AT_comp_dir);
    lines->kept_unit_count++;
    lines->kept_row_count += lines->row_count;
}

/* Makes the unit the current one; false when libdw fails. */
static bool enter_unit(struct symbol_lines *lines, uint32_t unit) {
    if (lines->unit == unit) return true;
    bool is_full = lines->kept_unit_count >= UNITS_KEPT_MAX || lines->kept_row_count >= ROWS_KEPT_MAX ||
                   lines->shared_names.members.count >= SHARED_MEMBERS_KEPT_MAX;
    if (is_full && !start_libdw(lines)) {
        lines->is_broken = true;
        return false;
    }
    read_functions(lines, unit);
    lines->unit = unit;
    return !failure_is_set(lines->failure);
}

/* Where no unit says what addresses it has, those of its functions are its. */
static void find_ranges_of_functions(struct symbol_lines *lines) {
    for (uint32_t unit = 0; unit < lines->units.count; unit++) {
        if (!enter_unit(lines, unit)) return;
        for (size_t i = 0; i < lines->function_ranges.count; i++) {
            struct range *range = column_push(&lines->unit_ranges);
            if (!range) return;
            *range = *(const struct range *)column_at(&lines->function_ranges, i);
            range->row = unit;
        }
    }
}

static void find_units(struct symbol_lines *lines) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t unit_type;
    while (dwarf_get_units(lines->dwarf, unit, &unit, NULL, &unit_type, &die, NULL) == 0) {
        if (!take_step(lines)) return;
        if (unit_type != DW_UT_compile && unit_type != DW_UT_skeleton) continue;
        Dwarf_Off *offset = column_push(&lines->units);
        if (!offset) return;
        *offset = dwarf_dieoffset(&die);
        add_ranges(lines, &lines->unit_ranges, &die, (uint32_t)(lines->units.count - 1));
    }
    if (!lines->unit_ranges.count) find_ranges_of_functions(lines);
    settle_ranges(&lines->unit_ranges);
}

/* ---- Names. ---- */

/* Of scopes around a function, the innermost that are named; of entries that stand for one function. */
enum { NAME_SCOPES_MAX = 16, ORIGINS_MAX = 4 };

/* A function that has a scope; `member` NULL: none has that. */
struct named {
    struct scoped_names *names;
    struct member *member;
};

static struct member *find_member(const struct column *members, size_t first, size_t count, Dwarf_Off offset) {
    size_t low = first, high = first + count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct member *member = column_at(members, middle);
        if (member->offset == offset) return member;
        if (member->offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Reads the unit that the entry is in; NULL when memory ran out (latched). */
static const struct shared_unit *read_shared_unit(struct symbol_lines *lines, Dwarf_Die *die) {
    struct column *members = &lines->shared_names.members;
    struct shared_unit *unit = column_push(&lines->shared_units);
    if (!unit) return NULL;
    *unit = (struct shared_unit){.unit = die->cu, .first_member = members->count};
    Dwarf_Die root;
    if (dwarf_diecu(die, &root, NULL, NULL))
        read_children(lines, &root, (struct place){&lines->shared_names, .function = ID_NONE, .scope = ID_NONE});
    unit->member_count = members->count - unit->first_member;
    return unit;
}

static const struct shared_unit *find_shared_unit(struct symbol_lines *lines, Dwarf_Die *die) {
    struct index_set *numbers = &lines->unit_numbers;
    uint32_t hash = index_set_hash(&die->cu, sizeof die->cu);
    if (!index_set_reserve(numbers)) return NULL;
    struct index_slot *slot = index_set_first(numbers, hash);
    for (; !index_slot_is_empty(slot); slot = index_set_next(numbers, slot)) {
        const struct shared_unit *unit = column_at(&lines->shared_units, slot->index);
        if (unit->unit == die->cu) return unit;
    }
    index_set_fill(numbers, slot, hash, (uint32_t)lines->shared_units.count);
    return read_shared_unit(lines, die);
}

static struct named find_named(struct symbol_lines *lines, Dwarf_Die *die) {
    Dwarf_Off offset = dwarf_dieoffset(die);
    if (die->cu == lines->root.cu) {
        const struct column *members = &lines->names.members;
        return (struct named){&lines->names, find_member(members, 0, members->count, offset)};
    }
    const struct shared_unit *unit = find_shared_unit(lines, die);
    if (!unit) return (struct named){0};
    const struct column *members = &lines->shared_names.members;
    return (struct named){&lines->shared_names, find_member(members, unit->first_member, unit->member_count, offset)};
}

/* A function's entry refers to a general one, and that to its declaration, which is where the name is from. */
static struct named find_declaration(struct symbol_lines *lines, Dwarf_Die die) {
    struct named found = find_named(lines, &die);
    for (size_t i = 0; i < ORIGINS_MAX; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && !dwarf_attr(&die, DW_AT_specification, &attribute))
            break;
        if (!dwarf_formref_die(&attribute, &next)) break;
        die = next;
        struct named named = find_named(lines, &die);
        if (named.member) found = named;
    }
    return found;
}

static const char *scope_name(const struct scoped_names *names, uint32_t row, uint32_t *parent) {
    struct name_scope *scope = column_at(&names->scopes, row);
    *parent = scope->parent;
    const char *name = dwarf_diename(&scope->die);
    return name ? name : dwarf_tag(&scope->die) == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous)";
}

/* "outer::inner::name"; the name alone when memory ran out (latched). */
static const char *join_scopes(struct scoped_names *names, uint32_t scope, const char *name) {
    const char *parts[NAME_SCOPES_MAX];
    size_t count = 0, bytes_count = strlen(name) + 1;
    while (scope != ID_NONE && count < NAME_SCOPES_MAX) {
        parts[count] = scope_name(names, scope, &scope);
        bytes_count += strlen(parts[count++]) + 2;
    }
    char *joined = arena_take_bytes(&names->texts, bytes_count);
    if (!joined) return name;
    char *end = joined;
    while (count) {
        end = stpcpy(end, parts[--count]);
        end = stpcpy(end, "::");
    }
    strcpy(end, name);
    return joined;
}

/* The name that linkers see tells all, where it is made from the one in the source and is not an alias. A function that
 * is inlined wherever it is called need not have one. */
static const char *name_of(struct symbol_lines *lines, Dwarf_Die *die) {
    const char *linker_name = text_attribute(die, DW_AT_linkage_name);
    if (!linker_name) linker_name = text_attribute(die, DW_AT_MIPS_linkage_name);
    if (linker_name && symbol_name_is_mangled(text_of(linker_name))) return linker_name;
    const char *name = text_attribute(die, DW_AT_name);
    if (!name) return linker_name;
    struct named named = find_declaration(lines, *die);
    if (!named.member) return name;
    if (!named.member->name) named.member->name = join_scopes(named.names, named.member->scope, name);
    return named.member->name;
}

/* ---- Places. ---- */

/* A number that is 0 where the entry has none of the name, or one that is no line. */
static uint32_t number_attribute(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &number) != 0) return 0;
    return number <= INT32_MAX ? (uint32_t)number : 0;
}

/* libdw's name for no file. */
static const char *known_file(const char *file) { return file && strcmp(file, "???") != 0 ? file : NULL; }

/* The place in the caller where the inlined call is. */
static void set_call_place(struct symbol_lines *lines, struct symbol_call *caller, Dwarf_Die *inlined) {
    caller->line = number_attribute(inlined, DW_AT_call_line);
    caller->column = number_attribute(inlined, DW_AT_call_column);
    if (!lines->files || !dwarf_hasattr(inlined, DW_AT_call_file)) return;
    caller->file = known_file(dwarf_filesrc(lines->files, number_attribute(inlined, DW_AT_call_file), NULL, NULL));
}

static uint64_t row_address(const struct symbol_lines *lines, size_t row) {
    Dwarf_Addr address = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines->rows, row), &address);
    return address;
}

static void set_line(const struct symbol_lines *lines, struct symbol_call *call, uint64_t address) {
    size_t low = 0, high = lines->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row_address(lines, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return;
    Dwarf_Line *row = dwarf_onesrcline(lines->rows, low - 1);
    bool is_behind_sequence = true;
    if (!row || dwarf_lineendsequence(row, &is_behind_sequence) != 0 || is_behind_sequence) return;
    int line = 0, column = 0;
    if (dwarf_lineno(row, &line) == 0 && line > 0) call->line = (uint32_t)line;
    if (call->line && dwarf_linecol(row, &column) == 0 && column > 0) call->column = (uint32_t)column;
    call->file = known_file(dwarf_linesrc(row, NULL, NULL));
}

static void set_declaration(struct symbol_call *call, Dwarf_Die *die) {
    const char *file = known_file(dwarf_decl_file(die));
    int line;
    if (!file || dwarf_decl_line(die, &line) != 0 || line <= 0) return;
    if (!call->file) call->file = file;
    if (strcmp(call->file, file) == 0) call->declaration_line = (uint32_t)line;
}

/* ---- Looking up. ---- */

/* The inlined calls around the address, from the outermost on. */
static size_t find_inlined(const struct symbol_lines *lines, const struct function *function, uint64_t address,
                           struct inlined_call *found[SYMBOL_CALLS_MAX - 1]) {
    size_t count = 0;
    for (size_t i = 0, run_count; i < function->inlined_count; i += run_count) {
        struct inlined_call *run = column_run(&lines->inlined, function->first_inlined + i, &run_count);
        if (run_count > function->inlined_count - i) run_count = function->inlined_count - i;
        for (size_t j = 0; j < run_count; j++) {
            struct inlined_call *call = &run[j];
            if (address < call->start || address >= call->end) continue;
            while (count && found[count - 1]->depth >= call->depth) count--;
            if (count < SYMBOL_CALLS_MAX - 1) found[count++] = call;
        }
    }
    return count;
}

static size_t find_calls(struct symbol_lines *lines, uint64_t address, struct symbol_call *calls) {
    uint32_t unit = find_in_ranges(&lines->unit_ranges, address);
    if (unit == ID_NONE || !enter_unit(lines, unit)) return 0;
    uint32_t row = find_in_ranges(&lines->function_ranges, address);
    calls[0] = (struct symbol_call){.folder = lines->folder};
    if (row == ID_NONE) {
        set_line(lines, &calls[0], address);
        return calls[0].file ? 1 : 0;
    }
    struct function *function = column_at(&lines->functions, row);
    struct inlined_call *inlined[SYMBOL_CALLS_MAX - 1];
    size_t inlined_count = find_inlined(lines, function, address, inlined);
    for (size_t i = 0; i <= inlined_count; i++) {
        Dwarf_Die *die = i ? &inlined[i - 1]->die : &function->die;
        calls[i] = (struct symbol_call){.name = name_of(lines, die), .folder = lines->folder};
        if (i < inlined_count)
            set_call_place(lines, &calls[i], &inlined[i]->die);
        else
            set_line(lines, &calls[i], address);
        set_declaration(&calls[i], die);
    }
    return inlined_count + 1;
}

/* ---- The face. ---- */

/* Steps for sections that are compressed, too. */
static const uint64_t STEPS_PER_BYTE = 16, STEPS_MIN = 1 << 20;

/* False when there is no DWARF that can be read, or when memory ran out. */
static bool start(struct symbol_lines *lines) {
    errno = 0;
    if (!lines->supplement_elf)
        lines->supplement_elf = lines->empty_elf = elf_memory((char *)(uintptr_t)&empty_file, sizeof empty_file);
    if (start_libdw(lines)) find_units(lines);
    check_memory(lines);
    return lines->units.count && !failure_is_set(lines->failure);
}

struct symbol_lines *symbol_lines_create(const struct debug_file *file, const struct debug_file *supplement,
                                         struct failure *failure) {
    bool is_ready = debug_file_uncompress(file) && (!supplement || debug_file_uncompress(supplement));
    struct symbol_lines *lines = is_ready ? malloc(sizeof *lines) : NULL;
    if (!lines) {
        failure_set_memory(failure);
        return NULL;
    }
    *lines = (struct symbol_lines){.failure = failure, .elf = file->elf, .unit = ID_NONE};
    uint64_t size_bytes = file->size_bytes + (supplement ? supplement->size_bytes : 0);
    lines->steps_left = size_bytes * STEPS_PER_BYTE + STEPS_MIN;
    column_init(&lines->units, sizeof(Dwarf_Off), failure);
    column_init(&lines->unit_ranges, sizeof(struct range), failure);
    init_unit(lines);
    lines->supplement_elf = supplement ? supplement->elf : NULL;
    if (start(lines)) return lines;
    symbol_lines_destroy(lines);
    return NULL;
}

void symbol_lines_destroy(struct symbol_lines *lines) {
    if (!lines) return;
    end_libdw(lines);
    if (lines->empty_elf) elf_end(lines->empty_elf);
    column_fini(&lines->units);
    column_fini(&lines->unit_ranges);
    fini_unit(lines);
    fini_shared(lines);
    free(lines);
}

size_t symbol_lines_find(struct symbol_lines *lines, uint64_t address, struct symbol_call calls[SYMBOL_CALLS_MAX]) {
    if (lines->is_broken || failure_is_set(lines->failure)) return 0;
    errno = 0;
    size_t count = find_calls(lines, address, calls);
    check_memory(lines);
    return failure_is_set(lines->failure) ? 0 : count;
}
