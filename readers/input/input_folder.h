/* Recordings that are folders: perf record --threads writes the header to the file `data`, and the records of each of
 * its threads to a file data.0, data.1… perf record --kcore writes such a folder too, with a copy of the kernel's code
 * beside `data`: kcore_dir/kcore, and the lists kcore_dir/kallsyms and kcore_dir/modules. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libconvert/base/failure.h"
#include "libconvert/base/text.h"

/* What a file of such a folder is: the part with that number, or one of these. */
enum {
    INPUT_FOLDER_HEADER = INT32_MAX - 2,
    INPUT_FOLDER_KERNEL, /* in kcore_dir */
    INPUT_FOLDER_OTHER
};

/* The end of a message about such a folder in an archive. */
#define INPUT_FOLDER_PACKED                                                                                          \
    "perf record --threads or --kcore wrote this recording in several files, which cannot be read from an archive; " \
    "unpack it and name the recording's folder as the input"

/* Returns what the file at that path is. *folder becomes the path of its folder, that of the recording if it belongs to
 * one, up to the last slash. It is a part of `path`. */
uint32_t input_folder_number(struct text path, struct text *folder);

/* Returns whether a `data` that begins with these bytes is that of a recording. */
bool input_folder_is_recording(struct text start);

struct input_folder {
    char **paths; /* owned: `data`, then data.0, data.1… in this order */
    size_t path_count;
};

/* Lists the files of the recording. A path that is not such a folder has none. */
void input_folder_list(struct input_folder *folder, const char *path, struct failure *failure);

void input_folder_fini(struct input_folder *folder);
