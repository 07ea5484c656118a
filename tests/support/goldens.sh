#!/bin/sh
# Golden outputs: fixtures/<reader>/<case>/{processed,gecko}.json, byte for byte.
#
#     goldens.sh check     converts every case and compares, twice through different doors: the file, and a gzip pipe
#     goldens.sh update    writes them anew; read the diff before you commit it
#
# A case may have a file `options`. GECKO_CONVERT is the program.
set -u
mode=$1
root=$(dirname "$0")/../../fixtures
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
passed=0
failed=0

fail() {
    echo "goldens: $*"
    failed=$((failed + 1))
}

compare() {
    case_folder=$1 format=$2 output=$3 door=$4
    if cmp -s "$output" "$case_folder/$format.json"; then passed=$((passed + 1)); else
        fail "$case_folder/$format.json differs ($door)"
        diff "$case_folder/$format.json" "$output" | cut -c1-400 | head -6
    fi
}

convert() {
    # Options are words without blanks.
    # shellcheck disable=SC2086
    "$GECKO_CONVERT" --quiet --from "$reader" --format "$format" $options "$1" -o "$2" 2>"$temporary/errors" ||
        fail "$case_folder as $format: exit $?: $(cat "$temporary/errors")"
}

for reader in perf-script collapsed; do
    for input in "$root/$reader"/*/input.*; do
        case_folder=$(dirname "$input")
        options=$(cat "$case_folder/options" 2>/dev/null)
        for format in processed gecko; do
            if [ "$mode" = update ]; then
                convert "$input" "$case_folder/$format.json"
                continue
            fi
            rm -f "$temporary/out.json"
            convert "$input" "$temporary/out.json"
            compare "$case_folder" $format "$temporary/out.json" file
            rm -f "$temporary/out.json"
            gzip -c "$input" | convert - "$temporary/out.json"
            compare "$case_folder" $format "$temporary/out.json" "gzip pipe"
        done
    done
done
[ "$mode" = update ] && exit $failed
echo "goldens: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
