/* The name of an output, made from the input's name without the suffixes that say how it was packed or that it was
 * text. */
#pragma once

#include "libconvert/base/text.h"

/* Returns the start of the path that becomes part of the output's name: "logs/app.perf" for "logs/app.perf.txt.zst". */
struct text output_name_stem(struct text path);

/* Returns the folder for the outputs of an archive: "logs/run" for "logs/run.tar.zst". */
struct text output_name_folder(struct text path);

struct output_suffix {
    char bytes[32];
};

/* Returns the suffix of profiles in the format, a value of --format or NULL: ".profile.json", or ".profile.json.gz", by
 * which they are compressed. */
struct output_suffix output_name_suffix(const char *format, bool is_compressed);

/* Returns the name of the profile: "logs/app.perf.profile.json" for "logs/app.perf.txt.zst". The caller frees it. NULL:
 * memory ran out. */
char *output_name_of(struct text path, const char *format, bool is_compressed);
