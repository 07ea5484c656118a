/* Tests the parsing of MMAP records and the search for the newest mapping of an address. */
#include <stdio.h>

#include "readers/perf_script/perf_maps.h"
#include "tests/support/unit_test.h"

struct maps_test {
    struct failure failure;
    struct perf_maps maps;
};

static struct maps_test fixture;

static int set_up(void **state) {
    fixture = (struct maps_test){0};
    perf_maps_init(&fixture.maps, &fixture.failure);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    bool is_good = !failure_is_set(&fixture.failure);
    perf_maps_fini(&fixture.maps);
    return is_good ? 0 : -1;
}

static void add(int64_t pid, uint64_t start, uint64_t length, uint64_t file_offset) {
    const struct perf_map_record record = {
        .pid = pid, .tid = pid, .start = start, .length = length, .file_offset = file_offset, .path = TEXT("/a")};
    perf_maps_add(&fixture.maps, &record);
}

static void assert_relative(int64_t pid, uint64_t address, uint64_t wanted) {
    uint64_t relative = UINT64_MAX;
    if (!perf_maps_relative_address(&fixture.maps, pid, address, &relative))
        fail_msg("%#llx of %lld is not mapped", (unsigned long long)address, (long long)pid);
    assert_int_equal(relative, wanted);
}

static void assert_unmapped(int64_t pid, uint64_t address) {
    uint64_t relative;
    if (perf_maps_relative_address(&fixture.maps, pid, address, &relative))
        fail_msg("%#llx of %lld is mapped", (unsigned long long)address, (long long)pid);
}

/* ---- Records. ---- */

static void test_records(void **state) {
    static const struct {
        const char *payload;
        int64_t pid, tid;
        uint64_t start, length, file_offset;
        const char *path, *build_id;
    } records[] = {
        {" 12/34: [0x400000(0x1000) @ 0x2000 fe:00 12 34]: r-xp /bin/app", 12, 34, 0x400000, 0x1000, 0x2000, "/bin/app",
         ""},
        {" 11527/11527: [0x7f4ee2b36000(0x2000) @ 0 00:00 0 0]: r-xp [vdso]", 11527, 11527, 0x7f4ee2b36000, 0x2000, 0,
         "[vdso]", ""},
        {" -1/0: [0xffffffff81000000(0x120bb08) @ 0xffffffff81000000]: x [kernel.kallsyms]_text", -1, 0,
         0xffffffff81000000, 0x120bb08, 0xffffffff81000000, "[kernel.kallsyms]_text", ""},
        {" 1/2: [0x400000(0x1000) @ 0 <0123456789abcdef0123456789abcdef01234567>]: r-xp /opt/my app", 1, 2, 0x400000,
         0x1000, 0, "/opt/my app", "0123456789abcdef0123456789abcdef01234567"},
        {" 1/2: [0x400000(0x1000) @ 0 fe:00 1 2]: r-xp /lib/x.so (deleted)", 1, 2, 0x400000, 0x1000, 0, "/lib/x.so",
         ""},
        {" 1/2: [0(0xffffffffffffffff) @ 0xffffffffffffffff]: r //anon", 1, 2, 0, UINT64_MAX, UINT64_MAX, "//anon", ""},
    };
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        struct perf_map_record got;
        if (!perf_map_record_parse(text_of(records[i].payload), &got)) fail_msg("%s: refused", records[i].payload);
        assert_int_equal(got.pid, records[i].pid);
        assert_int_equal(got.tid, records[i].tid);
        assert_int_equal(got.start, records[i].start);
        assert_int_equal(got.length, records[i].length);
        assert_int_equal(got.file_offset, records[i].file_offset);
        assert_true(text_equal(got.path, text_of(records[i].path)));
        assert_true(text_equal(got.build_id, text_of(records[i].build_id)));
    }
}

static void test_malformed_records(void **state) {
    static const char *const payloads[] = {
        "",
        " ",
        " 12",
        " 12/34",
        " x/34: [0x400000(0x1000) @ 0x2000]: r /bin/app",
        " 12/: [0x400000(0x1000) @ 0x2000]: r /bin/app",
        " 4294967296/34: [0x400000(0x1000) @ 0x2000]: r /bin/app",
        " 18446744073709551628/34: [0x400000(0x1000) @ 0x2000]: r /bin/app", /* 2^64 + 12 */
        " 12/34 [0x400000(0x1000) @ 0x2000]: r /bin/app",
        " 12/34: [(0x1000) @ 0x2000]: r /bin/app",
        " 12/34: [0x10000000000000000(0x1000) @ 0x2000]: r /bin/app",
        " 12/34: [0x400000 0x1000 @ 0x2000]: r /bin/app",
        " 12/34: [0x400000(0x1000) 0x2000]: r /bin/app",
        " 12/34: [0x400000(0x1000) @ 0x2000: r /bin/app",
        " 12/34: [0x400000(0x1000) @ 0x2000] r /bin/app",
        " 12/34: [0x400000(0x1000) @ 0x2000]: r",
        " 12/34: [0x400000(0x1000) @ 0x2000]: r ",
        " 12/34: [0x400000(0x1000) @ 0x2000]: ",
    };
    struct perf_map_record got;
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++)
        if (perf_map_record_parse(text_of(payloads[i]), &got)) fail_msg("\"%s\" was taken for a record", payloads[i]);
}

/* ---- Addresses. ---- */

