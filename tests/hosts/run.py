#!/usr/bin/env python3
"""Runs every case of the programs in BUILD/hosts without the recorder, and twice with the recorder preloaded: at 10 kHz in
a process of its own, and at 1 kHz in a forked child, whose sampler begins late. Both must have the same output and exit
code as without the recorder, and a trace that becomes a good profile. The parent of such a child adds a line that tells
how the child ended. Without the recorder, nothing is sampled, so cases work for a shorter time. So do cases that need not
have a certain number of samples, and those that are sampled often. With --all, both places are tried at both rates.

usage: tests/hosts/run.py BUILD [--all] [CASE...]

GECKO_CONVERT names the converter, or it is BUILD/gecko-convert.
"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

PROGRAMS = ["children", "confined", "descriptors", "processes", "signals", "stacks", "threads", "transfers", "waits"]
IN_CHILD = ["in-child"]
# Where a case runs, and the interval of the sampler in milliseconds.
OFTEN, SELDOM = "0.1", "1"
WAYS = [([], OFTEN), (IN_CHILD, SELDOM)]
ALL_WAYS = [*WAYS, ([], SELDOM), (IN_CHILD, OFTEN)]
NEEDS_ROOT = {"change-root", "change-root-at-once", "change-root-with-own-storage", "change-user-of-child",
              "give-up-rights", "keep-capabilities", "make-first-of-first"}
# Variables with which a case runs too. Without the cycle counter, both clocks must be tested because the C library's
# CLOCK_MONOTONIC reads the counter too. Without events, no thread has had one whose signals name a file.
MONOTONIC = {"GECKO_RECORDER_CLOCK": "monotonic"}
VARIABLES = {"forbid-counter": MONOTONIC, "confine-strictly": MONOTONIC, "read-when-told": {"GECKO_RECORDER_EVENTS": "0"}}
# At least this share of the samples with processor time must have callers, unless the case hides them.
STACK_SHARE = 0.95
LOWER_SHARES = {
    # The kernel does not show the sampler of their children what threads wait in. So a thread that has no processor, as
    # happens on a busy machine, is not sampled.
    "change-root": 0.5,
    "change-root-with-own-storage": 0.5,
    "give-up-rights": 0.5,
    "keep-capabilities": 0.5,
    "change-root-at-once": 0.5,
    "change-user-of-child": 0.5,
    "make-first-of-first": 0.5,
    "filter-handlers": 0,  # it must not be signalled
    "handle-on-other-stack": 0.2,  # it works in a handler for two thirds of the time, on a stack without room
    # Their alternate stacks have no room for the recorder's handler.
    "have-small-stack": 0,
    "end-on-small-stack": 0,
    "map-all in-child": 0,  # it has taken all mappings before its sampler begins, which needs some
    "load-and-unload": 0.5,  # the sampler has not yet read the library that it has just loaded
    "own-storage": 0,  # the C library does not know its thread
    "raw-thread": 0,  # the C library does not know its thread
    "start-many": 0.85,  # some samples are in the code of the C library by which its short threads begin and end
    # These handle both signals that the sampler may use.
    "set-in-child": 0,
    "share-signals-at-once": 0,
}
# These make it hard to take stacks, so they must have at least BUSY_COUNT_MIN samples with processor time.
MUST_BE_SAMPLED = {"block-then-handle", "block-then-read", "change-root", "coroutines", "end-first-at-once",
                   "end-with-all-blocked",
                   "execute-at-once", "filter-at-once", "filter-calls", "forbid-files", "give-up-rights", "handle-all",
                   "handle-on-other-stack", "jump-out-of-wait", "make-first-of-first", "make-namespace-at-once",
                   "read-signals", "refuse-small-stack",
                   "work-in-handler", "work-with-all-blocked"}
# The function work must be in most stacks of these, which work in it after or during a wait.
MUST_SHOW_WORK = {"jump-out-of-wait", "jump-out-of-wait-and-wait", "work-in-handler"}
WORK_SHARE = 0.7
BUSY_COUNT_MIN = 20
# The function of a sample for processor time of a short process that no other sample stands for.
BETWEEN_SAMPLES = "(between samples)"
FEW_COUNT = 3
# Shares of samples vary by chance. On a busy machine the sampler comes late and misses stacks, and later ones stand for
# their time, so a few hundred samples are as good as some tens.
ROUND_COUNT_MAX = 5
HANG_SECONDS = 300


@contextlib.contextmanager
def open_folder():
    """Yields an empty folder in which all users may write."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        yield folder


