#!/bin/sh
# hardening.sh BUILD: tests that programs and libraries have the protections of the Makefile's default flags, and that the
# user's flags can change or remove them without a warning.
# shellcheck source=tests/install/common.sh
. "$(dirname "$0")/common.sh"
suite="hardening"
build=$1

shows() { readelf -W "$1" "$2" | grep -Eq "$3"; }
refers_to() { nm "$1" "$2" | grep -Eq " [UwTWiI] ($3)(@.*)?$"; }

# ---- What is built. ----

for file in gecko-convert static/gecko-convert libgecko_convert.so libgecko_recorder.so libgecko_sampler.so libgecko_preload.so \
    libgecko_recorder_memory.so; do
    check "$file: relocations are read-only" shows --program-headers "$build/$file" ' GNU_RELRO '
    check "$file: all symbols are bound at the start" shows --dynamic "$build/$file" ' Flags:.* NOW'
    check "$file: the stack is not executable" shows --program-headers "$build/$file" ' GNU_STACK .* RW '
    check "$file: any address" shows --file-header "$build/$file" 'Type: *DYN'
done
for file in gecko-convert static/gecko-convert; do
    check "$file: a program" shows --dynamic "$build/$file" ' Flags:.* PIE'
done
for file in gecko-convert libgecko_convert.so libgecko_recorder.so libgecko_sampler.so; do
    check "$file: stack protector" refers_to -D "$build/$file" __stack_chk_fail
    check "$file: fortified functions" refers_to -D "$build/$file" '__[a-z]+_chk'
done
for file in libgecko_convert.a libgecko_recorder.a libgecko_sampler.a; do
    check "$file: stack protector" refers_to -g "$build/$file" __stack_chk_fail
    check "$file: fortified functions" refers_to -g "$build/$file" '__[a-z]+_chk'
done
check "the recorder needs libc alone" [ "$(readelf -d "$build/libgecko_recorder.so" | grep NEEDED | sed 's/.*\[\(.*\)\]/\1/')" = libc.so.6 ]

# ---- Flags of the person who builds. ----

# A source file with many buffers and calls that can be fortified.
object=obj/recorder/sampler/libraries.o
compile_with() {
    rm -rf "$work/build"
    "${MAKE:-make}" -s -C "$root" BUILD="$work/build" "$@" "$work/build/$object"
}
check "default flags" compile_with SANITIZE= 'CFLAGS=-O2 -g -Werror'
check "default flags: stack protector" refers_to -g "$work/build/$object" __stack_chk_fail
check "default flags: fortified" refers_to -g "$work/build/$object" '__[a-z]+_chk'
check "no optimization" compile_with 'CFLAGS=-O0 -Werror'
check "no optimization: stack protector" refers_to -g "$work/build/$object" __stack_chk_fail
check "no optimization at the end" compile_with 'CFLAGS=-O2 -O0 -Werror'
check "no flags" compile_with CFLAGS=-Werror
check "a level of their own" compile_with 'CPPFLAGS=-D_FORTIFY_SOURCE=2' 'CFLAGS=-O2 -Werror'
check "not fortified" compile_with 'CFLAGS=-O2 -U_FORTIFY_SOURCE -Werror'
check "not fortified: plain functions" sh -c "! nm '$work/build/$object' | grep -Eq '__(read|snprintf|memcpy)_chk'"
check "no stack protector" compile_with 'CFLAGS=-O2 -fno-stack-protector -Werror'
check "no stack protector: none" sh -c "! nm '$work/build/$object' | grep -q __stack_chk_fail"
check "sanitizers" compile_with SANITIZE=undefined 'CFLAGS=-O2 -Werror'
check "sanitizers: plain functions" sh -c "! nm '$work/build/$object' | grep -Eq '__(read|snprintf|memcpy)_chk'"
finish
