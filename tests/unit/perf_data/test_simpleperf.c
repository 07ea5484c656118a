/* Tests what only Android's simpleperf writes into a perf.data: functions, names of events, formats of tracepoints, and
 * mappings from long before the recording. */
#include "tests/support/assert_text.h"

#include "readers/code/embedded_symbols.h"
#include "readers/reader.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

static const uint64_t KERNEL_AT = 0xffffff8000100000, MODULE_AT = 0xffffff8000010000;

static struct perf_data_builder builder;

/* ---- Building. ---- */

static void begin_app(void) {
    builder_begin(&builder);
    builder_comm(&builder, 5, 5, "app", 0);
    builder_mmap(&builder, 5, 0x400000, 0x10000, 0x1000, "/opt/app", 0);
}

static void add_mmap2(uint64_t start, uint64_t offset, uint32_t protection, const char *path) {
    builder_begin_record(&builder, 10, 2);
    builder_u32(&builder, 5);
    builder_u32(&builder, 5);
    builder_u64(&builder, start);
    builder_u64(&builder, 0x1000);
    builder_u64(&builder, offset);
    for (int i = 0; i < 3; i++) builder_u64(&builder, 0);
    builder_u32(&builder, protection);
    builder_u32(&builder, 0);
    builder_name(&builder, path);
    builder_end_with_trailer(&builder, 5, 5, 0);
}

static void add_user_sample(uint64_t time_ns, uint64_t address) {
    builder_sample(&builder, 5, 5, time_ns, (const uint64_t[]){(uint64_t)-512, address}, 2);
}

static void add_kernel_sample(uint64_t time_ns, uint64_t address) {
    builder_sample(&builder, 5, 5, time_ns, (const uint64_t[]){(uint64_t)-128, address}, 2);
}

static void add_switch(uint64_t time_ns, bool is_out) {
    builder_begin_record(&builder, 14, is_out ? 1 << 13 : 0);
    builder_end_with_trailer(&builder, 5, 5, time_ns);
}

/* Appends a file in the older layout, which has no offset in the oldest versions. */
static void put_struct(const char *path, uint32_t kind, uint64_t first_address, uint64_t address, const char *name,
                       const uint64_t *offset) {
    size_t name_bytes = strlen(name) + 1, path_bytes = strlen(path) + 1;
    builder_u32(&builder, (uint32_t)(path_bytes + 4 + 8 + 4 + 8 + 4 + name_bytes + (offset ? 8 : 0)));
    builder_put(&builder, path, path_bytes);
    builder_u32(&builder, kind);
    builder_u64(&builder, first_address);
    builder_u32(&builder, 1);
    builder_u64(&builder, address);
    builder_u32(&builder, 0x20);
    builder_put(&builder, name, name_bytes);
    if (offset) builder_u64(&builder, *offset);
}

static void put_message(const char *bytes, size_t bytes_count) {
    builder_u32(&builder, (uint32_t)bytes_count);
    builder_put(&builder, bytes, bytes_count);
}

enum { FILES = 128, PROPERTIES = 129, FILES2 = 132, SECTION_BYTES = 16, SECTION_COUNT = 3 };

/* Ends the records, and begins the sections, which follow a table of them. */
static size_t begin_sections(void) {
    enum { BITS_AT = 72 };
    size_t table_at = builder_finish(&builder).bytes_count;
    builder_set_u64(&builder, BITS_AT + FILES / 64 * 8,
                    UINT64_C(1) << (FILES - 128) | UINT64_C(1) << (PROPERTIES - 128) | UINT64_C(1) << (FILES2 - 128));
    for (int i = 0; i < SECTION_COUNT * 2; i++) builder_u64(&builder, 0);
    return table_at;
}

static void end_section(size_t table_at, size_t number, size_t *start) {
    builder_set_u64(&builder, table_at + number * SECTION_BYTES, *start);
    builder_set_u64(&builder, table_at + number * SECTION_BYTES + 8, builder.bytes_count - *start);
    *start = builder.bytes_count;
}

