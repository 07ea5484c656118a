/* Writes the tables that all threads share. */
#include "processed_cells.h"
#include "processed_writer.h"
#include "writer/table_of_columns.h"
#include "writer/thread_json.h"

/* A rows_writer, whose context is the profile. */
static void write_stack_frames(struct json *json, const void *context, size_t first, size_t end) {
    const struct profile *profile = context;
    for (size_t i = first; i < end; i++)
        json_int(json, profile_stack_at(profile, (stack_id){(uint32_t)i})->frame.index);
}

/* A rows_writer. Writes the distance to the caller's row; 0 for a root. */
static void write_stack_prefix_offsets(struct json *json, const void *context, size_t first, size_t end) {
    const struct profile *profile = context;
    for (size_t i = first; i < end; i++) {
        stack_id prefix = profile_stack_at(profile, (stack_id){(uint32_t)i})->prefix;
        json_int(json, stack_is_none(prefix) ? 0 : (int64_t)(i - prefix.index));
    }
}

static void write_stack_table(struct processed_writer *writer) {
    uint32_t count = (uint32_t)writer->profile->stacks.rows.count;
    json_key(&writer->json, "stackTable");
    json_object_begin(&writer->json);
    processed_column_write(writer, "frame", count, write_stack_frames, writer->profile);
    processed_column_write(writer, "prefixOffset", count, write_stack_prefix_offsets, writer->profile);
    json_key_int(&writer->json, "length", count);
    json_object_end(&writer->json);
    processed_report_rows(writer, count);
}

/* ---- Tables of numbers. ---- */

struct table_column {
    const char *name;
    cell_putter *put;
};

struct table {
    const struct column *rows;
    const struct table_column *columns;
};

/* A rows_writer. Its rows are the columns of the table, so that several threads write even a table of few rows. */
static void write_columns(struct json *json, const void *context, size_t first, size_t end) {
    const struct table *table = context;
    for (size_t i = first; i < end; i++) {
        json_key(json, table->columns[i].name);
        json_array_begin(json);
        processed_cells_write(json, table->rows, 0, table->rows->count, table->columns[i].put);
        json_array_end(json);
    }
}

static void write_table(struct processed_writer *writer, const char *key, const struct table_column columns[],
                        size_t column_count, const struct column *rows) {
    enum { ROWS_MIN = 1024 }; /* fewer take less time than it takes to wake a thread */
    const struct table table = {rows, columns};
    struct parallel_rows *parallel = rows->count < ROWS_MIN ? NULL : writer->parallel;
    json_key(&writer->json, key);
    json_object_begin(&writer->json);
    parallel_rows_write(parallel, &writer->json, column_count, 1, write_columns, &table);
    json_key_int(&writer->json, "length", rows->count);
    json_object_end(&writer->json);
}

static char *put_null(char *out, const void *row) {
    (void)row;
    return json_put_null(out);
}

static char *put_false(char *out, const void *row) {
    (void)row;
    return json_put_bool(out, false);
}

static inline char *put_index_or_null(char *out, uint32_t index) {
    return index == ID_NONE ? json_put_null(out) : json_put_int(out, index);
}

static inline char *put_index_or_minus_one(char *out, uint32_t index) {
    return json_put_int(out, index == ID_NONE ? -1 : (int64_t)index);
}

/* See thread_json_line_or_column. */
static inline char *put_line_or_column(char *out, uint32_t line_or_column) {
    return line_or_column ? json_put_int(out, line_or_column) : json_put_null(out);
}

/* ---- Frames. ---- */

static char *put_frame_address(char *out, const void *row) {
    const struct frame *frame = row;
    return json_put_int(out, frame->address);
}

static char *put_inline_depth(char *out, const void *row) {
    const struct frame *frame = row;
    return json_put_int(out, frame->inline_depth);
}

static char *put_frame_category(char *out, const void *row) {
    const struct frame *frame = row;
    return frame->inherits_category ? json_put_null(out) : json_put_int(out, frame->category);
}

static char *put_frame_subcategory(char *out, const void *row) {
    const struct frame *frame = row;
    return frame->inherits_category ? json_put_null(out) : json_put_int(out, frame->subcategory);
}

static char *put_frame_func(char *out, const void *row) {
    const struct frame *frame = row;
    return json_put_int(out, frame->func.index);
}

static char *put_frame_lib(char *out, const void *row) {
    const struct frame *frame = row;
    return put_index_or_minus_one(out, frame->lib.index);
}

static char *put_frame_native_symbol(char *out, const void *row) {
    const struct frame *frame = row;
    return put_index_or_null(out, frame->native_symbol.index);
}

static char *put_frame_line(char *out, const void *row) {
    const struct frame *frame = row;
    return put_line_or_column(out, frame->line);
}

static char *put_frame_column(char *out, const void *row) {
    const struct frame *frame = row;
    return put_line_or_column(out, frame->column);
}

static const struct table_column frame_columns[] = {
    {"address", put_frame_address},
    {"inlineDepth", put_inline_depth},
    {"category", put_frame_category},
    {"subcategory", put_frame_subcategory},
    {"func", put_frame_func},
    {"lib", put_frame_lib},
    {"nativeSymbol", put_frame_native_symbol},
    {"innerWindowID", put_null},
    {"line", put_frame_line},
    {"column", put_frame_column},
    {"originalLocation", put_null},
};

/* ---- Functions. ---- */

static char *put_func_name(char *out, const void *row) {
    const struct func *func = row;
    return json_put_int(out, func->name.index);
}

static char *put_func_is_js(char *out, const void *row) {
    const struct func *func = row;
    return json_put_bool(out, func->flags & FUNC_IS_JS);
}

