/* What the unwinder knows about one file: its segments, and the rules of its functions. A file is read when a walk
 * first reaches it, and the needed parts are copied. */
#pragma once

#include "recorder/unwind/unwind_cfi.h"
#include "unwind_extract.h"

/* The call frame information of one section. */
struct unwind_entries {
    struct unwind_image image;
    struct unwind_index index;
};

/* A copy of a part of the file. */
struct unwind_span {
    enum unwind_part_kind kind;
    struct unwind_segment segment;
    char *bytes; /* owned */
};

struct unwind_file {
    struct unwind_file *next;
    struct lib lib;    /* name, path and code id, in `texts` */
    char *texts;       /* owned */
    struct text bytes; /* the bytes of a file in memory; otherwise empty */
    enum unwind_file_state state;
    enum unwind_loss loss;           /* if the state is UNWIND_FILE_LOST */
    const struct unwind_load *loads; /* in one of the spans */
    size_t load_count;
    uint32_t span_count;
    struct unwind_span spans[UNWIND_PARTS_MAX];
    struct unwind_entries entries[2]; /* .eh_frame, .debug_frame */
};

/* Reads all bytes of a part into `to`. Parts are read in their order. Returns false if the bytes cannot be read. */
typedef bool unwind_part_read(void *context, const struct unwind_part *part, char *to);

/* Takes over an extract of the file. If memory runs out, the failure is latched. Returns false if parts cannot be read;
 * then the file has no call frame information. */
bool unwind_file_take(struct unwind_file *file, const struct unwind_extract *extract,
                      const struct unwinder_options *options, unwind_part_read *read, void *context);

/* Frees the file and what it owns. */
void unwind_file_destroy(struct unwind_file *file);

/* Finds the address, by the file's segments, of the byte at that offset of the file. Of segments that overlap, the one
 * that begins last before it counts. */
bool unwind_file_address(const struct unwind_file *file, uint64_t file_offset, uint64_t *address);

/* Finds the rule at an address that unwind_file_address returned, the image that contains the rule's expressions, and
 * whether a function starts there. Returns false if there is no rule. */
bool unwind_file_find(struct unwind_file *file, uint64_t address, struct unwind_rule *rule,
                      const struct unwind_image **image, bool *is_start);

/* Finds by how many bytes a stub of the linkage table at that address has moved sp since it was called. Supports x86-64
 * only. Returns false if there is no stub. */
bool unwind_file_find_stub(const struct unwind_file *file, uint64_t address, uint64_t *pushed_bytes);
