#include "symbol_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "address_ranges.h"
#include "dwarf_names.h"
#include "dwarf_session.h"
#include "libconvert/base/child_process.h"
#include "libconvert/base/first_row.h"
#include "libconvert/base/row_table.h"
#include "libconvert/base/value_table.h"
#include "symbol_names.h"

/* The deepest nesting of entries that is read. Compilers nest some dozens. What is deeper is missing: see
 * SYMBOL_LACKS_DEPTH. */
enum { LEVELS_MAX = 512 };

/* libdw frees nothing before its end. It is started again once this many units, rows of line tables, or functions of
 * shared units are kept. */
enum { UNITS_KEPT_MAX = 128, ROWS_KEPT_MAX = 1 << 18, SHARED_FUNCTIONS_KEPT_MAX = 1 << 20 };

/* Limits for the entries and ranges that are read: more than any sound file has, compressed sections included. */
static const uint64_t STEPS_PER_BYTE = 16, STEPS_MIN = 1 << 20;

/* A function that becomes a scope when a type is found in it. */
struct scoping {
    Dwarf_Die *die;
    uint32_t scope;    /* the one around the function; ID_NONE: none */
    uint32_t as_scope; /* ID_NONE: it is not one yet */
};

/* What surrounds an entry in the tree. */
struct surroundings {
    struct dwarf_names *names; /* where functions are added */
    uint32_t function;         /* ID_NONE: none */
    uint32_t scope;            /* ID_NONE: none */
    struct scoping *scoping;   /* the innermost function, if no type is further in; else NULL */
    uint32_t depth;            /* the number of inlined calls */
    unsigned level;            /* the number of entries */
    bool is_c;                 /* types of the unit's language have no functions inside them */
};

/* A function with code. What is inside it is read when it is first needed: of most functions, no address is asked. */
struct function {
    Dwarf_Die die;
    struct surroundings around;
    bool is_read;         /* what follows is set */
    size_t first_inlined; /* in inlined */
    size_t inlined_count;
    size_t first_inner; /* functions of types in the function, in inner_names */
    size_t inner_count;
};

/* One range of addresses of a call that was inlined into a function. An outer call precedes the calls in it. */
struct inlined_call {
    uint64_t start;
    uint64_t end;
    Dwarf_Die die;
    uint32_t depth;
};

/* A unit to which other units refer. dwz and link-time optimisation make such units. */
struct shared_unit {
    bool is_read;
    size_t first_function; /* in shared_names */
    size_t function_count;
};

struct symbol_lines {
    struct failure *failure; /* borrowed */
    struct dwarf_session session;
    bool is_broken;              /* libdw failed when it was started again */
    unsigned lacks;              /* bits: enum symbol_lack */
    uint64_t steps_left;         /* entries and ranges that may still be read */
    struct column units;         /* Dwarf_Off; those in the list, and after them all, if those were needed */
    struct column listed_ranges; /* struct address_range */
    struct column unit_ranges;   /* struct address_range; of all units */
    bool has_all_units;

    /* The unit that was read last. */
    uint32_t unit;  /* ID_NONE: none */
    Dwarf_Die die;  /* its entry in this file, which has the line table */
    Dwarf_Die root; /* its outermost entry: `die`, or that of another file if the unit was split */
    const char *folder;
    Dwarf_Files *files;            /* those that entries refer to; NULL: they cannot be read */
    struct column functions;       /* struct function */
    size_t outer_count;            /* functions that are in no other one: they come first, by ascending offset */
    struct column function_ranges; /* struct address_range */
    struct column inlined;         /* struct inlined_call */
    struct dwarf_names names;
    struct dwarf_names inner_names; /* names of functions of types that are local to functions */

    /* What was read since the session was started. */
    struct value_table shared_units; /* struct shared_unit by Dwarf_CU * */
    struct dwarf_names shared_names;
    size_t kept_unit_count;
    size_t kept_row_count;
};

/* ---- The session. ---- */

/* libdw reports damage when an allocation fails; errno distinguishes the two. */
static void check_memory(const struct symbol_lines *lines) {
    if (errno == ENOMEM) failure_set_memory(lines->failure);
}

static void init_shared(struct symbol_lines *lines) {
    value_table_init(&lines->shared_units, sizeof(Dwarf_CU *), sizeof(struct shared_unit), lines->failure);
    dwarf_names_init(&lines->shared_names, lines->failure);
}

