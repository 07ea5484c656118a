#!/usr/bin/env python3
"""Measures conversions of perf.data: perf_data.py [--runs N] RECORDING...

Five ways run in turn: gecko-convert reads the recording, with symbols and inlined functions, and without; it reads the
text that perf script prints of it; samply imports it, with and without symbols. perf script runs with --no-inline,
because it starts an addr2line for each address otherwise. "samply import" of samply 0.13.1 looks up no symbols, whatever
its options are: bench/README.md says how to build one that does. A way that takes longer than --limit seconds is given
up.

Prints medians of the processor time (user and system, of all processes), of the time that passed, and of the memory of
the largest process; and how often each way takes the processor time of the first. GECKO_CONVERT and SAMPLY name the
programs; a way whose program is not there is left out.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile

converter = os.path.abspath(os.environ.get("GECKO_CONVERT", "build/gecko-convert"))
samply = os.environ.get("SAMPLY", "samply")

WAYS = {
    "gecko-convert": [converter, "--quiet", "{input}", "-o", "{output}"],
    "gecko-convert --symbols=none": [converter, "--quiet", "--symbols=none", "{input}", "-o", "{output}"],
    "perf script, gecko-convert": [
        "sh", "-c", 'perf script --no-inline -F +pid -i "$1" 2>/dev/null | "$0" --quiet - -o "$2"', converter,
        "{input}", "{output}"],
    "samply import, symbols": [samply, "import", "--unstable-presymbolicate", "--save-only", "-o", "{output}", "{input}"],
    "samply import": [samply, "import", "--save-only", "-o", "{output}", "{input}"],
}
PROGRAMS = {"perf script, gecko-convert": "perf", "samply import, symbols": samply, "samply import": samply}


def measure(way, recording, folder, limit_s):
    """Runs one conversion. Returns processor seconds, seconds and megabytes; None if it failed or took too long."""
    names = {"input": recording, "output": os.path.join(folder, "out.json")}
    figures = os.path.join(folder, "figures")
    command = ["timeout", str(limit_s), "/usr/bin/time", "-o", figures, "-f", "%U %S %e %M",
               *(part.format(**names) for part in WAYS[way])]
    if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        return None
    with open(figures, encoding="utf-8") as lines:
        user_s, system_s, passed_s, kilobytes = (float(word) for word in lines.read().split())
    return user_s + system_s, passed_s, kilobytes / 1e3


def compare(recording, runs, limit_s):
    results = {way: [] for way in WAYS if shutil.which(PROGRAMS.get(way, converter))}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs):
            for way in list(results):
                result = measure(way, recording, folder, limit_s)
                if result:
                    results[way].append(result)
                else:
                    print(f"{way}: failed or took more than {limit_s} s", flush=True)
                    del results[way]
    print(f"{recording}: {os.path.getsize(recording) / 1e6:.0f} MB, medians of {runs} interleaved runs")
    print(f"{'':28} {'processor':>10} {'passed':>10} {'memory':>8} {'ratio':>6}")
    first = None
    for way, figures in results.items():
        processor_s, passed_s, megabytes = (statistics.median(column) for column in zip(*figures))
        first = first or processor_s
        print(f"{way:28} {processor_s:8.2f} s {passed_s:8.2f} s {megabytes:5.0f} MB {processor_s / first:6.2f}",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=int, default=300, help="seconds that a conversion may take")
    parser.add_argument("recordings", nargs="+")
    arguments = parser.parse_args()
    for recording in arguments.recordings:
        compare(recording, arguments.runs, arguments.limit)


main()
