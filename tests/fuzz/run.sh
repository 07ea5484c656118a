#!/bin/sh
# Fuzzes several targets at a time, from stored seeds and from recordings that are made now. An existing corpus is
# extended. usage: run.sh GECKO-CONVERT CORPUS-FOLDER SECONDS JOBS PROGRAM… An input that breaks a program is stored
# next to its corpus. After the bug is fixed, put a minimized form of the input (PROGRAM -minimize_crash=1) into
# tests/fuzz/regressions/TARGET/.
set -u
converter=$1
corpora=$2
seconds=$3
jobs=$4
shift 4
rm -rf "$corpora/recorded"
"$(dirname "$0")/record_seeds.py" "$converter" "$corpora/recorded"
printf '%s\n' "$@" | xargs -P "$jobs" -I '{}' "$(dirname "$0")/run_target.sh" "$corpora" "$seconds" '{}'
