/* The work of the child process that looks up addresses: opens the files of libraries, and sends what it finds. Only
 * this process reads libraries and debug information. */
#pragma once

#include "debug_file_search.h"
#include "libconvert/base/child_process.h"
#include "libconvert/profile/profile.h"

/* A frame to look up. If it has a native symbol from the trace, its name is known, and only the functions that are
 * inlined there and the lines are new, unless all frames must be looked up. */
struct symbol_request {
    uint32_t lib;
    int32_t address;
    uint32_t frame;
};

/* Returns the number of the first request for another library than that of request `first`; `count` if there is
 * none. */
size_t symbol_requests_end(const struct symbol_request *requests, size_t count, size_t first);

/* The context of symbol_worker_run. All pointers are borrowed. */
struct symbol_work {
    const struct profile *profile;
    enum gecko_convert_symbols symbols;
    const struct debug_folders *folders;
    unsigned job_count;                    /* most threads that look up */
    const struct symbol_request *requests; /* sorted by library, address, frame */
    size_t request_count;
};

/* For each library, the worker sends one answer for each distinct address, in ascending order, and then an end. It
 * sends a name or a file before the first answer that refers to it. Names are numbered from 0 in the order in which
 * they are sent, and so are files.
 *
 * Several threads look up libraries side by side, and parts of the addresses of a large one. The answers are sent in
 * the order of the requests, and are the same for any number of threads. */
enum symbol_message_kind {
    SYMBOL_MESSAGE_NAME, /* bytes: the name of a function as in the source */
    SYMBOL_MESSAGE_FILE, /* bytes: a path */
    SYMBOL_MESSAGE_ANSWER,
    SYMBOL_MESSAGE_LIBRARY_END,
    SYMBOL_MESSAGE_PART /* from here on, names and files are numbered from 0 again; nothing follows */
};

/* Longer names and paths are cut. */
enum { SYMBOL_TEXT_BYTES_MAX = 4096 };

struct symbol_message {
    uint32_t kind;
    uint32_t bytes_count; /* size of the text or struct that follows */
};

/* Its links follow: the physical function first, then each function that is inlined into the previous one. */
struct symbol_answer {
    uint32_t outcome;        /* enum symbol_outcome; the rest is set for SYMBOL_FOUND and SYMBOL_PLACED */
    int32_t address;         /* relative to the start of the library */
    uint32_t symbol_name;    /* ID_NONE: none */
    uint32_t symbol_address; /* relative to the start of the library; ID_NONE: it needs more than 31 bits */
    uint32_t link_count;
    uint32_t has_lines; /* the links are from debug information, which knows about inlined functions */
};

struct symbol_link {
    uint32_t name;      /* ID_NONE: unknown */
    uint32_t file;      /* ID_NONE: unknown */
    uint32_t func_line; /* 0: unknown */
    uint32_t line;      /* 0: unknown */
    uint32_t column;    /* 0: unknown */
};

/* The flags are set only for DEBUG_FILE_FOUND. Otherwise there are no answers. */
struct symbol_library_end {
    uint32_t search;           /* enum debug_search_outcome */
    uint32_t lacks_lines;      /* the debug information cannot be read */
    uint32_t lacks;            /* what debug information lacks: bits of enum symbol_lack */
    uint32_t lacks_supplement; /* what the debug information shares with other files was not found */
    uint32_t
        unverified_count; /* addresses that were looked up although nothing shows that the file is the one that ran */
    uint32_t is_shorter;  /* a file was truncated meanwhile: the answers may be wrong */
};

/* A child_work; `context` is a struct symbol_work. */
void symbol_worker_run(void *context, struct channel *channel);
