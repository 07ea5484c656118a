#!/usr/bin/env python3
"""Counts how often gecko-convert diff is right about runs whose difference is known.

    bench/trials.py [--pool N] [--trials N] [--runs N] [--folder FOLDER] WORK

WORK is the program of bench/trials/work.c. perf records it N times as it is, and N times with one function a tenth longer.
GECKO_CONVERT names the program that compares. A trial draws runs of both, or disjoint runs of the first alone.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("GECKO_CONVERT", "build/gecko-convert")
CHANGED = "hash"
UNITS = {"parse": 200, "sort": 350, "hash": 200, "render": 150, "write_out": 100}
ROUNDS = 350


def record(work, path, factor):
    units = {**UNITS, CHANGED: round(UNITS[CHANGED] * factor)}
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "5000", "-g", "-o", path, "--", work, str(ROUNDS),
                    *map(str, units.values())], check=True, stderr=subprocess.DEVNULL)


def make_pools(work, folder, count):
    """Returns profiles of both versions. They were recorded in turn, so that the machine's speed is that of both. Looking
    up symbols takes much longer than comparing, so each recording is converted once."""
    pools = {1.0: [], 1.1: []}
    for number in range(count):
        for factor, paths in pools.items():
            path = folder / f"{factor}-{number}.data"
            profile = path.with_suffix(".json")
            if not path.exists():
                record(work, path, factor)
            if not profile.exists():
                subprocess.run([PROGRAM, "--quiet", path, "-o", profile], check=True)
            paths.append(profile)
    return pools[1.0], pools[1.1]


def compare(folder, base, head, per):
    """Returns the functions with a change that stands out, and the number of rows that changed at all."""
    for name, paths in (("base", base), ("head", head)):
        side = folder / name
        side.mkdir(exist_ok=True)
        for old in side.iterdir():
            old.unlink()
        for number, path in enumerate(paths):
            (side / f"{number}.json").symlink_to(path)
    done = subprocess.run([PROGRAM, "diff", "--json", "--per", per, folder / "base", folder / "head"], check=True,
                          stdout=subprocess.PIPE)
    document = json.loads(done.stdout)
    functions = {row["name"]: row for row in document["functions"] if row["self"]["standsOut"] or row["total"]["standsOut"]}
    others = [row for key in ("markers", "counters", "duration") for row in document[key]]
    return functions, others


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("--pool", type=int, default=100)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--folder")
    options = parser.parse_args()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.folder or temporary).resolve()
        old, new = make_pools(os.path.abspath(options.work), folder, options.pool)
        for per in ("share", "run"):
            counts = collections.Counter()
            for _ in range(options.trials):
                drawn = chance.sample(old, 2 * options.runs)
                functions, others = compare(folder, drawn[:options.runs], drawn[options.runs:], per)
                counts["false"] += bool(functions or others)
                counts["false function"] += bool(functions)
                functions, _ = compare(folder, drawn[:options.runs], chance.sample(new, options.runs), per)
                counts["found"] += CHANGED in functions and functions[CHANGED]["self"]["change"] > 0
            print(f"per {per}: {options.trials} trials of {options.runs} runs a side: a true change of 10 % found in "
                  f"{counts['found']}; without a change, one said in {counts['false']} (of a function in "
                  f"{counts['false function']})", flush=True)


if __name__ == "__main__":
    sys.exit(main())
