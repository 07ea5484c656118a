#include "trace_definitions.h"

#include "libconvert/base/cursor.h"
#include "readers/code/jit_code.h"
#include "recorder/trace_format.h"

/* A definition, by id. */
struct definition {
    bool is_known;
    uint32_t content; /* ID_NONE if there is none */
};

/* What a body defines: a row in the column of its kind. */
struct content {
    enum trace_definition_kind kind; /* 0 if it defines nothing */
    enum trace_cause cause;          /* under which each use of the body is counted */
    uint32_t row;
};

struct category_definition {
    struct text name;
    enum category_color color;
    uint64_t parent_id;
};

struct meta_definition {
    uint64_t id;
    struct text key;
    struct text value;
    bool is_replaced; /* a later definition has the same key */
};

/* ---- Reading bodies. ---- */

static struct text keep_text(struct trace_definitions *definitions, struct text text) {
    return arena_copy(&definitions->texts, text);
}

/* Returns a copy that lives as long as the profile. */
static struct text profile_text_of(struct trace_definitions *definitions, struct text text) {
    return profile_text(definitions->profile, text);
}

/* Each function of this kind parses a body, whose kind has been read, into a row. A damaged body spoils the cursor. */
static void read_meta(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    struct text key = trace_cursor_text(body), value = trace_cursor_text(body);
    *(struct meta_definition *)row = (struct meta_definition){definitions->read_id, profile_text_of(definitions, key),
                                                              profile_text_of(definitions, value), false};
}

static void read_string(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    *(struct text *)row = keep_text(definitions, trace_cursor_text(body));
}

static void read_category(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    struct text name = trace_cursor_text(body);
    uint64_t color = trace_cursor_leb(body), parent_id = trace_cursor_leb(body);
    /* Earlier definitions have lower ids. This also bounds every chain of parents. */
    if (parent_id >= definitions->read_id) parent_id = 0;
    *(struct category_definition *)row =
        (struct category_definition){.name = keep_text(definitions, name),
                                     .color = color < TRACE_COLOR_COUNT ? (enum category_color)color : COLOR_GREY,
                                     .parent_id = parent_id};
}
_Static_assert((int)TRACE_COLOR_COUNT == (int)COLOR_COUNT && (int)TRACE_COLOR_DARKGREY == (int)COLOR_DARKGREY &&
                   (int)TRACE_COLOR_BROWN == (int)COLOR_BROWN,
               "same numbers");

static void read_marker_type(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    uint64_t lost_count = 0;
    trace_marker_type_read(row, body, definitions->profile, &lost_count);
    trace_ledger_count_placeless(definitions->ledger, TRACE_LOST_FIELD, lost_count);
}

static void read_marker(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    struct trace_marker marker = {.name_text = keep_text(definitions, trace_cursor_text(body))};
    marker.category_id = trace_cursor_leb(body);
    marker.type_id = trace_cursor_leb(body);
    *(struct trace_marker *)row = marker;
}

static uint32_t bounded_line(uint64_t line) { return line > INT32_MAX ? 0 : (uint32_t)line; }

static void read_label(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    struct trace_label label = {.name = keep_text(definitions, trace_cursor_text(body))};
    label.category_id = trace_cursor_leb(body);
    label.file = keep_text(definitions, trace_cursor_text(body));
    label.line = bounded_line(trace_cursor_leb(body));
    *(struct trace_label *)row = label;
}

