/* Makes each allocation of a conversion fail in turn, alone and with all later ones.
 *
 * The program defines the allocation functions itself, so all libraries in the process use these. Sanitizers replace
 * them too, so this program does not run with sanitizers. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/batch/batch.h"
#include "cli/command.h"
#include "cli/exit_guard.h"
#include "libconvert/gecko_convert.h"
#include "tests/support/jitdump_builder.h"
#include "tests/support/sampler_trace.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"
#include "writer/archive_file.h"
#include "writer/sink.h"

void *__libc_malloc(size_t bytes_count);
void *__libc_calloc(size_t count, size_t bytes_count);
void *__libc_realloc(void *block, size_t bytes_count);
void *__libc_memalign(size_t alignment, size_t bytes_count);
void __libc_free(void *block);

/* ---- The allocator. ---- */

static struct {
    bool is_counting;
    uint64_t count;   /* allocations so far; a child process continues its parent's count */
    uint64_t fail_at; /* the number of the allocation that fails, from 1; 0: none */
    bool fails_on;    /* all later ones fail as well */
    bool *has_failed; /* in memory that is shared with child processes */
    int64_t live_bytes;
    int64_t live_blocks;
} heap;

static bool must_fail(void) {
    if (!heap.is_counting) return false;
    heap.count++;
    bool fails = heap.fails_on ? heap.count >= heap.fail_at : heap.count == heap.fail_at && !*heap.has_failed;
    if (!heap.fail_at || !fails) return false;
    *heap.has_failed = true;
    errno = ENOMEM;
    return true;
}

static void *enter_block(void *block) {
    if (!block) return NULL;
    heap.live_blocks++;
    heap.live_bytes += (int64_t)malloc_usable_size(block);
    return block;
}

static void leave_block(void *block) {
    if (!block) return;
    heap.live_blocks--;
    heap.live_bytes -= (int64_t)malloc_usable_size(block);
}

/* The libraries must see these functions, whatever visibility the build chooses. */
#pragma GCC visibility push(default)

void *malloc(size_t bytes_count) { return must_fail() ? NULL : enter_block(__libc_malloc(bytes_count)); }

void *calloc(size_t count, size_t bytes_count) {
    return must_fail() ? NULL : enter_block(__libc_calloc(count, bytes_count));
}

void *realloc(void *block, size_t bytes_count) {
    if (must_fail()) return NULL;
    leave_block(block);
    void *moved = __libc_realloc(block, bytes_count);
    if (!moved && bytes_count) enter_block(block);
    return enter_block(moved);
}

void free(void *block) {
    leave_block(block);
    __libc_free(block);
}

void *aligned_alloc(size_t alignment, size_t bytes_count) {
    return must_fail() ? NULL : enter_block(__libc_memalign(alignment, bytes_count));
}

void *memalign(size_t alignment, size_t bytes_count) { return aligned_alloc(alignment, bytes_count); }

int posix_memalign(void **block, size_t alignment, size_t bytes_count) {
    *block = aligned_alloc(alignment, bytes_count);
    return *block ? 0 : ENOMEM;
}

#pragma GCC visibility pop

/* ---- The conversions. ---- */

static const struct text folded = TEXT("main;a;b 3\nmain;c 2\nnot a stack\nmain;a;b 0.5\nmain;d_[k] 1\n");

static const struct text difference = TEXT("main;a;b 3 4\nmain;c 2 1\nmain;d 7 7\n");

static const struct text perf_text = TEXT(
    "# ========\n# captured on    : Fri Aug 21 10:00:00 2026\n# hostname : box\n# nrcpus online : 8\n"
    "# cmdline : /usr/bin/perf record -g -- ./app 12\n# ========\n#\n"
    "app 10/10 0.900000000: PERF_RECORD_COMM exec: app:10/10\n"
    "app 10/10 [001] 1.000000000: 250000 cycles:P: \n"
    "\t1190 fib+0x12 (/usr/bin/app)\n"
    "\t1195 inner (inlined)\n"
    "\t1195 outer+0x5 (/usr/bin/app)\n  app.c:12\n"
    "\tffffffff81000000 do_syscall_64+0x10 ([kernel.kallsyms])\n"
    "\n"
    "worker 10/11 1.002000000: 4294967296 cycles:P: \n\t1190 fib+0x12 (/usr/bin/app)\n\n"
    "app 10/10 1.001000000: sched:sched_switch: prev_comm=app prev_pid=10 ==> next_comm=x next_pid=0\n"
    "\t1200 main+0x20 (/usr/bin/app)\n\n"
    "nothing that is known\n");

/* Made by make_recorded. */
static struct text recorded;

/* Made by build_sampler_trace. */
static struct text sampled;

