#!/usr/bin/env python3
"""Checks that profiles, plain and compressed, are the same bytes for any number of threads.

usage: check_jobs.py GECKO_CONVERT [TRACE…]

Converts recordings, TRACEs, and large traces that the script makes: from files with 1, 2, 3 and 8 threads, and from a
pipe with 1 and 2. Most fixtures have work for one thread, so one other number of threads is tried with them. Each
compressed profile must be one gzip member with the same content as the plain one."""
import glob
import lzma
import os
import random
import subprocess
import sys
import tempfile
import zlib

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures")
# The numbers of threads beside one: of conversions from files, and from pipes.
ALL_JOBS, FEW_JOBS = (["2", "3", "8"], ["1", "2"]), (["3"], ["2"])
PROGRAM, TRACES = os.path.abspath(sys.argv[1]), sys.argv[2:]


def ragged_parts(i, stack):
    """Returns what a reader of samples with stacks does not expect, in turn."""
    event = f"app 7/7 [000] {i // 1000}.{i % 1000 * 1000:06}: 250000 cpu-clock:"
    return [
        "this line is damaged\n",
        f"{event}\n\n",
        f"{event} 1000 f+0x1 (/usr/lib/lib1.so)\n",
        f"{event}\n{stack}\n".replace("\n", "\r\n"),
        f"{event}\n{stack}# a comment in a stack\n{stack}\n",
        f"{event}\n{stack * 1200}\n",  # larger than a block
        f"app-{i} 9 {i // 1000}.{i % 1000 * 1000:06}: sched:sched_switch: prev_comm=app\n{stack}\n",
        f"app 7/7 [000] {i // 1000}.{i % 1000 * 1000:06}: PERF_RECORD_COMM exec: renamed:7/7\n",
        f"{stack}\n",
    ]


def write_script(path):
    """Text of perf script with different stacks and long lines: 20 MB, and a profile of several MB."""
    numbers = random.Random(1)
    lines = [f"\t{4096 + i * 16:16x} f{i // 4}+0x{i % 4 * 16:x} (/usr/lib/lib{i % 50}.so)\n" for i in range(3000)]
    lines.append("\t1000 " + "n" * 300000 + "+0x1 (/usr/lib/long.so)\n")
    with open(path, "w", newline="") as trace:
        for i in range(40000):
            tid = 7 + numbers.randrange(20)
            stack = "".join(numbers.choices(lines[:-1] if i % 5000 else lines, k=10))
            trace.write(f"app 7/{tid} [000] {i // 1000}.{i % 1000 * 1000:06}: 250000 cpu-clock: \n{stack}\n")
            if i % 700 == 300:
                parts = ragged_parts(i, stack)
                trace.write(parts[i // 700 % len(parts)])


def write_collapsed(path):
    numbers = random.Random(2)
    with open(path, "w") as trace:
        for i in range(120000):
            trace.write(";".join(f"f{numbers.randrange(3000)}" for _ in range(8)) + f" {i % 9 + 1}\n")


def cases(folder):
    """Yields inputs, options and numbers of threads."""
    for path in sorted(glob.glob(f"{FIXTURES}/*/*/input.*")):
        case = os.path.dirname(path)
        options = open(f"{case}/options").read().split() if os.path.exists(f"{case}/options") else []
        reader = os.path.basename(os.path.dirname(case))
        yield [path], ["--from", reader, "--symbols=none"] + options, FEW_JOBS
    for case in sorted(glob.glob(f"{FIXTURES}/together/*/")):
        options = open(f"{case}options").read().replace("CASE", case.rstrip("/")).split()
        yield sorted(glob.glob(f"{case}part.*")), options, FEW_JOBS
    for path in sorted(glob.glob(f"{FIXTURES}/recordings/*.xz")) + TRACES:
        yield [path], ["--symbols=none"], ALL_JOBS
    for name, write in (("large.txt", write_script), ("large.folded", write_collapsed)):
        path = os.path.join(folder, name)
        write(path)
        yield [path], ["--symbols=none"], ALL_JOBS


def convert(inputs, options, output, stdin=None):
    """Returns the exit code, the messages and the output; an output that was not written is None."""
    if os.path.exists(output):
        os.unlink(output)
    command = [PROGRAM, "--quiet", *options, *inputs, "-o", output]
    done = subprocess.run(command, input=stdin, stdin=None if stdin else subprocess.DEVNULL, capture_output=True,
                          check=False)
    written = open(output, "rb").read() if os.path.exists(output) else None
    return done.returncode, done.stderr, written


def unpack(packed):
    """Returns the content of the only member."""
    member = zlib.decompressobj(wbits=31)
    content = member.decompress(packed)
    return content if member.eof and not member.unused_data else None


def differences(inputs, options, folder, jobs_of_files, jobs_of_pipes):
    plain = convert(inputs, options + ["--jobs", "1"], f"{folder}/out.json")
    packed = convert(inputs, options + ["--jobs", "1"], f"{folder}/out.json.gz")
    if packed[:2] != plain[:2]:
        yield "compressed: another outcome"
    elif plain[2] is not None and unpack(packed[2]) != plain[2]:
        yield "compressed: another content"
    for jobs in jobs_of_files:
        if convert(inputs, options + ["--jobs", jobs], f"{folder}/out.json.gz") != packed:
            yield f"compressed, --jobs {jobs}"
    if len(inputs) == 1:
        trace = open(inputs[0], "rb").read()
        piped = lzma.decompress(trace) if inputs[0].endswith(".xz") else trace
        for jobs in jobs_of_pipes:
            if convert(["-"], options + ["--jobs", jobs], f"{folder}/out.json", piped)[2] != plain[2]:
                yield f"from a pipe, --jobs {jobs}"


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for inputs, options, jobs in cases(folder):
            found = list(differences(inputs, options, folder, *jobs))
            for difference in found:
                print(f"{' '.join(inputs)}: {difference}")
            passed += not found
            failed += bool(found)
    print(f"any number of threads: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
