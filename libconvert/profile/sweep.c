#include "sweep.h"

#include "libconvert/base/first_row.h"
#include "libconvert/base/id_column.h"
#include "libconvert/base/memory.h"
#include "row_references.h"

struct sweep {
    struct profile *profile; /* borrowed */
    /* The new number of each row; ID_NONE if the row is removed. Before the rows are moved, any other value means that
     * the row stays. Owned. */
    uint32_t *numbers[ROW_KIND_COUNT];
    uint32_t counts[ROW_KIND_COUNT]; /* how many rows there were at first */
    uint32_t *same_source;           /* the row that each row of the sources is merged into; its own if it stays */
    bool has_merged;                 /* sources, so that functions, frames and stacks may have become equal too */
};

/* The value of a row that stays and moves to the end of its table. */
static const uint32_t ROW_IS_LAST = ID_NONE - 1;

static void mark(struct sweep *sweep, enum row_kind kind, uint32_t row) {
    if (row != ID_NONE) sweep->numbers[kind][row] = 0;
}

static bool is_marked(const struct sweep *sweep, enum row_kind kind, uint32_t row) {
    return sweep->numbers[kind][row] != ID_NONE;
}

static uint32_t number_of(const struct sweep *sweep, enum row_kind kind, uint32_t row) {
    return row == ID_NONE ? ID_NONE : sweep->numbers[kind][row];
}

/* ---- Names of source files. ---- */

/* Values in same_source for relative paths. */
static const uint32_t SOURCE_IS_UNDECIDED = ID_NONE - 1, SOURCE_IS_AMBIGUOUS = ID_NONE - 2;

static struct text source_name(const struct profile *profile, uint32_t row) {
    return profile_source_path(profile, (source_id){row});
}

static bool is_absolute(struct text path) { return text_starts_with(path, TEXT("/")); }

/* Returns whether the second path is absolute and ends with all components of the first one, which is relative. */
static bool is_end_of_path(struct text relative, struct text absolute) {
    if (!is_absolute(absolute) || !relative.bytes_count || !text_ends_with(absolute, relative)) return false;
    return absolute.bytes[absolute.bytes_count - relative.bytes_count - 1] == '/';
}

static uint32_t source_row_of_frame(const struct profile *profile, uint32_t row) {
    const struct frame *frame = row_table_at(&profile->frames, row);
    return func_is_none(frame->func) ? ID_NONE : profile_func_at(profile, frame->func)->source.index;
}

/* Compares the source of a stack's innermost frame with that of its caller. */
static void compare_with_caller(struct sweep *sweep, const uint32_t *frame_sources, const struct stack *stack) {
    const struct profile *profile = sweep->profile;
    uint32_t row = frame_sources[stack->frame.index];
    if (row == ID_NONE || sweep->same_source[row] == row || sweep->same_source[row] == SOURCE_IS_AMBIGUOUS) return;
    if (stack_is_none(stack->prefix)) return;
    uint32_t caller = frame_sources[stack_table_at(&profile->stacks, stack->prefix.index)->frame.index];
    if (caller == ID_NONE || sweep->same_source[row] == caller) return;
    if (!is_end_of_path(source_name(profile, row), source_name(profile, caller))) return;
    sweep->same_source[row] = sweep->same_source[row] == SOURCE_IS_UNDECIDED ? caller : SOURCE_IS_AMBIGUOUS;
}

/* There are more stacks than frames, and each frame refers to a function far away. So the sources of the frames are
 * looked up once. */
static void compare_with_callers(struct sweep *sweep) {
    const struct profile *profile = sweep->profile;
    uint32_t *frame_sources = memory_allocate(profile->failure, sweep->counts[ROWS_FRAMES] * sizeof *frame_sources);
    if (!frame_sources) return;
    for (uint32_t row = 0; row < sweep->counts[ROWS_FRAMES]; row++)
        frame_sources[row] = source_row_of_frame(profile, row);
    for (uint32_t row = 0; row < sweep->counts[ROWS_STACKS]; row++)
        if (is_marked(sweep, ROWS_STACKS, row))
            compare_with_caller(sweep, frame_sources, stack_table_at(&profile->stacks, row));
    memory_free(frame_sources);
}

static void unify_sources(struct sweep *sweep) {
    bool has_relative = false;
    for (uint32_t row = 0; row < sweep->counts[ROWS_SOURCES]; row++) {
        bool is_relative = !is_absolute(source_name(sweep->profile, row));
        sweep->same_source[row] = is_relative ? SOURCE_IS_UNDECIDED : row;
        has_relative |= is_relative;
    }
    if (has_relative) compare_with_callers(sweep);
    for (uint32_t row = 0; row < sweep->counts[ROWS_SOURCES]; row++)
        if (sweep->same_source[row] >= SOURCE_IS_AMBIGUOUS)
            sweep->same_source[row] = row;
        else
            sweep->has_merged |= sweep->same_source[row] != row;
}