static char *put_func_resource(char *out, const void *row) {
    const struct func *func = row;
    return put_index_or_minus_one(out, func->resource.index);
}

static char *put_func_source(char *out, const void *row) {
    const struct func *func = row;
    return put_index_or_null(out, func->source.index);
}

static char *put_func_line(char *out, const void *row) {
    const struct func *func = row;
    return put_line_or_column(out, func->line);
}

static char *put_func_column(char *out, const void *row) {
    const struct func *func = row;
    return put_line_or_column(out, func->column);
}

static const struct table_column func_columns[] = {
    {"name", put_func_name},           {"isJS", put_func_is_js},       {"relevantForJS", put_false},
    {"resource", put_func_resource},   {"source", put_func_source},    {"lineNumber", put_func_line},
    {"columnNumber", put_func_column}, {"originalLocation", put_null},
};

/* ---- Resources and symbols. ---- */

static char *put_resource_name(char *out, const void *row) {
    const struct resource *resource = row;
    return json_put_int(out, resource->name.index);
}

static char *put_resource_type(char *out, const void *row) {
    const struct resource *resource = row;
    return json_put_int(out, resource->type);
}

static const struct table_column resource_columns[] = {
    {"name", put_resource_name},
    {"host", put_null},
    {"type", put_resource_type},
};

static char *put_symbol_lib(char *out, const void *row) {
    const struct native_symbol *symbol = row;
    return json_put_int(out, symbol->lib.index);
}

static char *put_symbol_address(char *out, const void *row) {
    const struct native_symbol *symbol = row;
    return json_put_int(out, symbol->address);
}

static char *put_symbol_name(char *out, const void *row) {
    const struct native_symbol *symbol = row;
    return json_put_int(out, symbol->name.index);
}

static const struct table_column native_symbol_columns[] = {
    {"libIndex", put_symbol_lib},
    {"address", put_symbol_address},
    {"name", put_symbol_name},
    {"functionSize", put_null},
};

/* ---- Sources. ---- */

enum source_column {
    SOURCE_ID,
    SOURCE_FILENAME,
    SOURCE_START_LINE,
    SOURCE_START_COLUMN,
    SOURCE_MAP_URL,
    SOURCE_CONTENT,
    SOURCE_COLUMN_COUNT
};

static const char *const source_columns[SOURCE_COLUMN_COUNT] = {
    [SOURCE_ID] = "id",
    [SOURCE_FILENAME] = "filename",
    [SOURCE_START_LINE] = "startLine",
    [SOURCE_START_COLUMN] = "startColumn",
    [SOURCE_MAP_URL] = "sourceMapURL",
    [SOURCE_CONTENT] = "content",
};

static void write_source(struct json columns[], const struct source *source, struct text content) {
    json_null(&columns[SOURCE_ID]);
    json_int(&columns[SOURCE_FILENAME], source->filename.index);
    json_int(&columns[SOURCE_START_LINE], 1);
    json_int(&columns[SOURCE_START_COLUMN], 1);
    json_null(&columns[SOURCE_MAP_URL]);
    if (content.bytes)
        json_text(&columns[SOURCE_CONTENT], content);
    else
        json_null(&columns[SOURCE_CONTENT]);
}

static void write_sources(struct processed_writer *writer) {
    const struct profile *profile = writer->profile;
    uint32_t count = row_table_count(&profile->sources);
    struct table_of_columns table;
    table_of_columns_begin(&table, source_columns, SOURCE_COLUMN_COUNT, profile->failure);
    for (uint32_t i = 0; i < count; i++) {
        bool has_content = i < profile->source_contents.count;
        struct text content = has_content ? *(struct text *)column_at(&profile->source_contents, i) : (struct text){0};
        write_source(table.columns, profile_source_at(profile, (source_id){i}), content);
    }
    table_of_columns_end(&table, "sources", count, &writer->json);
}

/* Writes an empty table. Newer clients fail if it is missing. */
static void write_source_locations(struct processed_writer *writer) {
    static const char *const names[] = {"source", "line", "column"};
    struct table_of_columns table;
    table_of_columns_begin(&table, names, sizeof names / sizeof *names, writer->profile->failure);
    table_of_columns_end(&table, "sourceLocationTable", 0, &writer->json);
}

/* A rows_writer, whose context is the profile. */
static void write_strings(struct json *json, const void *context, size_t first, size_t end) {
    const struct profile *profile = context;
    for (size_t i = first; i < end; i++) json_text(json, strings_text(&profile->strings, (string_id){(uint32_t)i}));
}

static void write_string_array(struct processed_writer *writer) {
    uint32_t count = strings_count(&writer->profile->strings);
    processed_column_write(writer, "stringArray", count, write_strings, writer->profile);
    processed_report_rows(writer, count);
}

void processed_shared_write(struct processed_writer *writer) {
    json_key(&writer->json, "shared");
    json_object_begin(&writer->json);
    const struct profile *profile = writer->profile;
    write_stack_table(writer);
    write_table(writer, "frameTable", frame_columns, sizeof frame_columns / sizeof *frame_columns,
                &profile->frames.rows);
    processed_report_rows(writer, profile->frames.rows.count);
    write_table(writer, "funcTable", func_columns, sizeof func_columns / sizeof *func_columns, &profile->funcs.rows);
    write_table(writer, "resourceTable", resource_columns, sizeof resource_columns / sizeof *resource_columns,
                &profile->resources.rows);
    write_table(writer, "nativeSymbols", native_symbol_columns,
                sizeof native_symbol_columns / sizeof *native_symbol_columns, &profile->native_symbols.rows);
    write_sources(writer);
    write_source_locations(writer);
    write_string_array(writer);
    json_object_end(&writer->json);
}
