/* Tests inputs from memory, files, pipes, every compression and every kind of archive, also truncated and damaged
 * ones. */
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readers/input/input.h"
#include "readers/input/input_wrapper.h"
#include "tests/support/unit_test.h"

enum { CONTENT_BYTES = 300 * 1000, PACKED_BYTES_MAX = 4 * 1024 * 1024 };

/* ---- What the tests are made of. ---- */

static char folder[] = "/tmp/test_input_XXXXXX";
static char content_bytes[CONTENT_BYTES];
static char packed_bytes[PACKED_BYTES_MAX];
static char repacked_bytes[PACKED_BYTES_MAX];
static const struct text content = {content_bytes, CONTENT_BYTES};

static uint32_t random_state = 1;

static uint32_t next_random(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static int set_up(void **state) {
    static const char *const words[] = {"main;", "run_loop;", "parse_header;", "std::sort<int>;", "[unknown]", " 12\n"};
    size_t used_bytes = 0;
    while (used_bytes < CONTENT_BYTES) {
        const char *word = words[next_random() % 6];
        for (; *word && used_bytes < CONTENT_BYTES; word++) content_bytes[used_bytes++] = *word;
        if (used_bytes < CONTENT_BYTES) content_bytes[used_bytes++] = (char)('a' + next_random() % 26);
    }
    return mkdtemp(folder) ? 0 : -1;
}

static const char *path_of(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *write_file(struct text bytes) {
    const char *path = path_of("trace");
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes.bytes, bytes.bytes_count), bytes.bytes_count);
    close(descriptor);
    return path;
}

struct member {
    const char *name; /* a name that ends in a slash is a folder's */
    struct text bytes;
};

/* Writes an archive to `out`. Format and filter are libarchive's names; without a format it writes a compressed
 * stream. */
static struct text pack_into(char *out, const char *format, const char *filter, const char *options,
                             const struct member *members, size_t member_count) {
    struct archive *writer = archive_write_new();
    assert_non_null(writer);
    assert_int_equal(archive_write_set_format_by_name(writer, format ? format : "raw"), ARCHIVE_OK);
    if (filter) assert_int_equal(archive_write_add_filter_by_name(writer, filter), ARCHIVE_OK);
    if (options) assert_int_equal(archive_write_set_options(writer, options), ARCHIVE_OK);
    archive_write_set_bytes_per_block(writer, 0);
    size_t used_bytes = 0;
    assert_int_equal(archive_write_open_memory(writer, out, PACKED_BYTES_MAX, &used_bytes), ARCHIVE_OK);
    for (size_t i = 0; i < member_count; i++) {
        const struct member *member = &members[i];
        bool is_folder = text_ends_with(text_of(member->name), TEXT("/"));
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, member->name);
        archive_entry_set_filetype(entry, is_folder ? AE_IFDIR : AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_size(entry, (la_int64_t)member->bytes.bytes_count);
        assert_int_equal(archive_write_header(writer, entry), ARCHIVE_OK);
        if (member->bytes.bytes_count)
            assert_int_equal(archive_write_data(writer, member->bytes.bytes, member->bytes.bytes_count),
                             member->bytes.bytes_count);
        archive_entry_free(entry);
    }
    assert_int_equal(archive_write_close(writer), ARCHIVE_OK);
    archive_write_free(writer);
    return (struct text){out, used_bytes};
}

static struct text pack(const char *format, const char *filter, const struct member *members, size_t member_count) {
    return pack_into(packed_bytes, format, filter, NULL, members, member_count);
}

/* What pack_content has packed. Encoders are slow, and most tests pack the content in each way. */
enum { KEPT_MAX = 64 };

static struct {
    const char *format;
    const char *filter;
    char *bytes;
    size_t bytes_count;
} kept[KEPT_MAX];

