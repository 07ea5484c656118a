#!/usr/bin/env python3
"""Measures what the sampler costs: runs a program with busy and idle threads without it, with it and with other samplers.

    bench/sampler.py [--build DIR] [--rounds N] [--busy N] [--idle N]

Runs are interleaved. gperftools' profiler (libprofiler.so) and perf are measured if they are installed.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLE, SAME, TICK = 19, 20, 23


def find_libprofiler():
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"):
        for path in sorted(pathlib.Path(folder).glob("libprofiler.so*")):
            return path
    return None


def modes(build, folder):
    """Returns tuples of a name, the words before the program, an environment, and the words after the program's own."""
    library = (build / "libgecko_preload.so").resolve()
    recorder = {"LD_PRELOAD": str(library), "GECKO_RECORDER": "1", "GECKO_RECORDER_OUTPUT": str(folder / "trace")}
    rows = [
        ("without", [], {}, []),
        ("a thread that signals the busy ones every 1 ms, for nothing", [], {}, ["1000"]),
        ("sampler, 1 ms", [], recorder, []),
        ("sampler, 10 ms", [], {**recorder, "GECKO_RECORDER_INTERVAL": "10"}, []),
        ("recorder without sampler", [], {**recorder, "GECKO_RECORDER_INTERVAL": "0"}, []),
    ]
    libprofiler = find_libprofiler()
    if libprofiler:
        profile = {"LD_PRELOAD": str(libprofiler), "CPUPROFILE": str(folder / "prof"), "CPUPROFILE_FREQUENCY": "1000"}
        rows.append(("gperftools, 1000 Hz of processor time", [], profile, []))
    else:
        print("left out: gperftools (no libprofiler.so)")
    if shutil.which("perf"):
        words = ["perf", "record", "-q", "-F", "999", "-g", "-o", str(folder / "perf.data")]
        rows.append(("perf record -F 999 -g", words, {}, []))
    else:
        print("left out: perf")
    return rows


def run(words, environment):
    result = subprocess.run(
        words, env={**os.environ, **environment}, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if result.returncode:
        raise RuntimeError(f"{words}: exit {result.returncode}: {result.stderr.strip()}")
    seconds, read_ns = result.stdout.split()[:2]
    return float(seconds), float(read_ns)


def read_leb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def read_trace(path):
    """Returns the bytes of blocks by kind, and the nanoseconds that each round spent on threads."""
    sizes, rounds = collections.defaultdict(list), []
    data = pathlib.Path(path).read_bytes()
    offset, chunk_bytes = struct.unpack_from("<QI", data, 16)
    while offset + 128 <= len(data):
        state, magic, _version, kind = struct.unpack_from("<I12xIHH", data, offset)
        (commit,) = struct.unpack_from("<Q", data, offset + 104)
        at, end = offset + 128, offset + (commit & 0xFFFFFFFF)
        while state and magic == 0x4B4E4843 and kind == 1 and at < end:
            start = at
            length, at = read_leb(data, at)
            entry = data[at]
            sizes[entry].append(at - start + length)
            if entry == TICK:
                field, place = [], at + 1
                for _ in range(4):
                    value, place = read_leb(data, place)
                    field.append(value)
                rounds.append(field[3])
            at += length
        offset += chunk_bytes
    return sizes, rounds


def rounds_on_time(build, trace):
    profile = trace.with_suffix(".json")
    subprocess.run([build / "gecko-convert", "-q", "--symbols", "none", trace, "-o", profile], check=True)
    logs = json.loads(profile.read_text())["profilingLog"]
    for log in logs.values():
        for _time, line in log.get("lines", []):
            words = line.split()
            if words[0] == "sampler:":
                done, left_out = int(words[1]), int(words[words.index("for,") + 1])
                return done / (done + left_out)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--busy", type=int, default=2)
    parser.add_argument("--idle", type=int, default=30)
    parser.add_argument("--work", type=int, default=400)
    arguments = parser.parse_args()
    folder = (arguments.build / "bench").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "pool"
    compiler = os.environ.get("CC", "cc")
    source = ROOT / "bench" / "sampler" / "pool.c"
    subprocess.run([compiler, "-std=gnu11", "-O2", "-g", source, "-lpthread", "-o", program], check=True)
    rows = modes(arguments.build, folder)
    seconds, on_time = collections.defaultdict(list), []
    words = [str(program), str(arguments.busy), str(arguments.idle), str(arguments.work)]
    for _ in range(arguments.rounds):
        for name, before, environment, after in rows:
            seconds[name].append(run(before + words + after, environment)[0])
            if name == "sampler, 1 ms":
                on_time.append(rounds_on_time(arguments.build, folder / "trace"))
    sizes, _ = read_trace(folder / "trace")
    print(f"\n{arguments.busy} busy threads, {arguments.idle} idle ones, {arguments.rounds} rounds\n")
    print("| | seconds: median | least | ratio of medians | ratio of pairs: median |\n|---|---|---|---|---|")
    base = seconds["without"]
    for name, _, _, _ in rows:
        pairs = [with_it / without for with_it, without in zip(seconds[name], base)]
        median = statistics.median(seconds[name])
        print(
            f"| {name} | {median:.3f} | {min(seconds[name]):.3f} | {median / statistics.median(base):.4f} "
            f"| {statistics.median(pairs):.4f} |"
        )
    print(f"\nRounds on time at 1 ms: median {statistics.median(on_time):.1%}, least {min(on_time):.1%}")

    # Without busy threads, the only remaining cost is that of looking at sleeping threads.
    environment = next(row[2] for row in rows if row[0] == "sampler, 1 ms")
    _, read_ns = run([str(program), "0", str(arguments.idle), "300"], environment)
    idle_sizes, idle_rounds = read_trace(folder / "trace")
    busy_environment = {**environment}
    run(words, busy_environment)
    sizes, _ = read_trace(folder / "trace")
    a_thread_ns = statistics.median(idle_rounds) / (arguments.idle + 1)
    print(
        f"Same as before: {statistics.mean(idle_sizes[SAME]):.1f} bytes, {a_thread_ns:.0f} ns a thread; asking the kernel for "
        f"one thread's processor time takes {read_ns:.0f} ns"
    )
    print(f"Full sample: {statistics.mean(sizes[SAMPLE]):.1f} bytes on average ({len(sizes[SAMPLE])} of them)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
