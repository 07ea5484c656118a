#!/usr/bin/env python3
"""Compares the readers of perf.data and of perf script's text: check_perf_data.py GECKO_CONVERT

Both read each recording in fixtures/perf-data, and recordings that are made now if perf may record here. No symbols are
looked up: threads must have the same samples, whose frames lie at the same addresses in the same files.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

converter = os.path.abspath(sys.argv[1])
fixtures = pathlib.Path(__file__).resolve().parent.parent.parent / "fixtures" / "perf-data"

# Without symbols copied stacks are not unwound here, and perf unwinds them. Without callchains perf prints addresses in
# memory, which the text's reader cannot place in a forked process: only records of perf.data show what it inherits.
UNCOMPARABLE = {"dwarf", "lost", "no-callgraph"}

# The callers of these have the addresses of calls, or those just before the return addresses. The text does not tell them
# apart from callchains, which have return addresses, so its reader subtracts one.
HAS_CALLS = {"branch-calls", "branch-calls-without-index", "dwarf-walked"}

# Markers of what perf script does not print with these fields.
UNPRINTED = {"Control group", "Lost", "Namespaces", "Throttled"}

# The text has this event's own name alone, so the interval that it was recorded with is not known, by which waits are
# divided into samples.
IS_COMPARED_WITHOUT_WAITS = {"named-clock"}

# What perf record is given before the program, and the fields that perf script can print of it.
RECORDINGS = {
    "frame pointers": ["-F", "999", "-e", "cpu-clock", "-g"],
    "compressed": ["-z", "-F", "999", "-e", "cpu-clock", "-g"],
    "several events": ["-F", "999", "-e", "cpu-clock,page-faults", "-g"],
    "threads": ["--threads", "-F", "999", "-e", "cpu-clock", "-g"],
    "threads, compressed": ["--threads", "-z", "-F", "999", "-e", "cpu-clock", "-g"],
    "switches": ["--switch-events", "-F", "999", "-e", "cpu-clock", "-g"],
    "off-CPU time": ["-e", "cpu-clock/freq=999/", "-e", "sched:sched_switch", "--switch-events", "-g"],
    "build ids": ["--buildid-mmap", "-F", "999", "-e", "cpu-clock", "-g"],
}
FIELDS = "comm,pid,tid,time,period,event,ip,dso,trace"
BUSY = ["sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; (ls /usr/bin; exec true) >/dev/null"]


# The same part of both is compared.
FILTERS = ("--time=", "--pid=", "--tid=", "--comm=", "--exclude-comm=", "--cpu=")


def convert(path, folder, name, options=("--symbols=none",)):
    output = folder / f"{name}.json"
    subprocess.run([converter, "--quiet", *options, str(path), "-o", str(output)], check=True)
    return json.loads(output.read_text())


def undo_subtraction(path):
    """Adds one to the addresses of the callers in user code: all its frames but the innermost."""
    is_user = [not file.startswith("[kernel") for file, _ in path]
    return tuple((file, address + (is_user[i] and any(is_user[i + 1:]))) for i, (file, address) in enumerate(path))


def samples(profile):
    """Counts the samples of (pid, tid, thread's name; frames from the outermost in)."""
    shared = profile["shared"]
    strings, frames, stacks = shared["stringArray"], shared["frameTable"], shared["stackTable"]
    libraries = [library["path"] for library in profile["libs"]]

    def place(frame):
        library = frames["lib"][frame]
        if library >= 0:
            return libraries[library], frames["address"][frame]
        return "", strings[shared["funcTable"]["name"][frames["func"][frame]]].split("+")[0].startswith("[truncated")

    paths = []
    for row, offset in enumerate(stacks["prefixOffset"]):
        paths.append((paths[row - offset] if offset else ()) + (place(stacks["frame"][row]),))
    counts = collections.Counter()
    for thread in profile["threads"]:
        for stack in thread["samples"]["stack"]:
            path = () if stack is None else paths[stack]
            counts[(str(thread["pid"]), str(thread["tid"]), thread["name"], path)] += 1
    return counts


def markers(profile):
    """Counts the markers of (thread's name, marker's name, phase)."""
    strings = profile["shared"]["stringArray"]
    return collections.Counter(
        (thread["name"], strings[name], phase) for thread in profile["threads"]
        for name, phase in zip(thread["markers"]["name"], thread["markers"]["phase"])
        if strings[name] not in UNPRINTED)


def weights(profile):
    """Returns the sum of the times of each thread's samples, which weigh time if the recording tells of waits."""
    return {(thread["pid"], thread["tid"]): sum(thread["samples"]["weight"]) for thread in profile["threads"]
            if thread["samples"]["weightType"] == "tracing-ms"}


def are_near(one, other):
    """The text has microseconds. perf prints nothing of samples without frames, so a thread may lack its first one."""
    return one.keys() == other.keys() and all(abs(one[key] - other[key]) <= 0.01 + 0.001 * one[key] for key in one)


def options_of(case):
    """Returns what the fixture is converted with. Code is found in files that are stored beside it."""
    return (case / "options").read_text().replace("CASE", str(case)).split()


def differences(name, data, text, folder, options=("--symbols=none",)):
    """Returns lines that tell how the samples and markers of the profiles differ. The text lacks samples without frames."""
    filters = [option for option in options if option.startswith(FILTERS)]
    waits = ["--off-cpu=no"] if name in IS_COMPARED_WITHOUT_WAITS else []
    ours = convert(data, folder, "data", [*options, *waits])
    theirs = convert(text, folder, "text", ["--symbols=none", *filters, *waits])
    printed = samples(theirs)
    if name in HAS_CALLS:
        printed = collections.Counter({(*thread, undo_subtraction(path)): n for (*thread, path), n in printed.items()})
    missing = printed - samples(ours)
    surplus = samples(ours) - printed
    if name in UNCOMPARABLE:
        has_fewer = sum(samples(ours).values()) < sum(samples(theirs).values())
        return [f"perf.data: {name}: fewer samples than the text"] if has_fewer else []
    if not are_near(weights(ours), weights(theirs)):
        return [f"perf.data: {name}: threads weigh {weights(ours)}, and of the text {weights(theirs)}"]
    if not missing and not surplus and markers(ours) == markers(theirs):
        return []
    return [f"perf.data: {name}: of the text alone: {sum(missing.values())}, of perf.data alone: {sum(surplus.values())}",
            *(f"  {sign} {count} {sample}" for only, sign in ((missing, "<"), (surplus, ">"))
              for sample, count in list(only.items())[:3])]


def recording_of(case, folder):
    """Returns the recording of a fixture. A recording that is a folder is unpacked first."""
    packed = case / "input.tar.zst"
    if not packed.exists():
        return case / "input.data.zst"
    subprocess.run(["tar", "-C", str(folder), "-xf", str(packed)], check=True)
    return folder / f"{case.name}.data"


def record(name, options, folder):
    """Returns the recording and its text; None if perf is not there or may not record."""
    data, text = folder / f"{name}.data", folder / "recorded.txt"
    try:
        subprocess.run(["perf", "record", "-q", "-o", str(data), *options, *BUSY], check=True, capture_output=True)
        printed = subprocess.run(
            ["perf", "script", "-F", FIELDS, "--show-task-events", "--show-mmap-events",
             "--show-switch-events", "-i", str(data)],
            check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    text.write_bytes(printed.stdout)
    return data, text


def check_fixture(text):
    case = text.parent
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        return differences(case.name, recording_of(case, folder), text, folder, options_of(case))


def check_recording(name, options):
    """Returns None if perf is not there or may not record."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        recorded = record(name, options, folder)
        return differences(name, *recorded, folder) if recorded else None


def main():
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        of_fixtures = pool.map(check_fixture, sorted(fixtures.glob("*/script.txt.zst")))
        # One after another, because the recordings of one user share the memory that perf may lock.
        of_recordings = [check_recording(*recording) for recording in RECORDINGS.items()]
        results = [*of_fixtures, *of_recordings]
    for lines in filter(None, results):
        print("\n".join(lines))
    skipped = results.count(None)
    passed = results.count([])
    failed = len(results) - passed - skipped
    if skipped:
        print(f"perf.data: {skipped} recordings were not made: perf may not record here")
    print(f"perf.data beside perf script: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
