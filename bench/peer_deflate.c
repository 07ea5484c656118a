/* Measures speed and ratio of deflate libraries on one file. See bench/README.md.
 *
 * usage: peer_deflate FILE [ROUNDS]
 *
 * zlib and ISA-L compress blocks as the converter does, each on its own. For comparison, zlib also compresses the file
 * as a whole, and blocks with the 32 KiB before them as a dictionary. libdeflate can only compress the whole. Prints
 * the best processor time of all rounds; each round runs every row once. */
#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

enum { DICTIONARY_BYTES = 32 * 1024, WHOLE = 0 };

static unsigned char *input, *output;
static size_t input_bytes, output_capacity_bytes;

struct row {
    const char *library;
    size_t (*compress)(const struct row *row);
    int level;
    size_t block_bytes; /* WHOLE: the file is one block */
    bool has_dictionary;
    double seconds;
    size_t output_bytes;
};

static void *must(void *pointer) {
    if (pointer) return pointer;
    fputs("peer_deflate: memory ran out\n", stderr);
    exit(1);
}

static size_t block_end(const struct row *row, size_t start) {
    size_t left = input_bytes - start;
    return start + (row->block_bytes && row->block_bytes < left ? row->block_bytes : left);
}

static size_t use_zlib(const struct row *row) {
    z_stream stream = {.zalloc = NULL};
    if (deflateInit2(&stream, row->level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) must(NULL);
    size_t written = 0;
    for (size_t start = 0, end; start < input_bytes; start = end) {
        end = block_end(row, start);
        deflateReset(&stream);
        if (start && row->has_dictionary)
            deflateSetDictionary(&stream, input + start - DICTIONARY_BYTES, DICTIONARY_BYTES);
        stream.next_in = input + start;
        stream.avail_in = (unsigned)(end - start);
        stream.next_out = output + written;
        stream.avail_out = (unsigned)(output_capacity_bytes - written);
        deflate(&stream, end == input_bytes ? Z_FINISH : Z_SYNC_FLUSH);
        written = (size_t)(stream.next_out - output);
        crc32(0, input + start, (unsigned)(end - start));
    }
    deflateEnd(&stream);
    return written;
}

static size_t use_libdeflate(const struct row *row) {
    struct libdeflate_compressor *compressor = must(libdeflate_alloc_compressor(row->level));
    size_t written = libdeflate_gzip_compress(compressor, input, input_bytes, output, output_capacity_bytes);
    libdeflate_free_compressor(compressor);
    return written;
}

static size_t use_isal(const struct row *row) {
    static const size_t level_bytes[] = {ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
                                         ISAL_DEF_LVL3_DEFAULT};
    struct isal_zstream *stream = must(malloc(sizeof *stream));
    unsigned char *level_buffer = must(malloc(level_bytes[row->level] + 1));
    size_t written = 0;
    for (size_t start = 0, end; start < input_bytes; start = end) {
        end = block_end(row, start);
        isal_deflate_init(stream);
        if (start && row->has_dictionary)
            isal_deflate_set_dict(stream, input + start - DICTIONARY_BYTES, DICTIONARY_BYTES);
        stream->level = (uint32_t)row->level;
        stream->level_buf = level_buffer;
        stream->level_buf_size = (uint32_t)level_bytes[row->level];
        stream->next_in = input + start;
        stream->avail_in = (uint32_t)(end - start);
        stream->next_out = output + written;
        stream->avail_out = (uint32_t)(output_capacity_bytes - written);
        stream->end_of_stream = end == input_bytes;
        stream->flush = SYNC_FLUSH;
        isal_deflate(stream);
        written = (size_t)(stream->next_out - output);
        crc32(0, input + start, (unsigned)(end - start));
    }
    free(level_buffer);
    free(stream);
    return written;
}

static struct row rows[64];
static size_t row_count;

static void add(const char *library, size_t (*compress)(const struct row *), int level, size_t block_bytes,
                bool has_dictionary) {
    rows[row_count++] = (struct row){library, compress, level, block_bytes, has_dictionary, 1e9, 0};
}

static void add_rows(void) {
    for (int level = 1; level <= 6; level++) add("zlib", use_zlib, level, WHOLE, false);
    for (int level = 4; level <= 6; level += 2) {
        for (size_t block_bytes = 128 * 1024; block_bytes <= 512 * 1024; block_bytes *= 2) {
            add("zlib", use_zlib, level, block_bytes, false);
            add("zlib", use_zlib, level, block_bytes, true);
        }
    }
    for (int level = 1; level <= 6; level++) add("libdeflate", use_libdeflate, level, WHOLE, false);
    for (int level = 0; level <= 3; level++) add("ISA-L", use_isal, level, 256 * 1024, false);
}

static void read_input(const char *path) {
    FILE *file = must(fopen(path, "rb"));
    fseek(file, 0, SEEK_END);
    input_bytes = (size_t)ftell(file);
    rewind(file);
    input = must(malloc(input_bytes + 1));
    if (fread(input, 1, input_bytes, file) != input_bytes) exit(1);
    fclose(file);
    output_capacity_bytes = input_bytes + input_bytes / 8 + 65536;
    output = must(malloc(output_capacity_bytes));
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void measure(struct row *row) {
    double start = processor_seconds();
    row->output_bytes = row->compress(row);
    double seconds = processor_seconds() - start;
    if (seconds < row->seconds) row->seconds = seconds;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    read_input(argv[1]);
    add_rows();
    int round_count = argc > 2 ? atoi(argv[2]) : 5;
    for (int round = 0; round < round_count; round++)
        for (size_t i = 0; i < row_count; i++) measure(&rows[i]);
    puts("| library, level | blocks | MB/s | ratio |\n|---|---|---|---|");
    for (size_t i = 0; i < row_count; i++) {
        const struct row *row = &rows[i];
        char blocks[64] = "one";
        if (row->block_bytes)
            snprintf(blocks, sizeof blocks, "%zu KiB%s", row->block_bytes / 1024,
                     row->has_dictionary ? ", dictionary" : "");
        printf("| %s %d | %s | %.0f | %.2f |\n", row->library, row->level, blocks,
               (double)input_bytes / 1e6 / row->seconds, (double)input_bytes / (double)row->output_bytes);
    }
}
