/* "shared": the tables of all threads. They may come in any order, so their rows are kept as they are until all have
 * been read. */
#include "libconvert/base/id_column.h"
#include "libconvert/format/processed_format.h"
#include "saved_reader.h"

enum { FRAMES_HAVE_LIBS = 70 };

struct shared_tables {
    struct column rows[TABLE_COUNT];
    struct column contents;      /* struct text: of sources */
    struct column resource_libs; /* uint32_t: before version 70 */
};

static bool read_source_part(struct saved_reader *reader, struct text key, void *context) {
    struct column *contents = &((struct shared_tables *)context)->contents;
    if (!text_equal(key, TEXT("content"))) return false;
    if (!json_begin_list(reader->json)) return true;
    while (json_next(reader->json)) {
        struct text *content = column_push(contents), text;
        if (!content) break;
        *content = (struct text){0};
        if (json_take_null(reader->json) || !json_take_text(reader->json, &text)) continue;
        *content = arena_copy(&reader->profile->memory, text);
    }
    return true;
}

/* Before version 66, stacks had the number of their prefix. */
static bool read_stack_part(struct saved_reader *reader, struct text key, void *context) {
    struct column *stacks = &((struct shared_tables *)context)->rows[TABLE_STACKS];
    const struct saved_table table = {.rows = stacks, .blank = &saved_blank_stack};
    uint32_t row = 0;
    if (!text_equal(key, TEXT("prefix")) || !json_begin_list(reader->json)) return false;
    while (json_next(reader->json)) {
        struct stack *stack = saved_row_at(&table, row++);
        if (!stack) break;
        if (!json_take_null(reader->json)) stack->prefix.index = (uint32_t)saved_int(reader, 0, (int64_t)row - 2);
    }
    return true;
}

/* Before version 70, resources had the libraries of frames. */
static bool read_resource_part(struct saved_reader *reader, struct text key, void *context) {
    struct column *libs = &((struct shared_tables *)context)->resource_libs;
    int64_t lib;
    if (!text_equal(key, TEXT("lib")) || !json_begin_list(reader->json)) return false;
    while (json_next(reader->json)) {
        uint32_t *row = column_push(libs);
        if (!row) break;
        bool is_none = json_take_null(reader->json) || !json_take_int(reader->json, &lib) || lib == -1;
        *row = is_none ? ID_NONE : saved_map_row(reader, TABLE_LIBS, lib);
    }
    return true;
}

static void read_strings(struct saved_reader *reader) {
    struct text text;
    if (!json_begin_list(reader->json)) return;
    while (json_next(reader->json) && json_take_text(reader->json, &text))
        saved_map_push(reader, TABLE_STRINGS, profile_string(reader->profile, text).index);
}

/* New rows, as they are if no column says otherwise. */
const struct frame saved_blank_frame = {
    .func = {ID_NONE}, .address = ADDRESS_NONE, .lib = {ID_NONE}, .native_symbol = {ID_NONE}, .inherits_category = 1};
static const struct func blank_func = {.name = {ID_NONE}, .resource = {ID_NONE}, .source = {ID_NONE}};
const struct stack saved_blank_stack = {.prefix = {ID_NONE}, .frame = {ID_NONE}};
static const struct resource blank_resource = {.name = {ID_NONE}};
static const struct source blank_source = {.filename = {ID_NONE}};
static const struct native_symbol blank_native_symbol = {.lib = {ID_NONE}, .name = {ID_NONE}};

static const struct {
    uint32_t row_bytes;
    const void *blank;
    saved_part_reader *part;
} ROWS[TABLE_COUNT] = {
    [TABLE_STACKS] = {sizeof(struct stack), &saved_blank_stack, read_stack_part},
    [TABLE_FRAMES] = {sizeof(struct frame), &saved_blank_frame, NULL},
    [TABLE_FUNCS] = {sizeof(struct func), &blank_func, NULL},
    [TABLE_RESOURCES] = {sizeof(struct resource), &blank_resource, read_resource_part},
    [TABLE_NATIVE_SYMBOLS] = {sizeof(struct native_symbol), &blank_native_symbol, NULL},
    [TABLE_SOURCES] = {sizeof(struct source), &blank_source, read_source_part},
};

static bool read_table(struct saved_reader *reader, struct text key, void *context) {
    struct shared_tables *tables = context;
    for (size_t i = 0; i < processed_shared.member_count; i++) {
        const struct member *member = &processed_shared.members[i];
        if (!text_equal(key, member_name(member))) continue;
        json_push_name(reader->json, member->name, -1);
        if (member->table == TABLE_STRINGS)
            read_strings(reader);
        else if (ROWS[member->table].blank)
            saved_read_columns(reader, &(struct saved_table){.shape = member->shape,
                                                             .rows = &tables->rows[member->table],
                                                             .blank = ROWS[member->table].blank,
                                                             .is_raw = true,
                                                             .part = ROWS[member->table].part,
                                                             .context = tables});
        else
            saved_lose(reader, TEXT(""), json_skip_counting(reader->json) > 1);
        json_pop_name(reader->json);
        return true;
    }
    return false;
}

/* ---- Rows of the document become rows of the profile. ---- */

/* Replaces the id of a row of the document; none stays none if it may. */
static void map_id(struct saved_reader *reader, enum format_table table, uint32_t *id, const char *name,
                   bool may_lack) {
    if (*id == ID_NONE && may_lack) return;
    json_push_name(reader->json, name, -1);
    *id = saved_map_row(reader, table, *id == ID_NONE ? -1 : (int64_t)*id);
    json_pop_name(reader->json);
}

static uint32_t add_resource(struct saved_reader *reader, void *row) {
    struct resource *resource = row;
    map_id(reader, TABLE_STRINGS, &resource->name.index, "resourceTable.name", false);
    return row_table_intern(&reader->profile->resources, resource);
}

