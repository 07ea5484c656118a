#!/usr/bin/env python3
"""Measures what recording real programs costs: runs each program without the recorder, with it and under perf, interleaved.

    bench/programs.py [--build DIR] [--rounds N] [--size N] [--started] [NAME…]

Prints medians of run time and of processor time, and their ratios to a run without recording. Processor time includes
the program, its children and perf itself, but not clients. Programs that are not installed are reported.

With --started, only servers are measured: all modes of a server run side by side and get work in turn, in random order.
Their run time is that of the work, and their processor time that from their start to their end.
"""

import argparse
import collections
import contextlib
import pathlib
import random
import shutil
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "programs"))
from real_programs import PROGRAMS, Missing, Server, cpu_seconds, libraries_for_all, prepared  # noqa: E402

# Sizes for which a run takes about two seconds.
SIZES = {"python3 computing in threads": 12, "bash forking": 5, "sqlite3": 8, "xz -T2": 2, "node": 2, "Go with cgo": 15,
         "PostgreSQL with pgbench": 8, "nginx with ab": 6, "redis with redis-benchmark": 5}


# perf ends up to a second after the program that it records, so the time of that program is taken below perf.
STOPWATCH = ["sh", "-c", 'date +%s.%N > "$0"; "$@"; status=$?; date +%s.%N >> "$0"; exit $status']


def modes(library, folder):
    """Returns tuples of a name, the words before the program, and an environment."""
    recorder = {"LD_PRELOAD": library, "GECKO_RECORDER": "1", "GECKO_RECORDER_OUTPUT": f"{folder}/%e-%p.trace"}
    rows = [
        ("without", [], {}),
        ("no samples", [], {**recorder, "GECKO_RECORDER_INTERVAL": "0"}),
        ("1 kHz", [], {**recorder, "GECKO_RECORDER_INTERVAL": "1"}),
        ("10 kHz", [], {**recorder, "GECKO_RECORDER_INTERVAL": "0.1"}),
    ]
    if shutil.which("perf"):
        for rate in ("999", "9999"):
            words = ["perf", "record", "-q", "-F", rate, "-g", "-o", f"{folder}/perf.data", "--"]
            rows.append((f"perf record -F {rate} -g", words, {}))
    else:
        print("left out: perf")
    return rows


def run_once(program, before, environment):
    """Runs the program. Returns its result, with the time below the words before it."""
    if not before or isinstance(program, Server):
        return program.run(before, environment)
    times = program.folder / "times"
    result = program.run([*before, *STOPWATCH, str(times)], environment)
    started, ended = map(float, times.read_text().split())
    result.seconds = ended - started
    return result


def measure(kind, size, rounds, library):
    seconds, processor = collections.defaultdict(list), collections.defaultdict(list)
    with prepared(kind, size) as program:
        rows = modes(library, program.folder)
        for _ in range(rounds):
            for name, before, environment in rows:
                result = run_once(program, before, environment)
                if result.status:
                    raise RuntimeError(f"{kind.name}, {name}: exit {result.status}")
                seconds[name].append(result.seconds)
                processor[name].append(result.processor_seconds)
                for trace in [*program.folder.glob("*.trace"), program.folder / "perf.data", program.folder / "perf.data.old"]:
                    trace.unlink(missing_ok=True)
    return seconds, processor


def measure_started(kind, size, rounds, library):
    seconds, processor, servers = collections.defaultdict(list), {}, {}
    names = [row[0] for row in modes(library, "")]
    with contextlib.ExitStack() as everything:
        for index, name in enumerate(names):
            program = everything.enter_context(prepared(kind, size))
            server = everything.enter_context(contextlib.ExitStack())
            server.enter_context(program.serving(*modes(library, program.folder)[index][1:]))
            program.work()
            servers[name] = program, server
        for _ in range(rounds):
            for name in random.sample(names, len(names)):
                started = time.monotonic()
                servers[name][0].work()
                seconds[name].append(time.monotonic() - started)
        for name in names:
            was = cpu_seconds()
            servers[name][1].close()
            processor[name] = [cpu_seconds() - was]
    return {name: seconds[name] for name in names}, processor


def ratio(values, base):
    return statistics.median(value / least for value, least in zip(values, base))


def print_row(kind, seconds, processor):
    print(f"| {kind.name} | {statistics.median(seconds['without']):.2f} s, {statistics.median(processor['without']):.2f} s ",
          end="")
    for name in list(seconds)[1:]:
        print(f"| {ratio(seconds[name], seconds['without']):.2f}, {ratio(processor[name], processor['without']):.2f} ", end="")
    print("|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", type=int, help="amount of work for each program")
    parser.add_argument("--started", action="store_true", help="measure servers that have started")
    parser.add_argument("name", nargs="*", help="part of a program's name")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = libraries_for_all(arguments.build, folder)
        names = [row[0] for row in modes(library, folder)]
        print("Run time, processor time\n")
        print("| program | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1), flush=True)
        for kind in PROGRAMS:
            is_named = not arguments.name or any(word in kind.name for word in arguments.name)
            if kind.is_slow or not is_named or (arguments.started and not issubclass(kind, Server)):
                continue
            try:
                measured = measure_started if arguments.started else measure
                print_row(kind, *measured(kind, arguments.size or SIZES[kind.name], arguments.rounds, library))
            except Missing as missing:
                print(f"left out: {kind.name}: not installed: {missing}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
