#!/bin/sh
# Installs the missing Debian packages of the given groups. Needs root or sudo.
# usage: install_packages.sh GROUP…, of build, static, package, test, programs, fuzz, bench
set -eu

build_packages="gcc libc6-dev binutils make pkg-config libarchive-dev libcapstone-dev libdeflate-dev libdw-dev libelf-dev
    libiberty-dev liblzma-dev libmicrohttpd-dev libtraceevent-dev libxxhash-dev libzstd-dev zlib1g-dev"
# The static libraries that those of libarchive and libdw need.
static_packages="libacl1-dev libbz2-dev liblz4-dev libxml2-dev libzstd-dev nettle-dev"
package_packages="build-essential debhelper dpkg-dev lintian"
test_packages="clang clang-format clang-tidy g++ libcmocka-dev python3 gzip bzip2 xz-utils zstd lz4 zip time dwz
    cmake debuginfod meson fakeroot man-db mandoc zsh fish python3-venv
    python3-yaml shellcheck slurmctld slurmd slurm-client parallel python3-kubernetes"

program_packages="apache2-utils chromium linux-perf nginx-light postgresql procps python3 redis-server sqlite3 util-linux
    xz-utils"
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
    # Some builds of Node.js come with npm, and Debian's npm package would conflict with them.
    if [ "$group" = test ] && ! command -v npm >/dev/null; then missing="$missing npm"; fi
    if [ "$group" = test ] && ! command -v rustc >/dev/null; then missing="$missing rustc"; fi
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
