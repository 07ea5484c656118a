/* The name of an output, made from the input's name without the suffixes that say how it was packed or that it was
 * text. */
#ifndef GECKO_OUTPUT_NAME_H
#define GECKO_OUTPUT_NAME_H

#include "libconvert/base/text.h"

#define OUTPUT_NAME_SUFFIX ".profile.json"

/* Returns the start of the path that becomes part of the output's name: "logs/app.perf" for "logs/app.perf.txt.zst". */
struct text output_name_stem(struct text path);

/* Returns the folder for the outputs of an archive: "logs/run" for "logs/run.tar.zst". */
struct text output_name_folder(struct text path);

#endif
