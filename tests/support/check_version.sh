#!/bin/sh
# Fails if something tells another version than GECKO_CONVERT_VERSION in libconvert/gecko_convert.h, which is the one place
# where a release changes it first.
set -u
cd "$(dirname "$0")/../.." || exit 1
version=$(sed -n 's/^#define GECKO_CONVERT_VERSION "\(.*\)"/\1/p' libconvert/gecko_convert.h)
minor=${version%.*}
passed=0
failed=0

# is WHAT FOUND WANTED: passes if all lines of FOUND, of which there is at least one, are WANTED.
is() {
    if [ "$(printf '%s\n' "$2" | sort -u)" = "$3" ]; then
        passed=$((passed + 1))
    else
        echo "version: FAIL $1: $2 instead of $3"
        failed=$((failed + 1))
    fi
}

is "recorder/gecko_recorder.h" "$(sed -n 's/^#define GREC_VERSION "\(.*\)"/\1/p' recorder/gecko_recorder.h)" "$version"
is "packaging/debian/changelog" "$(sed -n '1s/.*(\(.*\)).*/\1/p' packaging/debian/changelog)" "$version"
is "the latest release in CHANGELOG.md" "$(sed -n 's/^## \[\([0-9.]*\)\].*/\1/p' CHANGELOG.md | head -n 1)" "$version"
is "examples in docs/" "$(grep -hoE '"gecko-convert [0-9.]+"' docs/*.md | grep -oE '[0-9.]+')" "$version"
is "find_package in examples/ and tests/" "$(grep -hoE 'find_package\(gecko_recorder [0-9.]+' \
    examples/recorder/CMakeLists.txt tests/install/files.sh | grep -oE '[0-9.]+$' | grep -vx 99)" "$minor"
echo "version: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
