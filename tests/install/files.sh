#!/bin/sh
# files.sh BUILD PREFIX: tests which files are installed, what the libraries export, what pkg-config reports, installing
# into other folders, and uninstalling.
# shellcheck source=tests/install/common.sh
. "$(dirname "$0")/common.sh"
suite="installed files"
build=$1
prefix=$2

files_below() { (cd "$1" && find . -type f -o -type l) | LC_ALL=C sort; }

make_in() {
    "${MAKE:-make}" -s -C "$root" BUILD="$build" "$@"
}

# ---- What is there. ----

files_below "$prefix" >"$work/got"
cat >"$work/want" <<'END'
./bin/gecko-convert
./include/gecko_convert.h
./include/gecko_recorder.h
./lib/cmake/gecko_recorder/gecko_recorderConfig.cmake
./lib/cmake/gecko_recorder/gecko_recorderConfigVersion.cmake
./lib/libgecko_convert.a
./lib/libgecko_convert.so
./lib/libgecko_convert.so.1
./lib/libgecko_preload.so
./lib/libgecko_preload.so.0
./lib/libgecko_recorder.a
./lib/libgecko_recorder.so
./lib/libgecko_recorder.so.0
./lib/libgecko_recorder_memory.so
./lib/libgecko_recorder_memory.so.0
./lib/libgecko_sampler.a
./lib/libgecko_sampler.so
./lib/libgecko_sampler.so.0
./lib/pkgconfig/gecko-convert.pc
./lib/pkgconfig/gecko-recorder.pc
./lib/pkgconfig/gecko-sampler.pc
./share/bash-completion/completions/gecko-convert
./share/fish/vendor_completions.d/gecko-convert.fish
./share/man/man1/gecko-convert.1
./share/man/man3/gecko_convert.3
./share/man/man3/gecko_recorder.3
./share/man/man5/gecko-trace.5
./share/zsh/site-functions/_gecko-convert
END
check "files" diff "$work/want" "$work/got"
check "no placeholder is left" sh -c "! grep -rl '@[A-Z_]*@' '$prefix/lib/pkgconfig' '$prefix/lib/cmake'"

# ---- Libraries. ----

declared=$(sed -n 's/^GECKO_CONVERT_API .*\b\(gecko_convert[a-z_]*\)(.*/\1/p' "$root/libconvert/gecko_convert.h" | LC_ALL=C sort)
exported_of() { nm "$@" | awk '$2 ~ /^[A-TV-Z]$/ { print $3 }' | LC_ALL=C sort; }

printf '%s\n' "$declared" >"$work/declared"
[ -n "$declared" ] || fail "gecko_convert.h declares nothing"
exported_of -D --defined-only "$prefix/lib/libgecko_convert.so" >"$work/shared"
exported_of --defined-only "$prefix/lib/libgecko_convert.a" >"$work/static"
check "the shared library shows what the header declares" diff "$work/declared" "$work/shared"
check "the static library shows what the header declares" diff "$work/declared" "$work/static"
soname=$(readelf -d "$prefix/lib/libgecko_convert.so" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
check "the soname" [ "$soname" = libgecko_convert.so.1 ]
check "the link to the soname" [ "$(readlink "$prefix/lib/libgecko_convert.so")" = libgecko_convert.so.1 ]

# ---- pkg-config. ----

package() { PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config "$@"; }
version_of() { sed -n "s/^#define $2 \"\\(.*\\)\"/\\1/p" "$prefix/include/$1"; }

check "gecko-convert.pc is valid" package --validate gecko-convert
check "gecko-recorder.pc is valid" package --validate gecko-recorder
check "version of gecko-convert.pc" [ "$(package --modversion gecko-convert)" = "$(version_of gecko_convert.h GECKO_CONVERT_VERSION)" ]
check "version of gecko-recorder.pc" [ "$(package --modversion gecko-recorder)" = "$(version_of gecko_recorder.h GREC_VERSION)" ]
# Programs that link with the shared library do not need the packages that it uses.
check "shared linking names one library" [ "$(package --libs-only-l gecko-convert | tr -d ' ')" = -lgecko_convert ]
check "static linking names the others" sh -c "case '$(package --static --libs-only-l gecko-convert)' in *-larchive*-ldw*) ;; *) exit 1 ;; esac"

# ---- Other folders. ----

other=$work/'a folder'
# CC may be several words, such as "ccache gcc".
# shellcheck disable=SC2086
libraries=lib/$(${CC:-cc} -print-multiarch)
check "install into other folders" make_in DESTDIR="$other" PREFIX=/opt/gecko LIBDIR="/opt/gecko/$libraries" INCLUDEDIR=/srv/headers \
    MANDIR=/opt/pages ZSHCOMPDIR=/opt/zsh install
for file in opt/gecko/bin/gecko-convert opt/gecko/$libraries/libgecko_recorder.so srv/headers/gecko_recorder.h \
    opt/pages/man5/gecko-trace.5 opt/zsh/_gecko-convert; do
    check "place" [ -e "$other/$file" ]
done
check "libdir of the description" grep -qx "libdir=\${prefix}/$libraries" "$other/opt/gecko/$libraries/pkgconfig/gecko-convert.pc"
check "includedir of the description" grep -qx 'includedir=/srv/headers' "$other/opt/gecko/$libraries/pkgconfig/gecko-convert.pc"
cp -r "$other" "$work/moved"
check "uninstall" make_in DESTDIR="$other" PREFIX=/opt/gecko LIBDIR="/opt/gecko/$libraries" INCLUDEDIR=/srv/headers \
    MANDIR=/opt/pages ZSHCOMPDIR=/opt/zsh uninstall
check "nothing is left" [ -z "$(files_below "$other")" ]
check "the CMake package's folder is gone" [ ! -e "$other/opt/gecko/$libraries/cmake/gecko_recorder" ]

# The CMake package finds its files relative to itself.
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(moved LANGUAGES C)
find_package(gecko_recorder 0.1 EXACT QUIET CONFIG)
if(gecko_recorder_FOUND)
  message(FATAL_ERROR "0.1 is not this version")
endif()
find_package(gecko_recorder 99 QUIET CONFIG)
if(gecko_recorder_FOUND)
  message(FATAL_ERROR "99 is not this version")
endif()
find_package(gecko_recorder 0.1 REQUIRED CONFIG)
find_package(gecko_recorder REQUIRED CONFIG)
file(WRITE app.c "#include <gecko_recorder.h>\nint main(void) { return grec_is_recording(); }\n")
add_executable(shared app.c)
target_link_libraries(shared PRIVATE gecko::recorder)
add_executable(static app.c)
target_link_libraries(static PRIVATE gecko::recorder_static)
add_executable(static-sampler app.c)
target_link_libraries(static-sampler PRIVATE gecko::sampler_static)
END
check "CMake finds a moved recorder" cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/moved/opt/gecko"
check "CMake links with a moved recorder" cmake --build "$work/project/build"
check "it runs, shared" "$work/project/build/shared"
check "it runs, static" "$work/project/build/static"
finish
