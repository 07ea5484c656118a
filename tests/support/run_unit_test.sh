#!/bin/sh
# Runs one cmocka program and prints what it counted: "NAME: N passed, N failed". The program's output is shown if
# something failed. usage: run_unit_test.sh PROGRAM
set -u
program=$1
output=$("$program" 2>&1)
status=$?
ran=$(printf '%s\n' "$output" | grep -ac '^\[ *OK *\]')
# cmocka names the failed and the skipped tests again at the end.
while_running=$(printf '%s\n' "$output" | sed '/^\[=*\] [0-9]* test(s) run/,$d')
failed=$(printf '%s\n' "$while_running" | grep -ac '^\[ *FAILED *\]')
skipped=$(printf '%s\n' "$while_running" | grep -ac '^\[ *SKIPPED *\]')
# A program that neither ran nor skipped a test, or died outside of a test, has failed too.
if [ "$failed" -eq 0 ] && { [ $status -ne 0 ] || [ $((ran + skipped)) -eq 0 ]; }; then failed=1; fi
if [ "$failed" -ne 0 ]; then printf '%s\n' "$output" "exit status $status"; fi
left_out=
if [ "$skipped" -ne 0 ]; then left_out=", $skipped skipped"; fi
echo "${program##*/}: $ran passed, $failed failed$left_out"
[ "$failed" -eq 0 ]
