#!/usr/bin/env python3
"""Where the recorder and perf see the processor time of servers: shares.py BUILD [--table]

Each server does the same work under `perf record` and with the recorder preloaded. Time in the kernel counts for the
function of the program or a library that called it. Each function must have the same share in both profiles, to within
LIMIT_POINTS. If a share differs by more, both record again, up to ROUND_COUNT_MAX times, until the means of all rounds
agree. If perf may not record, or a server is not installed, a line says so. With --table, the shares are printed.

The limit is wide, because perf is no measure here: its event makes each switch of threads slower, which is time in
epoll_wait, and neither perf nor clock ticks see all of what the scheduler does. Beside other programs, a server also
waits more often for less. docs/sampling.md has the shares that the servers measure themselves. What the limit finds is
time that is in the wrong place altogether: in a wait that comes after the work.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from real_programs import Missing, Nginx, Redis, find, libraries_for_all, prepared

LIMIT_POINTS = 20
ROUND_COUNT_MAX = 4
# With this size, each run takes a second or two of the server's processor time.
SERVERS = {Nginx: 10, Redis: 8}
PERF = ["record", "-q", "-F", "999", "-g", "-o"]
SHOWN_COUNT = 10
NAME = "shares of real programs"


def perf_refusal(folder):
    """Returns why perf cannot record here; None: it can."""
    try:
        perf = find("perf")
    except Missing:
        return "perf is not installed"
    data = f"{folder}/try.data"
    tried = subprocess.run([perf, *PERF, data, "--", sys.executable, "-c", "sum(range(10000000))"], capture_output=True,
                           text=True, check=False)
    if tried.returncode:
        return f"perf record: {(tried.stderr.strip() or 'failed').splitlines()[0]}"
    # Without the right to sample the kernel, perf records an event such as "cycles:u".
    event = subprocess.run([perf, "evlist", "-i", data], capture_output=True, text=True, check=True).stdout.split()[0]
    return "perf record: may not sample the kernel" if "u" in event.partition(":")[2] else None


class Stacks:
    """Finds the innermost function outside of the kernel of each stack of a profile."""

    def __init__(self, profile):
        self.shared, self.known = profile["shared"], {None: None}
        self.kernel = [category["name"] == "Kernel" for category in profile["meta"]["categories"]]

    def symbol(self, frame):
        """Returns the symbol of a frame, or of a function without one, its name. Inlined functions have that of their caller."""
        symbol = self.shared["frameTable"]["nativeSymbol"][frame]
        table, at = self.shared["funcTable"], self.shared["frameTable"]["func"][frame]
        if symbol is not None:
            table, at = self.shared["nativeSymbols"], symbol
        return self.shared["stringArray"][table["name"][at]]

    def function(self, stack):
        if stack not in self.known:
            frame = self.shared["stackTable"]["frame"][stack]
            offset = self.shared["stackTable"]["prefixOffset"][stack]
            if self.kernel[self.shared["frameTable"]["category"][frame]]:
                self.known[stack] = self.function(stack - offset) if offset else None
            else:
                self.known[stack] = self.symbol(frame)
        return self.known[stack]


def shares(converter, recording, folder):
    """Returns the share of each function in a recording, in percent. The recorder's samples without processor time are of
    threads that wait; perf takes none of these."""
    path = folder / "profile.json"
    subprocess.run([converter, "--quiet", recording, "-o", path], check=True)
    profile = json.loads(path.read_text())
    stacks, counts = Stacks(profile), collections.Counter()
    is_of_recorder = "recorder" in profile["meta"].get("importedFrom", "")
    for thread in profile["threads"]:
        samples = thread["samples"]
        times = samples["threadCPUDelta"] if is_of_recorder else [1] * samples["length"]
        for stack, time in zip(samples["stack"], times):
            counts[stacks.function(stack)] += time or 0
    return {name: 100 * count / counts.total() for name, count in counts.items()}


class Means:
    """Mean shares of each function over all rounds."""

    def __init__(self):
        self.perf, self.recorder = collections.Counter(), collections.Counter()
        self.round_count = 0

    def add(self, perf, recorder):
        self.round_count += 1
        self.perf.update(perf)
        self.recorder.update(recorder)

    def rows(self):
        """Yields each function with its share in perf's profiles and in the recorder's, the largest first."""
        for name, _ in (self.perf + self.recorder).most_common():
            yield name or "(kernel alone)", self.perf[name] / self.round_count, self.recorder[name] / self.round_count

    def faults(self):
        return [f"{name} has {recorder:.1f} % of the processor time, and {perf:.1f} % by perf"
                for name, perf, recorder in self.rows() if abs(recorder - perf) > LIMIT_POINTS]


def compare(program, converter, library):
    """Returns the means and the faults of one server."""
    trace, data = program.folder / "the.trace", program.folder / "perf.data"
    means = Means()
    while means.round_count < ROUND_COUNT_MAX:
        trace.unlink(missing_ok=True)
        program.run(before=[find("perf"), *PERF, str(data), "--"])
        program.run(environment={"LD_PRELOAD": library, "GECKO_RECORDER": "1", "GECKO_RECORDER_OUTPUT": str(trace)})
        means.add(shares(converter, data, program.folder), shares(converter, trace, program.folder))
        if not means.faults():
            break
    return means, means.faults()


def compare_all(converter, library):
    """Returns how many servers passed, failed and were left out."""
    counts = collections.Counter()
    for kind, size in SERVERS.items():
        try:
            with prepared(kind, size) as program:
                means, faults = compare(program, converter, library)
        except Missing as missing:
            print(f"{NAME}: LEFT OUT {kind.name}: not installed: {missing}", flush=True)
            counts["skipped"] += 1
            continue
        except (RuntimeError, subprocess.SubprocessError) as error:
            means, faults = Means(), [str(error)]
        for fault in faults:
            print(f"{NAME}: FAIL {kind.name}: {fault}", flush=True)
        if "--table" in sys.argv:
            for name, perf, recorder in list(means.rows())[:SHOWN_COUNT]:
                print(f"{kind.name:26} {name:36} perf {perf:5.1f}  recorder {recorder:5.1f}  {recorder - perf:+5.1f}"
                      f"  rounds {means.round_count}", flush=True)
        counts["failed" if faults else "passed"] += 1
    return counts


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    for name in list(os.environ):
        if name.startswith("GECKO_RECORDER"):
            del os.environ[name]
    with tempfile.TemporaryDirectory() as folder:
        library = libraries_for_all(build, folder)
        refusal = perf_refusal(folder)
        if refusal:
            print(f"{NAME}: NOT TESTED: {refusal}")
            counts = collections.Counter(skipped=len(SERVERS))
        else:
            counts = compare_all(str(build / "gecko-convert"), library)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{NAME}: {counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
