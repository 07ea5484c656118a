#!/bin/sh
# Runs a command that is built with sanitizers. Fails if any process of the command, children included, reported
# something, whatever the exit status of that process. usage: run_sanitized.sh COMMAND [ARGUMENT…]
#
# Every process writes its reports into files of a folder that anybody may write to, since tests change their user.
set -u
support=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
mkdir "$work/reports" && chmod 755 "$work" && chmod 1777 "$work/reports"
into_files=log_path=$work/reports/report:log_exe_name=1:print_suppressions=0
export ASAN_OPTIONS="$into_files:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="$into_files:print_stacktrace=1:${UBSAN_OPTIONS:-}"
export TSAN_OPTIONS="$into_files:suppressions=$support/tsan_suppressions.txt:${TSAN_OPTIONS:-}"
"$@" >"$work/output" 2>&1
status=$?
cat "$work/output"
# Anything but a note that an allocation was too large, which tests ask for. A process that could not write its file has
# its report among its output.
is_report='SUMMARY: |ERROR: |: runtime error: |WARNING: ThreadSanitizer'
for file in "$work"/reports/* "$work/output"; do
    grep -a -E -q "$is_report" "$file" 2>/dev/null || continue
    echo "--- ${file##*/} ---"
    [ "$file" = "$work/output" ] || cat "$file"
    status=1
done
[ $status -eq 0 ] || echo "$*: failed, or its sanitizer reported something: 0 passed, 1 failed"
exit $status
