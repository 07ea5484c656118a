#!/bin/sh
# Runs the fuzz targets over the fixtures, the seeds and what once broke them, and adds up what they report.
# usage: replay.sh PROGRAM…
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0
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
    ran=${counts% *}
    broken=${counts#* }
    # A program that ran nothing has failed too.
    if [ $status -ne 0 ] && [ "${broken:-0}" -eq 0 ]; then broken=1; fi
    echo "$target: ${ran:-0} passed, $broken failed"
    passed=$((passed + ${ran:-0}))
    failed=$((failed + broken))
done
echo "fuzz replay: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
