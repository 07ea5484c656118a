/* Tests which reader accepts what, and the messages about contents that no reader accepts. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "readers/reader.h"
#include "tests/support/unit_test.h"

/* ---- Readers. ---- */

static const struct reader *detect(struct text bytes, struct failure *failure) {
    *failure = (struct failure){0};
    struct input *input = input_from_memory(bytes, 100, failure);
    assert_non_null(input);
    const struct reader *reader = reader_detect(input, failure);
    assert_int_equal(input_offset(input), 0);
    input_close(input);
    return reader;
}

TEST(test_names) {
    assert_ptr_equal(reader_by_name("perf-data"), &reader_perf_data);
    assert_ptr_equal(reader_by_name("perf-script"), &reader_perf_script);
    assert_ptr_equal(reader_by_name("collapsed"), &reader_collapsed);
    assert_ptr_equal(reader_by_name("recorder"), &reader_trace);
    assert_ptr_equal(reader_by_name("native"), &reader_trace); /* its former name */
    assert_null(reader_by_name("perf"));
    assert_null(reader_by_name(""));
    for (size_t i = 0; readers[i]; i++) assert_ptr_equal(reader_by_name(readers[i]->name), readers[i]);
}

TEST(test_formats) {
    struct failure failure;
    assert_ptr_equal(
        detect(TEXT("app 12/13 [001] 5.000001: 250000 cycles:\n\t 55d0 main+0x10 (/bin/app)\n\n"), &failure),
        &reader_perf_script);
    assert_ptr_equal(detect(TEXT("main;run;step 12\nmain;run 3\n"), &failure), &reader_collapsed);
    /* JSON begins with a bracket, too. */
    assert_ptr_equal(detect(TEXT("    [nginx]\n    main\n        3\n\n"), &failure), &reader_collapsed);
    /* Functions may be called as binary formats begin. */
    assert_ptr_equal(detect(TEXT("gmon_start 12\nmain() 3\n"), &failure), &reader_collapsed);
    assert_ptr_equal(detect(TEXT("SLOW_path 12\nmain() 3\n"), &failure), &reader_collapsed);
    assert_ptr_equal(detect(TEXT("v 12\nx 3\nmain() 3\nrun() 1\n"), &failure), &reader_collapsed);
    assert_ptr_equal(detect(TEXT("Nettrace 12\nmain() 3\n"), &failure), &reader_collapsed);
    assert_ptr_equal(detect(TEXT("GREC\r\n\x1a\n\1\0\0\0"), &failure), &reader_trace);
    assert_false(failure_is_set(&failure));
    assert_null(detect(TEXT("nr_free_pages 12\nnr_dirty 3\n"), &failure));
}

