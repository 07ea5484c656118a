#!/bin/sh
# Includes go one way only: fails on an include line that crosses folders against the design, and on a library that is
# used outside the file that wraps it.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0

# folder, then the folders that it may include from.
check_folder() {
    folder=$1
    shift
    for file in "$folder"/*.[ch]; do
        [ -e "$file" ] || continue
        grep -no '^#include "[^"]*"' "$file" | while IFS=: read -r line include; do
            path=${include#*\"}
            path=${path%\"}
            case $path in
                */*) target=${path%%/*} ;;
                *) target=$folder ;;
            esac
            case " $* $folder " in
                *" $target "*) ;;
                *) echo "$file:$line: $folder must not include \"$path\"" ;;
            esac
            [ -e "$path" ] || [ -e "$folder/$path" ] || echo "$file:$line: no such file \"$path\""
        done
    done
}

# header, then the files that may include it.
check_library() {
    header=$1
    shift
    grep -nl "^#include <$header" libconvert/*.[ch] readers/*.[ch] writer/*.[ch] cli/*.[ch] 2>/dev/null | while read -r file; do
        case " $* " in
            *" $file "*) ;;
            *) echo "$file: <$header> is for $* alone" ;;
        esac
    done
}

# The one header of the recorder's that others include, and who.
check_trace_format() {
    grep -n '^#include "recorder/' readers/*.[ch] writer/*.[ch] cli/*.[ch] libconvert/*.[ch] | while IFS=: read -r file line include; do
        case $file:$include in
            readers/native_*:'#include "recorder/trace_format.h"') ;;
            *) echo "$file:$line: recorder/trace_format.h is for readers/native_* alone, and no other header of the recorder's" ;;
        esac
    done
}

offences=$(
    check_folder libconvert
    check_folder readers libconvert recorder
    check_trace_format
    check_folder writer libconvert
    check_folder cli libconvert readers writer
    check_folder recorder
    check_library archive readers/input_archive.c writer/archive_file.c
    check_library lzma libconvert/debug_data.c
    check_library yajl cli/document.c
    check_library zlib readers/input_gzip.c writer/sink.c libconvert/debug_file.c cli/gzip_end.c
    check_library elfutils/libdw.h libconvert/symbol_lines.c
    check_library elfutils/libdwelf.h libconvert/debug_file.c
    check_library gelf.h libconvert/debug_file.c libconvert/symbol_stubs.c libconvert/symbol_table.c
    check_library libiberty libconvert/symbol_names.c
    check_library xxhash libconvert/index_set.h readers/input_members.c readers/native_chunks.c writer/sink.c cli/file_digest.c
)
if [ -n "$offences" ]; then
    printf '%s\n' "$offences"
    bad=1
fi
[ $bad -eq 0 ] && echo "include directions: 1 passed, 0 failed" || echo "include directions: 0 passed, 1 failed"
exit $bad
