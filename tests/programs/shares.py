#!/usr/bin/env python3
"""Where the recorder and perf see the processor time of servers: shares.py BUILD [--table]

Each server works with the recorder preloaded, with and without events of the kernel, while `perf record` looks at the
same processes. Time in the kernel counts for the function of the program or a library that called it. Each function
must have the same share in both profiles, to within LIMIT_POINTS. If a share differs by more, the server works again, up
to ROUND_COUNT_MAX times, until the means of all rounds agree. If perf may not record, or a server is not installed, a
line says so. With --table, all rounds are made, and the shares are printed.

A run has some hundred clock ticks, so shares differ by chance. And no tick finds a thread while the scheduler works with
interrupts disabled: docs/sampling.md has the shares. What the limit finds is time in the wrong place altogether, such as
in a wait that comes after the work.
"""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from real_programs import Missing, Nginx, Redis, children_of, find, libraries_for_all, prepared

LIMIT_POINTS = 20
ROUND_COUNT_MAX = 6
# With this size, each run takes more than a second of the server's processor time.
SERVERS = {Nginx: 5, Redis: 4}
CONDITIONS = {"with events": {}, "without events": {"GECKO_RECORDER_EVENTS": "0"}}
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
    """Finds the innermost function outside of the kernel of each stack of a profile. OF_RECORDER: it is the recorder's, or
    the kernel's call that ends a signal handler."""

    OF_RECORDER = "(recorder)"

    def __init__(self, profile):
        self.shared, self.known = profile["shared"], {None: None}
        self.of_recorder = {at for at, lib in enumerate(profile["libs"]) if lib["name"].startswith("libgecko_")}
        self.kernel = [category["name"] == "Kernel" for category in profile["meta"]["categories"]]

    def symbol(self, frame):
        """Returns the symbol of a frame, or of a function without one, its name. Inlined functions have that of their caller.
        perf leaves out the prefix of functions that the kernel maps into each process."""
        if self.shared["frameTable"]["lib"][frame] in self.of_recorder:
            return self.OF_RECORDER
        symbol = self.shared["frameTable"]["nativeSymbol"][frame]
        table, at = self.shared["funcTable"], self.shared["frameTable"]["func"][frame]
        if symbol is not None:
            table, at = self.shared["nativeSymbols"], symbol
        name = self.shared["stringArray"][table["name"][at]].removeprefix("__vdso_")
        return self.OF_RECORDER if name == "__restore_rt" else name

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
    """Returns the share of each function of the program in a recording, in percent. The recorder's samples without
    processor time are of threads that wait; perf takes none of these. The recorder leaves out its own threads and
    handlers."""
    path = folder / "profile.json"
    subprocess.run([converter, "--quiet", recording, "-o", path], check=True)
    profile = json.loads(path.read_text())
    stacks, counts = Stacks(profile), collections.Counter()
    is_of_recorder = "recorder" in profile["meta"].get("importedFrom", "")
    for thread in profile["threads"]:
        if thread["name"].startswith("grec-"):
            continue
        samples = thread["samples"]
        weights = samples["threadCPUDelta"] if is_of_recorder else [1] * samples["length"]
        for stack, weight in zip(samples["stack"], weights):
            counts[stacks.function(stack)] += weight or 0
    del counts[Stacks.OF_RECORDER]
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


def record(program, data, environment):
    """Runs the program once, with both recorders."""
    with program.serving(environment=environment) as process:
        while len(children := children_of(process.pid)) < program.worker_count and process.poll() is None:
            time.sleep(0.02)
        pids = ",".join(map(str, [process.pid, *children]))
        with subprocess.Popen([find("perf"), *PERF, str(data), "-p", pids], stderr=subprocess.DEVNULL) as perf:
            await_data(perf, data)
            program.work()
            perf.send_signal(signal.SIGINT)


def await_data(perf, data):
    """Waits until perf has written the beginning of its file, before it begins to record."""
    while not (data.exists() and data.stat().st_size) and perf.poll() is None:
        time.sleep(0.02)


def compare(program, converter, environment):
    """Returns the means and the faults of one server."""
    trace, data = program.folder / "the.trace", program.folder / "perf.data"
    means = Means()
    while means.round_count < ROUND_COUNT_MAX:
        trace.unlink(missing_ok=True)
        data.unlink(missing_ok=True)
        record(program, data, {**environment, "GECKO_RECORDER_OUTPUT": str(trace)})
        means.add(shares(converter, data, program.folder), shares(converter, trace, program.folder))
        if not means.faults() and "--table" not in sys.argv:
            break
    return means, means.faults()


def compare_server(kind, size, condition, converter, library):
    """Returns "passed", "failed" or "skipped"."""
    name = f"{kind.name}, {condition}"
    try:
        with prepared(kind, size) as program:
            means, faults = compare(program, converter,
                                    {"LD_PRELOAD": library, "GECKO_RECORDER": "1", **CONDITIONS[condition]})
    except Missing as missing:
        print(f"{NAME}: LEFT OUT {name}: not installed: {missing}", flush=True)
        return "skipped"
    except (RuntimeError, subprocess.SubprocessError) as error:
        means, faults = Means(), [str(error)]
    for fault in faults:
        print(f"{NAME}: FAIL {name}: {fault}", flush=True)
    if "--table" in sys.argv:
        for function, perf, recorder in list(means.rows())[:SHOWN_COUNT]:
            print(f"{name:42} {function:36} perf {perf:5.1f}  recorder {recorder:5.1f}  {recorder - perf:+5.1f}"
                  f"  rounds {means.round_count}", flush=True)
    return "failed" if faults else "passed"


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
            counts = collections.Counter(skipped=len(SERVERS) * len(CONDITIONS))
        else:
            counts = collections.Counter(
                compare_server(kind, size, condition, str(build / "gecko-convert"), library)
                for kind, size in SERVERS.items() for condition in CONDITIONS)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{NAME}: {counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
