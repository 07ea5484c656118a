#!/usr/bin/env python3
"""Records programs with known shares of processor time, and compares the shares in their profiles.

usage: tests/accuracy/run.py BUILD [--table] [CASE...]

The programs in BUILD/accuracy measure how much processor time each of their functions uses. Each is recorded at 1 kHz:
as it is, without events of the kernel, and beside busy loops. In its profile, each function must have the same share of
the processor time as in truth, to within LIMIT_POINTS, and the same share of the samples, which the viewer counts. No
system call may be cut short, and no stack may have a frame of the recorder. With --table, all shares are printed.

Shares of samples vary by chance. The standard error of a share p of n samples is the square root of p * (1 - p) / n.
One second of processor time gives 1000 samples, or 250 by clock ticks of 4 ms, where the kernel refuses events: that is
3.2 points for p = 0.5. On a busy machine, a thread may run between two ticks often, so a tick stands for more time, and
the error is 6 to 7 points. A thread that also sleeps has samples of different weights, which adds a third. Most programs
work for longer than a tick in each function, which makes the error a fraction of that, but those with locks and short
waits cannot. So a program is recorded again until the sums of all rounds are right, or chance does not explain that they
are wrong: they are beyond the limit by CERTAIN_ERRORS standard errors, which the scatter of the rounds tells. Few rounds
may be right by chance, so their limit is narrower: by all of CAUTION after the first round, by half of it after two, and
so on. What is uncertain after the last round passes.

Simulated with a standard deviation of 2 points in a second, a recorder that is wrong by 5 points passes in 15 of 100
runs, one that is wrong by 6 in 6, one that is wrong by 2 in 997 of 1000, and one that is right always does. Rounds of a
second and the whole limit from the first round on would let 20 and 8 pass, and use more time.
"""
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

LIMIT_POINTS = 3
CERTAIN_ERRORS = 2.5
CAUTION = 0.6
# Fewer rounds do not show how much they vary. More would not change what most runs have shown by then.
ROUND_COUNT_MIN, ROUND_COUNT_MAX = 10, 100
# Nearly all processor time of a program must be in its profile.
TIME_PERCENT = 3
GIVE_UP_SECONDS = 300

# The second word is the processor time in milliseconds. The waits of `burst` take several times as long.
CASES = {
    "burst": ["burst", "500"],
    "calls": ["calls", "500"],
    "short transfers": ["transfers", "500"],
    "long transfers": ["transfers", "500", "long"],
    "pool": ["pool", "500"],
    "mix": ["mix", "500"],
    "threads": ["threads", "500"],
    "lengths": ["lengths", "500"],
    "faults": ["faults", "500"],
    "faults of large pages": ["faults", "500", "large"],
}
# On a busy machine, the sampler finds a thread late, and stacks show the end of a short one: at ten times as much other
# work as there are processors, functions of `threads` are off by 12 points. Only the sum of their time is known there.
# `lengths` is off by 18 if short threads do not keep their time from long ones. With more than ten times as much other
# work as processors, `touch` of large pages has 4 to 6 points too little, with events and without, `fetch_block` has 3
# too much, and `await_request` of `burst` has 3 too little.
EVENT_LIMITS = {"threads": 100, "lengths": 15, "faults of large pages": 8, "long transfers": 4}
LIMITS = {
    "as it is": EVENT_LIMITS,
    # Clock ticks miss what the scheduler does with interrupts disabled when a thread begins and ends its wait: the
    # kernel's own division into user and system time is wrong by as much. On virtual machines, this takes several
    # percent. Ticks show nothing of threads that live for less than a tick: only the sum of their time is known.
    "without events": {"burst": 10, "threads": 100, "lengths": 100, "faults of large pages": 8},
    "beside busy loops": {**EVENT_LIMITS, "burst": 5},
}


class Fault(Exception):
    """Raised if a round fails for a reason that chance does not explain."""


class Truth:
    """What a program has measured: nanoseconds in all, and in each function."""

    def __init__(self, text):
        self.total = self.cut_count = 0
        self.functions = {}
        for line in text.splitlines():
            kind, *words = line.split()
            if kind == "total":
                self.total = int(words[0])
            elif kind == "cut":
                self.cut_count = int(words[0])
            elif kind == "function":
                self.functions[words[0]] = int(words[1])


