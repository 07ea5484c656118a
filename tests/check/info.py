#!/usr/bin/env python3
"""Compares what `gecko-convert info` shows for every fixture (its trace and both golden profiles) with sums computed
here from profiles alone. usage: info.py PROGRAM TRACE PROCESSED GECKO (of one more recording)"""
import collections
import glob
import itertools
import json
import math
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fixtures")


def columns(table):
    """Returns the columns of a table of rows."""
    return {name: [row[number] if number < len(row) else None for row in table["data"]]
            for name, number in table["schema"].items()}


# The line of the information panel of recordings that tell waits.
WEIGHTS_THAT_ARE_TIMES = ("perf", "weight of a sample",
                          "the time in which the thread ran there or did not run, in milliseconds")


class Sums:
    def __init__(self, meta):
        self.functions = collections.defaultdict(lambda: [0, 0])
        self.cpu_functions = collections.defaultdict(lambda: [0, 0])
        self.waits = collections.Counter()
        self.cpu_factor, self.cpu_unit = {"ns": (1e-6, "ms"), "variable CPU cycles": (1, "cycles"), None: (0, None)}[
            meta.get("sampleUnits", {}).get("threadCPUDelta")]
        self.weights_are_times = any(
            (section["label"], entry["label"], entry["value"]) == WEIGHTS_THAT_ARE_TIMES
            for section in meta.get("extra", []) for entry in section["entries"])
        self.idle = [number for number, category in enumerate(meta["categories"]) if category["name"] == "Idle"]
        self.markers = collections.Counter()
        self.durations = collections.defaultdict(list)
        self.allocated = collections.defaultdict(lambda: [0, 0])
        self.threads = []
        self.counters = []
        self.allocations = self.allocated_bytes = self.stackless_bytes = 0
        self.stackless = 0
        self.weight = 0

    def add(self, thread, samples, markers, strings, stack_functions, isMain):
        """stack_functions(stack) returns the functions of the stack and the categories of their frames, innermost
        first."""
        weights = samples.get("weight") or [1] * len(samples["stack"])
        deltas = samples.get("threadCPUDelta") or [0] * len(samples["stack"])
        by_weight = self.weights_are_times and "threadCPUDelta" in samples
        total = total_cpu = 0
        for row, (stack, weight, delta) in enumerate(zip(samples["stack"], weights, deltas)):
            total += weight
            self.weight += abs(weight)
            self.stackless += stack is None
            frames = stack_functions(stack) if stack is not None else []
            functions = [function for function, _ in frames]
            stopped = self.stopped_frames(frames)
            cpu = (delta or 0) * self.cpu_factor if row else 0
            if by_weight:
                cpu = 0 if stopped else weight
            total_cpu += cpu
            self.add_cpu(functions[stopped:], cpu)
            if stopped:
                self.waits[functions[0]] += weight
            for function in set(functions):
                self.functions[function][1] += weight
            if functions:
                self.functions[functions[0]][0] += weight
        markers = without_members(markers)
        self.markers.update(strings[name] for name in markers["name"])
        for name, phase, start, end in zip(markers["name"], markers["phase"], markers["startTime"], markers["endTime"]):
            if phase == 1:
                self.durations[strings[name]].append(end - start)
        self.threads.append((str(thread["pid"]), str(thread["tid"]), thread["name"], isMain, len(samples["stack"]),
                             total, len(markers["name"]), total_cpu))

    def add_allocations(self, table, stack_functions):
        self.allocations += table["length"]
        for stack, weight in zip(table["stack"], table["weight"]):
            self.allocated_bytes += max(weight, 0)
            self.stackless_bytes += max(weight, 0) if stack is None else 0
            functions = [function for function, _ in stack_functions(stack)] if stack is not None and weight > 0 else []
            for function in set(functions):
                self.allocated[function][1] += weight
            if functions:
                self.allocated[functions[0]][0] += weight

    def add_counter(self, pid, counter, graph, unit, times, changes):
        """The first change counts as 0. Rates are per second, and those in percent relative to the highest one."""
        if graph == "accumulated":
            values = list(itertools.accumulate([0] + changes[1:]))
        else:
            spans = [later - time for time, later in zip(times, times[1:])]
            values = [change / span * 1000 for change, span in zip(changes[1:], spans) if span > 0]
        is_share = graph == "rate" and unit == "percent"
        if is_share and values:
            values = [value * 100 / max(values) for value in values] if max(values) > 0 else []
        self.counters.append((pid, counter["name"], counter["category"], unit, len(changes), graph,
                              None if is_share else sum(changes), min(values, default=None), max(values, default=None)))

    def is_idle(self, frames):
        """A frame without a category has that of its caller."""
        return next((category for _, category in frames if category is not None), None) in self.idle

    def stopped_frames(self, frames):
        """Returns how many frames, from the innermost one on, tell that the thread did not run."""
        return len(list(itertools.takewhile(
            lambda number: self.is_idle(frames[number:]) or frames[number][0][0] == "(preempted)", range(len(frames)))))

    def add_cpu(self, working, cpu):
        """What was used before a thread stopped belongs to the functions in which it did."""
        for function in set(working):
            self.cpu_functions[function][1] += cpu
        if working:
            self.cpu_functions[working[0]][0] += cpu


