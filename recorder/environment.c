#include "environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/sample/own_signal.h"
#include "recorder/sample/sampler.h"
#include "recorder/state/pool.h"
#include "session.h"
#include "settings.h"

enum { INTERVAL_US_MAX = 1000000000 };

static bool is_started_here;

bool environment_has_started(void) { return is_started_here; }

static const char help_text[] =
    "gecko-recorder " GREC_VERSION
    ": variables of the environment\n"
    "GECKO_RECORDER=1             record from the start of the program to its end\n"
    "GECKO_RECORDER_OUTPUT=PATH   the trace; %p is the process id, %e the program (default %e-%p.trace)\n"
    "GECKO_RECORDER_LIMIT=SIZE    size of the trace (64M, 1G, \"unlimited\"; default 128M): at the limit, the oldest "
    "events "
    "are dropped\n"
    "GECKO_RECORDER_CHUNK=SIZE    size of its chunks: a power of two from 4K to 1M (default 64K)\n"
    "GECKO_RECORDER_DURATION=S    keep the last S seconds only (default: all that the limit leaves)\n"
    "GECKO_RECORDER_STORAGE=KIND  \"file\", or \"memory\": written when the program ends (default file)\n"
    "GECKO_RECORDER_INTERVAL=MS   milliseconds between samples, from 0.1; 0: no samples (default 1)\n"
    "GECKO_RECORDER_ALL_THREADS=1 also sample threads that do not register (default if the library is preloaded)\n"
    "GECKO_RECORDER_THREADS=WORDS record threads whose names contain one of these words, comma-separated\n"
    "GECKO_RECORDER_CHILDREN=0    do not record forked and executed children (default 1: into the same trace)\n"
    "GECKO_RECORDER_CLOCK=monotonic  do not use the processor's cycle counter\n"
    "GECKO_RECORDER_SIGNAL=NAME   interrupt threads by this signal: URG, WINCH, USR1, RTMAX-1, ... (default URG or "
    "WINCH)\n"
    "GECKO_RECORDER_EVENTS=0      interrupt threads by timers alone, not by the kernel's events\n"
    "GECKO_RECORDER_HELP=1        print this; the program continues\n";

static bool is_true(const char *value) { return value && *value && strcmp(value, "0") != 0; }

/* Parses a number of bytes with an optional unit. */
static bool parse_size(const char *text, uint64_t *bytes) {
    static const char units[] = "KMG";
    char *end;
    if (!strcmp(text, "unlimited")) {
        *bytes = GREC_UNLIMITED;
        return true;
    }
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    const char *unit = *end && *end != ' ' ? strchr(units, *end & ~0x20) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (errno || end[unit ? 1 : 0] || (shift && number >> (64 - shift))) return false;
    *bytes = (uint64_t)number << shift;
    return *bytes > 0;
}

static bool refuse(const char *name, const char *value, const char *wanted) {
    fprintf(stderr, "gecko-recorder: %s=%s is not %s: nothing is recorded\n", name, value, wanted);
    return false;
}

static bool read_size(const char *name, uint64_t *bytes) {
    const char *value = secure_getenv(name);
    if (!value || !*value || parse_size(value, bytes)) return true;
    return refuse(name, value, "a size (64M, 1G)");
}

static bool read_duration(uint32_t *duration_s) {
    const char *value = secure_getenv("GECKO_RECORDER_DURATION");
    char *end;
    if (!value || !*value) return true;
    unsigned long number = *value >= '0' && *value <= '9' ? strtoul(value, &end, 10) : 0;
    *duration_s = (uint32_t)number;
    return (number && number <= UINT32_MAX && !*end) || refuse("GECKO_RECORDER_DURATION", value, "a number of seconds");
}

static bool read_storage(uint32_t *storage) {
    const char *value = secure_getenv("GECKO_RECORDER_STORAGE");
    if (!value || !*value || !strcmp(value, "file")) return true;
    *storage = GREC_STORAGE_MEMORY;
    return !strcmp(value, "memory") || refuse("GECKO_RECORDER_STORAGE", value, "file or memory");
}

static bool read_interval(struct grec_options *options) {
    const char *value = getenv("GECKO_RECORDER_INTERVAL");
    char *end;
    options->flags |= GREC_SAMPLER;
    if (!value || !*value) return true;
    double interval_us = strtod(value, &end) * 1000;
    if (interval_us == 0 && end != value && !*end) {
        options->flags &= ~(uint32_t)GREC_SAMPLER;
        return true;
    }
    if (*end || !(interval_us >= SAMPLER_INTERVAL_US_MIN - 0.5 && interval_us <= INTERVAL_US_MAX))
        return refuse("GECKO_RECORDER_INTERVAL", value, "a number of milliseconds from 0.1, or 0");
    options->interval_us = (uint32_t)(interval_us + 0.5);
    return true;
}

/* By default, all threads of a program that preloads the library are sampled, since none of them registers. */
static void read_all_threads(struct grec_options *options) {
    const char *value = getenv("GECKO_RECORDER_ALL_THREADS"), *preloaded = getenv("LD_PRELOAD");
    bool is_preloaded = preloaded && strstr(preloaded, "libgecko_recorder");
    if (value && *value ? strcmp(value, "0") != 0 : is_preloaded) options->flags |= GREC_ALL_THREADS;
}