/* Made by make_named_libraries. */
static struct text named_libraries;

/* Made by make_generated, with a file beside it. */
static struct text generated;
static struct temp_folder jit_folder;

/* A trace in which a chunk uses something that is defined later. */
static void make_recorded(struct trace_builder *trace) {
    trace_builder_init(trace);
    trace_definitions_chunk(trace);
    define_meta(trace, "product", "app");
    define_meta(trace, "branch", "main");
    uint64_t string = define_string(trace, "text");
    uint64_t category = define_category(trace, "Work", 3, 0);
    put_type(trace, "Type", 0, 0);
    put_leb(trace, 3);
    put_field(trace, "list", 20);
    put_field(trace, "text", 0);
    put_field(trace, "flow", 5);
    put_leb(trace, 0);
    uint64_t type = trace_definition(trace, BUILD_MARKER_TYPE);
    uint64_t marker = define_marker(trace, "marker", category, type);
    uint64_t counter = define_counter(trace, "counter", 0), label = trace->next_id;
    for (unsigned pid = 10; pid < 12; pid++) {
        trace_events_chunk(trace, 0, 0);
        add_process(trace, pid, BUILD_START_NS, "app");
        add_thread(trace, 0, pid, pid, 0, "main");
        for (unsigned i = 0; i < 3; i++) {
            put_lebs(trace, 2000, 16, marker);
            put_byte(trace, 7);
            put_leb(trace, 1);
            put_text(trace, "item");
            put_byte(trace, 5);
            put_leb(trace, string);
            put_byte(trace, 2);
            put_leb(trace, i);
            trace_block(trace, BUILD_MARKER);
            add_count(trace, BUILD_COUNT, 2, counter, 6 - (int)i);
            put_lebs(trace, 2, 2);
            put_byte(trace, 0);
            put_leb(trace, label);
            put_byte(trace, 1);
            put_leb(trace, label);
            put_text(trace, "more");
            trace_block(trace, BUILD_SAMPLE);
            add_mark(trace, BUILD_PAUSE, 10);
            add_mark(trace, BUILD_RESUME, 10);
            put_leb(trace, 2);
            put_text(trace, "message");
            trace_block(trace, BUILD_MESSAGE);
        }
        trace_seal(trace, 20000000, 10000000);
    }
    trace_definitions_chunk(trace);
    define_label(trace, "label", category, "file.c", 3);
    recorded = trace_text(trace);
}

struct conversion_case {
    const char *name;
    const struct text *trace;
    const char *input_name; /* compressed if it ends in ".gz" */
    const char *output_name;
    const char *format;
    bool has_threads;        /* roots of stacks are threads */
    bool counts_periods;     /* a sample weighs its period */
    const char *symbol_jobs; /* addresses are looked up, by that many threads, and sources embedded; NULL: not */
    const struct text *more; /* another input, which is merged with the first; NULL: none */
};

/* Holds a trace of two programs that are compiled here: one has debug information, one only symbols in
 * .gnu_debugdata. */
static struct temp_folder program_folder;
static struct text symbols;

static bool make_symbols(void) {
    static const struct text program =
        TEXT("int f(int x) { return x + 1; }\nint main(int c, char **v) { return f(c); }\n");
    static char trace[8192];
    if (!temp_folder_init(&program_folder)) return false;
    if (!file_write(temp_folder_file(&program_folder, "p.c"), program)) return false;
    char command[PATH_MAX];
    snprintf(command, sizeof command,
             "cd '%s' && cc -g -gz=zlib -O1 p.c -o p && objcopy --only-keep-debug p q && objcopy -S --keep-symbol=f q "
             "&& xz q && "
             "strip -o q p && objcopy --add-section .gnu_debugdata=q.xz q",
             program_folder.path);
    if (system(command) != 0) return false;
    size_t used = 0;
    for (unsigned address = 0x1000; address < 0x1200 && used < sizeof trace - 512; address += 0x11)
        used += (size_t)snprintf(trace + used, sizeof trace - used,
                                 "p 1/1 1.0: 1 cycles:\n\t%x [unknown] (%.200s/p)\n\t%x [unknown] (%.200s/q)\n\n",
                                 address, program_folder.path, address, program_folder.path);
    symbols = (struct text){trace, used};
    return true;
}

static struct temp_folder folder;

struct outcome {
    enum gecko_convert_status status;
    bool has_failed;     /* an allocation */
    uint64_t lost_count; /* losses of the unit "values" */
};

static char input_path[PATH_MAX], output_path[PATH_MAX];
static struct temp_folder more_folder; /* folder of second inputs */
static char more_path[PATH_MAX], more_alignment[PATH_MAX + 8];

