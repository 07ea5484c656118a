#include "line_table.h"

#include <dwarf.h>
#include <endian.h>
#include <stdlib.h>

#include "libconvert/base/first_row.h"
#include "libconvert/base/memory.h"

struct line_file {
    const char *name;
    uint64_t folder;  /* a number of `folders` */
    const char *path; /* NULL: not made yet */
};

/* ---- Bytes. ---- */

/* What has not been read yet. After damage, nothing is left, and everything reads as 0. */
struct bytes {
    struct text left;
    bool is_damaged;
};

static const char *take(struct bytes *bytes, uint64_t count) {
    static const char zeros[8];
    const char *taken = bytes->left.bytes;
    bool is_whole = count <= bytes->left.bytes_count;
    bytes->is_damaged |= !is_whole;
    bytes->left = is_whole ? text_from(bytes->left, count) : (struct text){0};
    return is_whole ? taken : zeros;
}

/* Takes a number of at most 8 bytes. */
static uint64_t take_number(struct bytes *bytes, unsigned count) {
    uint64_t number = 0;
    memcpy(&number, take(bytes, count), count);
    return le64toh(number);
}

static inline unsigned take_byte(struct bytes *bytes) {
    if (!bytes->left.bytes_count) bytes->is_damaged = true;
    if (bytes->is_damaged) return 0;
    bytes->left.bytes_count--;
    return (unsigned char)*bytes->left.bytes++;
}

static int take_signed_byte(struct bytes *bytes) {
    int byte = (int)take_byte(bytes);
    return byte < 128 ? byte : byte - 256;
}

static uint64_t take_leb(struct bytes *bytes) {
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = take_byte(bytes);
        if (shift < 64) number |= (byte & 0x7f) << shift;
        if (!(byte & 0x80)) return number;
    }
}

