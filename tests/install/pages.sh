#!/bin/sh
# pages.sh PREFIX: tests that the installed manual pages are well-formed, can be shown, and agree with --help, the headers
# and the documents.
# shellcheck source=tests/install/common.sh
. "$(dirname "$0")/common.sh"
suite="manual pages"
prefix=$1
pages=$prefix/share/man
program=$pages/man1/gecko-convert.1
convert=$pages/man3/gecko_convert.3
recorder=$pages/man3/gecko_recorder.3
trace=$pages/man5/gecko-trace.5

# References to pages that this machine lacks are not errors.
lint() {
    mandoc -T lint -W style "$1" 2>&1 | grep -v -e 'referenced manual not found' -e 'outdated mandoc.db' >"$work/lint"
    cat "$work/lint"
    [ ! -s "$work/lint" ]
}
warnings_of() {
    LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l "$1" 2>&1 >/dev/null | grep . && return 1
    return 0
}
for page in "$program" "$convert" "$recorder" "$trace"; do
    check "lint" lint "$page"
    check "groff's warnings" warnings_of "$page"
done

shows() { MANPAGER="cat" man -M "$pages" "$1" "$2" | grep -q "$3"; }
check "man 1" shows 1 gecko-convert 'turn traces into profiles'
check "man 3, the converter" shows 3 gecko_convert 'gecko_convert_result_fini'
check "man 3, the recorder" shows 3 gecko_recorder 'GECKO_RECORDER_LIMIT'
check "man 5" shows 5 gecko-trace 'little-endian'

# Prints a page as plain text: no bold or underlined letters, one blank between words, options in one piece.
text_of() { mandoc -T ascii -O width=1000 "$1" | sed -e 's/.\x08//g' -e 's/  */ /g'; }
for page in program convert recorder trace; do
    eval "text_of \"\$$page\"" >"$work/$page"
done

# A macro counts only at the beginning of a line, and is text elsewhere.
hasnt_macros() { ! grep -E '(^| )\.[A-Z][a-z] ' "$work/$1"; }
for page in program convert recorder trace; do
    check "no macros in the text of the page" hasnt_macros "$page"
done

# has PAGE PATTERN: succeeds if the text of the page matches.
has() { grep -qE -e "(^|[^a-zA-Z0-9_-])$2([^a-zA-Z0-9_-]|\$)" "$work/$1"; }
hasnt() { ! has "$@"; }

# ---- The program. ----

{
    "$prefix/bin/gecko-convert" --help
    "$prefix/bin/gecko-convert" info --help
    "$prefix/bin/gecko-convert" check --help
    "$prefix/bin/gecko-convert" view --help
    "$prefix/bin/gecko-convert" record --help
    "$prefix/bin/gecko-convert" diff --help
    "$prefix/bin/gecko-convert" merge --help
    "$prefix/bin/gecko-convert" merge-manifests --help
} >"$work/help"
grep -oE -e '--[a-z][a-z-]+' "$work/help" | sort -u >"$work/options"
[ "$(wc -l <"$work/options")" -ge 12 ] || fail "--help names hardly any option"
while read -r option; do
    check "gecko-convert(1) has $option" has program "$option"
done <"$work/options"
# The sections of commands name all of their options. That of record refers to other sections, too.
for command in info check merge merge-manifests diff view; do
    awk -v command="$command" '/^\.S[sh] / {
            is_inside = 0
            for (i = 2; i <= NF; i++) is_inside = is_inside || $i == command
        }
        is_inside' "$program" >"$work/section"
    "$prefix/bin/gecko-convert" "$command" --help | sed -nE 's/^ +(-[a-z], )?--([a-z-]+).*/\2/p' | grep -vx help >"$work/own"
    [ -s "$work/own" ] || fail "$command --help names no option"
    while read -r option; do
        check "gecko-convert(1) has --$option of $command" grep -qE "Fl Fl $option( |\$)" "$work/section"
    done <"$work/own"
done
grep -oE '(^| )-[a-zA-Z],' "$work/help" | tr -d ' ,' | sort -u >"$work/letters"
while read -r letter; do
    check "gecko-convert(1) has $letter" has program "$letter"
