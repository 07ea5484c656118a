#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "libconvert/base/memory.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"
#include "writer/gzip_writer.h"

enum {
    LEVEL = HAS_THREAD_SANITIZER ? 1 : 4, /* the thread sanitizer does not look into zlib */
    BLOCK_BYTES = 256 * 1024,             /* bytes of the writer's blocks */
    MANY_BYTES = 12 * BLOCK_BYTES + 12345,
    PACKED_BYTES_MAX = 2 * MANY_BYTES
};

static const unsigned thread_counts[] = {1, 2, 3, 8, 100};
/* Three threads share what a hundred share. The thread sanitizer makes compressing slow. */
enum { THREAD_COUNT_COUNT = HAS_THREAD_SANITIZER ? 3 : sizeof thread_counts / sizeof *thread_counts };

static char prose[MANY_BYTES], noise[MANY_BYTES];

/* A member that is collected. Its output fails at the call number fails_at, counted from 0. */
struct collected {
    struct failure failure;
    char bytes[PACKED_BYTES_MAX];
    size_t bytes_count;
    unsigned call_count;
    unsigned fails_at;
    size_t thread_count; /* most threads of this process during a call */
};

static struct collected first, other;

static size_t count_threads(void) {
    size_t count = 0;
    DIR *listing = opendir("/proc/self/task");
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing));) count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

/* A gzip_output. */
static void collect(void *context, struct text bytes) {
    struct collected *collected = context;
    size_t thread_count = count_threads();
    if (thread_count > collected->thread_count) collected->thread_count = thread_count;
    if (collected->call_count++ == collected->fails_at) {
        failure_set(&collected->failure, FAILURE_IO, "no room");
        return;
    }
    assert_true(bytes.bytes_count <= sizeof collected->bytes - collected->bytes_count);
    memcpy(collected->bytes + collected->bytes_count, bytes.bytes, bytes.bytes_count);
    collected->bytes_count += bytes.bytes_count;
}

static void collected_init(struct collected *collected, struct memory_limit *limit) {
    collected->failure = (struct failure){.memory = limit};
    collected->bytes_count = collected->thread_count = 0;
    collected->call_count = 0;
    collected->fails_at = UINT32_MAX;
}

/* Compresses the bytes, piece_bytes at a time. */
static void compress_pieces(struct collected *collected, struct text bytes, unsigned thread_count, size_t piece_bytes) {
    struct gzip_writer *writer = gzip_writer_create(LEVEL, thread_count, collect, collected, &collected->failure);
    if (!writer) return;
    for (size_t at = 0; at < bytes.bytes_count; at += piece_bytes)
        gzip_writer_append(writer, text_slice(bytes, at, at + piece_bytes));
    gzip_writer_finish(writer);
    gzip_writer_destroy(writer);
}

static void compress_all(struct collected *collected, struct text bytes, unsigned thread_count) {
    collected_init(collected, NULL);
    compress_pieces(collected, bytes, thread_count, MANY_BYTES);
    assert_false(failure_is_set(&collected->failure));
}

static void assert_same(const struct collected *collected, const struct collected *expected) {
    assert_int_equal(collected->bytes_count, expected->bytes_count);
    assert_memory_equal(collected->bytes, expected->bytes, expected->bytes_count);
}

/* The collected bytes must be exactly one member that holds the expected bytes. */
static void assert_member(const struct collected *collected, struct text expected) {
    static char unpacked[MANY_BYTES + 1];
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)collected->bytes,
                       .avail_in = (unsigned)collected->bytes_count,
                       .next_out = (unsigned char *)unpacked,
                       .avail_out = sizeof unpacked};
    assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    assert_int_equal(stream.total_out, expected.bytes_count);
    assert_memory_equal(unpacked, expected.bytes, expected.bytes_count);
    inflateEnd(&stream);
}

/* Random text with repetitions near and far, and bytes that cannot be compressed. */
static int make_bytes(void **state) {
    uint64_t number = 1;
    for (size_t i = 0; i < MANY_BYTES; i++) {
        number = number * 6364136223846793005u + 1442695040888963407u;
        unsigned random = (unsigned)(number >> 33);
        noise[i] = (char)random;
        bool is_copy = i >= 40000 && random % 64;
        prose[i] = is_copy ? prose[i - 1 - i / 1000 % 40000] : (char)('0' + random % 40);
    }
    return 0;
}