static source_id same_source(const struct sweep *sweep, source_id source) {
    return source_is_none(source) ? source : (source_id){sweep->same_source[source.index]};
}

/* ---- Marking, from what is written down to what it refers to. ---- */

static void mark_value(void *context, void *string) {
    struct sweep *sweep = context;
    mark(sweep, ROWS_STRINGS, ((const string_id *)string)->index);
}

static void mark_marker(struct sweep *sweep, const struct marker *marker) {
    mark(sweep, ROWS_STRINGS, marker->name.index);
    mark(sweep, ROWS_STACKS, marker->stack.index);
    profile_visit_marker(sweep->profile, marker, VALUE_STRING, mark_value, sweep);
}

static void mark_threads(struct sweep *sweep) {
    const struct profile *profile = sweep->profile;
    COLUMN_EACH(const thread_id, id, &profile->thread_order) {
        const struct thread *thread = profile_thread_at(profile, *id);
        COLUMN_EACH(const struct sample, sample, &thread->samples.rows) mark(sweep, ROWS_STACKS, sample->stack.index);
        COLUMN_EACH(const struct marker, marker, &thread->markers) mark_marker(sweep, marker);
        COLUMN_EACH(const struct allocation, allocation, &thread->allocations)
            mark(sweep, ROWS_STACKS, allocation->stack.index);
    }
}

static void mark_stacks(struct sweep *sweep) {
    /* Callers have lower numbers than their callees. */
    for (uint32_t row = sweep->counts[ROWS_STACKS]; row-- > 0;) {
        if (!is_marked(sweep, ROWS_STACKS, row)) continue;
        const struct stack *stack = stack_table_at(&sweep->profile->stacks, row);
        mark(sweep, ROWS_STACKS, stack->prefix.index);
        mark(sweep, ROWS_FRAMES, stack->frame.index);
    }
}

/* Marks what the marked rows of a row table refer to. */
static void mark_references(struct sweep *sweep, enum row_kind kind) {
    const struct row_table *table = profile_rows(sweep->profile, kind);
    struct row_references references = row_references_of(kind);
    for (uint32_t row = 0; row < sweep->counts[kind]; row++)
        for (size_t i = 0; i < references.count && is_marked(sweep, kind, row); i++)
            mark(sweep, references.rows[i].to, row_reference_at(row_table_at(table, row), references.rows[i]));
}

/* Marks the rows that marked sources are merged into, in their place. */
static void mark_same_sources(struct sweep *sweep) {
    for (uint32_t row = 0; row < sweep->counts[ROWS_SOURCES]; row++) {
        if (sweep->same_source[row] == row || !is_marked(sweep, ROWS_SOURCES, row)) continue;
        sweep->numbers[ROWS_SOURCES][row] = ID_NONE;
        mark(sweep, ROWS_SOURCES, sweep->same_source[row]);
    }
}

/* ---- The order of functions. ---- */

/* Returns whether a row moves. `is_native` and `has_native` are one for each function and each source. */
static bool mark_last_funcs(struct sweep *sweep, bool *is_native, bool *has_native) {
    const struct profile *profile = sweep->profile;
    bool has_last = false;
    for (uint32_t row = 0; row < sweep->counts[ROWS_FRAMES]; row++) {
        const struct frame *frame = row_table_at(&profile->frames, row);
        if (!is_marked(sweep, ROWS_FRAMES, row) || lib_is_none(frame->lib) || func_is_none(frame->func)) continue;
        source_id source = same_source(sweep, profile_func_at(profile, frame->func)->source);
        is_native[frame->func.index] = true;
        if (!source_is_none(source)) has_native[source.index] = true;
    }
    for (uint32_t row = 0; row < sweep->counts[ROWS_FUNCS]; row++) {
        source_id source = same_source(sweep, profile_func_at(profile, (func_id){row})->source);
        bool is_last = !source_is_none(source) && !is_native[row] && has_native[source.index];
        if (!is_last || !is_marked(sweep, ROWS_FUNCS, row)) continue;
        sweep->numbers[ROWS_FUNCS][row] = ROW_IS_LAST;
        has_last = true;
    }
    return has_last;
}

