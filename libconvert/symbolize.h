/* Gives addresses in libraries their functions, files and lines, from the libraries' symbols and debug information.
 *
 * A frame becomes the chain of frames that run at its address: the physical function and those inlined into it. Frames
 * of which nothing is found stay as they are, with library and address, so that others can look them up later. */
#ifndef GECKO_SYMBOLIZE_H
#define GECKO_SYMBOLIZE_H

#include "debug_file_search.h"
#include "profile.h"
#include "progress.h"

/* Addresses are what to look up: a reader has taken 1 off return addresses. Where they are offsets in the file
 * (profile_meta.has_file_offsets), frames that were found get theirs relative to the library's start. */

enum symbols_choice {
    SYMBOLS_AUTO,  /* frames that the trace has only an address of: named "0x12ab", without a symbol */
    SYMBOLS_NONE,  /* none */
    SYMBOLS_ALWAYS /* all with library and address; what the trace says stays where nothing is found */
};

struct symbolize_options {
    enum symbols_choice symbols;
    struct debug_folders folders;
};

/* Between the reader and profile_finish. Each distinct address is looked up once, one library after the other. What was
 * not found, and files that were refused or taken on trust, are noted in the ledger. Ids of stacks from before are
 * void; rows that nothing refers to any more are left to sweep_profile. */
void profile_symbolize(struct profile *profile, const struct symbolize_options *options, struct progress progress);

#endif
