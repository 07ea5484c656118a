#!/usr/bin/env python3
"""Compares what the converter makes of each fixture and recording with an independent reading of the same text.

usage: check_readings.py GECKO_CONVERT

For perf script, compares the multiset of (comm; function; function; …), and the sample counts and weights of threads,
with self and total counts of every function. For collapsed stacks, compares the same per thread. The report's ledger
must balance, too."""
import collections
import json
import lzma
import os
import subprocess
import sys
import tempfile

import read_collapsed
import read_perf_script

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "..", "..", "fixtures")
READERS = {"perf-script": read_perf_script, "collapsed": read_collapsed}


def without_additions(options):
    """Readers tell each thread for itself, only what was sampled, and all of that."""
    options = [word for word in options if not word.startswith(("--off-cpu=", "--per-cpu", "--time=", "--comm="))]
    for name in "--merge-threads", "--off-cpu":
        if name in options:
            at = options.index(name)
            options = options[:at] + options[at + 2:]
    return options


def cases():
    for reader in READERS:
        folder = os.path.join(FIXTURES, reader)
        for case in sorted(os.listdir(folder)):
            path = os.path.join(folder, case)
            for name in sorted(os.listdir(path)) if os.path.isdir(path) else []:
                if name.startswith("input."):
                    options = os.path.join(path, "options")
                    words = open(options).read().split() if os.path.exists(options) else []
                    yield reader, os.path.join(path, name), without_additions(words)
    folder = os.path.join(FIXTURES, "recordings")
    for name in sorted(os.listdir(folder)):
        yield ("collapsed" if ".folded" in name else "perf-script"), os.path.join(folder, name), []


def plain(path, temporary):
    if not path.endswith(".xz"):
        return path
    out = os.path.join(temporary, "plain")
    with open(out, "wb") as file:
        file.write(lzma.open(path).read())
    return out


def stack_names(profile):
    """Returns the names of the functions of each stack, innermost first."""
    shared = profile["shared"]
    strings, stacks = shared["stringArray"], shared["stackTable"]
    frames, funcs = shared["frameTable"], shared["funcTable"]
    names = []
    for row in range(stacks["length"]):
        own = strings[funcs["name"][frames["func"][stacks["frame"][row]]]]
        offset = stacks["prefixOffset"][row]
        names.append((own,) + (names[row - offset] if offset else ()))
    return names


def name_of(thread):
    """Returns the thread's own name: that of a main thread can follow the name of its process, "app (main)"."""
    before, name = thread["processName"] + " (", thread["name"]
    is_title = thread["isMainThread"] and name.startswith(before) and name.endswith(")")
    return name[len(before):-1] if is_title else name


def read_profile(profile):
    names = stack_names(profile)
    threads, multiset = {}, collections.Counter()
    for thread in profile["threads"]:
        if " " in str(thread["tid"]):
            continue  # the track of an event beside those that make the samples
        samples = thread["samples"]
        if not samples["length"]:
            continue
        functions = {}
        weights = samples["weight"] or [1] * samples["length"]
        for stack, weight in zip(samples["stack"], weights):
            frames = names[stack] if stack is not None else ()
            for name in set(frames):
                functions.setdefault(name, [0, 0])[1] += weight
            if frames:
                functions[frames[0]][0] += weight
            multiset[";".join(name.replace(";", ":") for name in (name_of(thread),) + frames[::-1])] += 1
        threads[thread["pid"], str(thread["tid"])] = {
            "name": name_of(thread), "samples": samples["length"], "weightSum": sum(weights), "functions": functions}
    return threads, multiset


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, 3) if isinstance(value, (int, float)) else value


def in_milliseconds(profile, expected):
    """Converts the expected weights if periods of a clock are written as milliseconds."""
    threads = [thread for thread in profile["threads"] if " " not in str(thread["tid"])]  # the others are tracks
    if all(thread["samples"]["weightType"] != "tracing-ms" for thread in threads):
        return
    for thread in expected.values():
        thread["weightSum"] /= 1e6
        for counts in thread["functions"].values():
            counts[:] = [count / 1e6 for count in counts]


def differences(program, reader, path, options, temporary):
    output, report = os.path.join(temporary, "out.json"), os.path.join(temporary, "report.json")
    # The files that a recording names may exist on this machine.
    settings = ["--quiet", "--symbols=none", "--merge-threads=no", "--from", reader, "--report", report]
    settings += ["--off-cpu=no"] if reader == "perf-script" else []
    command = [program, *settings, *options, path, "-o", output]
    run = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if run.returncode:
        yield f"exit {run.returncode}: {run.stderr.strip()}"
        return
    if not json.load(open(report))["ledger"]["balanced"]:
        yield "the ledger does not balance"
    expected = json.loads(READERS[reader].read([*options, plain(path, temporary)]))
    profile = json.load(open(output))
    threads, multiset = read_profile(profile)
    wanted = {(thread["pid"], str(thread["tid"])): thread for thread in expected["threads"] if thread["samples"]}
    if reader == "perf-script":
        in_milliseconds(profile, wanted)
    for key in sorted(set(wanted) | set(threads)):
        got, want = threads.get(key), wanted.get(key)
        if not got or not want:
            yield f"thread {key}: expected {want and want['name']}, got {got and got['name']}"
            continue
        for field in ("name", "samples", "weightSum", "functions"):
            if rounded(got[field]) != rounded(want[field]):
                yield f"thread {key}: {field}: expected {want[field]}, got {got[field]}"
    if "stacks" in expected and multiset != collections.Counter(expected["stacks"]):
        yield f"stacks differ: {list((multiset - collections.Counter(expected['stacks'])).items())[:3]}"


def main():
    passed = failed = 0
    for reader, path, options in cases():
        with tempfile.TemporaryDirectory() as temporary:
            found = list(differences(sys.argv[1], reader, path, options, temporary))
        for line in found:
            print(f"readings: {os.path.relpath(path, FIXTURES)}: {line[:400]}")
        passed += not found
        failed += bool(found)
    print(f"readings: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