static bool order_funcs(struct sweep *sweep) {
    struct failure *failure = sweep->profile->failure;
    bool *is_native = memory_allocate_zeroed(failure, sweep->counts[ROWS_FUNCS], sizeof *is_native);
    bool *has_native = memory_allocate_zeroed(failure, sweep->counts[ROWS_SOURCES], sizeof *has_native);
    bool has_last = is_native && has_native && mark_last_funcs(sweep, is_native, has_native);
    MEMORY_FREE_ALL(is_native, has_native);
    return has_last;
}

/* ---- Numbering and moving. ---- */

static bool has_unused_rows(const struct sweep *sweep) {
    for (enum row_kind kind = 0; kind < ROW_KIND_COUNT; kind++)
        for (uint32_t row = 0; row < sweep->counts[kind]; row++)
            if (!is_marked(sweep, kind, row)) return true;
    return false;
}

/* Removes the ids of rows that are removed. */
static void renumber_looked_up_sources(const struct sweep *sweep) {
    struct column *ids = &sweep->profile->looked_up_sources;
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < ids->count; i++) {
        source_id id = {number_of(sweep, ROWS_SOURCES, ((const source_id *)column_at(ids, i))->index)};
        if (!source_is_none(id)) *(source_id *)column_at(ids, kept_count++) = id;
    }
    ids->count = kept_count;
}

/* Contents follow their sources. */
static void renumber_source_contents(const struct sweep *sweep) {
    struct profile *profile = sweep->profile;
    struct column moved;
    column_init(&moved, sizeof(struct text), profile->failure);
    for (uint32_t i = 0; i < profile->source_contents.count; i++) {
        const struct text *content = column_at(&profile->source_contents, i);
        uint32_t row = number_of(sweep, ROWS_SOURCES, i);
        struct text *kept = row == ID_NONE || !content->bytes ? NULL : id_column_at(&moved, row);
        if (kept) *kept = *content;
    }
    column_fini(&profile->source_contents);
    profile->source_contents = moved;
}

static uint32_t move_row(const struct sweep *sweep, enum row_kind kind, const void *from) {
    union {
        struct frame frame; /* the largest of the rows */
        struct func func;
        struct native_symbol native_symbol;
    } row;
    struct row_table *to = profile_rows(sweep->profile, kind);
    memcpy(&row, from, to->rows.element_bytes);
    row_renumber(kind, &row, sweep->numbers);
    return sweep->has_merged ? row_table_intern(to, &row) : row_table_append(to, &row);
}

/* Compacts the table and numbers the rows that stay. Rows that have become equal get one number. A row is read before
 * another one takes its place; those that come last are set aside until then. */
static void move_rows(const struct sweep *sweep, enum row_kind kind) {
    struct row_table last, *table = profile_rows(sweep->profile, kind);
    uint32_t *numbers = sweep->numbers[kind];
    row_table_init(&last, table->rows.element_bytes, sweep->profile->failure);
    row_table_clear(table);
    for (uint32_t i = 0; i < sweep->counts[kind]; i++) {
        if (!is_marked(sweep, kind, i)) continue;
        const void *row = row_table_at(table, i);
        if (numbers[i] == ROW_IS_LAST)
            row_table_append(&last, row);
        else
            numbers[i] = move_row(sweep, kind, row);
    }
    for (uint32_t i = 0, next = 0; i < sweep->counts[kind] && next < row_table_count(&last); i++)
        if (numbers[i] == ROW_IS_LAST) numbers[i] = move_row(sweep, kind, row_table_at(&last, next++));
    row_table_fini(&last);
}

/* Gives sources the numbers of those that they are merged into. */
static void number_same_sources(struct sweep *sweep) {
    uint32_t *numbers = sweep->numbers[ROWS_SOURCES];
    for (uint32_t row = 0; row < sweep->counts[ROWS_SOURCES]; row++) numbers[row] = numbers[sweep->same_source[row]];
}

/* Compacts the table of stacks as move_rows does the other tables. */
static void move_stacks(struct sweep *sweep) {
    struct stack_table *stacks = &sweep->profile->stacks;
    stack_table_clear(stacks);
    for (uint32_t i = 0; i < sweep->counts[ROWS_STACKS]; i++) {
        if (!is_marked(sweep, ROWS_STACKS, i)) continue;
        const struct stack *stack = stack_table_at(stacks, i);
        stack_id prefix = {number_of(sweep, ROWS_STACKS, stack->prefix.index)};
        frame_id frame = {number_of(sweep, ROWS_FRAMES, stack->frame.index)};
        sweep->numbers[ROWS_STACKS][i] =
            (sweep->has_merged ? stack_table_intern : stack_table_append)(stacks, prefix, frame).index;
    }
}

