#!/usr/bin/env python3
"""Compares off-CPU time with what perf script prints: check_off_cpu.py GECKO_CONVERT

Adds up by hand, for the recordings of switches in fixtures/perf-data, how long each thread did not run, in which files its
stack was meanwhile, and whether it was preempted. Where the recording has no stack, a thread that is preempted is in the
files of the callers that its samples before and after have in common. The samples of the profiles must weigh as much,
within one percent, and all samples of a thread as much as it lived.
"""
import collections
import itertools
import json
import pathlib
import re
import subprocess
import sys

converter = sys.argv[1]
fixtures = pathlib.Path(__file__).resolve().parent.parent.parent / "fixtures" / "perf-data"
EVENT = re.compile(r"^\s*\S.*?\s(\d+)/(\d+)\s+(\d+\.\d+):\s+(.*)$")
SWITCH = re.compile(r"sched:sched_switch:.* prev_state=(.).* next_pid=(\d+)")
UNKNOWN = "[unknown]"  # no caller
FORK = re.compile(r"PERF_RECORD_FORK\(\d+:(\d+)\)")


class Thread:
    def __init__(self):
        self.start = self.end = self.left = None
        self.kind, self.stack, self.waits = "", (), collections.Counter()
        self.before, self.gap = None, collections.Counter()  # the sample before, and waits since then without a stack

    def leave(self, time, kind, stack):
        if self.left is None:
            self.left, self.kind, self.stack = time, kind, stack

    def run(self, time):
        if self.left is None and self.start is not None and not self.waits and not self.gap:
            self.leave(self.start, "preempted", ())
        if self.left is not None:
            if self.stack:
                self.sample(self.stack)
                self.waits[self.kind, files_of(self.stack)] += time - self.left
            else:
                self.gap[self.kind] += time - self.left
        self.left = None

    def sample(self, stack):
        pairs = zip(reversed(self.before or ()), reversed(stack))
        common = [line for line, other in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)]
        is_preempted = self.gap.keys() == {"preempted"}
        for kind, time in self.gap.items():
            self.waits[kind, files_of(reversed(common)) if is_preempted else ()] += time
        self.before, self.gap = stack, collections.Counter()


def files_of(stack):
    return tuple(file for line in stack if (file := line.split("(")[-1].rstrip(")")) != UNKNOWN)


def read_text(text):
    """Returns the threads by their tids. Times are in milliseconds."""
    threads = collections.defaultdict(Thread)
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line]
        heads = [i for i, line in enumerate(lines) if EVENT.match(line)]
        for head in heads:
            tid, time, rest = EVENT.match(lines[head]).groups()[1:]
            thread, time = threads[tid], float(time) * 1000
            if "PERF_RECORD_COMM exec" in lines[head] and thread.start is None:
                thread.start = time
            elif fork := FORK.search(rest):
                threads[fork[1]].start = time
            elif "PERF_RECORD_EXIT" in rest:
                thread.end = time
            elif "PERF_RECORD_SWITCH IN" in rest:
                thread.run(time)
            elif "PERF_RECORD_SWITCH OUT" in rest:
                thread.leave(time, "preempted" if "preempt" in rest else "waits", ())
            elif switch := SWITCH.search(rest):
                threads[switch[2]].run(time)
                if switch[1] in "XZ":
                    continue
                thread.leave(time, "preempted" if switch[1] == "R" else "waits", tuple(lines[head + 1:]))
            elif "cpu-clock:" in rest:
                thread.sample(tuple(lines[head + 1:]))
    for thread in threads.values():
        thread.sample(())
    return {tid: thread for tid, thread in threads.items() if thread.waits}


def read_profile(profile):
    """Returns, by tid, the sum of all weights, and those of waits by their kind and files."""
    shared = profile["shared"]
    strings, frames, stacks = shared["stringArray"], shared["frameTable"], shared["stackTable"]

    def path(stack):
        names = []
        while True:
            names.append(stacks["frame"][stack])
            if not stacks["prefixOffset"][stack]:
                return names
            stack -= stacks["prefixOffset"][stack]

    threads = {}
    for thread in profile["threads"]:
        waits = collections.Counter()
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            leaf, *callers = path(stack)
            name = strings[shared["funcTable"]["name"][frames["func"][leaf]]]
            if name.startswith(("(waits", "(preempted")):
                files = tuple(profile["libs"][frames["lib"][frame]]["path"] for frame in callers)
                waits["preempted" if name == "(preempted)" else "waits", files] += weight
        threads[str(thread["tid"])] = sum(thread["samples"]["weight"]), waits
    return threads


def is_near(one, other, ms=0.01):
    return abs(one - other) <= ms + 0.01 * max(one, other)


def differences(case):
    text = subprocess.run(["zstd", "-dcq", str(case / "script.txt.zst")], check=True, capture_output=True, text=True)
    document = subprocess.run([converter, "--quiet", "--symbols=none", str(case / "input.data.zst"), "-o", "-"],
                              check=True, capture_output=True)
    profile, threads = read_profile(json.loads(document.stdout)), read_text(text.stdout)
    for tid, thread in threads.items():
        weight, waits = profile[tid]
        for key in thread.waits.keys() | waits.keys():
            if not is_near(thread.waits[key], waits[key]):
                yield f"{case.name}: {tid}: {key}: {thread.waits[key]:.3f} ms by hand, {waits[key]:.3f} in the profile"
        if None not in (thread.start, thread.end) and not is_near(thread.end - thread.start, weight):
            yield f"{case.name}: {tid}: lived {thread.end - thread.start:.3f} ms, weighs {weight:.3f}"
    if not threads:
        yield f"{case.name}: no thread waits"


failures = [line for name in ("off-cpu", "switches") for line in differences(fixtures / name)]
for failure in failures:
    print(failure)
print(f"off-CPU time beside perf script: {'failed' if failures else 'passed'}")
sys.exit(bool(failures))