TEST(test_format_of_a_long_trace) {
    enum { TRACE_BYTES = 3 * PROBE_BYTES };
    static const char line[] = "main;run;step 12\n";
    char *bytes = malloc(TRACE_BYTES);
    assert_non_null(bytes);
    for (size_t i = 0; i < TRACE_BYTES; i++) bytes[i] = line[i % (sizeof line - 1)];
    struct failure failure;
    static const size_t sizes[] = {PROBE_BYTES - 1, PROBE_BYTES, PROBE_BYTES + 1, TRACE_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_ptr_equal(detect((struct text){bytes, sizes[i]}, &failure), &reader_collapsed);
    free(bytes);
}

TEST(test_after_a_failure) {
    struct failure failure = {0};
    struct input *input = input_from_memory(TEXT("main;run 3\n"), 0, &failure);
    failure_set(&failure, FAILURE_IO, "elsewhere");
    assert_null(reader_detect(input, &failure));
    assert_string_equal(failure.message, "elsewhere");
    input_close(input);
}

/* ---- Everything else. ---- */

struct content {
    struct text bytes;
    const char *message; /* follows "memory: this is " */
};

#define PYINSTRUMENT \
    "pyinstrument -r speedscope -o stacks.json PROGRAM.py, and gecko-convert stacks.json says how to convert it"
#define SPEEDSCOPE                                                                                               \
    "jq -r '.shared.frames as $f|.profiles[0].unit as $u|.profiles[]|select(.unit==$u)|"                         \
    "({seconds:1e9,milliseconds:1e6,microseconds:1e3}[$u]//1) as $n|if "                                         \
    ".samples then [.samples,.weights]|transpose[] else foreach .events[] as $e({s:[],t:0};.p=(if .s!=[] and "   \
    "$e.at>.t then [.s,$e.at-.t] else null end)|.t=$e.at|if $e.type==\"O\" then .s+=[$e.frame] else .s|=.[:-1] " \
    "end;.p|select(.)) end|\"\\(.[0]|map($f[.].name)|join(\";\")) \\(.[1]*$n)\"' memory | gecko-convert - "      \
    "--weight-unit $(jq -r '{bytes:\"bytes\",none:\"samples\"}[.profiles[0].unit]//\"ns\"' memory)"              \
    "; https://www.speedscope.app opens it, too"
#define BYTES(literal) \
    { literal, sizeof(literal) - 1 }
#define DIRECTLY ": it needs no conversion: open it at https://profiler.firefox.com"
#define XCTRACE                                                                                 \
    "convert the recording that it is part of: xctrace export --input RECORDING.trace --xpath " \
    "'/trace-toc/*/data/table[@schema=\"time-profile\"]' | inferno-collapse-xctrace | gecko-convert -"
#define VTUNE                                                                                       \
    "vtune -report top-down -r RESULT -call-stack-mode all -column 'CPU Time:Self,Module' -filter " \
    "'Function Stack' -format csv -csv-delimiter comma | inferno-collapse-vtune | gecko-convert -"
#define PERF_DATA "convert the recording it was made from: gecko-convert perf.data"
#define RECORD    "gecko-convert record PROGRAM"
#define CALLS_OF_TRACE                                                                \
    "calls in a processor's trace (perf script --call-trace), which are no samples: " \
    "perf script --itrace=i100usg | gecko-convert -"
#define NO_STACKS "it holds no stacks; record some: " RECORD
#define PPROF_TO_US                                                                                          \
    " | awk '/^-+\\+-/{if(s)print s,v;s=\"\";next} {sub(/^ +/,\"\");sub(/ \\(inline\\)$/,\"\")} "            \
    "s{s=$0\";\"s;next} /^[0-9]/{v=$1;sub(/ns$/,\"\",v);sub(/^[^ ]+ +/,\"\");s=$0}' | gecko-convert -; add " \
    "--weight-unit ns if it has "                                                                            \
    "times before counts"
#define NUMBERED_FRAMES(name)                                                  \
    "awk '/^#0 /{if(s)n[s]++;s=\"\"} /^#[0-9]+ /{sub(/^#[0-9]+ +/,\"\");" name \
    "s=$0(s?\";\":\"\")s} "                                                    \
    "END{if(s)n[s]++;for(s in n)print s,n[s]}' memory | gecko-convert -"
#define PHPSPY                                                                                                      \
    "tr '\\t' '\\n' <memory | awk '/^0 /{if(s)n[s]++;s=\"\"} /^[0-9]+ /{f=$2;sub(/^[^ ]* [^ ]* /,\"\");sub(/:-1$/," \
    "\"\");s=f\" (\"$0\")\"(s?\";\":\"\")s} END{if(s)n[s]++;for(s in n)print s,n[s]}' | gecko-convert -"
#define EVENTS \
    "record the same events with perf: perf record -g -e sched:sched_switch PROGRAM, then gecko-convert perf.data"
#define MOMENT "it shows one moment, not a recording; record one: "
#define CALLS  "record system calls with their times: perf trace record PROGRAM, then gecko-convert perf.data"
#define PY_SPY "py-spy record --format raw -o stacks.txt -- python PROGRAM.py, then gecko-convert stacks.txt"
#define CTF                                                                                                      \
    "a trace in the Common Trace Format, as LTTng and perf data convert write it: babeltrace2 FOLDER shows it; " \
    "or " EVENTS
#define SUMMARY "a summary of rbspy or stackprof, which has no stacks: convert the recording that it was made from"
#define PYTHON  "no stacks: " PY_SPY

static const struct content contents[] = {
    {BYTES("2ELIFREP\0\0\0\0\0\0\0\x68"),
     "perf.data, the binary recording of perf, of a big-endian machine: perf script -F +pid -i memory | "
     "gecko-convert -"},
    {BYTES("PERFFILE\x68\0\0\0"),
     "perf.data, the binary recording of an old perf: perf script -F +pid -i memory | gecko-convert -"},
    {BYTES("SIMPLEPERF\x01\0\x10\0\0\0"), "a report of Android's simpleperf" DIRECTLY},
    {BYTES("*version\n3\ndata-file-overflow=false\n"), "a method trace of Android's runtime" DIRECTLY},
    {BYTES("SLOW\xf3\0\x20\0"), "a streamed method trace of Android's runtime" DIRECTLY},
    {BYTES("FLR\0\0\x02\0\x01"),
     "a recording of Java's Flight Recorder: make collapsed stacks of it with async-profiler's converter: jfrconv "
     "--threads -o collapsed memory stacks.collapsed, then gecko-convert stacks.collapsed"},
    {BYTES("\x14\0\0\0!FastSerialization.1\4\4\1\3"),
     "a trace of .NET Core 2: PerfView opens it; record with dotnet-trace of .NET Core 3 or later, or " RECORD},
    {BYTES("strace: Process 28567 attached\n"), "the text of strace: " CALLS},
    {BYTES("Nettrace\x14\0\0\0!FastSerialization.1"),
     "a trace of .NET: dotnet-trace convert --format Chromium memory, and open the result at "
     "https://profiler.firefox.com"},
    {BYTES("\x17\x08\x44tracing6\0"), "trace.dat, the binary recording of trace-cmd: " EVENTS},
    {BYTES("DTiJ\1\0\0\0\x28\0\0\0"),
     "a jitdump, which names the generated code in a recording: convert the recording, which finds it: gecko-convert "
     "perf.data; --debug-dir and --sysroot say where it is"},
    {BYTES("memray\0\x0b\0\0\0"),
     "a recording of memray: memray transform csv memory -o memory.csv, and gecko-convert memory.csv says how to go "
     "on"},
    {BYTES("{\"head\":{\"callFrame\":{\"functionName\":\"(root)\"},\"selfSize\":0,\"id\":1,\"children\":[]}}"),
     "a heap profile of V8 (Chrome, Node.js): jq -r 'def w(p):(p+[.callFrame.functionName]) as "
     "$s|(select(.selfSize>0)|\"\\($s|join(\";\")) \\(.selfSize)\"),(.children[]|w($s));.head|w([])' memory | "
     "gecko-convert - --weight-unit bytes"},
    {BYTES("{\"start_time\": 1.5,\"sample_count\": 145,\"root_frame\": {\"function\": \"<module>\"}}"),
     "a profile of pyinstrument: " PYINSTRUMENT},
    {BYTES("\n  _     ._   __/__   _ _  _  _ _/_   Recorded: 23:39:47  Samples:  139\n"
           " /_//_/// /_\\ / //_// / //_'/ //     Duration: 2.115     CPU time: 0.304\n"),
     "a report of pyinstrument, which has sums: " PYINSTRUMENT},
    {BYTES("JAVA PROFILE 1.0.2\0\0\0\0\x08"), "a heap dump of Java: " NO_STACKS},
    {BYTES("\n\x85\1\n\x7f\x08\0\x10\x60\x18\0"),
     "a recording of perf as quipper and Chrome OS store it, in a protocol buffer: " PERF_DATA},
    {BYTES("QPERFSTREAM\0\x13\0\0\0"), "what hotspot made of a perf.data: " PERF_DATA},
    {BYTES("\x5e\x97\xca\xfd\x01\0\0\0"), "a recording of sysprof: sysprof opens it; or " RECORD},
    {BYTES("gmon\x01\0\0\0"), "gmon.out, the counts of gprof: " NO_STACKS},
    {BYTES("SQLite format 3\0\x10\0"), "an SQLite database: " NO_STACKS},
    {BYTES("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0\x3e\0"), "a core dump: " MOMENT RECORD},
    {BYTES("\177ELF\2\2\1\0\0\0\0\0\0\0\0\0\0\4\0\x16"), "a core dump: " MOMENT RECORD},
    {BYTES("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e\0"), "a program or a library: record it running: " RECORD},
    {BYTES("\xcf\xfa\xed\xfe\7\0\0\1"), "a program or a library: record it running: " RECORD},
    {BYTES("MZ\x90\0\3\0\0\0"), "a program or a library: record it running: " RECORD},
    {BYTES("Rar!\x1a\7\1\0"), "a RAR archive: unpack it first: bsdtar -xOf memory | gecko-convert -"},
    {BYTES("MSCF\0\0\0\0\x2c"), "a CAB archive: unpack it first: bsdtar -xOf memory | gecko-convert -"},
    {BYTES("xar!\0\x1c\0\1"), "a XAR archive: unpack it first: bsdtar -xOf memory | gecko-convert -"},
    {BYTES("LZIP\1\f"), "lzip-compressed: unpack it first: lzip -dc memory | gecko-convert -"},
    {BYTES("\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff"),
     "lzma-compressed: unpack it first: xz --format=lzma -dc memory | gecko-convert -"},
    {BYTES("\x1f\x9d\x90"), "compressed by the old compress: unpack it first: gzip -dc memory | gecko-convert -"},
    {BYTES("!<arch>\n"), "an ar archive: unpack it first: bsdtar -xOf memory | gecko-convert -"},
    {BYTES("070701000041ED"), "a cpio archive: unpack it first: bsdtar -xOf memory | gecko-convert -"},
    {BYTES("070707000001000002"), "a cpio archive: unpack it first: bsdtar -xOf memory | gecko-convert -"},
    {BYTES("\x89LZO\0\r\n\x1a\n"), "lzop-compressed: unpack it first: lzop -dc memory | gecko-convert -"},
    {BYTES("LRZI\0\6\0\0"), "lrzip-compressed: unpack it first: lrzip -d -o trace memory"},
    {BYTES("%PDF-1.7\n%\xe2\xe3"), "a PDF document: convert the trace that it was made from"},
    {BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "a picture: convert the trace that it was made from"},
    {BYTES("\xff\xd8\xff\xe0\0\x10JFIF"), "a picture: convert the trace that it was made from"},
    {BYTES("GIF89a\1\0"), "a picture: convert the trace that it was made from"},
    {BYTES("RIFF\x24\0\0\0WEBPVP8 "), "a picture: convert the trace that it was made from"},
    {BYTES("bplist00\xd4\1\2"), "a binary property list of macOS: if it is of Instruments, " XCTRACE},
    {BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
     "nothing but zero bytes: an empty tar archive, or a file that was never written; make the trace again"},
    {BYTES("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
     "a CPU profile of gperftools: go tool pprof -sample_index=0 -unit=ns -traces PROGRAM memory" PPROF_TO_US},
    {BYTES("\0\0\0\0\0\0\0\3\0\0\0\0\0\0\x27\x10\0\0\0\0"),
     "a CPU profile of gperftools: go tool pprof -sample_index=0 -unit=ns -traces PROGRAM memory" PPROF_TO_US},
    {BYTES("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x07\x0a\x01\x01\x12\x02\x01\x02"),
     "a pprof profile: go tool pprof -sample_index=0 -unit=ns -traces memory" PPROF_TO_US},
    /* Go's profiles of the heap begin with the type of the period. */
    {BYTES("\x5a\x04\x08\x01\x10\x02\x60\x80\x80\x20\x0a\x04\x08\x03\x10\x04\x12\x07\x0a\x01\x01\x12\x02\x01\x02"),
     "a pprof profile: go tool pprof -sample_index=0 -unit=ns -traces memory" PPROF_TO_US},
    {BYTES("\xfb)\x03\xfa\x01~\xe9\0\0\0\0\xfa"),
     "a profile of Python's cProfile, which has sums per call and " PYTHON},
    {BYTES("go 1.26 trace\0\0\0\1\1\xff\xff"),
     "an execution trace of Go: go tool trace -pprof=sched memory > sched.pprof has its waits, and cpu.pprof of "
     "runtime/pprof "
     "the work: gecko-convert cpu.pprof says how to convert it"},
    {BYTES("MOJ\x03\1\2\0"),
     "a recording of austin in its binary format: mojo2austin memory stacks.txt, then gecko-convert stacks.txt"},
    {BYTES(" Percent |\tSource code & Disassembly of app for cycles (155 samples, percent: local period)\n"),
     "the text of perf annotate, which has sums and no stacks: " PERF_DATA},
    {BYTES("     0.052 ( 0.012 ms): true/24411 brk()                    = 0x561f66bc6000\n"),
     "the text of perf trace: " CALLS},
    {BYTES("execve(\"/usr/bin/true\", [\"true\"], 0x7ffd /* 35 vars */) = 0\nbrk(NULL) = 0x560d\n"),
     "the text of strace: " CALLS},
    {BYTES("24310 07:09:26.884410 openat(AT_FDCWD, \"x\") = -1 ENOENT (No such file)\n24310 close(3) = 0\n"),
     "the text of strace: " CALLS},
    {BYTES("     0.000000 execve(\"/usr/bin/app\", [\"app\"], 0x7ffd /* 9 vars */) = 0 <0.001164>\n"
           "     0.001823 write(1, \"worker 12 1.5: x\\n\", 17) = 17 <0.000355>\n"),
     "the text of strace: " CALLS},
    {BYTES("\n Summary of events:\n\n sleep (24411), 76 events, 97.4%\n"), "the summary of perf trace: " CALLS},
    {BYTES("% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ----------- ---------\n"),
     "the summary of strace: " CALLS},
    {BYTES("         3125 function calls (3011 primitive calls) in 0.007 seconds\n\n   Ordered by: cumulative time\n"),
     "the text of Python's cProfile, which has sums per call and " PYTHON},
    {BYTES("v8-version,11,3,244,8,-node.38,0\nv8-platform,linux,linux\n"),
     "a log of node --prof: gecko-convert record node --perf-basic-prof PROGRAM.js; or node --cpu-prof PROGRAM.js, "
     "and open the result at https://profiler.firefox.com"},
    {BYTES("0 sleep <internal>:-1\n1 <main> /srv/a.php:5\n# - - -\n"), "the text of phpspy: " PHPSPY},
    {BYTES("0 fib /app/a.php:2\t1 <main> /app/a.php:4\n"), "the text of phpspy: " PHPSPY},
    {BYTES("      5 main;work;a\n      3 main;b\n"),
     "collapsed stacks after their counts, as uniq -c writes them: awk '{n=$1;sub(/^ *[0-9]+ /,\"\");print $0,n}' "
     "memory | "
     "gecko-convert -"},
    {BYTES("\x0a\x05\x50\x01\x9a\x04\0\x0a\x03\x40\x05\x01\x0a\x02\x40\x06"),
     "a Perfetto trace, by its looks: traceconv json memory OUT.json, and open the result at "
     "https://profiler.firefox.com; for its CPU samples, traceconv profile --perf memory writes pprof profiles"},

    {BYTES("\xef\xbb\xbf {\n \"meta\": {\"version\": 27, \"interval\": 1, \"processType\": 0}, \"threads\": []}"),
     "a Gecko profile, as Firefox writes it" DIRECTLY},
    {BYTES("{\"traceEvents\":[{\"ph\":\"X\"}]}"), "a Chrome trace (trace events in JSON)" DIRECTLY},
    {BYTES("[{\"name\":\"a\",\"ph\":\"B\",\"pid\":1,\"ts\":5}]"), "a Chrome trace (trace events in JSON)" DIRECTLY},
    {BYTES("{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\"},\"hitCount\":0}]}"),
     "a CPU profile of V8 (Chrome, Node.js)" DIRECTLY},
    {BYTES("{\n  \"nodes\": [\n    {\n      \"callFrame\": {},\n      \"hitCount\": 0,\n      \"children\": [\n        "
           "2,\n"
           "        3\n      ]\n    }\n  ]\n}\n"),
     "a CPU profile of V8 (Chrome, Node.js)" DIRECTLY},
    {BYTES("\r\n[\r\n  1,\r\n  2\r\n]\r\n"),
     "JSON of some kind: it is not a trace; if a profiler wrote it, https://profiler.firefox.com may open it directly"},
    {BYTES("{\"dhatFileVersion\":2,\"mode\":\"heap\"}"), "a heap profile of DHAT" DIRECTLY},
    {BYTES("{\n  \"dhatFileVersion\": 2,\n  \"pps\": [\n    {\n      \"tb\": 6,\n      \"fs\": [\n        1,\n        "
           "2,\n        "
           "3\n      ]\n    }\n  ]\n}"),
     "a heap profile of DHAT" DIRECTLY},
    {BYTES("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"profiles\":[]}"),
     "a speedscope profile: " SPEEDSCOPE},
    {BYTES("{\"version\":1.2,\"mode\":\"wall\",\"samples\":9,\"gc_samples\":0,\"missed_samples\":0}"),
     "JSON of stackprof: stackprof --stackcollapse RECORDING | gecko-convert -"},
    {BYTES("{\n\t\"linux-perf-json-version\": 1,\n\t\"headers\": {}}"), "JSON made by perf data convert: " PERF_DATA},
    {BYTES("{\"log\":\"main;work 1\\n\",\"stream\":\"stdout\",\"time\":\"2024\"}\n"),
     "a log of docker in JSON: jq -j .log memory | gecko-convert -"},
    {BYTES("{\"MESSAGE\":\"main;work 1\",\"__CURSOR\":\"s=1\"}\n"),
     "a log of journalctl in JSON: jq -r .MESSAGE memory | gecko-convert -"},
    {BYTES("{}"),
     "JSON of some kind: it is not a trace; if a profiler wrote it, https://profiler.firefox.com may open it directly"},
    {BYTES("[1, 2]\n"),
     "JSON of some kind: it is not a trace; if a profiler wrote it, https://profiler.firefox.com may open it directly"},

    {BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"),
     "a pointer of Git LFS, not the file itself: git lfs pull gets the file"},
    {BYTES("\n0x128 [0x60]: event: 1\n.\n. ... raw event: size 96 bytes\n.  0000:  01 00\n"),
     "a raw dump (perf script -D): " PERF_DATA},
    {BYTES("0 0x7b10 [0x88]: PERF_RECORD_MMAP2 9/9: [0x200000(0x60000) @ 0 08:01 5 0]: r--p /bin/app\n"),
     "a raw dump (perf script -D): " PERF_DATA},
    {BYTES("\t          30179e\n\t          3017f9\n 0x3017cf/0x30179e/P/-/-/0  0x30177f/0x3017c4/P/-/-/0\n"),
     "branch stacks of perf script, without threads: " PERF_DATA},
    {BYTES(
         "# To display the perf.data header info, please use --header/--header-only options.\n#\n# Samples: 1  of "
         "event 'cycles'\n# Event count (approx.): 9\n#\n# Overhead  Command  Symbol\n#\n    50.00%  app  [.] main\n"),
     "the text of perf report, which has sums and no single samples: " PERF_DATA},
    {BYTES("# Event 'cycles'\n#\n# Baseline  Delta Abs  Shared Object  Symbol\n#\n    50.00%     +0.00%  app  [.] "
           "main\n"),
     "sums of perf diff, perf c2c or perf sched latency: " PERF_DATA},
    {BYTES("======\n            Trace Event Information              \n======\n  Total records    :   18\n"),
     "sums of perf diff, perf c2c or perf sched latency: " PERF_DATA},
    {BYTES("\n ----\n  Task   |   Runtime ms  | Switches | Avg delay ms    |\n ----\n  app:1  |   28.536 ms |\n"),
     "sums of perf diff, perf c2c or perf sched latency: " PERF_DATA},
    {BYTES("app \n\t    51ba main (/opt/app)\n\napp \n\t   5187 [unknown] (/opt/app)\n"),
     "text of perf script without threads, or without events and times: " PERF_DATA},
    {BYTES("app 7 \n\t            51ba main\n\napp 7 \n\t            5187 [unknown]\n"),
     "text of perf script without threads, or without events and times: " PERF_DATA},
    {BYTES("PID 4711 - process\nTID 4711:\n#0  0x00007f1c9d3a8e2e epoll_wait\n#1  0x0000558f2a1c3f10 main_loop\n"),
     "backtraces of eu-stack: " NUMBERED_FRAMES(
         "sub(/^0x[0-9a-f]+ +(- 1 +)?/,\"\");if(i=index($0,\" - /\"))$0=substr($0,i+3)\"`\"substr($0,1,i-1);")},
    {BYTES("Full stacks with at least one sample:\n\n100.000% ==== (3 samples)\n       1: main   (at a.c:2)\n"),
     "backtraces of wallClockProfiler: stackcollapse-wcp.pl memory | gecko-convert -"},
    {BYTES("3XMTHREADINFO3           Java callstack:\n4XESTACKTRACE                at "
           "java/lang/Thread.run(Thread.java:7)\n"),
     "a thread dump of IBM's Java: stackcollapse-ibmjava.pl memory | gecko-convert -"},
    {BYTES("Thread 0x00007f0b (most recent call first):\n  File \"a.py\", line 3 in work\n"),
     "stacks of Python's faulthandler: stackcollapse-faulthandler.pl memory | gecko-convert -"},
    {BYTES("#           time             counts unit events\n     1.000123456              1,234      "
           "context-switches\n"),
     "the text of perf stat: " NO_STACKS},
    {BYTES("           time    cpu  task name                       wait time  sch delay   run time\n"),
     "the text of perf sched timehist: " PERF_DATA},
    {BYTES("cpus=2\n   bash-1234  [000]  1234.567890: sched_switch:  bash:1234 [120] R ==> swapper/0:0 [120]\n"),
     "the text of trace-cmd report: " EVENTS},
    {BYTES("\n Performance counter stats for './app':\n\n 1.0 msec task-clock\n"), "the text of perf stat: " NO_STACKS},
    {BYTES("# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\nevents: Ir\nfn=(1) main\n1 5\n"),
     "a profile of callgrind or cachegrind, which has sums per call and no stacks: kcachegrind shows it; or " RECORD},
    {BYTES("desc: I1 cache: 1\ncmd: ./app\nevents: Ir\nfl=a.c\nfn=main\n1 5\n"),
     "a profile of callgrind or cachegrind, which has sums per call and no stacks: kcachegrind shows it; or " RECORD},
    {BYTES("desc: --time-unit=i\ncmd: ./app\ntime_unit: i\n#-----------\nsnapshot=0\n#-----------\ntime=0\n"
           "mem_heap_B=0\n"),
     "a heap profile of massif: ms_print memory shows it"},
    {BYTES("v 10500 3\nx 8 /bin/app\nX ./app\nI 1000 f9e3\n"),
     "a recording of heaptrack: heaptrack_print -f memory -F stacks.txt, then gecko-convert stacks.txt"},
    {BYTES(
         "PeriodType: cpu nanoseconds\nPeriod: 10000000\nSamples:\nsamples/count cpu/nanoseconds\n  1 10000000: 1 2\n"),
     "the text of pprof -raw: convert the profile that it was made from: go tool pprof -sample_index=0 -unit=ns "
     "-traces PROGRAM "
     "memory" PPROF_TO_US},
    {BYTES("rbspy02\n{\"sample_rate\":100}\n"),
     "a recording of rbspy: rbspy report --format collapsed --input memory --output stacks.txt, then gecko-convert "
     "stacks.txt"},
    {BYTES("\4\x08{\x0d:\x0cversionf\x08\1\0"),
     "a recording of stackprof: stackprof --stackcollapse memory | gecko-convert -"},
    {BYTES("Ftrace!\0\4\0\0\0\x28\0\1\2"),
     "a recording of uftrace: uftrace dump --flame-graph -d FOLDER | gecko-convert -"},
    {BYTES("tlZ\4\0\0\1\0"), "a trace of Tracy: " RECORD},
    {BYTES("tZst\0\0\1\0"), "a trace of Tracy: " RECORD},
    {BYTES("\xc1\x1f\xfc\xc1\0\0\0\0"), CTF},
    {BYTES("\xc1\xfc\x1f\xc1\0\0\0\0"), CTF},
    {BYTES("\x57\x1d\xd1\x75\0\0\0\0"), CTF},
    {BYTES("/* CTF 1.8 */\ntrace {\n"), CTF},
    {BYTES("57.25%    57.25%  app      app                [.] inner\n"),
     "the text of perf report, which has sums and no single samples: " PERF_DATA},
    {BYTES("# started on Fri Nov 27 14:06:16 2026\n\n89.76,msec,task-clock,89762889,100.00,,\n"),
     "the text of perf stat: " NO_STACKS},
    {BYTES("      *A0   46074.141702 secs A0 => :15:15\n"), "the text of perf sched map: " PERF_DATA},
    {BYTES("app 8866 [003] 1549.674347: cbr: 47 freq: 4705 MHz (168%)\n"
           "app 8866 [003] 1549.674347: (/lib/ld.so       )          main\n"),
     CALLS_OF_TRACE},
    {BYTES("app 8866 [003] 1549.674347: ([kernel.kallsyms])        __x64_sys_newuname\n"), CALLS_OF_TRACE},
    {BYTES("reading file \"ht.zst\"\nDebuggee command was: ./app\n"),
     "the text of heaptrack_print: heaptrack_print -f RECORDING -F stacks.txt, then gecko-convert stacks.txt"},
    {BYTES("goroutine profile: total 4\n1 @ 0x43d5ae 0x40a8bd\n"),
     "a profile of Go's runtime as text: go tool pprof -sample_index=0 -unit=ns -traces PROGRAM memory" PPROF_TO_US},
    {BYTES("--- contention:\ncycles/second=2200000000\n"),
     "a profile of Go's runtime as text: go tool pprof -sample_index=0 -unit=ns -traces PROGRAM memory" PPROF_TO_US},
    {BYTES("% self  % total  name\n 36.67    36.67  fib - p.rb:1\n"), SUMMARY},
    {BYTES("==================================\n  Mode: wall(1000)\n  Samples: 9 (0.00% miss rate)\n  GC: 0 (0.00%)\n"),
     SUMMARY},
    {BYTES("Date/Time:        2026-01-01 10:00:00 +0000\nDuration:         10.00s\nSteps:            1001 (10ms)\n"),
     "a report of macOS's spindump: record with sample PROGRAM -file sample.txt, then stackcollapse-sample.awk "
     "sample.txt | gecko-convert -"},
    {BYTES("[10:00:00.123456789] (+0.000001234) host sched_switch: { cpu_id = 0 }, { prev_comm = \"a\" }\n"),
     "text of babeltrace: " EVENTS},
    {BYTES("# DURATION     TID     FUNCTION\n            [ 23960] | main() {\n"),
     "the text of uftrace: uftrace dump --flame-graph -d FOLDER | gecko-convert -"},
    {BYTES("==9== Memcheck, a memory error detector\n==9== Command: ./app\n"), "a report of valgrind: " NO_STACKS},
    {BYTES("-----\nCommand:            ./app\nms_print arguments: massif.out\n"), "a report of valgrind: " NO_STACKS},
    {BYTES("-----\nI1 cache:         32768 B\nEvents recorded:  Ir\n"), "a report of valgrind: " NO_STACKS},
    {BYTES("heap profile:      1:     64 [     1:     64] @ heapprofile\n"),
     "a heap profile of gperftools: go tool pprof -sample_index=0 -unit=ns -traces PROGRAM memory" PPROF_TO_US},
    {BYTES("Analysis of sampling app (pid 9) every 1 millisecond\nProcess: app [9]\n\nCall graph:\n    8 Thread_1\n"),
     "the text of macOS's sample: stackcollapse-sample.awk memory | gecko-convert -"},
    {BYTES("Running Time,Self,,Symbol Name\n11.0ms   55.0%,0,,main\n"),
     "a call tree of Instruments: " XCTRACE "; https://www.speedscope.app opens the call tree"},
    {BYTES("Weight\tSelf Weight\t\tSymbol Name\n96.08 Gc  100.0%\t-\t \tapp (1)\n"),
     "a call tree of Instruments: " XCTRACE "; https://www.speedscope.app opens the call tree"},
    {BYTES("Bytes Used\tCount\t\tSymbol Name\n 429.93 MB     100.0%\t84671\t \tstart\n"),
     "a call tree of Instruments: " XCTRACE "; https://www.speedscope.app opens the call tree"},
    {BYTES("@ inst_retired.any [35705 samples]\n\n20.86%  [7447]     lz4 @ /boot/kernel/zfs.ko\n"),
     "a call graph of FreeBSD's pmcstat: stackcollapse-pmc.pl memory | gecko-convert -"},
    {BYTES("Thread 1 (LWP 9):\n#0  0x0000 in read () from /lib/libc.so\n#1  main () at a.c:5\n"),
     "backtraces of gdb: " NUMBERED_FRAMES(
         "sub(/^0x[0-9a-f]+ in /,\"\");"
         "sub(/ \\(([A-Za-z_][A-Za-z_0-9]*=|\\.\\.\\.).*$/,\"\")||sub(/ \\(\\)( (at|from) .*)?$/,\"\");")},
    {BYTES("java.lang.RuntimeException: no\n\tat com.example.Test.d(Test.java:20)\n"),
     "exceptions of Java: stackcollapse-java-exceptions.pl memory | gecko-convert -"},
    {BYTES("2026-11-26 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n\n\"main\" #1 prio=5\n"),
     "a thread dump of Java: stackcollapse-jstack.pl memory | gecko-convert -"},
    {BYTES("JAVA PROFILE 1.0.1, created Sun Dec 30 11:47:15 2001\n\nTHREAD START (obj=5, id = 1, name=\"main\")\n"),
     "a profile of Java's hprof: stackcollapse-hprof memory | gecko-convert -"},
    {BYTES("goroutine 1 [running]:\nmain.fib(0x1e)\n\t/srv/main.go:12 +0x45\n"),
     "stacks of goroutines: " MOMENT RECORD},
    {BYTES("Process 3412: python prog.py\nPython v3.11.2 (/usr/bin/python3.11)\n\nThread 3412 (active): "
           "\"MainThread\"\n"),
     "stacks of Python, as py-spy dump prints them: " MOMENT PY_SPY},
    {BYTES(
         "[11:16:33] Top 1 stacks with outstanding allocations:\n\t80 bytes in 5 allocations from stack\n\t\tmain+0x6d "
         "[app]\n"),
     "the text of bcc's memleak: awk '/ with outstanding allocations:/{n=0} / allocations from "
     "stack/{b[++n]=$1;s[n]=\"\";next} n&&NF{sub(/^[ \\t]*(0x[0-9a-f]+[ \\t]+)?/,\"\");sub(/\\+0x[0-9a-f]+ .*/,\"\");"
     "s[n]=$0(s[n]?\";\":\"\")s[n]} END{for(i=1;i<=n;i++)print s[i],b[i]}' memory | gecko-convert - --weight-unit "
     "bytes"},
    {BYTES(
         "# HELP jobs_total Jobs.\n# TYPE jobs_total counter\njobs_total{level=\"0\"} 1\njobs_total{level=\"2\"} 5\n"),
     "metrics of Prometheus: " NO_STACKS},
    {BYTES("# TYPE go_goroutines gauge\ngo_goroutines 12\n"), "metrics of Prometheus: " NO_STACKS},
    {BYTES("#!/bin/sh\nsleep 30\n"), "a script: record it running: " RECORD},
    {BYTES("# tracer: function\n#\n# entries-in-buffer/entries-written: 1/1\n"),
     "a trace of the kernel's ftrace: " NO_STACKS},
    {BYTES("<?xml version=\"1.0\"?>\n<!DOCTYPE svg>\n<svg version=\"1.1\"><text>Flame Graph</text></svg>\n"),
     "a picture (SVG), perhaps a flame graph: convert the collapsed stacks that it was made from"},
    {BYTES("\n<!DOCTYPE html>\n<html><head></head></html>\n"),
     "a web page: if it is a flame graph of async-profiler, jfrconv -o collapsed memory stacks.collapsed makes "
     "collapsed stacks; otherwise convert the trace that it was made from"},
    {BYTES("<?xml version=\"1.0\"?>\n<trace-query-result/>\n"),
     "a table of xctrace: inferno-collapse-xctrace memory | gecko-convert -"},
    {BYTES("<?xml version=\"1.0\"?>\n<other/>\n"), "XML: convert the trace that it was made from"},
    {BYTES("File: app\nType: cpu\n-----------+-----\n      10ms   main.f\n             main.main\n"),
     "the text of pprof -traces: convert the profile that it was made from: go tool pprof -sample_index=0 -unit=ns "
     "-traces "
     "PROGRAM memory" PPROF_TO_US},
    {BYTES("File: app\nType: cpu\n      flat  flat%   sum%        cum   cum%\n     10ms 50.0% 50.0%  10ms 50.0%  "
           "main.f\n"),
     "the text of pprof -top, which has sums and no stacks: convert the profile that it was made from: go tool pprof "
     "-sample_index=0 -unit=ns -traces PROGRAM memory" PPROF_TO_US},
    {BYTES("Function Stack,CPU Time:Self,Module\nTotal,0,\n"),
     "a table of stacks of VTune: inferno-collapse-vtune memory | gecko-convert -"},
    {BYTES("Function Stack;CPU Time:Self;Module\nTotal;0;\n"), "a report of VTune: " VTUNE},
    {BYTES(
         "Function        Function Stack     CPU Time  Module\n--------------  -----------------  --------  ------\n"),
     "a report of VTune: " VTUNE},
    {BYTES("file_attrs {\n  attr {\n    type: 0\n"),
     "the text of a recording of perf, as quipper writes it: " PERF_DATA},
    {BYTES("# proto-file: src/quipper/perf_data.proto\n# proto-message: quipper.PerfDataProto\nfile_attrs: {\n"),
     "the text of a recording of perf, as quipper writes it: " PERF_DATA},
    {BYTES("--- contentionz 1 ---\nformat = java\n"),
     "contention or threads of gperftools: go tool pprof -sample_index=0 -unit=ns -traces PROGRAM memory" PPROF_TO_US},
    {BYTES("startup\ttime=1769153427854150876\n"), "a profile of coz: " NO_STACKS},
    {BYTES("digraph \"app\" {\nN1 [label=\"main\"]\n"), "a graph (DOT): convert the trace that it was made from"},
    {BYTES("     0.000 app/42 syscalls:sys_enter_mmap(len: 64129, prot: READ, fd: 3)\n"),
     "the text of perf trace: " CALLS},
    {BYTES("\xef\xbb\xbfLevel,Function Name,Number of Calls,\n1,\"main\",1,\n"),
     "a call tree of Visual Studio: stackcollapse-vsprof.pl memory | gecko-convert -"},
    {BYTES("\tSun Aug 13 10:47 2023 Time and Allocation Profiling Report  (Final)\n"),
     "a profile of GHC: inferno-collapse-ghcprof memory | gecko-convert -"},
    {BYTES("96%  outer\n  -> 100%  inner\n"),
     "a summary of LuaJIT's profiler, which has no whole stacks: luajit -jp=G,stacks.txt PROGRAM.lua, then "
     "gecko-convert stacks.txt"},
    {BYTES("Version: 3.1.0\nFile format: 4\nTRACE START [2026-01-01 00:00:00]\n1\t0\t0\t0.1\t1\t{main}\n"),
     "a trace of Xdebug: stackcollapse-xdebug.php memory | gecko-convert -"},
    {BYTES("jdk.ExecutionSample {\n  startTime = 10:00:00.123\n  sampledThread = \"main\"\n}\n"),
     "the text of a recording of Java's Flight Recorder: convert the recording instead; make collapsed stacks of it "
     "with "
     "async-profiler's converter: jfrconv --threads -o collapsed memory stacks.collapsed, then gecko-convert "
     "stacks.collapsed"},
    {BYTES("name,src_file,src_line,total_ns,total_perc,counts\nframe,a.cpp,3,100,1,1\n"),
     "a table of Tracy, which has no stacks: " RECORD},
    {BYTES("name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\nframe,a.cpp,3,100,1,1,\n"),
     "a table of Tracy, which has no stacks: " RECORD},
    {BYTES("\x10\0\4\x46xT\x16\0"),
     "a trace of Fuchsia, as magic-trace writes it: https://ui.perfetto.dev shows it; or " RECORD},
    {BYTES("  bash-123     [001]   100.000001: sched_switch:         bash:123 [120] S ==> swapper/1:0 [120]\n"),
     "events of ftrace or trace-cmd: " EVENTS},
    {BYTES("  <idle>-0       [001] d.h.  100.000001: hrtimer_wakeup <-__hrtimer_run_queues\n"),
     "events of ftrace or trace-cmd: " EVENTS},
    {BYTES("sample:\n  event_type: cpu-clock:u\n  time: 123456789\n  thread_id: 1234\n"),
     "the text of simpleperf report-sample: " PERF_DATA},
    {BYTES("/srv/a.py:3: size=102 KiB, count=101, average=1031 B\n"),
     "statistics of Python's tracemalloc, which have no stacks: memray run -o memory.bin PROGRAM.py, and "
     "gecko-convert memory.bin says how to go on"},
    {BYTES("Flat profile:\n\nEach sample counts as 0.01 seconds.\n  %   cumulative   self              self     total\n"
           " time   seconds   seconds    calls  ms/call  ms/call  name\n"
           "the number of function calls it made and its number of seconds\n"),
     "the text of gprof, which has sums per call and no stacks: " RECORD},

    {BYTES("GREC\n\x1a\n\1\0\0\0"),
     "a trace of the recorder, damaged by a transfer as text: transfer it again, as binary data"},
    {BYTES("GREC\r\r\n\x1a\r\n\1\0\0\0"),
     "a trace of the recorder, damaged by a transfer as text: transfer it again, as binary data"},
    {BYTES("\x01\x02\x03\x04\xff\xfe\x80\0\x7f"),
     "binary data of an unknown kind; traces of the recorder, perf.data files, perf script text, collapsed stacks and "
     "profiles are read here"},
    {BYTES("\x0a\x0c\x0a\5\xc0\1UVW\x10\x80\xad\xe2\4\x0a\4\x0a\2\x56\x57"), /* stacks as Pyroscope stores them */
     "binary data of an unknown kind; traces of the recorder, perf.data files, perf script text, collapsed stacks and "
     "profiles are read here"},
    {BYTES("[    0.000000] Linux version 6.1.0\n[    1.234567] usb 1-1: new device\n"),
     "text, but in no known trace format; it begins \"[    0.000000] Linux version 6.1.0\"; --from FORMAT "
     "reads it as that format all the same"},
    {BYTES("[flake8]\nmax-line-length = 120\n"),
     "text, but in no known trace format; it begins \"[flake8]\"; --from FORMAT reads it as that format all "
     "the same"},
    {BYTES("Dear all,\nthis is not a trace.\n"),
     "text, but in no known trace format; it begins \"Dear all,\"; --from FORMAT reads it as that format all "
     "the same"},
    {BYTES("\n\n  a\x1b[31mline that is so very long that it has to be cut some\xffwhere in the middle of it\r\n"),
     "text, but in no known trace format; it begins \"a?[31mline that is so very long that it has to be cut "
     "some?w...\"; --from FORMAT reads it as that format all the same"},
};

TEST(test_foreign_contents) {
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        struct failure failure;
        const struct reader *reader = detect(contents[i].bytes, &failure);
        if (reader) fail_msg("content %zu (%s) was taken for %s", i, contents[i].message, reader->title);
        assert_int_equal(failure.code, FAILURE_INPUT);
        char expected[sizeof failure.message];
        snprintf(expected, sizeof expected, "memory: this is %s", contents[i].message);
        assert_string_equal(failure.message, expected);
    }
}

/* Tries every prefix of every content. Nothing beyond its end may be read. */
TEST(test_cut_off_contents) {
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        for (size_t kept_bytes = 0; kept_bytes < contents[i].bytes.bytes_count; kept_bytes++) {
            char *exact = malloc(kept_bytes ? kept_bytes : 1);
            assert_non_null(exact);
            memcpy(exact, contents[i].bytes.bytes, kept_bytes);
            struct failure failure;
            const struct reader *reader = detect((struct text){exact, kept_bytes}, &failure);
            assert_true((reader != NULL) == (failure.code == FAILURE_NONE));
            free(exact);
        }
    }
}