static void move_libs(struct sweep *sweep) {
    struct libs *libs = &sweep->profile->libs, moved;
    libs_init(&moved, sweep->profile->failure);
    for (uint32_t i = 0; i < sweep->counts[ROWS_LIBS]; i++) {
        const struct lib *lib = libs_at(libs, (lib_id){i});
        if (is_marked(sweep, ROWS_LIBS, i)) sweep->numbers[ROWS_LIBS][i] = libs_take(&moved, lib).index;
    }
    libs_fini(libs);
    *libs = moved;
}

static void renumber_value(void *context, void *value) {
    const struct sweep *sweep = context;
    string_id *string = value;
    string->index = number_of(sweep, ROWS_STRINGS, string->index);
}

static void renumber_marker(struct sweep *sweep, struct marker *marker) {
    marker->name.index = number_of(sweep, ROWS_STRINGS, marker->name.index);
    marker->stack.index = number_of(sweep, ROWS_STACKS, marker->stack.index);
    profile_visit_marker(sweep->profile, marker, VALUE_STRING, renumber_value, sweep);
}

static void renumber_threads(struct sweep *sweep) {
    const struct profile *profile = sweep->profile;
    COLUMN_EACH(const thread_id, id, &profile->thread_order) {
        struct thread *thread = profile_thread_at(profile, *id);
        for (uint32_t j = 0; j < samples_count(&thread->samples); j++) {
            stack_id *stack = &samples_at(&thread->samples, j)->stack;
            stack->index = number_of(sweep, ROWS_STACKS, stack->index);
        }
        for (size_t j = 0; j < thread->markers.count; j++) renumber_marker(sweep, column_at(&thread->markers, j));
        COLUMN_EACH(struct allocation, allocation, &thread->allocations)
            allocation->stack.index = number_of(sweep, ROWS_STACKS, allocation->stack.index);
    }
}

static void move_all(struct sweep *sweep) {
    struct profile *profile = sweep->profile;
    strings_compact(&profile->strings, sweep->numbers[ROWS_STRINGS]);
    move_libs(sweep);
    for (enum row_kind kind = ROWS_RESOURCES; kind <= ROWS_FRAMES; kind++) {
        move_rows(sweep, kind);
        if (kind == ROWS_SOURCES) number_same_sources(sweep);
    }
    renumber_looked_up_sources(sweep);
    renumber_source_contents(sweep);
    move_stacks(sweep);
    renumber_threads(sweep);
}

/* ---- The whole. ---- */

static void sweep_tables(struct sweep *sweep) {
    mark_threads(sweep);
    mark_stacks(sweep);
    mark_references(sweep, ROWS_FRAMES);
    unify_sources(sweep);
    mark_references(sweep, ROWS_FUNCS);
    mark_same_sources(sweep);
    for (enum row_kind kind = ROWS_RESOURCES; kind < ROWS_FUNCS; kind++) mark_references(sweep, kind);
    bool must_move = order_funcs(sweep) || has_unused_rows(sweep);
    if (must_move && !failure_is_set(sweep->profile->failure)) move_all(sweep);
}

static uint32_t row_count(struct profile *profile, enum row_kind kind) {
    switch (kind) {
        case ROWS_STRINGS: return strings_count(&profile->strings);
        case ROWS_LIBS: return libs_count(&profile->libs);
        case ROWS_STACKS: return stack_table_count(&profile->stacks);
        default: return row_table_count(profile_rows(profile, kind));
    }
}

void sweep_profile(struct profile *profile) {
    struct failure *failure = profile->failure;
    if (failure_is_set(failure)) return;
    struct sweep sweep = {.profile = profile};
    for (enum row_kind kind = 0; kind < ROW_KIND_COUNT; kind++) {
        size_t bytes_count = sizeof(uint32_t) * (sweep.counts[kind] = row_count(profile, kind));
        sweep.numbers[kind] = memory_allocate(failure, bytes_count);
        if (sweep.numbers[kind]) memset(sweep.numbers[kind], 0xff, bytes_count);
    }
    sweep.same_source = memory_allocate(failure, sweep.counts[ROWS_SOURCES] * sizeof *sweep.same_source);
    if (!failure_is_set(failure)) sweep_tables(&sweep);
    stack_table_seal(&profile->stacks);
    row_table_seal(&profile->frames);
    memory_free(sweep.same_source);
    for (enum row_kind kind = 0; kind < ROW_KIND_COUNT; kind++) memory_free(sweep.numbers[kind]);
}