static void read_counter(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    struct counter counter = {0};
    struct text *const members[] = {&counter.name, &counter.category, &counter.description, &counter.label,
                                    &counter.unit};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        *members[i] = profile_text_of(definitions, trace_cursor_text(body));
    uint64_t graph = trace_cursor_leb(body), color = trace_cursor_leb(body);
    int64_t sort_weight = trace_cursor_zigzag(body);
    if (sort_weight > INT32_MAX) sort_weight = INT32_MAX;
    if (sort_weight < INT32_MIN) sort_weight = INT32_MIN;
    counter.graph = graph < COUNTER_GRAPH_COUNT ? (enum counter_graph)graph : COUNTER_ACCUMULATED;
    counter.color = color < TRACE_GRAPH_COLOR_COUNT ? (enum graph_color)color : GRAPH_GREY;
    counter.sort_weight = (int32_t)sort_weight;
    *(struct counter *)row = counter;
}
_Static_assert((int)COUNTER_GRAPH_COUNT == 2 && (int)COUNTER_RATE == 1, "same numbers");
_Static_assert((int)TRACE_GRAPH_COLOR_COUNT == (int)GRAPH_COLOR_COUNT && (int)TRACE_GRAPH_GREY == (int)GRAPH_GREY &&
                   (int)TRACE_GRAPH_YELLOW == (int)GRAPH_YELLOW,
               "same numbers");

/* Names of memory without a file, and of files that generated code is mapped from. */
static const struct text no_file_names[] = {TEXT("[heap"),     TEXT("[stack"),      TEXT("[anon"),
                                            TEXT("//anon"),    TEXT("anon_inode:"), TEXT("/memfd:"),
                                            TEXT("/dev/zero"), TEXT("/SYSV"),       TEXT("[JIT")};

static bool is_file(struct text path) {
    return path.bytes_count && !TEXT_STARTS_IN(path, no_file_names) && !jit_is_dump(path);
}

static struct text keep_hex(struct trace_definitions *definitions, struct text bytes) {
    char *hex = arena_take_bytes(&definitions->texts, 2 * bytes.bytes_count + 1);
    return hex ? text_hex(bytes, hex) : (struct text){0};
}

static void read_library(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    static const struct text deleted = TEXT(" (deleted)");
    struct text path = trace_cursor_text(body), build_id = trace_cursor_text(body);
    if (text_ends_with(path, deleted)) path.bytes_count -= deleted.bytes_count;
    *(struct trace_library *)row = (struct trace_library){.path = keep_text(definitions, path),
                                                          .build_id = keep_hex(definitions, build_id),
                                                          .is_file = is_file(path),
                                                          .lib = lib_none(),
                                                          .resource = resource_none()};
}

static void read_mapping(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    struct trace_mapping mapping = {.pid = (int64_t)trace_cursor_bounded(body, INT32_MAX)};
    mapping.process_start_ns = trace_cursor_leb(body);
    mapping.mapping.address = trace_cursor_leb(body);
    mapping.mapping.size_bytes = trace_cursor_leb(body);
    mapping.mapping.offset = trace_cursor_leb(body);
    mapping.mapping.library_id = trace_cursor_leb(body);
    *(struct trace_mapping *)row = mapping;
    bool is_possible = code_mapping_is_possible(&mapping.mapping);
    if (!is_possible || mapping.mapping.library_id >= definitions->read_id) trace_cursor_spoil(body);
}

static void read_inheritance(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    struct trace_inheritance inheritance = {.child.pid = (int64_t)trace_cursor_bounded(body, INT32_MAX)};
    inheritance.child.start_ns = trace_cursor_leb(body);
    inheritance.parent.pid = (int64_t)trace_cursor_bounded(body, INT32_MAX);
    inheritance.parent.start_ns = trace_cursor_leb(body);
    inheritance.last_id = trace_cursor_leb(body);
    *(struct trace_inheritance *)row = inheritance;
    if (inheritance.last_id >= definitions->read_id) trace_cursor_spoil(body);
}

