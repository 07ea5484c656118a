#!/usr/bin/env python3
"""Compares converting traces into one profile with converting them one by one.

    bench/merge.py [--traces N] [--megabytes N] [--runs N] [--touch GIB] [--folder FOLDER] LARGE_TRACE

LARGE_TRACE is the program of bench/recorder/large_trace.c, which records the traces. GECKO_CONVERT names the measured program.
Prints medians of the elapsed time, of the processor time of the user and the kernel, and of the ratios of the elapsed and
the processor times within each round.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def run(arguments):
    """Returns the elapsed time, the processor time of the user and of the kernel, in seconds, and the peak of memory in bytes."""
    start = time.monotonic()
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(arguments)}: failed")
    return time.monotonic() - start, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024


# Writes to memory and frees it. Hosts of virtual machines take free memory away, and its next first use counts as the
# kernel's time of the first one.
TOUCH = """
import mmap, sys
with mmap.mmap(-1, int(sys.argv[1])) as memory:
    for at in range(0, len(memory), mmap.PAGESIZE):
        memory[at] = 1
"""


def convert_apart(convert, traces):
    each = [run([*convert, f"{trace}.json", trace]) for trace in traces]
    *times, memory = zip(*each)
    return *(sum(column) for column in times), max(memory)


def print_ratios(name, ratios):
    print(f"{name}, together / one by one: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--traces", type=int, default=10)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--touch", type=float, default=4, help="GiB of memory that are written to before each run")
    parser.add_argument("--folder")
    parser.add_argument("program")
    options = parser.parse_args()
    converter = os.environ.get("GECKO_CONVERT", "build/gecko-convert")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        traces = [os.path.join(folder, f"{i}.trace") for i in range(options.traces)]
        for trace in traces:
            run([options.program, str(options.megabytes), trace])
        print(f"{sum(map(os.path.getsize, traces)) / 1e6:.0f} MB in {len(traces)} traces")
        convert = [converter, "--symbols=none", "--max-memory=unlimited", "-o"]
        ways = {
            "one by one": lambda: convert_apart(convert, traces),
            "together": lambda: run([*convert, os.path.join(folder, "together.json"), *traces]),
        }
        results = {name: [] for name in ways}
        for number in range(options.runs):
            for name in sorted(ways, reverse=number % 2 == 1):
                subprocess.run([sys.executable, "-c", TOUCH, str(int(options.touch * 2**30))], check=True)
                results[name].append(ways[name]())
                for profile in pathlib.Path(folder).glob("*.json"):
                    profile.unlink()
        for name, rows in results.items():
            elapsed, user, kernel, memory = (statistics.median(column) for column in zip(*rows))
            print(f"{name}: {elapsed:.2f} s, user {user:.2f} s, kernel {kernel:.2f} s, memory {memory / 1e6:.0f} MB")
        pairs = list(zip(*results.values()))
        print_ratios("elapsed", [together[0] / apart[0] for apart, together in pairs])
        print_ratios("processor time", [sum(together[1:3]) / sum(apart[1:3]) for apart, together in pairs])


if __name__ == "__main__":
    main()
