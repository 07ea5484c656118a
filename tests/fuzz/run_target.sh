#!/bin/sh
# Fuzzes with one program and prints how many inputs it ran. usage: run_target.sh CORPUS-FOLDER SECONDS PROGRAM
# The log is stored next to the corpus.
set -u
corpora=$1
seconds=$2
program=$3
target=${program##*/}
fuzz=$(dirname "$0")
root=$fuzz/../..
seeds=$corpora/seeds/$target
log=$corpora/$target.log

# Small inputs run faster, and more of their mutations change something relevant.
case $target in
    fuzz_options | fuzz_symbol_name) max_bytes=256 ;;
    fuzz_collapsed | fuzz_jit) max_bytes=512 ;;
    fuzz_trace | fuzz_merge) max_bytes=24576 ;;
    fuzz_profile) max_bytes=10240 ;;
    fuzz_symbols | fuzz_unwind | fuzz_perf_data) max_bytes=6144 ;;
    fuzz_input | fuzz_batch) max_bytes=3072 ;;
    *) max_bytes=1024 ;;
esac
case $target in
    fuzz_trace_packed) dictionary=fuzz_trace ;;
    fuzz_batch) dictionary=fuzz_input ;;
    fuzz_saved) dictionary=fuzz_profile ;;
    *) dictionary=$target ;;
esac

# Prints the start of a file, uncompressed.
start_of() {
    case $1 in
        *.xz) xz -dc "$1" 2>/dev/null | head -c 20000 ;;
        *) cat "$1" ;;
    esac
}

# Seeds are pieces of fixtures: lines of collapsed stacks, paragraphs of perf script.
cut_fixtures() {
    case $target in
        fuzz_collapsed) separator='\n' ;;
        fuzz_perf_script) separator='' ;;
        *) return ;;
    esac
    for file in "$root"/fixtures/*/*/input.* "$root"/fixtures/recordings/* "$root"/tests/cli/inputs/*; do
        start_of "$file" | LC_ALL=C awk -v RS="$separator" -v seed="$seeds/$(printf '%s' "${file#"$root"/}" | tr / -)" \
            -v max="$max_bytes" 'NR <= 20 { name = seed "-" NR; printf "%s\n\n", substr($0, 1, max) > name; close(name) }'
    done
}

rm -rf "$seeds"
mkdir -p "$seeds" "$corpora/corpus/$target"
for file in "$fuzz/seeds/$target"/* "$fuzz/regressions/$target"/* "$corpora/recorded/$target"/*; do
    if [ -f "$file" ]; then cp "$file" "$seeds/"; fi
done
cut_fixtures

[ -e "$fuzz/$dictionary.dict" ] && dictionary="-dict=$fuzz/$dictionary.dict" || dictionary=-verbosity=1
# Without entropic, libFuzzer spends its time on the inputs, not on the statistics of each feature, which otherwise take
# most of it once there are hundreds of inputs.
# libarchive may request gigabytes at once. The limit refuses that, so that the sanitizer does not have to track them.
ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=4:malloc_context_size=8:allocator_may_return_null=1:max_allocation_size_mb=512 \
    "$program" -max_total_time="$seconds" -max_len="$max_bytes" -timeout=20 -rss_limit_mb=2048 \
    -print_final_stats=1 -entropic=0 "$dictionary" -artifact_prefix="$corpora/$target-" \
    "$corpora/corpus/$target" "$seeds" >"$log" 2>&1
status=$?
count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
echo "$target: ${count:-0} inputs in $seconds seconds"
[ $status -eq 0 ] && exit 0
grep -v '^#[0-9]' "$log" | tail -n 40
echo "$target: failed, see $log"
exit 1
