#!/bin/sh
# Tests the installed header and libraries. C11, C++11 and C++17 programs that make every call are compiled with gcc and
# clang without a warning, linked with the static and the shared library, and run. Their traces are converted, and the
# profiles must have what the programs recorded. With GREC_DISABLE the programs are linked without the library, and must
# record nothing. The shared libraries must export what the header declares, and a program that knows nothing of them is
# recorded by preloading. Programs in Python and Rust record by the exported functions.
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

# Names that end in _ are internal to the library.
public_names() {
    {
        grep -oE '^#define GREC_[A-Z0-9_]+\(' "$root/recorder/gecko_recorder.h" | grep -oE 'GREC_[A-Z0-9_]+'
        grep -oE '\bgrec_[a-z0-9_]+\(' "$root/recorder/gecko_recorder.h" | tr -d '('
        grep -oE '^class [a-z_]+' "$root/recorder/gecko_recorder.h" | sed 's/class /grec::/'
        sed -n '/^enum grec_option_flag/,/^}/p' "$root/recorder/gecko_recorder.h" | grep -oE '^    GREC_[A-Z_]+' | tr -d ' '
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
# Other tests install from the same build at the same time, with other folders in the files for pkg-config and CMake. So
# these files are made in a folder of this test.
install_all() {
    "${MAKE:-make}" -s -C "$root" BUILD="$build" described="$work/described" DESTDIR="$installed" PREFIX="$prefix" \
        install >"$work/install.log" 2>&1 || {
        cat "$work/install.log"
        echo "recorder headers: 0 passed, 1 failed"
        exit 1
    }
}

package() {
    PKG_CONFIG_PATH=$installed$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$installed pkg-config "$@"
}

check_package() {
    header_version=$(sed -n 's/^#define GREC_VERSION "\(.*\)"/\1/p' "$installed$prefix/include/gecko_recorder.h")
    for name in gecko-recorder gecko-sampler; do
        if [ "$(package --modversion $name)" = "$header_version" ]; then pass; else fail "$name.pc has another version"; fi
    done
}

# The functions of the C library that a library may replace: those of preloaded ones.
preload_names='_Exit __sysv_signal _exit bsd_signal clone fstatat fstatat64 initgroups prctl pthread_create pthread_sigmask
setegid seteuid setgid setgroups setns setregid setresgid setresuid setreuid setuid sigaction sigaltstack sigblock
siggetmask sighold sigignore siginterrupt signal signalfd sigprocmask sigrelse sigset sigsetmask ssignal stat stat64
syscall sysv_signal unshare'
allocator_names='aligned_alloc calloc free malloc memalign posix_memalign pvalloc realloc valloc'

# GNU ld lists the hidden ends of a section too, which nothing can use.
exported_names() {
    readelf --dyn-syms -W "$installed$prefix/lib/$1" |
        awk '($5 == "GLOBAL" || $5 == "WEAK") && $6 != "HIDDEN" && $7 != "UND" { print $8 }'
}

# check_exported LIBRARY NAMES: a library exports what the header declares, names with the prefix of those that the
# libraries share, and NAMES.
check_exported() {
    library=$1
    exported_names "$library" >"$work/exported"
    [ -s "$work/exported" ] || fail "$library exports nothing"
    {
        echo "$2" | tr ' ' '\n'
        grep -E 'GREC_(API|INLINE) ' "$root/recorder/gecko_recorder.h" | grep -oE '[A-Za-z0-9_]+'
    } >"$work/allowed"
    surplus=$(grep -vxFf "$work/allowed" "$work/exported" | grep -vE '^grec_(shared_|sampler_hooks_$)' | tr '\n' ' ')
    if [ -z "$surplus" ]; then pass; else fail "$library exports $surplus"; fi
    soname=$(readelf -d "$installed$prefix/lib/$library" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
    if [ "$soname" ] && [ "$(readlink "$installed$prefix/lib/$library")" = "$soname" ]; then
        pass
    else
        fail "$library is called $soname in itself, and is not a link to that"
    fi
}

check_allocator() {
    for name in $allocator_names; do
        if exported_names libgecko_recorder_memory.so | grep -qx "$name"; then
            pass
        else
            fail "libgecko_recorder_memory.so has no $name"
        fi
    done
}

# ---- Programs. ----

warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"

static_libraries() { package --static --libs gecko-sampler | sed 's/-lgecko_\([a-z]*\)/-l:libgecko_\1.a/g'; }

# compile COMPILER STANDARD SOURCE static|shared OUTPUT
compile() {
    libraries=$(package --libs gecko-recorder) optimizes=-O1
    # The compiler gives other warnings if it does not optimize.
    [ "$4" = static ] && optimizes=-O0
    # Other libraries that a static library needs are listed in its pkg-config description.
    [ "$4" = static ] && libraries=$(static_libraries)
    # Options are words without blanks.
    # shellcheck disable=SC2046,SC2086
    "$1" -std="$2" $optimizes $warnings $(package --cflags gecko-recorder) "$tests/$3" $libraries -o "$5" 2>"$work/errors"
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
every call
malloc
Process CPU utilization
main'
texts_of_c='
with a graph
type with a graph'
texts_of_cc='
label object
label object text of the object
label of this place
interval object'
# The name that a C program gives its main thread before it records. Gecko profiles use another name for main threads.
main_name_of_c='scoped name'
main_name_of_cc='thread object'
texts_of_none='
without recording
while paused'

# found PROFILE TEXTS: prints the texts that are a whole string of the profile, are followed by a source position, as script
# functions are in Gecko profiles, or are the name of a main thread, which comes after that of its program.
found() {
    printf '%s\n' "$2" | LC_ALL=C awk '
        FNR == NR { texts[$0]; next }
        { for (text in texts) if (index($0, "\"" text "\"") || index($0, "\"" text " (") || index($0, " (" text ")\"")) has[text] }
        END { for (text in has) print text }' - "$1"
}

# check_texts NAME PROFILE TEXTS
check_texts() {
    found "$2" "$3" >"$work/found"
    missing=$(printf '%s\n' "$3" | grep . | grep -vxFf "$work/found" | tr '\n' ',')
    if [ -z "$missing" ]; then pass; else fail "$1: not in the profile: $missing"; fi
}

check_no_texts() {
    surplus=$(found "$2" "$3" | grep . | tr '\n' ',')
    if [ -z "$surplus" ]; then pass; else fail "$1: in the profile: $surplus"; fi
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

# check_disabled COMPILER STANDARD SOURCE: compiles the same program with GREC_DISABLE and links it without the library.
check_disabled() {
    name="$1 -std=$2, disabled"
    rm -f "$work/trace" "$work/saved"
    # Options are words without blanks.
    # shellcheck disable=SC2046,SC2086
    if "$1" -std="$2" -O0 $warnings -DGREC_DISABLE $(package --cflags gecko-recorder) "$tests/$3" -o "$work/program" 2>"$work/errors" &&
        "$work/program" "$work/trace" "$work/saved" 2>"$work/errors" && [ ! -e "$work/trace" ] && [ ! -e "$work/saved" ]; then
        pass
    else
        fail "$name: $(cat "$work/errors")"
    fi
}

# Other systems have other compilers. With the recorder disabled, the header must not need extensions of gcc and clang.
check_portable() {
    if cc -E -P -DGREC_DISABLE "$installed$prefix/include/gecko_recorder.h" | sed -n '/GREC_NAME_BYTES_MAX/,$p' | grep -n '__[a-z]'; then
        fail "the disabled header needs extensions of the compiler"
    else
        pass
    fi
}

# check_preload LIBRARY TEXTS: runs a program that does not use the recorder with an installed library preloaded.
check_preload() {
    name="preloaded $1"
    rm -f "$work/trace"
    seq 2000000 >"$work/numbers"
    if LD_PRELOAD=$installed$prefix/lib/$1 GECKO_RECORDER=1 GECKO_RECORDER_OUTPUT=$work/trace LC_ALL=C \
        sort -r "$work/numbers" >"$work/sorted" 2>"$work/errors" && [ "$(head -n 1 "$work/sorted")" = 999999 ]; then
        pass
    else
        fail "$name: the program failed: $(cat "$work/errors")"
        return
    fi
    convert "$name" "$work/trace" processed "$work/processed.json" && check_texts "$name" "$work/processed.json" "$2"
}

# gcc -static leaves out the header by which call frame information is found, and so most functions of stacks.
check_has_frame_information() {
    # Options are words without blanks.
    # shellcheck disable=SC2046
    if gcc -static $(package --cflags gecko-recorder) "$tests/every_call.c" $(static_libraries) -o "$work/program" \
            2>"$work/errors" && readelf -lW "$work/program" | grep -qw GNU_EH_FRAME; then
        pass
    else
        fail "a program without shared libraries has no call frame information: $(cat "$work/errors")"
    fi
}

# check_labels_only TEXTS MAIN_NAME: checks the library as built for machines on which it cannot walk stacks.
check_labels_only() {
    name="labels only"
    archives="$work/alone/libgecko_sampler.a $work/alone/libgecko_recorder.a"
    rm -f "$work/trace" "$work/saved"
    # The archives are two words.
    # shellcheck disable=SC2086
    if cc -std=c11 -O1 -I"$root/recorder" "$tests/every_call.c" -Wl,-u,grec_sampler_hooks_ $archives -lpthread \
            -o "$work/program" 2>"$work/errors" &&
        "$work/program" "$work/trace" "$work/saved" 2>"$work/errors"; then
        pass
    else
        fail "$name: $(cat "$work/errors")"
        return
    fi
    check_profiles "$name" "$1" "$2"
    if grep -qF '"libs":[]' "$work/processed.json"; then pass; else fail "$name: there are addresses in libraries"; fi
}

# Builds the recorder where the only programs are a compiler, make and the usual ones of a system, for machines on which it
# cannot walk stacks.
check_needs_only_a_compiler() {
    mkdir "$work/programs"
    for program in make cc as ld ar objcopy sh cat cmp echo expr ln mkdir nproc rm sed; do
        ln -s "$(command -v $program)" "$work/programs/$program"
    done
    if env -i PATH="$work/programs" make -s -C "$root" BUILD="$work/alone" CC=cc CPPFLAGS=-DGREC_LABELS_ONLY \
        CFLAGS=-O0 recorder 2>"$work/errors" >/dev/null &&
        [ ! -s "$work/errors" ] && [ -e "$work/alone/libgecko_recorder.a" ] && [ -e "$work/alone/libgecko_recorder.so" ] &&
        [ -e "$work/alone/libgecko_sampler.so" ] && [ -e "$work/alone/libgecko_preload.so" ] &&
        [ -e "$work/alone/libgecko_recorder_memory.so" ]; then
        pass
    else
        fail "the recorder needs more than a compiler: $(cat "$work/errors")"
    fi
}

# check_binding NAME TEXTS COMMAND…: a program that does not read the header records by the exported functions.
check_binding() {
    name=$1
    texts=$2
    shift 2
    rm -f "$work/trace"
    if LD_LIBRARY_PATH=$installed$prefix/lib "$@" "$work/trace" 2>"$work/errors"; then
        pass
    else
        fail "$name: $(cat "$work/errors")"
        return
    fi
    convert "$name" "$work/trace" processed "$work/processed.json" && check_texts "$name" "$work/processed.json" "$texts"
}

# Every public function of the header is in the library, the inline ones too.
check_functions() {
    exported_names libgecko_recorder.so >"$work/exported"
    missing=$(public_names | grep '^grec_' | grep -vxFf "$work/exported" | tr '\n' ' ')
    if [ -z "$missing" ]; then pass; else fail "libgecko_recorder.so has no $missing"; fi
}

texts_of_python='
instant of Python
interval of Python
text of Python
the text itself
label of Python with a text
Process CPU utilization'
texts_of_rust='
interval of Rust
the text itself
label of Rust
bindings::work
Process CPU utilization'

texts_of_preloaded='
sort
Process CPU utilization
resident set'

case $build in
    /*) ;;
    *) build=$root/$build ;;
esac
case $converter in
    /*) ;;
    *) converter=$PWD/$converter ;;
esac
check_names
check_needs_only_a_compiler
install_all
check_package
check_exported libgecko_recorder.so ''
check_exported libgecko_sampler.so ''
check_exported libgecko_preload.so "$preload_names"
check_exported libgecko_recorder_memory.so "$allocator_names"
check_allocator
check_preload libgecko_preload.so "$texts_of_preloaded"
check_labels_only "$(printf '%s\n' "$texts_of_all$texts_of_c" | grep -vx main)" "$main_name_of_c"
check_preload libgecko_recorder_memory.so "$texts_of_preloaded
malloc"
check_functions
check_binding "Python" "$texts_of_python" python3 "$tests/bindings.py" "$installed$prefix/lib/libgecko_recorder.so"
if rustc -g -O "$tests/bindings.rs" -l gecko_recorder -L "$installed$prefix/lib" -o "$work/bindings" 2>"$work/errors"; then
    check_binding "Rust" "$texts_of_rust" "$work/bindings"
else
    fail "Rust: $(cat "$work/errors")"
fi
check_portable
check_has_frame_information
for compiler in gcc clang; do check_disabled $compiler c11 every_call.c; done
for compiler in g++ clang++; do check_disabled $compiler c++17 every_call.cc; done
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