static void read_symbol(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    uint64_t library_id = trace_cursor_leb(body), offset = trace_cursor_leb(body), size = trace_cursor_leb(body);
    struct text name = trace_cursor_text(body);
    uint64_t number = definitions->rows_of[TRACE_DEFINE_SYMBOL].count; /* from 1: this row is the last one */
    const struct code_mapping range = {.address = offset, .size_bytes = size, .library_id = number};
    if (library_id >= definitions->read_id || !code_mapping_is_possible(&range)) trace_cursor_spoil(body);
    if (body->is_bad) return;
    *(struct trace_function *)row = (struct trace_function){offset, keep_text(definitions, name)};
    struct code_space *map = value_table_intern(&definitions->symbol_maps, &library_id, &(struct code_space){0});
    if (map) code_space_map(&definitions->spaces, map, &range);
}

static void read_arguments(struct trace_definitions *definitions, struct trace_cursor *body, void *row) {
    struct trace_arguments arguments = {.pid = (int64_t)trace_cursor_bounded(body, INT32_MAX)};
    arguments.process_start_ns = trace_cursor_leb(body);
    arguments.text = profile_text_of(definitions, trace_cursor_text(body));
    *(struct trace_arguments *)row = arguments;
}

static const struct kind_traits {
    void (*read)(struct trace_definitions *definitions, struct trace_cursor *body, void *row);
    uint32_t row_bytes;
} KINDS[TRACE_DEFINITION_KIND_COUNT] = {
    [TRACE_DEFINE_META] = {read_meta, sizeof(struct meta_definition)},
    [TRACE_DEFINE_STRING] = {read_string, sizeof(struct text)},
    [TRACE_DEFINE_CATEGORY] = {read_category, sizeof(struct category_definition)},
    [TRACE_DEFINE_MARKER_TYPE] = {read_marker_type, sizeof(struct trace_marker_type)},
    [TRACE_DEFINE_MARKER] = {read_marker, sizeof(struct trace_marker)},
    [TRACE_DEFINE_LABEL] = {read_label, sizeof(struct trace_label)},
    [TRACE_DEFINE_COUNTER] = {read_counter, sizeof(struct counter)},
    [TRACE_DEFINE_LIBRARY] = {read_library, sizeof(struct trace_library)},
    [TRACE_DEFINE_MAPPING] = {read_mapping, sizeof(struct trace_mapping)},
    [TRACE_DEFINE_INHERITANCE] = {read_inheritance, sizeof(struct trace_inheritance)},
    [TRACE_DEFINE_SYMBOL] = {read_symbol, sizeof(struct trace_function)},
    [TRACE_DEFINE_ARGUMENTS] = {read_arguments, sizeof(struct trace_arguments)},
};

void trace_definitions_init(struct trace_definitions *definitions, struct profile *profile,
                            struct trace_ledger *ledger) {
    struct failure *failure = profile->failure;
    *definitions = (struct trace_definitions){.profile = profile, .ledger = ledger};
    arena_init(&definitions->texts, failure);
    value_table_init(&definitions->rows, sizeof(uint64_t), sizeof(struct definition), failure);
    value_table_init(&definitions->contents, sizeof(struct index_identity), sizeof(struct content), failure);
    for (size_t kind = 1; kind < TRACE_DEFINITION_KIND_COUNT; kind++)
        column_init(&definitions->rows_of[kind], KINDS[kind].row_bytes, failure);
    column_init(&definitions->jitdumps, sizeof(struct trace_jitdump), failure);
    value_table_init(&definitions->symbol_maps, sizeof(uint64_t), sizeof(struct code_space), failure);
    code_spaces_init(&definitions->spaces, failure);
    value_table_init(&definitions->histories, sizeof(struct trace_process_key), sizeof(struct code_history), failure);
    strings_init(&definitions->schema_names, failure);
    column_init(&definitions->schema_numbers, sizeof(uint32_t), failure);
}

