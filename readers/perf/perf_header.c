#include "perf_header.h"

#include <time.h>

#include "libconvert/base/cursor.h"
#include "libconvert/profile/launchers.h"

static const struct text section = TEXT("perf");

/* Returns the whole number at the start of the text, or 0 if there is none. */
static uint64_t leading_number(struct text text) {
    uint64_t value;
    return cursor_take_number(&text, 10, &value) ? value : 0;
}

/* Parses "Sat Nov 21 07:35:50 2026", which is ctime's form in the C locale. perf prints no time zone; UTC is
 * assumed. */
static bool parse_capture_time(struct text value, int64_t *ms) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char copy[32];
    if (value.bytes_count != 24 || !text_copy(value, copy, sizeof copy)) return false;
    struct tm tm = {0};
    while (tm.tm_mon < 12 && memcmp(copy + 4, months + tm.tm_mon * 3, 3) != 0) tm.tm_mon++;
    struct text text = text_of(copy);
    tm.tm_mday = (int)leading_number(text_trim_start(text_slice(text, 8, 10)));
    tm.tm_hour = (int)leading_number(text_slice(text, 11, 13));
    tm.tm_min = (int)leading_number(text_slice(text, 14, 16));
    tm.tm_sec = (int)leading_number(text_slice(text, 17, 19));
    tm.tm_year = (int)leading_number(text_slice(text, 20, 24)) - 1900;
    if (copy[13] != ':' || copy[16] != ':' || tm.tm_mon == 12 || tm.tm_mday == 0 || tm.tm_year < 70) return false;
    *ms = (int64_t)timegm(&tm) * 1000;
    return true;
}

/* Options of "perf record" whose value is the next word. A value can also be part of the word: "-F99", "--freq=99". */
static bool takes_next_word(struct text option) {
    static const char short_options[] = "CDFGcejkmoprtu";
    static const struct text long_options[] = {
        TEXT("--affinity"),
        TEXT("--branch-filter"),
        TEXT("--call-graph"),
        TEXT("--cgroup"),
        TEXT("--clockid"),
        TEXT("--control"),
        TEXT("--count"),
        TEXT("--cpu"),
        TEXT("--delay"),
        TEXT("--event"),
        TEXT("--filter"),
        TEXT("--freq"),
        TEXT("--max-size"),
        TEXT("--mmap-pages"),
        TEXT("--output"),
        TEXT("--pid"),
        TEXT("--proc-map-timeout"),
        TEXT("--realtime"),
        TEXT("--tid"),
        TEXT("--uid"),
    };
    if (option.bytes_count == 2) return strchr(short_options, option.bytes[1]);
    if (TEXT_IS_IN(option, long_options)) return true;
    /* The last one of several letters, "-ag" or "-gF 99", can have a value. */
    bool is_joined = text_starts_with(option, TEXT("--")) || strchr(short_options, option.bytes[1]);
    return !is_joined && strchr(short_options, option.bytes[option.bytes_count - 1]);
}

static bool names_processors(struct text option) {
    if (text_starts_with(option, TEXT("-C")) || text_starts_with(option, TEXT("--cpu"))) return true;
    return text_starts_with(option, TEXT("-")) && text_ends_with(option, TEXT("C")) && takes_next_word(option);
}

/* Between the words of a filter of tracepoints: --filter 'id >= 0 && id != 335'. */
static bool is_operator(struct text word) {
    for (size_t i = 0; i < word.bytes_count; i++)
        if (!memchr("!=<>&|~", word.bytes[i], 7)) return false;
    return true;
}

/* Takes "perf record OPTIONS PROGRAM" off the arguments, and returns the file name of the program. It is empty if
 * there is none. Android's simpleperf, which has other options, mostly records apps that run already. Sets
 * *is_of_some_processors if the options name processors. */
static struct text take_program(struct text *arguments, bool *is_of_some_processors) {
    bool is_record = false;
    struct text rest = *arguments, word = arguments_take(&rest);
    if (text_starts_with(text_base_name(word), TEXT("simpleperf"))) return (struct text){0};
    while ((word = arguments_take(arguments)).bytes_count) {
        if (!is_record) {
            is_record = text_equal(word, TEXT("record"));
            continue;
        }
        if (text_equal(word, TEXT("--"))) {
            word = arguments_take(arguments);
            break;
        }
        if (names_processors(word)) *is_of_some_processors = true;
        bool is_in_filter = is_operator(word);
        if (!is_in_filter && !text_starts_with(word, TEXT("-"))) break;
        if (is_in_filter || (word.bytes_count > 1 && takes_next_word(word))) arguments_take(arguments);
    }
    return text_base_name(word);
}

