/* The library that archives and compressed files need, and that is loaded when one of them comes: what happens where it
 * cannot be. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>

#include "tests/support/conversion.h"

static const struct text plain = TEXT("main;work 3\nmain 4\n");

/* The same, by bzip2. */
static const unsigned char compressed[] = {0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x87, 0xd7,
                                           0x24, 0xe3, 0x00, 0x00, 0x06, 0xd9, 0x80, 0x00, 0x10, 0x40, 0x00, 0x0c,
                                           0x08, 0x20, 0x2b, 0x90, 0x80, 0x20, 0x00, 0x21, 0x2a, 0x69, 0x88, 0xc8,
                                           0xf4, 0x20, 0x1a, 0x00, 0xdb, 0xf6, 0xe4, 0x6b, 0x28, 0xfd, 0x1e, 0x12,
                                           0x58, 0x2e, 0xe4, 0x8a, 0x70, 0xa1, 0x21, 0x0f, 0xae, 0x49, 0xc6};

/* ---- The dynamic linker, in the place of the C library's. ---- */

static const char *replacement; /* what is loaded in place of any library; NULL: what is asked for */
static const char *words;       /* what dlerror says; NULL: what the linker says */
static bool leaves_enomem;      /* dlopen fails as if one of its allocations did */
static unsigned load_count;

static void *(*real_dlopen)(const char *name, int flags);
static char *(*real_dlerror)(void);

/* Before anything fails: looking for them clears what dlerror has to say. */
static int find_linker(void **state) {
    (void)state;
    real_dlopen = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    real_dlerror = (char *(*)(void))dlsym(RTLD_NEXT, "dlerror");
    return real_dlopen && real_dlerror ? 0 : -1;
}

void *dlopen(const char *name, int flags) {
    load_count++;
    void *library = leaves_enomem ? NULL : real_dlopen(replacement ? replacement : name, flags);
    if (leaves_enomem) errno = ENOMEM;
    return library;
}

char *dlerror(void) { return words ? (char *)words : real_dlerror(); }

/* ---- Conversions. ---- */

static int begin(void **state) {
    static struct conversion conversion;
    replacement = words = NULL;
    leaves_enomem = false;
    *state = &conversion;
    return conversion_init(&conversion) ? 0 : -1;
}

static int end(void **state) {
    conversion_fini(*state);
    return 0;
}

static enum gecko_convert_status convert_compressed(struct conversion *conversion) {
    return conversion_run(conversion, (struct text){(const char *)compressed, sizeof compressed});
}

static void assert_refused(struct conversion *conversion, const char *reason) {
    char message[3 * PATH_MAX];
    assert_int_equal(convert_compressed(conversion), GECKO_CONVERT_IO_FAILED);
    snprintf(message, sizeof message,
             "%s: this needs libarchive, which cannot be loaded (%s); install it, or do without archives and "
             "compression",
             conversion->input, reason);
    assert_string_equal(conversion->result.message, message);
    assert_null(file_read(conversion->output, NULL));
}

/* ---- Tests, in this order: once it is loaded, it stays. ---- */

static void test_it_is_not_installed(void **state) {
    struct conversion *conversion = *state;
    replacement = "libnowhere.so.1";
    assert_refused(conversion, "libnowhere.so.1: cannot open shared object file: No such file or directory");
    assert_int_equal(conversion_run(conversion, plain), GECKO_CONVERT_GOOD);
}

static void test_it_lacks_functions(void **state) {
    replacement = "libc.so.6";
    words = "undefined symbol";
    assert_refused(*state, "undefined symbol");
}

static void test_memory_runs_out(void **state) {
    struct conversion *conversion = *state;
    replacement = "libnowhere.so.1";
    words = "libicudata.so.72: cannot open shared object file: Cannot allocate memory";
    assert_int_equal(convert_compressed(conversion), GECKO_CONVERT_NO_MEMORY);
    words = "out of memory";
    assert_int_equal(convert_compressed(conversion), GECKO_CONVERT_NO_MEMORY);
    words = "libacl.so.1: cannot create shared object descriptor";
    leaves_enomem = true;
    assert_int_equal(convert_compressed(conversion), GECKO_CONVERT_NO_MEMORY);
}

static void test_plain_traces_do_without(void **state) {
    load_count = 0;
    assert_int_equal(conversion_run(*state, plain), GECKO_CONVERT_GOOD);
    assert_int_equal(load_count, 0);
}

static void *convert_in_thread(void *argument) {
    struct conversion *conversion = argument;
    struct gecko_convert_options options = {.input_path = conversion->input, .output_path = conversion->output};
    gecko_convert(&options, &conversion->result);
    return NULL;
}

static void test_it_is_loaded_once(void **state) {
    enum { THREAD_COUNT = 8 };
    struct conversion *conversion = *state, conversions[THREAD_COUNT];
    pthread_t threads[THREAD_COUNT];
    load_count = 0;
    assert_true(file_write(conversion->input, (struct text){(const char *)compressed, sizeof compressed}));
    for (int i = 0; i < THREAD_COUNT; i++) {
        conversions[i] = *conversion;
        snprintf(conversions[i].output, sizeof conversions[i].output, "%s",
                 temp_folder_file(&conversion->folder, "out.json"));
        conversions[i].output[strlen(conversions[i].output) - 1] = (char)('0' + i);
        assert_int_equal(pthread_create(&threads[i], NULL, convert_in_thread, &conversions[i]), 0);
    }
    for (int i = 0; i < THREAD_COUNT; i++) {
        pthread_join(threads[i], NULL);
        assert_string_equal(conversions[i].result.message, "");
        assert_string_equal(conversions[i].result.wrapping, "bzip2");
        assert_int_equal(conversions[i].result.counts.samples, 2);
        gecko_convert_result_fini(&conversions[i].result);
    }
    assert_int_equal(load_count, 1);
    assert_int_equal(convert_compressed(conversion), GECKO_CONVERT_GOOD);
    assert_int_equal(load_count, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_it_is_not_installed), TEST(test_it_lacks_functions),
                                       TEST(test_memory_runs_out), TEST(test_plain_traces_do_without),
                                       TEST(test_it_is_loaded_once)};
    return cmocka_run_group_tests(tests, find_linker, NULL);
}
