#!/bin/sh
# Runs a command that is built with sanitizers. Fails if the command fails, or if it or any of its children reported an
# error, whatever their exit status. usage: run_sanitized.sh COMMAND [ARGUMENT…]
#
# Every process writes its report to a file in a folder that is writable for all users, because some tests change theirs.
set -u
support=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
mkdir "$work/reports" && chmod 755 "$work" && chmod 1777 "$work/reports"
into_files=log_path=$work/reports/report:log_exe_name=1:print_suppressions=0
# The address sanitizer holds freed memory back. With its default of 256 MB, each fork of a test takes milliseconds.
export ASAN_OPTIONS="$into_files:quarantine_size_mb=16:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="$into_files:print_stacktrace=1:${UBSAN_OPTIONS:-}"
export TSAN_OPTIONS="$into_files:suppressions=$support/tsan_suppressions.txt:${TSAN_OPTIONS:-}"
"$@" >"$work/output" 2>&1
status=$?
cat "$work/output"
# Matches all reports except warnings about too large allocations, which tests cause on purpose. If a process cannot write
# its file, its report is in the output.
is_report='SUMMARY: |ERROR: |: runtime error: |WARNING: ThreadSanitizer'
for file in "$work"/reports/* "$work/output"; do
    grep -a -E -q "$is_report" "$file" 2>/dev/null || continue
    echo "--- ${file##*/} ---"
    [ "$file" = "$work/output" ] || cat "$file"
    status=1
done
[ $status -eq 0 ] || echo "$*: the command failed or a sanitizer reported an error: 0 passed, 1 failed"
exit $status
