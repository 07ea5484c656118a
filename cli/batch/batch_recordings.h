/* Finds the members of an archive that are the files of one recording of perf, which is a folder there. The header
 * `data` has the entry that is converted, and the entries of its other files are BATCH_PART. */
#ifndef GECKO_BATCH_RECORDINGS_H
#define GECKO_BATCH_RECORDINGS_H

#include "batch_entry.h"
#include "libconvert/base/column.h"
#include "readers/input/input_spool.h"

struct batch_source;

struct batch_recording {
    size_t header; /* number of the entry in the source */
    size_t file_count;

    /* While the archive is converted. */
    size_t seen_count;
    struct input_spool *spool; /* owned; NULL: not begun, or given away */
};

struct batch_recordings {
    struct column files; /* struct batch_recording_file, in the order of the entries */
    struct column rows;  /* struct batch_recording */
};

void batch_recordings_init(struct batch_recordings *recordings, struct failure *failure);
void batch_recordings_fini(struct batch_recordings *recordings);

/* Finds the recordings among the members of the source from `first` on. A folder is a recording if its `data` is a
 * trace, and data.0 or a file of kcore_dir is there, as input_folder.h has it. Running out of memory is latched in the
 * source. */
void batch_recordings_find(struct batch_source *source, size_t first);

/* Returns the recording that the entry is a file of, and that file's input_folder_number; NULL if there is none. */
struct batch_recording *batch_recordings_of(const struct batch_recordings *recordings, size_t entry_number,
                                            uint32_t *file_number);

/* Prepares for another conversion of the archive. */
void batch_recordings_restart(struct batch_recordings *recordings);

#endif
