#!/usr/bin/env python3
"""Real programs with the recorder preloaded: run.py BUILD [NAME…]

Each program must have the same output and exit code as without the recorder. Its trace must convert to a valid profile. If
its threads are busy, nearly all samples must have stacks. Programs that are not installed are reported and left out.

The sampler of a short program may not get a processor in time if the machine is busy, so a program whose trace has no
samples runs again.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from real_programs import PROGRAMS, Missing, libraries_for_all, prepared

# What signals disturb at the default interval, they disturb ten times as often at this one.
INTERVAL_MS = "0.1"
STACKS_PERCENT = 95
ATTEMPTS_MAX = 20
NO_SAMPLES = "no sample"  # is part of what the converter says of a trace without samples
passed = failed = 0


def report(what, problem):
    global passed, failed
    if problem:
        failed += 1
        print(f"real programs: FAIL {what}: {problem}", flush=True)
    else:
        passed += 1


def convert(converter, trace, profile):
    for words in ([converter, "--quiet", trace, "-o", profile], [converter, "check", profile]):
        result = subprocess.run(words, capture_output=True, text=True, check=False)
        if result.returncode:
            return f"{words[1]}: exit {result.returncode}: {(result.stdout + result.stderr).strip()[-500:]}"
    return None


def busy_samples(profile):
    """Counts samples of threads that were running for half of the time since their last sample: with a stack, and all."""
    unit_ms = {"ns": 1e-6, "µs": 1e-3, "us": 1e-3, "ms": 1}[profile["meta"]["sampleUnits"]["threadCPUDelta"]]
    with_stack = count = 0
    for thread in profile["threads"]:
        samples = thread["samples"]
        times = samples.get("time")
        for i in range(1, samples["length"]):
            passed_ms = times[i] - times[i - 1] if times else samples["timeDeltas"][i]
            used_ms = (samples["threadCPUDelta"][i] or 0) * unit_ms
            if used_ms * 2 < max(passed_ms, float(INTERVAL_MS)):
                continue
            count += 1
            with_stack += samples["stack"][i] is not None
    return with_stack, count


def look_for_stacks(profile):
    with_stack, count = busy_samples(json.loads(profile.read_text()))
    if not count:
        return f"{NO_SAMPLES} of a busy thread"
    if with_stack * 100 < count * STACKS_PERCENT:
        return f"{with_stack} of {count} samples of busy threads have stacks"
    return None


def problems_of(program, plain, converter, library):
    """Records the program, and returns what is wrong with it, its trace and its stacks, or None for each of these."""
    trace, profile = program.folder / "the.trace", program.folder / "profile.json"
    trace.unlink(missing_ok=True)
    recorded = program.run(environment={"LD_PRELOAD": library, "GECKO_RECORDER": "1",
                                        "GECKO_RECORDER_OUTPUT": str(trace), "GECKO_RECORDER_INTERVAL": INTERVAL_MS})
    is_same = (recorded.status, recorded.output) == (plain.status, plain.output)
    difference = f"exit {recorded.status} for {plain.status}, output {recorded.output!r} for {plain.output!r}"
    problems = [None if is_same else difference, convert(converter, trace, profile)]
    if program.busy and not problems[1]:
        problems.append(look_for_stacks(profile))
    return problems


def try_program(kind, converter, library):
    with prepared(kind) as program:
        plain = program.run()
        for _ in range(ATTEMPTS_MAX):
            problems = problems_of(program, plain, converter, library)
            if problems[0] or not any(NO_SAMPLES in problem for problem in problems if problem):
                break
        for problem in problems:
            report(kind.name, problem)


def main():
    build, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    for name in list(os.environ):
        if name.startswith("GECKO_RECORDER"):
            del os.environ[name]
    with tempfile.TemporaryDirectory() as folder:
        library = libraries_for_all(build, folder)
        for kind in PROGRAMS:
            if wanted and not any(word in kind.name for word in wanted):
                continue
            try:
                try_program(kind, str(build / "gecko-convert"), library)
            except Missing as missing:
                print(f"real programs: LEFT OUT {kind.name}: not installed: {missing}", flush=True)
            except (RuntimeError, subprocess.SubprocessError) as error:
                report(kind.name, str(error))
    print(f"real programs: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