static uint32_t add_source(struct saved_reader *reader, void *row) {
    struct source *source = row;
    map_id(reader, TABLE_STRINGS, &source->filename.index, "sources.filename", false);
    return row_table_intern(&reader->profile->sources, source);
}

static uint32_t add_native_symbol(struct saved_reader *reader, void *row) {
    struct native_symbol *symbol = row;
    map_id(reader, TABLE_LIBS, &symbol->lib.index, "nativeSymbols.libIndex", false);
    map_id(reader, TABLE_STRINGS, &symbol->name.index, "nativeSymbols.name", false);
    return row_table_intern(&reader->profile->native_symbols, symbol);
}

static uint32_t add_func(struct saved_reader *reader, void *row) {
    struct func *func = row;
    map_id(reader, TABLE_STRINGS, &func->name.index, "funcTable.name", false);
    map_id(reader, TABLE_RESOURCES, &func->resource.index, "funcTable.resource", true);
    map_id(reader, TABLE_SOURCES, &func->source.index, "funcTable.source", true);
    return row_table_intern(&reader->profile->funcs, func);
}

void saved_frame_settle_category(struct saved_reader *reader, struct frame *frame) {
    struct category_pair pair = {0};
    if (!frame->inherits_category) pair = saved_category_at(reader, frame->category, frame->subcategory);
    frame->category = pair.category;
    frame->subcategory = pair.subcategory;
}

static uint32_t add_frame(struct saved_reader *reader, void *row) {
    struct frame *frame = row;
    map_id(reader, TABLE_FUNCS, &frame->func.index, "frameTable.func", false);
    if (reader->version >= FRAMES_HAVE_LIBS) map_id(reader, TABLE_LIBS, &frame->lib.index, "frameTable.lib", true);
    map_id(reader, TABLE_NATIVE_SYMBOLS, &frame->native_symbol.index, "frameTable.nativeSymbol", true);
    saved_frame_settle_category(reader, frame);
    return row_table_intern(&reader->profile->frames, frame);
}

static uint32_t add_stack(struct saved_reader *reader, void *row) {
    struct stack *stack = row;
    map_id(reader, TABLE_FRAMES, &stack->frame.index, "stackTable.frame", false);
    map_id(reader, TABLE_STACKS, &stack->prefix.index, "stackTable.prefix", true);
    return saved_is_good(reader) ? profile_stack(reader->profile, stack->prefix, stack->frame).index : ID_NONE;
}

/* Each table refers only to those before it. */
static const struct {
    enum format_table table;
    uint32_t (*add)(struct saved_reader *reader, void *row);
} STEPS[] = {
    {TABLE_RESOURCES, add_resource}, {TABLE_SOURCES, add_source}, {TABLE_NATIVE_SYMBOLS, add_native_symbol},
    {TABLE_FUNCS, add_func},         {TABLE_FRAMES, add_frame},   {TABLE_STACKS, add_stack},
};

static void keep_contents(struct saved_reader *reader, const struct column *contents) {
    const struct saved_map *sources = &reader->maps[TABLE_SOURCES];
    for (size_t i = 0; i < contents->count && i < sources->ids.count && saved_is_good(reader); i++) {
        const struct text *content = column_at(contents, i);
        if (!content->bytes) continue;
        struct text *kept = id_column_at(&reader->profile->source_contents, *(uint32_t *)column_at(&sources->ids, i));
        if (kept) *kept = *content;
    }
}

/* Gives frames the libraries of their resources, as long as all of these are rows of the document. */
static void find_frame_libs(struct saved_reader *reader, struct shared_tables *tables) {
    const struct column *funcs = &tables->rows[TABLE_FUNCS], *libs = &tables->resource_libs;
    for (uint32_t i = 0; libs->count && i < tables->rows[TABLE_FRAMES].count && saved_is_good(reader); i++) {
        struct frame *frame = column_at(&tables->rows[TABLE_FRAMES], i);
        const struct func *func = frame->func.index < funcs->count ? column_at(funcs, frame->func.index) : NULL;
        if (!func || func->resource.index >= libs->count || frame->address < 0) continue;
        frame->lib.index = *(const uint32_t *)column_at(libs, func->resource.index);
    }
}

static void add_rows(struct saved_reader *reader, struct shared_tables *tables) {
    for (size_t step = 0; step < sizeof STEPS / sizeof *STEPS; step++) {
        enum format_table table = STEPS[step].table;
        struct column *rows = &tables->rows[table];
        for (uint32_t i = 0; i < rows->count && saved_is_good(reader); i++)
            saved_map_push(reader, table, STEPS[step].add(reader, column_at(rows, i)));
        column_fini(rows);
        column_init(rows, ROWS[table].row_bytes, reader->profile->failure);
    }
}

void saved_shared_read(struct saved_reader *reader) {
    static const struct shape no_shape;
    struct failure *failure = reader->profile->failure;
    struct shared_tables tables;
    column_init(&tables.contents, sizeof(struct text), failure);
    column_init(&tables.resource_libs, sizeof(uint32_t), failure);
    for (size_t i = 0; i < TABLE_COUNT; i++)
        column_init(&tables.rows[i], ROWS[i].row_bytes ? ROWS[i].row_bytes : 1, failure);
    saved_read_members(reader, &no_shape, NULL, read_table, &tables);
    find_frame_libs(reader, &tables);
    add_rows(reader, &tables);
    keep_contents(reader, &tables.contents);
    for (size_t i = 0; i < TABLE_COUNT; i++) column_fini(&tables.rows[i]);
    column_fini(&tables.contents);
    column_fini(&tables.resource_libs);
}
