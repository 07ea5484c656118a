# shellcheck shell=sh disable=SC2154
# For the scripts of this folder, which set `suite`, count with `check` and end with `finish`.
passed=0
failed=0
root=$(cd "$(dirname "$0")/../.." && pwd)

pass() { passed=$((passed + 1)); }
fail() {
    echo "$suite: FAIL $*"
    failed=$((failed + 1))
}

# check WHAT COMMAND…: the command is good.
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

# is_profile FILE TEXT…: it is a profile with samples and with these texts.
is_profile() {
    python3 "$root/tests/install/is_profile.py" "$@"
}