static bool is_same_name(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static struct text pack_content(const char *format, const char *filter) {
    size_t i = 0;
    while (kept[i].bytes && !(is_same_name(kept[i].format, format) && is_same_name(kept[i].filter, filter)))
        assert_true(++i < KEPT_MAX);
    if (!kept[i].bytes) {
        struct text packed = pack(format, filter, &(struct member){"app.txt", content}, 1);
        kept[i].format = format;
        kept[i].filter = filter;
        kept[i].bytes_count = packed.bytes_count;
        kept[i].bytes = malloc(packed.bytes_count);
        assert_non_null(kept[i].bytes);
        memcpy(kept[i].bytes, packed.bytes, packed.bytes_count);
    }
    memcpy(packed_bytes, kept[i].bytes, kept[i].bytes_count);
    return (struct text){packed_bytes, kept[i].bytes_count};
}

static int tear_down(void **state) {
    for (size_t i = 0; i < KEPT_MAX; i++) free(kept[i].bytes);
    unlink(path_of("trace"));
    unlink(path_of("fifo"));
    return rmdir(folder);
}

/* Reads everything with peeks of every size and checks that the bytes are as expected. Closes the input. */
static void assert_bytes(struct input *input, struct failure *failure, struct text expected) {
    if (!input) fail_msg("not opened: %s", failure->message);
    uint64_t offset = 0;
    for (;;) {
        size_t want_bytes = next_random() % 8 ? next_random() % 100 : next_random() % 100000;
        struct text window = input_peek(input, want_bytes);
        if (failure_is_set(failure)) fail_msg("offset %zu: %s", (size_t)offset, failure->message);
        if (!window.bytes_count) break;
        struct text left = text_from(expected, (size_t)offset);
        assert_true(window.bytes_count <= left.bytes_count);
        assert_true(window.bytes_count >= (want_bytes < left.bytes_count ? want_bytes : left.bytes_count));
        assert_memory_equal(window.bytes, left.bytes, window.bytes_count);
        size_t consumed_bytes = next_random() % 4 ? next_random() % (window.bytes_count + 1) : window.bytes_count;
        input_consume(input, consumed_bytes);
        offset += consumed_bytes;
        assert_int_equal(input_offset(input), offset);
    }
    assert_int_equal(offset, expected.bytes_count);
    input_close(input);
}

static void assert_file_bytes(struct text packed, struct text expected) {
    struct failure failure = {0};
    struct input *input = input_open(write_file(packed), &failure);
    assert_bytes(input, &failure, expected);
}

/* Opens the file and reads to the end. Returns whether no failure occurred. Sets *is_same to whether the bytes, as far
 * as they came, are as expected. */
static bool reads_without_failure(const char *path, struct failure *failure, struct text expected, bool *is_same) {
    *failure = (struct failure){0};
    struct input *input = input_open(path, failure);
    struct text left = expected;
    *is_same = true;
    for (struct text window; input && (window = input_peek(input, 1)).bytes_count;) {
        if (!text_starts_with(left, window)) *is_same = false;
        left = text_from(left, window.bytes_count < left.bytes_count ? window.bytes_count : left.bytes_count);
        input_consume(input, window.bytes_count);
    }
    if (left.bytes_count) *is_same = false;
    input_close(input);
    return !failure_is_set(failure);
}

static void assert_failure(const char *path, enum gecko_convert_status code, const char *part) {
    struct failure failure;
    bool is_same;
    assert_false(reads_without_failure(path, &failure, content, &is_same));
    assert_int_equal(failure.code, code);
    if (!strstr(failure.message, part)) fail_msg("\"%s\" lacks \"%s\"", failure.message, part);
}

static void assert_packed_failure(struct text packed, const char *part) {
    const char *path = write_file(packed);
    assert_failure(path, FAILURE_INPUT, part);
    assert_failure(path, FAILURE_INPUT, path);
}

/* ---- A pipe with a writing process. ---- */

struct pouring {
    struct text bytes;
    size_t piece_bytes;
    int descriptor;
};

static void *pour(void *argument) {
    struct pouring *pouring = argument;
    for (size_t done = 0; done < pouring->bytes.bytes_count;) {
        struct text piece = text_slice(pouring->bytes, done, done + pouring->piece_bytes);
        ssize_t written = write(pouring->descriptor, piece.bytes, piece.bytes_count);
        if (written < 0) break;
        done += (size_t)written;
    }
    close(pouring->descriptor);
    return NULL;
}

struct piped {
    pthread_t thread;
    struct pouring pouring;
    int saved_stdin;
};

static void pipe_begin(struct piped *piped, struct text bytes, size_t piece_bytes) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    piped->saved_stdin = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    piped->pouring = (struct pouring){bytes, piece_bytes, ends[1]};
    assert_int_equal(pthread_create(&piped->thread, NULL, pour, &piped->pouring), 0);
}

static void pipe_end(struct piped *piped) {
    char rest[4096];
    while (read(STDIN_FILENO, rest, sizeof rest) > 0) continue;
    pthread_join(piped->thread, NULL);
    dup2(piped->saved_stdin, STDIN_FILENO);
    close(piped->saved_stdin);
}

static void assert_piped_bytes(struct text bytes, size_t piece_bytes, struct text expected) {
    struct piped piped;
    pipe_begin(&piped, bytes, piece_bytes);
    struct failure failure = {0};
    assert_bytes(input_open("-", &failure), &failure, expected);
    pipe_end(&piped);
}

/* ---- Plain bytes. ---- */

TEST(test_memory_windows) {
    struct text bytes = text_slice(content, 0, 500);
    for (size_t window_bytes = 1; window_bytes <= 64; window_bytes++) {
        struct failure failure = {0};
        struct input *input = input_from_memory(bytes, window_bytes, &failure);
        assert_int_equal(input_peek(input, 1).bytes_count, window_bytes);
        assert_int_equal(input_peek(input, window_bytes + 3).bytes_count, window_bytes + 3);
        assert_int_equal(input_peek(input, 1000).bytes_count, 500);
        assert_bytes(input, &failure, bytes);
    }
}

TEST(test_memory_whole_and_empty) {
    struct failure failure = {0};
    struct input *input = input_from_memory(content, 0, &failure);
    assert_int_equal(input_peek(input, 0).bytes_count, CONTENT_BYTES);
    assert_int_equal(input_wrapping(input).bytes_count, 0);
    assert_bytes(input, &failure, content);
    assert_bytes(input_from_memory((struct text){NULL, 0}, 0, &failure), &failure, TEXT(""));
}

TEST(test_consume_no_more_than_peeked) {
    struct failure failure = {0};
    struct input *input = input_from_memory(content, 10, &failure);
    input_consume(input, 5);
    assert_int_equal(input_offset(input), 0);
    input_peek(input, 1);
    input_consume(input, 6);
    input_consume(input, 100);
    assert_int_equal(input_offset(input), 10);
    assert_memory_equal(input_peek(input, 1).bytes, content.bytes + 10, 10);
    input_close(input);
}

TEST(test_nothing_after_a_failure) {
    struct failure failure = {0};
    struct input *input = input_from_memory(content, 10, &failure);
    failure_set(&failure, FAILURE_STRICT, "elsewhere");
    assert_int_equal(input_peek(input, 1).bytes_count, 0);
    input_close(input);
}

TEST(test_files) {
    static const size_t sizes[] = {0, 1, 2, 511, 512, 513, 4095, 4096, 4097, CONTENT_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct text bytes = text_slice(content, 0, sizes[i]);
        assert_file_bytes(bytes, bytes);
    }
}

TEST(test_progress_of_a_file) {
    struct failure failure = {0};
    struct input *input = input_open(write_file(content), &failure);
    assert_non_null(input);
    uint64_t done_bytes, total_bytes;
    input_peek(input, 1);
    input_consume(input, 1000);
    input_source_progress(input, &done_bytes, &total_bytes);
    assert_int_equal(done_bytes, 1000);
    assert_int_equal(total_bytes, CONTENT_BYTES);
    input_close(input);
}