/* Inputs that are read side by side allocate in no fixed order. */
static const char *jobs_of(const struct conversion_case *conversion) {
    if (conversion->more) return "--jobs=1";
    return conversion->symbol_jobs ? conversion->symbol_jobs : "--jobs=2";
}

/* Converts as the program does, from arguments to a result. */
static struct outcome run(const struct conversion_case *conversion, uint64_t fail_at, bool fails_on) {
    char *const arguments[] = {input_path,
                               (char *)(uintptr_t) "-o",
                               output_path,
                               (char *)(uintptr_t) "-f",
                               (char *)(uintptr_t)conversion->format,
                               (char *)(uintptr_t)(conversion->has_threads ? "--root=thread" : "--root=frame"),
                               (char *)(uintptr_t)(conversion->counts_periods ? "--weight=period" : "--weight=samples"),
                               (char *)(uintptr_t)(conversion->symbol_jobs ? "--symbols=always" : "--symbols=none"),
                               (char *)(uintptr_t)(conversion->symbol_jobs ? "--sources=embed" : "--sources=none"),
                               (char *)(uintptr_t)jobs_of(conversion),
                               more_path,
                               (char *)(uintptr_t) "--align",
                               more_alignment};
    enum { ARGUMENT_COUNT = sizeof arguments / sizeof *arguments, MORE_COUNT = 3 };
    heap.count = 0;
    heap.fail_at = fail_at;
    heap.fails_on = fails_on;
    *heap.has_failed = false;
    heap.is_counting = true;
    struct failure failure = {0};
    struct options options;
    struct gecko_convert_result result = {.struct_bytes = sizeof result, .status = GECKO_CONVERT_NO_MEMORY};
    command_read_options(&command_convert, &options, ARGUMENT_COUNT - (conversion->more ? 0 : MORE_COUNT), arguments,
                         &failure);
    if (!failure_is_set(&failure)) gecko_convert(&options.convert, &result);
    struct outcome outcome = {result.status, *heap.has_failed, result.sums[GECKO_CONVERT_VALUES].lost};
    gecko_convert_result_fini(&result);
    options_fini(&options);
    heap.is_counting = false;
    if (failure_is_set(&failure)) assert_int_equal(failure.code, FAILURE_MEMORY);
    return outcome;
}

struct expected_output {
    char *bytes;
    size_t bytes_count;
    uint64_t lost_count;
};

/* Three outcomes are right: memory ran out and there is no output; a library coped without the memory and the output is
 * complete; or what is missing is counted. */
static void check(const struct conversion_case *conversion, struct outcome outcome, uint64_t fail_at,
                  const struct expected_output *expected) {
    size_t bytes_count = 0;
    char *bytes = file_read(output_path, &bytes_count);
    int file_count = temp_folder_count(&folder);
    if (outcome.status == GECKO_CONVERT_GOOD) {
        assert_non_null(bytes);
        assert_int_equal(file_count, 2);
        if (outcome.lost_count == expected->lost_count) {
            assert_int_equal(bytes_count, expected->bytes_count);
            assert_memory_equal(bytes, expected->bytes, bytes_count);
        }
    } else {
        if (outcome.status != GECKO_CONVERT_NO_MEMORY)
            fail_msg("%s: allocation %llu failed: the status is %d", conversion->name, (unsigned long long)fail_at,
                     (int)outcome.status);
        assert_null(bytes);
        assert_int_equal(file_count, 1);
    }
    free(bytes);
    unlink(output_path);
}

/* asprintf, which names the temporary file, can do without its last allocation, which only trims a buffer. Nothing else
 * recovers. */
enum { RECOVERED_MAX = 1, ALLOCATIONS_MIN = 20 };

static void try_all(const struct conversion_case *conversion, bool fails_on, const struct expected_output *expected) {
    struct outcome outcome = {.has_failed = true};
    uint64_t fail_at = 1;
    unsigned recovered_count = 0, lost_count = 0;
    for (; outcome.has_failed; fail_at++) {
        int64_t live_bytes = heap.live_bytes, live_blocks = heap.live_blocks;
        outcome = run(conversion, fail_at, fails_on);
        if (live_blocks != heap.live_blocks || live_bytes != heap.live_bytes)
            fail_msg("%s: allocation %llu failed: %lld blocks, %lld bytes are left", conversion->name,
                     (unsigned long long)fail_at, (long long)(heap.live_blocks - live_blocks),
                     (long long)(heap.live_bytes - live_bytes));
        if (outcome.has_failed && outcome.status == GECKO_CONVERT_GOOD) {
            if (outcome.lost_count > expected->lost_count)
                lost_count++;
            else
                recovered_count++;
        }
        check(conversion, outcome, fail_at, expected);
    }
    assert_int_equal(outcome.status, GECKO_CONVERT_GOOD);
    /* If memory runs out while libraries are looked up side by side, they are looked up again, one after the other. */
    bool looks_up_again = conversion->symbol_jobs && strcmp(conversion->symbol_jobs, "--jobs=1") != 0;
    if (!looks_up_again) assert_in_range(recovered_count, 0, RECOVERED_MAX);
    /* libdw 0.188 uses some allocations without checking them, which ends the child process. */
    assert_true(!lost_count || conversion->symbol_jobs);
    assert_true(fail_at > ALLOCATIONS_MIN);
}

