#include "foreign.h"

#include <stdint.h>

#include "libconvert/printable.h"

enum { FIRST_LINE_CHARACTERS = 60 };

struct foreign {
    /* By its first bytes, or by a function. */
    struct text magic;
    bool (*recognises)(struct text start);

    const char *title;  /* goes on from "this is" */
    const char *advice; /* FILE stands for the input */
};

static bool has(struct text start, const char *part) {
    return start.bytes && memmem(start.bytes, start.bytes_count, part, strlen(part)) != NULL;
}

static unsigned byte_at(struct text start, size_t at) {
    return at < start.bytes_count ? (unsigned char)start.bytes[at] : 0;
}

static struct text without_blanks(struct text start) {
    if (text_starts_with(start, TEXT("\xef\xbb\xbf"))) start = text_from(start, 3);
    while (start.bytes_count && strchr(" \t\r\n", start.bytes[0]) && start.bytes[0]) start = text_from(start, 1);
    return start;
}

static bool starts_without_case(struct text start, const char *word) {
    size_t word_bytes = strlen(word);
    return start.bytes_count >= word_bytes && strncasecmp(start.bytes, word, word_bytes) == 0;
}

/* -- Binary --------------------------------------------------------------------------------------------------- */

/* Texts have no NUL, and of control characters hardly more than tabs and line ends. */
static bool is_binary(struct text start) {
    size_t control_count = 0;
    for (size_t i = 0; i < start.bytes_count; i++) {
        unsigned byte = (unsigned char)start.bytes[i];
        if (byte == 0) return true;
        bool is_usual = byte == '\n' || byte == '\r' || byte == '\t' || byte == '\f' || byte == 0x1b;
        if ((byte < 0x20 && !is_usual) || byte == 0x7f) control_count++;
    }
    return control_count > start.bytes_count / 32;
}

static bool is_zeros(struct text start) {
    for (size_t i = 0; i < start.bytes_count; i++)
        if (start.bytes[i]) return false;
    return start.bytes_count > 0;
}

static bool is_elf(struct text start) { return text_starts_with(start, TEXT("\177ELF")); }

static bool is_core(struct text start) {
    enum { CLASS_DATA = 5, TYPE = 16, BIG_ENDIAN_DATA = 2, TYPE_CORE = 4 };
    if (!is_elf(start)) return false;
    unsigned first = byte_at(start, TYPE);
    unsigned second = byte_at(start, TYPE + 1);
    unsigned type = byte_at(start, CLASS_DATA) == BIG_ENDIAN_DATA ? first << 8 | second : second << 8 | first;
    return type == TYPE_CORE;
}

static bool is_program(struct text start) {
    static const char magics[][5] = {"\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe",
                                     "\xca\xfe\xba\xbe"};
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (text_starts_with(start, (struct text){magics[i], 4})) return true;
    return is_elf(start) || (text_starts_with(start, TEXT("MZ")) && is_binary(start));
}

/* The header of a gperftools CPU profile: the words 0, 3 or more, 0, period; of 4 or 8 bytes, in either order. */
static bool is_gperftools_cpu(struct text start) {
    for (size_t word_bytes = 4; word_bytes <= 8; word_bytes += 4) {
        if (start.bytes_count < 5 * word_bytes) return false;
        struct text zeros[] = {text_slice(start, 0, word_bytes), text_slice(start, 2 * word_bytes, 3 * word_bytes)};
        struct text count = text_slice(start, word_bytes, 2 * word_bytes);
        struct text count_rest = count.bytes[0] ? text_from(count, 1) : text_slice(count, 0, word_bytes - 1);
        unsigned count_value = count.bytes[0] ? byte_at(count, 0) : byte_at(count, word_bytes - 1);
        bool has_count = count_value >= 3 && is_zeros(count_rest);
        bool has_period = !is_zeros(text_slice(start, 3 * word_bytes, 4 * word_bytes));
        if (is_zeros(zeros[0]) && is_zeros(zeros[1]) && has_count && has_period) return true;
    }
    return false;
}