static size_t resident_bytes(void) {
    char line[128] = "";
    int descriptor = open("/proc/self/statm", O_RDONLY);
    assert_true(read(descriptor, line, sizeof line - 1) > 0);
    close(descriptor);
    return strtoul(strchr(line, ' '), NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Opens a file of zeros of that size, whose pages another thread may map. */
static struct input *open_zeros(size_t file_bytes, bool makes_ahead, struct failure *failure) {
    const char *path = write_file(TEXT(""));
    assert_int_equal(truncate(path, (off_t)file_bytes), 0);
    struct input *input = input_open(path, failure);
    assert_non_null(input);
    if (makes_ahead) input_make_ahead(input);
    return input;
}

static void assert_costs_little_memory(bool makes_ahead, size_t cost_bytes_max) {
    enum { MEGA = 1024 * 1024, FILE_BYTES = 160 * MEGA };
    struct failure failure = {0};
    size_t before_bytes = resident_bytes();
    struct input *input = open_zeros(FILE_BYTES, makes_ahead, &failure);
    uint64_t sum = 0;
    for (struct text window; (window = input_peek(input, 3 * MEGA)).bytes_count;) {
        for (size_t i = 0; i < window.bytes_count; i += 1024) sum += (unsigned char)window.bytes[i];
        input_consume(input, window.bytes_count);
        assert_true(resident_bytes() < before_bytes + cost_bytes_max);
    }
    assert_int_equal(sum, 0);
    assert_int_equal(input_offset(input), FILE_BYTES);
    input_close(input);
}

TEST(test_big_file_costs_little_memory) {
    enum { MEGA = 1024 * 1024 };
    assert_costs_little_memory(false, 20 * MEGA);
    assert_costs_little_memory(true, 80 * MEGA);
}

/* The thread follows a reader that goes to the end and back, and ends with the input at any place. */
TEST(test_pages_are_made_where_the_file_is_read) {
    enum { MEGA = 1024 * 1024, FILE_BYTES = 64 * MEGA };
    static const uint64_t places[] = {FILE_BYTES - 1, 0, 40 * MEGA, 20 * MEGA, FILE_BYTES};
    struct failure failure = {0};
    struct input *input = open_zeros(FILE_BYTES, true, &failure);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        input_seek(input, places[i]);
        for (uint64_t end = places[i] + 4 * MEGA; input_offset(input) < end;) {
            struct text window = input_peek(input, MEGA);
            if (!window.bytes_count) break;
            assert_int_equal(window.bytes[0], 0);
            input_consume(input, MEGA / 2);
        }
        uint64_t read_end = places[i] + 4 * MEGA;
        assert_int_equal(input_offset(input), read_end < FILE_BYTES ? read_end : FILE_BYTES);
    }
    input_close(input);
    assert_false(failure_is_set(&failure));
}

TEST(test_pipes) {
    static const size_t piece_sizes[] = {1, 2, 7, 40, 511, 4096, 65536};
    for (size_t i = 0; i < sizeof piece_sizes / sizeof *piece_sizes; i++) {
        struct text bytes = text_slice(content, 0, piece_sizes[i] < 40 ? 5000 : CONTENT_BYTES);
        assert_piped_bytes(bytes, piece_sizes[i], bytes);
    }
    assert_piped_bytes(TEXT(""), 1, TEXT(""));
}

TEST(test_pipe_has_no_total) {
    struct piped piped;
    pipe_begin(&piped, content, 4096);
    struct failure failure = {0};
    struct input *input = input_open("-", &failure);
    assert_non_null(input);
    assert_string_equal(input_name(input), "standard input");
    uint64_t done_bytes, total_bytes;
    input_peek(input, 100);
    input_consume(input, 100);
    input_source_progress(input, &done_bytes, &total_bytes);
    assert_int_equal(done_bytes, 100);
    assert_int_equal(total_bytes, 0);
    input_close(input);
    pipe_end(&piped);
}

/* What a watched input has reported. */
struct told {
    unsigned count;
    struct gecko_convert_progress last;
};

static bool note_progress(void *context, const struct gecko_convert_progress *progress) {
    struct told *told = context;
    told->count++;
    told->last = *progress;
    return true;
}

/* Reads the whole file and returns what the input reported. */
static struct told watch_to_the_end(const char *path) {
    struct told told = {0};
    struct progress_root root = {.callback = note_progress, .context = &told};
    struct failure failure = {0};
    struct input *input = input_open(path, &failure);
    assert_non_null(input);
    input_watch(input, progress_part(progress_whole(&root), 0, 0.5));
    while (input_peek(input, 1).bytes_count) input_consume(input, SIZE_MAX);
    input_close(input);
    return told;
}

TEST(test_watched_file) {
    struct text packed = pack_content(NULL, "gzip");
    struct text files[] = {content, packed};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct told told = watch_to_the_end(write_file(files[i]));
        assert_int_equal(told.last.permille, 500);
        assert_int_equal(told.last.total_bytes, files[i].bytes_count);
    }
}

TEST(test_watched_pipe) {
    struct text packed = pack_content(NULL, "gzip");
    struct text files[] = {content, packed};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct piped piped;
        pipe_begin(&piped, files[i], 4096);
        struct told told = watch_to_the_end("-");
        pipe_end(&piped);
        assert_int_equal(told.last.permille, 0);
        assert_true(told.count > 0);
        assert_int_equal(told.last.read_bytes, files[i].bytes_count);
        assert_int_equal(told.last.total_bytes, 0);
    }
}

TEST(test_pipe_that_does_not_block) {
    struct piped piped;
    pipe_begin(&piped, content, 1000);
    assert_int_equal(fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK), 0);
    struct failure failure = {0};
    assert_bytes(input_open("-", &failure), &failure, content);
    pipe_end(&piped);
}

