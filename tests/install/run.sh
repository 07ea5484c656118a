#!/bin/sh
# run.sh BUILD: installs into a folder and runs the tests of what is installed. Each script prints its result.
# packages.sh, which tests the Debian packages, runs by itself.
set -u
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
prefix=$build/install-test/prefix
status=0
rm -rf "$build/install-test"
mkdir -p "$build/install-test"
"${MAKE:-make}" -s -C "$here/../.." BUILD="$build" DESTDIR= PREFIX="$prefix" install >"$build/install-test/log" 2>&1 || {
    cat "$build/install-test/log"
    exit 1
}
"$here/files.sh" "$build" "$prefix" || status=1
"$here/pages.sh" "$prefix" || status=1
"$here/completions.sh" "$prefix" || status=1
"$here/examples.sh" "$prefix" || status=1
"$here/static.sh" "$build/static/gecko-convert" || status=1
"$here/hardening.sh" "$build" || status=1
"$here/ci_jobs.py" "$prefix" || status=1
"$here/cookbook.py" "$prefix" || status=1
exit $status
