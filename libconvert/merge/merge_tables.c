/* Merges the tables to which samples and markers refer. A table is merged after those that its rows refer to. Then the
 * samples and markers get the new numbers, so that the tables of the input are not needed any more. */
#include <string.h>

#include "libconvert/base/memory.h"
#include "merge_steps.h"

/* Maps the rows of one input's tables to those of the whole profile. All members are owned. */
struct merge_tables {
    uint32_t *numbers[ROW_KIND_COUNT];
    struct category_pair *categories[CATEGORY_COUNT_MAX]; /* by subcategory; NULL: no such category */
};

/* Allocates one row more than needed, so that a table without rows is no failure. */
#define ALLOCATE_MAP(map, count, failure) ((map) = memory_allocate(failure, ((size_t)(count) + 1) * sizeof *(map)))

static void map_strings(struct merge_tables *tables, const struct profile *part, struct profile *whole) {
    uint32_t count = strings_count(&part->strings);
    uint32_t *numbers = ALLOCATE_MAP(tables->numbers[ROWS_STRINGS], count, whole->failure);
    for (uint32_t i = 0; numbers && i < count; i++)
        numbers[i] = profile_string(whole, strings_text(&part->strings, (string_id){i})).index;
}

/* ---- Categories. ---- */

/* Returns the name of the category in the whole profile: its own, or that of a variant if a category with another
 * colour has that name. Variants are numbered anew, so that it does not matter how nested merges group the runs. */
static struct text category_name(const struct category *category, struct profile *whole) {
    struct text plain = profile_plain_name(category->name), name = plain;
    for (unsigned number = 2; number <= CATEGORY_COUNT_MAX; number++) {
        const struct category *other = NULL;
        for (size_t i = 0; i < whole->categories.rows.count && !other; i++)
            if (text_equal(categories_at(&whole->categories, i)->name, name))
                other = categories_at(&whole->categories, i);
        if (!other || other->color == category->color) break;
        name = profile_variant_name(whole, plain, number);
    }
    return name;
}

static void map_categories(struct merge_tables *tables, const struct profile *part, struct profile *whole) {
    for (size_t i = 0; i < part->categories.rows.count; i++) {
        const struct category *category = categories_at(&part->categories, i);
        size_t count = category->subcategories.count;
        struct text name = category_name(category, whole);
        if (!ALLOCATE_MAP(tables->categories[i], count, whole->failure)) return;
        for (size_t j = 0; j < count; j++)
            tables->categories[i][j] = categories_intern(&whole->categories, name, category->color,
                                                         j ? *category_subcategory_at(category, j) : TEXT(""));
    }
}

/* ---- Code. ---- */

/* Returns the debug name without the number that distinguishes libraries of one name. The whole profile numbers them
 * anew. */
static struct text plain_debug_name(const struct lib *lib) {
    struct text rest = text_from(lib->debug_name, lib->name.bytes_count);
    bool is_numbered = text_starts_with(lib->debug_name, lib->name) && text_starts_with(rest, TEXT(" (")) &&
                       text_ends_with(rest, TEXT(")"));
    return is_numbered ? lib->name : lib->debug_name;
}

static void map_libs(struct merge_tables *tables, const struct profile *part, struct profile *whole) {
    uint32_t count = libs_count(&part->libs);
    uint32_t *numbers = ALLOCATE_MAP(tables->numbers[ROWS_LIBS], count, whole->failure);
    for (uint32_t i = 0; numbers && i < count; i++) {
        struct lib lib = *libs_at(&part->libs, (lib_id){i});
        lib.debug_name = plain_debug_name(&lib);
        numbers[i] = libs_take(&whole->libs, &lib).index;
    }
    column_append(&whole->lib_troubles, &part->lib_troubles);
}

static void map_frame_category(const struct merge_tables *tables, struct frame *frame) {
    if (frame->inherits_category) return;
    struct category_pair pair = tables->categories[frame->category][frame->subcategory];
    frame->category = pair.category;
    frame->subcategory = pair.subcategory;
}

static void map_rows(struct merge_tables *tables, enum row_kind kind, struct profile *part, struct profile *whole) {
    struct row_table *from = profile_rows(part, kind), *to = profile_rows(whole, kind);
    uint32_t count = row_table_count(from);
    uint32_t *numbers = ALLOCATE_MAP(tables->numbers[kind], count, whole->failure);
    for (uint32_t i = 0; numbers && i < count; i++) {
        void *row = column_at(&from->rows, i);
        row_renumber(kind, row, tables->numbers);
        if (kind == ROWS_FRAMES) map_frame_category(tables, row);
        numbers[i] = row_table_intern(to, row);
    }
}

static void map_looked_up_sources(const struct merge_tables *tables, const struct profile *part,
                                  struct profile *whole) {
    COLUMN_EACH(const source_id, id, &part->looked_up_sources) {
        source_id *looked_up = column_push(&whole->looked_up_sources);
        if (looked_up) looked_up->index = tables->numbers[ROWS_SOURCES][id->index];
    }
}

static void map_source_contents(const struct merge_tables *tables, struct merge_input *input, struct profile *whole) {
    const struct profile *part = &input->profile;
    for (uint32_t i = 0; i < part->source_contents.count; i++) {
        const struct text *content = column_at(&part->source_contents, i);
        source_id source = {tables->numbers[ROWS_SOURCES][i]};
        input->other_content_count += content->bytes && !profile_keep_content(whole, source, *content);
    }
}

