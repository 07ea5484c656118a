/* "shared": the tables of all threads. They may come in any order, so their rows are kept as they are until all have
 * been read. */
#include <inttypes.h>

#include "libconvert/format/processed_format.h"
#include "libconvert/profile/row_references.h"
#include "saved_thread.h"

enum { OTHER_COLUMN_COUNT = 7 };

struct shared_tables {
    struct column rows[TABLE_COUNT];
    struct column contents;                        /* struct text: of sources */
    enum format_table table;                       /* the one that is read */
    uint32_t other_row_counts[OTHER_COLUMN_COUNT]; /* rows that each of OTHER_COLUMNS has */
    struct column resource_libs;                   /* uint32_t by resource, as the other columns, of older versions */
    struct column file_names;                      /* uint32_t by function: numbers of strings */
    struct column frame_flags;                     /* uint32_t by frame, as the next column of newer versions */
    struct column func_flags;                      /* uint32_t by function */
    struct column stack_categories;                /* struct frame by stack, of which only the categories count */
};

static bool read_source_part(struct saved_reader *reader, struct text key, void *context) {
    struct column *contents = &((struct shared_tables *)context)->contents;
    if (!text_equal(key, TEXT("content"))) return false;
    JSON_EACH(reader->json) {
        struct text *content = column_push(contents), text;
        if (!content) break;
        *content = (struct text){0};
        if (json_take_null(reader->json) || !json_take_text(reader->json, &text)) continue;
        *content = strings_copy(&reader->profile->contents, text);
    }
    return true;
}

/* ---- Columns of other versions than that which is written. The numbers are those of the front-end's
 * docs-developer/CHANGELOG-formats.md. ---- */

/* Version 70: frames have libraries. Before, resources had those of their frames. */
static void read_resource_lib(struct saved_reader *reader, struct shared_tables *tables, uint32_t row) {
    int64_t lib;
    (void)row;
    bool is_none = json_take_null(reader->json) || !json_take_int(reader->json, &lib) || lib == -1;
    if (!is_none) saved_map_row(reader, TABLE_LIBS, lib);
    column_add(&tables->resource_libs, &(uint32_t){is_none ? ID_NONE : (uint32_t)lib});
}

/* Version 66: stacks have distances. Before, they had the numbers of their prefixes. */
static void read_prefix(struct saved_reader *reader, struct shared_tables *tables, uint32_t row) {
    const struct saved_table table = {.rows = &tables->rows[TABLE_STACKS], .blank = &saved_blank_stack};
    struct stack *stack = saved_row_at(&table, row);
    int64_t prefix;
    if (!stack || json_take_null(reader->json) || !json_take_int(reader->json, &prefix)) return;
    if (prefix >= 0 && prefix < row)
        stack->prefix.index = (uint32_t)prefix;
    else
        json_stream_fail(reader->json, "stack %" PRIu32 " has prefix %" PRId64 ", which is not an earlier row", row,
                         prefix);
}

/* Version 58: functions have sources. Before, they had the strings of their files. */
static void read_file_name(struct saved_reader *reader, struct shared_tables *tables, uint32_t row) {
    (void)row;
    uint32_t name = json_take_null(reader->json) ? ID_NONE : (uint32_t)saved_int(reader, 0, INT32_MAX);
    column_add(&tables->file_names, &name);
}

/* Version 53: only frames have categories. Before, stacks had them too, and frames of some programs had none. */
static void read_stack_category(struct saved_reader *reader, struct shared_tables *tables, uint32_t row, bool is_sub) {
    static const struct frame blank = {.inherits_category = 1};
    const struct saved_table table = {.rows = &tables->stack_categories, .blank = &blank};
    struct frame *category = saved_row_at(&table, row);
    if (!category || json_take_null(reader->json)) return;
    if (!is_sub) category->inherits_category = 0;
    *(is_sub ? &category->subcategory : &category->category) = (uint8_t)saved_int(reader, 0, UINT8_MAX);
}
static void read_category(struct saved_reader *reader, struct shared_tables *tables, uint32_t row) {
    read_stack_category(reader, tables, row, false);
}
static void read_subcategory(struct saved_reader *reader, struct shared_tables *tables, uint32_t row) {
    read_stack_category(reader, tables, row, true);
}

