#!/bin/sh
# gate.sh BASE BUILD RUN [COUNT]: fails if the program has become slower than the file `budget` allows.
#
# Builds the commit BASE and the working tree with the command BUILD, runs both COUNT times (10) with RUN, in turn, so that
# both meet the same machine, and compares the recordings. Exit code 6: a limit of `budget` was exceeded. Leaves gate.md, a
# comment for a pull request, and gate.junit.xml.
set -eu
base=$1 build=$2 run=$3 count=${4:-10}

rm -rf gate
mkdir -p gate/runs/base gate/runs/head
git worktree prune
git worktree add --force --detach gate/base "$base"
(cd gate/base && sh -c "$build")
sh -c "$build"

head=$PWD
for number in $(seq "$count"); do
    for side in base head; do
        folder=$head
        [ "$side" = head ] || folder=$head/gate/base
        (cd "$folder" && GECKO_RECORDER=1 GECKO_RECORDER_OUTPUT="$head/gate/runs/$side/$number.trace" sh -c "$run")
    done
done

status=0
gecko-convert diff --per run --ignore all --markdown --budget budget --junit gate.junit.xml gate/runs/base gate/runs/head \
    >gate.md || status=$?
cat gate.md
git worktree remove --force gate/base
exit "$status"
