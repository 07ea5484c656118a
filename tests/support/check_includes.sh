#!/bin/sh
# Fails if a file includes a header from a folder that its own folder may not include, or a library that it may not use,
# if two headers have one name, or if includes form a circle.
set -u
cd "$(dirname "$0")/../.." || exit 1

# Each line is a folder, and then the other folders whose headers it may include. Every folder with sources has a line.
folder_rules='
libconvert/base
libconvert/profile    libconvert/base
libconvert/format     libconvert/base libconvert/profile
libconvert/compare    libconvert/base libconvert/profile
libconvert/merge      libconvert/base libconvert/profile
libconvert/symbols    libconvert/base libconvert/profile recorder/unwind
libconvert/tracks     libconvert/base libconvert/profile
readers/input         libconvert/base
readers               libconvert/base libconvert/profile readers/input
readers/code          libconvert/base libconvert/profile libconvert/symbols readers/input
readers/json          libconvert/base readers/input
readers/perf          libconvert/base libconvert/profile libconvert/symbols readers readers/code readers/unwind
readers/perf_data     libconvert/base readers/code readers/input readers/perf
readers/perf_script   libconvert/base readers/code readers/input readers/perf
readers/collapsed     libconvert/base libconvert/profile libconvert/symbols readers/code readers/input readers
readers/profile       libconvert/base libconvert/format libconvert/profile readers readers/code readers/input readers/json
readers/unwind        libconvert/base libconvert/profile libconvert/symbols recorder/unwind
readers/trace         libconvert/base libconvert/profile readers/input readers readers/code recorder
writer                libconvert/base libconvert/format libconvert/profile
writer/processed      libconvert/base libconvert/format libconvert/profile writer
writer/collapsed      libconvert/base libconvert/profile writer
writer/gecko          libconvert/base libconvert/format libconvert/profile writer
libconvert            libconvert/base libconvert/merge libconvert/profile libconvert/symbols libconvert/tracks readers readers/input writer
cli                   cli/batch cli/split libconvert libconvert/base readers/input writer
cli/batch             cli libconvert libconvert/base readers readers/input readers/json writer
cli/check             cli libconvert libconvert/base libconvert/format libconvert/profile readers/input readers/json writer
cli/diff              cli cli/info libconvert libconvert/base libconvert/compare readers/input writer
cli/info              cli cli/check libconvert libconvert/base libconvert/profile readers writer
cli/record            cli cli/record/kernel libconvert/base libconvert/symbols readers/code writer
cli/record/kernel     libconvert/base libconvert/symbols readers/code readers/perf_data
cli/split             cli libconvert libconvert/base writer
cli/view              cli cli/check libconvert libconvert/base libconvert/profile libconvert/symbols readers readers/input readers/json writer
recorder
recorder/state        recorder
recorder/unwind       recorder/state
recorder/pool         recorder/state
recorder/write        recorder recorder/state recorder/pool
recorder/session      recorder recorder/state recorder/pool recorder/write
recorder/sampler      recorder recorder/state recorder/pool recorder/unwind recorder/write
recorder/preload      recorder recorder/state recorder/sampler recorder/session recorder/write
'

# Each line is the start of an include, and then the only files, or folders with "/", that may have such an include.
header_rules='
<archive              readers/input/input_archive.c readers/input/input_wrapper.c writer/archive_file.c cli/view/profile_archive.c
<lzma                 libconvert/symbols/debug_data.c readers/input/input_xz.c
<event-parse.h        readers/perf/perf_tracing.c
<zstd.h               readers/perf_data/data_stream.c cli/record/kernel/kernel_stream.c
<zlib                 readers/input/input_gzip.c writer/gzip_writer.c
<libdeflate           libconvert/symbols/debug_file.c
<microhttpd           cli/view/view_libraries.h
<capstone             cli/view/view_libraries.h
<elfutils/libdw.h     libconvert/symbols/dwarf_names.h libconvert/symbols/dwarf_session.h
<elfutils/libdwelf.h  libconvert/symbols/debug_file.c
<gelf.h               libconvert/symbols/debug_file.c libconvert/symbols/function_ranges.c libconvert/symbols/go_functions.c libconvert/symbols/symbol_stubs.c libconvert/symbols/symbol_table.c readers/code/kernel_file.c readers/unwind/unwind_extract.c
<dlfcn.h              cli/view/view_libraries.c libconvert/symbols/debug_server.c recorder/
<libiberty            libconvert/symbols/symbol_names.c
<xxhash               libconvert/base/ libconvert/symbols/symbol_names.c readers/input/input_members.c readers/trace/trace_chunks.c writer/sink.c cli/batch/file_digest.c
"cli/batch/           cli/convert_command.c cli/batch/
"recorder/gecko_recorder.h recorder/
"recorder/trace_format.h readers/trace/ recorder/
"recorder/session/session.h    recorder/preload/
"session.h             recorder/session/
'