static void fini_shared(struct symbol_lines *lines) {
    value_table_fini(&lines->shared_units);
    dwarf_names_fini(&lines->shared_names);
}

static bool start_session(struct symbol_lines *lines) {
    fini_shared(lines);
    init_shared(lines);
    lines->unit = ID_NONE;
    lines->kept_unit_count = lines->kept_row_count = 0;
    return dwarf_session_start(&lines->session);
}

/* ---- Ranges. ---- */

/* Checks errno at each step, since libdw may open files later and overwrite it. */
static bool take_step(struct symbol_lines *lines) {
    check_memory(lines);
    return lines->steps_left && lines->steps_left--;
}

/* A position in the ranges of an entry. dwarf_ranges needs the base address that its previous call stored. */
struct range_position {
    ptrdiff_t offset;
    Dwarf_Addr base;
};

/* Stores the entry's next range; a zeroed position is before the first one. Returns false after the last one. */
static bool next_range(struct symbol_lines *lines, Dwarf_Die *die, struct range_position *at, uint64_t *start,
                       uint64_t *end) {
    while (take_step(lines) && (at->offset = dwarf_ranges(die, at->offset, &at->base, start, end)) > 0)
        if (*start >= DEBUG_ADDRESS_MIN && *start < *end) return true;
    return false;
}

/* Adds the ranges of the entry. Returns their number. */
static size_t add_ranges(struct symbol_lines *lines, struct column *ranges, Dwarf_Die *die, uint32_t row) {
    struct range_position at = {0};
    uint64_t start, end;
    size_t count = 0;
    while (next_range(lines, die, &at, &start, &end)) {
        struct address_range *range = column_push(ranges);
        if (!range) break;
        *range = (struct address_range){start, end, row};
        count++;
    }
    return count;
}

/* ---- The entries of a unit. ---- */

static void read_children(struct symbol_lines *lines, Dwarf_Die *parent, struct surroundings around);

static bool is_scope_tag(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
           tag == DW_TAG_union_type || tag == DW_TAG_module || tag == DW_TAG_enumeration_type;
}

/* Reads what is inside the function, unless that was done. A function inside it is read with it. */
static void read_inside(struct symbol_lines *lines, uint32_t row) {
    struct function *function = column_at(&lines->functions, row);
    if (function->is_read) return;
    function->is_read = true;
    function->first_inlined = lines->inlined.count;
    function->first_inner = lines->inner_names.functions.count;
    Dwarf_Die die = function->die;
    struct surroundings around = function->around;
    struct scoping scoping = {&die, around.scope, ID_NONE};
    around.scoping = &scoping;
    read_children(lines, &die, around);
    function = column_at(&lines->functions, row);
    function->inlined_count = lines->inlined.count - function->first_inlined;
    function->inner_count = lines->inner_names.functions.count - function->first_inner;
}

static void read_function(struct symbol_lines *lines, Dwarf_Die *die, struct surroundings around) {
    uint32_t row = (uint32_t)lines->functions.count;
    bool is_inner = around.names == &lines->inner_names, is_shared = around.names == &lines->shared_names;
    if (around.scoping) around.scope = ID_NONE; /* a function in a function */
    struct scoping scoping = {die, around.scope, ID_NONE};
    dwarf_names_add_function(around.names, die, around.scope);
    around.scoping = &scoping;
    around.depth = 0;
    around.function = ID_NONE;
    if (is_shared || !add_ranges(lines, &lines->function_ranges, die, row)) {
        read_children(lines, die, around);
        return;
    }
    struct function *function = column_push(&lines->functions);
    if (!function) return;
    around.function = row;
    around.names = &lines->inner_names;
    around.scoping = NULL;
    if (!is_inner) around.scope = ID_NONE;
    *function = (struct function){.die = *die, .around = around};
    if (is_inner) read_inside(lines, row);
}

static void read_inlined(struct symbol_lines *lines, Dwarf_Die *die, struct surroundings around) {
    if (around.function == ID_NONE) return;
    struct range_position at = {0};
    uint64_t start, end;
    around.depth++;
    while (next_range(lines, die, &at, &start, &end))
        column_add(&lines->inlined, &(struct inlined_call){start, end, *die, around.depth});
    read_children(lines, die, around);
}

