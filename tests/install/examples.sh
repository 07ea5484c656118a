#!/bin/sh
# examples.sh PREFIX [SYSROOT LIBDIR]: builds the examples with make, CMake and Meson against the installed libraries,
# runs them, and converts their recordings. SYSROOT comes before the folders in pkg-config files. With SYSROOT, what does
# not depend on where the libraries are is left out: Meson and recordings of perf.
# shellcheck source=tests/install/common.sh
. "$(dirname "$0")/common.sh"
suite="examples${2:+ with packages}"
prefix=$1
sysroot=${2:-}
libdir=${3:-$prefix/lib}
export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir"
[ -z "$sysroot" ] || export PKG_CONFIG_SYSROOT_DIR="$sysroot"
converter=$prefix/bin/gecko-convert

# ---- Programs that record. ----

needs_library() { readelf -d "$1" | grep -q 'NEEDED.*libgecko_recorder'; }
needs_none() { ! needs_library "$1"; }

# recorded TRACE PROFILE COMMAND TEXT…: succeeds if the command records a trace whose profile contains the texts. Some
# texts are only in samples, which are few on a busy machine, so the command may run several times.
recorded() {
    trace=$1
    profile=$2
    shift 2
    command=$1
    shift
    attempts_left=30
    while [ "$attempts_left" -gt 0 ]; do
        attempts_left=$((attempts_left - 1))
        rm -f "$trace"
        sh -c "$command" || return 1
        "$converter" --quiet "$trace" -o "$profile" || return 1
        is_profile "$profile" "$@" && return 0
    done
    return 1
}

# A recording of it is started from outside.
check_c() {
    rm -f "$work"/*.trace
    check "$1: runs" env -C "$work" "$2"
    check "$1: records nothing unasked" sh -c "! ls '$work'/*.trace"
    check "$1: is recorded" recorded "$work/c.trace" "$work/profile.json" \
        "cd '$work' && GECKO_RECORDER=1 GECKO_RECORDER_OUTPUT='$work/c.trace' '$2'" \
        request 'count primes' count_primes Served
}

# The example starts its recording itself.
check_cc() {
    check "$1: records" recorded "$work/cc.trace" "$work/profile.json" "'$2' '$work/cc.trace'" \
        batch 'first text' 'sort first sorter' 'sort second sorter'
}

# check_programs WHAT FOLDER
check_programs() {
    check "$1: app-c is linked with the library" needs_library "$2/app-c"
    check "$1: app-cc is linked with the library" needs_library "$2/app-cc"
    check "$1: app-c-static is linked with the archive" needs_none "$2/app-c-static"
    check "$1: app-cc-static is linked with the archive" needs_none "$2/app-cc-static"
    # The program has a sampler only if the linker was told so.
    check_c "$1, app-c-static" "$2/app-c-static"
}

cp -r "$root/examples/recorder" "$root/examples/embedder" "$work"
check "make" make -C "$work/recorder"
check_programs make "$work/recorder"
check_c app-c "$work/recorder/app-c"
for linking in "" -static; do check_cc "app-cc$linking" "$work/recorder/app-cc$linking"; done

check "requests are recorded" recorded "$work/requests.trace" "$work/profile.json" \
    "cd '$work/recorder' && GECKO_RECORDER=1 GECKO_RECORDER_OUTPUT='$work/requests.trace' ./requests" \
    STATUS_START STATUS_STOP timeline-network

check "CMake makes ready" cmake -S "$root/examples/recorder" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix"
check "CMake builds" cmake --build "$work/cmake"
check_programs CMake "$work/cmake"

# Meson asks pkg-config, as make does above.
check_with_meson() {
    check "Meson makes ready" meson setup "$work/meson" "$root/examples/recorder"
    check "Meson builds" meson compile -C "$work/meson"
    check_programs Meson "$work/meson"
}
[ "$sysroot" ] || check_with_meson

# ---- A server of several processes, recorded with perf at the same time. ----

# profiled OPTIONS…: records the server and checks the profile in both formats. Samples are few on a busy machine, so it
# may be recorded several times. If many of them are in functions of the C library, which has no frame pointers, the
# recorder's would be taken. Without -B, perf 6.1 aborts once in a hundred runs, when it collects build ids ("assertion
# failed at util/build-id.c", "stack smashing detected").
profiled() {
    attempts_left=10
    while [ "$attempts_left" -gt 0 ]; do
        attempts_left=$((attempts_left - 1))
        rm -f "$work"/server/*.trace
        (cd "$work/server" && perf record -B "$@" -g -o server.perf.data -- \
            env GECKO_RECORDER=1 GECKO_RECORDER_OUTPUT=server.trace ./server 200) >"$work/said" 2>&1 || {
            cat "$work/said"
            return 1
        }
        is_good=true
        for format in processed gecko; do
            "$converter" --quiet --samples perf -f "$format" "$work/server/server.trace" "$work/server/server.perf.data" \
                -o "$work/server.json" --report "$work/server.report.json" || return 1
            "$converter" check "$work/server.json" || return 1
            "$root/tests/install/server_profile.py" "$format" "$work/server.json" "$work/server.report.json" ||
                is_good=false
        done
        "$is_good" && return 0
    done
    return 1
}

cp -r "$root/examples/server" "$work"
check "the server" make -C "$work/server"
check "the server is recorded" recorded "$work/server.trace" "$work/profile.json" \
    "cd '$work/server' && GECKO_RECORDER=1 GECKO_RECORDER_OUTPUT='$work/server.trace' ./server" request 'render page'
check_with_perf() {
    if perf record -B -o "$work/probe.data" true >/dev/null 2>&1; then
        check "the server with perf on the same clock" profiled -k CLOCK_MONOTONIC
        check "the server with perf on its own clock" profiled
    else
        echo "$suite: NOT TESTED with perf, which cannot record here"
    fi
}
# Recordings of perf do not depend on how the libraries were installed.
[ "$sysroot" ] || check_with_perf

# ---- A program that converts. ----

check "the embedder" make -C "$work/embedder" convert convert-static stream stream-static
cp "$root/fixtures/perf-script/cpp-names/input.txt" "$work/good.txt"
cp "$root/fixtures/perf-script/lost/input.txt" "$work/lossy.txt"
echo 'no trace' >"$work/bad.txt"
for program in convert convert-static; do
    rm -f "$work"/*.profile.json
    check "$program converts" "$work/embedder/$program" "$work/good.txt"
    check "$program: the profile" cmp "$root/fixtures/perf-script/cpp-names/processed.json" "$work/good.txt.profile.json"
    "$work/embedder/$program" "$work/lossy.txt" >"$work/said" 2>&1
    check "$program says what was lost" grep -q '^  lost ' "$work/said"
    "$work/embedder/$program" "$work/good.txt" "$work/bad.txt" >"$work/said" 2>&1
    check "$program fails on what is not a trace" [ $? -eq 1 ]
    check "$program says why" grep -q "$work/bad.txt: " "$work/said"
    check "$program leaves nothing of it" [ ! -e "$work/bad.txt.profile.json" ]
done
for program in stream stream-static; do
    check "$program converts" sh -c "'$work/embedder/$program' <'$work/good.txt' >'$work/streamed'"
    check "$program: the profile" cmp "$root/fixtures/perf-script/cpp-names/processed.json" "$work/streamed"
    "$work/embedder/$program" <"$work/bad.txt" >"$work/streamed" 2>"$work/said"
    check "$program fails on what is not a trace" [ $? -eq 1 ]
    check "$program says why" grep -q '^the stream: ' "$work/said"
    check "$program writes nothing of it" [ ! -s "$work/streamed" ]
done
finish
