#!/usr/bin/env python3
"""Checks what must hold for all runs, on every recording in fixtures: check_runs.py PROGRAM

    merge    the sums of functions and markers are those of the runs together
    tree     a tree of merges gives the same bytes as one merge of all
    diff     between a recording and itself nothing has changed; if base and head are exchanged, all changes only change
             their signs
    profile  between a recording and its profile nothing has changed, though threads and processes share tracks there
"""
import collections
import concurrent.futures
import functools
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
FIXTURES = pathlib.Path(__file__).resolve().parent.parent.parent / "fixtures"
ALL_ROWS = "100000"
STRIDE = 29  # from an input to the next one in a tree, which are of several formats then


class Refused(Exception):
    """The program says why it does not do that."""


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode == 1 or (done.returncode == 2 and b"cannot be compared" in done.stderr):
        raise Refused(done.stderr.decode())
    assert done.returncode == 0, (arguments, done.returncode, done.stderr.decode())
    return done.stdout


def merge(output, *inputs, layout="after", symbols="none"):
    run("merge", "--quiet", "--symbols", symbols, "--layout", layout, *inputs, "-o", output)


def sums_of(path):
    """Returns what the functions and markers of an input sum up to."""
    info = json.loads(run("info", "--json", "--top", ALL_ROWS, path))["files"][0]
    sums = collections.Counter({"samples": info["counts"]["samples"], "weight": info["weight"]["sum"]})
    for key in ("functionsBySelf", "functionsByTotal"):
        for row in info[key]:
            sums[key, row["name"], row["library"]] += row["self" if key == "functionsBySelf" else "total"]
    for row in info["markers"]:
        sums["marker", row["name"]] += row["count"]
    return {key: value for key, value in sums.items() if value}


def check_sums(folder, runs, layout):
    merge(folder / "all.json", *runs, layout=layout, symbols="auto")  # as `info` looks them up
    expected = collections.Counter({key: value * len(runs) for key, value in sums_of(runs[0]).items()})  # they are copies
    found = sums_of(folder / "all.json")
    wrong = {key: (expected[key], found.get(key, 0)) for key in set(expected) | set(found)
             if abs(expected[key] - found.get(key, 0)) > 1e-9 * abs(expected[key])}
    assert not wrong, dict(itertools.islice(wrong.items(), 5))


def check_tree(folder, runs, layout):
    first, second, third, fourth = runs
    for output, *inputs in (("all", *runs), ("left", first, second), ("right", third, fourth), ("tree", "left", "right"),
                            ("three", "left", third), ("chain", "three", fourth), ("again", "all")):
        paths = [folder / f"{path}.json" if isinstance(path, str) else path for path in inputs]
        merge(folder / f"{output}.json", *paths, layout=layout)
    for name in ("tree", "chain", "again"):
        assert (folder / f"{name}.json").read_bytes() == (folder / "all.json").read_bytes(), name


def changes_of(base, head, *options):
    document = json.loads(run("diff", "--json", "--all", *options, base, head))
    rows = {}
    for kind in ("functions", "markers", "counters", "duration"):
        for row in document[kind]:
            name = (kind, row["name"], row.get("library"), row.get("file"), row.get("unit"))
            for key, change in row.items():
                if isinstance(change, dict):
                    rows[*name, key] = (change["base"], change["head"], change["change"], change["lower"], change["upper"])
    return rows


def check_diff(base, head, *options):
    for side in (base, head):
        assert not changes_of(side, side, *options), side
    forth, back = changes_of(base, head, *options), changes_of(head, base, *options)
    assert forth.keys() == back.keys(), set(forth) ^ set(back)
    for name, (old, new, change, lower, upper) in forth.items():
        assert back[name] == (new, old, -change, -upper, -lower), (name, forth[name], back[name])


def check_profile(folder, path):
    own = folder / "own.json"
    for options in ((), ("--merge-threads", "*")):
        run("--quiet", "--symbols", "none", *options, path, "-o", own)
        changes = changes_of(path, own, "--symbols", "none")
        # The end is an interval after the last sample, and few samples on a shared track have another median interval.
        changes = {key: change for key, change in changes.items() if not options or key[0] != "duration"}
        assert not changes, (options, dict(itertools.islice(changes.items(), 5)))


def inputs():
    for folder in sorted(FIXTURES.glob("*/*/")):
        for path in sorted(folder.glob("part.*")) + sorted(folder.glob("input.*")):
            if path.name != "input.tar.zst":
                yield path


def checks_of(folder, paths, number):
    """Yields the checks of an input, with itself and with others. They take turns, since all would take long."""
    runs = [folder / f"{i}-{paths[number].name}" for i in range(4)]
    for path in runs:
        shutil.copy(paths[number], path)
    others = [paths[(number + i * STRIDE) % len(paths)] for i in range(4)]
    following = paths[(number + 1) % len(paths)]
    name = paths[number].relative_to(FIXTURES)
    layout, per = ("after", "share") if number % 2 else ("over", "run")
    symbols = "none" if number % 5 else "auto"  # looking them up takes long
    if "perf-data" not in name.parts or symbols == "auto":
        yield f"merge {layout} {name}", functools.partial(check_sums, folder, runs, layout)
    yield f"tree {layout} {name}", functools.partial(check_tree, folder, runs if number % 3 else others, layout)
    yield f"diff {per} {name}", functools.partial(check_diff, paths[number], following, "--per", per, "--symbols", symbols)
    yield f"profile {name}", functools.partial(check_profile, folder, paths[number])


def check(paths, number):
    outcomes = collections.Counter()
    messages = []
    with tempfile.TemporaryDirectory() as folder:
        for name, function in checks_of(pathlib.Path(folder), paths, number):
            try:
                function()
                outcomes["passed"] += 1
            except Refused:
                outcomes["refused"] += 1
            except AssertionError as error:
                outcomes["failed"] += 1
                messages.append(f"FAILED {name}: {error}")
    return outcomes, messages


def main():
    paths = list(inputs())
    outcomes = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for counts, messages in pool.map(lambda number: check(paths, number), range(len(paths))):
            outcomes += counts
            for message in messages:
                print(message[:600], flush=True)
    print(f"{outcomes['refused']} combinations are refused")
    print(f"runs: {outcomes['passed']} passed, {outcomes['failed']} failed")
    return outcomes["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