def without_members(markers):
    """Returns the columns of markers without those that tell which threads and processes share a track: the recording
    does not have them."""
    shown = [data is None or data["type"] not in ("ThreadOfTrack", "ProcessOfTrack") for data in markers["data"]]
    return {name: list(itertools.compress(markers[name], shown)) for name in ("name", "phase", "startTime", "endTime")}


def of_processed(profile):
    shared, sums = profile["shared"], Sums(profile["meta"])
    strings, stacks, funcs = shared["stringArray"], shared["stackTable"], shared["funcTable"]

    def function(func):
        resource, source = funcs["resource"][func], funcs["source"][func]
        return (strings[funcs["name"][func]],
                strings[shared["resourceTable"]["name"][resource]] if resource >= 0 else None,
                strings[shared["sources"]["filename"][source]] if source is not None else None, func)

    def functions(stack):
        found = []
        while True:
            frame = stacks["frame"][stack]
            found.append((function(shared["frameTable"]["func"][frame]), shared["frameTable"]["category"][frame]))
            if not stacks["prefixOffset"][stack]:
                return found
            stack -= stacks["prefixOffset"][stack]

    for thread in profile["threads"]:
        if is_track(thread):
            continue
        sums.add(thread, thread["samples"], thread["markers"], strings, functions, thread["isMainThread"])
        for table in ("jsAllocations", "nativeAllocations"):
            if table in thread:
                sums.add_allocations(thread[table], functions)
    for counter in profile.get("counters", []):
        display, samples = counter["display"], counter["samples"]
        sums.add_counter(counter["pid"], counter, display["graphType"].removeprefix("line-"), display["unit"] or None,
                         list(itertools.accumulate(samples["timeDeltas"])), samples["count"])
    return sums


def is_track(thread):
    """A track of an event has the thread's tid and the event's name. info leaves it out."""
    return " " in str(thread["tid"])


def parts_of(location, sources):
    """Returns name, library and file of a function, by the front-end's patterns (process-profile.ts)."""
    library = re.fullmatch(r"(.*) \(in ([^)]*)\)", location)
    if library:
        return library[1].removeprefix("non-virtual thunk to "), library[2], None
    script = re.fullmatch(r"(.*) \((.+?):(\d+)(?::\d+)?\)(?:\[(\d+)\])?", location)
    if script:
        return script[1], None, sources[int(script[4])] if script[4] else script[2]
    return location, None, None


def without_allocations(markers):
    """Returns the table of markers without allocations, which are markers in this format, and that of allocations."""
    data = markers["schema"]["data"]
    rows = [row[data] for row in markers["data"] if len(row) > data and row[data]["type"] == "Native allocation"]
    others = [row for row in markers["data"] if len(row) <= data or row[data]["type"] != "Native allocation"]
    stacks = [row["stack"]["samples"]["data"][0][0] if "stack" in row else None for row in rows]
    table = {"length": len(rows), "stack": stacks, "weight": [row["size"] for row in rows]}
    return {**markers, "data": others}, table


