#include "foreign.h"

#include <stdio.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/printable.h"
#include "pprof_shape.h"

enum { FIRST_LINE_CHARACTERS = 60, PARTS_MAX = 3, NAME_BYTES_MAX = 128, ADVICE_BYTES = 1024 };

enum content { CONTENT_ANY, CONTENT_BINARY, CONTENT_ZEROS, CONTENT_TEXT, CONTENT_JSON };

struct magic {
    struct text bytes;
    size_t at; /* offset in the input, after leading blanks in text and JSON */
};

/* An input has a format if it has all that a row lists. A row without a title is one more sign of the format before. */
struct foreign {
    const char *title;  /* continues "this is" in a message */
    const char *advice; /* FILE stands for the input */
    enum content content;
    struct magic magic; /* case is ignored in text and JSON */
    struct magic second;
    struct text parts[PARTS_MAX]; /* may be anywhere in the start of the input */
    bool (*recognises)(struct text start);
    const char *unpacks; /* the wrappers that the command in the advice unpacks itself; NULL: none */
};

/* The front-end unpacks gzip itself. */
static const char OPENS_DIRECTLY[] = "it needs no conversion: open it at https://profiler.firefox.com";
#define PERF_SCRIPT        "perf script -F +pid -i FILE | gecko-convert -"
#define RECORD_IT          "gecko-convert record PROGRAM"
#define FROM_THE_PERF_DATA "convert the recording it was made from: gecko-convert perf.data"
#define HOLDS_NO_STACKS    "it holds no stacks; record some: " RECORD_IT
#define AS_BINARY          "transfer it again, as binary data"
#define UNPACK             "unpack it first: "
#define FROM_ITS_TRACE     "convert the trace that it was made from"
#define SHOWS_ONE_MOMENT   "it shows one moment, not a recording; record one: "
#define RECORDS_PYTHON     "py-spy record --format raw -o stacks.txt -- python PROGRAM.py, then gecko-convert stacks.txt"
#define RECORDS_CALLS      "record system calls with their times: perf trace record PROGRAM, then gecko-convert perf.data"
#define RECORDS_EVENTS \
    "record the same events with perf: perf record -g -e sched:sched_switch PROGRAM, then gecko-convert perf.data"
/* bcc's memleak prints all stacks again and again; the last ones count. */
#define MEMLEAK                                                                                                    \
    "awk '/ with outstanding allocations:/{n=0} / allocations from stack/{b[++n]=$1;s[n]=\"\";next} "              \
    "n&&NF{sub(/^[ \\t]*(0x[0-9a-f]+[ \\t]+)?/,\"\");sub(/\\+0x[0-9a-f]+ .*/,\"\");s[n]=$0(s[n]?\";\":\"\")s[n]} " \
    "END{for(i=1;i<=n;i++)print s[i],b[i]}' FILE | gecko-convert - --weight-unit bytes"
/* pprof prints blocks: a line of dashes, perhaps labels, a count with the innermost function, and its callers. */
#define PPROF_TRACES                                                                                         \
    "FILE | awk '/^-+\\+-/{if(s)print s,v;s=\"\";next} {sub(/^ +/,\"\");sub(/ \\(inline\\)$/,\"\")} "        \
    "s{s=$0\";\"s;next} /^[0-9]/{v=$1;sub(/ns$/,\"\",v);sub(/^[^ ]+ +/,\"\");s=$0}' | gecko-convert -; add " \
    "--weight-unit ns if it "                                                                                \
    "has times before counts"
/* phpspy prints the number, name and place of each function, the innermost first, and notes ("# mem …"). With -1,
 * tabs are between them. Its older versions have no empty line between stacks. */
#define PHPSPY                                                                                                    \
    "tr '\\t' '\\n' <FILE | awk '/^0 /{if(s)n[s]++;s=\"\"} /^[0-9]+ /{f=$2;sub(/^[^ ]* [^ ]* /,\"\");sub(/:-1$/," \
    "\"\");s=f\" (\"$0\")\"(s?\";\":\"\")s} END{if(s)n[s]++;for(s in n)print s,n[s]}' | gecko-convert -"
/* gdb and eu-stack print the address, name and more of each function, the innermost first. */
#define NUMBERED_FRAMES(name)                                                  \
    "awk '/^#0 /{if(s)n[s]++;s=\"\"} /^#[0-9]+ /{sub(/^#[0-9]+ +/,\"\");" name \
    "s=$0(s?\";\":\"\")s} "                                                    \
    "END{if(s)n[s]++;for(s in n)print s,n[s]}' FILE | gecko-convert -"
#define GDB                             \
    NUMBERED_FRAMES(                    \
        "sub(/^0x[0-9a-f]+ in /,\"\");" \
        "sub(/ \\(([A-Za-z_][A-Za-z_0-9]*=|\\.\\.\\.).*$/,\"\")||sub(/ \\(\\)( (at|from) .*)?$/,\"\");")
#define EU_STACK                              \
    NUMBERED_FRAMES(                          \
        "sub(/^0x[0-9a-f]+ +(- 1 +)?/,\"\");" \
        "if(i=index($0,\" - /\"))$0=substr($0,i+3)\"`\"substr($0,1,i-1);")
/* Profiles of speedscope are samples with weights, or events that open and close frames. Those that count something
 * else than the first one are left out. */
