/* The file of a recording by the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/console.h"
#include "record.h"

static const char *temporary_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* Creates a file without a name for a recording that is not kept, so that nothing is left however the command ends.
 * Such a file can get a name later only if the file system supports O_TMPFILE. */
static int create_unnamed(const char *folder) {
    char path[4096];
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    snprintf(path, sizeof path, "%s/gecko-convert-XXXXXX", folder);
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0) unlink(path);
    return file;
}

bool record_file_open(struct record *record) {
    const char *kept = record->options->trace_path, *folder = temporary_folder();
    record->trace = kept ? open(kept, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : create_unnamed(folder);
    if (record->trace < 0)
        failure_set(&record->failure, FAILURE_IO, "cannot create %s for the recording: %s%s", kept ? kept : folder,
                    strerror(errno), kept ? "" : ": set TMPDIR to a folder that may be written");
    if (!kept) snprintf(record->trace_path, sizeof record->trace_path, "/proc/self/fd/%d", record->trace);
    if (access(record->trace_path, R_OK))
        failure_set(&record->failure, FAILURE_IO, "without /proc, a recording needs a name: add --trace FILE");
    return !failure_is_set(&record->failure);
}

/* Links the file to the name "START.END". Returns false with errno set: EEXIST if there is such a file. */
static bool link_recording(const char *path, const char *start, const char *end) {
    char name[4096];
    snprintf(name, sizeof name, "%s.%s", start, end);
    return linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* Links all files that the user has not named. Returns how many now have names; 0 if another recording has these names.
 */
static size_t link_recordings(const struct record *record, const char *start) {
    bool is_unnamed = record->is_by_kernel && !record->options->trace_path;
    size_t count = is_unnamed && link_recording(record->trace_path, start, "data");
    if (is_unnamed && !count && errno == EEXIST) return 0;
    for (size_t i = 0; i < record->traces.count; i++) {
        const char *path = record->traces.paths[i];
        count += link_recording(path, start, strrchr(path, '/') + 1);
    }
    return count;
}

/* Names are numbered because in a container, the process often has the same pid as an earlier one that may have left a
 * recording, too. */
void record_file_rescue(const struct record *record, int exit_code) {
    enum { NAME_COUNT = 1000 };
    char start[2048];
    const char *named = record->options->trace_path;
    size_t count = 0;
    bool is_useless = exit_code == FAILURE_INPUT && !record->recording.sample_count;
    if (!exit_code || is_useless) return;
    errno = EEXIST;
    for (int i = 0; i < NAME_COUNT && !count && errno == EEXIST; i++) {
        snprintf(start, sizeof start, "%s/gecko-convert-%d-%d", temporary_folder(), (int)getpid(), i);
        count = link_recordings(record, start);
    }
    if (count)
        console_print_message("the recording is kept: make a profile of it with gecko-convert %s%s%s.%s -o FILE",
                              named ? named : "", named ? " " : "", start, record->traces.count ? "*" : "data");
}