/* What the keys of a header describe. */
struct described {
    struct perf_header *header;
    struct profile *profile;
    struct profile_meta *meta;
};

static void read_capture_time(struct described to, struct text value) {
    parse_capture_time(value, &to.meta->captured_at_ms);
}

/* Reads simpleperf's time of the end of the recording, in seconds since the epoch. */
static void read_timestamp(struct described to, struct text value) {
    uint64_t seconds = leading_number(value);
    if (seconds <= INT64_MAX / 1000) to.meta->captured_at_ms = (int64_t)seconds * 1000;
}

static void read_hostname(struct described to, struct text value) { to.meta->device = profile_text(to.profile, value); }

static void read_os_release(struct described to, struct text value) {
    to.meta->platform = profile_text(to.profile, TEXT("Linux"));
    to.meta->os_cpu = profile_text_format(to.profile, "Linux %.*s", TEXT_ARGS(value));
}

static void read_version(struct described to, struct text value) {
    to.header->is_own = text_starts_with(value, TEXT("gecko-convert "));
    if (to.header->is_own) to.meta->imported_from = TEXT("gecko-convert record");
}

static void read_arch(struct described to, struct text value) { to.meta->abi = profile_text(to.profile, value); }

static void read_cpu_count(struct described to, struct text value) {
    uint64_t count = leading_number(value);
    if (count <= UINT32_MAX) to.meta->logical_cpu_count = (uint32_t)count;
}

static void read_cpu_name(struct described to, struct text value) {
    to.meta->cpu_name = profile_text(to.profile, value);
}

static void read_memory(struct described to, struct text value) {
    uint64_t kilobytes = leading_number(value);
    if (kilobytes <= INT64_MAX / 1024) to.meta->main_memory_bytes = kilobytes * 1024;
}

static void read_command_line(struct described to, struct text value) {
    struct profile *profile = to.profile;
    to.meta->arguments = profile_text(profile, arguments_shown(profile, value));
    struct text arguments = command_line_arguments(profile, value);
    struct text program = take_program(&arguments, &to.header->is_of_some_processors);
    if (program.bytes_count) to.meta->product = profile_text(profile, program);
    to.header->script = profile_text(profile, program_script(program, arguments));
    to.header->arguments = profile_text(profile, arguments);
    value = to.meta->arguments;
    if (text_has(value, TEXT("--call-graph dwarf")) || text_has(value, TEXT("--call-graph=dwarf")))
        to.header->has_dwarf_stacks = true;
}

static void read_event(struct described to, struct text value) {
    struct perf_header *header = to.header;
    if (text_has(value, TEXT("STACK_USER"))) header->has_dwarf_stacks = true;
    static const struct text key = TEXT("sample_freq } = ");
    if (!text_has(value, key) || header->frequency_hz > 0) return;
    struct text number = text_from(value, text_find_part(value, key) + key.bytes_count);
    if (text_has(value, TEXT("freq = 1"))) header->frequency_hz = (double)leading_number(number);
}

/* Keys that become metadata. The information panel shows all keys, these included. Names: Linux
 * tools/perf/util/header.c. */
static const struct {
    struct text key;
    void (*read)(struct described to, struct text value);
} keys[] = {
    {TEXT("captured on"), read_capture_time},
    {TEXT("timestamp"), read_timestamp},
    {TEXT("hostname"), read_hostname},
    {TEXT("product_props"), read_hostname}, /* simpleperf's manufacturer, model and name of the device */
    {TEXT("os release"), read_os_release},
    {TEXT("perf version"), read_version}, /* also of the command record, which writes what perf does */
    {TEXT("arch"), read_arch},
    {TEXT("nrcpus online"), read_cpu_count},
    {TEXT("cpudesc"), read_cpu_name},
    {TEXT("total memory"), read_memory},
    {TEXT("cmdline"), read_command_line},
    {TEXT("event"), read_event},
};

void perf_header_enter(struct perf_header *header, struct profile *profile, struct text key, struct text value) {
    if (!key.bytes_count || !value.bytes_count) return;
    profile_add_extra(profile, section, key, arguments_shown(profile, value));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (text_equal(key, keys[i].key)) keys[i].read((struct described){header, profile, &profile->meta}, value);
}