#define SPEEDSCOPE                                                                                \
    "jq -r '.shared.frames as $f|.profiles[0].unit as $u|.profiles[]|select(.unit==$u)|"          \
    "({seconds:1e9,milliseconds:1e6,microseconds:1e3}[$u]//1) as $n|"                             \
    "if .samples then [.samples,.weights]|transpose[] else foreach .events[] as $e({s:[],t:0};"   \
    ".p=(if .s!=[] and $e.at>.t then [.s,$e.at-.t] else null end)|.t=$e.at|"                      \
    "if $e.type==\"O\" then .s+=[$e.frame] else .s|=.[:-1] end;.p|select(.)) end|"                \
    "\"\\(.[0]|map($f[.].name)|join(\";\")) \\(.[1]*$n)\"' FILE | gecko-convert - --weight-unit " \
    "$(jq -r '{bytes:\"bytes\",none:\"samples\"}[.profiles[0].unit]//\"ns\"' FILE)"               \
    "; https://www.speedscope.app opens it, too"
/* memray has a stack's functions, the innermost first: "name;file;line|name;file;line". */
#define MEMRAY_CSV                                                                                                 \
    "python3 -c \"import csv,sys;[print(';'.join('%s (%s:%s)'%tuple(f.rsplit(';',2)) for f in "                    \
    "reversed(r['stack_trace'].split('|')) if f) or '[unknown]',r['size']) for r in csv.DictReader(sys.stdin)]\" " \
    "<FILE | gecko-convert - --weight-unit bytes"
/* A node has a function, what it allocated, and the nodes that it called. */
#define HEAP_PROFILE                                                                                                  \
    "jq -r 'def w(p):(p+[.callFrame.functionName]) as $s|(select(.selfSize>0)|\"\\($s|join(\";\")) \\(.selfSize)\")," \
    "(.children[]|w($s));.head|w([])' FILE | gecko-convert - --weight-unit bytes"
/* A cost centre has what it called, and the ticks in itself. */
#define GHC                                                                                                          \
    "jq -r '(.cost_centres|map({(.id|tostring):(.module+\".\"+.label)})|add) as $n|def w(p):(p+[$n[.id|tostring]]) " \
    "as $s|(select(.ticks>0)|\"\\($s|join(\";\")) \\(.ticks)\"),(.children[]|w($s));.profile|w([])' FILE | "         \
    "gecko-convert -"
#define PYINSTRUMENT \
    "pyinstrument -r speedscope -o stacks.json PROGRAM.py, and gecko-convert stacks.json says how to convert it"
#define BPFTRACE \
    "bpftrace -e 'profile:hz:99 { @[ustack, comm, pid] = count(); }' > stacks.txt, then gecko-convert stacks.txt"
#define JFRCONV                                                                                         \
    "make collapsed stacks of it with async-profiler's converter: jfrconv --threads -o collapsed FILE " \
    "stacks.collapsed, then gecko-convert stacks.collapsed"
#define XCTRACE                                                                                 \
    "convert the recording that it is part of: xctrace export --input RECORDING.trace --xpath " \
    "'/trace-toc/*/data/table[@schema=\"time-profile\"]' | inferno-collapse-xctrace | gecko-convert -"
#define VTUNE                                                                                       \
    "vtune -report top-down -r RESULT -call-stack-mode all -column 'CPU Time:Self,Module' -filter " \
    "'Function Stack' -format csv -csv-delimiter comma | inferno-collapse-vtune | gecko-convert -"
#define GO_TOOL_PPROF "go tool pprof -sample_index=0 -unit=ns -traces PROGRAM " PPROF_TRACES

/* Recognises stacks that follow their counts: "      5 main;work". */
static bool has_counts_first(struct text start) {
    uint64_t count;
    struct text line = text_trim_start(text_take_until(&start, '\n'));
    return cursor_take_number(&line, 10, &count) && cursor_take(&line, TEXT(" ")) &&
           text_find(line, ';') < text_find(line, ' ');
}

/* Recognises lines such as "45%  function" and "  <- 40%  caller". */
static bool is_summary_of_luajit(struct text start) {
    uint64_t percent;
    while (start.bytes_count) {
        struct text line = text_trim_start(text_take_until(&start, '\n'));
        if (!cursor_take(&line, TEXT("<- "))) cursor_take(&line, TEXT("-> "));
        bool has_share = cursor_take_number(&line, 10, &percent) && cursor_take(&line, TEXT("%  "));
        if (!has_share || percent > 100 || text_has(line, TEXT("  "))) return !line.bytes_count && !start.bytes_count;
    }
    return true;
}

#define MAGIC(literal) .magic = {TEXT(literal), 0}
#define PARTS(...)     .parts = {__VA_ARGS__}

/* The first row that fits applies, so special formats precede general ones. Where FlameGraph's scripts can make
 * collapsed stacks of a format, the advice names them. */
