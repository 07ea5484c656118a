#include <stdlib.h>
#include <string.h>

#include "libconvert/base/progress.h"
#include "tests/support/unit_test.h"

/* What the callback was told. */
static struct {
    unsigned permilles[2000];
    size_t count;
    void *context;
} told;

static bool tell(void *context, const struct gecko_convert_progress *progress) {
    told.context = context;
    assert_true(told.count < sizeof told.permilles / sizeof *told.permilles);
    told.permilles[told.count++] = progress->permille;
    return true;
}

static struct progress_root root;

static int begin(void **state) {
    memset(&told, 0, sizeof told);
    root = (struct progress_root){.callback = tell, .context = &root};
    return 0;
}

static void assert_told(size_t count, const unsigned *permilles) {
    assert_int_equal(told.count, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(told.permilles[i], permilles[i]);
}

static void the_whole_is_told_in_thousandths(void **state) {
    struct progress whole = progress_whole(&root);
    progress_report(whole, 1, 4);
    progress_report(whole, 1, 2);
    progress_report(whole, 4, 4);
    assert_told(3, (unsigned[]){250, 500, 1000});
    assert_ptr_equal(told.context, &root);
}

static void only_a_change_is_told(void **state) {
    struct progress whole = progress_whole(&root);
    for (uint64_t done = 0; done <= 100000; done++) progress_report(whole, done, 100000);
    assert_int_equal(told.count, 1000);
    for (unsigned i = 0; i < 1000; i++) assert_int_equal(told.permilles[i], i + 1);
}

static void progress_never_goes_back(void **state) {
    struct progress whole = progress_whole(&root);
    progress_report(whole, 6, 10);
    progress_report(whole, 5, 10);
    progress_report(whole, 0, 10);
    progress_report(whole, 6, 10);
    progress_report(whole, 7, 10);
    assert_told(2, (unsigned[]){600, 700});
}

static void a_part_knows_nothing_of_the_whole(void **state) {
    struct progress second_half = progress_part(progress_whole(&root), 0.5, 1);
    struct progress quarter_of_it = progress_part(second_half, 0, 0.25);
    progress_report(quarter_of_it, 0, 8);
    progress_report(quarter_of_it, 4, 8);
    progress_report(quarter_of_it, 8, 8);
    progress_report(second_half, 1, 2);
    progress_report(second_half, 2, 2);
    assert_told(5, (unsigned[]){500, 562, 625, 750, 1000});
}

static void the_last_part_ends_with_the_whole(void **state) {
    for (unsigned from = 0; from < 100; from++) {
        root.told.permille = 0;
        told.count = 0;
        struct progress rest = progress_part(progress_whole(&root), from / 100.0, 1);
        for (unsigned step = 1; step <= 7; step++)
            progress_report(progress_part(rest, (step - 1) / 7.0, step / 7.0), 3, 3);
        assert_int_equal(told.permilles[told.count - 1], 1000);
    }
}

static void more_than_all_is_all(void **state) {
    struct progress half = progress_part(progress_whole(&root), 0, 0.5);
    progress_report(half, 20, 10);
    progress_report(half, UINT64_MAX, 1);
    assert_told(1, (unsigned[]){500});
}

static void large_totals_are_shares_too(void **state) {
    struct progress whole = progress_whole(&root);
    progress_report(whole, UINT64_MAX / 2, UINT64_MAX);
    progress_report(whole, UINT64_MAX, UINT64_MAX);
    assert_told(2, (unsigned[]){500, 1000});
}

static void a_total_of_nothing_tells_nothing(void **state) {
    progress_report(progress_whole(&root), 5, 0);
    progress_report(progress_whole(&root), 0, 0);
    assert_told(0, NULL);
}

static void nobody_need_listen(void **state) {
    progress_report((struct progress){0}, 1, 2);
    progress_report(progress_part((struct progress){0}, 0.2, 0.4), 1, 2);
    struct progress_root silent = {0};
    progress_report(progress_whole(&silent), 1, 2);
    assert_int_equal(silent.told.permille, 0);
    assert_told(0, NULL);
}

static bool refuse(void *context, const struct gecko_convert_progress *progress) {
    ++*(unsigned *)context;
    return false;
}

static void a_callback_cancels_once(void **state) {
    unsigned count = 0;
    struct failure failure = {0};
    root = (struct progress_root){.callback = refuse, .context = &count, .failure = &failure};
    progress_report(progress_whole(&root), 1, 2);
    progress_report(progress_whole(&root), 2, 2);
    progress_tell_source(progress_whole(&root), 100, 0);
    assert_int_equal(count, 1);
    assert_int_equal(failure.code, FAILURE_CANCELLED);
}

/* A source of known size is reported with the next change of permille, one of unknown size at once. */
static void a_source_is_told(void **state) {
    progress_tell_source(progress_whole(&root), 10, 100);
    assert_told(0, NULL);
    assert_int_equal(root.told.read_bytes, 10);
    assert_int_equal(root.told.total_bytes, 100);
    progress_tell_source(progress_whole(&root), 11, 0);
    progress_tell_source(progress_whole(&root), 11, 0);
    assert_told(1, (unsigned[]){0});
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_whole_is_told_in_thousandths),
        TEST(only_a_change_is_told),
        TEST(progress_never_goes_back),
        TEST(a_part_knows_nothing_of_the_whole),
        TEST(the_last_part_ends_with_the_whole),
        TEST(more_than_all_is_all),
        TEST(large_totals_are_shares_too),
        TEST(a_total_of_nothing_tells_nothing),
        TEST(nobody_need_listen),
        TEST(a_callback_cancels_once),
        TEST(a_source_is_told),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
