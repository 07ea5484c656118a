#include "environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/state/pool.h"
#include "recorder/state/sampler_hooks.h"
#include "sampler_file.h"
#include "session.h"
#include "session_state.h"
#include "settings.h"

#define PREFIX "GECKO_RECORDER"

enum { INTERVAL_US_MAX = 1000000000 };

static bool is_started_here;

bool environment_has_started(void) { return is_started_here; }

/* ---- Values. These return false if a value is not well-formed. ---- */

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

static bool read_output(const char *value, struct grec_options *options) {
    options->path = value;
    return true;
}

static bool read_limit(const char *value, struct grec_options *options) {
    return parse_size(value, &options->limit_bytes);
}

static bool read_chunk(const char *value, struct grec_options *options) {
    uint64_t bytes;
    if (!parse_size(value, &bytes)) return false;
    options->chunk_bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    return true;
}

static bool read_duration(const char *value, struct grec_options *options) {
    char *end;
    unsigned long number = *value >= '0' && *value <= '9' ? strtoul(value, &end, 10) : 0;
    options->duration_s = (uint32_t)number;
    return number && number <= UINT32_MAX && !*end;
}

static bool read_storage(const char *value, struct grec_options *options) {
    bool is_memory = !strcmp(value, "memory");
    options->storage = is_memory ? GREC_STORAGE_MEMORY : GREC_STORAGE_FILE;
    return is_memory || !strcmp(value, "file");
}

static bool read_interval(const char *value, struct grec_options *options) {
    char *end;
    double interval_us = strtod(value, &end) * 1000;
    if (end == value || *end) return false;
    if (interval_us == 0) options->flags &= ~(uint32_t)(GREC_SAMPLER | GREC_ALL_THREADS);
    if (interval_us == 0) return true;
    options->interval_us = interval_us <= INTERVAL_US_MAX ? (uint32_t)(interval_us + 0.5) : 0;
    return interval_us >= SAMPLER_INTERVAL_US_MIN - 0.5 && options->interval_us;
}

static bool read_threads(const char *value, struct grec_options *options) {
    options->threads = value;
    return true;
}

static bool read_clock(const char *value, struct grec_options *options) {
    (void)options;
    return !strcmp(value, "monotonic");
}

static bool read_signal(const char *value, struct grec_options *options) {
    bool is_checked = session_load_sampler(options->flags) && sampler_table();
    return !is_checked || sampler_table()->is_signal_name(value);
}

static bool read_switch(const char *value, struct grec_options *options) {
    (void)options;
    return !strcmp(value, "0") || !strcmp(value, "1");
}

/* ---- Variables. ---- */

