#!/bin/sh
# forks.sh COUNT: starts many short processes.
n=0
for i in $(seq "$1"); do
    # shellcheck disable=SC2001
    x=$(echo "$i" | sed s/1/2/)
    n=$((n + x))
    ( : )
    /bin/true
done
echo $n
