#!/usr/bin/env python3
"""Compares collapsed stacks of perf's text with those that inferno-collapse-perf makes of it: compare_inferno.py [FILE...]

Without arguments, all of fixtures/perf-script. They must be equal, without and with ids and marks, except for what REASONS and
REASONS_OF_MARKS say of a recording, and for three differences in names, which are undone before the comparison. docs/formats.md
explains all of them. INFERNO names the program
(cargo install inferno, version 0.12), GECKO_CONVERT the converter.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

PROGRAM = os.environ.get("GECKO_CONVERT", "build/gecko-convert")
INFERNO = os.environ.get("INFERNO", "inferno-collapse-perf")
FIXTURES = pathlib.Path(__file__).resolve().parent.parent.parent / "fixtures" / "perf-script"

# Why recordings differ, by the names of their folders or files.
REASONS = {
    "text that inferno takes for no sample, or not for what it is":
        "blank-line-of-blanks branch-stack branch-stack-no-callgraph branch-symbols-no-callgraph branch-target cgroup "
        "fields-behind-library fields-behind-symbol fields-of-page-faults fields-without-symbols fp-ip-only fp-sym-only "
        "frames-without-parts guest idle-system ip-only kernel-mapping-late library-names lost-indentation "
        "lost-indentation-srcline memory-fields memory-in-use no-callgraph-no-event no-time-no-callgraph nocallgraph "
        "pairs registers simpleperf-tabs srcline-inlined stream-noise tid-only-pid-told tod tod-only trace-error "
        "tracepoint-fields tracepoint-frames tracepoints-stacks unknown-thread unknown-thread-tid-only wakeups "
        "wakeups-exit",
    "the main event, not the first one, of which inferno takes records for an event too":
        "event-tie exec-rename exec-twice filtered-parents fork-renamed forked-mappings fp-mmap-task hybrid lost "
        "merged-threads misc mmap-task multi-event off-cpu off-cpu-delayed off-cpu-exec off-cpu-exit off-cpu-only "
        "off-cpu-time off-cpu-time-filtered off-cpu-time-only "
        "off-cpu-lost off-cpu-time-track off-cpu-two-clocks other-records pid-reuse switch switch-cpu-wide switch-events "
        "tracepoint-no-stack tracepoint-stacks tracepoints-outnumber",
    "names of threads, which inferno cuts at a number":
        "comm-like-fields comm-with-blanks comm-with-blanks-tid-only",
    "the last name of a thread, not that at the time of the sample":
        "perf-script-varied system-ns-period-cpu system-wide",
    "names of functions: signatures that inferno cuts elsewhere, scripts, Java classes":
        "cpp-names dotnet-tiers java-perf-map node-jit python-perf-map",
    "control characters":
        "nul-byte odd-bytes",
    "deferred callers, which inferno does not know":
        "deferred-callchain",
    "a time that cannot be true, whose sample we leave out":
        "time-of-damage",
}

# Why those that are equal otherwise differ with ids and marks.
REASONS_OF_MARKS = {
    "code of the kernel that perf names otherwise than by brackets, and of programs in brackets": "aarch64 kernel-modules",
    "the process of a thread, which other lines tell": "idle per-cpu",
}

# Options of both programs.
WAYS = (([], []), (["--frames=tid,kernel,jit"], ["--tid", "--kernel", "--jit"]))


def plain(frame):
    """Returns the name as inferno has it: without arguments, the version of a symbol, and the mark of inlined frames."""
    mark = re.search(r"(_\[[kj]\])?$", frame)[0]
    frame = frame.removesuffix(mark)
    arguments = re.search(r"\((?!anonymous namespace\))", frame)
    if arguments and not re.search(r"\.\(.*\)\.", frame):
        frame = frame[:arguments.start()]
    return re.sub(r"@+GLIBC[A-Z_0-9.]*$|_\[i\]$", "", frame) + mark


def weights(output):
    """Returns the weight of each stack. The outermost callers that are no code are left out."""
    sums = collections.Counter()
    for line in output.decode(errors="replace").splitlines():
        stack, weight = line.rsplit(" ", 1)
        thread, *frames = stack.split(";")
        frames = [plain(frame) for frame in frames]
        while len(frames) > 1 and frames[0] == "[unknown]":
            frames.pop(0)
        sums[";".join([thread, *frames])] += int(weight)
    return sums


def run(*command):
    return subprocess.run(command, capture_output=True, check=False).stdout


def is_same(path, ours, theirs):
    """Returns whether both programs make the same of the text, each with its options."""
    ours = run(PROGRAM, "--quiet", "--from", "perf-script", "--symbols=none", "--weight=period", "--off-cpu=no", "-f",
               "collapsed", *ours, path, "-o", "-")
    theirs = run(INFERNO, *theirs, path)
    return ours == theirs or weights(ours) == weights(theirs)


def main():
    paths = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(FIXTURES.glob("*/input.txt"))
    reasons = [{case for cases in reasons.values() for case in cases.split()} for reasons in (REASONS, REASONS_OF_MARKS)]
    passed, failed = 0, 0
    for path in paths:
        case = path.parent.name if path.stem == "input" else path.stem
        expected = [case not in reasons[0], case not in reasons[0] | reasons[1]]
        found = [is_same(path, *way) for way in WAYS]
        passed, failed = passed + (found == expected), failed + (found != expected)
        if found != expected:
            print(f"inferno: {path}: is equal {found}, expected {expected} (without and with ids and marks)")
    print(f"inferno: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