/* A base-128 number; false when it is cut off or has more than ten bytes. */
static bool take_varint(struct text *from, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 70 && from->bytes_count; shift += 7) {
        unsigned byte = byte_at(*from, 0);
        *from = text_from(*from, 1);
        if (shift < 64) *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return true;
    }
    return false;
}

/* Its first field is a sample type: a message of two indices into the string table. Another sample type or a sample
 * follows. */
static bool is_pprof(struct text start) {
    uint64_t length;
    struct text rest = text_from(start, 1);
    if (byte_at(start, 0) != 0x0a || !take_varint(&rest, &length) || length < 2 || length > 22) return false;
    struct text sample_type = text_slice(rest, 0, (size_t)length);
    struct text behind = text_from(rest, sample_type.bytes_count);
    for (unsigned field = 0x08; sample_type.bytes_count && field <= 0x10; field += 0x08) {
        uint64_t string_index;
        if (byte_at(sample_type, 0) != field) return false;
        sample_type = text_from(sample_type, 1);
        if (!take_varint(&sample_type, &string_index)) return false;
    }
    return !sample_type.bytes_count && (byte_at(behind, 0) == 0x0a || byte_at(behind, 0) == 0x12);
}

/* Nothing but packets: field 1 with a length, again and again. */
static bool is_perfetto(struct text start) {
    enum { ENOUGH_PACKETS = 4 };
    if (!is_binary(start)) return false;
    for (int packet_count = 0; packet_count < ENOUGH_PACKETS && start.bytes_count; packet_count++) {
        uint64_t length;
        if (byte_at(start, 0) != 0x0a) return false;
        start = text_from(start, 1);
        if (!take_varint(&start, &length) || !length || length > UINT32_MAX) return false;
        if (length > start.bytes_count) return packet_count > 0;
        start = text_from(start, (size_t)length);
    }
    return true;
}

static bool is_iso(struct text start) {
    enum { DESCRIPTOR = 0x8001 };
    return text_starts_with(text_from(start, DESCRIPTOR), TEXT("CD001"));
}

static bool is_utf16(struct text start) {
    return text_starts_with(start, TEXT("\xff\xfe")) || text_starts_with(start, TEXT("\xfe\xff"));
}

static bool is_picture(struct text start) {
    return text_starts_with(start, TEXT("\x89PNG")) || text_starts_with(start, TEXT("\xff\xd8\xff")) ||
           text_starts_with(start, TEXT("GIF8")) ||
           (text_starts_with(start, TEXT("RIFF")) && text_starts_with(text_from(start, 8), TEXT("WEBP")));
}

static bool is_rar(struct text start) { return text_starts_with(start, TEXT("Rar!\x1a\x07")); }

/* -- JSON ----------------------------------------------------------------------------------------------------- */

static bool is_json(struct text start) {
    struct text content = without_blanks(start);
    if (!content.bytes_count || (content.bytes[0] != '{' && content.bytes[0] != '[')) return false;
    struct text inside = without_blanks(text_from(content, 1));
    if (!inside.bytes_count) return true;
    const char *openers = content.bytes[0] == '{' ? "\"}" : "\"{[]-0123456789tfn";
    return inside.bytes[0] && strchr(openers, inside.bytes[0]);
}

static bool is_firefox_profile(struct text start) {
    bool is_processed = has(start, "\"preprocessedProfileVersion\"");
    bool is_gecko = has(start, "\"processType\"") && has(start, "\"interval\"");
    return is_json(start) && has(start, "\"meta\"") && (is_processed || is_gecko);
}

static bool is_chrome_trace(struct text start) {
    return is_json(start) && (has(start, "\"traceEvents\"") ||
                              (without_blanks(start).bytes[0] == '[' && has(start, "\"ph\"") && has(start, "\"ts\"")));
}