static bool check_clock(void) {
    const char *value = secure_getenv("GECKO_RECORDER_CLOCK");
    return !value || !*value || !strcmp(value, "monotonic") || refuse("GECKO_RECORDER_CLOCK", value, "monotonic");
}

static bool check_signal(void) {
    const char *value = secure_getenv("GECKO_RECORDER_SIGNAL");
    int number;
    return !value || !*value || own_signal_parse(value, &number) ||
           refuse("GECKO_RECORDER_SIGNAL", value,
                  "one of URG, WINCH, IO, PROF, PWR, USR1, USR2, VTALRM, RTMIN+N, RTMAX-N");
}

static bool check_events(void) {
    const char *value = secure_getenv("GECKO_RECORDER_EVENTS");
    return !value || !*value || !strcmp(value, "0") || !strcmp(value, "1") ||
           refuse("GECKO_RECORDER_EVENTS", value, "0 or 1");
}

/* Checks values that are well-formed, but out of range. */
static bool check_ranges(const struct grec_options *options) {
    static const struct {
        const char *variable, *wanted;
    } ranges[] = {
        [SETTINGS_OPTION_PATH] = {"GECKO_RECORDER_OUTPUT",
                                  "a path of up to 1023 bytes, with %p, %e or %% where it has a percent sign"},
        [SETTINGS_OPTION_LIMIT] = {"GECKO_RECORDER_LIMIT", "a size from 64K, and of 16 chunks or more"},
        [SETTINGS_OPTION_CHUNK] = {"GECKO_RECORDER_CHUNK", "a power of two from 4K to 1M"},
        [SETTINGS_OPTION_DURATION] = {"GECKO_RECORDER_DURATION", "possible in a trace without a limit"},
        [SETTINGS_OPTION_THREADS] = {"GECKO_RECORDER_THREADS", "words of up to 511 bytes"},
    };
    struct settings settings;
    enum settings_option refused = settings_resolve(options, &settings);
    const char *value = refused && refused < SETTINGS_OPTION_OTHER ? secure_getenv(ranges[refused].variable) : NULL;
    return !value || refuse(ranges[refused].variable, value, ranges[refused].wanted);
}

static const char *text_or_null(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

static bool read_options(struct grec_options *options) {
    uint64_t chunk_bytes = 0;
    *options = (struct grec_options){.path = text_or_null("GECKO_RECORDER_OUTPUT"),
                                     .threads = text_or_null("GECKO_RECORDER_THREADS")};
    const char *children = secure_getenv("GECKO_RECORDER_CHILDREN");
    if (children && !strcmp(children, "0")) options->flags |= GREC_NO_CHILDREN;
    if (!read_size("GECKO_RECORDER_LIMIT", &options->limit_bytes) || !read_size("GECKO_RECORDER_CHUNK", &chunk_bytes) ||
        !read_duration(&options->duration_s) || !read_storage(&options->storage) || !read_interval(options) ||
        !check_clock() || !check_signal() || !check_events())
        return false;
    read_all_threads(options);
    options->chunk_bytes = chunk_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)chunk_bytes;
    return check_ranges(options);
}

/* Returns true if this program has joined, or must not record: it must not replace the trace of a recording that has
 * ended. */
static bool join(const struct grec_options *options) {
    struct location location;
    if (!location_parse(location_of_environment(), &location)) return false;
    if (session_join(&location, options)) return true;
    int error = errno;
    if (!session_would_replace(options, location.session_id)) return false;
    if (error)
        fprintf(stderr, "gecko-recorder: nothing is recorded: %s cannot be written: %s\n", location.path,
                strerror(error));
    else
        fprintf(stderr,
                "gecko-recorder: nothing is recorded: the recording in %s has ended, or another version of this "
                "library writes it\n",
                location.path);
    return true;
}

/* A program that started the recording by grec_start has executed this one, or somebody has set the variable. */
static void join_unasked(void) {
    struct location location;
    if (!secure_getenv("GECKO_RECORDER") && location_parse(location_of_environment(), &location))
        session_join(&location, NULL);
}

void environment_start(void) {
    struct grec_options options;
    if (is_true(secure_getenv("GECKO_RECORDER_HELP"))) fputs(help_text, stderr);
    if (!is_true(secure_getenv("GECKO_RECORDER"))) {
        join_unasked();
        return;
    }
    if (!read_options(&options)) return;
    if (options.flags & GREC_NO_CHILDREN && location_of_environment()) return;
    is_started_here = true;
    if (join(&options)) return;
    enum grec_error error = grec_start(&options);
    if (error == GREC_OK) return;
    const char *reason = error == GREC_ERROR_STORAGE ? strerror(errno) : grec_error_text(error);
    if (error == GREC_ERROR_STORAGE && errno == EBUSY)
        reason = "another process still has that trace open: put %p into GECKO_RECORDER_OUTPUT";
    fprintf(stderr, "gecko-recorder: nothing is recorded: %s\n", reason);
}
