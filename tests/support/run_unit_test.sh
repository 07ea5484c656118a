#!/bin/sh
# Runs one cmocka program and prints "NAME: N passed, N failed", after the program's output if a test failed.
# usage: run_unit_test.sh PROGRAM
set -u
program=$1
output=$("$program" 2>&1)
status=$?
ran=$(printf '%s\n' "$output" | grep -ac '^\[ *OK *\]')
# cmocka repeats the failed and skipped tests after its summary, so only the lines before that count.
while_running=$(printf '%s\n' "$output" | sed '/^\[=*\] [0-9]* test(s) run/,$d')
failed=$(printf '%s\n' "$while_running" | grep -ac '^\[ *FAILED *\]')
skipped=$(printf '%s\n' "$while_running" | grep -ac '^\[ *SKIPPED *\]')
# A program that ran and skipped no test, or that ended outside of a test, counts as failed.
if [ "$failed" -eq 0 ] && { [ $status -ne 0 ] || [ $((ran + skipped)) -eq 0 ]; }; then failed=1; fi
if [ "$failed" -ne 0 ]; then printf '%s\n' "$output" "exit status $status"; fi
left_out=
if [ "$skipped" -ne 0 ]; then left_out=", $skipped skipped"; fi
echo "${program##*/}: $ran passed, $failed failed$left_out"
[ "$failed" -eq 0 ]
