#!/bin/sh
# Includes go one way only: fails on an include line that crosses folders against the design, and on a library or a
# folder that is used outside the files that it is for.
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
                */*) target=${path%/*} ;;
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

# How include lines of a header or of several begin, then the files that may have them.
check_header() {
    header=$1
    shift
    grep -rn --include='*.[ch]' "^#include $header" libconvert readers writer cli | while IFS=: read -r file line include; do
        case " $* " in
            *" $file "*) ;;
            *) echo "$file:$line: $include is for $* alone" ;;
        esac
    done
}

# The one header of the recorder's that readers include, and which of them.
check_trace_format() {
    grep -n '^#include "recorder/' readers/*.[ch] | while IFS=: read -r file line include; do
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
    check_folder cli libconvert readers writer cli/batch
    check_header '"cli/batch/' cli/main.c
    check_folder cli/batch cli libconvert readers writer
    check_folder cli/check cli libconvert writer
    check_folder cli/info cli cli/check libconvert readers writer
    check_folder recorder
    check_header '<archive' libconvert/libarchive.h
    check_header '"libconvert/libarchive.h' readers/input_archive.c writer/archive_file.c
    check_header '<lzma' libconvert/debug_data.c readers/input_lzma.c
    check_header '<yajl' cli/document.c
    check_header '<zlib' readers/input_gzip.c writer/sink.c libconvert/debug_file.c cli/check/gzip_end.c
    check_header '<elfutils/libdw.h' libconvert/symbol_lines.c
    check_header '<elfutils/libdwelf.h' libconvert/debug_file.c
    check_header '<gelf.h' libconvert/debug_file.c libconvert/symbol_stubs.c libconvert/symbol_table.c
    check_header '<libiberty' libconvert/symbol_names.c
    check_header '<xxhash' libconvert/index_set.h readers/input_members.c readers/native_chunks.c writer/sink.c \
        cli/batch/file_digest.c libconvert/file_stamp.c
)
if [ -n "$offences" ]; then
    printf '%s\n' "$offences"
    bad=1
fi
[ $bad -eq 0 ] && echo "include directions: 1 passed, 0 failed" || echo "include directions: 0 passed, 1 failed"
exit $bad
