#!/usr/bin/env python3
"""Compares stacks from copied stacks with samply's: copied_stacks.py RECORDING...

For each recording of perf record --call-graph dwarf, prints how many samples have at least as many frames here as in
samply, and how many stacks begin in the start function of a program or a thread. samply's frames get the names that the
same places have here, since it looks up no names when it imports. Frames outside of files do not count: beyond the copied
bytes, samply takes words of the stack for addresses. GECKO_CONVERT and SAMPLY name the programs.
tests/support/check_perf_names.py compares with perf script.
"""
import bisect
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

converter = os.environ.get("GECKO_CONVERT", "build/gecko-convert")
samply = os.environ.get("SAMPLY", "samply")
START_FUNCTIONS = {"_start", "_dl_start_user", "clone", "__clone", "clone3", "__clone3", "runtime.goexit.abi0",
                   "runtime.mstart.abi0", "runtime.clone.abi0"}
PERF_MAP = re.compile(r".*/perf-\d+\.map")  # samply has generated code in such libraries, and here it is in none


def load(command, output):
    subprocess.run(command, check=True, capture_output=True)
    return json.loads(output.read_text())


def rows_of(threads):
    """Returns the stacks of each thread in order of time. `threads` yields the tid, the samples' times and stacks."""
    rows = {}
    for tid, times, stacks in threads:
        rows.setdefault(str(tid).split(".", maxsplit=1)[0], []).extend(zip(times, stacks))
    return {tid: [stack for _, stack in sorted(found, key=lambda row: row[0])] for tid, found in rows.items()}


def paths_of(prefixes, frames, places):
    """Returns the places of each stack, the outermost first. A frame whose place is None does not count."""
    paths = []
    for prefix, frame in zip(prefixes, frames):
        own = () if places[frame] is None else (places[frame],)
        paths.append((() if prefix is None else paths[prefix]) + own)
    return paths


def read_own(profile):
    shared = profile["shared"]
    frames, stacks, libraries = shared["frameTable"], shared["stackTable"], profile["libs"]
    strings, names = shared["stringArray"], shared["funcTable"]["name"]
    places, known = [], {}
    for row, address in enumerate(frames["address"]):
        name = strings[names[frames["func"][row]]]
        path = libraries[frames["lib"][row]]["path"] if frames["lib"][row] >= 0 else ""
        is_counted = path and not frames["inlineDepth"][row]
        places.append((path, address, name) if is_counted else None)
        if is_counted:
            known.setdefault(path, {})[address] = name
    prefixes = [row - offset if offset else None for row, offset in enumerate(stacks["prefixOffset"])]
    paths = paths_of(prefixes, stacks["frame"], places)
    return rows_of((thread["tid"], itertools.accumulate(thread["samples"]["timeDeltas"]),
                    [() if stack is None else paths[stack] for stack in thread["samples"]["stack"]])
                   for thread in profile["threads"]), known


def read_samply(profile):
    def threads():
        for thread in profile["threads"]:
            frames, stacks, funcs = thread["frameTable"], thread["stackTable"], thread["funcTable"]
            resources = thread["resourceTable"]["lib"]
            places = []
            for row, address in enumerate(frames["address"]):
                resource = funcs["resource"][frames["func"][row]]
                library = resources[resource] if resource >= 0 else None
                path = profile["libs"][library]["path"] if library is not None else ""
                name = thread["stringArray"][funcs["name"][frames["func"][row]]]
                places.append((path, address, name) if path and not PERF_MAP.fullmatch(path) else None)
            paths = paths_of(stacks["prefix"], stacks["frame"], places)
            samples = thread["samples"]
            times = samples["time"] if "time" in samples else itertools.accumulate(samples["timeDeltas"])
            yield thread["tid"], times, [() if stack is None else paths[stack] for stack in samples["stack"]]

    return rows_of(threads())


def name_of(place, known):
    """Returns the name that the place has here, or the one of the closest place before it in the same function."""
    path, address, name = place
    addresses = sorted(known.get(path, {}))
    at = bisect.bisect_right(addresses, address)
    near = [known[path][addresses[i]] for i in (at - 1, at) if 0 <= i < len(addresses) and abs(addresses[i] - address) < 64]
    return near[0] if near else name


def compare(recording, folder):
    own_file, other_file = folder / "own.json", folder / "other.json"
    own, known = read_own(load([converter, "--quiet", recording, "-o", own_file], own_file))
    other = read_samply(load([samply, "import", "--save-only", "-o", other_file, recording], other_file))
    pairs, unequal = [], 0
    for tid, stacks in other.items():
        if len(stacks) == len(own.get(tid, [])):
            pairs += zip(own.get(tid, []), stacks)
        else:
            unequal += len(stacks)
    starts = [sum(bool(stack) and name_of(stack[0], known) in START_FUNCTIONS for stack in side)
              for side in ([ours for ours, _ in pairs], [theirs for _, theirs in pairs])]
    deep = sum(len(ours) >= len(theirs) for ours, theirs in pairs)
    count = max(len(pairs), 1)
    print(f"{recording}: {len(pairs)} samples; {unequal} more are in threads that have other numbers of samples")
    print(f"  at least as deep as samply's: {100 * deep / count:.2f} %")
    print(f"  from a start function, here: {100 * starts[0] / count:.2f} %, in samply: {100 * starts[1] / count:.2f} %")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for recording in sys.argv[1:]:
            compare(recording, pathlib.Path(folder))


main()
