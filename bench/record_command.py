#!/usr/bin/env python3
"""Measures what recording costs the recorded programs, and how long their profiles take, beside `perf record` and
`samply record` where these are. All take turns. usage: bench/record_command.py BUILD [ROUNDS [WORKLOAD...]]"""
import collections
import os
import pathlib
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

# Runs a command; prints the processor time of it and of what it starts, in ms, and when it has ended, in seconds.
MEASURED = [sys.executable, "-c", """if True:
    import resource, subprocess, sys, time
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(1000 * (spent.ru_utime + spent.ru_stime), time.clock_gettime(time.CLOCK_MONOTONIC))"""]
REDIS = """redis-server --port 0 --unixsocket $PWD/s --save '' --io-threads 1 &
until redis-cli -s s ping; do sleep 0.01; done
redis-benchmark -s s -n 100000 -q -t set,get; redis-cli -s s shutdown nosave; wait"""

build = pathlib.Path(sys.argv[1]).absolute()
root = build.parent
round_count = int(sys.argv[2]) if len(sys.argv) > 2 else 10
WORKLOADS = {
    "two threads that compute": [build / "record-work", "300"],
    "make -j2": ["make", "-s", "-B", "-j2", "-f", root / "bench" / "record_make.mk", f"ROOT={root}"],
    "redis under load": ["sh", "-c", REDIS],
}
OURS = [build / "gecko-convert", "record", "--with", "kernel", "--output", "ours.json.gz", "--trace", "ours.data"]
THEIRS = ["perf", "record", "-q", "-F", "1000", "-o", "perf.data", "--call-graph"]
SAMPLY = ["samply", "record", "--save-only", "-r", "1000", "-o", "samply.json.gz", "--"]
CASES = {
    "nothing": [],
    "record": OURS,
    "record --call-graph fp": [*OURS, "--call-graph", "fp"],
    "record -F 10000": [*OURS, "-F", "10000"],
}
if shutil.which("perf"):
    CASES |= {"perf record, dwarf": [*THEIRS, "dwarf,16384"], "perf record, fp": [*THEIRS, "fp"]}
if shutil.which("samply"):
    CASES |= {"samply record": SAMPLY}


def spent_ms():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (spent.ru_utime + spent.ru_stime)


def measure(before, work, folder):
    """Returns the processor times of the program and of what is around it, the time from the end of the program to that
    of the recording, the size of files, and what was lost."""
    for path in folder.glob("*.data"):
        path.unlink()
    begin_ms = spent_ms()
    ended = subprocess.run([*before, *MEASURED, *work], cwd=folder, check=True, capture_output=True, text=True)
    end_s = time.clock_gettime(time.CLOCK_MONOTONIC)
    all_ms = spent_ms() - begin_ms
    time_ms, work_end_s = map(float, ended.stdout.splitlines()[-1].split())
    lost = re.search(r"(\d+) lost", ended.stderr)
    if before[:1] == ["perf"]:
        stats = subprocess.run(["perf", "report", "-i", "perf.data", "--stats"], cwd=folder, capture_output=True, text=True,
                               check=False).stdout
        lost = re.search(r"LOST_SAMPLES events: +\d+ +\([^\n]*\n(?s:.*)LOST_SAMPLES events: +(\d+)", stats)
    size = sum(path.stat().st_size for path in folder.glob("*.data"))
    return time_ms, all_ms - time_ms, 1000 * (end_s - work_end_s), size, int(lost[1]) if lost else 0


def run_workload(name, work):
    results = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(round_count):
            for case, before in CASES.items():
                results[case].append(measure(before, work, pathlib.Path(folder)))
    print(f"{name:26}{'processor time':>16}{'more':>9}{'of least':>10}{'recorder':>11}{'then':>10}{'recording':>12}{'lost':>7}")
    alone = list(zip(*results["nothing"]))
    for case, rows in results.items():
        times, own, ends, sizes, lost = zip(*rows)
        more = statistics.median(time / other for time, other in zip(times, alone[0])) - 1
        least = min(times) / min(alone[0]) - 1
        recorder = statistics.median(own) - statistics.median(alone[1])
        print(f"  {case:24}{statistics.median(times):13.0f} ms{100 * more:7.1f} %{100 * least:8.1f} %{recorder:8.0f} ms"
              f"{statistics.median(ends):7.0f} ms{statistics.median(sizes) / 1e6:9.2f} MB{sum(lost):7}", flush=True)


VIEWED = {
    "record": [build / "gecko-convert", "record", "--with", "kernel", "--no-open"],
    "samply record": ["samply", "record", "-r", "1000", "-n", "-P", "3990+"],
}
SMALL_PROGRAM = [build / "record-work", "1", "10"]


def measure_first_byte(before, folder):
    """Returns the time from the end of a small program that runs for 10 s to the first byte of its profile, in ms."""
    with subprocess.Popen([*before, *SMALL_PROGRAM], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as running:
        work_end_s = float(running.stdout.readline().split()[1])
        url = urllib.parse.unquote(re.search(r"from-url/([^/?]*)", running.stdout.readline())[1])
        request = urllib.request.Request(url, headers={"Origin": "https://profiler.firefox.com", "Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request) as response:
            response.read(1)
            end_s = time.clock_gettime(time.CLOCK_MONOTONIC)
        running.send_signal(signal.SIGINT)
    return 1000 * (end_s - work_end_s)


def show_first_bytes():
    for name, before in VIEWED.items():
        if not shutil.which(before[0]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            times = [measure_first_byte(before, folder) for _ in range(round_count)]
        print(f"{name:30}{statistics.median(times):5.0f} ms from the end of a small program, after 10 s, to the first byte")


def main():
    print(f"{os.cpu_count()} processors, medians of {round_count} rounds; lost: in all rounds")
    for name, work in WORKLOADS.items():
        if not sys.argv[3:] or name in sys.argv[3:]:
            run_workload(name, work)
    if not sys.argv[3:] or "view" in sys.argv[3:]:
        show_first_bytes()


if __name__ == "__main__":
    main()
