/* The line table of a unit: where in the source each address is. libdw allocates and sorts every row, which costs more
 * than all else that it does here. */
#ifndef GECKO_LINE_TABLE_H
#define GECKO_LINE_TABLE_H

#include "debug_file.h"
#include "libconvert/base/arena.h"
#include "libconvert/base/column.h"

/* The sections that have line tables and their texts. */
struct line_sections {
    struct text lines; /* .debug_line */
    struct text line_texts;
    struct text texts;
};

struct line_row {
    uint64_t address;
    uint32_t number; /* in the table, which keeps the order of rows with the same address */
    uint32_t file;
    uint32_t line;
    uint32_t column : 31;
    uint32_t is_end : 1; /* the first byte after a sequence of rows */
};

struct line_table {
    struct failure *failure; /* borrowed */
    const char *unit_folder; /* borrowed; NULL: unknown */
    struct column folders;   /* const char *, in the sections */
    struct column files;     /* struct line_file */
    struct arena paths;
    struct line_row *rows; /* owned; by address */
    size_t row_count;
    size_t row_capacity;
};

/* Finds the sections of a file, which must be uncompressed and stay open. */
struct line_sections line_sections_find(const struct debug_file *file);

/* Reads the table at that offset. `unit_folder` is where the unit was compiled. A damaged table is read up to the
 * damage. Running out of memory is latched. */
void line_table_init(struct line_table *table, const struct line_sections *sections, uint64_t offset,
                     const char *unit_folder, struct failure *failure);
void line_table_fini(struct line_table *table);

/* Returns the row of an address; NULL: none. */
const struct line_row *line_table_find(const struct line_table *table, uint64_t address);

/* Returns the path of the file with that number: absolute, or relative to where the unit was compiled; NULL: unknown.
 * Valid until line_table_fini. */
const char *line_table_file(struct line_table *table, uint64_t number);

#endif
