#!/usr/bin/env python3
"""Compares converting traces into one profile with converting them one by one.

    bench/merge.py [--traces N] [--megabytes N] [--runs N] [--folder FOLDER] LARGE_TRACE

LARGE_TRACE is the program of bench/recorder/large_trace.c, which records the traces. GECKO_CONVERT names the measured program.
Prints the processor time of the user and the kernel, the least of all runs, since the machine may be shared.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile


def run(arguments):
    """Returns the processor time of the user and of the kernel in seconds, and the peak of memory in bytes."""
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(arguments)}: failed")
    return usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--traces", type=int, default=10)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
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
        apart, together = [], []
        for _ in range(options.runs):
            # Each profile stays: if one replaced another, it would be written to memory that the kernel has at hand.
            each = [run([*convert, f"{trace}.json", trace]) for trace in traces]
            apart.append((sum(one[0] for one in each), sum(one[1] for one in each), max(one[2] for one in each)))
            together.append(run([*convert, os.path.join(folder, "together.json"), *traces]))
            for profile in pathlib.Path(folder).glob("*.json"):
                profile.unlink()
        for name, results in (("one by one", apart), ("together", together)):
            user, kernel, memory = min(results)
            print(f"{name}: user {user:.2f} s, kernel {kernel:.2f} s, memory {memory / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