/* Calls and types of values have entries inside them, but no functions or inlined calls. They are most of the entries
 * in optimized functions. */
static bool is_empty_tag(int tag) {
    return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site || tag == DW_TAG_array_type ||
           tag == DW_TAG_subroutine_type;
}

static uint32_t scope_of(struct dwarf_names *names, struct scoping *function) {
    if (function->as_scope == ID_NONE)
        function->as_scope = dwarf_names_add_scope(names, function->die, function->scope);
    return function->as_scope;
}

static void read_entry(struct symbol_lines *lines, Dwarf_Die *die, struct surroundings around) {
    int tag = dwarf_tag(die);
    if (around.is_c && is_scope_tag(tag)) return;
    if (is_scope_tag(tag) && dwarf_haschildren(die) == 1) {
        if (around.scoping) around.scope = scope_of(around.names, around.scoping);
        around.scoping = NULL;
        around.scope = dwarf_names_add_scope(around.names, die, around.scope);
    }
    if (tag == DW_TAG_subprogram)
        read_function(lines, die, around);
    else if (tag == DW_TAG_inlined_subroutine)
        read_inlined(lines, die, around);
    else if (!is_empty_tag(tag) && dwarf_haschildren(die) == 1)
        read_children(lines, die, around);
}

static void read_children(struct symbol_lines *lines, Dwarf_Die *parent, struct surroundings around) {
    if (++around.level > LEVELS_MAX) {
        lines->lacks |= SYMBOL_LACKS_DEPTH;
        return;
    }
    Dwarf_Off last = dwarf_dieoffset(parent);
    Dwarf_Die die;
    for (int result = dwarf_child(parent, &die); result == 0; result = dwarf_siblingof(&die, &die)) {
        /* A damaged unit could refer back, and would be read forever. */
        Dwarf_Off offset = dwarf_dieoffset(&die);
        if (offset <= last || !take_step(lines) || failure_is_set(lines->failure)) return;
        last = offset;
        read_entry(lines, &die, around);
    }
}

/* ---- Units. ---- */

