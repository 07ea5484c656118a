#!/bin/sh
# slurm.sh TRACES PROFILES SHARDS: converts a folder of traces with a job array of Slurm, then makes one report. Both folders are
# on a file system that all nodes see. Prints the number of the last job.
#
# To run a shard again that was lost, here the third of eight, and the report after it:
#
#     sbatch --array=3 convert.sbatch TRACES PROFILES 8
#     sbatch reduce.sbatch PROFILES 8
set -eu
here=$(dirname "$0")
traces=$(realpath "$1")
mkdir -p "$2"
profiles=$(realpath "$2")
shards=$3
rm -f "$profiles"/gecko-convert.manifest.*-of-*.json
array=$(sbatch --parsable --array="1-$shards" --output="$profiles/shard-%a.log" "$here/convert.sbatch" "$traces" "$profiles" "$shards")
sbatch --parsable --dependency="afterany:$array" --output="$profiles/report.log" "$here/reduce.sbatch" "$profiles" "$shards"
