#include "data_folder.h"

#include "data_stream.h"
#include "libconvert/base/memory.h"

/* How far a file may be read ahead of the others at a time. */
static const uint64_t STEP_NS = 10000000;

/* Returns the file that has been read the least far in time; NULL if all have ended. *limit_ns becomes the time up to
 * which it may be read. */
static struct data_stream *earliest(struct data_stream *streams, size_t count, uint64_t *limit_ns) {
    struct data_stream *first = NULL;
    uint64_t second_ns = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        struct data_stream *stream = &streams[i];
        if (stream->has_ended) continue;
        if (!first || stream->now_ns < first->now_ns) {
            if (first) second_ns = first->now_ns;
            first = stream;
        } else if (stream->now_ns < second_ns) {
            second_ns = stream->now_ns;
        }
    }
    *limit_ns = second_ns <= UINT64_MAX - STEP_NS ? second_ns + STEP_NS : UINT64_MAX;
    return first;
}

static void close_part(struct data_stream *stream) {
    input_close(stream->input);
    data_stream_fini(stream);
}

void data_folder_read(struct data_parser *parser, struct input *input) {
    size_t count = input_part_count(input);
    if (!count) return;
    struct failure *failure = parser->failure;
    struct data_stream *streams = memory_allocate_zeroed(failure, count, sizeof *streams);
    uint64_t start = input_offset(input), done_bytes, part_bytes;
    size_t open_count = 0;
    while (streams && open_count < count) {
        struct input *part = input_open_part(input, open_count);
        if (!part) break;
        data_stream_init(&streams[open_count++], parser, part, start, UINT64_MAX);
        input_source_progress(part, &done_bytes, &part_bytes);
        start += part_bytes;
    }
    uint64_t limit_ns;
    for (struct data_stream *stream; open_count == count && (stream = earliest(streams, count, &limit_ns));)
        data_stream_read(stream, limit_ns);
    for (size_t i = 0; i < open_count; i++) close_part(&streams[i]);
    memory_free(streams);
}