static const char *text_attribute(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static void init_unit(struct symbol_lines *lines) {
    column_init(&lines->functions, sizeof(struct function), lines->failure);
    column_init(&lines->function_ranges, sizeof(struct address_range), lines->failure);
    column_init(&lines->inlined, sizeof(struct inlined_call), lines->failure);
    dwarf_names_init(&lines->names, lines->failure);
    dwarf_names_init(&lines->inner_names, lines->failure);
    lines->outer_count = 0;
    lines->unit = ID_NONE;
    lines->folder = NULL;
    lines->files = NULL;
}

static void fini_unit(struct symbol_lines *lines) {
    COLUMNS_FINI(&lines->functions, &lines->function_ranges, &lines->inlined);
    dwarf_names_fini(&lines->names);
    dwarf_names_fini(&lines->inner_names);
}

/* Finds the outermost entry of the unit. The entries of a unit that was split (-gsplit-dwarf) are in another file; only
 * its line table is in this one. */
static void find_root(struct symbol_lines *lines) {
    uint8_t unit_type = 0;
    Dwarf_Die split;
    lines->root = lines->die;
    if (dwarf_cu_info(lines->die.cu, NULL, &unit_type, NULL, &split, NULL, NULL, NULL) != 0) return;
    if (unit_type != DW_UT_skeleton) return;
    if (!split.cu || dwarf_tag(&split) == DW_TAG_invalid) {
        lines->lacks |= SYMBOL_LACKS_UNITS;
        return;
    }
    dwarf_new_oom_handler(dwarf_cu_getdwarf(split.cu), child_leave);
    lines->root = split;
}

static void read_table(struct symbol_lines *lines) {
    Dwarf_Lines *rows;
    size_t row_count, file_count;
    if (dwarf_getsrclines(&lines->die, &rows, &row_count) == 0) lines->kept_row_count += row_count;
    if (dwarf_getsrcfiles(&lines->root, &lines->files, &file_count) != 0) lines->files = NULL;
}

static bool is_c(Dwarf_Die *root) {
    int language = dwarf_srclang(root);
    return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 || language == DW_LANG_C11;
}

/* Returns false if libdw fails. */
static bool read_unit(struct symbol_lines *lines, uint32_t unit) {
    Dwarf_Off offset = *(const Dwarf_Off *)column_at(&lines->units, unit);
    fini_unit(lines);
    init_unit(lines);
    if (!dwarf_offdie(lines->session.dwarf, offset, &lines->die)) return false;
    find_root(lines);
    read_children(
        lines, &lines->root,
        (struct surroundings){&lines->names, .function = ID_NONE, .scope = ID_NONE, .is_c = is_c(&lines->root)});
    address_ranges_finish(&lines->function_ranges);
    lines->outer_count = lines->functions.count;
    lines->folder = text_attribute(&lines->die, DW_AT_comp_dir);
    read_table(lines);
    lines->kept_unit_count++;
    return true;
}

/* Reads the unit unless it was read last. Returns false if libdw fails. */
static bool enter_unit(struct symbol_lines *lines, uint32_t unit) {
    if (lines->unit == unit) return true;
    bool is_full = lines->kept_unit_count >= UNITS_KEPT_MAX || lines->kept_row_count >= ROWS_KEPT_MAX ||
                   lines->shared_names.functions.count >= SHARED_FUNCTIONS_KEPT_MAX;
    lines->is_broken = (is_full && !start_session(lines)) || !read_unit(lines, unit);
    if (lines->is_broken) return false;
    lines->unit = unit;
    return !failure_is_set(lines->failure);
}

/* Reads what is inside functions. Returns whether other functions were found there. */
static bool read_functions_inside(struct symbol_lines *lines, size_t first, size_t end) {
    size_t range_count = lines->function_ranges.count;
    for (size_t row = first; row < end; row++) read_inside(lines, (uint32_t)row);
    if (lines->function_ranges.count == range_count) return false;
    address_ranges_finish(&lines->function_ranges);
    return true;
}

/* If no unit has addresses of its own, gives each the addresses of its functions. */
static void find_ranges_of_functions(struct symbol_lines *lines) {
    for (uint32_t unit = 0; unit < lines->units.count; unit++) {
        if (!enter_unit(lines, unit)) return;
        read_functions_inside(lines, 0, lines->outer_count);
        for (size_t i = 0; i < lines->function_ranges.count; i++) {
            struct address_range *range = column_push(&lines->unit_ranges);
            if (!range) return;
            *range = *(const struct address_range *)column_at(&lines->function_ranges, i);
            range->row = unit;
        }
    }
}

/* Reads the list of the units' addresses, which not all compilers make. Asking each of the C library's 2,000 units
 * takes 6 ms. */
static void list_units(struct symbol_lines *lines) {
    struct row_table offsets; /* Dwarf_Off of each unit */
    Dwarf_Aranges *list;
    size_t count;
    if (dwarf_getaranges(lines->session.dwarf, &list, &count) != 0) return;
    row_table_init(&offsets, sizeof(Dwarf_Off), lines->failure);
    for (size_t i = 0; i < count && take_step(lines) && !failure_is_set(lines->failure); i++) {
        Dwarf_Addr start;
        Dwarf_Word bytes_count;
        Dwarf_Off offset;
        if (dwarf_getarangeinfo(dwarf_onearange(list, i), &start, &bytes_count, &offset) != 0) continue;
        if (start < DEBUG_ADDRESS_MIN || !bytes_count || bytes_count > UINT64_MAX - start) continue;
        uint32_t row = row_table_intern(&offsets, &offset);
        if (row == lines->units.count) column_add(&lines->units, &offset);
        column_add(&lines->listed_ranges, &(struct address_range){start, start + bytes_count, row});
    }
    row_table_fini(&offsets);
    address_ranges_finish(&lines->listed_ranges);
}

static void find_units(struct symbol_lines *lines) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t unit_type;
    lines->has_all_units = true;
    while (dwarf_get_units(lines->session.dwarf, unit, &unit, NULL, &unit_type, &die, NULL) == 0) {
        if (!take_step(lines)) return;
        if (unit_type != DW_UT_compile && unit_type != DW_UT_skeleton) continue;
        Dwarf_Off *offset = column_push(&lines->units);
        if (!offset) return;
        *offset = dwarf_dieoffset(&die);
        add_ranges(lines, &lines->unit_ranges, &die, (uint32_t)(lines->units.count - 1));
    }
    if (!lines->unit_ranges.count) find_ranges_of_functions(lines);
    address_ranges_finish(&lines->unit_ranges);
}