static bool is_cpuprofile(struct text start) {
    return is_json(start) && has(start, "\"nodes\"") && has(start, "\"callFrame\"") && has(start, "\"hitCount\"");
}

static bool is_dhat(struct text start) { return is_json(start) && has(start, "\"dhatFileVersion\""); }

static bool is_speedscope(struct text start) { return is_json(start) && has(start, "speedscope.app/file-format"); }

static bool is_perf_json(struct text start) { return is_json(start) && has(start, "\"linux-perf-json-version\""); }

/* -- Text ----------------------------------------------------------------------------------------------------- */

static bool is_perf_report(struct text start) {
    return has(start, "# Overhead  ") || (has(start, "# Samples: ") && has(start, "# Event count (approx.): "));
}

static bool is_perf_dump(struct text start) { return has(start, " raw event: size "); }

static bool is_perf_stat(struct text start) { return has(start, "Performance counter stats for "); }

static bool is_callgrind(struct text start) {
    return text_starts_with(start, TEXT("# callgrind format")) || has(start, "creator: callgrind") ||
           (has(start, "\nevents: ") && (has(start, "\nfn=") || has(start, "\ncmd: ")));
}

static bool is_massif(struct text start) { return has(start, "\nmem_heap_B="); }

static bool is_pprof_raw(struct text start) { return has(start, "PeriodType:") && has(start, "\nSamples:\n"); }

static bool is_heaptrack(struct text start) {
    return text_starts_with(start, TEXT("v 1")) && (has(start, "\nx ") || has(start, "\nX "));
}

static bool is_macos_sample(struct text start) {
    return text_starts_with(start, TEXT("Analysis of sampling ")) || has(start, "\nCall graph:\n");
}

static bool is_bpftrace(struct text start) {
    return (text_starts_with(start, TEXT("@[\n")) || has(start, "\n@[\n")) && has(start, "]: ");
}

static bool is_gdb(struct text start) {
    return (text_starts_with(start, TEXT("#0  ")) || has(start, "\n#0  ")) && has(start, "\n#1  ");
}

static bool is_instruments(struct text start) { return has(start, "Running Time") && has(start, "Symbol Name"); }

static bool is_number(struct text text) {
    for (size_t i = 0; i < text.bytes_count; i++)
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return false;
    return text.bytes_count > 0;
}

/* Stacks as DTrace prints them: lines "  module`function+0x1f", then a line with the count alone. */
static bool is_dtrace(struct text start) {
    bool has_frame = false;
    while (start.bytes_count) {
        size_t line_bytes = text_find(start, '\n');
        struct text line = text_trim(text_slice(start, 0, line_bytes));
        start = text_from(start, line_bytes < start.bytes_count ? line_bytes + 1 : line_bytes);
        bool is_token = line.bytes_count && text_find(line, ' ') == line.bytes_count;
        if (is_token && text_find(line, '`') < line.bytes_count && has(line, "+0x")) has_frame = true;
        if (has_frame && is_number(line)) return true;
    }
    return false;
}

static bool is_html(struct text start) {
    struct text content = without_blanks(start);
    return starts_without_case(content, "<!doctype html") || starts_without_case(content, "<html");
}

static bool is_svg(struct text start) {
    struct text content = without_blanks(start);
    return starts_without_case(content, "<svg") || (starts_without_case(content, "<?xml") && has(content, "<svg"));
}

static bool is_xml(struct text start) { return starts_without_case(without_blanks(start), "<?xml"); }

#define OPENS_DIRECTLY     "it needs no conversion: open it at https://profiler.firefox.com"
#define PERF_SCRIPT        "perf script -F +pid -i FILE | gecko-convert -"
#define PERF_RECORD        "perf record -g PROGRAM, then perf script -F +pid | gecko-convert -"
#define FROM_THE_PERF_DATA "convert the recording it was made from: perf script -F +pid -i perf.data | gecko-convert -"
#define HOLDS_NO_STACKS    "it holds no stacks; record some: " PERF_RECORD
#define AS_BINARY          "transfer it again, as binary data"
#define UNPACK             "unpack it first: "

