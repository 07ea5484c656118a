#!/bin/sh
# Loads all golden profiles of the fixtures with the client that setup.sh installed.
#
#     tests/client/run.sh build/client
set -eu

[ $# -eq 1 ] || {
    echo "usage: run.sh DIRECTORY" >&2
    exit 2
}
directory=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "$0")")/../.."
goldens=$(find fixtures -name 'processed.json*' -o -name 'gecko.json*' | LC_ALL=C sort)
[ "$goldens" ] || {
    echo "run.sh: there are no goldens below fixtures" >&2
    exit 1
}
# The names are the project's own: no blanks in them.
# shellcheck disable=SC2086
exec "$directory/bin/node" tests/client/check_client.mjs "$directory" $goldens