def of_gecko(profile):
    sums = Sums(profile["meta"])
    for process in [profile, *profile["processes"]]:
        for thread in process["threads"]:
            if is_track(thread):
                continue
            strings, stacks = thread["stringTable"], columns(thread["stackTable"])
            frames, sources = columns(thread["frameTable"]), columns(process["sources"])["filename"]

            def functions(stack, strings=strings, stacks=stacks, frames=frames, sources=sources):
                found = []
                while stack is not None:
                    frame = stacks["frame"][stack]
                    location = strings[frames["location"][frame]]
                    found.append(((*parts_of(location, sources), location), frames["category"][frame]))
                    stack = stacks["prefix"][stack]
                return found

            # A main thread has its name only in what it calls its process.
            is_main = thread["name"] == "GeckoMain"
            named = {**thread, "name": thread["processName"]} if is_main else thread
            markers, allocations = without_allocations(thread["markers"])
            sums.add(named, columns(thread["samples"]), columns(markers), strings, functions, is_main)
            sums.add_allocations(allocations, functions)
        pids = [str(thread["pid"]) for thread in process["threads"] if thread["name"] == "GeckoMain"]
        for counter in process.get("counters", []):
            samples = columns(counter["samples"])
            graph = "accumulated" if counter["category"] == "Memory" else "rate"
            unit = {"Memory": "bytes", "Bandwidth": "bytes", "power": "pWh"}.get(counter["category"])
            if (counter["category"], counter["name"]) == ("CPU", "processCPU"):
                unit = "percent"
            sums.add_counter(pids[0], counter, graph, unit, samples["time"], samples["count"])
    return sums


def near(got, expected):
    if got is None or expected is None:
        return got is expected
    return math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-6)


def shown(weight):
    """Formats a weight with few digits, since sums of doubles depend on their order."""
    return f"{weight:.9g}"


