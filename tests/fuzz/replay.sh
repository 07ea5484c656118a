#!/bin/sh
# Runs fuzz targets over fixtures, seeds and former failures. Prints "TARGET: N passed, N failed" for each.
# usage: replay.sh PROGRAM…
set -u
cd "$(dirname "$0")/../.." || exit 1
all_good=0
for program in "$@"; do
    target=${program##*/}
    files=""
    for path in tests/fuzz/seeds/$target tests/fuzz/regressions/$target; do
        [ -e "$path" ] && files="$files $path"
    done
    # shellcheck disable=SC2086
    output=$("$program" fixtures/*/*/input.* fixtures/recordings tests/cli/inputs $files)
    status=$?
    counts=$(printf '%s\n' "$output" | sed -n 's/.*: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    passed=${counts% *}
    failed=${counts#* }
    # A program that ran no input counts as failed.
    if [ $status -ne 0 ] && [ "${failed:-0}" -eq 0 ]; then failed=1; fi
    echo "$target: ${passed:-0} passed, ${failed:-1} failed"
    [ "${failed:-1}" -eq 0 ] || all_good=1
done
exit $all_good
