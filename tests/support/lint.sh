#!/bin/sh
# Checks all sources without running them. usage: lint.sh BUILD JOBS COMPILER_FLAG…
#
# Each kind of source has its tool, whose settings are in the root of the project. "lint: N passed, N failed" counts
# tools.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$1
jobs=$2
shift 2
flags=$*
passed=0
failed=0

sources() {
    find cli libconvert readers writer recorder tests fixtures bench examples packaging .ci -type f "$@"
}

check() {
    name=$1
    shift
    if output=$("$@" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s\n' "$output" | grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?generated'
        echo "lint: $name failed"
    fi
}

format_of_c() {
    sources '(' -name '*.[ch]' -o -name '*.cc' ')' -print0 | xargs -0 clang-format --dry-run -Werror
}

# usage: tidy CLANG_TIDY_OPTIONS SOURCES_TEST…
# Each clang-tidy has many sources, because it takes as long to start as for two of them.
tidy() {
    options=$1
    shift
    sources -name '*.c' ! -name 'peer_*' ! -name 'aarch64_*' "$@" -print0 |
        FLAGS="$flags -O0 -U_FORTIFY_SOURCE -Xclang -analyzer-config -Xclang mode=shallow,max-nodes=10000" xargs -0 -n 40 -P "$jobs" \
            sh -c 'clang-tidy --quiet '"$options"' "$@" -- $FLAGS' clang-tidy
}

# The analyzer's shallow mode looks at each function alone. It follows at most 10 000 steps of one: with its default of
# 75 000, clang-tidy takes 1.7 times as long. Without the optimizer, libc's headers define no functions of their own:
# checking these takes a quarter more time, and calls of an inline printf hide defects. Tests are not analyzed: they run
# under the sanitizers. Left out: benchmarks that need the headers of other recorders or libraries, and programs for
# another processor.
defects_in_c() {
    tidy '' ! -path 'tests/*' && tidy '--checks=-clang-analyzer-*' -path 'tests/*'
}

shell_scripts() {
    { sources '(' -name '*.sh' -o -name '*.bash' ')' -print0 && printf '.ci/run\0'; } | xargs -0 shellcheck -x
}

ruff=$build/lint/bin/ruff

# Debian has no package of ruff.
install_ruff() {
    version=$(sed -n 's/^required-version = "==\(.*\)"/\1/p' ruff.toml)
    [ "$("$ruff" --version 2>/dev/null)" = "ruff $version" ] && return
    python3 -m venv "$build/lint" && "$build/lint/bin/pip" -q install "ruff==$version"
}

python() {
    sources -name '*.py' -print0 | xargs -0 "$ruff" check --quiet --output-format concise --cache-dir "$build/lint/cache"
}

# A section begins with "---- Title. ----" in a comment. An explanation may follow the title.
section_marks() {
    ! sources '(' -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name '*.mjs' -o -name '*.mk' ')' -print0 |
        xargs -0 grep -nE '^ *(/\*|//|#) ?(-{2,}|={3,}) ' Makefile |
        grep -vE ':[0-9]+: *((/\*|//|#) ---- .*[.?!] ----( \*/)?|/\* ---- .*[^-/])$'
}

# A comment can be understood alone: it does not continue a name or another comment.
comment_starts() {
    ! sources '(' -name '*.[ch]' -o -name '*.cc' ')' -print0 | xargs -0 grep -nE '/\* (of|that|which|before|behind) '
}

check clang-format format_of_c
check clang-tidy defects_in_c
check shellcheck shell_scripts
skipped=
if install_ruff; then
    check ruff python
else
    echo 'lint: PYTHON IS NOT CHECKED: ruff cannot be installed'
    skipped=', 1 skipped'
fi
check 'section marks' section_marks
check 'starts of comments' comment_starts
echo "lint: $passed passed, $failed failed$skipped"
[ "$failed" -eq 0 ]
