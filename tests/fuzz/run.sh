#!/bin/sh
# Fuzzes for a while, several targets side by side. usage: run.sh CORPUS-FOLDER SECONDS JOBS PROGRAM…
# A corpus that is there goes on to grow. What breaks a program is left beside its corpus; when it is mended, a small
# form of it (PROGRAM -minimize_crash=1) belongs into tests/fuzz/regressions/TARGET/.
set -u
corpora=$1
seconds=$2
jobs=$3
shift 3
printf '%s\n' "$@" | xargs -P "$jobs" -I '{}' "$(dirname "$0")/run_target.sh" "$corpora" "$seconds" '{}'
