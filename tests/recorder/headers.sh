#!/bin/sh
# The installed header and libraries, as users have them: C11, C++11 and C++17 programs that make every call are
# compiled with gcc and clang without a warning, linked with the static and the shared library, and run; their traces
# are converted, and what they recorded is looked for in the profiles.
#
#     headers.sh BUILD
#
# The make variables are the caller's: MAKE, GECKO_CONVERT (default BUILD/gecko-convert).
set -u
build=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
tests=$root/tests/recorder
converter=${GECKO_CONVERT:-$build/gecko-convert}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

pass() { passed=$((passed + 1)); }
fail() {
    echo "recorder headers: FAIL $*"
    failed=$((failed + 1))
}

# ---- The public names, from the header itself. ----

# Those that end in _ are the library's own.
public_names() {
    {
        grep -oE '^#define GREC_[A-Z0-9_]+\(' "$root/recorder/gecko_recorder.h" | grep -oE 'GREC_[A-Z0-9_]+'
        grep -oE '\bgrec_[a-z0-9_]+\(' "$root/recorder/gecko_recorder.h" | tr -d '('
        grep -oE '^class [a-z_]+' "$root/recorder/gecko_recorder.h" | sed 's/class /grec::/'
    } | grep -v '_$' | sort -u
}

check_names() {
    for name in $(public_names); do
        if grep -qwF -- "$name" "$tests"/every_call.*; then pass; else fail "no test calls $name"; fi
        if grep -qwF -- "$name" "$root/docs/recorder.md"; then pass; else fail "docs/recorder.md says nothing of $name"; fi
    done
}

# ---- Installed files. ----

prefix=/opt/recorder
installed=$work/root
install_all() {
    "${MAKE:-make}" -s -C "$root" BUILD="$build" DESTDIR="$installed" PREFIX="$prefix" install >"$work/install.log" 2>&1 || {
        cat "$work/install.log"
        echo "recorder headers: 0 passed, 1 failed"
        exit 1
    }
}

package() {
    PKG_CONFIG_PATH=$installed$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$installed pkg-config "$@" gecko-recorder
}

check_package() {
    header_version=$(sed -n 's/^#define GREC_VERSION "\(.*\)"/\1/p' "$installed$prefix/include/gecko_recorder.h")
    if [ "$(package --modversion)" = "$header_version" ]; then pass; else fail "gecko-recorder.pc has another version"; fi
}

# ---- Programs. ----

warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"

# compile COMPILER STANDARD SOURCE static|shared OUTPUT
compile() {
    libraries=$(package --libs)
    [ "$4" = static ] && libraries="$installed$prefix/lib/libgecko_recorder.a -lpthread"
    # Options are words without blanks.
    # shellcheck disable=SC2046,SC2086
    "$1" -std="$2" -O1 $warnings $(package --cflags) "$tests/$3" $libraries -o "$5" 2>"$work/errors"
}

texts_of_all='
last name
outer category
inner category
all formats
short type
first column
second column
instant function
interval function
two halves
all values
added with options
added by name
instant macro
instant macro with values
interval macro
interval macro with values
interval scope
text marker
the text of it
the message of a log marker
explicit label
label macro
label macro with text dynamic text
script_function
accumulated counter
rate counter
sampled counter
a fixed string
terminated text
sanitized text
upper cell
second text
after the scope
every call'
texts_of_c='
with a graph
type with a graph'
texts_of_cc='
label object
label object text of the object
interval object'
# What the main thread is called when it records first; a Gecko profile has another name for main threads.
main_name_of_c='scoped name'
main_name_of_cc='thread object'
texts_of_none='
without recording
while paused'

# has PROFILE TEXT: as a whole string, or before the place in the source, as functions of scripts are in Gecko profiles.
has() { grep -qF -e "\"$2\"" -e "\"$2 (" "$1"; }

# check_texts NAME PROFILE TEXTS
check_texts() {
    printf '%s\n' "$3" >"$work/texts"
    missing=""
    while read -r text; do
        [ -z "$text" ] || has "$2" "$text" || missing="$missing, $text"
    done <"$work/texts"
    if [ -z "$missing" ]; then pass; else fail "$1: not in the profile: ${missing#, }"; fi
}

check_no_texts() {
    printf '%s\n' "$3" >"$work/texts"
    while read -r text; do
        if [ "$text" ] && has "$2" "$text"; then fail "$1: in the profile: $text"; else pass; fi
    done <"$work/texts"
}

# convert NAME TRACE FORMAT PROFILE
convert() {
    if "$converter" --quiet --format "$3" "$2" -o "$4" 2>"$work/errors"; then
        pass
    else
        fail "$1: as $3: $(cat "$work/errors")"
        return 1
    fi
}

# check_profiles NAME TEXTS MAIN_NAME
check_profiles() {
    for format in processed gecko; do
        convert "$1" "$work/trace" $format "$work/$format.json" || continue
        check_texts "$1 $format" "$work/$format.json" "$2"
        check_no_texts "$1 $format" "$work/$format.json" "$texts_of_none"
    done
    check_texts "$1 processed" "$work/processed.json" "$3"
    convert "$1, saved" "$work/saved" processed "$work/saved.json" && check_texts "$1, saved" "$work/saved.json" "kept in memory"
}

# check_program COMPILER STANDARD SOURCE LINKING TEXTS MAIN_NAME
check_program() {
    name="$1 -std=$2, $4"
    rm -f "$work/trace" "$work/saved"
    compile "$1" "$2" "$3" "$4" "$work/program" || {
        fail "$name: $(cat "$work/errors")"
        return
    }
    pass
    if LD_LIBRARY_PATH=$installed$prefix/lib "$work/program" "$work/trace" "$work/saved" 2>"$work/errors"; then
        pass
    else
        fail "$name: the program failed: $(cat "$work/errors")"
        return
    fi
    check_profiles "$name" "$5" "$6"
}

case $build in
    /*) ;;
    *) build=$root/$build ;;
esac
case $converter in
    /*) ;;
    *) converter=$PWD/$converter ;;
esac
check_names
install_all
check_package
for linking in static shared; do
    for compiler in gcc clang; do
        check_program $compiler c11 every_call.c $linking "$texts_of_all$texts_of_c" "$main_name_of_c"
    done
    for compiler in g++ clang++; do
        for standard in c++11 c++17; do
            check_program $compiler $standard every_call.cc $linking "$texts_of_all$texts_of_cc" "$main_name_of_cc"
        done
    done
done
echo "recorder headers: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
