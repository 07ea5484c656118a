#include "recorder_traces.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char RECORDS[] = "GECKO_RECORDER";
static const char OUTPUT[] = "GECKO_RECORDER_OUTPUT";
static const char INTERVAL[] = "GECKO_RECORDER_INTERVAL";
static const char PRELOAD[] = "LD_PRELOAD";

bool recorder_traces_init(struct recorder_traces *traces, struct failure *failure) {
    char path[RECORDER_PATH_BYTES];
    const char *folder = getenv("TMPDIR");
    *traces = (struct recorder_traces){0};
    snprintf(path, sizeof path, "%s/gecko-convert-XXXXXX", folder && *folder ? folder : "/tmp");
    /* Programs may run in other folders. */
    if (mkdtemp(path) && realpath(path, traces->folder)) return true;
    failure_set(failure, FAILURE_IO, "cannot create the folder %s: %s", path, strerror(errno));
    traces->folder[0] = '\0';
    return false;
}

/* ---- The traces. ---- */

static int is_trace(const struct dirent *entry) {
    const char *end = strrchr(entry->d_name, '.');
    return end && strcmp(end, ".trace") == 0;
}

void recorder_traces_find(struct recorder_traces *traces, struct failure *failure) {
    struct dirent **entries = NULL;
    int count = traces->folder[0] ? scandir(traces->folder, &entries, is_trace, alphasort) : 0;
    traces->paths = calloc(count > 0 ? (size_t)count : 1, sizeof *traces->paths);
    if (!traces->paths || count < 0) failure_set_memory(failure);
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        bool is_good = traces->paths && asprintf(&path, "%s/%s", traces->folder, entries[i]->d_name) > 0;
        if (is_good)
            traces->paths[traces->count++] = path;
        else
            failure_set_memory(failure);
        free(entries[i]);
    }
    free(entries);
}

static void forget(struct recorder_traces *traces) {
    for (size_t i = 0; i < traces->count; i++) free(traces->paths[i]);
    free(traces->paths);
    traces->paths = NULL;
    traces->count = 0;
}

void recorder_traces_remove(const struct recorder_traces *traces) {
    for (size_t i = 0; i < traces->count; i++) unlink(traces->paths[i]);
    if (traces->folder[0]) rmdir(traces->folder);
}

void recorder_traces_fini(struct recorder_traces *traces) {
    struct failure ignored = {0};
    forget(traces);
    recorder_traces_find(traces, &ignored);
    recorder_traces_remove(traces);
    forget(traces);
}

/* ---- The library. ---- */

/* Where the library is, seen from the program: in a build, beside the static program, or installed. */
static const char *const library_places[] = {"libgecko_preload.so", "../libgecko_preload.so",
                                             "../lib/libgecko_preload.so.[0-9]", "../lib/*/libgecko_preload.so.[0-9]",
                                             "../lib64/libgecko_preload.so.[0-9]"};

static bool find_library(char *path) {
    char program[RECORDER_PATH_BYTES / 2], pattern[RECORDER_PATH_BYTES];
    ssize_t bytes_count = readlink("/proc/self/exe", program, sizeof program - 1);
    if (bytes_count <= 0) return false;
    program[bytes_count] = '\0';
    *strrchr(program, '/') = '\0';
    bool is_found = false;
    for (size_t i = 0; i < sizeof library_places / sizeof *library_places && !is_found; i++) {
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s/%s", program, library_places[i]);
        if (glob(pattern, 0, NULL, &found)) continue;
        snprintf(path, RECORDER_PATH_BYTES, "%s", found.gl_pathv[0]);
        globfree(&found);
        is_found = true;
    }
    return is_found;
}

static bool preload(struct recorder_traces *traces, struct failure *failure) {
    char path[RECORDER_PATH_BYTES], *all = NULL;
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

/* In the names that the recorder gives to traces, a percent sign has a meaning. */
static void set_output(const char *folder) {
    char output[2 * RECORDER_PATH_BYTES + 16];
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
    set_output(traces->folder);
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
