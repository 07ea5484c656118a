# shellcheck shell=sh disable=SC2154
# The start of each script in this folder. A script sets `suite`, calls `check` for each test, and ends with `finish`.
# `work` is an empty folder that is removed at the end, `root` the root of the sources.
set -u
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
root=$(cd "$(dirname "$0")/../.." && pwd)

pass() { passed=$((passed + 1)); }
fail() {
    echo "$suite: FAIL $*"
    failed=$((failed + 1))
}

# check WHAT COMMAND…: passes if the command succeeds.
check() {
    what=$1
    shift
    if "$@" >"$work/output" 2>&1; then pass; else
        fail "$what: $*"
        tail -n 20 "$work/output" | sed 's/^/    /'
    fi
}

finish() {
    echo "$suite: $passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}

# is_profile FILE TEXT…: succeeds if the file is a profile with samples and contains the texts.
is_profile() {
    python3 "$root/tests/install/is_profile.py" "$@"
}
