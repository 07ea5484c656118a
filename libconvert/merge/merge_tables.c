/* Merges the tables to which samples and markers refer. A table is merged after those that its rows refer to. */
#include <string.h>

#include "libconvert/base/memory.h"
#include "merge_steps.h"

/* What only other tables refer to, for the time of the merge. */
struct merge_links {
    lib_id *libs;
    resource_id *resources;
    source_id *sources;
    native_symbol_id *native_symbols;
    func_id *funcs;
    frame_id *frames;
};

/* Allocates one row more than needed, so that a table without rows is no failure. */
#define ALLOCATE_MAP(map, count, failure) ((map) = memory_allocate(failure, ((size_t)(count) + 1) * sizeof *(map)))

#define MAPPED(map, noun, id) (noun##_is_none(id) ? noun##_none() : (map)[(id).index])

static void map_strings(struct merge_tables *tables, const struct profile *part, struct profile *whole) {
    uint32_t count = strings_count(&part->strings);
    if (!ALLOCATE_MAP(tables->strings, count, whole->failure)) return;
    for (uint32_t i = 0; i < count; i++)
        tables->strings[i] = profile_string(whole, strings_text(&part->strings, (string_id){i}));
}

/* ---- Categories. ---- */

/* Returns the name under which the whole profile has the category: its own, or with a number if another category with
 * another colour has that. */