/* ---- Names. ---- */

/* A function that is in a scope, and the names that hold it. */
struct found_function {
    struct dwarf_names *names;
    struct dwarf_scoped_function *function; /* NULL: no scope has it */
};

/* Returns the unit of the entry, which is read when it is first asked for. NULL if memory ran out (latched). */
static const struct shared_unit *find_shared_unit(struct symbol_lines *lines, Dwarf_Die *die) {
    const struct column *functions = &lines->shared_names.functions;
    struct shared_unit *unit = value_table_intern(&lines->shared_units, &die->cu, &(struct shared_unit){0});
    if (!unit || unit->is_read) return unit;
    *unit = (struct shared_unit){.is_read = true, .first_function = functions->count};
    Dwarf_Die root;
    if (dwarf_diecu(die, &root, NULL, NULL))
        read_children(lines, &root, (struct surroundings){&lines->shared_names, .function = ID_NONE, .scope = ID_NONE});
    unit->function_count = functions->count - unit->first_function;
    return unit;
}

static struct function *function_at(const struct symbol_lines *lines, size_t row) {
    return column_at(&lines->functions, row);
}

static bool has_inside(const struct function *function, Dwarf_Off offset) {
    Dwarf_Die die = function->die, next;
    return dwarf_siblingof(&die, &next) != 0 || offset < dwarf_dieoffset(&next);
}

/* Finds a function of a type in a function. */
static struct found_function find_inner_function(struct symbol_lines *lines, Dwarf_Off offset) {
    struct dwarf_names *names = &lines->inner_names;
    size_t next = FIRST_ROW(i, lines->outer_count, dwarf_dieoffset(&function_at(lines, i)->die) >= offset);
    if (!next || !has_inside(function_at(lines, next - 1), offset)) return (struct found_function){0};
    read_functions_inside(lines, next - 1, next);
    const struct function *outer = function_at(lines, next - 1);
    return (struct found_function){names, dwarf_names_find(names, outer->first_inner, outer->inner_count, offset)};
}

static struct found_function find_function(struct symbol_lines *lines, Dwarf_Die *die) {
    struct dwarf_names *names = &lines->names;
    Dwarf_Off offset = dwarf_dieoffset(die);
    if (die->cu == lines->root.cu) {
        struct dwarf_scoped_function *function = dwarf_names_find(names, 0, names->functions.count, offset);
        return function ? (struct found_function){names, function} : find_inner_function(lines, offset);
    }
    const struct shared_unit *unit = find_shared_unit(lines, die);
    if (!unit) return (struct found_function){0};
    names = &lines->shared_names;
    return (struct found_function){names, dwarf_names_find(names, unit->first_function, unit->function_count, offset)};
}

/* Finds the declaration of a function, which is in the scope that its name needs. Its entry refers to an abstract one,
 * and that to the declaration. */
static struct found_function find_declaration(struct symbol_lines *lines, Dwarf_Die die) {
    struct found_function found = find_function(lines, &die);
    const void *mark = die.addr;
    for (size_t step = 1, mark_step = 1;; step++) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && !dwarf_attr(&die, DW_AT_specification, &attribute))
            break;
        if (!dwarf_formref_die(&attribute, &next)) break;
        die = next;
        struct found_function origin = find_function(lines, &die);
        if (origin.function) found = origin;
        if (die.addr == mark) break; /* the entries of a damaged file refer to each other in a circle */
        if (step != mark_step) continue;
        mark = die.addr;
        mark_step *= 2;
    }
    return found;
}

/* Returns the mangled linkage name, which has all scopes and parameters, if there is one; otherwise the qualified name
 * from the source. A function that is inlined everywhere may have no linkage name, and an alias has one that is not
 * mangled. */
static const char *name_of(struct symbol_lines *lines, Dwarf_Die *die) {
    const char *linker_name = text_attribute(die, DW_AT_linkage_name);
    if (!linker_name) linker_name = text_attribute(die, DW_AT_MIPS_linkage_name);
    if (linker_name && symbol_name_is_mangled(text_of(linker_name))) return linker_name;
    const char *name = text_attribute(die, DW_AT_name);
    if (!name) return linker_name;
    struct found_function found = find_declaration(lines, *die);
    return found.function ? dwarf_names_qualify(found.names, found.function, name) : name;
}