/* Callers have lower numbers than their callees, so the caller of each stack has been mapped before. */
static void map_stacks(struct merge_tables *tables, const struct profile *part, struct profile *whole) {
    uint32_t count = stack_table_count(&part->stacks);
    uint32_t *numbers = ALLOCATE_MAP(tables->numbers[ROWS_STACKS], count, whole->failure);
    for (uint32_t i = 0; numbers && i < count; i++) {
        const struct stack *row = profile_stack_at(part, (stack_id){i});
        stack_id prefix = {stack_is_none(row->prefix) ? ID_NONE : numbers[row->prefix.index]};
        frame_id frame = {frame_is_none(row->frame) ? ID_NONE : tables->numbers[ROWS_FRAMES][row->frame.index]};
        numbers[i] = profile_stack(whole, prefix, frame).index;
    }
}

/* ---- Marker schemas. ---- */

static void map_schemas(struct merge_input *input, struct profile *whole) {
    size_t count = input->profile.marker_schemas.count;
    if (!ALLOCATE_MAP(input->schemas, count, whole->failure)) return;
    for (size_t i = 0; i < count; i++) {
        struct marker_schema schema = *(const struct marker_schema *)column_at(&input->profile.marker_schemas, i);
        schema.name = profile_plain_name(schema.name);
        input->schemas[i] = profile_take_marker_schema(whole, &schema);
    }
}

/* ---- Samples and markers. ---- */

static void renumber_stack(const struct merge_tables *tables, stack_id *stack) {
    if (!stack_is_none(*stack)) stack->index = tables->numbers[ROWS_STACKS][stack->index];
}

/* A marker_value_visitor. */
static void renumber_string(void *context, void *value) {
    const struct merge_tables *tables = context;
    string_id *string = value;
    string->index = tables->numbers[ROWS_STRINGS][string->index];
}

static void shift_cells(const struct profile *part, const struct marker *marker) {
    const struct marker_schema *schema = column_at(&part->marker_schemas, marker->schema);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct marker_field *field = &schema->fields[i];
        if (marker_format_kind(field->format) != VALUE_CELLS) continue;
        struct marker_cells *cells = &profile_slot_at(part, marker->slots_at + field->slot)->cells;
        if (cells->first != ID_NONE) cells->first += part->payloads.first_cell;
    }
}

/* The marker keeps the schema's number in the input: shifting its times may still need that schema. */
static void renumber_marker(struct merge_tables *tables, const struct profile *part, struct marker *marker) {
    marker->slots_at += part->payloads.first_slot;
    marker->name.index = tables->numbers[ROWS_STRINGS][marker->name.index];
    marker->category = tables->categories[marker->category][0].category;
    renumber_stack(tables, &marker->stack);
    if (marker->schema == MARKER_SCHEMA_NONE) return;
    shift_cells(part, marker);
    profile_visit_marker(part, marker, VALUE_STRING, renumber_string, tables);
}

static void renumber_thread(struct merge_tables *tables, const struct profile *part, struct thread *thread) {
    COLUMN_EACH(struct sample, sample, &thread->samples.rows) renumber_stack(tables, &sample->stack);
    for (uint32_t i = 0; i < thread->markers.count; i++) renumber_marker(tables, part, column_at(&thread->markers, i));
    COLUMN_EACH(struct allocation, allocation, &thread->allocations) renumber_stack(tables, &allocation->stack);
}

/* ---- The whole. ---- */

static void merge_all(struct merge_tables *tables, struct merge_input *input, struct profile *whole) {
    struct profile *part = &input->profile;
    struct failure *failure = whole->failure;
    map_strings(tables, part, whole);
    if (!failure_is_set(failure)) map_categories(tables, part, whole);
    if (!failure_is_set(failure)) map_libs(tables, part, whole);
    for (enum row_kind kind = ROWS_RESOURCES; kind <= ROWS_FRAMES && !failure_is_set(failure); kind++)
        map_rows(tables, kind, part, whole);
    if (!failure_is_set(failure)) map_looked_up_sources(tables, part, whole);
    if (!failure_is_set(failure)) map_source_contents(tables, input, whole);
    if (!failure_is_set(failure)) map_stacks(tables, part, whole);
}

static void free_tables(struct merge_tables *tables) {
    for (enum row_kind kind = 0; kind < ROW_KIND_COUNT; kind++) memory_free(tables->numbers[kind]);
    for (size_t i = 0; i < CATEGORY_COUNT_MAX; i++) memory_free(tables->categories[i]);
}

/* Frees the tables of an input, which can be large. They stay valid and empty. */
static void empty_tables(struct profile *part) {
    for (enum row_kind kind = ROWS_RESOURCES; kind <= ROWS_FRAMES; kind++) {
        struct row_table *table = profile_rows(part, kind);
        uint32_t row_bytes = table->rows.element_bytes;
        row_table_fini(table);
        row_table_init(table, row_bytes, part->failure);
    }
    stack_table_fini(&part->stacks);
    stack_table_init(&part->stacks, part->failure);
    strings_fini(&part->strings);
    strings_init(&part->strings, part->failure);
    part->source_contents.count = 0;
    strings_fini(&part->contents);
    strings_init(&part->contents, part->failure);
}

void merge_tables(struct merge_input *input, struct profile *whole) {
    struct merge_tables tables = {0};
    struct profile *part = &input->profile;
    merge_all(&tables, input, whole);
    if (!failure_is_set(whole->failure)) map_schemas(input, whole);
    for (uint32_t i = 0; i < part->threads.count && !failure_is_set(whole->failure); i++)
        renumber_thread(&tables, part, profile_thread_at(part, (thread_id){i}));
    free_tables(&tables);
    if (!failure_is_set(whole->failure)) empty_tables(part);
}