TEST(any_number_of_threads_makes_the_same_bytes) {
    static const size_t sizes[] = {0,
                                   1,
                                   BLOCK_BYTES - 1,
                                   BLOCK_BYTES,
                                   BLOCK_BYTES + 1,
                                   4 * BLOCK_BYTES,
                                   4 * BLOCK_BYTES + 1,
                                   5 * BLOCK_BYTES,
                                   MANY_BYTES};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        struct text bytes = {i % 2 ? noise : prose, sizes[i / 2]};
        compress_all(&first, bytes, 1);
        assert_member(&first, bytes);
        for (size_t j = 1; j < THREAD_COUNT_COUNT; j++) {
            compress_all(&other, bytes, thread_counts[j]);
            assert_same(&other, &first);
        }
    }
}

TEST(pieces_of_any_size_make_the_same_bytes) {
    static const size_t sizes[] = {7, 65536, BLOCK_BYTES, BLOCK_BYTES + 1};
    struct text bytes = {prose, MANY_BYTES};
    compress_all(&first, bytes, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        collected_init(&other, NULL);
        compress_pieces(&other, bytes, 3, sizes[i]);
        assert_same(&other, &first);
    }
}

TEST(only_large_members_start_threads) {
    size_t before = count_threads();
    compress_all(&first, (struct text){prose, 4 * BLOCK_BYTES - 1}, 3);
    assert_int_equal(first.thread_count, before);
    compress_all(&first, (struct text){prose, MANY_BYTES}, 1);
    assert_int_equal(first.thread_count, before);
    compress_all(&first, (struct text){prose, MANY_BYTES}, 3);
    assert_int_equal(first.thread_count, before + 2);
    assert_int_equal(count_threads(), before);
}

TEST(every_output_may_fail) {
    struct text bytes = {prose, MANY_BYTES};
    compress_all(&first, bytes, 1);
    /* The last writer has most threads. */
    for (size_t i = HAS_THREAD_SANITIZER ? 2 : 0; i < 3; i++) {
        for (unsigned fails_at = 0; fails_at < first.call_count; fails_at++) {
            collected_init(&other, NULL);
            other.fails_at = fails_at;
            compress_pieces(&other, bytes, thread_counts[i], 100000);
            assert_int_equal(other.failure.code, FAILURE_IO);
            assert_int_equal(other.call_count, fails_at + 1);
            assert_memory_equal(other.bytes, first.bytes, other.bytes_count);
        }
    }
}

TEST(a_writer_ends_in_any_state) {
    for (size_t bytes_count = 0; bytes_count <= MANY_BYTES; bytes_count += BLOCK_BYTES / 2) {
        collected_init(&other, NULL);
        struct gzip_writer *writer = gzip_writer_create(LEVEL, 3, collect, &other, &other.failure);
        assert_non_null(writer);
        gzip_writer_append(writer, (struct text){prose, bytes_count});
        /* A conversion is cancelled by a failure that the writer has not set. */
        failure_set(&other.failure, FAILURE_CANCELLED, "cancelled");
        unsigned call_count = other.call_count;
        gzip_writer_append(writer, (struct text){prose, MANY_BYTES});
        gzip_writer_finish(writer);
        gzip_writer_destroy(writer);
        assert_int_equal(other.call_count, call_count);
    }
    gzip_writer_destroy(NULL);
}

/* With less memory there are fewer threads, and the bytes stay the same. */
TEST(memory_is_bounded) {
    /* Memory runs out within the first megabyte. */
    enum {
        STEP_BYTES = (1 + HAS_THREAD_SANITIZER) * 150 * 1024,
        FEW_BYTES = 2 * 1024 * 1024,
        ENOUGH_BYTES = 8 * FEW_BYTES
    };
    struct text bytes = {prose, MANY_BYTES};
    compress_all(&first, bytes, 1);
    size_t least_threads = SIZE_MAX, most_threads = 0;
    for (uint64_t limit_bytes = STEP_BYTES; limit_bytes <= ENOUGH_BYTES;
         limit_bytes += limit_bytes < FEW_BYTES ? STEP_BYTES : 6 * STEP_BYTES) {
        struct memory_limit limit;
        memory_limit_init(&limit, limit_bytes);
        collected_init(&other, &limit);
        compress_pieces(&other, bytes, 8, MANY_BYTES);
        assert_int_equal(limit.held_bytes, 0);
        if (failure_is_set(&other.failure)) {
            assert_int_equal(other.failure.code, FAILURE_MEMORY);
            assert_true(limit_bytes < 1024 * 1024);
            continue;
        }
        assert_same(&other, &first);
        if (other.thread_count < least_threads) least_threads = other.thread_count;
        if (other.thread_count > most_threads) most_threads = other.thread_count;
    }
    assert_int_equal(least_threads, count_threads());
    /* Threads start only while all others are busy. */
    assert_in_range(most_threads, count_threads() + 1, count_threads() + 7);
}

int main(void) { return unit_tests_run(make_bytes, NULL); }