static const struct foreign FOREIGNS[] = {
    {"a trace of the recorder, damaged by a transfer as text", AS_BINARY, MAGIC("GREC\n\x1a\n")},
    {MAGIC("GREC\r\r\n")},
    {"perf.data, the binary recording of perf, of a big-endian machine", PERF_SCRIPT, MAGIC("2ELIFREP")},
    {"perf.data, the binary recording of an old perf", PERF_SCRIPT, MAGIC("PERFFILE")},
    {"a report of Android's simpleperf", OPENS_DIRECTLY, MAGIC("SIMPLEPERF")},
    {"a method trace of Android's runtime", OPENS_DIRECTLY, MAGIC("*version\n")},
    {"a streamed method trace of Android's runtime", OPENS_DIRECTLY, CONTENT_BINARY, MAGIC("SLOW")},
    {"a recording of Java's Flight Recorder", JFRCONV, MAGIC("FLR\0")},
    {"a trace of .NET",
     "dotnet-trace convert --format Chromium FILE, and open the result at https://profiler.firefox.com", CONTENT_BINARY,
     MAGIC("Nettrace")},
    {"a trace of .NET Core 2", "PerfView opens it; record with dotnet-trace of .NET Core 3 or later, or " RECORD_IT,
     MAGIC("\x14\0\0\0!FastSerialization.1")},
    {"trace.dat, the binary recording of trace-cmd", RECORDS_EVENTS, MAGIC("\x17\x08\x44tracing")},
    {"a jitdump, which names the generated code in a recording",
     "convert the recording, which finds it: gecko-convert perf.data; --debug-dir and --sysroot say where it is",
     MAGIC("DTiJ")},
    {MAGIC("JiTD")},
    {"a recording of memray", "memray transform csv FILE -o memory.csv, and gecko-convert memory.csv says how to go on",
     MAGIC("memray\0"), .unpacks = "lz4"},
    {"a heap dump of Java", HOLDS_NO_STACKS, CONTENT_BINARY, MAGIC("JAVA PROFILE 1.0")},
    {"what hotspot made of a perf.data", FROM_THE_PERF_DATA, MAGIC("QPERFSTREAM\0")},
    {"a trace of Fuchsia, as magic-trace writes it", "https://ui.perfetto.dev shows it; or " RECORD_IT,
     MAGIC("\x10\0\4\x46xT\x16\0")},
    {"a recording of rbspy",
     "rbspy report --format collapsed --input FILE --output stacks.txt, then gecko-convert stacks.txt", MAGIC("rbspy0"),
     .unpacks = "gzip"},
    {"a recording of stackprof", "stackprof --stackcollapse FILE | gecko-convert -", CONTENT_BINARY, MAGIC("\4\x08{")},
    {"a recording of uftrace", "uftrace dump --flame-graph -d FOLDER | gecko-convert -", MAGIC("Ftrace!\0")},
    {"a trace of Tracy", RECORD_IT, CONTENT_BINARY, MAGIC("tlZ\4")},
    {.content = CONTENT_BINARY, MAGIC("tZst")},
    {"a trace in the Common Trace Format, as LTTng and perf data convert write it",
     "babeltrace2 FOLDER shows it; or " RECORDS_EVENTS, MAGIC("\xc1\x1f\xfc\xc1")},
    {MAGIC("\xc1\xfc\x1f\xc1")},
    {MAGIC("\x57\x1d\xd1\x75")},
    {MAGIC("/* CTF 1.")},
    {"a trace of Windows (ETL)", "on Windows, samply import FILE opens it in the viewer", CONTENT_BINARY,
     .magic = {TEXT("\2\0\2\xc0"), 0x48}},
    {"an execution trace of Go",
     "go tool trace -pprof=sched FILE > sched.pprof has its waits, and cpu.pprof of runtime/pprof the work: "
     "gecko-convert cpu.pprof says how to convert it",
     CONTENT_BINARY, MAGIC("go 1."), .second = {TEXT(" trace\0"), 7}},
    {"a recording of sysprof", "sysprof opens it; or " RECORD_IT, MAGIC("\x5e\x97\xca\xfd")},
    {"gmon.out, the counts of gprof", HOLDS_NO_STACKS, CONTENT_BINARY, MAGIC("gmon")},
    {"an SQLite database", HOLDS_NO_STACKS, MAGIC("SQLite format 3\0")},
    {"a core dump", SHOWS_ONE_MOMENT RECORD_IT, MAGIC("\177ELF"), .second = {TEXT("\4\0"), 16}},
    {MAGIC("\177ELF"), .second = {TEXT("\0\4"), 16}},
    {"a program or a library", "record it running: " RECORD_IT, MAGIC("\177ELF")},
    {MAGIC("\xfe\xed\xfa\xce")},
    {MAGIC("\xfe\xed\xfa\xcf")},
    {MAGIC("\xce\xfa\xed\xfe")},
    {MAGIC("\xcf\xfa\xed\xfe")},
    {MAGIC("\xca\xfe\xba\xbe")},
    {MAGIC("MZ"), .content = CONTENT_BINARY},
    {"a RAR archive", UNPACK "bsdtar -xOf FILE | gecko-convert -", MAGIC("Rar!\x1a\x07")},
    {"a CAB archive", UNPACK "bsdtar -xOf FILE | gecko-convert -", MAGIC("MSCF\0\0\0\0")},
    {"a XAR archive", UNPACK "bsdtar -xOf FILE | gecko-convert -", MAGIC("xar!")},
    {"lzip-compressed", UNPACK "lzip -dc FILE | gecko-convert -", MAGIC("LZIP\1")},
    {"lzma-compressed", UNPACK "xz --format=lzma -dc FILE | gecko-convert -", MAGIC("\x5d\0\0")},
    {"compressed by the old compress", UNPACK "gzip -dc FILE | gecko-convert -", MAGIC("\x1f\x9d")},
    {"an ar archive", UNPACK "bsdtar -xOf FILE | gecko-convert -", MAGIC("!<arch>\n")},
    {"a cpio archive", UNPACK "bsdtar -xOf FILE | gecko-convert -", MAGIC("070701")},
    {MAGIC("070707")},
    {"lzop-compressed", UNPACK "lzop -dc FILE | gecko-convert -", MAGIC("\x89LZO")},
    {"lrzip-compressed", UNPACK "lrzip -d -o trace FILE", MAGIC("LRZI")},
    {"an ISO 9660 image", UNPACK "bsdtar -xOf FILE | gecko-convert -", .magic = {TEXT("CD001"), 0x8001}},
    {"a PDF document", FROM_ITS_TRACE, MAGIC("%PDF-")},
    {"a picture", FROM_ITS_TRACE, MAGIC("\x89PNG")},
    {MAGIC("\xff\xd8\xff")},
    {MAGIC("GIF8")},
    {MAGIC("RIFF"), .second = {TEXT("WEBP"), 8}},
    {"a binary property list of macOS", "if it is of Instruments, " XCTRACE, MAGIC("bplist00")},
    {"nothing but zero bytes", "an empty tar archive, or a file that was never written; make the trace again",
     .content = CONTENT_ZEROS},
    /* The header of gperftools has the words 0, 3, 0, which have 8 or 4 bytes in either byte order. */
    {"a CPU profile of gperftools", GO_TOOL_PPROF, MAGIC("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {MAGIC("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0")},
    {MAGIC("\0\0\0\0\3\0\0\0\0\0\0\0")},
    {MAGIC("\0\0\0\0\0\0\0\3\0\0\0\0")},
    {"a pprof profile", "go tool pprof -sample_index=0 -unit=ns -traces " PPROF_TRACES, .content = CONTENT_BINARY,
     .recognises = pprof_shape_recognises, .unpacks = "gzip"},
    {"a profile of Python's cProfile, which has sums per call and no stacks", RECORDS_PYTHON, MAGIC("\xfb)\3")},
    {MAGIC("{)\3")},
    {"a recording of austin in its binary format", "mojo2austin FILE stacks.txt, then gecko-convert stacks.txt",
     CONTENT_BINARY, MAGIC("MOJ")},
    {"a recording of perf as quipper and Chrome OS store it, in a protocol buffer", FROM_THE_PERF_DATA,
     .content = CONTENT_BINARY, .recognises = pprof_shape_is_quipper},
    {"a Perfetto trace, by its looks",
     "traceconv json FILE OUT.json, and open the result at https://profiler.firefox.com; for its CPU samples, "
     "traceconv "
     "profile --perf FILE writes pprof profiles",
     .content = CONTENT_BINARY, .recognises = pprof_shape_is_perfetto},

    {"a Gecko profile, as Firefox writes it", OPENS_DIRECTLY, CONTENT_JSON,
     PARTS(TEXT("\"meta\""), TEXT("\"processType\""), TEXT("\"interval\""))},
    {"a Chrome trace (trace events in JSON)", OPENS_DIRECTLY, CONTENT_JSON, PARTS(TEXT("\"traceEvents\""))},
    {.content = CONTENT_JSON, MAGIC("["), PARTS(TEXT("\"ph\""), TEXT("\"ts\""))},
    {"a CPU profile of V8 (Chrome, Node.js)", OPENS_DIRECTLY, CONTENT_JSON,
     PARTS(TEXT("\"nodes\""), TEXT("\"callFrame\""), TEXT("\"hitCount\""))},
    {"a heap profile of V8 (Chrome, Node.js)", HEAP_PROFILE, CONTENT_JSON,
     PARTS(TEXT("\"head\""), TEXT("\"callFrame\""), TEXT("\"selfSize\""))},
    {"a profile of pyinstrument", PYINSTRUMENT, CONTENT_JSON, PARTS(TEXT("\"sample_count\""), TEXT("\"root_frame\""))},
    {"a profile of GHC in JSON", GHC, CONTENT_JSON, PARTS(TEXT("\"cost_centres\""), TEXT("\"total_ticks\""))},
    {"a heap profile of DHAT", OPENS_DIRECTLY, CONTENT_JSON, PARTS(TEXT("\"dhatFileVersion\""))},
    {"a speedscope profile", SPEEDSCOPE, CONTENT_JSON, PARTS(TEXT("speedscope.app/file-format"))},
    {"JSON of stackprof", "stackprof --stackcollapse RECORDING | gecko-convert -", CONTENT_JSON,
     PARTS(TEXT("\"missed_samples\""), TEXT("\"gc_samples\""))},
    {"JSON made by perf data convert", FROM_THE_PERF_DATA, CONTENT_JSON, PARTS(TEXT("\"linux-perf-json-version\""))},
    {"output of bpftrace in JSON", BPFTRACE, CONTENT_JSON, PARTS(TEXT("\"attached_probes\""))},
    {"a log of docker in JSON", "jq -j .log FILE | gecko-convert -", CONTENT_JSON,
     PARTS(TEXT("\"log\""), TEXT("\"stream\""), TEXT("\"time\""))},
    {"a log of journalctl in JSON", "jq -r .MESSAGE FILE | gecko-convert -", CONTENT_JSON,
     PARTS(TEXT("\"__CURSOR\""), TEXT("\"MESSAGE\""))},
    {"JSON of some kind",
     "it is not a trace; if a profiler wrote it, https://profiler.firefox.com may open it directly",
     .content = CONTENT_JSON},

    {"a pointer of Git LFS, not the file itself", "git lfs pull gets the file",
     MAGIC("version https://git-lfs.github.com/")},
    {"a raw dump (perf script -D)", FROM_THE_PERF_DATA, PARTS(TEXT(" raw event: size "))},
    {PARTS(TEXT("]: PERF_RECORD_"))},
    {"branch stacks of perf script, without threads", FROM_THE_PERF_DATA, PARTS(TEXT("/P/-/-/"))},
    {"the text of a recording of perf, as quipper writes it", FROM_THE_PERF_DATA, MAGIC("file_attrs {")},
    {MAGIC("# proto-file: "), PARTS(TEXT("quipper/perf_data.proto"))},
    {"the text of perf report, which has sums and no single samples", FROM_THE_PERF_DATA, PARTS(TEXT("# Overhead  "))},
    {PARTS(TEXT("# Samples: "), TEXT("# Event count (approx.): "))},
    {"sums of perf diff, perf c2c or perf sched latency", FROM_THE_PERF_DATA, PARTS(TEXT("# Baseline  Delta"))},
    {PARTS(TEXT(" Trace Event Information "), TEXT(" Total records "))},
    {PARTS(TEXT("| Switches |"), TEXT("| Avg delay ms"))},
    {"the text of perf report, which has sums and no single samples", FROM_THE_PERF_DATA,
     PARTS(TEXT("% "), TEXT(" [.] "))},
    {"text of perf script without threads, or without events and times", FROM_THE_PERF_DATA, PARTS(TEXT(" \n\t    "))},
    {"the text of perf annotate, which has sums and no stacks", FROM_THE_PERF_DATA,
     PARTS(TEXT(" Percent"), TEXT("Source code & Disassembly of "))},
    {"the text of perf trace", RECORDS_CALLS, PARTS(TEXT(" ( "), TEXT(" ms): "), TEXT(" = "))},
    {PARTS(TEXT(" syscalls:sys_enter_"), TEXT("("))},
    {"the text of strace", RECORDS_CALLS, PARTS(TEXT("execve(\""), TEXT(") = 0\n"))},
    {PARTS(TEXT(") = -1 E"), TEXT(") = 0"))},
    {PARTS(TEXT("execve(\""), TEXT(") = 0 <0."))},
    {MAGIC("strace: Process ")},
    {"the summary of perf trace", RECORDS_CALLS, PARTS(TEXT(" Summary of events:\n"))},
    {"the summary of strace", RECORDS_CALLS, PARTS(TEXT("% time     seconds  usecs/call"))},
    {"the text of gprof, which has sums per call and no stacks", RECORD_IT,
     PARTS(TEXT("Each sample counts as "), TEXT(" calls "))},
    {"the text of Python's cProfile, which has sums per call and no stacks", RECORDS_PYTHON,
     PARTS(TEXT(" function calls "), TEXT(" seconds\n"))},
    {"a report of pyinstrument, which has sums", PYINSTRUMENT,
     PARTS(TEXT("/_//_/// /_\\ / //_// / //_'/ //"), TEXT("Duration: "))},
    {"a log of node --prof",
     "gecko-convert record node --perf-basic-prof PROGRAM.js; or node --cpu-prof PROGRAM.js, and open the result at "
     "https://profiler.firefox.com",
     MAGIC("v8-version,")},
    {MAGIC("Statistical profiling result from ")},
    {"the text of phpspy", PHPSPY, MAGIC("0 "), PARTS(TEXT("\n1 "), TEXT(":"))},
    {MAGIC("0 "), PARTS(TEXT("\t1 "), TEXT(":"))},
    {"the text of perf stat", HOLDS_NO_STACKS, PARTS(TEXT("Performance counter stats for "))},
    {PARTS(TEXT("#  "), TEXT(" counts unit events"))},
    {MAGIC("# started on ")},
    {"calls in a processor's trace (perf script --call-trace), which are no samples",
     "perf script --itrace=i100usg | gecko-convert -", PARTS(TEXT("]"), TEXT(": (/"), TEXT(")      "))},
    {PARTS(TEXT("]"), TEXT(": (["), TEXT(")      "))},
    {"the text of perf sched map", FROM_THE_PERF_DATA, PARTS(TEXT(" secs "), TEXT(" => "))},
    {"the text of perf sched timehist", FROM_THE_PERF_DATA, PARTS(TEXT(" task name "), TEXT(" wait time  sch delay "))},
    {"the text of trace-cmd report", RECORDS_EVENTS, MAGIC("cpus=")},
    {"events of ftrace or trace-cmd", RECORDS_EVENTS, PARTS(TEXT(" ["), TEXT("]  "), TEXT(": sched_switch: "))},
    {PARTS(TEXT("-0     ["), TEXT("]  "), TEXT(": "))},
    {PARTS(TEXT(" ["), TEXT("] "), TEXT(" <-"))},
    {"the text of simpleperf report-sample", FROM_THE_PERF_DATA, MAGIC("sample:\n"), PARTS(TEXT("  event_type: "))},
    {"a profile of callgrind or cachegrind, which has sums per call and no stacks",
     "kcachegrind shows it; or " RECORD_IT, MAGIC("# callgrind format")},
    {PARTS(TEXT("creator: callgrind"))},
    {PARTS(TEXT("\nevents: "), TEXT("\nfn="))},
    {PARTS(TEXT("\nevents: "), TEXT("\ncmd: "))},
    {"a heap profile of massif", "ms_print FILE shows it", PARTS(TEXT("\nmem_heap_B="))},
    /* Its first line has the version, 10300 for 1.3: "v 12" is a function and its count. */
    {"a recording of heaptrack", "heaptrack_print -f FILE -F stacks.txt, then gecko-convert stacks.txt", MAGIC("v 10"),
     PARTS(TEXT("\nx ")), .unpacks = "gzip, zstd"},
    {MAGIC("v 10"), PARTS(TEXT("\nX "))},
    {"the text of heaptrack_print", "heaptrack_print -f RECORDING -F stacks.txt, then gecko-convert stacks.txt",
     PARTS(TEXT("\nDebuggee command was: "))},
    {"the text of pprof -raw", "convert the profile that it was made from: " GO_TOOL_PPROF,
     PARTS(TEXT("PeriodType:"), TEXT("\nSamples:\n"))},
    {"the text of pprof -traces", "convert the profile that it was made from: " GO_TOOL_PPROF,
     PARTS(TEXT("Type: "), TEXT("\n-----------+---"))},
    {"the text of pprof -top, which has sums and no stacks",
     "convert the profile that it was made from: " GO_TOOL_PPROF, PARTS(TEXT(" flat%"), TEXT(" sum%"), TEXT(" cum%"))},
    {"a heap profile of gperftools", GO_TOOL_PPROF, MAGIC("heap profile: ")},
    {"a profile of Go's runtime as text", GO_TOOL_PPROF, MAGIC("goroutine profile: ")},
    {MAGIC("threadcreate profile: ")},
    {MAGIC("--- contention:\n")},
    {MAGIC("--- mutex:\n")},
    {"contention or threads of gperftools", GO_TOOL_PPROF, MAGIC("--- contentionz ")},
    {MAGIC("--- threadz ")},
    {"a summary of rbspy or stackprof, which has no stacks", "convert the recording that it was made from",
     MAGIC("% self  % total  name\n")},
    {PARTS(TEXT("  Mode: "), TEXT(" miss rate)\n"))},
    {"statistics of Python's tracemalloc, which have no stacks",
     "memray run -o memory.bin PROGRAM.py, and gecko-convert memory.bin says how to go on",
     PARTS(TEXT(": size="), TEXT(", count="), TEXT(", average="))},
    {"a report of macOS's spindump",
     "record with sample PROGRAM -file sample.txt, then stackcollapse-sample.awk sample.txt | gecko-convert -",
     PARTS(TEXT("Date/Time: "), TEXT("\nSteps: "))},
    {"text of babeltrace", RECORDS_EVENTS, PARTS(TEXT("] (+"), TEXT(": { "), TEXT(" }, { "))},
    {"the text of uftrace", "uftrace dump --flame-graph -d FOLDER | gecko-convert -", MAGIC("# DURATION ")},
    {"a report of valgrind", HOLDS_NO_STACKS, MAGIC("=="), PARTS(TEXT("== Command: "))},
    {PARTS(TEXT("\nms_print arguments: "))},
    {PARTS(TEXT("\nI1 cache: "), TEXT("\nEvents recorded: "))},
    {"the text of macOS's sample", "stackcollapse-sample.awk FILE | gecko-convert -", MAGIC("Analysis of sampling ")},
    {PARTS(TEXT("\nCall graph:\n"))},
    {"a call tree of Instruments", XCTRACE "; https://www.speedscope.app opens the call tree",
     PARTS(TEXT("Running Time"), TEXT("Symbol Name"))},
    {PARTS(TEXT("Self Weight"), TEXT("Symbol Name"))},
    {PARTS(TEXT("Bytes Used"), TEXT("Symbol Name"))},
    {"a call graph of FreeBSD's pmcstat", "stackcollapse-pmc.pl FILE | gecko-convert -", MAGIC("@ "),
     PARTS(TEXT(" samples]\n"))},
    {"a table of stacks of VTune", "inferno-collapse-vtune FILE | gecko-convert -",
     PARTS(TEXT("Function Stack,CPU Time:Self,Module"))},
    {"a report of VTune", VTUNE, PARTS(TEXT("Function Stack"), TEXT("CPU Time"))},
    {"a call tree of Visual Studio", "stackcollapse-vsprof.pl FILE | gecko-convert -",
     PARTS(TEXT("Level,Function Name,"))},
    {"a profile of GHC", "inferno-collapse-ghcprof FILE | gecko-convert -",
     PARTS(TEXT("Time and Allocation Profiling Report"))},
    {"a trace of Xdebug", "stackcollapse-xdebug.php FILE | gecko-convert -", PARTS(TEXT("TRACE START ["))},
    {"the text of a recording of Java's Flight Recorder", "convert the recording instead; " JFRCONV,
     PARTS(TEXT("jdk."), TEXT(" {\n"), TEXT("startTime = "))},
    {"allocations of memray", MEMRAY_CSV, MAGIC("allocator,num_allocations,size,tid,thread_name,stack_trace")},
    {"a table of Tracy, which has no stacks", RECORD_IT, MAGIC("name,src_file,src_line,")},
    {"backtraces of eu-stack", EU_STACK, MAGIC("PID "), PARTS(TEXT("\nTID "), TEXT("\n#0  0x"))},
    {"backtraces of wallClockProfiler", "stackcollapse-wcp.pl FILE | gecko-convert -",
     PARTS(TEXT("Full stacks"), TEXT(" samples)\n"))},
    {"backtraces of gdb", GDB, MAGIC("#0  "), PARTS(TEXT("\n#1  "))},
    {PARTS(TEXT("\n#0  "), TEXT("\n#1  "))},
    {"a thread dump of Java", "stackcollapse-jstack.pl FILE | gecko-convert -", PARTS(TEXT("Full thread dump "))},
    {"exceptions of Java", "stackcollapse-java-exceptions.pl FILE | gecko-convert -",
     PARTS(TEXT("Exception"), TEXT("\tat "), TEXT(".java:"))},
    {PARTS(TEXT("Exception"), TEXT("\n    at "), TEXT(".java:"))},
    {"a thread dump of IBM's Java", "stackcollapse-ibmjava.pl FILE | gecko-convert -", PARTS(TEXT("\n4XESTACKTRACE "))},
    {"a profile of Java's hprof", "stackcollapse-hprof FILE | gecko-convert -", MAGIC("JAVA PROFILE 1.0")},
    {"stacks of goroutines", SHOWS_ONE_MOMENT RECORD_IT, MAGIC("goroutine ")},
    {"stacks of Python, as py-spy dump prints them", SHOWS_ONE_MOMENT RECORDS_PYTHON, MAGIC("Process "),
     PARTS(TEXT("\nPython v"), TEXT("\nThread "))},
    {"stacks of Python's faulthandler", "stackcollapse-faulthandler.pl FILE | gecko-convert -",
     PARTS(TEXT(" (most recent call first):\n  File \""))},
    {"the text of bcc's memleak", MEMLEAK, PARTS(TEXT(" with outstanding allocations:\n"), TEXT(" from stack\n"))},
    {"collapsed stacks after their counts, as uniq -c writes them",
     "awk '{n=$1;sub(/^ *[0-9]+ /,\"\");print $0,n}' FILE | gecko-convert -", CONTENT_TEXT,
     .recognises = has_counts_first},
    {"a summary of LuaJIT's profiler, which has no whole stacks",
     "luajit -jp=G,stacks.txt PROGRAM.lua, then gecko-convert stacks.txt", CONTENT_TEXT,
     .recognises = is_summary_of_luajit},
    {"output of bpftrace without a map that counts stacks", BPFTRACE, MAGIC("Attach"), PARTS(TEXT(" probe"))},
    {"a profile of coz", HOLDS_NO_STACKS, MAGIC("startup\ttime=")},
    {"a graph (DOT)", FROM_ITS_TRACE, MAGIC("digraph ")},
    {"metrics of Prometheus", HOLDS_NO_STACKS, PARTS(TEXT("# TYPE "), TEXT(" counter\n"))},
    {PARTS(TEXT("# TYPE "), TEXT(" gauge\n"))},
    {"a script", "record it running: " RECORD_IT, MAGIC("#!")},
    {"a trace of the kernel's ftrace", HOLDS_NO_STACKS, MAGIC("# tracer: ")},
    {"a picture (SVG), perhaps a flame graph", "convert the collapsed stacks that it was made from", CONTENT_TEXT,
     MAGIC("<svg")},
    {.content = CONTENT_TEXT, MAGIC("<?xml"), PARTS(TEXT("<svg"))},
    {"a web page",
     "if it is a flame graph of async-profiler, jfrconv -o collapsed FILE stacks.collapsed makes collapsed stacks; "
     "otherwise " FROM_ITS_TRACE,
     CONTENT_TEXT, MAGIC("<!doctype html")},
    {.content = CONTENT_TEXT, MAGIC("<html")},
    {"a table of xctrace", "inferno-collapse-xctrace FILE | gecko-convert -", CONTENT_TEXT, MAGIC("<?xml"),
     PARTS(TEXT("<trace-query-result"))},
    {"XML", FROM_ITS_TRACE, CONTENT_TEXT, MAGIC("<?xml")},
};

bool foreign_is_binary(struct text start) {
    size_t control_count = 0;
    for (size_t i = 0; i < start.bytes_count; i++) {
        unsigned byte = (unsigned char)start.bytes[i];
        if (byte == 0) return true;
        bool is_usual = memchr("\a\t\n\f\r\x1b", (int)byte, 6);
        if ((byte < 0x20 && !is_usual) || byte == 0x7f) control_count++;
    }
    return control_count > start.bytes_count / 32;
}

static bool is_zeros(struct text start) {
    for (size_t i = 0; i < start.bytes_count; i++)
        if (start.bytes[i]) return false;
    return start.bytes_count > 0;
}

/* Returns whether a list may begin so: "[0] text" and "[main]" begin lines of other texts. */
static bool is_json_list(struct text inside) {
    if (!inside.bytes_count || memchr("\"{[]", inside.bytes[0], 4)) return true;
    size_t end = 0;
    while (end < inside.bytes_count && !strchr(", \t\r\n]", inside.bytes[end])) end++;
    struct text word = text_slice(inside, 0, end), rest = text_content(text_from(inside, end));
    bool is_number = cursor_is_digit(word.bytes[0]) || word.bytes[0] == '-';
    bool is_constant =
        text_equal(word, TEXT("true")) || text_equal(word, TEXT("false")) || text_equal(word, TEXT("null"));
    bool is_end = !rest.bytes_count || rest.bytes[0] == ',' ||
                  (rest.bytes[0] == ']' && !text_content(text_from(rest, 1)).bytes_count);
    return (is_number || is_constant) && is_end;
}

bool foreign_is_json(struct text start) {
    struct text content = text_content(start);
    if (!content.bytes_count || (content.bytes[0] != '{' && content.bytes[0] != '[')) return false;
    struct text inside = text_content(text_from(content, 1));
    if (content.bytes[0] == '[') return is_json_list(inside);
    return !inside.bytes_count || inside.bytes[0] == '"' || inside.bytes[0] == '}';
}

static bool has_content(struct text start, enum content content) {
    switch (content) {
        case CONTENT_BINARY: return foreign_is_binary(start);
        case CONTENT_ZEROS: return is_zeros(start);
        case CONTENT_JSON: return foreign_is_json(start);
        case CONTENT_ANY:
        case CONTENT_TEXT: return true;
    }
    return false;
}

static bool has_magic(struct text start, enum content content, const struct magic *magic) {
    if (!magic->bytes.bytes_count) return true;
    bool is_text = content == CONTENT_TEXT || content == CONTENT_JSON;
    struct text bytes = text_from(is_text ? text_content(start) : start, magic->at);
    if (!is_text) return text_starts_with(bytes, magic->bytes);
    return bytes.bytes_count >= magic->bytes.bytes_count &&
           strncasecmp(bytes.bytes, magic->bytes.bytes, magic->bytes.bytes_count) == 0;
}

static bool has_parts(struct text start, const struct text parts[PARTS_MAX]) {
    for (size_t i = 0; i < PARTS_MAX && parts[i].bytes_count; i++)
        if (!text_has(start, parts[i])) return false;
    return true;
}

static const struct foreign *recognise(struct text start) {
    const struct foreign *titled = FOREIGNS;
    for (size_t i = 0; i < sizeof FOREIGNS / sizeof *FOREIGNS; i++) {
        const struct foreign *row = &FOREIGNS[i];
        if (row->title) titled = row;
        if (has_content(start, row->content) && has_magic(start, row->content, &row->magic) &&
            has_magic(start, row->content, &row->second) && has_parts(start, row->parts) &&
            (!row->recognises || row->recognises(start)))
            return titled;
    }
    return NULL;
}

static void explain_unknown_text(const struct input *input, struct text start, struct failure *failure) {
    struct text content = text_content(start);
    struct text line = text_slice(content, 0, text_find(content, '\n'));
    if (text_ends_with(line, TEXT("\r"))) line.bytes_count--;
    char shown[FIRST_LINE_CHARACTERS + sizeof "..."];
    printable_copy(shown, sizeof shown, line);
    failure_set(failure, FAILURE_INPUT,
                "%s: this is text, but in no known trace format; it begins \"%s\"; --from FORMAT reads it as "
                "that format all the same",
                input_name(input), shown);
}

/* Returns whether a shell takes the name as one word, at least between single quotes. */
static bool is_word(struct text name, bool *needs_quotes) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+,:=@%-";
    *needs_quotes = false;
    for (size_t i = 0; i < name.bytes_count; i++) {
        unsigned char byte = (unsigned char)name.bytes[i];
        if (byte == '\'' || byte < ' ' || byte == 0x7f) return false;
        *needs_quotes |= !strchr(plain, byte);
    }
    return name.bytes_count > 0 && name.bytes[0] != '-';
}

/* Copies the advice with the name of the input for FILE, so that the command can be copied, if the input is a file with
 * a harmless name. */
static void write_advice(char *out, size_t capacity_bytes, const char *advice, struct text name) {
    static const char placeholder[] = "FILE";
    bool needs_quotes;
    bool has_name = name.bytes_count <= NAME_BYTES_MAX && is_word(name, &needs_quotes);
    const char *next = strstr(advice, placeholder);
    if (!has_name || !next) {
        snprintf(out, capacity_bytes, "%s", advice);
        return;
    }
    const char *quote = needs_quotes ? "'" : "";
    size_t used = 0;
    for (; next; advice = next + sizeof placeholder - 1, next = strstr(advice, placeholder)) {
        used += (size_t)snprintf(out + used, capacity_bytes - used, "%.*s%s%.*s%s", (int)(next - advice), advice, quote,
                                 TEXT_ARGS(name), quote);
        if (used >= capacity_bytes) return;
    }
    snprintf(out + used, capacity_bytes - used, "%s", advice);
}

bool foreign_is_known(struct text start) { return recognise(start) != NULL; }

/* Refuses an input whose advice may apply within the wrapping. */
static void refuse(const struct input *input, const struct foreign *foreign, struct failure *failure) {
    const char *name = input_name(input);
    struct text wrapping = input_wrapping(input);
    struct text unpacks = text_of(foreign->advice == OPENS_DIRECTLY ? "gzip"
                                  : foreign->unpacks                ? foreign->unpacks
                                                                    : "");
    if (text_equal(wrapping, TEXT("log"))) wrapping.bytes_count = 0; /* changes no byte that counts here */
    bool is_direct = !wrapping.bytes_count || text_has(unpacks, wrapping);
    bool is_file = is_direct && strcmp(name, "standard input") != 0;
    char advice[ADVICE_BYTES];
    write_advice(advice, sizeof advice, foreign->advice, is_file ? text_of(name) : TEXT(""));
    failure_set(failure, FAILURE_INPUT, "%s: this is %s%s%.*s: %s%s", name, foreign->title,
                wrapping.bytes_count ? ", inside " : "", TEXT_ARGS(wrapping),
                is_direct ? "" : "take it out of there, then ", advice);
}

void foreign_explain(const struct input *input, struct text start, bool is_whole, struct failure *failure) {
    const char *name = input_name(input);
    struct text wrapping = input_wrapping(input);
    const char *inside = wrapping.bytes_count ? ", inside " : "";
    int wrapping_bytes = (int)wrapping.bytes_count;
    if (is_whole && !text_content(start).bytes_count) {
        const char *is_empty = start.bytes_count ? "holds nothing but blank lines" : "is empty";
        failure_set(failure, FAILURE_INPUT, "%s: %s%s%.*s; there is nothing to convert", name, is_empty, inside,
                    wrapping_bytes, wrapping.bytes);
        return;
    }
    const struct foreign *foreign = recognise(start);
    if (foreign) {
        refuse(input, foreign, failure);
        return;
    }
    if (foreign_is_binary(start)) {
        failure_set(failure, FAILURE_INPUT,
                    "%s: this is binary data of an unknown kind%s%.*s; traces of the recorder, perf.data files, perf "
                    "script text, collapsed stacks and profiles are read here",
                    name, inside, wrapping_bytes, wrapping.bytes);
        return;
    }
    explain_unknown_text(input, start, failure);
}
