#include "recorder_traces.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char RECORDS[] = "GECKO_RECORDER";
static const char OUTPUT[] = "GECKO_RECORDER_OUTPUT";
static const char INTERVAL[] = "GECKO_RECORDER_INTERVAL";
static const char PRELOAD[] = "LD_PRELOAD";

enum { PATH_BYTES = 4096 }; /* PATH_MAX, for realpath */

/* ---- The folder. ---- */

static const char NAME[] = "gecko-convert-record-";

enum { NAME_DIGITS = 16 };

static int is_folder_name(const struct dirent *entry) {
    const char *digits = entry->d_name + sizeof NAME - 1;
    return strncmp(entry->d_name, NAME, sizeof NAME - 1) == 0 && strlen(digits) == NAME_DIGITS &&
           strspn(digits, "0123456789abcdef") == NAME_DIGITS;
}

/* Removes the folder if no process has locked it. A new folder may not be locked yet, so it is left alone. */
static void remove_left_folder(const char *path) {
    enum { AGE_S_MIN = 60 };
    struct stat status;
    struct workspace left = {0};
    struct failure ignored = {0};
    if (stat(path, &status) || time(NULL) - status.st_mtime < AGE_S_MIN) return;
    workspace_init(&left, path, &ignored);
    workspace_fini(&left);
}

static void remove_left_folders(const char *place) {
    struct dirent **entries = NULL;
    int count = scandir(place, &entries, is_folder_name, NULL);
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/%s", place, entries[i]->d_name) > 0) remove_left_folder(path);
        free(path);
        free(entries[i]);
    }
    free(entries);
}

static void name_variable(struct failure *failure) {
    struct failure refusal = *failure;
    if (refusal.code != FAILURE_IO) return;
    failure_clear(failure);
    failure_set(failure, refusal.code, "%s: set TMPDIR to a folder that may be written", refusal.message);
}

bool recorder_traces_init(struct recorder_traces *traces, struct failure *failure) {
    char place[PATH_BYTES], *path = NULL;
    const char *wanted = getenv("TMPDIR");
    uint64_t number = 0;
    *traces = (struct recorder_traces){0};
    if (!wanted || !*wanted) wanted = "/tmp";
    bool is_good = realpath(wanted, place) && /* programs may run in other folders */
                   getrandom(&number, sizeof number, 0) == sizeof number;
    if (!is_good)
        failure_set(failure, FAILURE_IO, "cannot use the folder %s: %s", wanted, strerror(errno));
    else if (asprintf(&path, "%s/%s%0*" PRIx64, place, NAME, NAME_DIGITS, number) < 0)
        failure_set_memory(failure);
    else
        workspace_init(&traces->folder, path, failure);
    if (traces->folder.is_locked) remove_left_folders(place);
    name_variable(failure);
    free(path);
    return !failure_is_set(failure);
}

/* ---- The traces. ---- */

static int is_trace(const struct dirent *entry) {
    const char *end = strrchr(entry->d_name, '.');
    return end && strcmp(end, ".trace") == 0;
}

void recorder_traces_find(struct recorder_traces *traces, struct failure *failure) {
    struct dirent **entries = NULL;
    const char *folder = traces->folder.path;
    int count = folder ? scandir(folder, &entries, is_trace, alphasort) : 0;
    traces->paths = calloc(count > 0 ? (size_t)count : 1, sizeof *traces->paths);
    if (!traces->paths || count < 0) failure_set_memory(failure);
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        bool is_good = traces->paths && asprintf(&path, "%s/%s", folder, entries[i]->d_name) > 0;
        if (is_good)
            traces->paths[traces->count++] = path;
        else
            failure_set_memory(failure);
        free(entries[i]);
    }
    free(entries);
}

void recorder_traces_fini(struct recorder_traces *traces) {
    for (size_t i = 0; i < traces->count; i++) free(traces->paths[i]);
    free(traces->paths);
    workspace_fini(&traces->folder);
}

