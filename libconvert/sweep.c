#include "sweep.h"

#include "memory.h"

/* For each row of a table its number afterwards; ID_NONE for one that goes. While rows are being marked, any other
 * value says that the row stays. */
struct numbers {
    uint32_t *rows;
    uint32_t count;
};

struct sweep {
    struct profile *profile; /* borrowed */
    struct numbers strings, libs, resources, sources, native_symbols, funcs, frames, stacks;
};

static struct numbers numbers_create(uint32_t count, struct failure *failure) {
    struct numbers numbers = {.rows = memory_allocate(failure, count * sizeof *numbers.rows), .count = count};
    if (numbers.rows) memset(numbers.rows, 0xff, count * sizeof *numbers.rows);
    return numbers;
}

static void mark(struct numbers *numbers, uint32_t row) {
    if (row != ID_NONE) numbers->rows[row] = 0;
}

static bool is_marked(const struct numbers *numbers, uint32_t row) { return numbers->rows[row] != ID_NONE; }

static uint32_t number_of(const struct numbers *numbers, uint32_t row) {
    return row == ID_NONE ? ID_NONE : numbers->rows[row];
}

/* ---- Marking, from what is written down to what it refers to. ---- */

static void mark_value(void *context, enum marker_value_kind kind, union marker_value *value) {
    struct sweep *sweep = context;
    if (kind == VALUE_STRING) mark(&sweep->strings, value->string.index);
}

static void mark_marker(struct sweep *sweep, const struct marker *marker) {
    mark(&sweep->strings, marker->name.index);
    mark(&sweep->stacks, marker->stack.index);
    profile_visit_marker(sweep->profile, marker, mark_value, sweep);
}

static void mark_threads(struct sweep *sweep) {
    const struct profile *profile = sweep->profile;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const thread_id *id = column_at(&profile->thread_order, i);
        const struct thread *thread = profile_thread_at(profile, *id);
        const struct column *stacks = &thread->samples.stack;
        for (size_t j = 0, run_count; j < stacks->count; j += run_count) {
            const stack_id *run = column_run(stacks, j, &run_count);
            for (size_t k = 0; k < run_count; k++) mark(&sweep->stacks, run[k].index);
        }
        for (size_t j = 0; j < thread->markers.count; j++) mark_marker(sweep, column_at(&thread->markers, j));
        for (size_t j = 0; j < thread->allocations.count; j++)
            mark(&sweep->stacks, ((const struct allocation *)column_at(&thread->allocations, j))->stack.index);
    }
}

static void mark_stacks_and_frames(struct sweep *sweep) {
    const struct profile *profile = sweep->profile;
    /* Callers stand before those whom they call. */
    for (uint32_t row = sweep->stacks.count; row-- > 0;) {
        if (!is_marked(&sweep->stacks, row)) continue;
        const struct stack *stack = row_table_at(&profile->stacks, row);
        mark(&sweep->stacks, stack->prefix.index);
        mark(&sweep->frames, stack->frame.index);
    }
    for (uint32_t row = 0; row < sweep->frames.count; row++) {
        if (!is_marked(&sweep->frames, row)) continue;
        const struct frame *frame = row_table_at(&profile->frames, row);
        mark(&sweep->funcs, frame->func.index);
        mark(&sweep->libs, frame->lib.index);
        mark(&sweep->native_symbols, frame->native_symbol.index);
    }
}

static void mark_code(struct sweep *sweep) {
    const struct profile *profile = sweep->profile;
    for (uint32_t row = 0; row < sweep->funcs.count; row++) {
        if (!is_marked(&sweep->funcs, row)) continue;
        const struct func *func = row_table_at(&profile->funcs, row);
        mark(&sweep->strings, func->name.index);
        mark(&sweep->resources, func->resource.index);
        mark(&sweep->sources, func->source.index);
    }
    for (uint32_t row = 0; row < sweep->native_symbols.count; row++) {
        if (!is_marked(&sweep->native_symbols, row)) continue;
        const struct native_symbol *symbol = row_table_at(&profile->native_symbols, row);
        mark(&sweep->strings, symbol->name.index);
        mark(&sweep->libs, symbol->lib.index);
    }
    for (uint32_t row = 0; row < sweep->resources.count; row++)
        if (is_marked(&sweep->resources, row))
            mark(&sweep->strings, ((const struct resource *)row_table_at(&profile->resources, row))->name.index);
    for (uint32_t row = 0; row < sweep->sources.count; row++)
        if (is_marked(&sweep->sources, row))
            mark(&sweep->strings, ((const struct source *)row_table_at(&profile->sources, row))->filename.index);
}

