/* Finds the files that hold the symbols of a library: the library itself, and the file to which its debug information
 * was moved. */
#pragma once

#include <limits.h>

#include "debug_file.h"
#include "libconvert/profile/libs.h"

/* Folders to search before those of the system; borrowed, NUL-terminated. */
struct debug_folders {
    const char *const *paths;
    size_t count;
    const char *sysroot; /* the recorded machine's or container's file system is below it; NULL: this machine's */
    const char *fetched; /* what servers had is below it, by build id (debug_server.h); NULL: nothing */
};

enum debug_search_outcome {
    DEBUG_FILE_MISSING, /* there is no file, or none can be read */
    DEBUG_FILE_REFUSED, /* there are files, but all have another build id */
    DEBUG_FILE_FOUND
};

struct debug_files {
    struct debug_file first;      /* the first file of this library that was found */
    struct debug_file second;     /* one with more symbols; not open if there is none */
    struct debug_file supplement; /* what several files share of their debug information; not open if there is none */
    bool is_verified;             /* the first file has the library's known build id */
    bool lacks_supplement;        /* the debug information refers to a supplement that was not found */
};

/* Searches in this order: below the sysroot, the path of the library and the system's folder of debug information; kept
 * files, if the build id is unknown; the path of the library; in each of the folders, .build-id/xx/yyyy.debug, the
 * library's path and its name, each also with ".debug" appended; the system's folder of debug information, by build id;
 * perf's cache, .build-id/xx/yyyy/{debug,elf} in each of the folders and in ~/.debug; what servers had; kept files;
 * then, by the link in the file that was found, the folder of that file, ".debug" in it, and below the folders. A
 * supplement is searched for at the path in the debug information, and in the folders by build id. Links of files below
 * the sysroot are followed there.
 *
 * A file with another build id is refused. If the build id is unknown, the first file counts, and a linked file if its
 * checksum is right. Only absolute paths are tried, and none for a library that is not a file ("[vdso]"). If the result
 * is DEBUG_FILE_FOUND, close the files. If memory ran out (latched), returns DEBUG_FILE_MISSING. */
enum debug_search_outcome debug_files_open(struct debug_files *files, const struct lib *lib,
                                           const struct debug_folders *folders, struct failure *failure);
void debug_files_close(struct debug_files *files);

/* Writes the path of perf's own copies of what it has recorded, ~/.debug. Returns false if HOME is not set. */
bool debug_copies_folder(char folder[PATH_MAX]);

/* Finds the copy of that name ("kallsyms", "vdso") for the build id (hex) in one of the folders, where "perf archive"
 * may have packed it, or in perf's own. Returns false if there is none. */
bool debug_copies_find(const struct debug_folders *folders, struct text build_id, const char *name,
                       char path[PATH_MAX]);

/* Returns false if debug_files_open would find no file. Opens none. */
bool debug_files_exist(const struct lib *lib, const struct debug_folders *folders);

/* Returns false if one of the files has been truncated. */
bool debug_files_are_whole(const struct debug_files *files);

/* Return the file whose DWARF or whose symbol table to use. */
struct debug_file *debug_files_dwarf(struct debug_files *files); /* NULL: none has any */
const struct debug_file *debug_files_symbols(struct debug_files *files);