class Profile:
    """Processor time and samples of each function with its callees, and the libraries of all frames."""

    def __init__(self, text):
        profile = json.loads(text)
        # The recorder reports that the kernel refuses events.
        self.has_events = "perf_event_open: " not in text
        self.shared, self.libs = profile["shared"], profile["libs"]
        self.known_stacks = {}
        self.libraries = set()
        self.time, self.samples = collections.Counter(), collections.Counter()
        self.total_time = self.total_samples = 0
        unit = {"ns": 1, "µs": 1000, "us": 1000, "ms": 1000000}[profile["meta"]["sampleUnits"]["threadCPUDelta"]]
        for thread in profile["threads"]:
            samples = thread["samples"]
            for stack, cpu in zip(samples["stack"], samples["threadCPUDelta"]):
                self.add(stack, (cpu or 0) * unit)

    def frames(self, stack):
        """Returns the names of the functions of a stack, each once, and of their libraries."""
        if stack in self.known_stacks:
            return self.known_stacks[stack]
        table, strings = self.shared["frameTable"], self.shared["stringArray"]
        names, libraries, at = set(), set(), stack
        while at is not None:
            frame = self.shared["stackTable"]["frame"][at]
            names.add(strings[self.shared["funcTable"]["name"][table["func"][frame]]])
            if table["lib"][frame] >= 0:
                libraries.add(self.libs[table["lib"][frame]]["name"])
            offset = self.shared["stackTable"]["prefixOffset"][at]
            at = at - offset if offset else None
        self.known_stacks[stack] = names, libraries
        return names, libraries

    def add(self, stack, cpu_ns):
        """Adds a sample. Samples without processor time are of threads that wait."""
        names, libraries = self.frames(stack)
        self.libraries |= libraries
        if not cpu_ns:
            return
        self.total_time += cpu_ns
        self.total_samples += 1
        for name in names:
            self.time[name] += cpu_ns
            self.samples[name] += 1


class Sums:
    """Sums of all rounds of one case."""

    def __init__(self):
        self.true, self.time, self.samples = collections.Counter(), collections.Counter(), collections.Counter()
        self.true_total = self.total_time = self.total_samples = 0
        self.round_count = 0
        self.errors = collections.defaultdict(list)  # of each function's share of the processor time, in each round

    def add(self, truth, profile):
        self.round_count += 1
        self.true_total += truth.total
        self.total_time += profile.total_time
        self.total_samples += profile.total_samples
        for name, time in truth.functions.items():
            self.true[name] += time
            self.time[name] += profile.time[name]
            self.samples[name] += profile.samples[name]
            self.errors[name].append(100 * profile.time[name] / profile.total_time - 100 * time / truth.total)

    def standard_error(self, name):
        return statistics.stdev(self.errors[name]) / self.round_count ** 0.5 if self.round_count > 1 else 0

    def rows(self):
        """Yields each function with three shares: in truth, of processor time, and of samples."""
        for name, true in self.true.items():
            yield (name, 100 * true / self.true_total, 100 * self.time[name] / self.total_time,
                   100 * self.samples[name] / self.total_samples)

    def faults(self, limit, error_count=0):
        """Yields what is wrong: the shares that are beyond the limit by more than error_count standard errors."""
        if abs(self.total_time - self.true_total) * 100 > self.true_total * TIME_PERCENT:
            yield f"{self.total_time / 1e6:.0f} ms of processor time in place of {self.true_total / 1e6:.0f} ms"
        for name, true, time, samples in self.rows():
            for what, share in (("processor time", time), ("samples", samples)):
                if abs(share - true) > limit + error_count * self.standard_error(name):
                    yield f"{name} has {share:.1f} % of the {what} in place of {true:.1f} %"


def run(words, **others):
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=GIVE_UP_SECONDS,
                           check=False, **others)
    if ended.returncode != 0:
        raise Fault(f"{pathlib.Path(words[0]).name}: exit {ended.returncode}: {ended.stdout}{ended.stderr}")
    return ended.stdout