includes() {
    grep -rno --include='*.[ch]' '^#include ["<][^">]*' libconvert readers writer cli recorder | sed 's/:#include /:/'
}

# Checks lines FILE:LINE:"PATH and FILE:LINE:<PATH against both tables.
violations=$(includes | awk -v folder_rules="$folder_rules" -v header_rules="$header_rules" '
    function folder_of(path) { sub("/[^/]*$", "", path); return path }
    function file_exists(path,  line, found) { found = (getline line < path) >= 0; close(path); return found }
    function is_allowed(file, places,  list, i, n) {
        n = split(places, list, " ")
        for (i = 1; i <= n; i++) if (file == list[i] || list[i] ~ /\/$/ && index(file, list[i]) == 1) return 1
        return 0
    }
    BEGIN {
        count = split(folder_rules, lines, "\n")
        for (i = 1; i <= count; i++) { split(lines[i], words, " "); if (words[1]) allowed[words[1]] = " " lines[i] " " }
        header_count = split(header_rules, headers, "\n")
    }
    {
        split($0, parts, ":")
        file = parts[1]; where = file ":" parts[2]; include = parts[3]; folder = folder_of(file)
        if (!(folder in allowed)) print where ": no rule says what " folder " may include"
        for (i = 1; i <= header_count; i++) {
            rule = headers[i]; start = rule; sub(" .*", "", start); places = rule; sub("^[^ ]* *", "", places)
            if (start && index(include, start) == 1 && !is_allowed(file, places)) print where ": " include " is for " places " alone"
        }
        if (substr(include, 1, 1) != "\"") next
        path = substr(include, 2)
        target = path ~ /\// ? folder_of(path) : folder
        # The public header is a leaf: the converter shares its enumerations.
        if (path == "libconvert/gecko_convert.h" && folder !~ /^recorder/) next
        if (target != folder && index(allowed[folder], " " target " ") == 0) print where ": " folder " must not include " path
        if (!file_exists(target == folder && path !~ /\// ? folder "/" path : path)) print where ": no such file " path
    }')
repeated=$(find libconvert readers writer cli recorder tests -name '*.h' |
    awk -F / '{ if ($NF in seen) print $0 ": the name of a header is that of " seen[$NF]; seen[$NF] = $0 }')

# Prints pairs of modules, of which the first includes the second. A module is a C file and its header, and the private
# headers of the C file: those without a C file of their own that include its header. The public header is a leaf.
module_pairs() {
    includes | awk -F '[:"]' '
        function stem(path) { sub("[.][ch]$", "", path); return path }
        function module(path) { return path in owner ? owner[path] : stem(path) }
        $4 {
            folder = $1; sub("[^/]*$", "", folder)
            from[++count] = $1; to[count] = $4 ~ "/" ? $4 : folder $4
            is_source[$1]; is_include[$1, to[count]]
        }
        END {
            for (i = 1; i <= count; i++)
                if (!((stem(from[i]) ".c") in is_source) && (stem(to[i]) ".c", from[i]) in is_include)
                    owner[from[i]] = stem(to[i])
            for (i = 1; i <= count; i++)
                if (to[i] != "libconvert/gecko_convert.h") print module(from[i]), module(to[i])
        }'
}
circles=$(module_pairs | LC_ALL=C tsort 2>&1 >/dev/null | sed 's/^tsort: //; s/^-: input contains a loop/includes in a circle/')

if [ -n "$violations$repeated$circles" ]; then
    printf '%s\n' "$violations" "$repeated" "$circles" | grep .
    echo "include directions: 0 passed, 1 failed"
    exit 1
fi
echo "include directions: 1 passed, 0 failed"
