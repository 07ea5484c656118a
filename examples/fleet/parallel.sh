#!/bin/sh
# parallel.sh HOSTS TRACES PROFILES SHARDS: converts a folder of traces on several machines with GNU parallel over ssh, then makes
# one report. HOSTS is a list such as "server1,server2" (":" is this machine). All see both folders by the same absolute paths.
#
# A machine that fails loses nothing: parallel runs its shard on another one.
set -eu
hosts=$1
traces=$(realpath "$2")
mkdir -p "$3"
profiles=$(realpath "$3")
shards=$4
rm -f "$profiles"/gecko-convert.manifest.*-of-*.json
# Exit code 1 means that a trace could not be converted: another machine could not do that either.
seq "$shards" | parallel --sshlogin "$hosts" --retries 3 --quote sh -c \
    'gecko-convert --quiet "$0" --output-dir "$1" --shard "$2" --jobs 1 || [ $? -eq 1 ]' "$traces" "$profiles" "{}/$shards"
cd "$profiles"
exec gecko-convert merge-manifests gecko-convert.manifest.*-of-"$shards".json -o report.json