TEST(test_wide_window_of_a_pipe) {
    struct piped piped;
    pipe_begin(&piped, content, 1000);
    struct failure failure = {0};
    struct input *input = input_open("-", &failure);
    assert_int_equal(input_peek(input, CONTENT_BYTES * 2).bytes_count, CONTENT_BYTES);
    assert_bytes(input, &failure, content);
    pipe_end(&piped);
}

static void *pour_into_fifo(void *argument) {
    struct pouring pouring = {content, 100, open(argument, O_WRONLY)};
    return pour(&pouring);
}

TEST(test_fifo) {
    char *path = strdup(path_of("fifo"));
    assert_int_equal(mkfifo(path, 0600), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, pour_into_fifo, path), 0);
    struct failure failure = {0};
    assert_bytes(input_open(path, &failure), &failure, content);
    pthread_join(thread, NULL);
    free(path);
}

TEST(test_file_as_standard_input_from_its_place) {
    int descriptor = open(write_file(content), O_RDONLY);
    int saved_stdin = dup(STDIN_FILENO);
    static const off_t places[] = {0, 1, 5000, CONTENT_BYTES, CONTENT_BYTES + 100};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        lseek(descriptor, places[i], SEEK_SET);
        dup2(descriptor, STDIN_FILENO);
        struct failure failure = {0};
        size_t place = places[i] < CONTENT_BYTES ? (size_t)places[i] : CONTENT_BYTES;
        assert_bytes(input_open("-", &failure), &failure, text_from(content, place));
    }
    dup2(saved_stdin, STDIN_FILENO);
    close(saved_stdin);
    close(descriptor);
}

TEST(test_file_of_the_kernel_without_size) {
    char expected[4096];
    int descriptor = open("/proc/version", O_RDONLY);
    ssize_t expected_bytes = read(descriptor, expected, sizeof expected);
    assert_true(expected_bytes > 0);
    close(descriptor);
    struct failure failure = {0};
    assert_bytes(input_open("/proc/version", &failure), &failure, (struct text){expected, (size_t)expected_bytes});
}

TEST(test_what_cannot_be_opened) {
    assert_failure(path_of("missing"), FAILURE_IO, "missing: cannot be opened: No such file or directory");
    assert_failure(folder, FAILURE_IO, "is a folder; name a file in it");
    assert_failure("/proc/self/mem", FAILURE_IO, "/proc/self/mem: cannot be read: Input/output error");
}

/* ---- Compressed. ---- */

static const char *const filters[] = {"gzip", "xz", "zstd", "bzip2", "lz4"};
enum { FILTER_COUNT = sizeof filters / sizeof *filters };

TEST(test_each_compression) {
    for (size_t i = 0; i < FILTER_COUNT; i++) {
        struct text packed = pack_content(NULL, filters[i]);
        assert_true(packed.bytes_count < CONTENT_BYTES);
        assert_true(input_wrapper_of(packed) != NULL);
        assert_file_bytes(packed, content);
        assert_piped_bytes(packed, 1000, content);
        assert_piped_bytes(packed, 65536, content);
        struct failure failure = {0};
        struct input *input = input_open(write_file(packed), &failure);
        assert_non_null(input);
        assert_true(text_equal(input_wrapping(input), text_of(filters[i])));
        input_close(input);
    }
}

TEST(test_nothing_compressed) {
    for (size_t i = 0; i < FILTER_COUNT; i++) {
        /* libarchive crashes when it writes an empty file in this format. */
        if (strcmp(filters[i], "lz4") == 0) continue;
        assert_file_bytes(pack(NULL, filters[i], &(struct member){"empty", {"", 0}}, 1), TEXT(""));
    }
    assert_file_bytes(TEXT("\x04\x22\x4d\x18\x64\x40\xa7\0\0\0\0\x05\x5d\xcc\x02"), TEXT(""));
}

TEST(test_progress_of_a_compressed_file) {
    struct text packed = pack_content(NULL, "gzip");
    struct failure failure = {0};
    struct input *input = input_open(write_file(packed), &failure);
    while (input_peek(input, 1).bytes_count) input_consume(input, SIZE_MAX);
    uint64_t done_bytes, total_bytes;
    input_source_progress(input, &done_bytes, &total_bytes);
    assert_int_equal(input_offset(input), CONTENT_BYTES);
    assert_int_equal(done_bytes, packed.bytes_count);
    assert_int_equal(total_bytes, packed.bytes_count);
    input_close(input);
}

/* Units and surrogate pairs may be cut anywhere by the blocks that are read. */
TEST(test_utf16) {
    static const struct {
        struct text packed, content;
    } cases[] = {
        {TEXT("\xff\xfe"
              "a\0;\0\xef\0\x3d\xd8\0\xde \0"
              "1\0"),
         TEXT("a;\xc3\xaf\xf0\x9f\x98\x80 1")},
        {TEXT("\xfe\xff\0a\0;\0\xef\xd8\x3d\xde\0\0 \0"
              "1"),
         TEXT("a;\xc3\xaf\xf0\x9f\x98\x80 1")},
        /* Without a byte order mark. */
        {TEXT("m\0a\0i\0n\0;\0f\0 \0"
              "1\0\n\0"),
         TEXT("main;f 1\n")},
        {TEXT("\0m\0a\0i\0n\0;\0f\0 \0"
              "1\0\n"),
         TEXT("main;f 1\n")},
        /* Surrogates without a partner. */
        {TEXT("\xff\xfe"
              "a\0\x3d\xd8"
              "b\0\0\xde"
              "c\0\x3d\xd8"),
         TEXT("a\xef\xbf\xbd"
              "b\xef\xbf\xbd"
              "c\xef\xbf\xbd")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t window_bytes = 0; window_bytes < 5; window_bytes++) {
            struct failure failure = {0};
            struct input *input = input_unwrap(input_from_memory(cases[i].packed, window_bytes, &failure));
            assert_non_null(input);
            assert_true(text_equal(input_wrapping(input), TEXT("UTF-16")));
            assert_bytes(input, &failure, cases[i].content);
        }
    }
}

