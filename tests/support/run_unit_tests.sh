#!/bin/sh
# Runs cmocka programs and adds up what they report. usage: run_unit_tests.sh PROGRAM…
set -u
passed=0
failed=0
for program in "$@"; do
    output=$("$program" 2>&1)
    status=$?
    ran=$(printf '%s\n' "$output" | grep -ac '^\[ *OK *\]')
    while_running=$(printf '%s\n' "$output" | sed '/^\[=*\] [0-9]* test(s) run/,$d')
    broken=$(printf '%s\n' "$while_running" | grep -ac '^\[ *FAILED *\]')
    # A program that ran nothing, or died outside a test, has failed too.
    if [ $status -ne 0 ] && [ "$broken" -eq 0 ]; then broken=1; fi
    if [ "$ran" -eq 0 ] && [ "$broken" -eq 0 ]; then broken=1; fi
    if [ "$broken" -ne 0 ]; then printf '%s\n' "$output"; fi
    skipped=$(printf '%s\n' "$while_running" | grep -ac '^\[ *SKIPPED *\]')
    left_out=
    if [ "$skipped" -ne 0 ]; then left_out=", $skipped skipped"; fi
    echo "${program##*/}: $ran passed, $broken failed$left_out"
    passed=$((passed + ran))
    failed=$((failed + broken))
done
echo "unit tests: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
