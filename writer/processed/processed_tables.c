/* Writes the tables that all threads share. */
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

/* Writes a row of a table into its columns. */
typedef void row_writer(struct json columns[], const void *row);

static void write_table(struct processed_writer *writer, const char *key, const char *const names[],
                        size_t column_count, const struct column *rows, row_writer *write_row) {
    struct table_of_columns table;
    table_of_columns_begin(&table, names, column_count, writer->profile->failure);
    for (size_t i = 0; i < rows->count; i++) write_row(table.columns, column_at(rows, i));
    table_of_columns_end(&table, key, rows->count, &writer->json);
}

enum frame_column {
    FRAME_ADDRESS,
    FRAME_INLINE_DEPTH,
    FRAME_CATEGORY,
    FRAME_SUBCATEGORY,
    FRAME_FUNC,
    FRAME_LIB,
    FRAME_NATIVE_SYMBOL,
    FRAME_INNER_WINDOW_ID,
    FRAME_LINE,
    FRAME_COLUMN,
    FRAME_ORIGINAL_LOCATION,
    FRAME_COLUMN_COUNT
};
_Static_assert((int)FRAME_COLUMN_COUNT <= (int)TABLE_COLUMNS_MAX, "the widest table must fit");

static const char *const frame_columns[FRAME_COLUMN_COUNT] = {
    [FRAME_ADDRESS] = "address",
    [FRAME_INLINE_DEPTH] = "inlineDepth",
    [FRAME_CATEGORY] = "category",
    [FRAME_SUBCATEGORY] = "subcategory",
    [FRAME_FUNC] = "func",
    [FRAME_LIB] = "lib",
    [FRAME_NATIVE_SYMBOL] = "nativeSymbol",
    [FRAME_INNER_WINDOW_ID] = "innerWindowID",
    [FRAME_LINE] = "line",
    [FRAME_COLUMN] = "column",
    [FRAME_ORIGINAL_LOCATION] = "originalLocation",
};

static void write_frame(struct json columns[], const void *row) {
    const struct frame *frame = row;
    json_int(&columns[FRAME_ADDRESS], frame->address);
    json_int(&columns[FRAME_INLINE_DEPTH], frame->inline_depth);
    json_int_or_null(&columns[FRAME_CATEGORY], frame->category, !frame->inherits_category);
    json_int_or_null(&columns[FRAME_SUBCATEGORY], frame->subcategory, !frame->inherits_category);
    json_int(&columns[FRAME_FUNC], frame->func.index);
    table_index_or_minus_one(&columns[FRAME_LIB], frame->lib.index);
    table_index_or_null(&columns[FRAME_NATIVE_SYMBOL], frame->native_symbol.index);
    json_null(&columns[FRAME_INNER_WINDOW_ID]);
    thread_json_line_or_column(&columns[FRAME_LINE], frame->line);
    thread_json_line_or_column(&columns[FRAME_COLUMN], frame->column);
    json_null(&columns[FRAME_ORIGINAL_LOCATION]);
}

enum func_column {
    FUNC_NAME,
    FUNC_JS,
    FUNC_RELEVANT_FOR_JS,
    FUNC_RESOURCE,
    FUNC_SOURCE,
    FUNC_LINE_NUMBER,
    FUNC_COLUMN_NUMBER,
    FUNC_ORIGINAL_LOCATION,
    FUNC_COLUMN_COUNT
};

static const char *const func_columns[FUNC_COLUMN_COUNT] = {
    [FUNC_NAME] = "name",
    [FUNC_JS] = "isJS",
    [FUNC_RELEVANT_FOR_JS] = "relevantForJS",
    [FUNC_RESOURCE] = "resource",
    [FUNC_SOURCE] = "source",
    [FUNC_LINE_NUMBER] = "lineNumber",
    [FUNC_COLUMN_NUMBER] = "columnNumber",
    [FUNC_ORIGINAL_LOCATION] = "originalLocation",
};

static void write_func(struct json columns[], const void *row) {
    const struct func *func = row;
    json_int(&columns[FUNC_NAME], func->name.index);
    json_bool(&columns[FUNC_JS], func->flags & FUNC_IS_JS);
    json_bool(&columns[FUNC_RELEVANT_FOR_JS], false);
    table_index_or_minus_one(&columns[FUNC_RESOURCE], func->resource.index);
    table_index_or_null(&columns[FUNC_SOURCE], func->source.index);
    thread_json_line_or_column(&columns[FUNC_LINE_NUMBER], func->line);
    thread_json_line_or_column(&columns[FUNC_COLUMN_NUMBER], func->column);
    json_null(&columns[FUNC_ORIGINAL_LOCATION]);
}

enum resource_column { RESOURCE_NAME, RESOURCE_HOST, RESOURCE_TYPE, RESOURCE_COLUMN_COUNT };

static const char *const resource_columns[RESOURCE_COLUMN_COUNT] = {
    [RESOURCE_NAME] = "name",
    [RESOURCE_HOST] = "host",
    [RESOURCE_TYPE] = "type",
};

static void write_resource(struct json columns[], const void *row) {
    const struct resource *resource = row;
    json_int(&columns[RESOURCE_NAME], resource->name.index);
    json_null(&columns[RESOURCE_HOST]);
    json_int(&columns[RESOURCE_TYPE], resource->type);
}

enum native_symbol_column { SYMBOL_LIB_INDEX, SYMBOL_ADDRESS, SYMBOL_NAME, SYMBOL_FUNCTION_SIZE, SYMBOL_COLUMN_COUNT };

static const char *const native_symbol_columns[SYMBOL_COLUMN_COUNT] = {
    [SYMBOL_LIB_INDEX] = "libIndex",
    [SYMBOL_ADDRESS] = "address",
    [SYMBOL_NAME] = "name",
    [SYMBOL_FUNCTION_SIZE] = "functionSize",
};

static void write_native_symbol(struct json columns[], const void *row) {
    const struct native_symbol *symbol = row;
    json_int(&columns[SYMBOL_LIB_INDEX], symbol->lib.index);
    json_int(&columns[SYMBOL_ADDRESS], symbol->address);
    json_int(&columns[SYMBOL_NAME], symbol->name.index);
    json_null(&columns[SYMBOL_FUNCTION_SIZE]);
}

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
    write_table(writer, "frameTable", frame_columns, FRAME_COLUMN_COUNT, &profile->frames.rows, write_frame);
    processed_report_rows(writer, profile->frames.rows.count);
    write_table(writer, "funcTable", func_columns, FUNC_COLUMN_COUNT, &profile->funcs.rows, write_func);
    write_table(writer, "resourceTable", resource_columns, RESOURCE_COLUMN_COUNT, &profile->resources.rows,
                write_resource);
    write_table(writer, "nativeSymbols", native_symbol_columns, SYMBOL_COLUMN_COUNT, &profile->native_symbols.rows,
                write_native_symbol);
    write_sources(writer);
    write_source_locations(writer);
    write_string_array(writer);
    json_object_end(&writer->json);
}
