/* Uncompressed sections of debug information, in memory that a process shares with the children that it forks. What one
 * child has uncompressed, later ones need not uncompress again: those of the same conversion, and of the next one. The
 * parent never reads the sections, and a child can write only to those that it uncompresses itself, so one that crashes
 * damages nothing. The mutexes are robust: one that a crashed child held wakes those that wait for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_limit;

/* Which section of which file it is. Keys are compared bytewise. */
struct section_key {
    uint64_t device;
    uint64_t inode;
    int64_t changed_ns;
    uint64_t offset;      /* where the compressed bytes are in the file */
    uint64_t bytes_count; /* uncompressed */
};

struct shared_section;

/* Makes the memory, for at most an eighth of the limit, unless this process has it already; NULL: no limit. Call it
 * before children are forked. Without it, nothing is shared. Thread-safe. */
void shared_sections_prepare(const struct memory_limit *limit);

/* Returns the section if it is there; NULL otherwise. If another process uncompresses it, waits for that one. */
const char *shared_sections_find(const struct section_key *key);

/* Reserves memory for the section, which can be written to until shared_section_end. Returns NULL if there is none
 * left. */
char *shared_section_begin(const struct section_key *key, struct shared_section **section);

/* Publishes the section if its bytes are good. */
void shared_section_end(struct shared_section *section, bool is_good);