def compare(info, sums):
    """Yields each difference as a text."""
    threads = [(process["pid"], thread["tid"], thread["name"], thread["isMain"], thread["samples"], thread["weight"],
                thread["markers"], thread["cpu"]) for process in info["processes"] for thread in process["threads"]]
    if len(threads) != len(sums.threads):
        yield f"{len(threads)} threads"
    for got, expected in zip(threads, sums.threads):
        cpu = expected[7] if sums.cpu_unit else None
        if got[:5] != expected[:5] or not near(got[5], expected[5]) or got[6] != expected[6] or not near(got[7], cpu):
            yield f"thread {got} instead of {expected}"
    counts = info["counts"]
    expected_counts = {"threads": len(sums.threads), "samples": sum(thread[4] for thread in sums.threads),
                       "samplesWithoutStack": sums.stackless, "markers": sum(sums.markers.values()),
                       "counters": len(sums.counters), "allocations": sums.allocations,
                       "processes": len({thread[0] for thread in sums.threads})}
    for name, expected in expected_counts.items():
        if counts[name] != expected:
            yield f"{counts[name]} {name} instead of {expected}"
    counters = [(counter["pid"], counter["name"], counter["category"], counter["unit"], counter["samples"],
                 counter["graph"], counter["sum"], counter["minimum"], counter["maximum"]) for counter in info["counters"]]
    for got, expected in zip(counters, sums.counters):
        if got[:6] != expected[:6] or not all(map(near, got[6:], expected[6:])):
            yield f"counter {got} instead of {expected}"
    if not near(info["weight"]["sum"], sums.weight):
        yield f"weight {info['weight']['sum']} instead of {sums.weight}"
    if {marker["name"]: marker["count"] for marker in info["markers"]} != sums.markers:
        yield f"markers {info['markers']}"
    for marker in info["markers"]:
        durations, got = sorted(sums.durations[marker["name"]]), marker["durations"]
        median, p95 = (durations[-(-len(durations) * percent // 100) - 1] if durations else None for percent in (50, 95))
        if got["count"] != len(durations) or not all(map(near, (got["sumMs"], got["medianMs"], got["p95Ms"]),
                                                         (sum(durations), median, p95))):
            yield f"durations of {marker}"
    allocated = (sums.allocated_bytes, sums.stackless_bytes) if sums.allocations else (None, None)
    if (info["allocated"]["sum"], info["allocated"]["sumWithoutStack"]) != allocated:
        yield f"allocated {info['allocated']} instead of {allocated}"
    if info["cpu"]["unit"] != sums.cpu_unit:
        yield f"processor time in {info['cpu']['unit']} instead of {sums.cpu_unit}"
    for order, functions, number in (("functionsBySelf", sums.functions, 0), ("functionsByTotal", sums.functions, 1),
                                     ("functionsByCpuSelf", sums.cpu_functions, 0),
                                     ("functionsByCpuTotal", sums.cpu_functions, 1),
                                     ("functionsByAllocated", sums.allocated, 0)):
        keys = ("cpuSelf", "cpuTotal") if "Cpu" in order else ("self", "total")
        keys = ("allocatedSelf", "allocatedTotal") if "Allocated" in order else keys
        got = sorted((f["name"], f["library"] or "", f["file"] or "", *(shown(f[key]) for key in keys))
                     for f in info[order])
        expected = sorted((name, library or "", file or "", shown(weights[0]), shown(weights[1]))
                          for (name, library, file, _), weights in functions.items() if weights[number])
        if got != expected:
            yield f"{order}: {[f for f in got if f not in expected][:3]} instead of " \
                  f"{[f for f in expected if f not in got][:3]}"
        weights = [abs(f[keys[number]]) for f in info[order]]
        if weights != sorted(weights, reverse=True):
            yield f"{order} is not sorted"
    waits = sorted((wait["name"], shown(wait["self"])) for wait in info["waits"])
    expected = sorted((function[0], shown(weight)) for function, weight in sums.waits.items())
    if waits != expected:
        yield f"waits {waits[:3]} instead of {expected[:3]}"


def convert(program, trace):
    result = subprocess.run([program, "--quiet", trace, "-o", "-"], capture_output=True, check=False)
    if result.returncode:
        sys.exit(f"info.py: {trace}: exit {result.returncode}: {result.stderr.decode()[-500:]}")
    return json.loads(result.stdout)


def main():
    program, trace, processed, gecko = sys.argv[1:]
    subjects = []
    with open(processed, encoding="utf-8") as file:
        sums = of_processed(json.load(file))
    subjects += [(processed, sums), (trace, sums)]
    with open(gecko, encoding="utf-8") as file:
        subjects.append((gecko, of_gecko(json.load(file))))
    for golden in sorted(glob.glob(f"{ROOT}/*/*/processed.json")):
        folder = os.path.dirname(golden)
        with open(golden, encoding="utf-8") as file:
            sums = of_processed(json.load(file))
        subjects.append((golden, sums))
        # With options of a conversion, which info does not have, the profile of the trace would differ. The goldens are
        # made without symbols of this machine, which info looks up, so the trace is converted again.
        if not os.path.exists(f"{folder}/options"):
            subjects += [(path, of_processed(convert(program, path))) for path in glob.glob(f"{folder}/input.*")]
        if os.path.exists(f"{folder}/gecko.json"):
            with open(f"{folder}/gecko.json", encoding="utf-8") as file:
                subjects.append((f"{folder}/gecko.json", of_gecko(json.load(file))))
    passed = failed = 0
    result = subprocess.run([program, "info", "--json", "--top", "1000000", *[path for path, _ in subjects]],
                            capture_output=True, check=False)
    if result.returncode or result.stderr:
        sys.exit(f"info.py: exit {result.returncode}: {result.stderr.decode()[-500:]}")
    for info, (path, sums) in zip(json.loads(result.stdout)["files"], subjects, strict=True):
        differences = list(compare(info, sums))
        passed, failed = passed + (not differences), failed + bool(differences)
        for difference in differences:
            print(f"info.py: {os.path.relpath(path, ROOT)}: {difference}")
    print(f"facts of fixtures: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
