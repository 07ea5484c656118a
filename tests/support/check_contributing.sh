#!/bin/sh
# Follows CONTRIBUTING.md: registers the reader that it shows, compiles the reader and its test, and runs the test.
#
#     check_contributing.sh BUILD COMPILER_AND_FLAGS LIBRARIES
set -u
cd "$(dirname "$0")/../.." || exit 1
folder=$1/contributing
mkdir -p "$folder/readers"

# Prints the code block with that number, without its indentation.
block() {
    awk -v wanted="$1" '
        /^ *```c$/ { indent = index($0, "`"); count++; next }
        /^ *```$/ { indent = 0 }
        indent && count == wanted { print substr($0, indent) }' CONTRIBUTING.md
}

block 1 >"$folder/readers/steps.c"
block 2 >"$folder/test_steps.c"
sed 's/READER(collapsed) /READER(steps) &/' readers/reader.h >"$folder/readers/reader.h"
compiler_and_flags=$2 libraries=$3
# Flags are words without blanks.
# shellcheck disable=SC2086
if $compiler_and_flags "$folder/test_steps.c" "$folder/readers/steps.c" $libraries -o "$folder/test_steps" &&
    "$folder/test_steps" >"$folder/output" 2>&1; then
    echo "contributing: 1 passed, 0 failed"
else
    cat "$folder/output" 2>/dev/null
    echo "contributing: 0 passed, 1 failed"
    exit 1
fi