static struct text category_name(const struct category *category, struct profile *whole) {
    struct text name = category->name;
    for (unsigned number = 2; number <= CATEGORY_COUNT_MAX; number++) {
        const struct category *other = NULL;
        for (size_t i = 0; i < whole->categories.rows.count && !other; i++)
            if (text_equal(categories_at(&whole->categories, i)->name, name))
                other = categories_at(&whole->categories, i);
        if (!other || other->color == category->color) break;
        name = profile_text_format(whole, "%.*s %u", (int)category->name.bytes_count, category->name.bytes, number);
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

static void map_libs(struct merge_links *links, const struct profile *part, struct profile *whole) {
    uint32_t count = libs_count(&part->libs);
    if (!ALLOCATE_MAP(links->libs, count, whole->failure)) return;
    for (uint32_t i = 0; i < count; i++) {
        const struct lib *lib = libs_at(&part->libs, (lib_id){i});
        links->libs[i] = libs_intern(&whole->libs, lib->path, lib->code_id);
    }
    for (size_t i = 0; i < part->lib_troubles.count; i++) {
        struct lib_trouble *trouble = column_push(&whole->lib_troubles);
        if (trouble) *trouble = *(const struct lib_trouble *)column_at(&part->lib_troubles, i);
    }
}

static void map_resources(struct merge_links *links, const struct merge_tables *tables, const struct profile *part,
                          struct profile *whole) {
    uint32_t count = row_table_count(&part->resources);
    if (!ALLOCATE_MAP(links->resources, count, whole->failure)) return;
    for (uint32_t i = 0; i < count; i++) {
        const struct resource *row = profile_resource_at(part, (resource_id){i});
        links->resources[i] = profile_resource(whole, MAPPED(tables->strings, string, row->name), row->type);
    }
}

static void map_sources(struct merge_links *links, const struct merge_tables *tables, const struct profile *part,
                        struct profile *whole) {
    uint32_t count = row_table_count(&part->sources);
    if (!ALLOCATE_MAP(links->sources, count, whole->failure)) return;
    for (uint32_t i = 0; i < count; i++) {
        struct source row = *profile_source_at(part, (source_id){i});
        row.filename = MAPPED(tables->strings, string, row.filename);
        links->sources[i] = (source_id){row_table_intern(&whole->sources, &row)};
    }
    for (size_t i = 0; i < part->looked_up_sources.count; i++) {
        source_id *looked_up = column_push(&whole->looked_up_sources);
        if (looked_up) *looked_up = links->sources[((const source_id *)column_at(&part->looked_up_sources, i))->index];
    }
}

static void map_native_symbols(struct merge_links *links, const struct merge_tables *tables, const struct profile *part,
                               struct profile *whole) {
    uint32_t count = row_table_count(&part->native_symbols);
    if (!ALLOCATE_MAP(links->native_symbols, count, whole->failure)) return;
    for (uint32_t i = 0; i < count; i++) {
        const struct native_symbol *row = profile_native_symbol_at(part, (native_symbol_id){i});
        links->native_symbols[i] = profile_native_symbol(whole, MAPPED(links->libs, lib, row->lib), row->address,
                                                         MAPPED(tables->strings, string, row->name));
    }
}

static void map_funcs(struct merge_links *links, const struct merge_tables *tables, const struct profile *part,
                      struct profile *whole) {
    uint32_t count = row_table_count(&part->funcs);
    if (!ALLOCATE_MAP(links->funcs, count, whole->failure)) return;
    for (uint32_t i = 0; i < count; i++) {
        struct func row = *profile_func_at(part, (func_id){i});
        row.name = MAPPED(tables->strings, string, row.name);
        row.resource = MAPPED(links->resources, resource, row.resource);
        row.source = MAPPED(links->sources, source, row.source);
        links->funcs[i] = profile_func(whole, &row);
    }
}

static void map_frames(struct merge_links *links, const struct merge_tables *tables, const struct profile *part,
                       struct profile *whole) {
    uint32_t count = row_table_count(&part->frames);
    if (!ALLOCATE_MAP(links->frames, count, whole->failure)) return;
    for (uint32_t i = 0; i < count; i++) {
        struct frame row = *profile_frame_at(part, (frame_id){i});
        row.func = MAPPED(links->funcs, func, row.func);
        row.lib = MAPPED(links->libs, lib, row.lib);
        row.native_symbol = MAPPED(links->native_symbols, native_symbol, row.native_symbol);
        if (!row.inherits_category) {
            struct category_pair pair = tables->categories[row.category][row.subcategory];
            row.category = pair.category;
            row.subcategory = pair.subcategory;
        }
        links->frames[i] = profile_frame(whole, &row);
    }
}

/* Callers have lower numbers than their callees, so the caller of each stack has been mapped before. */
static void map_stacks(struct merge_tables *tables, const struct merge_links *links, const struct profile *part,
                       struct profile *whole) {
    uint32_t count = stack_table_count(&part->stacks);
    if (!ALLOCATE_MAP(tables->stacks, count, whole->failure)) return;
    for (uint32_t i = 0; i < count; i++) {
        const struct stack *row = profile_stack_at(part, (stack_id){i});
        tables->stacks[i] =
            profile_stack(whole, MAPPED(tables->stacks, stack, row->prefix), MAPPED(links->frames, frame, row->frame));
    }
}

/* ---- Marker schemas. ---- */

static void map_schemas(struct merge_tables *tables, const struct profile *part, struct profile *whole) {
    size_t count = part->marker_schemas.count;
    if (!ALLOCATE_MAP(tables->schemas, count, whole->failure)) return;
    for (size_t i = 0; i < count; i++)
        tables->schemas[i] = profile_take_marker_schema(whole, column_at(&part->marker_schemas, i));
}

/* ---- The whole. ---- */

/* Frees tables that nothing uses any more, which can be large. They stay valid and empty. */
static void empty_tables(struct profile *part) {
    struct row_table *const tables[] = {&part->resources, &part->sources, &part->native_symbols, &part->funcs,
                                        &part->frames};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        uint32_t row_bytes = tables[i]->rows.element_bytes;
        row_table_fini(tables[i]);
        row_table_init(tables[i], row_bytes, part->failure);
    }
    stack_table_fini(&part->stacks);
    stack_table_init(&part->stacks, part->failure);
}

void merge_tables_init(struct merge_tables *tables, struct profile *part, struct profile *whole) {
    void (*const steps[])(struct merge_links *, const struct merge_tables *, const struct profile *,
                          struct profile *) = {map_resources, map_sources, map_native_symbols, map_funcs, map_frames};
    struct failure *failure = whole->failure;
    struct merge_links links = {0};
    *tables = (struct merge_tables){0};
    map_strings(tables, part, whole);
    if (!failure_is_set(failure)) map_categories(tables, part, whole);
    if (!failure_is_set(failure)) map_libs(&links, part, whole);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !failure_is_set(failure); i++)
        steps[i](&links, tables, part, whole);
    if (!failure_is_set(failure)) map_stacks(tables, &links, part, whole);
    if (!failure_is_set(failure)) map_schemas(tables, part, whole);
    if (!failure_is_set(failure)) empty_tables(part);
    void *const owned[] = {links.libs, links.resources, links.sources, links.native_symbols, links.funcs, links.frames};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) memory_free(owned[i]);
}

void merge_tables_fini(struct merge_tables *tables) {
    memory_free(tables->strings);
    memory_free(tables->stacks);
    memory_free(tables->schemas);
    for (size_t i = 0; i < CATEGORY_COUNT_MAX; i++) memory_free(tables->categories[i]);
    *tables = (struct merge_tables){0};
}
