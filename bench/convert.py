#!/usr/bin/env python3
"""Measures time and memory of conversions and of other tools on the same inputs, interleaved.

    bench/convert.py [--runs N] INPUT…

An input is text of perf script, a perf.data file or a recorder trace. Each round runs every program that reads the
input once. Prints medians: elapsed time, processor time of the program and its children, the most memory that one
process held (no less than the 20 MB of this script), and the size of the output. Programs that are not installed are
left out: inferno-collapse-perf, stackcollapse-perf.pl, samply, and profiler-cli (the front-end's own import). If
valgrind is installed, it also counts the instructions that the first 4 MB of each text take, which do not depend on
the load of the machine.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CONVERTER = os.environ.get("GECKO_CONVERT", "build/gecko-convert")
WITHOUT_SYMBOLS = [CONVERTER, "--quiet", "--symbols=none"]
COUNTED_BYTES = 4_000_000

# Name, kinds of input, command. {input} and {output} are replaced; a program without {output} writes to standard output.
PROGRAMS = [
    ("gecko-convert", "text data trace", [CONVERTER, "--quiet", "{input}", "-o", "{output}"]),
    ("gecko-convert --symbols none", "text data", [*WITHOUT_SYMBOLS, "{input}", "-o", "{output}"]),
    ("gecko-convert --symbols none --jobs 1", "text data", [*WITHOUT_SYMBOLS, "--jobs=1", "{input}", "-o", "{output}"]),
    ("gecko-convert --symbols none, gzip", "text", [*WITHOUT_SYMBOLS, "{input}", "-o", "{output}.gz"]),
    ("inferno-collapse-perf, 1 thread", "text", ["inferno-collapse-perf", "-q", "-n", "1", "{input}"]),
    ("inferno-collapse-perf, 2 threads", "text", ["inferno-collapse-perf", "-q", "-n", "2", "{input}"]),
    ("stackcollapse-perf.pl", "text", ["stackcollapse-perf.pl", "{input}"]),
    ("profiler-cli load", "text", ["profiler-cli", "load", "{input}"]),
    ("samply import, without symbols", "data", ["samply", "import", "--save-only", "-o", "{output}", "{input}"]),
    ("wc -l", "text", ["wc", "-l", "{input}"]),
]


def kind_of(path):
    with open(path, "rb") as file:
        start = file.read(4096)
    if start.startswith(b"PERFILE2"):
        return "data"
    return "trace" if b"\0" in start else "text"


def run(command, output):
    """Returns elapsed time, processor time, memory in bytes and size of the output."""
    for path in (output, output + ".gz"):
        if os.path.exists(path):
            os.unlink(path)
    before = time.monotonic()
    with open(output + ".standard", "wb") as standard:
        process = subprocess.Popen(command, stdout=standard, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.monotonic() - before
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    written = next((path for path in (output, output + ".gz") if os.path.exists(path)), output + ".standard")
    return elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, os.path.getsize(written)


def count_instructions(path, folder):
    part = os.path.join(folder, "part.txt")
    with open(path, "rb") as file, open(part, "wb") as out:
        out.write(file.read(COUNTED_BYTES))
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind", CONVERTER, "--quiet"]
    command += ["--symbols=none", part, "-o", f"{folder}/part.json"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    return int(next(line for line in lines if "refs:" in line).split()[-1].replace(",", ""))


def measure(path, runs, folder):
    kind = kind_of(path)
    programs = [program for program in PROGRAMS if kind in program[1].split() and shutil.which(program[2][0])]
    output = os.path.join(folder, "output.json")
    results = {name: [] for name, _, _ in programs}
    for _ in range(runs):
        for name, _, command in programs:
            results[name].append(run([part.format(input=path, output=output) for part in command], output))
    megabytes = os.path.getsize(path) / 1e6
    print(f"\n{os.path.basename(path)}, {megabytes:.0f} MB, {runs} rounds\n")
    print("| program | elapsed | processor time | memory | output |\n|---|---|---|---|---|")
    for name, rows in results.items():
        elapsed, processor, memory, size = (statistics.median(column) for column in zip(*rows))
        print(f"| {name} | {elapsed:.2f} s | {processor:.2f} s | {memory / 1e6:.0f} MB | {size / 1e6:.1f} MB |")
    if kind == "text" and shutil.which("valgrind"):
        print(f"\nInstructions for the first 4 MB: {count_instructions(path, folder) / 1e6:.1f} million")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("inputs", nargs="+")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.inputs:
            measure(path, arguments.runs, folder)


if __name__ == "__main__":
    main()
