/* Finds the functions, files and lines of addresses in the symbols and the debug information of their libraries.
 *
 * A frame is replaced by the chain of frames that run at its address: the physical function, and those inlined into it.
 * If nothing is found, the frame keeps its library and address, so that another program can look it up later. */
#pragma once

#include "debug_file_search.h"
#include "libconvert/base/progress.h"
#include "libconvert/profile/profile.h"

/* The addresses of frames are looked up as they are: readers have already subtracted 1 from return addresses. If they
 * are offsets in the file (profile_meta.has_file_offsets), frames that are found get addresses relative to the
 * library's start. */

struct symbolize_options {
    enum gecko_convert_symbols symbols;
    struct debug_folders folders;
    bool asks_servers;  /* those of DEBUGINFOD_URLS, for what is not on this machine */
    unsigned job_count; /* most threads that look up; at least 1 */

    /* For the files of perf inject --jit, whose symbols are names of generated code. NULL: names are just names. */
    profile_name_func *name_func;
};

/* Call it after the reader and before profile_finish. Looks up each distinct address once, in a child process. Enters
 * notes into the ledger for addresses that were not found, and for files that were refused, truncated, or used without
 * a build id to compare. If reading a library crashes the child, or no child can be started, the addresses are entered
 * as lost. All ids of stacks become invalid. Rows that are no longer used remain until sweep_profile. */
void profile_symbolize(struct profile *profile, const struct symbolize_options *options, struct progress progress);