/* Versions 71 and 75: flags of frames and functions say which of their columns hold something. */
static void read_flags(struct saved_reader *reader, struct shared_tables *tables, uint32_t row) {
    enum { IS_RELEVANT_FOR_JS = 2 };
    bool is_of_funcs = tables->table == TABLE_FUNCS;
    uint32_t flags = (uint32_t)saved_int(reader, 0, UINT32_MAX);
    (void)row;
    column_add(is_of_funcs ? &tables->func_flags : &tables->frame_flags, &flags);
    saved_lose(reader, TEXT("relevantForJS"), is_of_funcs && flags & IS_RELEVANT_FOR_JS);
}

static const struct {
    int64_t since; /* the first version that has the column */
    int64_t until; /* the first one that has it no longer */
    enum format_table table;
    struct text key;
    void (*read)(struct saved_reader *reader, struct shared_tables *tables,
                 uint32_t row); /* reads the value of a row */
    bool is_required;           /* rows would lose what other columns hold, or their callers */
} OTHER_COLUMNS[OTHER_COLUMN_COUNT] = {
    {FUNCS_HAVE_FLAGS, INT64_MAX, TABLE_FUNCS, TEXT("flags"), read_flags, true},
    {FRAMES_HAVE_FLAGS, INT64_MAX, TABLE_FRAMES, TEXT("flags"), read_flags, true},
    {0, 70, TABLE_RESOURCES, TEXT("lib"), read_resource_lib, false},
    {0, 66, TABLE_STACKS, TEXT("prefix"), read_prefix, true},
    {0, 58, TABLE_FUNCS, TEXT("fileName"), read_file_name, false},
    {0, 53, TABLE_STACKS, TEXT("category"), read_category, false},
    {0, 53, TABLE_STACKS, TEXT("subcategory"), read_subcategory, false},
};

/* Returns whether the table has the other column of that number in the version that is read. */
static bool has_other_column(const struct saved_reader *reader, const struct shared_tables *tables, size_t number) {
    return OTHER_COLUMNS[number].table == tables->table && reader->version >= OTHER_COLUMNS[number].since &&
           reader->version < OTHER_COLUMNS[number].until;
}

static bool read_column_part(struct saved_reader *reader, struct text key, void *context) {
    struct shared_tables *tables = context;
    if (tables->table == TABLE_SOURCES) return read_source_part(reader, key, context);
    for (size_t i = 0; i < OTHER_COLUMN_COUNT; i++) {
        bool is_it = has_other_column(reader, tables, i) && text_equal(key, OTHER_COLUMNS[i].key);
        if (!is_it || !json_begin_list(reader->json)) continue;
        uint32_t row = 0;
        while (json_next(reader->json)) OTHER_COLUMNS[i].read(reader, tables, row++);
        tables->other_row_counts[i] = row;
        return true;
    }
    return false;
}

static void check_other_columns(struct saved_reader *reader, const struct shared_tables *tables) {
    uint32_t row_count = tables->rows[tables->table].count;
    for (size_t i = 0; i < OTHER_COLUMN_COUNT && saved_is_good(reader); i++) {
        uint32_t count = tables->other_row_counts[i];
        bool is_whole = count == row_count || (!count && !OTHER_COLUMNS[i].is_required);
        if (is_whole || !has_other_column(reader, tables, i)) continue;
        json_push_name(reader->json, OTHER_COLUMNS[i].key.bytes, -1);
        json_stream_fail(reader->json, "the column has %" PRIu32 " rows, and the table %" PRIu32, count, row_count);
        json_pop_name(reader->json);
    }
}

/* ---- Tables. ---- */

void saved_strings_read(struct saved_reader *reader, void *context) {
    struct text text;
    (void)context;
    JSON_EACH(reader->json) {
        if (!json_take_text(reader->json, &text)) return;
        saved_map_push(reader, TABLE_STRINGS, profile_string(reader->profile, text).index);
    }
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
} ROWS[TABLE_COUNT] = {
    [TABLE_STACKS] = {sizeof(struct stack), &saved_blank_stack},
    [TABLE_FRAMES] = {sizeof(struct frame), &saved_blank_frame},
    [TABLE_FUNCS] = {sizeof(struct func), &blank_func},
    [TABLE_RESOURCES] = {sizeof(struct resource), &blank_resource},
    [TABLE_NATIVE_SYMBOLS] = {sizeof(struct native_symbol), &blank_native_symbol},
    [TABLE_SOURCES] = {sizeof(struct source), &blank_source},
};

static const struct member *table_of(enum format_table table) {
    const struct member *member = processed_shared.members;
    while (member->table != table) member++;
    return member;
}

