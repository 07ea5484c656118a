#!/bin/sh
# Time and memory of a conversion, beside other tools on the same input, interleaved; medians of RUNS runs.
#
#     bench/convert.sh INPUT
#
# GECKO_CONVERT, INFERNO (inferno-collapse-perf) and PQ (the front-end's client, which imports perf script text itself)
# name the programs; those that are not set are left out.
set -eu
input=$1
runs=${RUNS:-7}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# measure NAME COMMAND…: one line "seconds kilobytes" behind those of NAME.
measure() {
    name=$1
    shift
    /usr/bin/time -a -o "$temporary/$name" -f '%e %M' "$@" >/dev/null 2>&1
}

run=0
while [ $run -lt "$runs" ]; do
    run=$((run + 1))
    measure gecko-convert "${GECKO_CONVERT:-build/gecko-convert}" --quiet "$input" -o "$temporary/out.json"
    if [ -n "${INFERNO:-}" ]; then measure inferno-collapse-perf "$INFERNO" "$input"; fi
    if [ -n "${PQ:-}" ]; then
        measure front-end-import "$PQ" load "$input"
        "$PQ" stop --all >/dev/null 2>&1
    fi
done

bytes=$(wc -c <"$input")
for name in gecko-convert inferno-collapse-perf front-end-import; do
    [ -e "$temporary/$name" ] || continue
    sort -n "$temporary/$name" | awk -v name=$name -v bytes="$bytes" '{ s[NR] = $1; if ($2 > m) m = $2 }
        END { t = s[int((NR + 1) / 2)]; printf "%-22s median %.2f s, %.0f MB/s, at most %.0f MB\n", name, t, bytes / t / 1e6, m / 1e3 }'
done
