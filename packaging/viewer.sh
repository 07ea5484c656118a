#!/bin/sh
# Fetches the sources of the Firefox Profiler's front-end and builds them into a folder, for
# `gecko-convert view --viewer DIR`.
#
#     packaging/viewer.sh DIRECTORY
#
# Needs git, npm and Node.js 20 or later, and access to a git server and an npm registry. VIEWER_SOURCE names another
# git repository to fetch from (a URL or a local clone), VIEWER_REVISION another commit, tag or branch.
#
# Packages that the registry lacks are replaced by empty ones if the viewer works without them: "iongraph-web" draws
# graphs of JavaScript's JIT, "json-slabs" reads a binary format of profiles. The result says so.
set -eu

source=${VIEWER_SOURCE:-https://github.com/firefox-devtools/profiler}
revision=${VIEWER_REVISION:-df31314e1}
npm_limit_s=900
build_limit_s=900

say() { printf 'viewer: %s\n' "$*"; }
fail() {
    printf 'viewer: %s\n' "$*" >&2
    printf 'viewer: docs/offline.md says how to build it on another machine and copy it here\n' >&2
    exit 1
}

[ $# -eq 1 ] || {
    echo "usage: viewer.sh DIRECTORY" >&2
    exit 2
}
for command in git npm node; do
    command -v "$command" >/dev/null || fail "$command is missing: apt-get install git npm nodejs"
done
mkdir -p "$1" || fail "cannot make the folder $1"
target=$(readlink -f "$1")
wanted=$(printf '%s %s\n' "$source" "$revision" | cat - "$0" | sha256sum)
if [ "$(cat "$target/.stamp" 2>/dev/null)" = "$wanted" ]; then
    say "complete: $target"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

say "fetching $revision of $source"
# Only what the build reads is checked out: tests are most of the repository.
git clone --quiet --no-checkout --filter=blob:none "$source" "$work/viewer" 2>"$work/log" ||
    fail "cannot clone $source: $(tail -n 1 "$work/log")"
cd "$work/viewer"
git sparse-checkout set --no-cone '/package.json' '/tsconfig.json' '/src/' '!/src/test/' '/res/' '/scripts/' '/locales/'
git checkout --quiet --detach "$revision" 2>"$work/log" ||
    fail "cannot check out $revision: $(tail -n 1 "$work/log")"
rm -rf .git

# Packages that only checks and tests of the front-end need are left out, and so are scripts of packages.
cat >"$work/trim.mjs" <<'TRIM'
import fs from 'node:fs';
const [registryLacks, folder] = [process.argv[2].split(' ').filter(Boolean), process.argv[3]];
const builders = /^(esbuild|browserslist|caniuse-lite)/;
const { browser, dependencies, devDependencies } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
const wanted = { ...dependencies };
for (const [name, version] of Object.entries(devDependencies)) if (builders.test(name)) wanted[name] = version;
for (const name of registryLacks) wanted[name] = `file:${folder}/${name}`;
fs.writeFileSync('package.json', JSON.stringify({ private: true, browser, dependencies: wanted }));
TRIM
lacking=''
for name in iongraph-web json-slabs; do
    wanted_version=$(node -p "require('./package.json').dependencies['$name']")
    [ -n "$(cd "$work" && npm view "$name@$wanted_version" version 2>/dev/null)" ] || lacking="$lacking $name"
done
mkdir -p "$work/empty/iongraph-web" "$work/empty/json-slabs"
cat >"$work/empty/iongraph-web/package.json" <<'EMPTY'
{"name": "iongraph-web", "version": "0.2.1", "type": "module",
 "exports": {"./react": "./react.js", "./style.css": "./style.css"}}
EMPTY
echo 'export const GraphViewerReact = () => null; export const migrate = () => ({ functions: [] });' \
    >"$work/empty/iongraph-web/react.js"
: >"$work/empty/iongraph-web/style.css"
echo '{"name": "json-slabs", "version": "0.4.0", "type": "module", "exports": "./index.js"}' \
    >"$work/empty/json-slabs/package.json"
cat >"$work/empty/json-slabs/index.js" <<'EMPTY'
const refuse = () => { throw new Error('This viewer was built without support for JsonSlabs.'); };
export const isJsonSlabsFile = () => false;
export const decode = refuse;
export const encode = refuse;
EMPTY
node "$work/trim.mjs" "$lacking" "$work/empty"

say "installing packages"
timeout -k 10 "$npm_limit_s" npm install --ignore-scripts --install-links --engine-strict=false --no-audit --no-fund \
    --no-update-notifier --no-package-lock --legacy-peer-deps --loglevel=error >"$work/log" 2>&1 ||
    fail "npm install failed: $(grep "npm error" "$work/log" | sed "s/npm error //" | head -n 3 | tr "\n" " ")"

say "building"
mkdir -p docs-user
NODE_ENV=production timeout -k 10 "$build_limit_s" node scripts/build.mjs >"$work/log" 2>&1 || true
[ -s dist/index.html ] || {
    tail -n 30 "$work/log" >&2
    fail "the build failed"
}
# Maps of sources are for those who work on the front-end.
find dist -name '*.map' -delete
find "$target" -mindepth 1 -delete
cp -R dist/. "$target/"
printf '%s\n' "$wanted" >"$target/.stamp"
[ -z "$lacking" ] || say "the registry lacks$lacking: what these draw or read is left out"
say "complete: $target"