static void read_rows_of(struct saved_reader *reader, struct shared_tables *tables, enum format_table table) {
    tables->table = table;
    saved_read_columns(reader, &(struct saved_table){.shape = table_of(table)->shape,
                                                     .rows = &tables->rows[table],
                                                     .blank = ROWS[table].blank,
                                                     .is_raw = true,
                                                     .part = read_column_part,
                                                     .context = tables});
    check_other_columns(reader, tables);
}

static bool read_table(struct saved_reader *reader, struct text key, void *context) {
    for (size_t i = 0; i < processed_shared.member_count; i++) {
        const struct member *member = &processed_shared.members[i];
        if (!text_equal(key, member_name(member))) continue;
        json_push_name(reader->json, member->name, -1);
        if (member->table == TABLE_STRINGS)
            saved_strings_read(reader, NULL);
        else if (ROWS[member->table].blank)
            read_rows_of(reader, context, member->table);
        else
            saved_lose(reader, TEXT(""), json_skip_counting(reader->json) > 1);
        json_pop_name(reader->json);
        return true;
    }
    return false;
}

/* ---- Rows of the document become rows of the profile. ---- */

/* Replaces an id of a row of the document, which is the cell of a column of the table; none stays none if it may. */
static void map_id(struct saved_reader *reader, enum format_table to, uint32_t *id, const struct member *table,
                   const struct member *column) {
    bool may_lack = to == TABLE_STACKS || column->flags & (IS_NULLABLE | HAS_NONE);
    if (*id == ID_NONE && may_lack) return;
    if (*id < saved_map_count(&reader->maps[to])) {
        *id = saved_map_at(&reader->maps[to], *id);
        return;
    }
    json_push_name(reader->json, table->name, -1);
    json_push_name(reader->json, column->name, -1);
    *id = saved_map_row(reader, to, *id == ID_NONE ? -1 : (int64_t)*id);
    json_pop_name(reader->json);
    json_pop_name(reader->json);
}

/* Replaces all ids of a row of the table. */
static void map_ids(struct saved_reader *reader, const struct member *table, void *row) {
    for (size_t i = 0; i < table->shape->member_count; i++) {
        const struct member *column = &table->shape->members[i];
        uint32_t *id = (void *)((char *)row + column->offset);
        if (column->cell == CELL_ID)
            map_id(reader, column->table, id, table, column);
        else if (column->cell == CELL_DISTANCE)
            map_id(reader, TABLE_STACKS, id, table, column);
    }
}

void saved_frame_settle_category(struct saved_reader *reader, struct frame *frame) {
    struct category_pair pair = {0};
    if (!frame->inherits_category) pair = saved_category_at(reader, frame->category, frame->subcategory);
    frame->category = pair.category;
    frame->subcategory = pair.subcategory;
}

/* An address is one in a library, and only such a frame has both. The other half is lost. */
static void settle_address(struct saved_reader *reader, struct frame *frame) {
    bool has_lib = !lib_is_none(frame->lib), has_address = frame->address != ADDRESS_NONE;
    if (has_lib == has_address) return;
    saved_lose(reader,
               has_lib ? TEXT("frameTable.lib (of a frame without an address)")
                       : TEXT("frameTable.address (of a frame without a library)"),
               1);
    frame->lib = lib_none();
    frame->address = ADDRESS_NONE;
}

static void settle_symbol(struct saved_reader *reader, struct frame *frame) {
    const struct row_table *symbols = &reader->profile->native_symbols;
    if (!saved_is_good(reader) || frame->native_symbol.index == ID_NONE) return;
    const struct native_symbol *symbol = row_table_at(symbols, frame->native_symbol.index);
    if (symbol->lib.index == frame->lib.index) return;
    saved_lose(reader, TEXT("frameTable.nativeSymbol (of another library)"), 1);
    frame->native_symbol.index = ID_NONE;
}

static void settle_frame(struct saved_reader *reader, struct frame *frame) {
    settle_address(reader, frame);
    settle_symbol(reader, frame);
    saved_frame_settle_category(reader, frame);
}

/* Returns the number of the row of the profile that a row of the document becomes. */
static uint32_t add_row(struct saved_reader *reader, const struct member *table, enum row_kind kind, void *row) {
    const struct stack *stack = row;
    map_ids(reader, table, row);
    if (!saved_is_good(reader)) return ID_NONE;
    if (kind == ROWS_STACKS) return profile_stack(reader->profile, stack->prefix, stack->frame).index;
    if (kind == ROWS_FRAMES) settle_frame(reader, row);
    return row_table_intern(profile_rows(reader->profile, kind), row);
}

