/* Names of source files under which the viewer fetches them from the web: "git:REPOSITORY:PATH:REVISION" and
 * "cargo:REGISTRY:CRATE-VERSION:PATH" (src/utils/special-paths.ts of the front-end). Compilers write paths of the
 * machine that built a library, but those of Rust's standard library and of packages of Rust and Go tell where they are
 * from. */
#pragma once

#include <limits.h>

#include "libconvert/base/text.h"

struct profile;

enum { SOURCE_NAME_BYTES = PATH_MAX + 128 };

/* Where the user says other folders are: "FOLDER=https://github.com/OWNER/REPOSITORY/tree/REVISION[/FOLDER]". Borrowed,
 * NUL-terminated. */
struct source_urls {
    const char *const *values;
    size_t count;
};

/* Returns whether the text has that form. */
bool source_url_is_valid(const char *url);

/* Returns the name on the web of the file with that path, in `bytes`; an empty text if it has none. `urls` may be
 * NULL. */
struct text source_name_on_web(const struct source_urls *urls, struct text path, char bytes[SOURCE_NAME_BYTES]);

/* Returns the path that a name on the web stands for, as compilers write it: "/rustc/COMMIT/library/…" or
 * "/registry/src/REGISTRY/CRATE-VERSION/…", whatever is before that. Returns an empty text for other names. The path
 * lies in `bytes`. */
struct text source_name_local(struct text name, char bytes[SOURCE_NAME_BYTES]);

/* Gives the sources of the profile their names on the web, where they have one. Their paths become their origins. Call
 * it before sweep_profile. */
void profile_name_sources(struct profile *profile, const struct source_urls *urls);
