#!/bin/sh
# deb.sh FOLDER: builds the Debian packages into FOLDER, from a copy of the sources there.
set -eu
folder=$1
cd "$(dirname "$0")/.."
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' packaging/debian/changelog)
tests/support/check_version.sh >&2
for program in dh dpkg-buildpackage; do
    command -v $program >/dev/null && continue
    echo "deb.sh: needs $program: run tests/support/install_packages.sh build package" >&2
    exit 1
done
rm -rf "$folder"
sources=$folder/gecko-convert-$version
mkdir -p "$sources"
tar -c LICENSE Makefile README.md SECURITY.md cli docs examples libconvert packaging readers recorder writer | tar -x -C "$sources"
cp -r "$sources/packaging/debian" "$sources/debian"
cd "$sources"
# The packages use Debian's flags, not those of the calling make.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL
DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-parallel=$(nproc)} dpkg-buildpackage --build=binary --no-sign >../build.log 2>&1 || {
    tail -n 40 ../build.log >&2
    exit 1
}
cd ..
rm -rf "gecko-convert-$version"
ls -- *.deb