static void keep_contents(struct saved_reader *reader, const struct column *contents) {
    const struct saved_map *sources = &reader->maps[TABLE_SOURCES];
    for (uint32_t i = 0; i < contents->count && i < saved_map_count(sources) && saved_is_good(reader); i++) {
        const struct text *content = column_at(contents, i);
        if (!content->bytes) continue;
        bool is_kept = profile_keep_content(reader->profile, (source_id){saved_map_at(sources, i)}, *content);
        saved_lose(reader, TEXT("sources.content (of a file that has another text)"), !is_kept);
    }
}

/* ---- Upgrades: what other versions have elsewhere. All ids are still rows of the document. ---- */

static uint32_t flags_at(const struct column *flags, uint32_t row) {
    return row < flags->count ? *(const uint32_t *)column_at(flags, row) : 0;
}

/* A frame that is inlined is one deeper than its caller. Callers come first. */
static void count_inline_depths(struct shared_tables *tables) {
    const struct column *stacks = &tables->rows[TABLE_STACKS], *frames = &tables->rows[TABLE_FRAMES];
    for (uint32_t i = 0; i < stacks->count; i++) {
        const struct stack *stack = column_at(stacks, i);
        if (stack->frame.index >= frames->count || stack->prefix.index >= i) continue;
        const struct stack *caller = column_at(stacks, stack->prefix.index);
        struct frame *frame = column_at(frames, stack->frame.index);
        if (!frame->inline_depth || caller->frame.index >= frames->count) continue;
        unsigned depth = ((const struct frame *)column_at(frames, caller->frame.index))->inline_depth + 1u;
        frame->inline_depth = (uint8_t)(depth < UINT8_MAX ? depth : UINT8_MAX);
    }
}

/* What a frame does not have is 0 in its column. */
static void take_frame_flags(struct shared_tables *tables) {
    enum { IS_INLINED = 1, HAS_ADDRESS = 2, HAS_CATEGORY = 4, HAS_SYMBOL = 8, HAS_LINE = 16, HAS_COLUMN = 32 };
    for (uint32_t i = 0; i < tables->rows[TABLE_FRAMES].count; i++) {
        struct frame *frame = column_at(&tables->rows[TABLE_FRAMES], i);
        uint32_t flags = flags_at(&tables->frame_flags, i);
        frame->inline_depth = flags & IS_INLINED;
        if (!(flags & HAS_ADDRESS)) frame->address = saved_blank_frame.address;
        if (!(flags & HAS_ADDRESS)) frame->lib = saved_blank_frame.lib;
        if (!(flags & HAS_CATEGORY)) frame->inherits_category = 1;
        if (!(flags & HAS_SYMBOL)) frame->native_symbol = saved_blank_frame.native_symbol;
        if (!(flags & HAS_LINE)) frame->line = saved_blank_frame.line;
        if (!(flags & HAS_COLUMN)) frame->column = saved_blank_frame.column;
    }
    count_inline_depths(tables);
}

static void take_func_flags(struct shared_tables *tables) {
    enum { IS_JS = 1, HAS_RESOURCE = 4, HAS_SOURCE = 8, HAS_LINE = 16, HAS_COLUMN = 32 };
    for (uint32_t i = 0; i < tables->rows[TABLE_FUNCS].count; i++) {
        struct func *func = column_at(&tables->rows[TABLE_FUNCS], i);
        uint32_t flags = flags_at(&tables->func_flags, i);
        func->flags = flags & IS_JS ? FUNC_IS_JS : 0;
        if (!(flags & HAS_RESOURCE)) func->resource = blank_func.resource;
        if (!(flags & HAS_SOURCE)) func->source = blank_func.source;
        if (!(flags & HAS_LINE)) func->line = blank_func.line;
        if (!(flags & HAS_COLUMN)) func->column = blank_func.column;
    }
}

static void move_libs_to_frames(struct shared_tables *tables) {
    const struct column *funcs = &tables->rows[TABLE_FUNCS], *libs = &tables->resource_libs;
    for (uint32_t i = 0; libs->count && i < tables->rows[TABLE_FRAMES].count; i++) {
        struct frame *frame = column_at(&tables->rows[TABLE_FRAMES], i);
        const struct func *func = frame->func.index < funcs->count ? column_at(funcs, frame->func.index) : NULL;
        if (!func || func->resource.index >= libs->count || frame->address < 0) continue;
        frame->lib.index = *(const uint32_t *)column_at(libs, func->resource.index);
    }
}