void trace_definitions_fini(struct trace_definitions *definitions) {
    arena_fini(&definitions->texts);
    value_table_fini(&definitions->rows);
    value_table_fini(&definitions->contents);
    for (size_t kind = 1; kind < TRACE_DEFINITION_KIND_COUNT; kind++) column_fini(&definitions->rows_of[kind]);
    column_fini(&definitions->jitdumps);
    value_table_fini(&definitions->symbol_maps);
    code_spaces_fini(&definitions->spaces);
    for (uint32_t i = 0; i < value_table_count(&definitions->histories); i++)
        code_history_fini(value_table_at(&definitions->histories, i));
    value_table_fini(&definitions->histories);
    strings_fini(&definitions->schema_names);
    column_fini(&definitions->schema_numbers);
}

static struct content read_content(struct trace_definitions *definitions, struct text body, uint64_t id) {
    struct trace_cursor cursor = trace_cursor_of(body);
    uint8_t kind = trace_cursor_byte(&cursor);
    if (cursor.is_bad) return (struct content){.cause = TRACE_LOST_DEFINITION_DAMAGED};
    if (kind >= TRACE_DEFINITION_KIND_COUNT || !kind) return (struct content){.cause = TRACE_LOST_DEFINITION_KIND};
    struct column *rows = &definitions->rows_of[kind];
    void *row = column_push(rows);
    definitions->read_id = id;
    if (row) KINDS[kind].read(definitions, &cursor, row);
    if (row && !cursor.is_bad) return (struct content){kind, TRACE_KEPT_DEFINITION, rows->count - 1};
    if (row) rows->count--;
    return (struct content){.cause = TRACE_LOST_DEFINITION_DAMAGED};
}

/* Returns the row of the id. Adds it if it is new. NULL if memory ran out (latched). */
static struct definition *definition_of(struct trace_definitions *definitions, uint64_t id) {
    return value_table_intern(&definitions->rows, &id, &(struct definition){false, ID_NONE});
}

/* ---- Looking up. ---- */

/* Returns the content of the id if it has that kind, otherwise NULL. */
static const struct content *find(struct trace_definitions *definitions, uint64_t id, enum trace_definition_kind kind,
                                  bool *is_open) {
    const struct definition *definition = id ? definition_of(definitions, id) : NULL;
    if (!definition) return NULL;
    if (!definition->is_known) {
        *is_open = *is_open || !definitions->is_complete;
        return NULL;
    }
    if (definition->content == ID_NONE) return NULL;
    const struct content *content = value_table_at(&definitions->contents, definition->content);
    return content->kind == kind ? content : NULL;
}

static void *row_of(const struct trace_definitions *definitions, const struct content *content) {
    return column_at(&definitions->rows_of[content->kind], content->row);
}

/* Returns what the id defines, otherwise NULL. */
static void *find_row(struct trace_definitions *definitions, uint64_t id, enum trace_definition_kind kind,
                      bool *is_open) {
    const struct content *content = find(definitions, id, kind, is_open);
    return content ? row_of(definitions, content) : NULL;
}

static struct trace_library *find_library(struct trace_definitions *definitions, uint64_t id) {
    bool is_open = false;
    return find_row(definitions, id, TRACE_DEFINE_LIBRARY, &is_open);
}

/* ---- Mappings. ---- */

static const struct content *content_of(const struct trace_definitions *definitions,
                                        const struct definition *definition) {
    if (!definition->is_known || definition->content == ID_NONE) return NULL;
    return value_table_at(&definitions->contents, definition->content);
}

static void note_jitdump(struct trace_definitions *definitions, const struct trace_mapping *mapping) {
    const struct trace_library *library = find_library(definitions, mapping->mapping.library_id);
    if (!library || !jit_is_dump(library->path)) return;
    column_add(&definitions->jitdumps, &(struct trace_jitdump){mapping->pid, mapping->process_start_ns, library->path});
}

/* Returns the process's mappings; NULL if memory ran out (latched). */
static struct code_history *history_of(struct trace_definitions *definitions, const struct trace_process_key *key) {
    struct code_history none;
    code_history_init(&none, definitions->profile->failure);
    return value_table_intern(&definitions->histories, key, &none);
}

