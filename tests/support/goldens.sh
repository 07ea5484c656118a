#!/bin/sh
# Compares conversions with golden outputs, byte for byte: fixtures/READER/CASE/{processed,gecko}.json.
#
#     goldens.sh check     converts every case from the file and from a gzip pipe, and compares. Also checks each golden
#                          output with `gecko-convert check`
#     goldens.sh update    writes the golden outputs again; read the diff before you commit it
#
# A case in fixtures/together has several inputs, part.*, which become one profile. The placeholder CASE in its options
# stands for its folder, as in those of any case.
#
# If the Gecko format cannot hold a profile, the golden output is gecko.refused. A file `options` in a case has options
# for the program. GECKO_CONVERT names the program. perf's text is converted with --symbols=none, since the files that it
# names may exist on this machine.
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
    # Options contain no blanks.
    # shellcheck disable=SC2086
    "$GECKO_CONVERT" --quiet --from "$reader" --format "$format" $options "$1" -o "$2" 2>"$temporary/errors"
    status=$?
    # The Gecko format cannot hold every profile. The error then names the other format.
    if [ $status -eq 1 ] && grep -q -e '--format processed' "$temporary/errors"; then
        echo "refused: use --format processed" >"$2"
    elif [ $status -ne 0 ]; then
        fail "$case_folder as $format: exit $status: $(cat "$temporary/errors")"
    fi
}

for input in "$root"/*/*/input.*; do
    case_folder=$(dirname "$input")
    reader=$(basename "$(dirname "$case_folder")")
    options=$(sed "s|CASE|$case_folder|g" "$case_folder/options" 2>/dev/null)
    [ "$reader" = perf-script ] && options="--symbols=none $options"
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
        compare "$case_folder" "$format" "$temporary/out.json" file
        rm -f "$temporary/out.json"
        gzip -c "$input" | convert - "$temporary/out.json"
        compare "$case_folder" "$format" "$temporary/out.json" "gzip pipe"
    done
done

for case_folder in "$root"/together/*/; do
    case_folder=${case_folder%/}
    options=$(sed "s|CASE|$case_folder|g" "$case_folder/options")
    for format in processed gecko; do
        output=$temporary/out.json
        [ "$mode" = check ] || output=$case_folder/$format.json
        # Options contain no blanks.
        # shellcheck disable=SC2086
        "$GECKO_CONVERT" --quiet --format "$format" $options "$case_folder"/part.* -o "$output" ||
            fail "$case_folder as $format: exit $?"
        [ "$mode" = check ] && compare "$case_folder" "$format" "$output" files
    done
done
[ "$mode" = update ] && exit $failed

# Every golden output must be a valid profile.
set -- "$root"/*/*/processed.json "$root"/*/*/gecko.json
"$GECKO_CONVERT" check "$@" >"$temporary/verdicts" 2>&1
good=$(grep -c ': good$' "$temporary/verdicts")
passed=$((passed + good))
[ "$good" -eq $# ] || fail "$(($# - good)) are no good profiles: $(grep -v ': good$' "$temporary/verdicts")"
echo "goldens: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