done <"$work/letters"
grep -oE -e '--[a-z][a-z-]+' "$work/program" | sort -u | grep -vxFf "$work/options" >"$work/unknown"
check "gecko-convert(1) has no other options" [ ! -s "$work/unknown" ]
# Every word of choices such as "--format processed|gecko".
grep -oE -e '--[a-z-]+ [a-z-]+(\|[a-z-]+)+' "$work/help" | cut -d' ' -f2 | tr '|' '\n' | sort -u >"$work/choices"
while read -r choice; do
    check "gecko-convert(1) has $choice" has program "$choice"
done <"$work/choices"
# Every exit code, for instance "0  good".
sed -n '/^Exit codes:/,$p' "$work/help" | sed -nE 's/^ +([0-9])  .*/\1/p' | sort -u >"$work/codes"
[ -s "$work/codes" ] || fail "--help has no exit codes"
sed -n '/^EXIT STATUS/,/^EXAMPLES/p' "$work/program" >"$work/status"
while read -r code; do
    check "gecko-convert(1) has exit status $code" grep -qE "^ $code " "$work/status"
done <"$work/codes"

# ---- The libraries. ----

# Names that end in _ are internal to the library.
names_of_convert() {
    grep -oE '\bgecko_convert[a-z_]*\(' "$prefix/include/gecko_convert.h" | tr -d '('
    sed -n '/^enum gecko_convert_status/,/^}/p' "$prefix/include/gecko_convert.h" | grep -oE '^    GECKO_CONVERT_[A-Z_]+'
    sed -n '/^struct gecko_convert_options/,/^}/p' "$prefix/include/gecko_convert.h" | grep -vE '^ +(/\*|\*)' |
        sed -nE -e 's,/\*.*,,' -e 's/^ .*[ *]([a-z_]+);.*/\1/p'
}
names_of_recorder() {
    header=$prefix/include/gecko_recorder.h
    grep -oE '^#define GREC_[A-Z0-9_]+\(' "$header" | grep -oE 'GREC_[A-Z0-9_]+'
    grep -oE '\bgrec_[a-z0-9_]+\(' "$header" | tr -d '('
    grep -oE '^class [a-z_]+' "$header" | sed 's/class /grec::/'
    sed -n '/^enum grec_option_flag/,/^}/p;/^enum grec_error /,/^}/p' "$header" | grep -oE '^    GREC_[A-Z_]+' | grep -v GREC_ERROR_COUNT
    sed -n '/^struct grec_options/,/^}/p' "$header" | sed -nE 's/^ .*[ *]([a-z_]+);.*/\1/p'
    grep -oE '`GECKO_RECORDER[A-Z_]*=' "$root/docs/recorder.md" | tr -d '`='
}
for library in convert recorder; do
    "names_of_$library" | tr -d ' ' | grep -v '_$' | grep -vx reserved | sort -u >"$work/names"
    [ "$(wc -l <"$work/names")" -ge 15 ] || fail "the header of $library has hardly any names"
    while read -r name; do
        check "the page of $library has $name" has "$library" "$name"
    done <"$work/names"
done

# ---- The trace. ----

# Checks rows such as "| 6 | instant |" in tables of entries, frames and definitions, and "| 512 | `u64` |" in those of
# headers.
document=$root/docs/trace-format.md
sed -n '/^## Events/,/^### Samples of other threads/p;/^### Stacks/,/^## The clock/p' "$document" |
    sed -nE 's/^\| ([0-9]+) \| ([a-z ]+) \|.*/\1 \2/p' >"$work/kinds"
[ "$(wc -l <"$work/kinds")" -ge 35 ] || fail "docs/trace-format.md has hardly any kinds"
while read -r kind; do
    check "gecko-trace(5) has $kind" grep -qE "^ $kind( |\$)" "$work/trace"
done <"$work/kinds"
sed -nE 's/^\| ([0-9]+) \| `(u[0-9]+)` \|.*/\1 \2/p' "$document" >"$work/fields"
[ "$(wc -l <"$work/fields")" -ge 40 ] || fail "docs/trace-format.md has hardly any fields"
while read -r field; do
    check "gecko-trace(5) has $field" grep -qE "^ $field( |\$)" "$work/trace"
done <"$work/fields"
finish