/* The first that fits counts: the special before the general. FlameGraph's scripts are named where they are what
 * makes collapsed stacks of a format. */
static const struct foreign foreigns[] = {
    {.magic = TEXT("GREC\n\x1a\n"),
     .title = "a trace of the recorder, damaged by a transfer as text",
     .advice = AS_BINARY},
    {.magic = TEXT("GREC\r\r\n"),
     .title = "a trace of the recorder, damaged by a transfer as text",
     .advice = AS_BINARY},
    {.magic = TEXT("PERFILE2"), .title = "perf.data, the binary recording of perf", .advice = PERF_SCRIPT},
    {.magic = TEXT("2ELIFREP"),
     .title = "perf.data, the binary recording of perf, of a machine with the other byte order",
     .advice = PERF_SCRIPT},
    {.magic = TEXT("PERFFILE"), .title = "perf.data, the binary recording of an old perf", .advice = PERF_SCRIPT},
    {.magic = TEXT("SIMPLEPERF"), .title = "a report of Android's simpleperf", .advice = OPENS_DIRECTLY},
    {.magic = TEXT("*version\n"), .title = "a method trace of Android's runtime", .advice = OPENS_DIRECTLY},
    {.magic = TEXT("SLOW"), .title = "a streamed method trace of Android's runtime", .advice = OPENS_DIRECTLY},
    {.magic = TEXT("\xdc\xdfJSLB"), .title = "a Firefox profile (JsonSlabs)", .advice = OPENS_DIRECTLY},
    {.magic = TEXT("FLR\0"),
     .title = "a recording of Java's Flight Recorder",
     .advice =
         "make collapsed stacks of it with async-profiler's converter: jfrconv -o collapsed FILE stacks.collapsed"},
    {.magic = TEXT("Nettrace"),
     .title = "a trace of .NET",
     .advice = "dotnet-trace convert --format Chromium FILE, and open the result at https://profiler.firefox.com"},
    {.magic = TEXT("\x17\x08\x44tracing"),
     .title = "trace.dat, the binary recording of trace-cmd",
     .advice = "trace-cmd report -i FILE | stackcollapse-tracecmd.pl | gecko-convert -"},
    {.magic = TEXT("\x5e\x97\xca\xfd"),
     .title = "a recording of sysprof",
     .advice = "sysprof opens it; or " PERF_RECORD},
    {.magic = TEXT("gmon"), .title = "gmon.out, the counts of gprof", .advice = HOLDS_NO_STACKS},
    {.magic = TEXT("SQLite format 3\0"), .title = "an SQLite database", .advice = HOLDS_NO_STACKS},
    {.recognises = is_core,
     .title = "a core dump",
     .advice = "it shows one moment, not a recording; record one: " PERF_RECORD},
    {.recognises = is_program, .title = "a program or a library", .advice = "record it running: " PERF_RECORD},
    {.recognises = is_rar, .title = "a RAR archive", .advice = UNPACK "bsdtar -xOf FILE | gecko-convert -"},
    {.magic = TEXT("MSCF\0\0\0\0"), .title = "a CAB archive", .advice = UNPACK "bsdtar -xOf FILE | gecko-convert -"},
    {.magic = TEXT("xar!"), .title = "a XAR archive", .advice = UNPACK "bsdtar -xOf FILE | gecko-convert -"},
    {.magic = TEXT("\x89LZO"), .title = "lzop-compressed", .advice = UNPACK "lzop -dc FILE | gecko-convert -"},
    {.magic = TEXT("LRZI"), .title = "lrzip-compressed", .advice = UNPACK "lrzip -d -o trace FILE"},
    {.recognises = is_iso, .title = "an ISO 9660 image", .advice = UNPACK "bsdtar -xOf FILE | gecko-convert -"},
    {.magic = TEXT("%PDF-"), .title = "a PDF document", .advice = "convert the trace that it was made from"},
    {.recognises = is_picture, .title = "a picture", .advice = "convert the trace that it was made from"},
    {.magic = TEXT("bplist00"),
     .title = "a binary property list of macOS",
     .advice = "of Instruments, export the call tree as CSV: stackcollapse-instruments.pl FILE.csv | gecko-convert -"},
    {.recognises = is_zeros,
     .title = "nothing but zero bytes",
     .advice = "an empty tar archive, or a file that was never written; make the trace again"},
    {.recognises = is_gperftools_cpu,
     .title = "a CPU profile of gperftools",
     .advice = "go tool pprof -raw PROGRAM FILE | stackcollapse-go.pl --sample_index=0 | gecko-convert -"},
    {.recognises = is_pprof,
     .title = "a pprof profile",
     .advice = "go tool pprof -raw FILE | stackcollapse-go.pl --sample_index=0 | gecko-convert -"},
    {.recognises = is_perfetto,
     .title = "a Perfetto trace, by its looks",
     .advice =
         "traceconv json FILE OUT.json, and open the result at https://profiler.firefox.com; for its CPU samples, "
         "traceconv profile --perf FILE writes pprof profiles"},
    {.recognises = is_utf16,
     .title = "text in UTF-16",
     .advice = "iconv -f UTF-16 -t UTF-8 FILE | gecko-convert - (PowerShell's > writes UTF-16; use cmd's instead)"},

    {.recognises = is_firefox_profile, .title = "a Firefox profile already", .advice = OPENS_DIRECTLY},
    {.recognises = is_chrome_trace, .title = "a Chrome trace (trace events in JSON)", .advice = OPENS_DIRECTLY},
    {.recognises = is_cpuprofile, .title = "a CPU profile of V8 (Chrome, Node.js)", .advice = OPENS_DIRECTLY},
    {.recognises = is_dhat, .title = "a heap profile of DHAT", .advice = OPENS_DIRECTLY},
    {.recognises = is_speedscope,
     .title = "a speedscope profile",
     .advice = "https://www.speedscope.app opens it; of py-spy, convert what py-spy record --format raw writes"},
    {.recognises = is_perf_json, .title = "JSON made by perf data convert", .advice = FROM_THE_PERF_DATA},
    {.recognises = is_json,
     .title = "JSON of some kind",
     .advice = "it is no trace; if a profiler wrote it, https://profiler.firefox.com may open it directly"},

    {.magic = TEXT("version https://git-lfs.github.com/"),
     .title = "a pointer of Git LFS, not the file itself",
     .advice = "git lfs pull gets the file"},
    {.recognises = is_perf_dump, .title = "a raw dump (perf script -D)", .advice = FROM_THE_PERF_DATA},
    {.recognises = is_perf_report,
     .title = "the text of perf report, which has sums and no single samples",
     .advice = FROM_THE_PERF_DATA},
    {.recognises = is_perf_stat, .title = "the text of perf stat", .advice = HOLDS_NO_STACKS},
    {.recognises = is_callgrind,
     .title = "a profile of callgrind or cachegrind, which has sums per call and no stacks",
     .advice = "kcachegrind shows it; or " PERF_RECORD},
    {.recognises = is_massif, .title = "a heap profile of massif", .advice = "ms_print FILE shows it"},
    {.recognises = is_heaptrack,
     .title = "a recording of heaptrack",
     .advice = "heaptrack_print -f FILE -F stacks.txt, then gecko-convert stacks.txt"},
    {.recognises = is_pprof_raw,
     .title = "the text of pprof -raw",
     .advice = "stackcollapse-go.pl --sample_index=0 FILE | gecko-convert -"},
    {.magic = TEXT("heap profile: "),
     .title = "a heap profile of gperftools",
     .advice = "go tool pprof -raw PROGRAM FILE | stackcollapse-go.pl --sample_index=0 | gecko-convert -"},
    {.recognises = is_macos_sample,
     .title = "the text of macOS's sample",
     .advice = "stackcollapse-sample.awk FILE | gecko-convert -"},
    {.recognises = is_instruments,
     .title = "a call tree of Instruments",
     .advice = "stackcollapse-instruments.pl FILE | gecko-convert -"},
    {.recognises = is_bpftrace,
     .title = "the text of bpftrace",
     .advice = "stackcollapse-bpftrace.pl FILE | gecko-convert -"},
    {.recognises = is_dtrace,
     .title = "stacks as DTrace prints them",
     .advice = "stackcollapse.pl FILE | gecko-convert -"},
    {.recognises = is_gdb, .title = "backtraces of gdb", .advice = "stackcollapse-gdb.pl FILE | gecko-convert -"},
    {.magic = TEXT("Full thread dump"),
     .title = "a thread dump of Java",
     .advice = "stackcollapse-jstack.pl FILE | gecko-convert -"},
    {.magic = TEXT("# tracer: "), .title = "a trace of the kernel's ftrace", .advice = HOLDS_NO_STACKS},
    {.recognises = is_svg,
     .title = "a picture (SVG), perhaps a flame graph",
     .advice = "convert the collapsed stacks that it was made from"},
    {.recognises = is_html,
     .title = "a web page",
     .advice = "of async-profiler's flame graph, jfrconv -o collapsed FILE stacks.collapsed makes collapsed stacks; "
               "else convert the trace that it was made from"},
    {.recognises = is_xml, .title = "XML", .advice = "convert the trace that it was made from"},
};