TEST(test_utf16_that_is_cut) {
    struct failure failure = {0};
    assert_null(input_unwrap(input_from_memory(TEXT("\xff\xfe"
                                                    "a\0b"),
                                               0, &failure)));
    assert_string_equal(
        failure.message,
        "memory: reading the UTF-16 data failed after 1 bytes of its content: it ends in the middle of a "
        "character (damaged or cut off?)");
}

/* Lines and escape sequences may be cut anywhere by the blocks that are read. */
TEST(test_log) {
    static const struct {
        const char *text, *content;
    } cases[] = {
        {"a;\x1b[01;31m\x1b[Kb\x1b[m\x1b[K 1\nc \x1b(B2\n\x1b]0;a title\ad 3", "a;b 1\nc 2\nd 3"},
        {"\x1b[1ma 1\n\x1b[cut\n\x1b", "a 1\nut\n"},
        {"a 1\rb 2\rc 3", "a 1\nb 2\nc 3"},
        {"a 1\rb 2\r", "a 1\nb 2\n"},
        {"a 1\r\r\n\r\r\nb 2\r\r\n", "a 1\n\nb 2\n"},
        {"\xef\xbb\xbf"
         "2024-05-01T12:00:00.1234567Z a\n2024-05-01T12:00:00.1234567Z \tb\n2024-05-01T12:00:00Z\nc",
         "a\n\tb\n\nc"},
        {"[2024-05-01T12:00:00.123Z] a\n[2024-05-01T12:00:00.123+02:00] b\n", "a\nb\n"},
        {"2024-05-01 12:00:00,123 a\r\n2024-05-01 12:00:00,123 b\r\n", "a\nb\n"},
        {"12:00:00  a\n12:00:00      b\n", " a\n     b\n"},
        {"2024-05-01T12:00:00.123456Z 00O a\n2024-05-01T12:00:00.123456Z 01E+b\n", "a\nb\n"},
        {"May  1 12:00:00 host app[12]: a\nMay 01 12:00:00 host kernel 12: b\n", "a\nhost kernel 12: b\n"},
        {"app-1  | a\ndb_1   |   b\napp-1  |\n", "a\n  b\n\n"},
        {"     9\ta 1\n    10\tb 2\n", "a 1\nb 2\n"},
        {"     9  a 1\n    10  b 2\n    11\n", "a 1\nb 2\n\n"},
        {"1:a 1\n2:\tb 2\n", "a 1\n\tb 2\n"},
        {"   99 a 1\n  100 b 2\n", "a 1\nb 2\n"},
        {"a\xc2\xa0\xc2\xa0"
         "b\xc3\xa4\xc2\xa7 1\n\xc2",
         "a  b\xc3\xa4\xc2\xa7 1\n\xc2"},
        {"a 1:\n\n\tf\n\n\tg\n\n\n\nb 2:\r\n\r\n\tf\n\n", "a 1:\n\tf\n\tg\n\nb 2:\n\tf\n"},
        {"> a 1\n>> b 2\n>\n> > \tc 3\n", "a 1\nb 2\n\n\tc 3\n"},
        {"2024-05-01T12:00:00.123456+02:00 host app[12]: a\n2024-05-01T12:00:00.123456+02:00 host app[12]:\n", "a\n\n"},
        {"2024-05-01T12:00:00.123456789Z stdout F a\n2024-05-01T12:00:00.123456789Z stderr P b\n", "a\nb\n"},
        {"[pod/app-1/app] a\n[pod/app-2/app]   b\n", "a\n  b\n"},
        {"\x1b_bk;t=1714557600000\aa 1\n\x1b_bk;t=1714557600000\a\tb 2\n", "a 1\n\tb 2\n"},
        {"a&lt;b&gt;&amp; 1\n&quot;&#39;&#x2F;&apos;&nbsp; 2\n&eur;&#1;&#200;&", "a<b>& 1\n\"'/'  2\n&eur;&#1;&#200;&"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t window_bytes = 0; window_bytes < 5; window_bytes++) {
            struct failure failure = {0};
            struct input *input = input_unwrap(input_from_memory(text_of(cases[i].text), window_bytes, &failure));
            assert_non_null(input);
            assert_true(text_equal(input_wrapping(input), TEXT("log")));
            assert_bytes(input, &failure, text_of(cases[i].content));
        }
    }
}

/* The numbers of a pprof profile, such as 27 and 91, are no escape sequence. */
TEST(test_binary_data_is_no_log) {
    static const char profile[] = "\x0a\x04\x08\x02\x10\x01\x12\x08\x0a\x02\x1b[\x12\x02\x03\x04\x12\x08\x0a\x02\x1b[";
    struct failure failure = {0};
    struct input *input = input_unwrap(input_from_memory(text_of(profile), 0, &failure));
    assert_non_null(input);
    assert_int_equal(input_wrapping(input).bytes_count, 0);
    assert_bytes(input, &failure, text_of(profile));
}

/* Lines may be longer than what is judged. */
TEST(test_log_with_long_lines) {
    enum { LINE_BYTES = 20000 };
    static char log[2 * LINE_BYTES], lines[2 * LINE_BYTES];
    static const char time[] = "2024-05-01T12:00:00.123Z ";
    struct failure failure = {0};
    size_t log_bytes = 0, line_bytes = 0;
    for (int i = 0; i < 2; i++) {
        memcpy(log + log_bytes, time, sizeof time - 1);
        log_bytes += sizeof time - 1;
        memset(log + log_bytes, 'a', LINE_BYTES - sizeof time);
        memset(lines + line_bytes, 'a', LINE_BYTES - sizeof time);
        log_bytes += LINE_BYTES - sizeof time;
        line_bytes += LINE_BYTES - sizeof time;
        log[log_bytes++] = lines[line_bytes++] = '\n';
    }
    struct input *input = input_unwrap(input_from_memory((struct text){log, log_bytes}, 0, &failure));
    assert_non_null(input);
    assert_bytes(input, &failure, (struct text){lines, line_bytes});
}

