#!/bin/sh
# static.sh PROGRAM: tests that the static program needs no shared library and converts the same inputs.
# shellcheck source=tests/install/common.sh
. "$(dirname "$0")/common.sh"
suite="static program"
program=$1

# The program has a dynamic section, since it runs at any address, but names no library in it.
check "no library" sh -c "! readelf -d '$program' | grep -q NEEDED"
check "no interpreter" sh -c "! readelf -l '$program' | grep -q INTERP"

# converts WHAT INPUT: passes if the output is the golden profile.
golden=$root/fixtures/perf-script/cpp-names
converts() {
    rm -f "$work/profile"
    check "$1" env -i "$program" --quiet "$2" -o "$work/profile"
    check "$1, the same bytes" cmp "$golden/processed.json" "$work/profile"
}

converts "plain" "$golden/input.txt"
mkdir "$work/traces"
cp "$golden/input.txt" "$work/traces/app.txt"
zstd -q "$work/traces/app.txt" -o "$work/app.txt.zst"
converts "zstd" "$work/app.txt.zst"
tar -C "$work/traces" -cJf "$work/app.tar.xz" app.txt
converts "tar.xz" "$work/app.tar.xz"
(cd "$work/traces" && zip -q "$work/app.zip" app.txt)
converts "zip" "$work/app.zip"
bzip2 -k "$work/traces/app.txt"
converts "bzip2" "$work/traces/app.txt.bz2"
lz4 -q "$work/traces/app.txt" "$work/app.txt.lz4"
converts "lz4" "$work/app.txt.lz4"

# A batch from one archive into another.
for suffix in tar tar.gz tar.xz tar.zst zip; do
    mkdir "$work/$suffix"
    check "a batch into $suffix" env -i "$program" --quiet "$work/app.tar.xz" --output-archive "$work/profiles.$suffix"
    case $suffix in
        zip) check "zip is whole" python3 -m zipfile -e "$work/profiles.zip" "$work/zip" ;;
        *) check "$suffix is whole" tar -C "$work/$suffix" -xf "$work/profiles.$suffix" ;;
    esac
    check "$suffix: its profile" find "$work/$suffix" -name '*.json' -exec cmp "$golden/processed.json" {} +
done

# It knows UTF-8 in archives and on terminals, though it loads no library for it.
check "names and bars in UTF-8" env GECKO_CONVERT="$(readlink -f "$program")" "$root/tests/cli/run.py" \
    batch-member-names batch-odd-names info-utf8

# The static program looks up symbols in files of this machine too.
echo 'int twice(int x) { return x * 2; } int main(int count, char **arguments) { (void)arguments; return twice(count); }' \
    >"$work/traced.c"
# CC may be several words, such as "ccache gcc".
# shellcheck disable=SC2086
check "a traced program" ${CC:-cc} -g -O0 -o "$work/traced" "$work/traced.c"
address=$(nm "$work/traced" | sed -n 's/ T twice$//p')
printf 'traced 1/1 1.000000: 1 cycles:\n\t%s [unknown] (%s/traced)\n\n' "$address" "$work" >"$work/traced.txt"
check "an address" env -i "$program" --quiet --symbols always "$work/traced.txt" -o "$work/traced.json"
check "its function, file" is_profile "$work/traced.json" twice "$work/traced.c"

# It records as well, by the kernel or by the library in the folder above it. It has no viewer.
echo 'int main(void) { for (volatile long i = 0; i < 400000000; i++) continue; }' >"$work/busy.c"
# shellcheck disable=SC2086
check "a program to record" ${CC:-cc} -g -O0 -o "$work/busy" "$work/busy.c"
check "recording it" env -i "$program" record --quiet -o "$work/busy.json" -- "$work/busy"
check "its function and file" is_profile "$work/busy.json" main "$work/busy.c"
check "no viewer, so no recording" sh -c "env -i '$program' record '$work/busy' 2>&1 | grep -q 'without its HTTP server'"
finish
