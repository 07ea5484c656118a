#!/bin/sh
# Fuzzes several targets at a time. usage: run.sh CORPUS-FOLDER SECONDS JOBS PROGRAM… An existing corpus is extended. An
# input that breaks a program is stored next to its corpus. After the bug is fixed, put a minimized form of the input
# (PROGRAM -minimize_crash=1) into tests/fuzz/regressions/TARGET/.
set -u
corpora=$1
seconds=$2
jobs=$3
shift 3
printf '%s\n' "$@" | xargs -P "$jobs" -I '{}' "$(dirname "$0")/run_target.sh" "$corpora" "$seconds" '{}'
