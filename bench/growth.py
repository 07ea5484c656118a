#!/usr/bin/env python3
"""Measures how the time of a sample grows with the size of a recording, and the worst cases.

    bench/growth.py [--runs N] [--large]

Each row is text of perf script from a generator: varied_stacks.c makes what a program might record and pipes it into the
converter, random_stacks.py makes a file with stacks that share nothing. Prints the best processor time of N runs with
one thread. --large adds five and ten million samples, 17 GB of text."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CONVERTER = os.environ.get("GECKO_CONVERT", "build/gecko-convert")

# Generator and arguments: samples, threads, functions for varied_stacks; samples, threads, frames in a stack, different
# lines for random_stacks.
VARIED = [(100_000, 32, 20_000), (1_000_000, 32, 20_000), (100_000, 32, 1_000_000), (1_000_000, 32, 1_000_000)]
VARIED_LARGE = [(10_000_000, 32, 20_000), (5_000_000, 32, 1_000_000)]
RANDOM = [(100_000, 8, 10, 2_000), (800_000, 8, 10, 2_000), (100_000, 10_000, 10, 2_000), (400_000, 10_000, 10, 2_000),
          (5_000, 8, 500, 2_000), (20_000, 8, 500, 2_000), (200_000, 8, 10, 1_000_000), (400_000, 8, 10, 4_000_000)]


def convert(source, folder):
    """Returns the converter's processor time in seconds, its memory in bytes, and its report."""
    report = f"{folder}/report.json"
    command = [CONVERTER, "--quiet", "--jobs=1", "--symbols=none", "--report", report, "-", "-o", f"{folder}/out.json"]
    converter = subprocess.Popen(command, stdin=source)
    _, status, usage = os.wait4(converter.pid, 0)
    converter.returncode = os.waitstatus_to_exitcode(status)
    if converter.returncode:
        sys.exit(f"growth.py: {' '.join(command)}: exit code {converter.returncode}")
    with open(report) as file:
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, json.load(file)


def convert_pipe(generate, folder):
    with subprocess.Popen(generate, stdout=subprocess.PIPE) as generator:
        return convert(generator.stdout, folder)


def convert_file(path, folder):
    with open(path, "rb") as source:
        return convert(source, folder)


def print_row(name, arguments, results):
    seconds = min(result[0] for result in results)
    _, memory, report = results[0]
    counts = report["counts"]
    print(f"| `{name} {' '.join(arguments)}` | {report['input']['bytes'] / 1e6:.0f} MB | {counts['stacks']}, "
          f"{counts['funcs']} | {seconds:.2f} s | {seconds / counts['samples'] * 1e6:.2f} µs | {memory / 1e6:.0f} MB |",
          flush=True)


def measure_varied(program, arguments, runs, folder):
    words = [str(argument) for argument in arguments]
    print_row("varied_stacks", words, [convert_pipe([program, *words], folder) for _ in range(runs)])


def measure_random(arguments, runs, folder):
    words = [str(argument) for argument in arguments]
    with open(f"{folder}/trace.txt", "wb") as trace:
        subprocess.run([f"{HERE}/random_stacks.py", *words], stdout=trace, check=True)
    print_row("random_stacks.py", words, [convert_file(f"{folder}/trace.txt", folder) for _ in range(runs)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    print("| generator | input | stacks, functions | processor time | per sample | memory |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        varied = f"{folder}/varied_stacks"
        compiler = os.environ.get("CC", "cc").split()
        subprocess.run([*compiler, "-std=gnu11", "-O2", f"{HERE}/varied_stacks.c", "-o", varied], check=True)
        for arguments in VARIED + VARIED_LARGE * options.large:
            measure_varied(varied, arguments, options.runs, folder)
        for arguments in RANDOM:
            measure_random(arguments, options.runs, folder)


if __name__ == "__main__":
    main()