/* ---- Source lines. ---- */

/* Returns the entry's line or column of that name; 0 if it has none, or a number that is too large for one. */
static uint32_t number_attribute(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &number) != 0) return 0;
    return number <= INT32_MAX ? (uint32_t)number : 0;
}

/* "???" is libdw's name for an unknown file. */
static const char *known_file(const char *file) { return file && strcmp(file, "???") != 0 ? file : NULL; }

/* Sets where in the caller the inlined call is. */
static void set_call_site(struct symbol_lines *lines, struct symbol_call *caller, Dwarf_Die *inlined) {
    caller->line = number_attribute(inlined, DW_AT_call_line);
    caller->column = number_attribute(inlined, DW_AT_call_column);
    if (!dwarf_hasattr(inlined, DW_AT_call_file)) return;
    uint32_t number = number_attribute(inlined, DW_AT_call_file);
    if (lines->files) caller->file = known_file(dwarf_filesrc(lines->files, number, NULL, NULL));
}

static void set_line(struct symbol_lines *lines, struct symbol_call *call, uint64_t address) {
    Dwarf_Line *row = dwarf_getsrc_die(&lines->die, address);
    int line = 0, column = 0;
    if (!row) return;
    if (dwarf_lineno(row, &line) == 0 && line > 0) call->line = (uint32_t)line;
    if (call->line && dwarf_linecol(row, &column) == 0 && column > 0) call->column = (uint32_t)column;
    call->file = known_file(dwarf_linesrc(row, NULL, NULL));
}

/* Sets where the function begins. A line in another file, from an #include in the function, is dropped: profiles have
 * one file for a function, and it would be another function for each of its files. */
static void set_declaration(struct symbol_call *call, Dwarf_Die *die) {
    const char *file = known_file(dwarf_decl_file(die));
    int line;
    if (!file || dwarf_decl_line(die, &line) != 0 || line <= 0) return;
    if (call->file && strcmp(call->file, file) != 0) call->line = call->column = 0;
    call->file = file;
    call->declaration_line = (uint32_t)line;
}

/* ---- Looking up. ---- */

/* Stores the inlined calls at the address, the outermost first. Returns their number. */
static size_t find_inlined(struct symbol_lines *lines, const struct function *function, uint64_t address,
                           struct inlined_call *found[SYMBOL_CALLS_MAX - 1]) {
    size_t count = 0;
    for (size_t i = 0, run_count; i < function->inlined_count; i += run_count) {
        struct inlined_call *run = column_run(&lines->inlined, function->first_inlined + i, &run_count);
        if (run_count > function->inlined_count - i) run_count = function->inlined_count - i;
        for (size_t j = 0; j < run_count; j++) {
            struct inlined_call *call = &run[j];
            if (address < call->start || address >= call->end) continue;
            while (count && found[count - 1]->depth >= call->depth) count--;
            if (count < SYMBOL_CALLS_MAX - 1)
                found[count++] = call;
            else
                lines->lacks |= SYMBOL_LACKS_DEPTH;
        }
    }
    return count;
}

/* Enters the unit of the address. `row` becomes that of the function; ID_NONE: none has the address. */
static bool enter_unit_in(struct symbol_lines *lines, const struct column *ranges, uint64_t address, uint32_t *row) {
    uint32_t unit = address_ranges_find(ranges, address);
    *row = ID_NONE;
    if (unit == ID_NONE || !enter_unit(lines, unit)) return false;
    *row = address_ranges_find(&lines->function_ranges, address);
    if (*row == ID_NONE && read_functions_inside(lines, 0, lines->outer_count))
        *row = address_ranges_find(&lines->function_ranges, address);
    return true;
}

/* Asks all units for what the list lacks, or has with a wrong unit. */
static bool enter_unit_of(struct symbol_lines *lines, uint64_t address, uint32_t *row) {
    bool is_listed = enter_unit_in(lines, &lines->listed_ranges, address, row);
    if (is_listed && (*row != ID_NONE || dwarf_haspc(&lines->die, address) > 0)) return true;
    if (lines->is_broken) return false;
    if (!lines->has_all_units) find_units(lines);
    return enter_unit_in(lines, &lines->unit_ranges, address, row);
}