static void put_mapping_in_force(struct trace_definitions *definitions, uint64_t id,
                                 const struct trace_mapping *mapping) {
    const struct trace_process_key key = {mapping->pid, mapping->process_start_ns};
    if (mapping->mapping.library_id && !find_library(definitions, mapping->mapping.library_id))
        trace_ledger_count_placeless(definitions->ledger, TRACE_NOTE_LIBRARY, 1);
    struct code_history *history = history_of(definitions, &key);
    if (history) code_history_map(&definitions->spaces, history, id, &mapping->mapping);
    note_jitdump(definitions, mapping);
}

static void put_inheritance_in_force(struct trace_definitions *definitions, uint64_t id,
                                     const struct trace_inheritance *inheritance) {
    struct code_history *parent = history_of(definitions, &inheritance->parent);
    struct code_history *child = history_of(definitions, &inheritance->child);
    if (parent && child) code_history_inherit(&definitions->spaces, child, id, parent, inheritance->last_id);
}

static bool is_of_mappings(const struct content *content) {
    return content && (content->kind == TRACE_DEFINE_MAPPING || content->kind == TRACE_DEFINE_INHERITANCE);
}

static void put_in_force(struct trace_definitions *definitions, uint64_t id, const struct definition *definition) {
    const struct content *content = content_of(definitions, definition);
    if (!is_of_mappings(content)) return;
    if (content->kind == TRACE_DEFINE_MAPPING)
        put_mapping_in_force(definitions, id, row_of(definitions, content));
    else
        put_inheritance_in_force(definitions, id, row_of(definitions, content));
}

/* Applies mappings in the order of the log, up to the first definition that is unknown. Equal mappings are not merged:
 * another one may have been there in between. */
static void advance(struct trace_definitions *definitions) {
    while (!failure_is_set(definitions->profile->failure)) {
        const struct definition *next = definition_of(definitions, definitions->last_known_id + 1);
        if (!next || !next->is_known) return;
        put_in_force(definitions, ++definitions->last_known_id, next);
    }
}

static int compare_ids(const void *a, const void *b) { return ORDER(*(const uint64_t *)a, *(const uint64_t *)b); }

void trace_definitions_complete(struct trace_definitions *definitions) {
    struct column ids;
    column_init(&ids, sizeof(uint64_t), definitions->profile->failure);
    for (uint32_t row = 0; row < value_table_count(&definitions->rows); row++) {
        const uint64_t *id = row_table_at(&definitions->rows.keys, row);
        const struct content *content = content_of(definitions, value_table_at(&definitions->rows, row));
        if (!is_of_mappings(content) || *id <= definitions->last_known_id) continue;
        column_add(&ids, id);
    }
    column_sort(&ids, compare_ids);
    definitions->is_complete = true;
    for (size_t i = 0; i < ids.count && !failure_is_set(definitions->profile->failure); i++) {
        uint64_t id = *(const uint64_t *)column_at(&ids, i);
        const struct definition *definition = definition_of(definitions, id);
        if (definition) put_in_force(definitions, id, definition);
    }
    column_fini(&ids);
}

/* ---- Adding. ---- */

void trace_definitions_add(struct trace_definitions *definitions, uint64_t id, struct text body, uint64_t offset) {
    struct definition *definition = definition_of(definitions, id);
    if (!definition) return;
    struct index_identity hash = index_set_identity(body.bytes, body.bytes_count);
    uint32_t known_count = value_table_count(&definitions->contents);
    uint32_t content = value_table_number(&definitions->contents, &hash, &(struct content){0});
    if (content == ID_NONE) return;
    struct content *known = value_table_at(&definitions->contents, content);
    if (content == known_count) *known = read_content(definitions, body, id);
    trace_ledger_account(definitions->ledger, known->cause, 1, offset);
    if (!definition->is_known) *definition = (struct definition){true, content};
    advance(definitions);
}