/* Each function gets a source of its own; equal ones become one when rows are added. */
static void make_sources_of_files(struct shared_tables *tables) {
    const struct column *funcs = &tables->rows[TABLE_FUNCS], *names = &tables->file_names;
    for (uint32_t i = 0; i < funcs->count && i < names->count; i++) {
        uint32_t name = *(const uint32_t *)column_at(names, i);
        struct source *source = name == ID_NONE ? NULL : column_push(&tables->rows[TABLE_SOURCES]);
        if (!source) continue;
        *source = (struct source){.filename = {name}};
        ((struct func *)column_at(funcs, i))->source.index = tables->rows[TABLE_SOURCES].count - 1;
    }
}

static bool frames_have_categories(const struct column *frames) {
    COLUMN_EACH(const struct frame, frame, frames)
        if (!frame->inherits_category) return true;
    return false;
}

static void move_categories_to_frames(struct shared_tables *tables) {
    const struct column *stacks = &tables->rows[TABLE_STACKS], *frames = &tables->rows[TABLE_FRAMES];
    if (frames_have_categories(frames)) return;
    for (uint32_t i = 0; i < stacks->count && i < tables->stack_categories.count; i++) {
        const struct frame *category = column_at(&tables->stack_categories, i);
        uint32_t row = ((const struct stack *)column_at(stacks, i))->frame.index;
        if (row >= frames->count) continue;
        struct frame *frame = column_at(frames, row);
        frame->category = category->category;
        frame->subcategory = category->subcategory;
        frame->inherits_category = category->inherits_category;
    }
}

static const struct {
    int64_t since; /* the first version that needs it */
    int64_t until; /* the first one that needs it no longer */
    void (*apply)(struct shared_tables *tables);
} UPGRADES[] = {{FUNCS_HAVE_FLAGS, INT64_MAX, take_func_flags},
                {FRAMES_HAVE_FLAGS, INT64_MAX, take_frame_flags},
                {0, 70, move_libs_to_frames},
                {0, 58, make_sources_of_files},
                {0, 53, move_categories_to_frames}};

static void add_rows(struct saved_reader *reader, struct shared_tables *tables) {
    /* By enum row_kind: each table refers only to those before it. */
    static const enum format_table formats[ROW_KIND_COUNT] = {[ROWS_RESOURCES] = TABLE_RESOURCES,
                                                              [ROWS_SOURCES] = TABLE_SOURCES,
                                                              [ROWS_NATIVE_SYMBOLS] = TABLE_NATIVE_SYMBOLS,
                                                              [ROWS_FUNCS] = TABLE_FUNCS,
                                                              [ROWS_FRAMES] = TABLE_FRAMES,
                                                              [ROWS_STACKS] = TABLE_STACKS};
    for (enum row_kind kind = ROWS_RESOURCES; kind < ROW_KIND_COUNT; kind++) {
        enum format_table table = formats[kind];
        const struct member *description = table_of(table);
        struct column *rows = &tables->rows[table];
        for (uint32_t i = 0; i < rows->count && saved_is_good(reader); i++) {
            saved_map_push(reader, table, add_row(reader, description, kind, column_at(rows, i)));
            if (i % COLUMN_LARGE_CHUNK == 0) column_forget(rows, i);
        }
        column_fini(rows);
        column_init(rows, ROWS[table].row_bytes, reader->profile->failure);
    }
}

/* ---- The whole. ---- */

static void tables_init(struct shared_tables *tables, struct failure *failure) {
    memset(tables->other_row_counts, 0, sizeof tables->other_row_counts);
    column_init(&tables->contents, sizeof(struct text), failure);
    column_init(&tables->resource_libs, sizeof(uint32_t), failure);
    column_init(&tables->file_names, sizeof(uint32_t), failure);
    column_init(&tables->frame_flags, sizeof(uint32_t), failure);
    column_init(&tables->func_flags, sizeof(uint32_t), failure);
    column_init(&tables->stack_categories, sizeof(struct frame), failure);
    for (size_t i = 0; i < TABLE_COUNT; i++)
        column_init(&tables->rows[i], ROWS[i].row_bytes ? ROWS[i].row_bytes : 1, failure);
}

