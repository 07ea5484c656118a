/* Tests that rows to which nothing refers are removed from a finished profile. */

#include <stdio.h>

#include "libconvert/profile/sweep.h"
#include "tests/support/marker_value.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

static struct thread *thread;

static int set_up(void **state) {
    begin_profile(state);
    thread = add_only_thread();
    return 0;
}

/* Adds a frame with a function, a library and a source of its own. */
static frame_id add_frame(const char *name) {
    struct text text = text_of(name);
    lib_id lib = libs_intern(&profile.libs, text, TEXT(""));
    string_id name_id = profile_string(&profile, text);
    struct func func = {.name = name_id,
                        .resource = profile_resource(&profile, name_id, RESOURCE_LIBRARY),
                        .source = profile_source(&profile, text)};
    struct frame frame = {.func = profile_func(&profile, &func),
                          .address = 16,
                          .lib = lib,
                          .native_symbol = profile_native_symbol(&profile, lib, 8, name_id)};
    return profile_frame(&profile, &frame);
}

static void assert_names(stack_id stack, const char *const *names) {
    for (; *names; names++) {
        assert_false(stack_is_none(stack));
        const struct stack *row = profile_stack_at(&profile, stack);
        const struct frame *frame = profile_frame_at(&profile, row->frame);
        const struct func *func = profile_func_at(&profile, frame->func);
        struct text name = text_of(*names);
        assert_true(text_equal(strings_text(&profile.strings, func->name), name));
        string_id resource = profile_resource_at(&profile, func->resource)->name;
        assert_true(text_equal(strings_text(&profile.strings, resource), name));
        string_id source = profile_source_at(&profile, func->source)->filename;
        assert_true(text_equal(strings_text(&profile.strings, source), name));
        assert_true(text_equal(libs_at(&profile.libs, frame->lib)->path, name));
        const struct native_symbol *symbol = profile_native_symbol_at(&profile, frame->native_symbol);
        assert_true(text_equal(strings_text(&profile.strings, symbol->name), name));
        assert_int_equal(symbol->lib.index, frame->lib.index);
        stack = row->prefix;
    }
    assert_true(stack_is_none(stack));
}

static stack_id sample_stack(size_t row) { return samples_at(&thread->samples, row)->stack; }

static void assert_row_counts(uint32_t code_count, uint32_t stack_count, uint32_t string_count) {
    assert_int_equal(stack_table_count(&profile.stacks), stack_count);
    assert_int_equal(row_table_count(&profile.frames), code_count);
    assert_int_equal(row_table_count(&profile.funcs), code_count);
    assert_int_equal(row_table_count(&profile.resources), code_count);
    assert_int_equal(row_table_count(&profile.sources), code_count);
    assert_int_equal(row_table_count(&profile.native_symbols), code_count);
    assert_int_equal(libs_count(&profile.libs), code_count);
    assert_int_equal(strings_count(&profile.strings), string_count);
}

TEST(rows_of_dropped_stacks_go, set_up, end_profile) {
    stack_id dropped = profile_stack(&profile, stack_none(), add_frame("dropped"));
    stack_id root = profile_stack(&profile, stack_none(), add_frame("root"));
    profile_stack(&profile, root, add_frame("other"));
    profile_stack(&profile, dropped, add_frame("leaf"));
    stack_id kept = profile_stack(&profile, root, add_frame("leaf"));
    thread_add_sample(thread, 1, kept, 1);
    thread_add_sample(thread, 2, stack_none(), 1);
    thread_add_sample(thread, 3, root, 1);
    profile_finish(&profile);
    sweep_profile(&profile);
    assert_false(failure_is_set(&failure));
    assert_row_counts(2, 2, 2);
    assert_names(sample_stack(0), (const char *const[]){"leaf", "root", NULL});
    assert_true(stack_is_none(sample_stack(1)));
    assert_names(sample_stack(2), (const char *const[]){"root", NULL});
}

