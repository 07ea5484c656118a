#!/usr/bin/env python3
"""Compares collapsed stacks of perf's text with those that inferno-collapse-perf makes of it: compare_inferno.py [FILE...]

Without arguments, all of fixtures/perf-script. They must be equal, except for what REASONS says of a recording, and for three
differences in names, which are undone before the comparison. docs/formats.md explains all of them. INFERNO names the program
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
        "merged-threads misc mmap-task multi-event off-cpu off-cpu-exec off-cpu-exit off-cpu-only off-cpu-time "
        "off-cpu-time-filtered off-cpu-time-only "
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


def plain(frame):
    """Returns the name as inferno has it: without arguments, the version of a symbol, and the mark of inlined frames."""
    arguments = re.search(r"\((?!anonymous namespace\))", frame)
    if arguments and not re.search(r"\.\(.*\)\.", frame):
        frame = frame[:arguments.start()]
    return re.sub(r"@+GLIBC[A-Z_0-9.]*$|_\[i\]$", "", frame)


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


def main():
    paths = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(FIXTURES.glob("*/input.txt"))
    reasons = {case: reason for reason, cases in REASONS.items() for case in cases.split()}
    passed, failed = 0, 0
    for path in paths:
        ours = run(PROGRAM, "--quiet", "--from", "perf-script", "--symbols=none", "--weight=period", "--off-cpu=no", "-f",
                   "collapsed", path, "-o", "-")
        theirs = run(INFERNO, path)
        is_equal = ours == theirs or weights(ours) == weights(theirs)
        case = path.parent.name if path.stem == "input" else path.stem
        is_expected = is_equal == (case not in reasons)
        passed, failed = passed + is_expected, failed + (not is_expected)
        if not is_expected:
            print(f"inferno: {path}: {'equal, but REASONS names it' if is_equal else 'differs'}")
    print(f"inferno: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
