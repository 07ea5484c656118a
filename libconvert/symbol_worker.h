/* The work of the child process that looks up addresses: opens the files of one library after the other and sends what
 * it finds. Only this process reads libraries and debug information. */
#ifndef GECKO_SYMBOL_WORKER_H
#define GECKO_SYMBOL_WORKER_H

#include "child_process.h"
#include "symbolize.h"

/* A frame to look up. */
struct symbol_request {
    uint32_t lib;
    int32_t address;
    uint32_t frame;
};

/* Returns the number of the first request that is of another library than the one at `first`; `count` if there is none. */
size_t symbol_requests_end(const struct symbol_request *requests, size_t count, size_t first);

/* The context of symbol_worker_run. All pointers are borrowed. */
struct symbol_work {
    const struct profile *profile;
    const struct symbolize_options *options;
    const struct symbol_request *requests; /* sorted by library, address, frame */
    size_t request_count;
};

/* For each library the worker sends one answer for each distinct address, in ascending order, and then an end. It sends
 * a name or a file before the first answer that refers to it. Names are numbered from 0 on, in the order in which they
 * are sent; so are files. */
enum symbol_message_kind {
    SYMBOL_MESSAGE_NAME, /* bytes: a function's name as its source has it */
    SYMBOL_MESSAGE_FILE, /* bytes: a path */
    SYMBOL_MESSAGE_ANSWER,
    SYMBOL_MESSAGE_LIBRARY_END,
    SYMBOL_MESSAGE_FAILURE /* a struct failure; nothing follows */
};

/* Longer names and paths are cut. */
enum { SYMBOL_TEXT_BYTES_MAX = 4096 };

struct symbol_message {
    uint32_t kind;
    uint32_t bytes_count; /* of the text or struct that follows */
};

/* Followed by its links: the physical function first, then each function that is inlined into the one before. */
struct symbol_answer {
    uint32_t outcome;        /* enum symbol_outcome; the rest is set for SYMBOL_FOUND only */
    int32_t address;         /* relative to the start of the library */
    uint32_t symbol_name;    /* ID_NONE: there is no symbol */
    uint32_t symbol_address; /* relative to the start of the library; ID_NONE: it does not fit 31 bits */
    uint32_t link_count;
    uint32_t has_lines; /* the links are from debug information, which knows what was inlined */
};

struct symbol_link {
    uint32_t name; /* ID_NONE: unknown */
    uint32_t file; /* ID_NONE: unknown */
    uint32_t func_line; /* 0: unknown */
    uint32_t line;      /* 0: unknown */
    uint32_t column;    /* 0: unknown */
};

/* The flags are set for DEBUG_FILE_FOUND only; without it there are no answers. */
struct symbol_library_end {
    uint32_t search; /* enum debug_search_outcome */
    uint32_t is_verified;
    uint32_t lacks_lines;      /* the debug information cannot be read */
    uint32_t lacks_supplement; /* what the debug information shares with other files was not found */
    uint32_t is_shorter;       /* a file became shorter meanwhile: the answers may be wrong */
};

/* A child_work; `context` is a struct symbol_work. */
void symbol_worker_run(void *context, struct channel *channel);

#endif