TEST(markers_keep_what_they_name, set_up, end_profile) {
    static const struct marker_field fields[] = {
        {.key = TEXT("d"), .label = TEXT("D"), .format = MARKER_DECIMAL},
        {.key = TEXT("s"), .label = TEXT("S"), .format = MARKER_UNIQUE_STRING},
    };
    static const struct marker_schema schema = {.name = TEXT("S"), .fields = fields, .field_count = 2};
    profile_stack(&profile, stack_none(), add_frame("dropped"));
    stack_id cause = profile_stack(&profile, stack_none(), add_frame("cause"));
    uint16_t schema_row = profile_marker_schema(&profile, &schema);
    union marker_value values[2] = {{.number = decimal_make(3, 0)},
                                    {.string = profile_string(&profile, TEXT("value"))}};
    struct marker marker = {.start_ns = 5,
                            .end_ns = 5,
                            .name = profile_string(&profile, TEXT("name")),
                            .stack = cause,
                            .schema = schema_row};
    profile_add_marker(&profile, thread, marker, values);
    profile_finish(&profile);
    sweep_profile(&profile);
    assert_row_counts(1, 1, 3);
    const struct marker *swept = column_at(&thread->markers, 0);
    assert_true(text_equal(strings_text(&profile.strings, swept->name), TEXT("name")));
    assert_names(swept->stack, (const char *const[]){"cause", NULL});
    assert_int_equal(value_of(&profile, swept, 0).number.mantissa, 3);
    assert_true(text_equal(strings_text(&profile.strings, value_of(&profile, swept, 1).string), TEXT("value")));
}

TEST(lists_and_tables_keep_what_they_name, set_up, end_profile) {
    static const struct marker_table_column columns[] = {{TEXT("N"), MARKER_INTEGER},
                                                         {TEXT("S"), MARKER_UNIQUE_STRING}};
    static const struct marker_field fields[] = {
        {.key = TEXT("t"), .format = MARKER_TABLE, .columns = columns, .column_count = 2},
        {.key = TEXT("f"), .format = MARKER_FLOW_ID},
        {.key = TEXT("a"), .format = MARKER_UNIQUE_STRING},
        {.key = TEXT("l"), .format = MARKER_LIST},
    };
    static const struct marker_schema schema = {.name = TEXT("S"), .fields = fields, .field_count = 4};
    profile_string(&profile, TEXT("dropped"));
    const union marker_value cells[] = {marker_value_integer(0),
                                        {.string = profile_string(&profile, TEXT("cell"))},
                                        marker_value_integer(0),
                                        marker_value_absent(VALUE_STRING)};
    const union marker_value item = {.text = TEXT("item")};
    union marker_value values[] = {{.cells = profile_marker_cells(&profile, cells, 4)},
                                   {.string = profile_string(&profile, TEXT("flow"))},
                                   marker_value_absent(VALUE_STRING),
                                   {.cells = profile_marker_cells(&profile, &item, 1)}};
    struct marker marker = {.name = profile_string(&profile, TEXT("name")),
                            .stack = stack_none(),
                            .schema = profile_marker_schema(&profile, &schema)};
    profile_add_marker(&profile, thread, marker, values);
    marker.schema = MARKER_SCHEMA_NONE;
    marker.name = profile_string(&profile, TEXT("bare"));
    profile_add_marker(&profile, thread, marker, NULL);
    profile_finish(&profile);
    sweep_profile(&profile);
    assert_int_equal(strings_count(&profile.strings), 4);
    const union marker_value *cell = profile_cell_at(&profile, 1);
    assert_true(text_equal(strings_text(&profile.strings, cell[0].string), TEXT("cell")));
    assert_true(string_is_none(cell[2].string));
    const struct marker *swept = column_at(&thread->markers, 0);
    assert_true(text_equal(strings_text(&profile.strings, value_of(&profile, swept, 1).string), TEXT("flow")));
    assert_true(string_is_none(value_of(&profile, swept, 2).string));
    const struct marker *bare = column_at(&thread->markers, 1);
    assert_true(text_equal(strings_text(&profile.strings, bare->name), TEXT("bare")));
}

TEST(nothing_moves_where_all_is_in_use, set_up, end_profile) {
    stack_id root = profile_stack(&profile, stack_none(), add_frame("root"));
    thread_add_sample(thread, 1, profile_stack(&profile, root, add_frame("leaf")), 1);
    profile_finish(&profile);
    const void *first_row = stack_table_at(&profile.stacks, 0);
    sweep_profile(&profile);
    assert_ptr_equal(stack_table_at(&profile.stacks, 0), first_row);
    assert_row_counts(2, 2, 2);
}