static void tables_fini(struct shared_tables *tables) {
    for (size_t i = 0; i < TABLE_COUNT; i++) column_fini(&tables->rows[i]);
    COLUMNS_FINI(&tables->contents, &tables->resource_libs, &tables->file_names, &tables->frame_flags,
                 &tables->func_flags, &tables->stack_categories);
}

static void tables_add(struct saved_reader *reader, struct shared_tables *tables) {
    for (size_t i = 0; i < sizeof UPGRADES / sizeof *UPGRADES && saved_is_good(reader); i++)
        if (reader->version >= UPGRADES[i].since && reader->version < UPGRADES[i].until) UPGRADES[i].apply(tables);
    add_rows(reader, tables);
    keep_contents(reader, &tables->contents);
}

void saved_shared_read(struct saved_reader *reader, void *context) {
    (void)context;
    reader->has_shared = true;
    struct shared_tables tables;
    tables_init(&tables, reader->profile->failure);
    saved_read_object(reader, read_table, &tables);
    tables_add(reader, &tables);
    tables_fini(&tables);
}

/* ---- Threads with tables of their own, before version 60. ---- */

struct thread_with_tables {
    struct shared_tables tables;
    struct saved_thread *thread;
};

/* Strings and sources are in the tables of all threads from versions 56 and 58 on. */
static void forget_tables(struct saved_reader *reader) {
    static const struct {
        enum format_table table;
        int64_t until;
    } tables[] = {{TABLE_STRINGS, 56}, {TABLE_SOURCES, 58}, {TABLE_RESOURCES, 60}, {TABLE_NATIVE_SYMBOLS, 60},
                  {TABLE_FUNCS, 60},   {TABLE_FRAMES, 60},  {TABLE_STACKS, 60}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (reader->version < tables[i].until) saved_map_clear(&reader->maps[tables[i].table]);
}

#define READ_TABLE(function_, table_)                                                  \
    static void function_(struct saved_reader *reader, void *context) {                \
        read_rows_of(reader, &((struct thread_with_tables *)context)->tables, table_); \
    }
READ_TABLE(read_thread_resources, TABLE_RESOURCES)
READ_TABLE(read_thread_symbols, TABLE_NATIVE_SYMBOLS)
READ_TABLE(read_thread_funcs, TABLE_FUNCS)
READ_TABLE(read_thread_frames, TABLE_FRAMES)
#undef READ_TABLE

static void read_thread_stacks(struct saved_reader *reader, void *context) {
    struct thread_with_tables *thread = context;
    read_rows_of(reader, &thread->tables, TABLE_STACKS);
    tables_add(reader, &thread->tables);
}

static void read_thread_samples(struct saved_reader *reader, void *context) {
    saved_samples_read(reader, ((struct thread_with_tables *)context)->thread);
}
static void read_thread_markers(struct saved_reader *reader, void *context) {
    saved_markers_read(reader, ((struct thread_with_tables *)context)->thread);
}
static void read_thread_allocations(struct saved_reader *reader, void *context) {
    saved_allocations_read(reader, ((struct thread_with_tables *)context)->thread);
}

static bool read_thread_member(struct saved_reader *reader, struct text key, void *context) {
    return saved_thread_read_member(reader, key, ((struct thread_with_tables *)context)->thread);
}

void saved_thread_read_with_tables(struct saved_reader *reader, struct saved_thread *saved) {
    enum { NEEDS_STRINGS = 1, NEEDS_ALL = 31, NEEDS_STACKS = 32 };
    static const struct saved_part parts[] = {
        {TEXT("stringArray"), saved_strings_read, 0, false, 0},
        {TEXT("resourceTable"), read_thread_resources, 0, true, 0},
        {TEXT("nativeSymbols"), read_thread_symbols, 0, true, 0},
        {TEXT("funcTable"), read_thread_funcs, 0, true, 0},
        {TEXT("frameTable"), read_thread_frames, 0, true, 0},
        {TEXT("stackTable"), read_thread_stacks, NEEDS_ALL, true, 0},
        {TEXT("samples"), read_thread_samples, NEEDS_STACKS, true, 0},
        {TEXT("markers"), read_thread_markers, NEEDS_STACKS, true, 0},
        {TEXT("nativeAllocations"), read_thread_allocations, NEEDS_STACKS, false, 0},
    };
    struct thread_with_tables thread = {.thread = saved};
    forget_tables(reader);
    tables_init(&thread.tables, reader->profile->failure);
    saved_read_parts(reader, parts, sizeof parts / sizeof *parts, read_thread_member, &thread);
    tables_fini(&thread.tables);
}