/* ---- Numbering and moving. ---- */

/* Gives the marked rows their numbers; true when a row goes. */
static bool number_rows(struct numbers *numbers) {
    uint32_t next = 0;
    for (uint32_t row = 0; row < numbers->count; row++)
        if (is_marked(numbers, row)) numbers->rows[row] = next++;
    return next < numbers->count;
}

/* Changes what a row refers to. */
typedef void renumber_row(const struct sweep *sweep, void *row);

static void renumber_resource(const struct sweep *sweep, void *row) {
    struct resource *resource = row;
    resource->name.index = number_of(&sweep->strings, resource->name.index);
}

static void renumber_source(const struct sweep *sweep, void *row) {
    struct source *source = row;
    source->filename.index = number_of(&sweep->strings, source->filename.index);
}

static void renumber_native_symbol(const struct sweep *sweep, void *row) {
    struct native_symbol *symbol = row;
    symbol->lib.index = number_of(&sweep->libs, symbol->lib.index);
    symbol->name.index = number_of(&sweep->strings, symbol->name.index);
}

static void renumber_func(const struct sweep *sweep, void *row) {
    struct func *func = row;
    func->name.index = number_of(&sweep->strings, func->name.index);
    func->resource.index = number_of(&sweep->resources, func->resource.index);
    func->source.index = number_of(&sweep->sources, func->source.index);
}

static void renumber_frame(const struct sweep *sweep, void *row) {
    struct frame *frame = row;
    frame->func.index = number_of(&sweep->funcs, frame->func.index);
    frame->lib.index = number_of(&sweep->libs, frame->lib.index);
    frame->native_symbol.index = number_of(&sweep->native_symbols, frame->native_symbol.index);
}

static void renumber_stack(const struct sweep *sweep, void *row) {
    struct stack *stack = row;
    stack->prefix.index = number_of(&sweep->stacks, stack->prefix.index);
    stack->frame.index = number_of(&sweep->frames, stack->frame.index);
}

/* Replaces the table by one of the rows that stay. */
static void move_rows(const struct sweep *sweep, struct row_table *table, const struct numbers *numbers,
                      renumber_row *renumber) {
    union {
        struct frame frame; /* the largest */
        struct func func;
        struct native_symbol native_symbol;
        struct stack stack;
    } row;
    uint32_t row_bytes = table->rows.element_bytes;
    struct row_table moved;
    row_table_init(&moved, row_bytes, sweep->profile->failure);
    for (uint32_t i = 0; i < numbers->count; i++) {
        if (!is_marked(numbers, i)) continue;
        memcpy(&row, row_table_at(table, i), row_bytes);
        renumber(sweep, &row);
        if (row_table_intern(&moved, &row) == ID_NONE) break;
    }
    row_table_fini(table);
    *table = moved;
}

static void move_strings(struct sweep *sweep) {
    struct strings *strings = &sweep->profile->strings, moved;
    strings_init(&moved, sweep->profile->failure);
    for (uint32_t i = 0; i < sweep->strings.count; i++)
        if (is_marked(&sweep->strings, i)) strings_intern(&moved, strings_text(strings, (string_id){i}));
    strings_fini(strings);
    *strings = moved;
}

static void move_libs(struct sweep *sweep) {
    struct libs *libs = &sweep->profile->libs, moved;
    libs_init(&moved, sweep->profile->failure);
    for (uint32_t i = 0; i < sweep->libs.count; i++) {
        const struct lib *lib = libs_at(libs, (lib_id){i});
        if (is_marked(&sweep->libs, i)) libs_intern(&moved, lib->path, lib->code_id);
    }
    libs_fini(libs);
    *libs = moved;
}

