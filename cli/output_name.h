/* What an output is named after: the input's name without what says how it was packed and that it was text. */
#ifndef GECKO_OUTPUT_NAME_H
#define GECKO_OUTPUT_NAME_H

#include "libconvert/text.h"

#define OUTPUT_NAME_SUFFIX ".profile.json"

/* The start of the path that goes into the output's name: "logs/app.perf.txt.zst" gives "logs/app.perf". */
struct text output_name_stem(struct text path);

/* The same for an archive, whose stem is a folder: "logs/run.tar.zst" gives "logs/run". */
struct text output_name_folder(struct text path);

#endif