class BusyLoops:
    """Keeps the processors busy while at least one program is within it."""

    # The loops also end if this program is killed.
    CODE = f"ulimit -t {GIVE_UP_SECONDS}; while :; do :; done"

    def __init__(self, count):
        self.count = count
        self.lock = threading.Lock()
        self.user_count, self.loops = 0, []

    def __enter__(self):
        with self.lock:
            if not self.user_count:
                self.loops = [subprocess.Popen(["sh", "-c", self.CODE]) for _ in range(self.count)]
            self.user_count += 1

    def __exit__(self, *_):
        with self.lock:
            self.user_count -= 1
            if self.user_count:
                return
            for loop in self.loops:
                loop.kill()
                loop.wait()


def record(build, words, variables, load):
    """Returns what the program has measured, and its profile."""
    program, *arguments = words
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GECKO_RECORDER")}
    with tempfile.TemporaryDirectory() as folder:
        trace, path = pathlib.Path(folder) / "the.trace", pathlib.Path(folder) / "profile.json"
        environment.update(variables, LD_PRELOAD=str(build / "libgecko_preload.so"), GECKO_RECORDER="1",
                           GECKO_RECORDER_OUTPUT=str(trace))
        with load:
            truth = Truth(run([build / "accuracy" / program, *arguments], env=environment))
        run([build / "gecko-convert", "--quiet", trace, "-o", path])
        run([build / "gecko-convert", "check", path])
        return truth, Profile(path.read_text())


def check_round(truth, profile, condition):
    """Raises a Fault for the first error that chance does not explain."""
    if truth.cut_count:
        raise Fault(f"{truth.cut_count} system calls were cut short")
    if any(name.startswith("libgecko_") for name in profile.libraries):
        raise Fault("a stack has frames of the recorder")
    if condition == "without events" and profile.has_events:
        raise Fault("the recorder uses events")


def check(build, case, condition, load):
    """Returns the sums of a case and its faults."""
    variables = {"GECKO_RECORDER_EVENTS": "0"} if condition == "without events" else {}
    sums, faults = Sums(), []
    while sums.round_count < ROUND_COUNT_MAX:
        try:
            truth, profile = record(build, CASES[case], variables, load)
            check_round(truth, profile, condition)
        except (Fault, subprocess.TimeoutExpired) as fault:
            return sums, [str(fault)]
        sums.add(truth, profile)
        limit = LIMITS[condition if profile.has_events else "without events"].get(case, LIMIT_POINTS)
        faults = list(sums.faults(limit, CERTAIN_ERRORS))
        if faults and sums.round_count >= ROUND_COUNT_MIN:
            break
        if not any(sums.faults(limit * (1 - CAUTION / sums.round_count))):
            return sums, []
    return sums, faults


def check_all(build, cases, conditions, job_count, load):
    """Yields each case with its condition, sums and faults."""
    with concurrent.futures.ThreadPoolExecutor(job_count) as pool:
        jobs = {pool.submit(check, build, case, condition, load): (case, condition)
                for case in cases for condition in conditions}
        for job in concurrent.futures.as_completed(jobs):
            yield *jobs[job], *job.result()


def check_everywhere(build, cases):
    """Shares are of processor time, so programs may run side by side. Beside the loops, all of them do: the last of them
    too, which may have many rounds, has a loop on its processor."""
    yield from check_all(build, cases, ["as it is", "without events"], os.cpu_count(), contextlib.nullcontext())
    yield from check_all(build, cases, ["beside busy loops"], len(cases), BusyLoops(os.cpu_count()))


def print_table(case, condition, sums):
    for name, true, time, samples in sums.rows():
        print(f"{case:22} {condition:18} {name:16} true {true:5.1f}  time {time - true:+5.1f}"
              f"  samples {samples - true:+5.1f}  rounds {sums.round_count}", flush=True)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    wanted = [word for word in sys.argv[2:] if word != "--table"]
    passed = failed = 0
    for case, condition, sums, faults in check_everywhere(build, [case for case in CASES if not wanted or case in wanted]):
        if "--table" in sys.argv:
            print_table(case, condition, sums)
        for fault in faults:
            print(f"accuracy: {case}, {condition}: {fault}", file=sys.stderr, flush=True)
        passed += not faults
        failed += bool(faults)
    print(f"accuracy: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