static void write_input(const struct conversion_case *conversion) {
    snprintf(input_path, sizeof input_path, "%s/%s", folder.path, conversion->input_name);
    snprintf(output_path, sizeof output_path, "%s/%s", folder.path, conversion->output_name);
    struct failure failure = {0};
    struct chunk_list chunks;
    chunk_list_init(&chunks, &failure);
    chunk_list_append(&chunks, conversion->trace->bytes, conversion->trace->bytes_count);
    assert_true(sink_write(&chunks, input_path, &failure));
    if (!conversion->more) return;
    snprintf(more_path, sizeof more_path, "%s", temp_folder_file(&more_folder, "more"));
    snprintf(more_alignment, sizeof more_alignment, "%s=1s", more_path);
    assert_true(file_write(more_path, *conversion->more));
}

/* If the previous test crashed, allocations may still fail. */
static int begin(void **state) {
    bool *has_failed = heap.has_failed;
    memset(&heap, 0, sizeof heap);
    heap.has_failed = has_failed;
    return temp_folder_init(&folder) ? 0 : -1;
}

static int end(void **state) {
    heap.is_counting = false;
    temp_folder_fini(&folder);
    return 0;
}

static void test_case(void **state) {
    const struct conversion_case *conversion = *state;
    write_input(conversion);
    /* In the first run, libraries allocate what they keep until the process ends. */
    (void)run(conversion, 0, false);
    unlink(output_path);
    struct outcome good = run(conversion, 0, false);
    assert_int_equal(good.status, GECKO_CONVERT_GOOD);
    struct expected_output expected = {.lost_count = good.lost_count};
    expected.bytes = file_read(output_path, &expected.bytes_count);
    unlink(output_path);
    try_all(conversion, false, &expected);
    try_all(conversion, true, &expected);
    free(expected.bytes);
}

static void start_failing(uint64_t fail_at) {
    heap.count = 0;
    heap.fail_at = fail_at;
    heap.fails_on = false;
    *heap.has_failed = false;
    heap.is_counting = true;
}

/* ---- Archives. ---- */

static void pack_input(const char *format, const char *filter) {
    struct archive *writer = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, "in.txt");
    archive_entry_set_size(entry, (la_int64_t)folded.bytes_count);
    archive_entry_set_filetype(entry, AE_IFREG);
    assert_int_equal(archive_write_set_format_by_name(writer, format), ARCHIVE_OK);
    if (filter) assert_int_equal(archive_write_add_filter_by_name(writer, filter), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(writer, input_path), ARCHIVE_OK);
    assert_int_equal(archive_write_header(writer, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(writer, folded.bytes, folded.bytes_count), folded.bytes_count);
    assert_int_equal(archive_write_close(writer), ARCHIVE_OK);
    archive_entry_free(entry);
    archive_write_free(writer);
}

/* Runs in a process of its own: libarchive exits with 1 if it has no memory for a name. */
static int run_in_child(const struct conversion_case *conversion, uint64_t fail_at) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit((int)run(conversion, fail_at, false).status);
    return wait_for_child(child);
}

static void try_archive(const char *format, const char *filter) {
    static const struct conversion_case conversion = {
        .name = "archive", .trace = &folded, .input_name = "in", .output_name = "out.json", .format = "processed"};
    snprintf(input_path, sizeof input_path, "%s/%s", folder.path, conversion.input_name);
    snprintf(output_path, sizeof output_path, "%s/%s", folder.path, conversion.output_name);
    pack_input(format, filter);
    assert_int_equal(run_in_child(&conversion, 0), GECKO_CONVERT_GOOD);
    size_t expected_bytes = 0, bytes_count = 0;
    char *expected = file_read(output_path, &expected_bytes);
    assert_non_null(expected);
    /* The archive has been read by then. */
    enum { FAIL_AT_MAX = 200 };
    for (uint64_t fail_at = 1; fail_at <= FAIL_AT_MAX; fail_at++) {
        unlink(output_path);
        int status = run_in_child(&conversion, fail_at);
        char *bytes = file_read(output_path, &bytes_count);
        bool is_same = bytes && bytes_count == expected_bytes && memcmp(bytes, expected, bytes_count) == 0;
        bool is_right_failure = status == GECKO_CONVERT_NO_MEMORY || status == 1;
        bool is_good = status == GECKO_CONVERT_GOOD ? is_same : is_right_failure && !bytes;
        if (!is_good)
            fail_msg("%s, %s: allocation %d failed: status %d", format, filter ? filter : "plain", (int)fail_at,
                     status);
        free(bytes);
    }
    free(expected);
    unlink(output_path);
}