static void test_nothing_is_mapped(void **state) {
    assert_unmapped(1, 0);
    assert_unmapped(1, 0x400000);
    add(1, 0x400000, 0, 0); /* without a length */
    assert_unmapped(1, 0x400000);
}

static void test_first_and_last_byte(void **state) {
    add(1, 0x400800, 0x1001, 0x2000);
    assert_unmapped(1, 0x4007ff);
    assert_relative(1, 0x400800, 0x2000);
    assert_relative(1, 0x400fff, 0x27ff);
    assert_relative(1, 0x401000, 0x2800);
    assert_relative(1, 0x401800, 0x3000);
    assert_unmapped(1, 0x401801);
    assert_unmapped(1, UINT64_MAX);
}

static void test_every_length_and_alignment(void **state) {
    int64_t pid = 0;
    for (uint64_t length = 1; length <= 40; length++)
        for (uint64_t start = 64; start < 130; start++) {
            add(++pid, start, length, 1000);
            for (uint64_t address = 0; address < 256; address++) {
                if (address >= start && address < start + length)
                    assert_relative(pid, address, 1000 + address - start);
                else
                    assert_unmapped(pid, address);
            }
        }
}

static void test_processes_are_apart(void **state) {
    add(1, 0x400000, 0x1000, 0x1000);
    add(2, 0x400000, 0x1000, 0x2000);
    assert_relative(1, 0x400010, 0x1010);
    assert_relative(2, 0x400010, 0x2010);
    assert_unmapped(3, 0x400010);
}

static void test_the_newest_counts(void **state) {
    add(1, 0x400000, 0x10000, 0);
    add(1, 0x402000, 0x1000, 0x70000); /* a small mapping over a part of the first */
    assert_relative(1, 0x401fff, 0x1fff);
    assert_relative(1, 0x402000, 0x70000);
    assert_relative(1, 0x402fff, 0x70fff);
    assert_relative(1, 0x403000, 0x3000);
    add(1, 0x3f0000, 0x100000, 0x900000); /* a large mapping over both */
    assert_relative(1, 0x402000, 0x912000);
    add(1, 0x3f0000, 0x100000, 0); /* the same range again */
    assert_relative(1, 0x402000, 0x12000);
}

static void test_the_kernel(void **state) {
    add(PERF_PID_KERNEL, 0xffffffff81000000, 0x1200000, 0xffffffff81000000);
    add(PERF_PID_KERNEL, 0xffffffffc0000000, 0x5000, 0);
    assert_relative(PERF_PID_KERNEL, 0xffffffff81000010, 0x10);
    assert_relative(PERF_PID_KERNEL, 0xffffffffc0000123, 0x123);
    assert_unmapped(1, 0xffffffff81000010);
}

static void test_the_end_of_the_address_space(void **state) {
    add(1, UINT64_MAX, 1, 5);
    add(1, UINT64_MAX - 0xfff, 0x1000, 0);
    assert_relative(1, UINT64_MAX, 0xfff);
    add(1, UINT64_MAX - 0xfff, 0x1001, 7); /* beyond the end of the address space, so it is ignored */
    assert_relative(1, UINT64_MAX, 0xfff);
    add(2, 0, UINT64_MAX, 0);
    assert_relative(2, 0, 0);
    assert_relative(2, UINT64_MAX - 1, UINT64_MAX - 1);
    assert_unmapped(2, UINT64_MAX);
}

/* A look-up must not walk all of these mappings. */
static void test_many_mappings_and_processes(void **state) {
    enum { COUNT = 200000 };
    for (uint64_t i = 0; i < COUNT; i++) {
        add(1, 0x10000 + i * 0x3000, 0x2000, i);
        add((int64_t)i + 2, 0x1000, 0x1000, i);
        add(1, 0x10, 0x10, i); /* repeatedly maps one range, which is near the address that is looked up */
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_relative(1, 0x10000 + i * 0x3000 + 0x1fff, i + 0x1fff);
        assert_unmapped(1, 0x10000 + i * 0x3000 + 0x2000);
        assert_relative((int64_t)i + 2, 0x1000, i);
        assert_unmapped(1, 0x20);
    }
    assert_relative(1, 0x10, COUNT - 1);
}

/* ---- Build ids. ---- */

static void add_build_id(const char *path, const char *build_id) {
    const struct perf_map_record record = {
        .pid = 1, .tid = 1, .start = 0x1000, .length = 0x1000, .path = text_of(path), .build_id = text_of(build_id)};
    perf_maps_add(&fixture.maps, &record);
}

static void assert_build_id(const char *path, const char *wanted) {
    assert_true(text_equal(perf_maps_build_id(&fixture.maps, text_of(path)), text_of(wanted)));
}

static void test_build_ids(void **state) {
    assert_build_id("/a", "");
    add_build_id("/a", ""); /* no build id */
    assert_build_id("/a", "");
    add_build_id("/b", "bb");
    assert_build_id("/a", "");
    assert_build_id("/b", "bb");
    assert_build_id("/c", "");
    add_build_id("/a", "aa");
    add_build_id("/b", "bc"); /* the first one stays */
    assert_build_id("/a", "aa");
    assert_build_id("/b", "bb");
    assert_build_id("/c", "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_malformed_records),
        cmocka_unit_test_setup_teardown(test_nothing_is_mapped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_and_last_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_length_and_alignment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_processes_are_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_newest_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_kernel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_end_of_the_address_space, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_mappings_and_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_build_ids, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
