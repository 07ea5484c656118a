#!/bin/sh
# Follows CONTRIBUTING.md: compiles the reader, the type of perf record, the emitter and the command that it shows, and
# runs their tests. Then registers them as the page says, builds the program with them, and uses them.
#
#     check_contributing.sh BUILD COMPILER_AND_FLAGS LIBRARIES
set -u
cd "$(dirname "$0")/../.." || exit 1
case $1 in
    /*) folder=$1/contributing ;;
    *) folder=$PWD/$1/contributing ;;
esac
compiler_and_flags=$2 libraries=$3
example_lines_max=60
passed=0
failed=0
rm -rf "$folder"
mkdir -p "$folder/readers/perf" "$folder/readers/perf_data" "$folder/writer/rows" "$folder/cli/threads"

check() {
    what=$1
    shift
    if "$@" >"$folder/output" 2>&1; then
        passed=$((passed + 1))
    else
        cat "$folder/output"
        echo "contributing: FAIL $what"
        failed=$((failed + 1))
    fi
}

# block LANGUAGE NUMBER: prints the code block of that number among those of the language, without its indentation.
block() {
    awk -v language="$1" -v wanted="$2" '
        $0 ~ "^ *```" language "$" { indent = index($0, "`"); count++; next }
        /^ *```$/ { indent = 0 }
        indent && count == wanted { print substr($0, indent) }' CONTRIBUTING.md
}

# example NUMBER... FILE: writes an example, whose blocks must be short together. FILE gets the last one.
example() {
    lines=0
    while [ $# -gt 1 ]; do
        block c "$1" >"$folder/block$1.c"
        lines=$((lines + $(wc -l <"$folder/block$1.c")))
        last=$folder/block$1.c
        shift
    done
    cp "$last" "$folder/$1"
    check "$1 has $example_lines_max lines or more" [ "$lines" -lt "$example_lines_max" ]
}

# Copies of headers in the folder come before the originals.
compile() {
    # Flags are words without blanks.
    # shellcheck disable=SC2086
    $compiler_and_flags -iquote "$folder" "$@" $libraries
}

# run_test NAME SOURCE...: links a test with the sources that it is for, and runs it.
run_test() {
    test=$folder/$1
    shift
    compile "$test.c" "$@" -o "$test" && "$test"
}

example 1 readers/steps.c
block c 2 >"$folder/test_steps.c"
example 3 5 4 readers/perf/perf_traced.c
cp "$folder/block3.c" "$folder/readers/perf/perf_traced.h"
block c 6 >"$folder/test_traced.c"
example 7 writer/rows/rows.c
block c 8 >"$folder/test_rows.c"
example 9 cli/threads/threads_command.c

# ---- Registering. ----

cp readers/registry.c "$folder/readers/"
cp writer/emitters.c writer/*.h "$folder/writer/"
cp cli/main.c cli/command.c cli/options.c cli/*.h "$folder/cli/"
sed 's/READER(collapsed) /READER(steps) &/' readers/reader.h >"$folder/readers/reader.h"
sed 's/EMITTER(processed) /EMITTER(rows) &/' writer/emitter.h >"$folder/writer/emitter.h"
sed 's/^    COMMAND(view)$/    COMMAND(view) COMMAND(threads)/' cli/command.h >"$folder/cli/command.h"
sed 's/DIFF = 32/&, THREADS = 64/' cli/options.h >"$folder/cli/options.h"

cp readers/perf/*.h "$folder/readers/perf/"
cp readers/perf_data/*.h "$folder/readers/perf_data/"
sed 's/^    PERF_RECORD_TYPE_COUNT$/    PERF_TRACED,\n&/' readers/perf/perf_record.h >"$folder/readers/perf/perf_record.h"
sed -e 's/^#include "perf_switches.h"$/&\n#include "perf_traced.h"/' \
    -e 's/^    \[PERF_COUNT\] = use_count,$/&\n    [PERF_TRACED] = perf_traced_use,/' \
    readers/perf/perf_records.c >"$folder/readers/perf/perf_records.c"
awk -v parser="$folder/block5.c" '/^\/\* ---- All records. ---- \*\// { while ((getline line < parser) > 0) print line } { print }' \
    readers/perf_data/data_records.c |
    sed 's/{"ITRACE_START", NULL, true}/{"ITRACE_START", use_itrace_start, false}/' \
        >"$folder/readers/perf_data/data_records.c"

# ---- Tests. ----

check "the reader's test" run_test test_steps "$folder/readers/steps.c"
check "the perf record type's test" run_test test_traced "$folder/readers/perf/perf_traced.c" \
    "$folder/readers/perf/perf_records.c" "$folder/readers/perf_data/data_records.c"
check "the emitter's test" run_test test_rows "$folder/writer/rows/rows.c"

GECKO_CONVERT=$folder/gecko-convert
FIXTURES=$PWD/fixtures
export GECKO_CONVERT FIXTURES
check "building the program" compile "$folder/cli/main.c" "$folder/cli/command.c" "$folder/cli/options.c" "$folder/cli/threads/threads_command.c" \
    "$folder/readers/registry.c" "$folder/readers/steps.c" "$folder/writer/emitters.c" "$folder/writer/rows/rows.c" \
    -o "$GECKO_CONVERT"

printf '12 main>parse>read\n13 main>parse\n' >"$folder/input.steps"
converts_steps_to_rows() {
    "$GECKO_CONVERT" --quiet "$folder/input.steps" --format rows -o - >"$folder/rows" &&
        grep -F '[[0,"' "$folder/rows" | grep -qF '"read"],[1,"'
}
check "converting steps to rows" converts_steps_to_rows

block sh 1 >"$folder/run"
block text 1 >"$folder/expected"
prints_threads() { sh "$folder/run" | diff "$folder/expected" -; }
check "the command's case" prints_threads
shows_help() { "$GECKO_CONVERT" threads --help | grep -q '^Usage: gecko-convert threads '; }
check "the command's help" shows_help
refuses_wrong_options() { ! "$GECKO_CONVERT" threads --wrong && ! "$GECKO_CONVERT" threads; }
check "a wrong command line" refuses_wrong_options

echo "contributing: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
