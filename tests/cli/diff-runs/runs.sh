#!/bin/sh
# Makes the folders base and head: ten runs each, whose counts differ by up to 3 %. The head spends a tenth more in lex.
make_run() {
    awk -v run="$1" -v lex="$2" -v own="$3" 'BEGIN {
        state = run * 7919
        n = split("main;parse_file<int>;lex main;parse_file<int>;parse_rest main;render main;write " own, stacks, " ")
        split(lex " 1500 3000 500 400", counts, " ")
        for (i = 1; i <= n; i++) {
            state = (state * 1103 + 12345) % 65536
            print stacks[i], int(counts[i] * (1 + (state / 65536 - 0.5) * 0.06))
        }
    }'
}
mkdir base head
for run in 1 2 3 4 5 6 7 8 9 10; do
    make_run "$run" 2000 "main;old" >"base/$run.folded"
    make_run "$((run + 50))" 2200 "main;new" >"head/$run.folded"
done