TEST(test_reading_archives, begin, end) {
    static const char *const kinds[][2] = {{"pax", "zstd"}, {"zip", NULL}, {"7zip", NULL}, {"raw", "xz"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) try_archive(kinds[i][0], kinds[i][1]);
}

/* libarchive's failures must not affect this process. */
static void try_writing(const char *suffix, const struct column *members) {
    char name[32], path[PATH_MAX], *expected = NULL;
    snprintf(name, sizeof name, "out%s", suffix);
    snprintf(path, sizeof path, "%s/%s", folder.path, name);
    size_t expected_bytes = 0, bytes_count;
    *heap.has_failed = true;
    for (uint64_t fail_at = 0; *heap.has_failed; fail_at++) {
        struct failure failure = {0};
        start_failing(fail_at);
        archive_file_write(path, name, folder.path, members, &failure);
        heap.is_counting = false;
        char *bytes = file_read(path, &bytes_count);
        if (!expected) {
            assert_non_null(expected = bytes);
            expected_bytes = bytes_count;
            *heap.has_failed = true;
            continue;
        }
        bool is_same = bytes && bytes_count == expected_bytes && memcmp(bytes, expected, bytes_count) == 0;
        /* The C library does not always report why it has no locale. */
        bool lacks_memory = failure.code == FAILURE_MEMORY || strstr(failure.message, "needs a locale");
        if (failure_is_set(&failure) ? !lacks_memory : !is_same)
            fail_msg("%s: allocation %d failed: %d, %s", suffix, (int)fail_at, (int)failure.code, failure.message);
        free(bytes);
    }
    free(expected);
    unlink(path);
}

TEST(test_writing_archives, begin, end) {
    static const char *const suffixes[] = {".tar.gz", ".tar.zst", ".tar.xz", ".zip"}, *const names[] = {
                                                                                          "member.json",
                                                                                          "n\xc3\xa4me.json"};
    struct failure failure = {0};
    struct column members;
    column_init(&members, sizeof *names, &failure);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(input_path, sizeof input_path, "%s/%s", folder.path, names[i]);
        assert_true(file_write(input_path, folded) && column_add(&members, &names[i]));
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) try_writing(suffixes[i], &members);
    column_fini(&members);
}

/* ---- Before and after a conversion. ---- */

TEST(test_report, begin, end) {
    static const struct gecko_convert_options options = {
        .struct_bytes = sizeof options, .input_path = "in", .output_path = "out"};
    static const struct gecko_convert_result result = {
        .struct_bytes = sizeof result, .input_format = "collapsed", .wrapping = ""};
    unsigned failed_count = 0;
    do {
        int64_t live_blocks = heap.live_blocks;
        start_failing(failed_count + 1);
        char *report = gecko_convert_report(&options, &result, NULL);
        heap.is_counting = false;
        assert_int_equal(report == NULL, *heap.has_failed);
        failed_count += *heap.has_failed;
        free(report);
        assert_int_equal(live_blocks, heap.live_blocks);
    } while (*heap.has_failed);
    assert_true(failed_count >= 2);
}

TEST(test_default_output, begin, end) {
    char *const arguments[] = {(char *)(uintptr_t) "app.txt"};
    struct failure failure = {0};
    struct options options;
    start_failing(1);
    command_read_options(&command_convert, &options, 1, arguments, &failure);
    heap.is_counting = false;
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_null(options.default_output_path);
    options_fini(&options);
}

TEST(test_debug_dirs, begin, end) {
    char *const arguments[] = {(char *)(uintptr_t) "--debug-dir=a", (char *)(uintptr_t) "-o-",
                               (char *)(uintptr_t) "--debug-dir=b", (char *)(uintptr_t) "in"};
    for (uint64_t fail_at = 1; fail_at <= 2; fail_at++) {
        int64_t live_blocks = heap.live_blocks;
        struct failure failure = {0};
        struct options options;
        start_failing(fail_at);
        command_read_options(&command_convert, &options, 4, arguments, &failure);
        heap.is_counting = false;
        assert_int_equal(failure.code, FAILURE_MEMORY);
        assert_int_equal(options.convert.debug_dir_count, fail_at - 1);
        options_fini(&options);
        assert_int_equal(live_blocks, heap.live_blocks);
    }
}

