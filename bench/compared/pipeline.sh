#!/bin/sh
# Counts the words of the C headers of the machine, twice.
for round in 1 2; do
    find /usr/include -name '*.h' -exec cat {} + 2>/dev/null | head -c 15000000 | tr -cs '[:alpha:]' '\n' |
        tr '[:upper:]' '[:lower:]' | sort | uniq -c | sort -rn |
        awk -v round=$round '{ words += $1 } END { print round, words }'
done
