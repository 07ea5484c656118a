#include "gecko_tables.h"

#include "libconvert/base/memory.h"

struct location_parts gecko_location_parts(const struct profile *profile, const struct func *func) {
    struct location_parts parts = {.kind = LOCATION_LABEL, .name = strings_text(&profile->strings, func->name)};
    bool is_script = func->flags & FUNC_IS_JS && !source_is_none(func->source);
    if (is_script) {
        parts.kind = LOCATION_SCRIPT;
        parts.container = strings_text(&profile->strings, profile_source_at(profile, func->source)->filename);
        parts.line = func->line;
        parts.column = func->column;
    } else if (!resource_is_none(func->resource)) {
        parts.kind = LOCATION_LIBRARY;
        parts.container = strings_text(&profile->strings, profile_resource_at(profile, func->resource)->name);
    }
    return parts;
}

/* What all frames of a function share. */
struct func_location {
    uint32_t string;
    uint8_t rank;
    uint8_t relevant_for_js;
};

static uint32_t add_string(struct gecko_tables *tables, struct text text, source_id source) {
    struct gecko_string row = {strings_intern(&tables->texts, text), source};
    return string_is_none(row.text) ? ID_NONE : row_table_intern(&tables->strings, &row);
}

static struct func_location locate_func(struct gecko_tables *tables, struct byte_buffer *buffer,
                                        const struct func *func) {
    struct location_parts parts = gecko_location_parts(tables->profile, func);
    struct location location = location_write(buffer, &parts);
    for (unsigned i = 0; i < LOCATION_CHANGE_COUNT; i++) tables->changes[i] += location.changes >> i & 1;
    uint32_t before = row_table_count(&tables->strings);
    uint32_t string = add_string(tables, location.text, location.has_source ? func->source : source_none());
    tables->merged_func_count += row_table_count(&tables->strings) == before;
    /* A function without a file cannot be written as a script. This flag makes the client's JavaScript view show it
     * nevertheless. */
    bool is_relevant = func->flags & FUNC_IS_JS && parts.kind == LOCATION_LABEL;
    return (struct func_location){string, location_rank(location.text), is_relevant};
}

static void locate_funcs(struct gecko_tables *tables, struct func_location *locations) {
    const struct profile *profile = tables->profile;
    struct byte_buffer buffer = {.failure = profile->failure};
    for (uint32_t i = 0; i < row_table_count(&profile->funcs) && !failure_is_set(profile->failure); i++)
        locations[i] = locate_func(tables, &buffer, row_table_at(&profile->funcs, i));
    byte_buffer_fini(&buffer);
}

static void add_frames(struct gecko_tables *tables, const struct func_location *locations, uint32_t *frame_of) {
    const struct row_table *frames = &tables->profile->frames;
    for (uint32_t i = 0; i < row_table_count(frames) && !failure_is_set(tables->profile->failure); i++) {
        const struct frame *frame = row_table_at(frames, i);
        const struct func_location *location = &locations[frame->func.index];
        struct gecko_frame row = {
            .location = location->string,
            .line = frame->line,
            .column = frame->column,
            .category = frame->category,
            .subcategory = frame->subcategory,
            .flags = (uint8_t)((location->relevant_for_js ? GECKO_FRAME_IS_RELEVANT_FOR_JS : 0) |
                               (frame->inherits_category ? GECKO_FRAME_INHERITS_CATEGORY : 0)),
            .rank = location->rank,
        };
        frame_of[i] = row_table_intern(&tables->frames, &row);
    }
}

static void add_stacks(struct gecko_tables *tables, const uint32_t *frame_of) {
    const struct stack_table *stacks = &tables->profile->stacks;
    for (uint32_t i = 0; i < stack_table_count(stacks) && !failure_is_set(tables->profile->failure); i++) {
        const struct stack *stack = stack_table_at(stacks, i);
        uint32_t prefix = stack_is_none(stack->prefix) ? ID_NONE : tables->stack_of[stack->prefix.index];
        struct gecko_stack row = {prefix, frame_of[stack->frame.index]};
        tables->stack_of[i] = row_table_intern(&tables->stacks, &row);
    }
}

static bool has_allocations(const struct profile *profile) {
    for (size_t i = 0; i < profile->thread_order.count; i++)
        if (profile_ordered_thread(profile, i)->allocations.count) return true;
    return false;
}

void gecko_tables_init(struct gecko_tables *tables, const struct profile *profile) {
    *tables = (struct gecko_tables){.profile = profile, .allocation_string = ID_NONE};
    strings_init(&tables->texts, profile->failure);
    row_table_init(&tables->strings, sizeof(struct gecko_string), profile->failure);
    row_table_init(&tables->frames, sizeof(struct gecko_frame), profile->failure);
    row_table_init(&tables->stacks, sizeof(struct gecko_stack), profile->failure);
    size_t string_count = strings_count(&profile->strings);
    struct failure *failure = profile->failure;
    tables->stack_of = memory_allocate_zeroed(failure, stack_table_count(&profile->stacks), sizeof(uint32_t));
    tables->string_of = memory_allocate(failure, string_count * sizeof(uint32_t));
    struct func_location *locations =
        memory_allocate_zeroed(failure, row_table_count(&profile->funcs), sizeof *locations);
    uint32_t *frame_of = memory_allocate_zeroed(failure, row_table_count(&profile->frames), sizeof *frame_of);
    if (!failure_is_set(failure)) {
        memset(tables->string_of, 0xff, string_count * sizeof(uint32_t)); /* sets all to ID_NONE */
        locate_funcs(tables, locations);
        add_frames(tables, locations, frame_of);
        add_stacks(tables, frame_of);
        if (has_allocations(profile))
            tables->allocation_string = add_string(tables, TEXT("Native allocation"), source_none());
    }
    MEMORY_FREE_ALL(locations, frame_of);
}

void gecko_tables_fini(struct gecko_tables *tables) {
    strings_fini(&tables->texts);
    row_table_fini(&tables->strings);
    row_table_fini(&tables->frames);
    row_table_fini(&tables->stacks);
    MEMORY_FREE_ALL(tables->stack_of, tables->string_of);
    *tables = (struct gecko_tables){0};
}

uint32_t gecko_tables_string(struct gecko_tables *tables, string_id id) {
    uint32_t *row = &tables->string_of[id.index];
    if (*row == ID_NONE) *row = add_string(tables, strings_text(&tables->profile->strings, id), source_none());
    return *row;
}

size_t gecko_tables_string_count_max(const struct gecko_tables *tables) {
    enum { ALLOCATION_STRING = 1 };
    return (size_t)row_table_count(&tables->profile->funcs) + strings_count(&tables->profile->strings) +
           ALLOCATION_STRING;
}