/* Adds a stack whose innermost frame is a function of that name in that source file. */
static stack_id add_call(stack_id caller, const char *name, const char *file) {
    struct func func = {.name = profile_string(&profile, text_of(name)),
                        .resource = resource_none(),
                        .source = profile_source(&profile, text_of(file))};
    struct frame frame = frame_of_func(profile_func(&profile, &func), (struct category_pair){0});
    return profile_stack(&profile, caller, profile_frame(&profile, &frame));
}

TEST(labels_follow_the_functions_of_their_file, set_up, end_profile) {
    frame_id function = add_frame("/run.c");
    thread_add_sample(thread, 1, add_call(stack_none(), "label", "/run.c"), 1);
    thread_add_sample(thread, 2, add_call(stack_none(), "script", "/run.js"), 1);
    thread_add_sample(thread, 3, profile_stack(&profile, stack_none(), function), 1);
    struct func func = *profile_func_at(&profile, profile_frame_at(&profile, function)->func);
    func.name = profile_string(&profile, TEXT("last"));
    struct frame frame = *profile_frame_at(&profile, function);
    frame.func = profile_func(&profile, &func);
    thread_add_sample(thread, 4, profile_stack(&profile, stack_none(), profile_frame(&profile, &frame)), 1);
    profile_finish(&profile);
    sweep_profile(&profile);
    static const char *const names[] = {"/run.c", "script", "last", "label"};
    assert_int_equal(row_table_count(&profile.funcs), 4);
    for (uint32_t i = 0; i < 4; i++) {
        string_id name = profile_func_at(&profile, (func_id){i})->name;
        assert_true(text_equal(strings_text(&profile.strings, name), text_of(names[i])));
    }
    const struct stack *stack = profile_stack_at(&profile, sample_stack(0));
    assert_int_equal(profile_frame_at(&profile, stack->frame)->func.index, 3);
}

static struct text file_of_sample(size_t row) {
    const struct stack *stack = profile_stack_at(&profile, sample_stack(row));
    const struct func *func = profile_func_at(&profile, profile_frame_at(&profile, stack->frame)->func);
    return strings_text(&profile.strings, profile_source_at(&profile, func->source)->filename);
}

TEST(a_label_names_its_file_like_the_function_that_has_it, set_up, end_profile) {
    stack_id run = add_call(stack_none(), "run", "/home/me/app/src/run.c");
    stack_id other = add_call(stack_none(), "run", "/home/me/lib/src/run.c");
    thread_add_sample(thread, 1, add_call(run, "label", "app/src/run.c"), 1);
    /* Another program of the same name was built elsewhere, and not all components are equal. */
    thread_add_sample(thread, 2, add_call(run, "label 2", "un.c"), 1);
    thread_add_sample(thread, 3, add_call(run, "label 3", "src/run.c"), 1);
    thread_add_sample(thread, 4, add_call(other, "label 3", "src/run.c"), 1);
    /* Nothing says where it is. */
    thread_add_sample(thread, 5, add_call(stack_none(), "label 4", "run.c"), 1);
    /* The same label, once with each name: one function remains. */
    thread_add_sample(thread, 6, add_call(run, "label", "/home/me/app/src/run.c"), 1);
    profile_finish(&profile);
    sweep_profile(&profile);
    assert_false(failure_is_set(&failure));
    static const char *const files[] = {"/home/me/app/src/run.c", "un.c", "src/run.c", "src/run.c", "run.c",
                                        "/home/me/app/src/run.c"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_true(text_equal(file_of_sample(i), text_of(files[i])));
    assert_int_equal(sample_stack(0).index, sample_stack(5).index);
    assert_int_equal(row_table_count(&profile.sources), 5);
    assert_int_equal(row_table_count(&profile.funcs), 2 + 4);
    assert_int_equal(row_table_count(&profile.frames), 2 + 4);
    assert_int_equal(stack_table_count(&profile.stacks), 2 + 5);
}

int main(void) { return unit_tests_run(NULL, NULL); }