TEST(test_iso_image) {
    enum { IMAGE_BYTES = 0x8800, DESCRIPTOR = 0x8001 };
    char *bytes = calloc(1, IMAGE_BYTES);
    assert_non_null(bytes);
    memcpy(bytes + DESCRIPTOR, "CD001", 5);
    struct failure failure;
    assert_null(detect((struct text){bytes, IMAGE_BYTES}, &failure));
    assert_string_equal(failure.message,
                        "memory: this is an ISO 9660 image: unpack it first: bsdtar -xOf memory | gecko-convert -");
    free(bytes);
}

TEST(test_empty) {
    struct failure failure;
    assert_null(detect(TEXT(""), &failure));
    assert_int_equal(failure.code, FAILURE_INPUT);
    assert_string_equal(failure.message, "memory: is empty; there is nothing to convert");
    assert_null(detect(TEXT(" \n\r\n\t"), &failure));
    assert_int_equal(failure.code, FAILURE_INPUT);
    assert_string_equal(failure.message, "memory: holds nothing but blank lines; there is nothing to convert");
}

TEST(test_foreign_content_in_a_wrapping) {
    /* "PERFFILE" and a line end, as gzip writes it. */
    static const unsigned char packed[] = {0x1f, 0x8b, 0x08, 0,    0,    0,    0,    0,    0,    0x03,
                                           0x0b, 0x70, 0x0d, 0x72, 0x73, 0xf3, 0xf4, 0x71, 0xe5, 0x02,
                                           0x00, 0x1a, 0x14, 0x99, 0xbd, 9,    0,    0,    0};
    char path[] = "/tmp/test_registry_XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, packed, sizeof packed), sizeof packed);
    close(descriptor);
    struct failure failure = {0};
    struct input *input = input_open(path, &failure);
    unlink(path);
    assert_non_null(input);
    assert_null(reader_detect(input, &failure));
    char expected[sizeof failure.message];
    snprintf(expected, sizeof expected,
             "%s: this is perf.data, the binary recording of an old perf, inside gzip: take it out of there, then perf "
             "script "
             "-F +pid -i FILE | gecko-convert -",
             path);
    assert_string_equal(failure.message, expected);
    input_close(input);
}

int main(void) { return unit_tests_run(NULL, NULL); }