/* In the order in which they are read and the help shows them. */
static const struct variable {
    const char *name; /* name after PREFIX */
    const char *shown_value;
    const char *help;
    bool (*read)(const char *value, struct grec_options *options); /* NULL: no option */
    const char *wanted;                                            /* what a value must be */
    enum settings_option option;           /* option with this value, if a well-formed one may be out of range */
    uint32_t set_by_zero, cleared_by_zero; /* flags */
} variables[] = {
    {"", "1", "record from the start of the program to its end", read_switch, "0 or 1", SETTINGS_OPTION_NONE, 0, 0},
    {"_OUTPUT", "PATH", "the trace; %p is the process id, %e the program (default %e-%p.trace)", read_output,
     "a path of up to 1023 bytes, with %p, %e or %% where it has a percent sign", SETTINGS_OPTION_PATH, 0, 0},
    {"_LIMIT", "SIZE",
     "size of the trace (64M, 1G, \"unlimited\"; default 128M): at the limit, the oldest events are dropped",
     read_limit, "a size (64M, 1G) from 64K, and of 16 chunks or more", SETTINGS_OPTION_LIMIT, 0, 0},
    {"_CHUNK", "SIZE", "size of its chunks: a power of two from 4K to 1M (default 64K)", read_chunk,
     "a power of two from 4K to 1M", SETTINGS_OPTION_CHUNK, 0, 0},
    {"_DURATION", "S", "keep the last S seconds only (default: all that the limit leaves)", read_duration,
     "a whole number of seconds from 1, in a trace with a limit", SETTINGS_OPTION_DURATION, 0, 0},
    {"_STORAGE", "KIND", "\"file\", or \"memory\": written when the program ends (default file)", read_storage,
     "file or memory", SETTINGS_OPTION_NONE, 0, 0},
    {"_INTERVAL", "MS", "milliseconds between samples, from 0.1; 0: no samples (default 1)", read_interval,
     "a number of milliseconds from 0.1, or 0", SETTINGS_OPTION_NONE, 0, 0},
    {"_ALL_THREADS", "0", "sample only threads that register (default 1: all threads)", read_switch, "0 or 1",
     SETTINGS_OPTION_NONE, 0, GREC_ALL_THREADS},
    {"_THREADS", "WORDS", "record threads whose names contain one of these words, comma-separated", read_threads,
     "words of up to 511 bytes", SETTINGS_OPTION_THREADS, 0, 0},
    {"_CHILDREN", "0", "do not record forked and executed children (default 1: into the same trace)", read_switch,
     "0 or 1", SETTINGS_OPTION_NONE, GREC_NO_CHILDREN, 0},
    {"_ARGUMENTS", "0", "do not record command lines (default 1: those of all processes)", read_switch, "0 or 1",
     SETTINGS_OPTION_NONE, GREC_NO_ARGUMENTS, 0},
    {"_CLOCK", "monotonic", "do not use the processor's cycle counter", read_clock, "monotonic", SETTINGS_OPTION_NONE,
     0, 0},
    {"_SIGNAL", "NAME", "interrupt threads by this signal: URG, WINCH, USR1, RTMAX-1, ... (default URG or WINCH)",
     read_signal, "one of URG, WINCH, IO, PROF, PWR, USR1, USR2, VTALRM, RTMIN+N, RTMAX-N", SETTINGS_OPTION_NONE, 0, 0},
    {"_EVENTS", "0", "interrupt threads by timers alone (1: by the kernel's events even if calls are filtered)",
     read_switch, "0 or 1", SETTINGS_OPTION_NONE, 0, 0},
    {"_HELP", "1", "print this; the program continues", NULL, NULL, SETTINGS_OPTION_NONE, 0, 0},
    {"_JOIN", "PLACE", "the recording to join; the recorder sets it for programs that this one executes", NULL, NULL,
     SETTINGS_OPTION_NONE, 0, 0},
};

enum { VARIABLE_COUNT = sizeof variables / sizeof *variables, NAME_BYTES = 64 };

/* Returns the value of a variable; NULL: it is not set, is empty, or the program has more rights than its caller. */
static const char *value_of(const char *name) {
    char full[NAME_BYTES];
    snprintf(full, sizeof full, PREFIX "%s", name);
    const char *value = secure_getenv(full);
    return value && *value ? value : NULL;
}

static bool is_true(const char *value) { return value && strcmp(value, "0") != 0; }

static void print_help(void) {
    fputs("gecko-recorder " GREC_VERSION ": variables of the environment\n", stderr);
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        char assignment[NAME_BYTES];
        snprintf(assignment, sizeof assignment, PREFIX "%s=%s", variables[i].name, variables[i].shown_value);
        fprintf(stderr, "%-28s %s\n", assignment, variables[i].help);
    }
}

static bool is_known(const char *name, size_t bytes_count) {
    for (size_t i = 0; i < VARIABLE_COUNT; i++)
        if (strlen(variables[i].name) == bytes_count && !memcmp(variables[i].name, name, bytes_count)) return true;
    return false;
}