/* ---- Commands. ---- */

static struct temp_folder outputs;

/* The standard streams of the test, while they are redirected. */
struct kept_streams {
    int output;
    int errors;
};

/* Redirects standard output to a file, and discards standard error. */
static struct kept_streams redirect_streams(void) {
    struct kept_streams kept = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    int output = open(temp_folder_file(&outputs, "stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int errors = open("/dev/null", O_WRONLY);
    fflush(stdout);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    close(output);
    close(errors);
    return kept;
}

static void restore_streams(struct kept_streams kept) {
    dup2(kept.output, STDOUT_FILENO);
    dup2(kept.errors, STDERR_FILENO);
    close(kept.output);
    close(kept.errors);
}

/* Runs a command with redirected streams. Returns the exit code. */
static int run_command(char *const *arguments, int argument_count, uint64_t fail_at, bool fails_on) {
    struct kept_streams kept = redirect_streams();
    start_failing(fail_at);
    heap.fails_on = fails_on;
    int exit_code = command_run(argument_count, arguments);
    heap.is_counting = false;
    restore_streams(kept);
    return exit_code;
}

/* Either memory ran out and the exit code is that of it, or the output is complete. */
static void try_command(char *const *arguments, int argument_count, bool fails_on) {
    assert_int_equal(run_command(arguments, argument_count, 0, false), EXIT_SUCCESS);
    size_t expected_bytes, bytes_count;
    char *expected = file_read(temp_folder_file(&outputs, "stdout"), &expected_bytes);
    assert_non_null(expected);
    uint64_t fail_at = 1;
    do {
        int64_t live_blocks = heap.live_blocks, live_bytes = heap.live_bytes;
        int exit_code = run_command(arguments, argument_count, fail_at, fails_on);
        char *output = file_read(temp_folder_file(&outputs, "stdout"), &bytes_count);
        assert_non_null(output);
        if (exit_code != EXIT_SUCCESS && exit_code != FAILURE_MEMORY)
            fail_msg("%s: allocation %d failed: exit %d", arguments[0], (int)fail_at, exit_code);
        if (exit_code == EXIT_SUCCESS) assert_string_equal(output, expected);
        if (!*heap.has_failed) assert_int_equal(exit_code, EXIT_SUCCESS);
        free(output);
        if (live_blocks != heap.live_blocks || live_bytes != heap.live_bytes)
            fail_msg("%s: allocation %d failed: %d blocks, %d bytes are left", arguments[0], (int)fail_at,
                     (int)(heap.live_blocks - live_blocks), (int)(heap.live_bytes - live_bytes));
        fail_at++;
    } while (*heap.has_failed);
    assert_true(fail_at > ALLOCATIONS_MIN);
    free(expected);
}

TEST(test_commands, begin, end) {
    static const struct {
        const char *command;
        const char *option;
        const char *file;
    } cases[] = {
        {"check", "--", "processed.json.gz"}, {"check", "--json", "gecko.json"},
        {"info", "--", "trace.txt"},          {"info", "--json", "trace.txt"},
        {"info", "--", "gecko.json"},         {"info", "--json", "processed.json.gz"},
    };
    static const struct text trace = TEXT(
        "a 1/1 1.0: 1 cycles:\n\t10 leaf (/l/a.so)\n\t20 main (/l/a)\n\na 1/2 1.1: 2 cycles:\n\t20 main (/l/a)\n\n");
    assert_true(temp_folder_init(&outputs));
    assert_true(file_write(temp_folder_file(&folder, "trace.txt"), trace));
    static const char *const formats[] = {"processed", "gecko"}, *const names[] = {"processed.json.gz", "gecko.json"};
    for (size_t i = 0; i < 2; i++) {
        struct gecko_convert_options options = {.struct_bytes = sizeof options,
                                                .input_path = temp_folder_file(&folder, "trace.txt"),
                                                .output_path = temp_folder_file(&folder, names[i]),
                                                .format = formats[i]};
        struct gecko_convert_result result = {.struct_bytes = sizeof result};
        assert_int_equal(gecko_convert(&options, &result), GECKO_CONVERT_GOOD);
        gecko_convert_result_fini(&result);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s", temp_folder_file(&folder, cases[i].file));
        char *const arguments[] = {(char *)(uintptr_t)cases[i].command, (char *)(uintptr_t)cases[i].option, path};
        try_command(arguments, 3, false);
        try_command(arguments, 3, true);
    }
    temp_folder_fini(&outputs);
}

/* ---- Batches. ---- */

/* How a batch ended that ran in a process of its own: libarchive may exit if memory runs out. */
struct batch_end {
    int exit_code;
    bool has_failed; /* an allocation */
};

enum { ALL_ALLOCATED = 64 }; /* added to the exit code when no allocation failed */

/* With one worker, that worker and the thread that waits for it never allocate at the same time. */
static void run_batch(const char *input, const char *archive, uint64_t fail_at, bool fails_on) {
    struct options options = {
        .inputs = {&input, 1}, .output_archive = archive, .convert.job_count = 1, .is_quiet = true};
    struct progress_tty bar;
    progress_tty_init(&bar, -1, false, 0);
    redirect_streams();
    exit_guard_begin();
    start_failing(fail_at);
    heap.fails_on = fails_on;
    int exit_code = batch_run(&options, &bar);
    heap.is_counting = false;
    _exit(*heap.has_failed ? exit_code : exit_code + ALL_ALLOCATED);
}

static struct batch_end try_batch(const char *input, const char *archive, uint64_t fail_at, bool fails_on) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) run_batch(input, archive, fail_at, fails_on);
    int exit_code = wait_for_child(pid);
    bool has_failed = exit_code < ALL_ALLOCATED || exit_code >= 2 * ALL_ALLOCATED;
    return (struct batch_end){has_failed ? exit_code : exit_code - ALL_ALLOCATED, has_failed};
}

