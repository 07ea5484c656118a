/* Where the symbols of a library are: the file itself, and the one that its debug information was moved to. */
#ifndef GECKO_DEBUG_FILE_SEARCH_H
#define GECKO_DEBUG_FILE_SEARCH_H

#include "debug_file.h"
#include "libs.h"

/* Folders to look in before the system's, borrowed, terminated. */
struct debug_folders {
    const char *const *paths;
    size_t count;
};

enum debug_search_outcome {
    DEBUG_FILE_MISSING, /* no file, or none that can be read */
    DEBUG_FILE_REFUSED, /* there are files, all of another build id */
    DEBUG_FILE_FOUND
};

struct debug_files {
    struct debug_file first;  /* the first file of this library that was found */
    struct debug_file second; /* one that says more; not open where there is none */
    struct debug_file
        supplement;        /* what the debug information shares with that of others; not open where there is none */
    bool is_verified;      /* the first one has the build id that the library is known to have */
    bool lacks_supplement; /* the debug information refers to one that was not found */
};

/* Looks at the library's path; in each of the folders at .build-id/xx/yyyy.debug, at the library's path and name, each
 * also with .debug behind; in the system's folder of debug information by build id; and, through the link in the file
 * that was found, beside it, in .debug beside it, and below those folders. Where the debug information says where its
 * supplement is, looks there and in the folders by build id. A file of another build id is refused; where there is no
 * build id to compare, the first file found is taken, and a linked one by its checksum. Only absolute paths are looked
 * at, and never one of a library that is no file ("[vdso]"). The files are to be closed when found. DEBUG_FILE_MISSING
 * when memory ran out (latched). */
enum debug_search_outcome debug_files_open(struct debug_files *files, const struct lib *lib,
                                           const struct debug_folders *folders, struct failure *failure);
void debug_files_close(struct debug_files *files);

/* False once one of the files has become shorter. */
bool debug_files_are_whole(const struct debug_files *files);

/* The file whose DWARF, whose symbol table counts. */
const struct debug_file *debug_files_dwarf(const struct debug_files *files); /* NULL: none has any */
const struct debug_file *debug_files_symbols(const struct debug_files *files);

#endif
