#!/usr/bin/env python3
"""Measures what recording costs the recorded program, and how long its profile takes, beside `perf record`. All take
turns. usage: bench/record_command.py BUILD [ROUNDS]"""
import collections
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

build = pathlib.Path(sys.argv[1]).absolute()
round_count = int(sys.argv[2]) if len(sys.argv) > 2 else 10
WORK = [build / "record-work", "150"]
OURS = [build / "gecko-convert", "record", "--quiet", "--output", "ours.json", "--trace", "ours.data"]
THEIRS = ["perf", "record", "-q", "-F", "1000", "-o", "perf.data", "--call-graph"]
CASES = {
    "alone": [],
    "record": OURS,
    "record --stack-size 8K": [*OURS, "--stack-size", "8K"],
    "record --call-graph fp": [*OURS, "--call-graph", "fp"],
}
if shutil.which("perf"):
    CASES |= {"perf record, dwarf of 16 kB": [*THEIRS, "dwarf,16384"], "perf record, fp": [*THEIRS, "fp"]}


def main():
    times, ends, sizes = (collections.defaultdict(list) for _ in range(3))
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(round_count):
            for name, before in CASES.items():
                output = subprocess.run([*before, *WORK], cwd=folder, check=True, capture_output=True, text=True).stdout
                time_ms, end_s = map(float, output.split()[:2])
                ends[name].append(1000 * (time.clock_gettime(time.CLOCK_MONOTONIC) - end_s))
                times[name].append(time_ms)
                trace = pathlib.Path(folder, "ours.data" if before[:1] == OURS[:1] else "perf.data")
                sizes[name].append(trace.stat().st_size if before else 0)
    alone_ms = statistics.median(times["alone"])
    print(f"{'':30}{'processor time':>16}{'more':>8}{'then':>10}{'recording':>12}")
    for name in CASES:
        time_ms = statistics.median(times[name])
        print(f"{name:30}{time_ms:13.1f} ms{100 * time_ms / alone_ms - 100:6.1f} %{statistics.median(ends[name]):7.0f} ms"
              f"{statistics.median(sizes[name]) / 1e6:9.2f} MB")


if __name__ == "__main__":
    main()