void trace_definitions_add_void(struct trace_definitions *definitions, uint64_t id) {
    struct definition *definition = definition_of(definitions, id);
    if (definition && !definition->is_known) *definition = (struct definition){true, ID_NONE};
    advance(definitions);
}

/* ---- Look-ups. ---- */

struct category_pair trace_definitions_category(struct trace_definitions *definitions, uint64_t id, bool *is_open) {
    struct categories *categories = &definitions->profile->categories;
    const struct category_definition *own = NULL, *root = NULL;
    /* Each parent has a lower id, so this ends. Profiles have only two levels, so the outermost parent is the
     * category. */
    for (uint64_t next_id = id; next_id;) {
        const struct category_definition *outer = find_row(definitions, next_id, TRACE_DEFINE_CATEGORY, is_open);
        if (!outer) break;
        root = outer;
        if (!own) own = root;
        next_id = root->parent_id;
    }
    if (*is_open || !own) {
        if (id && !*is_open) trace_ledger_count_placeless(definitions->ledger, TRACE_NOTE_CATEGORY, 1);
        return (struct category_pair){0, 0};
    }
    struct text subcategory = own == root ? (struct text){0} : own->name;
    return categories_intern(categories, root->name, root->color, subcategory);
}

static const struct trace_marker_type *find_type(struct trace_definitions *definitions, uint64_t id, bool *is_open) {
    struct trace_marker_type *type = find_row(definitions, id, TRACE_DEFINE_MARKER_TYPE, is_open);
    if (!type) return NULL;
    if (!type->is_resolved)
        trace_marker_type_resolve(type, definitions->profile, &definitions->schema_names, &definitions->schema_numbers);
    return type->row == MARKER_SCHEMA_NONE ? NULL : type;
}

static const struct trace_marker *find_marker(struct trace_definitions *definitions, uint64_t id, bool *is_open) {
    struct trace_marker *marker = find_row(definitions, id, TRACE_DEFINE_MARKER, is_open);
    if (!marker || marker->is_resolved) return marker;
    bool is_waiting = false;
    find(definitions, marker->type_id, TRACE_DEFINE_MARKER_TYPE, &is_waiting);
    uint8_t category =
        is_waiting ? 0 : trace_definitions_category(definitions, marker->category_id, &is_waiting).category;
    if (is_waiting) {
        *is_open = true;
        return NULL;
    }
    marker->category = category;
    marker->type = find_type(definitions, marker->type_id, &is_waiting);
    marker->has_lost_type = marker->type_id && !marker->type;
    marker->name = profile_marker_name(definitions->profile, marker->name_text,
                                       marker->type ? marker->type->row : (uint16_t)MARKER_SCHEMA_NONE);
    marker->is_routine = !marker->type_id && text_equal(marker->name_text, TEXT("Process without samples"));
    marker->is_resolved = true;
    return marker;
}

/* Programs record the same few markers again and again. What an id means does not change once it is known. */
const struct trace_marker *trace_definitions_marker(struct trace_definitions *definitions, uint64_t id, bool *is_open) {
    struct trace_recent_marker *recent = &definitions->recent_markers[id % TRACE_RECENT_COUNT];
    if (recent->marker && recent->id == id) return recent->marker;
    const struct trace_marker *marker = find_marker(definitions, id, is_open);
    if (marker) *recent = (struct trace_recent_marker){id, marker};
    return marker;
}

static frame_id label_frame(struct trace_definitions *definitions, const struct trace_label *label) {
    struct profile *profile = definitions->profile;
    struct func func = {.name = profile_string(profile, label->name),
                        .resource = resource_none(),
                        .source = label->source,
                        .line = label->line};
    struct frame frame = frame_of_func(profile_func(profile, &func), label->category);
    return profile_frame(profile, &frame);
}