static size_t find_calls(struct symbol_lines *lines, uint64_t address, struct symbol_call *calls) {
    uint32_t row;
    if (!enter_unit_of(lines, address, &row)) return 0;
    calls[0] = (struct symbol_call){.folder = lines->folder};
    if (row == ID_NONE) {
        set_line(lines, &calls[0], address);
        return calls[0].file ? 1 : 0;
    }
    read_functions_inside(lines, row, row + 1);
    struct function *function = function_at(lines, row);
    struct inlined_call *inlined[SYMBOL_CALLS_MAX - 1];
    size_t inlined_count = find_inlined(lines, function, address, inlined);
    for (size_t i = 0; i <= inlined_count; i++) {
        Dwarf_Die *die = i ? &inlined[i - 1]->die : &function->die;
        calls[i] = (struct symbol_call){.name = name_of(lines, die), .folder = lines->folder};
        if (i && !calls[i].name) return i; /* the name is in another file, which is missing */
        if (i < inlined_count)
            set_call_site(lines, &calls[i], &inlined[i]->die);
        else
            set_line(lines, &calls[i], address);
        set_declaration(&calls[i], die);
    }
    return inlined_count + 1;
}

/* ---- Creating and destroying. ---- */

/* Returns false if there is no DWARF that can be read, or if memory ran out (latched). */
static bool start(struct symbol_lines *lines) {
    if (start_session(lines)) {
        list_units(lines);
        if (!lines->units.count) find_units(lines);
    }
    check_memory(lines);
    return lines->units.count && !failure_is_set(lines->failure);
}

struct symbol_lines *symbol_lines_create(struct debug_file *file, struct debug_file *supplement,
                                         struct failure *failure) {
    bool is_ready = debug_file_uncompress(file) && (!supplement || debug_file_uncompress(supplement));
    struct symbol_lines *lines = failure_check_memory(failure, is_ready ? malloc(sizeof *lines) : NULL);
    if (!lines) return NULL;
    *lines = (struct symbol_lines){.failure = failure, .unit = ID_NONE};
    errno = 0;
    dwarf_session_init(&lines->session, file->elf, supplement ? supplement->elf : NULL);
    uint64_t size_bytes = file->size_bytes + (supplement ? supplement->size_bytes : 0);
    lines->steps_left = size_bytes * STEPS_PER_BYTE + STEPS_MIN;
    column_init(&lines->units, sizeof(Dwarf_Off), failure);
    column_init(&lines->listed_ranges, sizeof(struct address_range), failure);
    column_init(&lines->unit_ranges, sizeof(struct address_range), failure);
    init_unit(lines);
    if (start(lines)) return lines;
    symbol_lines_destroy(lines);
    return NULL;
}

void symbol_lines_destroy(struct symbol_lines *lines) {
    if (!lines) return;
    dwarf_session_fini(&lines->session);
    COLUMNS_FINI(&lines->units, &lines->listed_ranges, &lines->unit_ranges);
    fini_unit(lines);
    fini_shared(lines);
    free(lines);
}

unsigned symbol_lines_lacks(const struct symbol_lines *lines) { return lines->lacks; }

size_t symbol_lines_find(struct symbol_lines *lines, uint64_t address, struct symbol_call calls[SYMBOL_CALLS_MAX]) {
    if (lines->is_broken || failure_is_set(lines->failure)) return 0;
    errno = 0;
    size_t count = find_calls(lines, address, calls);
    check_memory(lines);
    return failure_is_set(lines->failure) ? 0 : count;
}

/* ---- Paths. ---- */

struct text symbol_call_path(const struct symbol_call *call, char bytes[PATH_MAX]) {
    struct text file = text_of(call->file);
    if (text_starts_with(file, TEXT("/")) || !call->folder) return file;
    /* libdw has joined files that are in the folder itself with it. That shows only if the folder is relative, as in
     * debug information that does not say where it was built. */
    struct text folder = text_of(call->folder);
    if (text_starts_with(file, folder) && file.bytes[folder.bytes_count] == '/') return file;
    while (text_starts_with(file, TEXT("./"))) file = text_from(file, 2);
    int bytes_count = snprintf(bytes, PATH_MAX, "%s/%s", call->folder, file.bytes);
    return bytes_count > 0 && bytes_count < PATH_MAX ? (struct text){bytes, (size_t)bytes_count} : file;
}
