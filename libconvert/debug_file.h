/* An ELF file that is opened for its symbols: a program, a library, or the debug information cut off one. */
#ifndef GECKO_DEBUG_FILE_H
#define GECKO_DEBUG_FILE_H

#include <stdint.h>

#include "text.h"

struct Elf;

enum { DEBUG_BUILD_ID_DIGITS_MAX = 128 };

struct debug_file {
    struct Elf *elf; /* NULL: not open */
    int descriptor;
    uint64_t base; /* what addresses in the library are relative to: where its first segment is, rounded down to 4096 */
    uint64_t size_bytes;
    char build_id[DEBUG_BUILD_ID_DIGITS_MAX + 1]; /* lower-case hex; empty without one */
    bool has_code; /* false: its code was cut off, and with it what offsets in the file mean */
    bool has_symbol_table;
    bool has_dwarf;
};

/* Opens the regular file at that path, only to read it. False when it cannot be read or is no program or library of
 * user space; nothing is then to be closed. */
bool debug_file_open(struct debug_file *file, const char *path);

/* Opens the bytes of a file, which stay borrowed until it is closed. For tests and fuzzing: a program or a library alone,
 * without the search for its debug information. */
bool debug_file_open_memory(struct debug_file *file, struct text bytes);

/* Opens a file that has but what the debug information of several files shares. Its `base`, `has_code` and
 * `has_symbol_table` mean nothing. */
bool debug_file_open_supplement(struct debug_file *file, const char *path);
void debug_file_close(struct debug_file *file);

/* False once the file has become shorter than it was when it was opened: what was read of it may then be zeros. */
bool debug_file_is_whole(const struct debug_file *file);

/* The address that the byte at that offset of the file has, as its segments say. */
bool debug_file_address_of_offset(const struct debug_file *file, uint64_t offset, uint64_t *address);

/* Whether there may be code at the address, as the segments say. */
bool debug_file_has_code_at(const struct debug_file *file, uint64_t address);

/* The bytes of the section of that name, which lie in the file; none when it has no such section, or one without bytes.
 */
struct text debug_file_section(const struct debug_file *file, const char *name);

/* Uncompresses the sections of debug information, which libdw else does, and takes those that it has no memory for to
 * be missing. Damaged ones stay as they are. False when memory ran out. */
bool debug_file_uncompress(const struct debug_file *file);

/* The file's link to its debug information: a file name without slash, and the checksum of that file. The name lies in
 * the file. */
bool debug_file_link(const struct debug_file *file, struct text *name, uint32_t *checksum);

/* The link of the file's debug information to its supplement (".gnu_debugaltlink", which dwz makes): a path, relative
 * to the folder that this file is in, and the build id that file has. The path lies in the file. */
bool debug_file_supplement_link(const struct debug_file *file, struct text *path,
                                char build_id[DEBUG_BUILD_ID_DIGITS_MAX + 1]);

/* Whether the checksum of the whole file is that. */
bool debug_file_has_checksum(const struct debug_file *file, uint32_t checksum);

#endif
