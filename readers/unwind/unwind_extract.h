/* Extracts from ELF files what the unwinder needs. A malformed file can crash libelf, so a child process reads the
 * files that a recording names, and sends the extracts. */
#pragma once

#include "libconvert/base/child_process.h"
#include "libconvert/base/text.h"
#include "libconvert/profile/libs.h"
#include "unwind_access.h"

/* The segments, two parts of .eh_frame, one of .debug_frame, and four linkage tables or a vDSO. */
enum { UNWIND_PARTS_MAX = 8 };

/* A segment of the file. */
struct unwind_load {
    uint64_t file_offset;
    uint64_t address;
    uint64_t bytes_count;
};

enum unwind_part_kind {
    UNWIND_PART_LOADS,       /* not of the file: an array of struct unwind_load by offset */
    UNWIND_PART_FRAMES,      /* .eh_frame or its header, or both */
    UNWIND_PART_DEBUG_FRAME, /* .debug_frame; addresses in this part are offsets in the section */
    UNWIND_PART_STUBS,       /* x86-64: a procedure linkage table */
    UNWIND_PART_VDSO,        /* aarch64: the vDSO's code */
};

/* A part of the file. Its address is the one in the file's headers, not in a process. */
struct unwind_part {
    enum unwind_part_kind kind;
    uint64_t address;
    uint64_t bytes_count;
    const char *bytes; /* borrowed; valid while the file is open */
};

struct unwind_extract {
    enum unwind_file_state state;
    uint64_t low; /* the addresses of the file's segments: [low, high) */
    uint64_t high;
    uint64_t header; /* address of the header of .eh_frame; 0: none */
    uint64_t header_bytes_count;
    uint64_t first_entry; /* address of the first entry of .eh_frame; 0: unknown */
    uint32_t part_count;
    struct unwind_part parts[UNWIND_PARTS_MAX];
};

/* Receives an extract. The extract is valid only during the call. */
typedef void unwind_extract_take(void *context, const struct unwind_extract *extract);

/* Reads a file in memory, in the calling process. Calls `take` once. */
void unwind_extract_bytes(struct text bytes, enum unwinder_machine machine, unwind_extract_take *take, void *context);

/* Answers requests until the parent closes the channel. This is the child_work of the child process. `options` is a
 * struct unwinder_options. */
void unwind_extract_serve(void *options, struct channel *channel);

/* Asks the child for a library. Returns false if the child has ended. Otherwise the caller receives the bytes of the
 * extract's parts next, in order; the pointers in the parts are invalid. */
bool unwind_extract_ask(struct channel *channel, const struct lib *lib, struct unwind_extract *extract);