static void renumber_value(void *context, enum marker_value_kind kind, union marker_value *value) {
    const struct sweep *sweep = context;
    if (kind == VALUE_STRING) value->string.index = number_of(&sweep->strings, value->string.index);
}

static void renumber_marker(struct sweep *sweep, struct marker *marker) {
    marker->name.index = number_of(&sweep->strings, marker->name.index);
    marker->stack.index = number_of(&sweep->stacks, marker->stack.index);
    profile_visit_marker(sweep->profile, marker, renumber_value, sweep);
}

static void renumber_threads(struct sweep *sweep) {
    const struct profile *profile = sweep->profile;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const thread_id *id = column_at(&profile->thread_order, i);
        struct thread *thread = profile_thread_at(profile, *id);
        const struct column *stacks = &thread->samples.stack;
        for (size_t j = 0, run_count; j < stacks->count; j += run_count) {
            stack_id *run = column_run(stacks, j, &run_count);
            for (size_t k = 0; k < run_count; k++) run[k].index = number_of(&sweep->stacks, run[k].index);
        }
        for (size_t j = 0; j < thread->markers.count; j++) renumber_marker(sweep, column_at(&thread->markers, j));
        for (size_t j = 0; j < thread->allocations.count; j++) {
            struct allocation *allocation = column_at(&thread->allocations, j);
            allocation->stack.index = number_of(&sweep->stacks, allocation->stack.index);
        }
    }
}

static void move_all(struct sweep *sweep) {
    struct profile *profile = sweep->profile;
    move_strings(sweep);
    move_libs(sweep);
    move_rows(sweep, &profile->resources, &sweep->resources, renumber_resource);
    move_rows(sweep, &profile->sources, &sweep->sources, renumber_source);
    move_rows(sweep, &profile->native_symbols, &sweep->native_symbols, renumber_native_symbol);
    move_rows(sweep, &profile->funcs, &sweep->funcs, renumber_func);
    move_rows(sweep, &profile->frames, &sweep->frames, renumber_frame);
    move_rows(sweep, &profile->stacks, &sweep->stacks, renumber_stack);
    renumber_threads(sweep);
}

/* ---- The whole. ---- */

static void sweep_tables(struct sweep *sweep) {
    struct numbers *const tables[] = {&sweep->strings,        &sweep->libs,  &sweep->resources, &sweep->sources,
                                      &sweep->native_symbols, &sweep->funcs, &sweep->frames,    &sweep->stacks};
    mark_threads(sweep);
    mark_stacks_and_frames(sweep);
    mark_code(sweep);
    bool has_unused = false;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) has_unused |= number_rows(tables[i]);
    if (has_unused) move_all(sweep);
}

void sweep_profile(struct profile *profile) {
    struct failure *failure = profile->failure;
    if (failure_is_set(failure)) return;
    struct sweep sweep = {
        .profile = profile,
        .strings = numbers_create(strings_count(&profile->strings), failure),
        .libs = numbers_create(libs_count(&profile->libs), failure),
        .resources = numbers_create(row_table_count(&profile->resources), failure),
        .sources = numbers_create(row_table_count(&profile->sources), failure),
        .native_symbols = numbers_create(row_table_count(&profile->native_symbols), failure),
        .funcs = numbers_create(row_table_count(&profile->funcs), failure),
        .frames = numbers_create(row_table_count(&profile->frames), failure),
        .stacks = numbers_create(row_table_count(&profile->stacks), failure),
    };
    if (!failure_is_set(failure)) sweep_tables(&sweep);
    memory_free(sweep.strings.rows);
    memory_free(sweep.libs.rows);
    memory_free(sweep.resources.rows);
    memory_free(sweep.sources.rows);
    memory_free(sweep.native_symbols.rows);
    memory_free(sweep.funcs.rows);
    memory_free(sweep.frames.rows);
    memory_free(sweep.stacks.rows);
}