/* ---- The library. ---- */

/* Where to find the library, relative to the program: in a build, beside the static program, or installed. */
static const char *const library_places[] = {"libgecko_preload.so", "../libgecko_preload.so",
                                             "../lib/libgecko_preload.so.[0-9]", "../lib/*/libgecko_preload.so.[0-9]",
                                             "../lib64/libgecko_preload.so.[0-9]"};

static bool find_library(char *path) {
    char program[PATH_BYTES / 2], pattern[PATH_BYTES];
    ssize_t bytes_count = readlink("/proc/self/exe", program, sizeof program - 1);
    if (bytes_count <= 0) return false;
    program[bytes_count] = '\0';
    *strrchr(program, '/') = '\0';
    bool is_found = false;
    for (size_t i = 0; i < sizeof library_places / sizeof *library_places && !is_found; i++) {
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s/%s", program, library_places[i]);
        if (glob(pattern, 0, NULL, &found)) continue;
        snprintf(path, PATH_BYTES, "%s", found.gl_pathv[0]);
        globfree(&found);
        is_found = true;
    }
    return is_found;
}

static bool preload(struct recorder_traces *traces, struct failure *failure) {
    char path[PATH_BYTES], *all = NULL;
    const char *before = getenv(PRELOAD);
    if (!find_library(path)) {
        failure_set(failure, FAILURE_IO, "libgecko_preload.so is neither beside this program nor in ../lib");
        return false;
    }
    traces->preloaded_before = before ? strdup(before) : NULL;
    bool is_good = asprintf(&all, "%s%s%s", path, before ? ":" : "", before ? before : "") > 0;
    traces->is_preload_set = is_good && setenv(PRELOAD, all, 1) == 0;
    if (!is_good || (before && !traces->preloaded_before)) failure_set_memory(failure);
    if (is_good) free(all);
    return !failure_is_set(failure);
}

/* ---- The environment. ---- */

/* Doubles percent signs, which begin patterns in the names of traces. */
static void set_output(const char *folder) {
    char output[2 * PATH_BYTES + 16];
    size_t count = 0;
    for (const char *at = folder; *at; at++) {
        output[count++] = *at;
        if (*at == '%') output[count++] = '%';
    }
    snprintf(output + count, sizeof output - count, "/%%e-%%p.trace");
    setenv(OUTPUT, output, 1);
}

bool recorder_traces_set_environment(struct recorder_traces *traces, unsigned frequency_hz, struct failure *failure) {
    enum { MS_PER_S = 1000, INTERVAL_US_MIN = 100, US_PER_MS = 1000 };
    char interval[32] = "0";
    if (getenv(RECORDS) && !frequency_hz) return true;
    double interval_ms = frequency_hz ? MS_PER_S / (double)frequency_hz : 0;
    if (frequency_hz && interval_ms * US_PER_MS < INTERVAL_US_MIN) {
        failure_set(failure, FAILURE_USAGE, "--frequency %u: the recorder takes at most 10000 samples a second",
                    frequency_hz);
        return false;
    }
    if (frequency_hz) snprintf(interval, sizeof interval, "%.4f", interval_ms);
    setenv(RECORDS, "1", 1);
    set_output(traces->folder.path);
    setenv(INTERVAL, interval, 1);
    traces->is_environment_set = true;
    return !frequency_hz || preload(traces, failure);
}

void recorder_traces_restore_environment(struct recorder_traces *traces) {
    if (!traces->is_environment_set) return;
    unsetenv(RECORDS);
    unsetenv(OUTPUT);
    unsetenv(INTERVAL);
    if (traces->is_preload_set && traces->preloaded_before)
        setenv(PRELOAD, traces->preloaded_before, 1);
    else if (traces->is_preload_set)
        unsetenv(PRELOAD);
    free(traces->preloaded_before);
    traces->preloaded_before = NULL;
    traces->is_environment_set = traces->is_preload_set = false;
}
