#!/bin/sh
# Golden outputs: fixtures/<reader>/<case>/{processed,gecko}.json, byte for byte.
#
#     goldens.sh check     converts every case and compares, twice through different doors: the file, and a gzip pipe;
#                          each golden must be good for `gecko-convert check`, too
#     goldens.sh update    writes them anew; read the diff before you commit it
#
# A refused gecko.json is a file gecko.refused. A case may have a file `options`. GECKO_CONVERT is the program.
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
    golden=$case_folder/$format.json
    [ -e "$golden" ] || golden=$case_folder/$format.refused
    if cmp -s "$output" "$golden"; then passed=$((passed + 1)); else
        fail "$golden differs ($door)"
        diff "$golden" "$output" | cut -c1-400 | head -6
    fi
}

convert() {
    # Options are words without blanks.
    # shellcheck disable=SC2086
    "$GECKO_CONVERT" --quiet --from "$reader" --format "$format" $options "$1" -o "$2" 2>"$temporary/errors"
    status=$?
    # What the Gecko format cannot hold is a golden too: a refusal that names the other format.
    if [ $status -eq 1 ] && grep -q -e '--format processed' "$temporary/errors"; then
        echo "refused: use --format processed" >"$2"
    elif [ $status -ne 0 ]; then
        fail "$case_folder as $format: exit $status: $(cat "$temporary/errors")"
    fi
}

for reader in perf-script collapsed; do
    for input in "$root/$reader"/*/input.*; do
        case_folder=$(dirname "$input")
        options=$(cat "$case_folder/options" 2>/dev/null)
        for format in processed gecko; do
            if [ "$mode" = update ]; then
                rm -f "$case_folder/$format.json" "$case_folder/$format.refused"
                convert "$input" "$case_folder/$format.json"
                if grep -q '^refused' "$case_folder/$format.json"; then
                    mv "$case_folder/$format.json" "$case_folder/$format.refused"
                fi
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

# Each of them keeps the rules of its format.
for golden in "$root"/*/*/processed.json "$root"/*/*/gecko.json; do
    verdict=$("$GECKO_CONVERT" check "$golden" 2>&1)
    case $verdict in
        *": good") passed=$((passed + 1)) ;;
        *) fail "$verdict" ;;
    esac
done
echo "goldens: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