static const struct foreign *recognise(struct text start) {
    for (size_t i = 0; i < sizeof foreigns / sizeof *foreigns; i++) {
        const struct foreign *foreign = &foreigns[i];
        if (foreign->recognises ? foreign->recognises(start) : text_starts_with(start, foreign->magic)) return foreign;
    }
    return NULL;
}

static void explain_unknown_text(const struct input *input, struct text start, struct failure *failure) {
    struct text content = without_blanks(start);
    struct text line = text_slice(content, 0, text_find(content, '\n'));
    if (text_ends_with(line, TEXT("\r"))) line.bytes_count--;
    char shown[FIRST_LINE_CHARACTERS + sizeof "..."];
    printable_copy(shown, sizeof shown, line);
    failure_set(failure, FAILURE_INPUT,
                "%s: this is text, but no trace format that is known here; it begins \"%s\"; --from FORMAT reads it as "
                "that format all the same",
                input_name(input), shown);
}

void foreign_explain(const struct input *input, struct text start, bool is_whole, struct failure *failure) {
    const char *name = input_name(input);
    struct text wrapping = input_wrapping(input);
    const char *inside = wrapping.bytes_count ? ", inside " : "";
    const char *unwrap = wrapping.bytes_count ? "take it out of there, then " : "";
    int wrapping_bytes = (int)wrapping.bytes_count;
    if (is_whole && !without_blanks(start).bytes_count) {
        const char *is_empty = start.bytes_count ? "holds nothing but blank lines" : "is empty";
        failure_set(failure, FAILURE_INPUT, "%s: %s%s%.*s; there is nothing to convert", name, is_empty, inside,
                    wrapping_bytes, wrapping.bytes);
        return;
    }
    const struct foreign *foreign = recognise(start);
    if (foreign) {
        failure_set(failure, FAILURE_INPUT, "%s: this is %s%s%.*s: %s%s", name, foreign->title, inside, wrapping_bytes,
                    wrapping.bytes, unwrap, foreign->advice);
        return;
    }
    if (is_binary(start)) {
        failure_set(
            failure, FAILURE_INPUT,
            "%s: this is binary data of an unknown kind%s%.*s; traces of the recorder, perf script text and collapsed "
            "stacks are read here",
            name, inside, wrapping_bytes, wrapping.bytes);
        return;
    }
    explain_unknown_text(input, start, failure);
}