const struct trace_label *trace_definitions_label(struct trace_definitions *definitions, uint64_t id, bool *is_open) {
    struct trace_label *label = find_row(definitions, id, TRACE_DEFINE_LABEL, is_open);
    if (!label || label->is_resolved) return label;
    bool is_waiting = false;
    struct category_pair category = trace_definitions_category(definitions, label->category_id, &is_waiting);
    if (is_waiting) {
        *is_open = true;
        return NULL;
    }
    label->category = category;
    label->source = label->file.bytes_count ? profile_source(definitions->profile, label->file) : source_none();
    label->frame = label_frame(definitions, label);
    label->is_resolved = true;
    return label;
}

const struct counter *trace_definitions_counter(struct trace_definitions *definitions, uint64_t id, bool *is_open,
                                                uint32_t *row) {
    const struct content *content = find(definitions, id, TRACE_DEFINE_COUNTER, is_open);
    if (!content) return NULL;
    *row = content->row;
    return row_of(definitions, content);
}

struct text trace_definitions_string(struct trace_definitions *definitions, uint64_t id, bool *is_open) {
    const struct text *string = find_row(definitions, id, TRACE_DEFINE_STRING, is_open);
    return string ? *string : (struct text){0};
}

const struct code_mapping *trace_definitions_mapping(const struct trace_definitions *definitions, int64_t pid,
                                                     uint64_t process_start_ns, uint64_t address, uint64_t last_id) {
    const struct trace_process_key key = {pid, process_start_ns};
    const struct code_history *history = value_table_find(&definitions->histories, &key);
    return history ? code_history_find(&definitions->spaces, history, last_id, address) : NULL;
}

const struct trace_library *trace_definitions_library(struct trace_definitions *definitions, uint64_t id) {
    struct trace_library *library = find_library(definitions, id);
    if (!library || library->is_resolved || !library->is_file) return library;
    struct profile *profile = definitions->profile;
    struct text name = text_starts_with(library->path, TEXT("[")) ? library->path : text_base_name(library->path);
    library->lib = libs_intern(&profile->libs, library->path, library->build_id);
    library->resource = profile_resource(profile, profile_string(profile, name), RESOURCE_LIBRARY);
    library->is_resolved = true;
    return library;
}

const struct trace_function *trace_definitions_function(const struct trace_definitions *definitions,
                                                        uint64_t library_id, uint64_t offset) {
    const struct column *symbols = &definitions->rows_of[TRACE_DEFINE_SYMBOL];
    if (!symbols->count) return NULL;
    const struct code_space *map = value_table_find(&definitions->symbol_maps, &library_id);
    const struct code_mapping *range = map ? code_space_find(&definitions->spaces, *map, offset) : NULL;
    return range ? column_at(symbols, range->library_id - 1) : NULL;
}

/* ---- The machine and the program. ---- */

static const struct meta_key {
    struct text key;
    size_t member; /* offset of a struct text in struct profile_meta */
} META_KEYS[] = {
    {TEXT("product"), offsetof(struct profile_meta, product)},
    {TEXT(TRACE_FACT_PREFIX "version"), offsetof(struct profile_meta, version)},
    {TEXT(TRACE_FACT_PREFIX "build ID"), offsetof(struct profile_meta, build_id)},
    {TEXT(TRACE_FACT_PREFIX "source URL"), offsetof(struct profile_meta, source_url)},
    {TEXT("features"), offsetof(struct profile_meta, configuration.features)},
    {TEXT("threadFilter"), offsetof(struct profile_meta, configuration.threads)},
    {TEXT("arguments"), offsetof(struct profile_meta, arguments)},
    {TEXT("oscpu"), offsetof(struct profile_meta, os_cpu)},
    {TEXT("CPUName"), offsetof(struct profile_meta, cpu_name)},
    {TEXT("platform"), offsetof(struct profile_meta, platform)},
    {TEXT("abi"), offsetof(struct profile_meta, abi)},
    {TEXT("device"), offsetof(struct profile_meta, device)},
    {TEXT("bootID"), offsetof(struct profile_meta, boot_id)},
};

