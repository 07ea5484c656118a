#!/bin/sh
# Runs 1 000 processes, one after the other.
i=0
while [ $i -lt 250 ]; do
    echo "$i" | sed 's/1/2/g' >/dev/null
    # shellcheck disable=SC2003 # expr is a process
    expr $i + 1 >/dev/null
    cut -c1 /etc/passwd | sort -u >/dev/null
    i=$((i + 1))
done