static void put_sections(void) {
    static const char properties[] =
        "timestamp\0001700000000\0product_props\0A:B 1:c\0event_type_info\0other,2,7\nmy-clock,1,0";
    static const char elf[] =
        "\x0a\x08/opt/app\x10\x02\x18\x80\x40\x22\x15\x08\x90\x60\x10\x20\x1a\x0e"
        "_ZN3app4workEv\x32\x03\x08\x80\x20";
    static const char dex[] =
        "\x0a\x0e/opt/base.vdex\x10\x03\x22\x0d\x08\x90\x01\x10\x08\x1a\x06java.A\x2a\x03\x0a\x01\x2c";
    static const uint64_t module_offset = 0x300;
    size_t table_at = begin_sections(), start = builder.bytes_count;
    put_struct("[kernel.kallsyms]", 0, 0, KERNEL_AT + 0x100, "do_work", NULL);
    put_struct("/vendor/lib/modules/touch.ko", 1, 0x40, 0x80, "touch_irq", &module_offset);
    put_struct("cache:100-200", 2, 0, 0x800010, "java.B", NULL);
    end_section(table_at, 0, &start);
    builder_put(&builder, properties, sizeof properties);
    end_section(table_at, 1, &start);
    put_message(elf, sizeof elf - 1);
    put_message(dex, sizeof dex - 1);
    end_section(table_at, 2, &start);
}

static void read_recording(size_t window_bytes) {
    struct input *input = input_from_memory((struct text){builder.bytes, builder.bytes_count}, window_bytes, &failure);
    reader_perf_data.run(input, &profile, &(struct reader_options){.ignores_code_files = true});
    input_close(input);
    finish_profile();
}

static void assert_samples(const char *expected) { assert_printed(profile_samples_text(&profile), expected); }

/* ---- Tests. ---- */

static void check_functions(size_t window_bytes) {
    begin_app();
    builder_mmap(&builder, UINT32_MAX, KERNEL_AT, 0x100000, KERNEL_AT, "[kernel.kallsyms]_stext", 0);
    builder_mmap(&builder, UINT32_MAX, MODULE_AT, 0x1000, 0, "/vendor/lib/modules/touch.ko", 0);
    add_mmap2(0x700000, 0, 1, "/opt/base.vdex");
    add_mmap2(0x800000, 100, 0x4005, "cache:100-200");
    add_user_sample(100, 0x401015);
    add_user_sample(200, 0x401030); /* after the function's end */
    builder_sample(&builder, 5, 5, 300, (const uint64_t[]){(uint64_t)-512, 0x401015, 0x700090}, 3);
    add_user_sample(400, 0x80001f);
    add_kernel_sample(500, KERNEL_AT + 0x11f);
    add_kernel_sample(2000000600, MODULE_AT + 0x340);
    put_sections();
    read_recording(window_bytes);
    assert_samples(
        "5/5 app 0 1000000 app::work\n5/5 app 100 1000000 0x2030\n5/5 app 200 1000000 java.A;app::work\n"
        "5/5 app 300 1000000 java.B\n5/5 app 400 1000000 do_work\n5/5 app 2000000500 1000000 touch_irq\n");
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_RECORDS, LEDGER_LOST), 0);
    assert_int_equal(profile.meta.start_time_ms, 1699999998000);
    assert_true(text_equal(profile.meta.device, TEXT("A:B 1:c")));
}

TEST(test_functions_of_files, begin_profile, end_profile) { check_functions(0); }
TEST(test_functions_of_streams, begin_profile, end_profile) { check_functions(7); }

/* Of functions that overlap, the one that starts last counts, then the shortest, then the last name. */
TEST(test_functions_that_overlap, begin_profile, end_profile) {
    struct embedded_symbols symbols;
    struct code_name found;
    embedded_symbols_init(&symbols, &failure);
    static const struct {
        uint64_t start, size_bytes;
        const char *name;
    } rows[] = {{10, 100, "outer"}, {30, 10, "b"},    {30, 10, "a"},    {30, 20, "long"},
                {60, 10, "inner"},  {65, 60, "last"}, {20, 0, "empty"}, {UINT64_MAX - 5, 5, "top"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        embedded_symbols_add(&symbols, TEXT("/a"), rows[i].start, rows[i].size_bytes, text_of(rows[i].name));
        embedded_symbols_add(&symbols, TEXT("/b"), rows[i].start + 1000, 1, TEXT("other"));
    }
    static const struct {
        uint64_t place;
        const char *name;
    } places[] = {{9, ""},       {10, "outer"}, {29, "outer"},          {30, "b"},    {40, "long"},
                  {49, "long"},  {50, "outer"}, {60, "inner"},          {65, "last"}, {75, "last"},
                  {124, "last"}, {125, ""},     {UINT64_MAX - 1, "top"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        found = (struct code_name){.name = TEXT("")};
        embedded_symbols_find(&symbols, TEXT("/a"), places[i].place, &found);
        assert_true(text_equal(found.name, text_of(places[i].name)));
    }
    assert_false(embedded_symbols_find(&symbols, TEXT("/c"), 10, &found));
    embedded_symbols_add(&symbols, TEXT("/c"), 0, 100, TEXT("late"));
    assert_true(embedded_symbols_find(&symbols, TEXT("/c"), 10, &found));
    embedded_symbols_fini(&symbols);
}

/* The formats of tracepoints are in their record, not behind it. */
TEST(test_formats, begin_profile, end_profile) {
    static const uint32_t types[] = {66, 32777};
    begin_app();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        builder_begin_record(&builder, types[i], 0);
        builder_u32(&builder, 12);
        builder_put(&builder, "no formats..", 12);
        builder_u64(&builder, 0);
        builder_end_record(&builder);
    }
    add_user_sample(100, 0x401015);
    builder_finish(&builder);
    read_recording(0);
    assert_samples("5/5 app 0 1000000 0x2015\n");
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_RECORDS, LEDGER_LOST), 2);
}

