#!/bin/sh
# Fuzzes for a while. usage: run.sh CORPUS-FOLDER SECONDS PROGRAM…
# A corpus that is there goes on to grow. What breaks a program is left beside its corpus; when it is mended, a small
# form of it (PROGRAM -minimize_crash=1) belongs into tests/fuzz/regressions/TARGET/.
set -eu
corpora=$1
seconds=$2
shift 2
fuzz=$(dirname "$0")
root=$fuzz/../..
status=0

# Seeds lie in many folders under the same names; a fuzzer takes one folder. Readers get the start of recordings.
gather_seeds() {
    target=$1
    folder=$2
    rm -rf "$folder"
    mkdir -p "$folder"
    for file in "$root"/fixtures/*/*/input.* "$root"/fixtures/recordings/* "$root"/tests/cli/inputs/* \
        "$fuzz/seeds/$target"/* "$fuzz/regressions/$target"/*; do
        [ -f "$file" ] || continue
        seed=$folder/$(printf '%s' "${file#"$root"/}" | tr / -)
        case $target-$file in
            fuzz_input-*) cp "$file" "$seed" ;;
            *.xz) xz -dc "$file" 2>/dev/null | head -c 20000 > "$seed" ;;
            *) cp "$file" "$seed" ;;
        esac
    done
}

for program in "$@"; do
    target=${program##*/}
    gather_seeds "$target" "$corpora/seeds/$target"
    mkdir -p "$corpora/corpus/$target"
    echo "$target: $seconds seconds"
    "$program" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=3072 -print_final_stats=1 \
        -verbosity=0 -dict="$fuzz/$target.dict" -artifact_prefix="$corpora/$target-" \
        "$corpora/corpus/$target" "$corpora/seeds/$target" || status=1
done
exit $status
