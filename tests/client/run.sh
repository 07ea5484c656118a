#!/bin/sh
# Loads all golden profiles of the fixtures with the client that setup.sh installed, and the profiles in JsonSlabs that the
# program makes of the same inputs. The program must read what the client would save of them.
#
#     tests/client/run.sh build/client build/gecko-convert
set -eu

[ $# -eq 2 ] || {
    echo "usage: run.sh DIRECTORY PROGRAM" >&2
    exit 2
}
directory=$(readlink -f "$1")
program=$(readlink -f "$2")
cd "$(dirname "$(readlink -f "$0")")/../.."
check_client() { "$directory/bin/node" tests/client/check_client.mjs "$@"; }
goldens_of() { find "$1" -name 'processed.json*' -o -name 'gecko.json*' | LC_ALL=C sort; }
goldens=$(goldens_of fixtures | grep -v '^fixtures/perf-data/')
[ "$goldens" ] || {
    echo "run.sh: there are no goldens below fixtures" >&2
    exit 1
}
# The files have names without blanks.
# shellcheck disable=SC2086
check_client "$directory" "$program" $goldens
# These have no expectations of their own: perf-data-test compares them with profiles of the text of perf script.
# shellcheck disable=SC2046
check_client --load-only "$directory" "$program" $(goldens_of fixtures/perf-data)
# JsonSlabs must show what the JSON shows.
slabs=$(mktemp -d)
trap 'rm -rf "$slabs"' EXIT
GECKO_CONVERT=$program tests/support/goldens.py jslb "$slabs"
for golden in $(echo "$goldens" | grep '/processed.json$'); do
    folder=$(dirname "$golden")
    cp "$folder/expect.json" "$slabs/${folder#fixtures/}/"
done
# shellcheck disable=SC2046
check_client "$directory" "$program" \
    $(find "$slabs" -name processed.jslb | grep -v "^$slabs/perf-data/" | LC_ALL=C sort)
