#!/bin/sh
# Installs the Debian packages of the groups that are named (build, static, package, test, programs, fuzz, bench), those
# that are missing. Root, or sudo.
set -eu

build_packages="gcc libc6-dev binutils make pkg-config libarchive-dev libdw-dev libelf-dev libiberty-dev liblzma-dev
    libxxhash-dev libyajl-dev zlib1g-dev"
# The archives that libarchive's and libdw's are made with.
static_packages="libacl1-dev libbz2-dev liblz4-dev libxml2-dev libzstd-dev nettle-dev"
package_packages="build-essential debhelper dpkg-dev lintian"
test_packages="clang g++ libcmocka-dev python3 gzip bzip2 xz-utils zstd lz4 zip time dwz
    cmake meson fakeroot man-db mandoc zsh fish python3-yaml"

program_packages="apache2-utils chromium nginx-light postgresql procps python3 redis-server sqlite3 util-linux xz-utils"
fuzz_packages="clang libclang-rt-14-dev"
bench_packages="liblttng-ust-dev lttng-tools uftrace strace linux-perf libgoogle-perftools4"

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=""
for group in "$@"; do
    case $group in
        build) packages=$build_packages ;;
        static) packages=$static_packages ;;
        package) packages=$package_packages ;;
        test) packages=$test_packages ;;
        programs) packages=$program_packages ;;
        fuzz) packages=$fuzz_packages ;;
        bench) packages=$bench_packages ;;
        *) echo "install_packages.sh: no group '$group'" >&2; exit 2 ;;
    esac
    for package in $packages; do
        is_installed "$package" || missing="$missing $package"
    done
    # npm comes with some distributions of Node; Debian's package would conflict with those.
    if [ "$group" = test ] && ! command -v npm >/dev/null; then missing="$missing npm"; fi
    if [ "$group" = programs ] && ! command -v node >/dev/null; then missing="$missing nodejs"; fi
    if [ "$group" = programs ] && ! command -v go >/dev/null; then missing="$missing golang-go"; fi
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || { echo "install_packages.sh: needs root or sudo to install:$missing" >&2; exit 1; }
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -q update >/dev/null
# shellcheck disable=SC2086
$as_root apt-get -q install -y --no-install-recommends $missing >/dev/null
