/* Puts the text of source files into the profile, so that the viewer can show it without fetching anything. */
#pragma once

#include "libconvert/profile/profile.h"
#include "libconvert/symbols/debug_server.h"
#include "source_search.h"

/* The causes of all ledger entries that this enters begin so. */
#define EMBED_SOURCES_CAUSE "source file"

/* Fills source_contents with the files that the profile's sources name, at most max_bytes of them: first those with the
 * most samples, where a sample counts for its innermost frame with a known source. A file that does not fit is left
 * out, and smaller ones are still tried. Files that looked_up_sources does not have are not vouched for: see
 * source_search.h. Notes in the ledger, and so in the information panel, how many files were embedded, not found,
 * unreadable, left out and why, or changed after a library was built from them. Call it after sweep_profile. Opens
 * regular files only. Files that are not found are fetched from the server, unless it is NULL, if the debug information
 * of a library with a known build id names them. */
void profile_embed_sources(struct profile *profile, const struct source_search *search, struct debug_server *server,
                           uint64_t max_bytes);