/* What precedes the first lines precedes later ones, too, and nothing else is taken off those that lack it. */
TEST(test_log_with_lines_of_its_own) {
    static const char logged[] = "12:00:00 a 1\n", line[] = "a 1\n";
    static const char others[] = "    7112 f (/lib/x)\n    7: g\n> h\napp-1  | i\n";
    enum { LINE_COUNT = 400 };
    static char log[LINE_COUNT * sizeof logged + sizeof others], lines[sizeof log];
    struct failure failure = {0};
    char *log_end = log, *lines_end = lines;
    for (int i = 0; i < LINE_COUNT; i++) {
        log_end = stpcpy(log_end, logged);
        lines_end = stpcpy(lines_end, line);
    }
    stpcpy(log_end, others);
    stpcpy(lines_end, others);
    struct input *input = input_unwrap(input_from_memory(text_of(log), 0, &failure));
    assert_non_null(input);
    assert_bytes(input, &failure, text_of(lines));
}

/* Text whose lines do not all begin alike keeps its bytes, and so does what has no lines. */
TEST(test_no_log) {
    static const struct text cases[] = {
        TEXT("a 1\r\nb 2\r\n"),
        TEXT("a 1\r"),
        TEXT("12:00:00 a 1\n"),
        TEXT("12:00:00 a 1\nb 2\n"),
        TEXT("12:00:00.5: a\n12:00:00.5: b\n"),
        TEXT("     9\ta 1\n    11\tb 2\n"),
        TEXT("a| 1\nb| 2\n"),
        TEXT("| 1\n| 2\n"),
        TEXT("\x1b[1m\0"),
        TEXT("> a 1\nb 2\n"),
        TEXT("f(int&);&lt; 1\n"),
        TEXT("f&x; 1\n"),
        TEXT("{\"title\":\"a\xc2\xa0\"}\n"),
        TEXT("a 1:\n\nb 2:\n\nc 3:\n\nd 4:\n\ne 5:\n\n"),
        TEXT("a 1:\n\n\tf\n\tg\n\nb 2:\n\n\tf\n\n"),
        TEXT("{\"url\":\"?a=1&lt;\"}\n"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct failure failure = {0};
        struct input *input = input_unwrap(input_from_memory(cases[i], 0, &failure));
        assert_non_null(input);
        assert_int_equal(input_wrapping(input).bytes_count, 0);
        assert_bytes(input, &failure, cases[i]);
    }
}

TEST(test_compressed_twice) {
    struct text once = pack_content(NULL, "gzip");
    struct text twice = pack_into(repacked_bytes, NULL, "xz", NULL, &(struct member){"x", once}, 1);
    struct failure failure = {0};
    struct input *input = input_open(write_file(twice), &failure);
    assert_non_null(input);
    assert_true(text_equal(input_wrapping(input), TEXT("xz > gzip")));
    assert_bytes(input, &failure, content);
}

TEST(test_compressed_too_often) {
    struct text packed = pack_content(NULL, "gzip");
    char *other = repacked_bytes;
    for (int layer_count = 1; layer_count < 8; layer_count++) {
        packed = pack_into(other, NULL, "gzip", NULL, &(struct member){"x", packed}, 1);
        other = other == repacked_bytes ? packed_bytes : repacked_bytes;
    }
    assert_file_bytes(packed, content);
    packed = pack_into(other, NULL, "gzip", NULL, &(struct member){"x", packed}, 1);
    assert_packed_failure(packed, "is compressed more than 8 times over");
}

static struct text append(struct text packed, struct text more) {
    memcpy(repacked_bytes, packed.bytes, packed.bytes_count);
    memcpy(repacked_bytes + packed.bytes_count, more.bytes, more.bytes_count);
    return (struct text){repacked_bytes, packed.bytes_count + more.bytes_count};
}

/* Two compressed parts, one after the other, are read as one content. */
static void assert_two_parts(const char *filter) {
    struct text first = text_slice(content, 0, 1234), rest = text_from(content, 1234);
    struct text packed = append(pack(NULL, filter, &(struct member){"x", first}, 1), TEXT(""));
    struct text second = pack(NULL, filter, &(struct member){"x", rest}, 1);
    memcpy(repacked_bytes + packed.bytes_count, second.bytes, second.bytes_count);
    packed.bytes_count += second.bytes_count;
    assert_file_bytes(packed, content);
    assert_piped_bytes(packed, 3, content);
}

TEST(test_gzip_members) { assert_two_parts("gzip"); }

TEST(test_after_the_last_gzip_member) {
    struct text packed = pack_content(NULL, "gzip");
    assert_file_bytes(append(packed, TEXT("\0\0\0\0\0")), content);
    assert_packed_failure(append(packed, TEXT("more")), "after 300000 bytes of its content: incorrect header check");
    assert_packed_failure(append(packed, TEXT("\0\0more")), "incorrect header check");
    assert_packed_failure(append(packed, TEXT("\x1f")), "it ends in the middle");
}

TEST(test_after_the_last_xz_stream) {
    struct text packed = pack_content(NULL, "xz");
    assert_file_bytes(append(packed, TEXT("\0\0\0\0")), content);
    assert_packed_failure(append(packed, TEXT("more of it as text")), "its bytes make no sense");
    assert_packed_failure(append(packed, TEXT("\0")), "after 300000 bytes of its content: ");
    assert_two_parts("xz");
}

TEST(test_zstd_with_a_skippable_frame_first) {
    struct text packed = pack_content(NULL, "zstd");
    memmove(packed_bytes + 12, packed_bytes, packed.bytes_count);
    memcpy(packed_bytes, "\x50\x2a\x4d\x18\x04\0\0\0abcd", 12);
    assert_file_bytes((struct text){packed_bytes, packed.bytes_count + 12}, content);
}

TEST(test_cut_off_compression) {
    for (size_t i = 0; i < FILTER_COUNT; i++) {
        struct text packed = pack_content(NULL, filters[i]);
        for (size_t sixteenth = 1; sixteenth < 16; sixteenth++) {
            struct failure failure;
            bool is_same;
            const char *path = write_file(text_slice(packed, 0, packed.bytes_count * sixteenth / 16));
            bool is_good = reads_without_failure(path, &failure, content, &is_same);
            if (is_good) fail_msg("%s, cut at %zu/16", filters[i], sixteenth);
            assert_int_equal(failure.code, FAILURE_INPUT);
            assert_non_null(strstr(failure.message, "(damaged or cut off?)"));
            assert_non_null(strstr(failure.message, filters[i]));
        }
    }
}

TEST(test_cut_off_by_a_few_bytes) {
    for (size_t i = 0; i < FILTER_COUNT; i++) {
        struct text packed = pack_content(NULL, filters[i]);
        for (size_t missing = 1; missing <= 8; missing++) {
            struct failure failure;
            bool is_same;
            const char *path = write_file(text_slice(packed, 0, packed.bytes_count - missing));
            bool is_good = reads_without_failure(path, &failure, content, &is_same);
            if (is_good && !is_same) fail_msg("%s lacks its last %zu bytes", filters[i], missing);
        }
    }
}

/* A recorder trace can begin like this: the sum of its bytes equals the missing checksum by chance. */
TEST(test_no_tar_without_checksum) {
    char header[512] = {(char)0x80, (char)0x80}; /* the sum is 0 with blanks in place of the checksum */
    assert_false(input_wrapper_of((struct text){header, sizeof header}) != NULL);
}

TEST(test_cut_off_start) {
    for (size_t i = 0; i < FILTER_COUNT; i++) {
        struct text packed = pack_content(NULL, filters[i]);
        for (size_t kept_bytes = 4; kept_bytes < 20; kept_bytes++) {
            struct text start = text_slice(packed, 0, kept_bytes);
            if (!input_wrapper_of(start)) continue;
            struct failure failure;
            bool is_same;
            bool is_good = reads_without_failure(write_file(start), &failure, content, &is_same);
            if (is_good) fail_msg("%s of %zu bytes", filters[i], kept_bytes);
        }
    }
}

/* The damage must be detected unless it is in bytes that do not matter. */
static void assert_damage_is_found(struct text packed, struct text expected, const char *what) {
    for (size_t sixteenth = 0; sixteenth < 64; sixteenth++) {
        size_t place = sixteenth < 32 ? sixteenth : packed.bytes_count * (sixteenth - 31) / 33;
        if (place >= packed.bytes_count) continue;
        packed_bytes[place] ^= 0x10;
        struct failure failure;
        bool is_same;
        const char *path = write_file(packed);
        struct text damaged = text_slice(packed, 0, INPUT_WRAPPER_START_BYTES);
        if (input_wrapper_of(damaged)) {
            bool is_good = reads_without_failure(path, &failure, expected, &is_same);
            if (is_good && !is_same) fail_msg("%s, damaged at %zu of %zu", what, place, packed.bytes_count);
        }
        packed_bytes[place] ^= 0x10;
    }
}

TEST(test_damaged_compression) {
    static const char *const checked[] = {"gzip", "xz", "bzip2", "lz4"};
    for (size_t i = 0; i < sizeof checked / sizeof *checked; i++)
        assert_damage_is_found(pack_content(NULL, checked[i]), content, checked[i]);
}

/* ---- Archives. ---- */

struct kind {
    const char *format; /* libarchive's name */
    const char *name;   /* name in the wrapping */
};

static const struct kind kinds[] = {
    {"ustar", "tar"}, {"pax", "tar"}, {"gnutar", "tar"}, {"v7tar", "tar"}, {"zip", "zip"}, {"7zip", "7z"},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

TEST(test_archives_of_one_file) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct text packed = pack_content(kinds[i].format, NULL);
        struct failure failure = {0};
        struct input *input = input_open(write_file(packed), &failure);
        if (!input) fail_msg("%s: %s", kinds[i].format, failure.message);
        char wrapping[64];
        snprintf(wrapping, sizeof wrapping, "%s > app.txt", kinds[i].name);
        assert_true(text_equal(input_wrapping(input), text_of(wrapping)));
        assert_bytes(input, &failure, content);
        if (strcmp(kinds[i].format, "7zip") != 0) assert_piped_bytes(packed, 1000, content);
    }
}

