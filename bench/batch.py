#!/usr/bin/env python3
"""Measures time and memory of batches: bench/batch.py [--program PATH] [--count N] [--repeat N] [--also FOLDER] [--rounds N]

Converts the traces of tests/support/make_batch.py with one worker and with two, interleaved, and again with --if-changed.
Then converts the same traces from a tar.zst, and with two programs at a time. Prints medians and minima. Each run has its
own output folder, and files are removed only at the end, because ext4 does not reuse inodes that were free for less than
five seconds.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run(program, *arguments):
    """Returns run time and processor time in seconds, and memory in megabytes."""
    start = time.monotonic()
    process = subprocess.Popen([program, "--quiet", *map(str, arguments)], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 1, process.returncode  # one trace in twenty is damaged
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def show(name, runs):
    times, processor, memory = zip(*runs)
    print(f"| {name} | {statistics.median(times):.3f} s | {min(times):.3f} s | {statistics.median(processor):.3f} s "
          f"| {max(memory):.0f} MB |")


def halve(folder):
    """Makes two folders, each with links to one half of the traces."""
    for half in (0, 1):
        for index, path in enumerate(sorted((folder / "in").rglob("*"))):
            if path.is_dir() or index % 2 != half:
                continue
            link = folder / f"half-{half}" / path.relative_to(folder / "in")
            link.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, link)


def run_halves(program, folder, number, rows):
    """Measures what the machine can do: two programs at a time, each with one worker and one half of the traces."""
    start = time.monotonic()
    processes = [subprocess.Popen([program, "--quiet", folder / f"half-{half}", "--output-dir",
                                   folder / f"out-{number}-half-{half}", "--jobs", "1"], stderr=subprocess.DEVNULL)
                 for half in (0, 1)]
    usages = [os.wait4(process.pid, 0)[2] for process in processes]
    rows.setdefault("two programs, --jobs 1, half of the folder each", []).append(
        (time.monotonic() - start, sum(usage.ru_utime + usage.ru_stime for usage in usages),
         sum(usage.ru_maxrss for usage in usages) / 1024))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--program", type=pathlib.Path, default=ROOT / "build/gecko-convert")
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--repeat", type=int, default=1)
    arguments.add_argument("--also", type=pathlib.Path)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        also = ["--also", arguments.also] if arguments.also else []
        subprocess.run([ROOT / "tests/support/make_batch.py", folder / "in", str(arguments.count), "--repeat",
                        str(arguments.repeat), *also], stdout=subprocess.DEVNULL, check=True)
        subprocess.run(f"tar -C {folder / 'in'} -cf - . | zstd -q -o {folder / 'in.tar.zst'}", shell=True, check=True)
        halve(folder)
        rows = {}
        for number in range(arguments.rounds):
            run_halves(arguments.program, folder, number, rows)
            for source in ("in", "in.tar.zst"):
                for jobs in (1, 2):
                    output = folder / f"out-{number}-{jobs}-{source}"
                    batch = [folder / source, "--output-dir", output, "--jobs", jobs]
                    kind = "folder" if source == "in" else "tar.zst"
                    rows.setdefault(f"{kind}, --jobs {jobs}", []).append(run(arguments.program, *batch))
                    again = run(arguments.program, *batch, "--if-changed")
                    rows.setdefault(f"{kind}, --jobs {jobs}, again with --if-changed", []).append(again)
        print("| batch | median | minimum | processor time | memory |\n|---|---|---|---|---|")
        for name, runs in rows.items():
            show(name, runs)
        for kind in ("folder", "tar.zst"):
            one, two = ([row[0] for row in rows[f"{kind}, --jobs {jobs}"]] for jobs in (1, 2))
            print(f"{kind}: two workers are {statistics.median(one) / statistics.median(two):.2f} times as fast, "
                  f"by minima {min(one) / min(two):.2f}")
        one, two = ([row[0] for row in rows[name]] for name in ("folder, --jobs 1", next(iter(rows))))
        print(f"two programs are {statistics.median(one) / statistics.median(two):.2f} times as fast as one, "
              f"by minima {min(one) / min(two):.2f}")


if __name__ == "__main__":
    sys.exit(main())
