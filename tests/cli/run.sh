#!/bin/sh
# Runs the cases of this folder: run.sh [--update] [CASE...]
#
# A case is a folder with a script `run` and its expected output, byte for byte: stdout, stderr and exit (the exit
# code). The script runs in a new folder that contains a copy of inputs/. Its environment has
#     GECKO_CONVERT  the program (set by the caller, or build/gecko-convert)
#     FIXTURES       the folder of fixtures
# Times and sizes of output are replaced before the comparison. Exit code 77 skips the case.
# --update makes the actual output the expected one.
set -u
LC_ALL=C
export LC_ALL
cases=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$cases/../.." && pwd)
FIXTURES=$root/fixtures
GECKO_CONVERT=${GECKO_CONVERT:-$root/build/gecko-convert}
case $GECKO_CONVERT in
    /*) ;;
    *) GECKO_CONVERT=$PWD/$GECKO_CONVERT ;;
esac
export FIXTURES GECKO_CONVERT
if [ ! -x "$GECKO_CONVERT" ]; then
    echo "run.sh: no program at $GECKO_CONVERT: build it, or set GECKO_CONVERT" >&2
    exit 2
fi

update=false
if [ "${1:-}" = --update ]; then
    update=true
    shift
fi
if [ $# -eq 0 ]; then
    for script in "$cases"/*/run; do
        set -- "$@" "$(basename "$(dirname "$script")")"
    done
fi

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
passed=0
failed=0
skipped=0

normalise() {
    sed -E -e 's/, [0-9.]+ [kMG]?B, in [0-9]+\.[0-9][0-9] s/, SIZE, in T s/' \
        -e 's/"milliseconds":[0-9]+/"milliseconds":T/' -e 's/ time="[0-9.]+"/ time="T"/g' \
        -e 's/, wrote [1-9][0-9.]* [kMG]?B, in [0-9]+\.[0-9][0-9] s/, wrote SIZE, in T s/' -e 's/, in [0-9]+\.[0-9][0-9] s$/, in T s/' \
        -e 's/("output":\{[^}]*"bytes":)[1-9][0-9]*/\1SIZE/' "$1" > "$1.normal"
    mv "$1.normal" "$1"
}

for name; do
    folder=$cases/$name
    mkdir "$work/cwd" "$work/got"
    cp "$cases"/inputs/* "$work/cwd"
    (cd "$work/cwd" && sh "$folder/run") > "$work/got/stdout" 2> "$work/got/stderr" < /dev/null
    code=$?
    echo $code > "$work/got/exit"
    normalise "$work/got/stdout"
    normalise "$work/got/stderr"
    if [ $code -eq 77 ]; then
        echo "skip $name"
        skipped=$((skipped + 1))
    elif $update; then
        cp "$work/got/stdout" "$work/got/stderr" "$work/got/exit" "$folder"
        echo "write $name"
    else
        verdict=ok
        for stream in stdout stderr exit; do
            cmp -s "$work/got/$stream" "$folder/$stream" && continue
            verdict=FAIL
            diff -u "$folder/$stream" "$work/got/$stream" | sed 's/^/    /'
        done
        echo "$verdict $name"
        if [ $verdict = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    fi
    rm -rf "$work/cwd" "$work/got"
done

$update && exit 0
[ $skipped -eq 0 ] || echo "$skipped skipped"
echo "command line: $passed passed, $failed failed"
[ $failed -eq 0 ]
