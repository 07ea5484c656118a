/* An ELF file that is opened for its symbols: a program, a library, or debug information that was split off from
 * one. */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "libconvert/base/text.h"

struct Elf;

enum { DEBUG_BUILD_ID_DIGITS_MAX = 128 };

/* Debug information gives code that the linker dropped an address near 0. No code can be below this address, because
 * the header of an ELF file, which has at least this many bytes, is there. */
enum { DEBUG_ADDRESS_MIN = 52 };

/* A section that was uncompressed. */
struct debug_bytes {
    struct debug_bytes *next;
    char values[];
};

struct debug_load;

struct debug_file {
    struct Elf *elf; /* NULL: not open */
    int descriptor;
    uint64_t base; /* address of the library's first segment, rounded down to 4096 */
    uint64_t size_bytes;
    char build_id[DEBUG_BUILD_ID_DIGITS_MAX + 1]; /* lower-case hex; empty if there is none */
    bool has_code; /* false: the code was split off, so offsets in the file mean nothing */
    bool has_symbol_table;
    bool has_dwarf;
    struct debug_bytes *uncompressed; /* owned */
    struct debug_load *loads;         /* owned; segments that are loaded */
    size_t load_count;
};

/* Opens the regular file at that path for reading, on this machine or, unless `root` is NULL, on the one whose file
 * system is below it (see sysroot.h), and stores its path there in real_path. Returns false if it cannot be read, or is
 * not a program or a library of user space; then there is nothing to close. */
bool debug_file_open(struct debug_file *file, const char *root, const char *path, char real_path[PATH_MAX]);

/* Opens the bytes of a file, which stay borrowed until it is closed. For tests and fuzzing: a single program or
 * library, without the search for its debug information. */
bool debug_file_open_memory(struct debug_file *file, struct text bytes);

/* Opens the bytes of any ELF file, such as a module of the kernel, like debug_file_open_memory. Its `base` means
 * nothing. */
bool debug_file_open_object(struct debug_file *file, struct text bytes);

/* Opens a file that holds only what several files share of their debug information, or another ELF file, such
 * as a kernel. Its `base` and `has_code` mean nothing. */
bool debug_file_open_supplement(struct debug_file *file, const char *root, const char *path);

void debug_file_close(struct debug_file *file);

/* Returns false if the file has been truncated since it was opened: what was read of it may then be zeros. */
bool debug_file_is_whole(const struct debug_file *file);

/* Stores the address of the byte at that offset of the file, according to its segments. */
bool debug_file_address_of_offset(const struct debug_file *file, uint64_t offset, uint64_t *address);

/* Returns whether there may be code at the address, according to the segments. */
bool debug_file_has_code_at(const struct debug_file *file, uint64_t address);

/* Returns the machine code from the address to the end of its segment. The bytes belong to the file. Returns an empty
 * text if the file has no code at that address. */
struct text debug_file_code(const struct debug_file *file, uint64_t address);

/* Returns the processor that the file is for, as ELF numbers it (EM_X86_64), or 0 if the file does not say. */
unsigned debug_file_machine(const struct debug_file *file);

/* Returns the address at which the file starts as a program; 0 if it is a library, or does not say. */
uint64_t debug_file_entry(const struct debug_file *file);

/* Returns the bytes of the section of that name, which belong to the file; an empty text if it has none, or one without
 * bytes. */
struct text debug_file_section(const struct debug_file *file, const char *name);

/* Uncompresses the sections of debug information. Otherwise libdw would, and would treat sections that it has no memory
 * for as missing. Damaged sections stay as they are. Returns false if memory ran out. */
bool debug_file_uncompress(struct debug_file *file);

/* Stores the file's link to its debug information: a file name without a slash, which belongs to this file, and the
 * checksum of the other file. */
bool debug_file_link(const struct debug_file *file, struct text *name, uint32_t *checksum);

/* Stores the link from the file's debug information to its supplement (".gnu_debugaltlink", which dwz makes): a path,
 * relative to the folder of this file, and the build id of the supplement. The path belongs to this file. */
bool debug_file_supplement_link(const struct debug_file *file, struct text *path,
                                char build_id[DEBUG_BUILD_ID_DIGITS_MAX + 1]);

/* Takes a section from the bytes that may still be read of a file, whose size they are at first. Returns false if too
 * few are left: sections of a hostile file overlap, and reading all of them would take memory without end. */
static inline bool debug_file_take_section(uint64_t *bytes_left, uint64_t bytes_count) {
    if (bytes_count > *bytes_left) return false;
    *bytes_left -= bytes_count;
    return true;
}

/* Returns whether the whole file has that checksum. */
bool debug_file_has_checksum(const struct debug_file *file, uint32_t checksum);