/* Until a batch is done, its temporary files are in a folder beside the archive. If memory runs out, the folder must be
 * removed, and removing it must not allocate. */
static void try_batches(const char *input, bool fails_on) {
    char archive[PATH_MAX];
    snprintf(archive, sizeof archive, "%s", temp_folder_file(&folder, "profiles.tar"));
    uint64_t fail_at = 1;
    struct batch_end end;
    do {
        end = try_batch(input, archive, fail_at, fails_on);
        bool is_expected =
            end.exit_code == EXIT_SUCCESS || end.exit_code == FAILURE_INPUT || end.exit_code == FAILURE_MEMORY;
        if (!is_expected || (!end.has_failed && end.exit_code != EXIT_SUCCESS))
            fail_msg("allocation %d failed: exit %d", (int)fail_at, end.exit_code);
        bool has_archive = unlink(archive) == 0;
        if (end.exit_code == EXIT_SUCCESS) assert_true(has_archive);
        if (temp_folder_count(&folder) != 1) fail_msg("allocation %d failed: a temporary folder stays", (int)fail_at);
        fail_at++;
    } while (end.has_failed);
    assert_true(fail_at > ALLOCATIONS_MIN);
}

TEST(test_batches, begin, end) {
    char input[PATH_MAX];
    snprintf(input, sizeof input, "%s", temp_folder_file(&folder, "trace.txt"));
    assert_true(file_write(input, folded));
    assert_true(temp_folder_init(&outputs));
    try_batches(input, false);
    try_batches(input, true);
    temp_folder_fini(&outputs);
}

/* A process that generates code and reports it. */
static void make_generated(struct trace_builder *trace) {
    trace_builder_init(trace);
    uint64_t start_ns = trace_of_this_boot(trace);
    const char *path = temp_folder_file(&jit_folder, "jit-10.dump");
    struct dump dump;
    dump_header(&dump, 10, 0);
    dump_load(&dump, start_ns, 0x1000, 0x100, "JS:*fn /app/file.js:10:3");
    dump_load(&dump, start_ns, 0x3000, 0x100, "stub");
    dump_move(&dump, start_ns, 0x1000, 0x2000, 0x100);
    assert_true(file_write(path, (struct text){(const char *)dump.bytes, dump.count}));
    trace_definitions_chunk(trace);
    uint64_t library = define_library(trace, path, "");
    put_mapping(trace, 10, start_ns, 0x900000, 0x1000, 0, library);
    uint64_t mapping = trace_definition(trace, BUILD_MAPPING);
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 10, start_ns, "app");
    add_mappings(trace, mapping);
    add_sampled_thread(trace, 2, 10, 0, "main");
    put_thread_sample(trace, 2000, 2, 0, 0);
    put_leb(trace, 3);
    put_address(trace, BUILD_FRAME_RETURNS, 0x1001);
    put_address(trace, BUILD_FRAME_RETURNS, 0x1000);
    put_address(trace, BUILD_FRAME_EXACT, 0x1000);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    trace_seal(trace, 4000000, 2000000);
    generated = trace_text(trace);
}

