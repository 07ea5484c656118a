/* Reads the records of one file or stream in the order of its bytes. Layout: Linux
 * tools/perf/Documentation/perf.data-file-format.txt. */
#pragma once

#include "data_parser.h"
#include "libconvert/base/byte_buffer.h"

struct data_stream {
    struct data_parser *parser;  /* borrowed */
    struct input *input;         /* borrowed */
    uint64_t start;              /* offset in the recording of the input's first byte; see data_file.c */
    uint64_t end;                /* offset in the input where the records end; UINT64_MAX: at the input's end */
    struct text lasting;         /* bytes of the input that stay where they are */
    struct ZSTD_DCtx_s *zstd;    /* unpacks compressed records; NULL: there was none yet */
    struct byte_buffer unpacked; /* what was unpacked, but not taken yet */
    bool is_unpacking_over;      /* damage ended the unpacking */
    bool has_ended;
    uint64_t searched_bytes; /* for places to resume after damage */
    uint64_t now_ns;         /* time of the last record that has one */
};

/* Initializes the stream. The records begin at the input's current position. */
void data_stream_init(struct data_stream *stream, struct data_parser *parser, struct input *input, uint64_t start,
                      uint64_t end);
void data_stream_fini(struct data_stream *stream); /* accepts a zeroed stream */

/* Reads records until one is later than until_ns or the stream has ended. After a damaged record nothing marks where
 * the next one begins: reading resumes at the end of a round that is followed by a whole one. Without any, the stream
 * ends. */
void data_stream_read(struct data_stream *stream, uint64_t until_ns);
