/* Writes tables, which are objects of columns with their number of rows, and those that all threads share. */
#include "libconvert/format/processed_format.h"
#include "processed_writer.h"
#include "writer/cells.h"

/* ---- Any table. ---- */

struct table_column {
    const struct processed_table *table;
    const struct member *member;
    const struct processed_part *part; /* NULL: the table's rows have the cells */
};

/* ---- Slabs. ---- */

enum { ROWS_MIN = 1024 /* smaller arrays stay in the document */ };

/* Returns whether the column becomes a slab of numbers. */
static bool is_typed(const struct processed_writer *writer, const struct table_column *column) {
    const struct processed_table *table = column->table;
    if (!writer->slabs || !column->member->slab || column->part) return false;
    return cells_fit_slab(column->member, table->rows, table->first, table->first + table->count);
}

/* Begins an array, which becomes a slab of its own if it has many rows. Returns what array_end needs. */
static struct json array_begin(struct processed_writer *writer, size_t row_count) {
    struct json whole = writer->json;
    if (writer->slabs && row_count >= ROWS_MIN) json_init(&writer->json, whole.out.failure);
    json_array_begin(&writer->json);
    return whole;
}

static void array_end(struct processed_writer *writer, struct json whole, size_t row_count) {
    json_array_end(&writer->json);
    if (!writer->slabs || row_count < ROWS_MIN) return;
    struct chunk_list array = json_take_chunks(&writer->json);
    writer->json = whole;
    slabs_write_reference(&writer->json, slabs_add_json(writer->slabs, &array));
}

/* ---- Columns. ---- */

static bool has_value(const struct member *member, const struct processed_part *part) {
    if (!part) return member_has_cell(member);
    return part->write || part->rows || part->text || member->flags & IS_NULLABLE_WHOLE;
}

/* Adds the members of the shape that are written. Returns where the next column goes. */
static struct table_column *add_columns(struct table_column *column, const struct processed_table *table,
                                        const struct shape *shape) {
    if (shape->base) column = add_columns(column, table, shape->base);
    for (size_t i = 0; i < shape->member_count; i++) {
        const struct member *member = &shape->members[i];
        const struct processed_part *part = member->part ? &table->parts[member->part] : NULL;
        if (member->cell != CELL_NONE && has_value(member, part))
            *column++ = (struct table_column){table, member, part};
    }
    return column;
}

static void write_rows(struct json *json, const struct table_column *column) {
    const struct processed_table *table = column->table;
    const struct processed_part *part = column->part;
    if (part && part->write)
        part->write(json, table->context, table->count);
    else
        cells_write(json, column->member, part ? part->rows : table->rows, table->first, table->first + table->count);
}

static bool is_text(const struct table_column *column) {
    return column->part && !column->part->write && !column->part->rows;
}

static void write_column(struct processed_writer *writer, const struct table_column *column) {
    const struct processed_table *table = column->table;
    json_plain_key(&writer->json, member_name(column->member));
    if (is_text(column)) {
        json_string_or_null(&writer->json, column->part->text);
        return;
    }
    if (is_typed(writer, column)) {
        size_t end = table->first + table->count;
        slabs_write_reference(&writer->json,
                              slabs_add_column(writer->slabs, column->member, table->rows, table->first, end));
        return;
    }
    struct json whole = array_begin(writer, table->count);
    write_rows(&writer->json, column);
    array_end(writer, whole, table->count);
}

void processed_table_write(struct processed_writer *writer, const struct processed_table *table) {
    enum { COLUMNS_MAX = 16 };
    struct table_column columns[COLUMNS_MAX];
    size_t column_count = (size_t)(add_columns(columns, table, table->shape) - columns);
    json_key_object_begin(&writer->json, table->name);
    for (size_t i = 0; i < column_count; i++) write_column(writer, &columns[i]);
    json_key_int(&writer->json, "length", (int64_t)table->count);
    json_object_end(&writer->json);
}

/* ---- The tables that all threads share. ---- */

/* A rows_writer, whose context is the profile. */
static void write_source_contents(struct json *json, const void *context, size_t count) {
    const struct column *contents = &((const struct profile *)context)->source_contents;
    for (size_t i = 0; i < count; i++) {
        const struct text *content = i < contents->count ? column_at(contents, i) : NULL;
        if (content && content->bytes)
            json_text(json, *content);
        else
            json_null(json);
    }
}

static void write_string_array(struct processed_writer *writer, const char *name) {
    const struct strings *strings = &writer->profile->strings;
    uint32_t count = strings_count(strings);
    json_key(&writer->json, name);
    struct json whole = array_begin(writer, count);
    for (uint32_t i = 0; i < count; i++) json_text(&writer->json, strings_text(strings, (string_id){i}));
    array_end(writer, whole, count);
    processed_report_rows(writer, count);
}

static void write_shared(struct processed_writer *writer, const struct member *member) {
    static const struct column no_rows;
    static const struct processed_part parts[PART_COUNT] = {[PART_SOURCE_CONTENT] = {.write = write_source_contents}};
    const struct profile *profile = writer->profile;
    const struct column *const rows[TABLE_COUNT] = {
        [TABLE_STACKS] = &profile->stacks.rows,
        [TABLE_FRAMES] = &profile->frames.rows,
        [TABLE_FUNCS] = &profile->funcs.rows,
        [TABLE_RESOURCES] = &profile->resources.rows,
        [TABLE_NATIVE_SYMBOLS] = &profile->native_symbols.rows,
        [TABLE_SOURCES] = &profile->sources.rows,
        [TABLE_SOURCE_LOCATIONS] = &no_rows,
    };
    if (member->table == TABLE_STRINGS)
        write_string_array(writer, member->name);
    else
        processed_table_write(writer, &(struct processed_table){.name = member->name,
                                                                .shape = member->shape,
                                                                .rows = rows[member->table],
                                                                .count = rows[member->table]->count,
                                                                .parts = parts,
                                                                .context = profile});
    bool is_counted = member->table == TABLE_STACKS || member->table == TABLE_FRAMES;
    if (is_counted) processed_report_rows(writer, rows[member->table]->count);
}

void processed_shared_write(struct processed_writer *writer) {
    json_key_object_begin(&writer->json, "shared");
    for (size_t i = 0; i < processed_shared.member_count; i++) write_shared(writer, &processed_shared.members[i]);
    json_object_end(&writer->json);
}