/* A sample in many libraries, whose names need more than one block of memory. */
static void make_named_libraries(struct trace_builder *trace) {
    enum { LIBRARY_COUNT = 72, LIBRARIES_PER_CHUNK = 3, NAME_BYTES = 1000, MAPPING_BYTES = 0x1000 };
    char path[NAME_BYTES + 1];
    uint64_t mapping = 0;
    trace_builder_init(trace);
    for (int i = 0; i < LIBRARY_COUNT; i++) {
        if (i % LIBRARIES_PER_CHUNK == 0) trace_definitions_chunk(trace);
        memset(path, 'l', NAME_BYTES);
        snprintf(path + NAME_BYTES - 8, 9, "%08d", i);
        uint64_t library = define_library(trace, path, "");
        mapping = define_mapping(trace, (uint64_t)(i + 1) * MAPPING_BYTES, MAPPING_BYTES, 0, library);
    }
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 10, BUILD_START_NS, "app");
    add_mappings(trace, mapping);
    add_sampled_thread(trace, 2, 10, 0, "main");
    put_thread_sample(trace, 2000, 2, 0, 0);
    put_leb(trace, LIBRARY_COUNT);
    for (int i = 0; i < LIBRARY_COUNT; i++) put_address(trace, BUILD_FRAME_EXACT, MAPPING_BYTES);
    trace_block(trace, BUILD_THREAD_SAMPLE);
    trace_seal(trace, 4000000, 2000000);
    named_libraries = trace_text(trace);
}

#define CASE(NAME, TRACE, INPUT, OUTPUT, FORMAT, ...) \
    { .name = NAME, .trace = &(TRACE), .input_name = INPUT, .output_name = OUTPUT, .format = FORMAT, __VA_ARGS__ }
static struct conversion_case cases[] = {
    CASE("perf_script_to_processed", perf_text, "in", "out.json", "processed", .counts_periods = true),
    CASE("perf_script_to_gecko", perf_text, "in", "out.json", "gecko"),
    CASE("perf_script_to_gzip", perf_text, "in", "out.json.gz", "processed"),
    CASE("perf_script_in_gzip", perf_text, "in.gz", "out.json", "processed"),
    CASE("collapsed_to_processed", folded, "in", "out.json", "processed"),
    CASE("collapsed_threads_to_gecko", folded, "in", "out.json", "gecko", .has_threads = true),
    CASE("collapsed_to_gzip", folded, "in", "out.json.gz", "processed"),
    CASE("collapsed_in_gzip", folded, "in.gz", "out.json", "processed"),
    CASE("recorded_to_processed", recorded, "in", "out.json", "processed"),
    CASE("recorded_to_gecko", recorded, "in", "out.json", "gecko"),
    CASE("sampler_to_processed", sampled, "in", "out.json", "processed"),
    CASE("sampler_to_gecko", sampled, "in", "out.json", "gecko"),
    CASE("many_named_libraries", named_libraries, "in", "out.json", "processed"),
    CASE("generated_code", generated, "in", "out.json", "processed"),
    CASE("recorded_in_gzip", recorded, "in.gz", "out.json", "processed"),
    CASE("symbols_to_processed", symbols, "in", "out.json", "processed", .symbol_jobs = "--jobs=1"),
    CASE("symbols_by_two_threads", symbols, "in", "out.json", "processed", .symbol_jobs = "--jobs=2"),
    CASE("two_inputs", recorded, "in", "out.json", "processed", .more = &perf_text),
    CASE("two_traces", recorded, "in", "out.json", "gecko", .more = &sampled),
    CASE("difference_to_processed", difference, "in", "out.json", "processed", .has_threads = true),
};

enum { CASE_COUNT = sizeof cases / sizeof *cases };

int main(void) {
    for (size_t i = 0; i < CASE_COUNT; i++)
        unit_tests[unit_test_count++] = (struct CMUnitTest){cases[i].name, test_case, begin, end, &cases[i]};
    heap.has_failed = mmap(NULL, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (heap.has_failed == MAP_FAILED) return 1;
    /* Large blocks are always mapped, so they are zeros already when xz asks for tens of megabytes of zeros. */
    if (!mallopt(M_MMAP_THRESHOLD, 1024 * 1024)) return 1;
    struct trace_builder trace, sampler_trace, named_trace, generated_trace;
    make_recorded(&trace);
    trace_builder_init(&sampler_trace);
    build_sampler_trace(&sampler_trace);
    sampled = trace_text(&sampler_trace);
    make_named_libraries(&named_trace);
    if (!temp_folder_init(&jit_folder) || !temp_folder_init(&more_folder)) return 1;
    make_generated(&generated_trace);
    if (!make_symbols()) return 1;
    int failed_count = unit_tests_run(NULL, NULL);
    trace_builder_fini(&trace);
    temp_folder_fini(&program_folder);
    trace_builder_fini(&sampler_trace);
    trace_builder_fini(&named_trace);
    trace_builder_fini(&generated_trace);
    temp_folder_fini(&jit_folder);
    temp_folder_fini(&more_folder);
    return failed_count;
}