def run(program, arguments, folder, variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GECKO_RECORDER")}
    environment.update(variables, LC_ALL="C")
    with subprocess.Popen([program, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=HANG_SECONDS)
        except BaseException:
            # Its children may also hang, or make more and more of each other.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, output


def in_child(plain):
    """Returns the exit code and output of a case in a child, from those of the case in a process of its own."""
    code, output = plain
    ended = code if code >= 0 else 256 - code
    return 0, output + f"case {ended}\n".encode()


def function_names(shared, stack):
    names = []
    while stack is not None:
        function = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
        names.append(shared["stringArray"][shared["funcTable"]["name"][function]])
        offset = shared["stackTable"]["prefixOffset"][stack]
        stack = stack - offset if offset else None
    return names


def count_stacks(profile):
    """Returns how many samples have processor time, and how many of those have a caller, and the function work."""
    busy = whole = working = 0
    for thread in profile["threads"]:
        samples = thread["samples"]
        for stack, cpu in zip(samples["stack"], samples.get("threadCPUDelta") or []):
            if not cpu:
                continue
            names = function_names(profile["shared"], stack)
            if names == [BETWEEN_SAMPLES]:
                continue
            busy += 1
            whole += len(names) > 1
            working += "work" in names
    return busy, whole, working


def stack_faults(case, place, counts, round_count):
    """Yields what is wrong with the sums of count_stacks over round_count rounds."""
    busy, whole, working = counts
    if case in MUST_BE_SAMPLED and busy < BUSY_COUNT_MIN * round_count:
        yield f"only {busy} samples at work"
    # If there are only a few samples, some may have no callers.
    share = LOWER_SHARES.get(" ".join([case, *place]), LOWER_SHARES.get(case, STACK_SHARE))
    if whole + FEW_COUNT * round_count < busy * share:
        yield f"only {whole} of {busy} samples at work have callers"
    if case in MUST_SHOW_WORK and working < busy * WORK_SHARE:
        yield f"only {working} of {busy} samples at work show it"


class Fault(Exception):
    """Raised if a recording is wrong in a way that chance does not explain."""


def read_profile(converter, case, trace, folder):
    profile = folder / "profile.json"
    symbols = [] if case in MUST_SHOW_WORK else ["--symbols", "none"]
    for arguments in (["--quiet", *symbols, trace, "-o", profile], ["check", profile]):
        ended = subprocess.run([converter, *arguments], capture_output=True, timeout=HANG_SECONDS, check=False)
        if ended.returncode != 0:
            raise Fault(f"gecko-convert {arguments[0]}: {ended.returncode}: "
                        f"{ended.stderr.decode()}{ended.stdout.decode()}")
    return json.loads(profile.read_text())


def work_percent(case, interval):
    """Returns how much of its work a case does when it is recorded."""
    if case not in MUST_BE_SAMPLED | MUST_SHOW_WORK:
        return "20"
    return "50" if interval == OFTEN else "100"


def record(build, program, case, place, variables, expected):
    """Returns the counts of count_stacks."""
    with open_folder() as folder:
        trace = folder / "the.trace"
        recorded = run(program, [case, *place], folder, {
            "LD_PRELOAD": str(build / "libgecko_preload.so"), "GECKO_RECORDER": "1", "GECKO_RECORDER_OUTPUT": str(trace),
            "HOST_WORK_PERCENT": work_percent(case, variables["GECKO_RECORDER_INTERVAL"]), **variables})
        if recorded != expected:
            raise Fault(f"{recorded} in place of {expected}")
        return count_stacks(read_profile(os.environ.get("GECKO_CONVERT", build / "gecko-convert"), case, trace, folder))


def record_faults(build, program, case, place, variables, expected):
    """Records until the sums of all rounds are right. Chance has little effect on the sums of ROUND_COUNT_MAX rounds."""
    sums, faults = (0, 0, 0), []
    for round_count in range(1, ROUND_COUNT_MAX + 1):
        try:
            counts = record(build, program, case, place, variables, expected)
        except Fault as fault:
            return [str(fault)]
        sums = tuple(map(sum, zip(sums, counts)))
        faults = list(stack_faults(case, place, sums, round_count))
        if not faults:
            break
    return faults


def faults_of(build, program, case, place, interval, expected):
    for more in [{}, VARIABLES[case]] if case in VARIABLES else [{}]:
        variables = {"GECKO_RECORDER_INTERVAL": interval, **more}
        where = f"{' '.join(place)} every {interval} ms {' '.join(map('='.join, more.items()))}"
        for fault in record_faults(build, program, case, place, variables, expected):
            yield f"{where}: {fault}"


def check(build, program, case, ways):
    try:
        with open_folder() as folder:
            plain = run(program, [case], folder, {"HOST_WORK_PERCENT": "5"})
        return [fault for place, interval in ways
                for fault in faults_of(build, program, case, place, interval, in_child(plain) if place else plain)]
    except subprocess.TimeoutExpired as expired:
        return [f"hangs: {expired}"]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    wanted = [word for word in sys.argv[2:] if word != "--all"]
    ways = ALL_WAYS if "--all" in sys.argv else WAYS
    passed = skipped = failed = 0
    jobs = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in PROGRAMS:
            program = build / "hosts" / name
            for case in subprocess.run([program], capture_output=True, check=True).stdout.decode().split():
                if wanted and case not in wanted:
                    continue
                if case in NEEDS_ROOT and os.geteuid() != 0:
                    skipped += 1
                    continue
                jobs[pool.submit(check, build, program, case, ways)] = f"{name} {case}"
        for job in concurrent.futures.as_completed(jobs):
            for fault in job.result():
                print(f"{jobs[job]}: {fault}", file=sys.stderr)
            passed += not job.result()
            failed += bool(job.result())
    left_out = f", {skipped} need root" if skipped else ""
    print(f"hosts: {passed} passed, {failed} failed{left_out}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