/* A misspelt variable would have no effect. Only the first process of a recording says so. */
static void report_unknown(void) {
    enum { PREFIX_BYTES = sizeof PREFIX - 1 };
    if (location_of_environment()) return;
    for (char **at = environ; at && *at; at++) {
        const char *name = *at + PREFIX_BYTES;
        if (strncmp(*at, PREFIX, PREFIX_BYTES) != 0 || is_known(name, strcspn(name, "="))) continue;
        fprintf(stderr, "gecko-recorder: " PREFIX "%.*s has no meaning: " PREFIX "_HELP=1 lists the variables\n",
                (int)strcspn(name, "="), name);
    }
}

static bool refuse(const struct variable *variable, const char *value) {
    fprintf(stderr, "gecko-recorder: " PREFIX "%s=%s is not %s: nothing is recorded\n", variable->name, value,
            variable->wanted);
    return false;
}

static bool read_options(struct grec_options *options) {
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        const struct variable *variable = &variables[i];
        const char *value = value_of(variable->name);
        if (value && variable->read && !variable->read(value, options)) return refuse(variable, value);
        if (value && !strcmp(value, "0"))
            options->flags = (options->flags | variable->set_by_zero) & ~variable->cleared_by_zero;
    }
    return true;
}

/* Checks values that are well-formed, but may be out of range. */
static bool check_ranges(const struct grec_options *options, struct settings *settings) {
    enum settings_option refused = settings_resolve(options, settings);
    for (size_t i = 0; i < VARIABLE_COUNT && refused; i++) {
        const char *value = variables[i].option == refused ? value_of(variables[i].name) : NULL;
        if (value) return refuse(&variables[i], value);
    }
    return true;
}

/* ---- Starting. ---- */

/* Without the sampler's library, events are recorded. */
static void load_sampler(struct grec_options *options) {
    if (session_load_sampler(options->flags)) return;
    options->flags &= ~(uint32_t)(GREC_SAMPLER | GREC_ALL_THREADS);
    fprintf(stderr, "gecko-recorder: nothing is sampled: %s; GECKO_RECORDER_INTERVAL=0 records without samples\n",
            grec_error_text(GREC_ERROR_SAMPLER));
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
    if (!value_of("") && location_parse(location_of_environment(), &location)) session_join(&location, NULL);
}

static void report_failure(enum grec_error error, const struct settings *settings) {
    if (error != GREC_ERROR_STORAGE)
        fprintf(stderr, "gecko-recorder: nothing is recorded: %s\n", grec_error_text(error));
    else if (errno == EBUSY)
        fprintf(stderr,
                "gecko-recorder: nothing is recorded: another process still has %s open: put %%p into "
                "GECKO_RECORDER_OUTPUT\n",
                settings->path);
    else
        fprintf(stderr, "gecko-recorder: nothing is recorded: %s: %s\n", settings->path, strerror(errno));
}

/* Programs that are not built for the recorder need libgecko_preload. */
static bool is_preloaded_alone(void) {
    const char *preloaded = secure_getenv("LD_PRELOAD");
    if (!preloaded || !strstr(preloaded, "libgecko_recorder.so") || strstr(preloaded, "libgecko_preload.so"))
        return false;
    fputs("gecko-recorder: nothing is recorded: preload libgecko_preload.so." GREC_ABI
          " in place of libgecko_recorder.so\n",
          stderr);
    return true;
}

static void record(void) {
    struct grec_options options = {.flags = GREC_SAMPLER | GREC_ALL_THREADS};
    struct settings settings;
    report_unknown();
    if (is_preloaded_alone()) return;
    if (!read_options(&options) || !check_ranges(&options, &settings)) return;
    if (options.flags & GREC_NO_CHILDREN && location_of_environment()) return;
    is_started_here = true;
    load_sampler(&options);
    if (join(&options)) return;
    enum grec_error error = grec_start(&options);
    if (error != GREC_OK) report_failure(error, &settings);
}

void environment_start(void) {
    if (is_true(value_of("_HELP"))) print_help();
    if (is_true(value_of("")))
        record();
    else
        join_unasked();
}