static uint64_t take_signed_leb(struct bytes *bytes) {
    uint64_t number = 0, byte;
    unsigned shift = 0;
    do {
        byte = take_byte(bytes);
        if (shift < 64) number |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (byte & 0x40 && shift < 64) number |= UINT64_MAX << shift;
    return number;
}

/* Takes a text that ends with a null byte. */
static const char *take_text(struct bytes *bytes) { return take(bytes, (uint64_t)text_find(bytes->left, '\0') + 1); }

/* Returns the text at an offset in a section; NULL: there is none. */
static const char *text_at(struct text section, uint64_t offset) {
    if (offset >= section.bytes_count) return NULL;
    struct text text = text_from(section, offset);
    return text_find(text, '\0') < text.bytes_count ? text.bytes : NULL;
}

/* ---- The header. ---- */

struct header {
    const struct line_sections *sections;
    struct text program;
    unsigned version;
    unsigned offset_bytes;
    unsigned instruction_bytes;
    unsigned operations_max; /* in an instruction */
    unsigned opcode_base;
    const unsigned char *operand_counts; /* of the opcodes from 1 on */
    struct {
        uint8_t operations;
        int16_t lines;
    } steps[256]; /* what the opcodes from opcode_base on advance by */
};

static void add_folder(struct line_table *table, const char *folder) {
    const char **row = column_push(&table->folders);
    if (row) *row = folder;
}

static void add_file(struct line_table *table, const char *name, uint64_t folder) {
    struct line_file *row = column_push(&table->files);
    if (row) *row = (struct line_file){name, folder, NULL};
}

/* Before version 5, folder 0 is the unit's and file 0 is none. */
static void read_names(struct line_table *table, struct bytes *bytes) {
    const char *name;
    add_folder(table, table->unit_folder);
    while (*(name = take_text(bytes))) add_folder(table, name);
    add_file(table, NULL, 0);
    while (*(name = take_text(bytes))) {
        add_file(table, name, take_leb(bytes));
        take_leb(bytes); /* time */
        take_leb(bytes); /* size */
    }
}

struct entry_value {
    const char *text;
    uint64_t number;
};

/* Takes a value of that form. A form that tables do not have counts as damage: its size is not known. */
static struct entry_value take_value(struct bytes *bytes, const struct header *header, uint64_t form) {
    switch (form) {
        case DW_FORM_string:
            return (struct entry_value){.text = take_text(bytes)};
        case DW_FORM_line_strp:
            return (struct entry_value){
                .text = text_at(header->sections->line_texts, take_number(bytes, header->offset_bytes))};
        case DW_FORM_strp:
            return (struct entry_value){.text =
                                            text_at(header->sections->texts, take_number(bytes, header->offset_bytes))};
        case DW_FORM_udata:
            return (struct entry_value){.number = take_leb(bytes)};
        case DW_FORM_data1:
            return (struct entry_value){.number = take_number(bytes, 1)};
        case DW_FORM_data2:
            return (struct entry_value){.number = take_number(bytes, 2)};
        case DW_FORM_data4:
            return (struct entry_value){.number = take_number(bytes, 4)};
        case DW_FORM_data8:
            return (struct entry_value){.number = take_number(bytes, 8)};
        case DW_FORM_data16:
            take(bytes, 16);
            return (struct entry_value){0};
        case DW_FORM_block:
            take(bytes, take_leb(bytes));
            return (struct entry_value){0};
        default:
            bytes->is_damaged = true;
            bytes->left = (struct text){0};
            return (struct entry_value){0};
    }
}

/* Reads folders or files of version 5, which say what each of their entries consists of. */
static void read_entries(struct line_table *table, struct bytes *bytes, const struct header *header, bool is_file) {
    enum { PARTS_MAX = 255 };
    struct {
        uint64_t content, form;
    } parts[PARTS_MAX];
    size_t part_count = (size_t)take_number(bytes, 1);
    for (size_t i = 0; i < part_count; i++) {
        parts[i].content = take_leb(bytes);
        parts[i].form = take_leb(bytes);
    }
    uint64_t count = take_leb(bytes);
    for (uint64_t i = 0; i < count && part_count && !bytes->is_damaged && !failure_is_set(table->failure); i++) {
        const char *name = NULL;
        uint64_t folder = 0;
        for (size_t j = 0; j < part_count; j++) {
            struct entry_value value = take_value(bytes, header, parts[j].form);
            if (parts[j].content == DW_LNCT_path) name = value.text;
            if (parts[j].content == DW_LNCT_directory_index) folder = value.number;
        }
        if (is_file)
            add_file(table, name, folder);
        else
            add_folder(table, name);
    }
}

static void fill_steps(struct header *header, int line_base, unsigned line_range) {
    for (unsigned opcode = header->opcode_base; opcode < 256; opcode++) {
        unsigned number = opcode - header->opcode_base;
        header->steps[opcode].operations = (uint8_t)(number / line_range);
        header->steps[opcode].lines = (int16_t)(line_base + (int)(number % line_range));
    }
}

/* Returns false if the table cannot be read. */
static bool read_header(struct line_table *table, struct header *header, struct text section) {
    enum { LENGTH_IS_LONG = 0xffffffff };
    struct bytes bytes = {.left = section};
    uint64_t length = take_number(&bytes, 4);
    header->offset_bytes = length == LENGTH_IS_LONG ? 8 : 4;
    if (length == LENGTH_IS_LONG) length = take_number(&bytes, 8);
    bytes.left = text_slice(bytes.left, 0, length);
    header->version = (unsigned)take_number(&bytes, 2);
    if (header->version < 2 || header->version > 5) return false;
    if (header->version == 5) take(&bytes, 2); /* sizes of addresses and segment selectors */
    uint64_t header_bytes = take_number(&bytes, header->offset_bytes);
    header->program = text_from(bytes.left, header_bytes);
    header->instruction_bytes = (unsigned)take_number(&bytes, 1);
    header->operations_max = header->version >= 4 ? (unsigned)take_number(&bytes, 1) : 1;
    take(&bytes, 1); /* whether rows are statements */
    int line_base = take_signed_byte(&bytes);
    unsigned line_range = take_byte(&bytes);
    header->opcode_base = take_byte(&bytes);
    if (!header->opcode_base || !line_range || !header->operations_max) return false;
    fill_steps(header, line_base, line_range);
    header->operand_counts = (const unsigned char *)take(&bytes, header->opcode_base - 1);
    if (bytes.is_damaged) return false;
    if (header->version == 5) {
        read_entries(table, &bytes, header, false);
        read_entries(table, &bytes, header, true);
    } else {
        read_names(table, &bytes);
    }
    return !bytes.is_damaged;
}

/* ---- The program that makes the rows. ---- */

/* Rows with ascending addresses, up to the end of their code. */
struct sequence {
    size_t first_row;
    size_t row_count;
};

/* Linkers give code that they drop one of the last addresses, or 0. */
static const uint64_t DROPPED_ADDRESS_MIN = UINT64_MAX - 1;

struct machine {
    struct line_table *table;
    size_t first_row;        /* of the present sequence */
    struct column sequences; /* struct sequence */
    const struct header *header;
    struct bytes bytes;
    uint64_t address;
    uint64_t operation; /* in the instruction at the address */
    uint64_t file;
    uint64_t line;
    uint64_t column;
};

static void restart(struct machine *machine) {
    machine->address = machine->operation = machine->column = 0;
    machine->file = machine->line = 1;
}

static void add_row(struct machine *machine, bool is_end) {
    struct line_table *table = machine->table;
    if (table->row_count == table->row_capacity) {
        size_t capacity = table->row_capacity ? table->row_capacity * 2 : 1024;
        struct line_row *rows = memory_resize(table->failure, table->rows, capacity * sizeof *rows);
        if (!rows) return;
        table->rows = rows;
        table->row_capacity = capacity;
    }
    table->rows[table->row_count] = (struct line_row){
        .address = machine->address,
        .number = (uint32_t)table->row_count,
        .file = machine->file <= UINT32_MAX ? (uint32_t)machine->file : UINT32_MAX,
        .line = machine->line <= INT32_MAX ? (uint32_t)machine->line : 0,
        .column = machine->column <= INT32_MAX ? (uint32_t)machine->column & INT32_MAX : 0,
        .is_end = is_end,
    };
    table->row_count++;
}

static void advance(struct machine *machine, uint64_t operation_count) {
    const struct header *header = machine->header;
    uint64_t operation = machine->operation + operation_count;
    if (header->operations_max == 1) {
        machine->address += header->instruction_bytes * operation;
        return;
    }
    machine->address += header->instruction_bytes * (operation / header->operations_max);
    machine->operation = operation % header->operations_max;
}

/* Ends a sequence of rows. Drops it if the linker has dropped its code: then its addresses count from 0 or from the
 * top.
 */
static void end_sequence(struct machine *machine) {
    struct line_table *table = machine->table;
    add_row(machine, true);
    size_t count = table->row_count - machine->first_row;
    const struct line_row *first = table->rows + machine->first_row;
    bool is_dropped = count && (first->address < DEBUG_ADDRESS_MIN || first->address >= DROPPED_ADDRESS_MIN);
    struct sequence *sequence = count && !is_dropped ? column_push(&machine->sequences) : NULL;
    if (sequence) *sequence = (struct sequence){machine->first_row, count};
    if (is_dropped) table->row_count = machine->first_row;
    machine->first_row = table->row_count;
    restart(machine);
}

static void run_extended(struct machine *machine) {
    struct bytes operand = {0};
    uint64_t size_bytes = take_leb(&machine->bytes);
    operand.left = text_slice(machine->bytes.left, 0, size_bytes);
    take(&machine->bytes, size_bytes);
    uint64_t opcode = take_number(&operand, 1);
    if (opcode == DW_LNE_end_sequence) {
        end_sequence(machine);
    } else if (opcode == DW_LNE_set_address && operand.left.bytes_count <= 8) {
        machine->address = take_number(&operand, (unsigned)operand.left.bytes_count);
        machine->operation = 0;
    } else if (opcode == DW_LNE_define_file) {
        const char *name = take_text(&operand);
        if (!operand.is_damaged) add_file(machine->table, name, take_leb(&operand));
    }
}

static void run_special(struct machine *machine, unsigned opcode) {
    advance(machine, machine->header->steps[opcode].operations);
    machine->line += (uint64_t)(int64_t)machine->header->steps[opcode].lines;
    add_row(machine, false);
}

static void run_standard(struct machine *machine, unsigned opcode) {
    struct bytes *bytes = &machine->bytes;
    switch (opcode) {
        case DW_LNS_copy:
            add_row(machine, false);
            break;
        case DW_LNS_advance_pc:
            advance(machine, take_leb(bytes));
            break;
        case DW_LNS_advance_line:
            machine->line += take_signed_leb(bytes);
            break;
        case DW_LNS_set_file:
            machine->file = take_leb(bytes);
            break;
        case DW_LNS_set_column:
            machine->column = take_leb(bytes);
            break;
        case DW_LNS_const_add_pc:
            advance(machine, machine->header->steps[255].operations);
            break;
        case DW_LNS_fixed_advance_pc:
            machine->address += take_number(bytes, 2);
            machine->operation = 0;
            break;
        default:
            for (unsigned i = machine->header->operand_counts[opcode - 1]; i > 0; i--) take_leb(bytes);
    }
}

static void run(struct machine *machine) {
    restart(machine);
    while (machine->bytes.left.bytes_count && !failure_is_set(machine->table->failure)) {
        unsigned opcode = take_byte(&machine->bytes);
        if (opcode >= machine->header->opcode_base)
            run_special(machine, opcode);
        else if (opcode)
            run_standard(machine, opcode);
        else
            run_extended(machine);
    }
}

/* ---- The table. ---- */

/* At one address, the end of a sequence precedes the start of another. */
static int compare_rows(const void *left, const void *right) {
    const struct line_row *a = left, *b = right;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    if (a->is_end != b->is_end) return a->is_end ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static bool is_sorted(const struct line_table *table) {
    for (size_t i = 1; i < table->row_count; i++)
        if (compare_rows(&table->rows[i - 1], &table->rows[i]) >= 0) return false;
    return true;
}

struct placed_sequence {
    struct line_row first;
    struct sequence rows;
};

static int compare_sequences(const void *left, const void *right) {
    const struct placed_sequence *a = left, *b = right;
    return compare_rows(&a->first, &b->first);
}

/* Puts the sequences in order, which sorts the rows unless sequences overlap. */
static void order_sequences(struct line_table *table, const struct column *sequences) {
    size_t count = 0;
    struct placed_sequence *placed = memory_allocate(table->failure, sequences->count * sizeof *placed);
    struct line_row *rows = memory_allocate(table->failure, table->row_capacity * sizeof *rows);
    for (size_t i = 0; placed && i < sequences->count; i++) {
        const struct sequence *sequence = column_at(sequences, i);
        placed[i] = (struct placed_sequence){table->rows[sequence->first_row], *sequence};
    }
    if (placed && rows) memory_sort(table->failure, placed, sequences->count, sizeof *placed, compare_sequences);
    for (size_t i = 0; placed && rows && i < sequences->count; i++) {
        const struct sequence *sequence = &placed[i].rows;
        memcpy(rows + count, table->rows + sequence->first_row, sequence->row_count * sizeof *rows);
        count += sequence->row_count;
    }
    memory_free(placed);
    memory_free(table->rows);
    table->rows = rows;
    table->row_count = count;
}

/* Compilers and linkers mostly write sequences that ascend and do not overlap, but not in order. */
static void sort_rows(struct line_table *table, const struct column *sequences) {
    if (!is_sorted(table)) order_sequences(table, sequences);
    if (failure_is_set(table->failure) || is_sorted(table)) return;
    memory_sort(table->failure, table->rows, table->row_count, sizeof *table->rows, compare_rows);
}

static struct text find_section(const struct debug_file *file, const char *name, const char *compressed_name) {
    struct text section = debug_file_section(file, name);
    return section.bytes_count ? section : debug_file_section(file, compressed_name);
}

struct line_sections line_sections_find(const struct debug_file *file) {
    return (struct line_sections){.lines = find_section(file, ".debug_line", ".zdebug_line"),
                                  .line_texts = find_section(file, ".debug_line_str", ".zdebug_line_str"),
                                  .texts = find_section(file, ".debug_str", ".zdebug_str")};
}

void line_table_init(struct line_table *table, const struct line_sections *sections, uint64_t offset,
                     const char *unit_folder, struct failure *failure) {
    *table = (struct line_table){.failure = failure, .unit_folder = unit_folder};
    column_init(&table->folders, sizeof(const char *), failure);
    column_init(&table->files, sizeof(struct line_file), failure);
    arena_init(&table->paths, failure);
    struct header header = {.sections = sections};
    if (!read_header(table, &header, text_from(sections->lines, offset))) return;
    struct machine machine = {.table = table, .header = &header, .bytes = {.left = header.program}};
    column_init(&machine.sequences, sizeof(struct sequence), failure);
    run(&machine);
    /* Rows whose sequence does not end are damaged. */
    table->row_count = machine.first_row;
    if (!failure_is_set(failure)) sort_rows(table, &machine.sequences);
    column_fini(&machine.sequences);
}

void line_table_fini(struct line_table *table) {
    column_fini(&table->folders);
    column_fini(&table->files);
    arena_fini(&table->paths);
    memory_free(table->rows);
    *table = (struct line_table){0};
}

const struct line_row *line_table_find(const struct line_table *table, uint64_t address) {
    size_t next = FIRST_ROW(i, table->row_count, table->rows[i].address > address);
    return next && !table->rows[next - 1].is_end ? &table->rows[next - 1] : NULL;
}

/* Returns "folder/name"; NULL if memory ran out (latched). */
static const char *join(struct arena *paths, const char *folder, const char *name) {
    size_t folder_bytes = strlen(folder), name_bytes = strlen(name) + 1;
    char *path = arena_take_bytes(paths, folder_bytes + 1 + name_bytes);
    if (!path) return NULL;
    memcpy(path, folder, folder_bytes);
    path[folder_bytes] = '/';
    memcpy(path + folder_bytes + 1, name, name_bytes);
    return path;
}

const char *line_table_file(struct line_table *table, uint64_t number) {
    if (number >= table->files.count) return NULL;
    struct line_file *file = column_at(&table->files, number);
    if (!file->name || file->path) return file->path;
    const char *folder = NULL;
    if (*file->name != '/' && file->folder < table->folders.count)
        folder = *(const char **)column_at(&table->folders, file->folder);
    file->path = folder ? join(&table->paths, folder, file->name) : file->name;
    return file->path;
}
