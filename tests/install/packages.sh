#!/bin/sh
# packages.sh BUILD: builds the Debian packages, checks them with lintian, installs them into a folder, uses them there,
# and purges them.
#
# The folder is a separate dpkg root. dpkg checks dependencies and conflicts against a copy of the machine's package list,
# and changes nothing outside of the folder.
# shellcheck source=tests/install/common.sh
. "$(dirname "$0")/common.sh"
suite="packages"
build=$1
debs=$build/deb
machine=$work/root
names="gecko-convert libgecko-convert-dev libgecko-convert1 libgecko-recorder-dev libgecko-recorder0"

# The optimizer and debug information would take a third of the build's time, and change nothing that is tested here.
# The default compressor would take another tenth.
DEB_BUILD_OPTIONS="parallel=$(nproc) noopt noautodbgsym"
export DEB_BUILD_OPTIONS DEB_CFLAGS_APPEND=-g0 DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1
check "make deb" "${MAKE:-make}" -s -C "$root" BUILD="$build" deb
[ "$failed" -eq 0 ] || finish
for name in $names; do
    check "package" ls "$debs/$name"_*.deb
done
check "the sources are as they were" [ ! -e "$root/debian" ]
# shellcheck disable=SC2046
check "lintian" lintian --allow-root --fail-on error,warning $(ls "$debs"/*.changes)

# ---- Installing. ----

# Triggers are not run, because the folder does not contain their programs.
as_root=
[ "$(id -u)" = 0 ] || as_root=fakeroot
in_machine() {
    $as_root dpkg --root="$machine" --log=/dev/null --force-not-root,bad-path --no-triggers --path-include='/usr/share/*' "$@"
}
copy_list() {
    mkdir -p "$machine/var/lib/dpkg/info" "$machine/var/lib/dpkg/updates" "$machine/tmp"
    awk -v RS= -v ORS='\n\n' '!/^Package: (lib)?gecko-/' /var/lib/dpkg/status >"$machine/var/lib/dpkg/status"
    find /var/lib/dpkg/info -name '*.list' -exec cp -t "$machine/var/lib/dpkg/info" {} +
}
files_in_machine() { (cd "$machine" && find . -path ./var/lib/dpkg -prune -o ! -type d -print); }

check "a copy of the machine's list" copy_list
files=
for name in $names; do
    files="$files $(ls "$debs/$name"_*.deb)"
done
# shellcheck disable=SC2086
check "install" in_machine --install $files
[ "$failed" -eq 0 ] || finish
for name in $names; do
    check "$name is installed" grep -q '^ii' <<END
$(in_machine -l "$name" | tail -n 1)
END
done

# ---- Using. ----

prefix=$machine/usr
libdir=$(dirname "$(find "$prefix/lib" -name libgecko_recorder.a)")
converter=$prefix/bin/gecko-convert
fixture=$root/fixtures/perf-script/cpp-names
check "the program converts" "$converter" --quiet "$fixture/input.txt" -o "$work/profile.json"
check "the profile" cmp "$fixture/processed.json" "$work/profile.json"
check "zstd" zstd -q "$fixture/input.txt" -o "$work/input.txt.zst"
check "the program converts a compressed trace" "$converter" --quiet "$work/input.txt.zst" -o "$work/unpacked.json"
check "its profile" cmp "$fixture/processed.json" "$work/unpacked.json"
shows() { MANPAGER="cat" man -M "$prefix/share/man" "$1" "$2" | grep -q "$3"; }
check "man gecko-convert" shows 1 gecko-convert 'turn traces into profiles'
check "man gecko_convert" shows 3 gecko_convert 'gecko_convert_result_fini'
check "man gecko_recorder" shows 3 gecko_recorder 'GECKO_RECORDER_LIMIT'
check "man gecko-trace" shows 5 gecko-trace 'little-endian'

# Preloads the libraries into programs of this machine. The memory library must find the recorder by name.
for library in libgecko_preload.so.0 libgecko_recorder_memory.so.0; do
    rm -f "$work/sort.trace"
    seq 2000000 >"$work/numbers"
    check "$library is preloaded" env LD_LIBRARY_PATH="$libdir" LD_PRELOAD="$library" GECKO_RECORDER=1 \
        GECKO_RECORDER_OUTPUT="$work/sort.trace" sort -r -o "$work/sorted" "$work/numbers"
    check "$library: its trace" "$converter" --quiet "$work/sort.trace" -o "$work/sort.json"
    check "$library: the profile" is_profile "$work/sort.json" sort
done
"$root/tests/install/examples.sh" "$prefix" "$machine" "$libdir" || examples=bad
check "the examples" [ -z "${examples:-}" ]

# ---- Purging. ----

# shellcheck disable=SC2086
check "purge" in_machine --purge $names
check "nothing is left" [ -z "$(files_in_machine)" ]
for name in $names; do
    check "$name is gone" sh -c "! grep -q '^Package: $name\$' '$machine/var/lib/dpkg/status'"
done
finish