static int compare_metas(const void *a, const void *b) { return ORDER_BY(struct meta_definition, id, a, b); }

static bool fill_text(struct profile_meta *meta, const struct meta_definition *definition) {
    for (size_t i = 0; i < sizeof META_KEYS / sizeof *META_KEYS; i++) {
        if (!text_equal(definition->key, META_KEYS[i].key)) continue;
        struct text *member = (struct text *)((char *)meta + META_KEYS[i].member);
        *member = definition->value;
        return true;
    }
    return false;
}

/* One hour. */
static const uint64_t INTERVAL_NS_MAX = UINT64_C(3600000000000);

static bool fill_number(struct profile_meta *meta, const struct meta_definition *definition) {
    uint64_t number = 0;
    bool is_cpu_count = text_equal(definition->key, TEXT("logicalCPUs"));
    bool is_memory = text_equal(definition->key, TEXT("mainMemory"));
    bool is_interval = text_equal(definition->key, TEXT("samplingInterval"));
    bool is_core_count = text_equal(definition->key, TEXT("physicalCPUs"));
    bool is_duration = text_equal(definition->key, TEXT("durationLimit"));
    if (!is_cpu_count && !is_core_count && !is_memory && !is_interval && !is_duration) return false;
    if (!cursor_parse_number(definition->value, 10, &number) || number > INT64_MAX) return true;
    if (is_cpu_count && number <= UINT32_MAX) meta->logical_cpu_count = (uint32_t)number;
    if (is_core_count && number <= UINT32_MAX) meta->physical_cpu_count = (uint32_t)number;
    if (is_duration && number <= UINT32_MAX) meta->configuration.duration_s = (uint32_t)number;
    if (is_memory) meta->main_memory_bytes = number;
    if (is_interval && number <= INTERVAL_NS_MAX) meta->configuration.interval_ns = (int64_t)number;
    return true;
}

static void find_replaced(const struct column *metas) {
    struct strings keys;
    strings_init(&keys, metas->failure);
    for (size_t i = metas->count; i > 0; i--) {
        struct meta_definition *definition = column_at(metas, i - 1);
        uint32_t known_count = strings_count(&keys);
        string_id key = strings_intern(&keys, definition->key);
        definition->is_replaced = key.index < known_count;
    }
    strings_fini(&keys);
}

/* Adds a fact about the program to the panel. Returns false if the definition is not a fact. */
static bool add_fact(struct profile *profile, const struct meta_definition *definition) {
    static const struct text prefix = TEXT(TRACE_FACT_PREFIX);
    if (!text_starts_with(definition->key, prefix)) return false;
    profile_add_extra(profile, TEXT("Program"), text_from(definition->key, prefix.bytes_count), definition->value);
    return true;
}

static void fill(struct trace_definitions *definitions, const struct meta_definition *definition) {
    struct profile *profile = definitions->profile;
    struct profile_meta *meta = &profile->meta;
    if (text_equal(definition->key, TEXT("recorder")))
        meta->imported_from = profile_text_format(profile, "gecko-convert recorder %.*s", TEXT_ARGS(definition->value));
    else if (!fill_text(meta, definition) && !fill_number(meta, definition) && !add_fact(profile, definition))
        profile_add_extra(profile, TEXT("Recorder"), definition->key, definition->value);
}

void trace_definitions_fill_meta(struct trace_definitions *definitions) {
    definitions->profile->meta.imported_from = TEXT("gecko-convert recorder");
    struct column *metas = &definitions->rows_of[TRACE_DEFINE_META];
    column_sort(metas, compare_metas);
    find_replaced(metas);
    COLUMN_EACH(const struct meta_definition, definition, metas)
        if (!definition->is_replaced) fill(definitions, definition);
}