static void put_part(const char *bytes, size_t bytes_count) {
    enum { PART = 32772 };
    builder_begin_record(&builder, PART, 0);
    builder_put(&builder, bytes, bytes_count);
    builder_end_record(&builder);
}

static void end_parts(void) {
    enum { END = 32773 };
    builder_begin_record(&builder, END, 0);
    builder_end_record(&builder);
}

/* A record that is longer than 65 535 bytes is split, and is read as if it were not. */
TEST(test_split_record, begin_profile, end_profile) {
    enum { SIZE_AT = 4, SIZE = 70000, PART = 40000 };
    char *formats = calloc(1, SIZE);
    memcpy(formats, "\x09\x80\0\0", 4);
    formats[SIZE_AT] = SIZE >> 16;
    formats[SIZE_AT + 2] = (char)(SIZE & 0xff);
    formats[SIZE_AT + 3] = (char)(SIZE >> 8 & 0xff);
    begin_app();
    put_part(formats, PART);
    put_part(formats + PART, SIZE - PART);
    end_parts();
    put_part(formats, PART); /* shorter than it says */
    end_parts();
    put_part("\x05\x80\0\0\0\0\x8", 8); /* an end in parts */
    end_parts();
    put_part("\x0a\x80\0\0\0\0\x8", 8);
    end_parts();
    put_part(formats, PART); /* no end */
    add_user_sample(100, 0x401015);
    builder_finish(&builder);
    free(formats);
    read_recording(0);
    assert_samples("5/5 app 0 1000000 0x2015\n");
    assert_int_equal(count_of(&profile.ledger, LEDGER_RECORDS, LEDGER_KEPT, "TRACING_DATA record"), 1);
    assert_int_equal(count_of(&profile.ledger, LEDGER_RECORDS, LEDGER_KEPT, "DEBUG record"), 1);
    assert_int_equal(count_of(&profile.ledger, LEDGER_RECORDS, LEDGER_KEPT, "SPLIT record"), 6);
    assert_int_equal(count_of(&profile.ledger, LEDGER_RECORDS, LEDGER_KEPT, "SPLIT_END record"), 2);
    assert_int_equal(count_of(&profile.ledger, LEDGER_RECORDS, LEDGER_LOST, "damaged record"), 3);
}

/* A record without its end is where its first part is. */
TEST(test_split_record_without_end, begin_profile, end_profile) {
    begin_app();
    put_part("\x09\x80\0\0\0\0\x10", 8);
    size_t first_at = builder.record_at;
    put_part("\x09\x80\0\0\0\0\x10", 4);
    add_user_sample(100, 0x401015);
    builder_finish(&builder);
    read_recording(0);
    assert_int_equal(count_of(&profile.ledger, LEDGER_RECORDS, LEDGER_LOST, "damaged record"), 1);
    for (size_t i = 0; i < profile.ledger.entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(&profile.ledger, i);
        if (text_equal(entry->cause, TEXT("damaged record"))) assert_int_equal(entry->first.offset, first_at);
    }
}

/* Code that was generated an hour before does not begin the recording: the thread did not run between 2 and 3 ms. */
TEST(test_early_mapping, begin_profile, end_profile) {
    static const uint64_t hour_ns = UINT64_C(3600000000000);
    begin_app();
    builder_mmap(&builder, 5, 0x900000, 0x1000, 0, "/opt/jit", 1);
    add_switch(hour_ns + 1000000, false);
    add_user_sample(hour_ns + 2000000, 0x400010);
    add_switch(hour_ns + 2000000, true);
    add_switch(hour_ns + 3000000, false);
    add_user_sample(hour_ns + 4000000, 0x400010);
    builder_finish(&builder);
    read_recording(0);
    assert_samples(
        "5/5 app 0 1000000 0x1010\n5/5 app 0 500000 (waits)\n5/5 app 1000000 500000 (waits)\n"
        "5/5 app 1000000 500000 0x1010\n5/5 app 2000000 500000 0x1010\n");
}

int main(void) { return unit_tests_run(NULL, NULL); }