TEST(test_archives_of_one_file_and_nothing_else_of_weight) {
    struct text weight = TEXT("not a trace");
    const struct member members[] = {
        {"folder/", {"", 0}},         {"folder/empty", {"", 0}},    {"folder/app.txt", content},
        {"folder/._app.txt", weight}, {"other/", {"", 0}},          {"__MACOSX/folder/app.txt", weight},
        {"other/empty", {"", 0}},     {"folder/.DS_Store", weight},
    };
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct text packed = pack(kinds[i].format, NULL, members, sizeof members / sizeof *members);
        assert_file_bytes(packed, content);
        if (strcmp(kinds[i].format, "7zip") != 0) assert_piped_bytes(packed, 4096, content);
    }
}

TEST(test_archives_of_several_files) {
    const struct member members[] = {{"first.txt", content}, {"sec\x1bond.txt", TEXT("b")}, {"third.txt", TEXT("c")}};
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct text packed = pack(kinds[i].format, NULL, members, 3);
        assert_packed_failure(
            packed, " archive holds several files (\"first.txt\", \"sec?ond.txt\"...); extract the one wanted (");
        assert_packed_failure(packed, " FILE MEMBER)");
    }
}

/* The files of a folder by perf record --threads or --kcore, in any order. */
TEST(test_recordings_of_several_files) {
    const struct text record = {"\x44\0\0\0\0\0\x8", 8}, header = TEXT("PERFILE2 and more");
    const struct member members[] = {{"rec/data", header},
                                     {"rec/data.0", record},
                                     {"rec/data.1", content},
                                     {"rec/kcore_dir/kcore", TEXT("code")},
                                     {"rec/kcore_dir/other", TEXT("other")}};
    static const struct {
        size_t members[2];
        bool is_recording;
    } archives[] = {{{0, 1}, true}, {{1, 0}, true}, {{0, 2}, true},  {{2, 0}, true},
                    {{3, 0}, true}, {{0, 3}, true}, {{0, 4}, false}, {{0, 0}, false}};
    for (size_t i = 0; i < sizeof archives / sizeof *archives; i++) {
        const struct member both[] = {members[archives[i].members[0]], members[archives[i].members[1]]};
        assert_packed_failure(pack("ustar", NULL, both, 2), archives[i].is_recording
                                                                ? "in several files, which cannot be read"
                                                                : "holds several files");
    }
    assert_packed_failure(pack("ustar", NULL, &members[1], 1), "in several files, which cannot be read");
    assert_packed_failure(pack("ustar", NULL, &members[3], 1), "in several files, which cannot be read");
    assert_file_bytes(pack("ustar", NULL, &members[0], 1), header);
    assert_file_bytes(pack("ustar", NULL, &members[2], 1), content);
}

TEST(test_archives_without_a_file) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        assert_packed_failure(pack(kinds[i].format, NULL, &(struct member){"folder/", {"", 0}}, 1), "holds no file");
        assert_file_bytes(pack(kinds[i].format, NULL, &(struct member){"empty", {"", 0}}, 1), TEXT(""));
    }
    assert_packed_failure(pack("zip", NULL, NULL, 0), "the zip archive holds no file");
}

TEST(test_7z_needs_a_file) {
    struct text packed = pack_content("7zip", NULL);
    struct piped piped;
    pipe_begin(&piped, packed, 4096);
    assert_failure("-", FAILURE_INPUT, "standard input: a 7z archive cannot be read from a pipe");
    pipe_end(&piped);
    assert_packed_failure(pack_into(repacked_bytes, NULL, "gzip", NULL, &(struct member){"x", packed}, 1),
                          "a 7z archive cannot be read from a pipe or out of other compression");
}

TEST(test_compressed_archives) {
    for (size_t i = 0; i < FILTER_COUNT; i++) {
        struct text packed = pack_content("ustar", filters[i]);
        assert_file_bytes(packed, content);
        assert_piped_bytes(packed, 4096, content);
    }
}

TEST(test_compressed_member) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct text packed = pack_content(NULL, "gzip");
        packed = pack_into(repacked_bytes, kinds[i].format, NULL, NULL, &(struct member){"app.txt.gz", packed}, 1);
        struct failure failure = {0};
        struct input *input = input_open(write_file(packed), &failure);
        assert_non_null(input);
        char wrapping[64];
        snprintf(wrapping, sizeof wrapping, "%s > app.txt.gz > gzip", kinds[i].name);
        assert_true(text_equal(input_wrapping(input), text_of(wrapping)));
        assert_bytes(input, &failure, content);
    }
}

TEST(test_cut_off_archives) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        struct text packed = pack_content(kinds[i].format, NULL);
        for (size_t sixteenth = 1; sixteenth < 16; sixteenth++) {
            struct failure failure;
            bool is_same;
            const char *path = write_file(text_slice(packed, 0, packed.bytes_count * sixteenth / 16));
            bool is_good = reads_without_failure(path, &failure, content, &is_same);
            if (is_good) fail_msg("%s, cut at %zu/16", kinds[i].format, sixteenth);
            assert_int_equal(failure.code, FAILURE_INPUT);
        }
    }
}

TEST(test_damaged_archives) {
    assert_damage_is_found(pack_content("zip", NULL), content, "zip");
    assert_damage_is_found(pack_content("7zip", NULL), content, "7z");
    assert_damage_is_found(pack_content("ustar", "gzip"), content, "tar.gz");
}

TEST(test_encrypted_zip) {
    struct archive *writer = archive_write_new();
    size_t used_bytes = 0;
    archive_write_set_format_zip(writer);
    if (archive_write_set_options(writer, "zip:encryption=zipcrypt") != ARCHIVE_OK) {
        archive_write_free(writer);
        skip();
    }
    assert_int_equal(archive_write_set_passphrase(writer, "secret"), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(writer, packed_bytes, PACKED_BYTES_MAX, &used_bytes), ARCHIVE_OK);
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, "app.txt");
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, CONTENT_BYTES);
    assert_int_equal(archive_write_header(writer, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(writer, content.bytes, CONTENT_BYTES), CONTENT_BYTES);
    archive_entry_free(entry);
    assert_int_equal(archive_write_close(writer), ARCHIVE_OK);
    archive_write_free(writer);
    assert_packed_failure((struct text){packed_bytes, used_bytes}, "the zip archive is encrypted");
}

TEST(test_texts_are_not_archives) {
    static const struct text texts[] = {
        {"#mtree\n./a type=file size=1\n", 28},
        {"070707 frames;of;a;collapsed;stack 12\n", 38},
        {"BZh9 lines;x 1\n", 15},
        {"PK is;no;zip 3\n", 15},
        {"LZIP;main 4\n", 12},
        {"7zip;main 4\n", 12},
        {"]\n]\n]\n]\n]\n]\n]\n]\n", 16},
        {"swapper 0 [000] 1.0: 1 cycles:\n", 31},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(input_wrapper_of(texts[i]) != NULL);
        assert_file_bytes(texts[i], texts[i]);
    }
    assert_false(input_wrapper_of(content) != NULL);
}

int main(void) { return unit_tests_run(set_up, tear_down); }
