#!/usr/bin/env python3
"""Measures what an event costs in the recorder and in its peers, and the lower bounds of the machine, in interleaved rounds.

    bench/recorder.py [--build DIR] [--rounds N] [--events N] [--only TEXT]

CC and CFLAGS mean the same as for make. Missing peers are reported and skipped. There are no packages of spall and
minitrace: put spall.h, minitrace.h and minitrace.c from their repositories into the folder that PEER_SOURCES names (by
default "peers" in the build folder). PEERS="NAME=PROGRAM …" adds other peers: programs that use bench/recorder/lap.h. They
run in each case that they list, with one thread and with two.
TRACES names the folder for recordings (by default in the build folder). Its file system affects the results.
"""

import argparse
import collections
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "bench" / "recorder"

# If a quarter of a row's laps took this many times as long as the shortest one, the machine was busy with something else.
NOISY_RATIO = 1.5

# An empty loop in two threads at once takes about as long as in one, unless their CPUs are halves of one core.
SHARED_CORE_RATIO = 1.4

# The priority of measured programs, if it may be set, so that other programs disturb less.
PRIORITY = -15

# What reading the cycle counter costs on the machine for which the targets were set.
TARGET_CYCLE_COUNTER_NS = 9.6


class Missing(Exception):
    """A peer is missing on this machine; the message is the reason."""


# ---- Programs. ----


def compile_program(build, name, sources, flags=(), libraries=()):
    program = build / name
    command = shlex.split(os.environ.get("CC", "cc")) + ["-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}"]
    command += shlex.split(os.environ.get("CFLAGS", "-O2 -g"))
    command += [*flags, *map(str, sources), *libraries, "-lpthread", "-o", str(program)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise Missing(f"does not compile: {result.stderr.strip().splitlines()[0] if result.stderr else command}")
    return program


def compile_lap_program(build, name, libraries=()):
    return compile_program(build, name, [SOURCES / f"{name}.c", SOURCES / "lap.c"], libraries=libraries)


class Outcome:
    """The outcome of one run: what the program printed, and how many bytes an event took."""

    def __init__(self, text):
        self.numbers = {}
        for line in text.splitlines():
            word, _, number = line.partition(" ")
            self.numbers.setdefault(word, []).append(float(number))
        self.ns = self.numbers["ns"]  # one time per lap
        self.events = self.numbers["events"][0]
        self.lost = self.numbers.get("lost", [0])[0]
        self.recycled = self.numbers.get("recycled", [0])[0]
        self.bytes = None


def run_program(command):
    words = [str(word) for word in command]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{shlex.join(words)}: exit {result.returncode}: {result.stderr.strip()}")
    return Outcome(result.stdout)


def folder_bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# ---- The recorder. ----


def event_bytes(trace):
    """Returns the bytes per event in chunks of events, including their headers: see recorder/trace_format.h."""
    byte_count = block_count = 0
    with open(trace, "rb") as file:
        header = file.read(80)
        chunks_offset, chunk_bytes = struct.unpack_from("<QI", header, 16)
        offset = chunks_offset
        while len(chunk := os.pread(file.fileno(), 128, offset)) == 128:
            state, magic, _version, kind = struct.unpack_from("<I12xIHH", chunk)
            (commit,) = struct.unpack_from("<Q", chunk, 104)
            if state and magic == 0x4B4E4843 and kind == 1:
                byte_count += commit & 0xFFFFFFFF
                block_count += commit >> 32
            offset += chunk_bytes
    return byte_count / block_count if block_count else None


class Recorder:
    def __init__(self, build, library):
        sources = [SOURCES / "recorder_events.c", SOURCES / "lap.c", library]
        self.program = compile_program(build, "recorder_events", sources)

    def run(self, case, threads, events, folder):
        outcome = run_program([self.program, case, threads, events, folder])
        trace = pathlib.Path(folder) / "trace"
        if trace.exists() and not case.endswith("-recording"):
            outcome.bytes = event_bytes(trace)
        return outcome


class SharedRecorder(Recorder):
    def __init__(self, build, library):
        if not library.exists():
            raise Missing("there is none")
        # Programs load the library by the name that it has when it is installed.
        dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=False).stdout
        name = re.search(r"SONAME.*\[(.*)\]", dynamic)
        folder = build / "lib"
        folder.mkdir(exist_ok=True)
        link = folder / (name.group(1) if name else library.name)
        link.unlink(missing_ok=True)
        link.symlink_to(library.resolve())
        self.program = compile_program(
            build,
            "recorder_events_shared",
            [SOURCES / "recorder_events.c", SOURCES / "lap.c", library],
            libraries=[f"-Wl,-rpath,{folder.resolve()}"],
        )


class Plain:
    """A program that uses lap.h and needs no preparation."""

    def __init__(self, program):
        self.program = program

    @classmethod
    def of_sources(cls, build, name, headers, sources=(), flags=()):
        """Compiles a peer that consists of a few headers and sources."""
        folder = pathlib.Path(os.environ.get("PEER_SOURCES") or build / "peers")
        for file in (*headers, *sources):
            if not (folder / file).exists():
                raise Missing(f"no {file} in {folder}, which PEER_SOURCES names")
        files = [SOURCES / f"peer_{name}.c", SOURCES / "lap.c", *(folder / source for source in sources)]
        return cls(compile_program(build, f"peer_{name}", files, flags=[f"-I{folder}", *flags]))

    def run(self, case, threads, events, folder):
        outcome = run_program([self.program, case, threads, events, folder])
        outcome.bytes = folder_bytes(pathlib.Path(folder)) / outcome.events or None
        return outcome

    def cases(self):
        return subprocess.run([self.program, "cases"], capture_output=True, text=True, check=True).stdout.split()


# ---- Peers. ----


def need_tools(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Missing(f"no {tool}")


class Lttng:
    CHANNEL = ["--subbuf-size=1M", "--num-subbuf=8"]

    def __init__(self, build):
        need_tools("lttng", "lttng-sessiond")
        self.program = compile_lap_program(build, "peer_lttng", ["-llttng-ust", "-ldl"])
        self.daemon = None
        if not self.is_daemon_there():
            self.daemon = subprocess.Popen(
                ["lttng-sessiond", "--no-kernel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=build
            )
            for _ in range(100):
                if self.is_daemon_there():
                    break
                time.sleep(0.1)
            else:
                self.close()
                raise Missing("its session daemon does not start")

    @staticmethod
    def command(*arguments):
        return subprocess.run(["lttng", "--no-sessiond", *arguments], capture_output=True, text=True, check=False)

    def is_daemon_there(self):
        return self.command("list").returncode == 0

    def run(self, case, threads, events, folder):
        if case.endswith("-off"):
            return run_program([self.program, case, threads, events, folder])
        session = f"gecko-bench-{os.getpid()}"
        try:
            for arguments in (
                ["create", session, "-o", str(folder)],
                ["enable-channel", "-u", "-s", session, *self.CHANNEL, "bench"],
                ["enable-event", "-u", "-s", session, "-c", "bench", "bench:*"],
                ["start", session],
            ):
                result = self.command(*arguments)
                if result.returncode:
                    raise RuntimeError(f"lttng {arguments[0]}: {(result.stdout + result.stderr).strip()}")
            outcome = run_program([self.program, case, threads, events, folder])
            stopped = self.command("stop", session)
            discarded = re.search(r"(\d+) events? (?:were|was) discarded", stopped.stdout + stopped.stderr)
            outcome.lost = int(discarded.group(1)) if discarded else 0
        finally:
            self.command("destroy", session)
        outcome.bytes = folder_bytes(pathlib.Path(folder)) / (outcome.events - outcome.lost)
        return outcome

    def close(self):
        if self.daemon:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait()


class Uftrace:
    """uftrace. Each call is two records."""

    def __init__(self, build):
        need_tools("uftrace")
        lap = compile_program(build, "lap.o", [SOURCES / "lap.c"], flags=["-c"])
        self.program = compile_program(build, "peer_uftrace", [SOURCES / "peer_uftrace.c", lap], flags=["-pg"])

    def run(self, case, threads, events, folder):
        data = pathlib.Path(folder) / "data"
        calls = events // 2
        outcome = run_program(["uftrace", "record", "-d", data, self.program, case, threads, calls, folder])
        outcome.ns = [ns / 2 for ns in outcome.ns]
        outcome.bytes = folder_bytes(data) / (2 * outcome.events)
        return outcome


# ---- Rows. ----


class Row:
    def __init__(self, table, label, runner, case, threads, target_ns=None, target_bytes=None, events_factor=1):
        self.table = table
        self.label = label
        self.runner = runner
        self.case = case
        self.threads = threads
        self.target_ns = target_ns
        self.target_bytes = target_bytes
        self.events_factor = events_factor
        self.outcomes = []

    def name(self):
        return f"{self.label}, {self.threads} thread{'s' if self.threads > 1 else ''}"

    def times(self):
        return [ns for outcome in self.outcomes for ns in outcome.ns]

    def median_ns(self):
        return statistics.median(self.times())

    def median_bytes(self):
        counts = [outcome.bytes for outcome in self.outcomes if outcome.bytes]
        return statistics.median(counts) if counts else None

    def remarks(self):
        remarks = []
        if sorted(self.times())[len(self.times()) * 3 // 4] > NOISY_RATIO * min(self.times()):
            remarks.append("noisy")
        lost = sum(outcome.lost for outcome in self.outcomes)
        if lost:
            remarks.append(f"{lost / sum(outcome.events for outcome in self.outcomes):.2%} lost")
        if self.case.endswith("-recycled") and not all(o.recycled for o in self.outcomes):
            remarks.append("the pool has not wrapped")
        return ", ".join(remarks)


def recorder_rows(recorder):
    """Returns the recorder's rows. Targets are ns and bytes per event; a row without them has no target."""
    rows = []

    def add(label, case, ns=None, size=None, threads=(1, 2), factor=1):
        for count in threads:
            rows.append(Row("recorder", label, recorder, case, count, ns, size, factor))

    add("marker, recycled chunks", "marker-recycled", 11, 6)
    add("marker, growing file", "marker-growing", 14, 6)
    add("marker with two integers, recycled", "fields-recycled", 14, 12)
    add("marker with two integers, growing", "fields-growing", None, 12)
    add("interval marker (start and end), recycled", "interval-recycled")
    add("interval marker (start and end), growing", "interval-growing")
    add("counter add, recycled", "counter-recycled", 12, 8)
    add("counter add, growing", "counter-growing", None, 8)
    add("label push and pop", "label-recording", 3, factor=5)
    add("counter add, for the sampler", "sampled-counter-recording", 3, threads=(1,), factor=5)
    add("the same counter from two threads", "sampled-counter-recording", threads=(2,))
    for label, case in (
        ("marker", "marker-off"),
        ("marker with two integers", "fields-off"),
        ("interval marker", "interval-off"),
        ("counter add", "counter-off"),
        ("counter add, for the sampler", "sampled-counter-off"),
        ("label push and pop", "label-off"),
    ):
        add(f"not recording: {label}", case, 0.4, threads=(1,), factor=20)
    return rows


def shared_rows(recorder):
    return [
        Row("recorder", "shared library: marker, recycled", recorder, "marker-recycled", 1),
        Row("recorder", "shared library: counter add, recycled", recorder, "counter-recycled", 1),
        Row("recorder", "shared library: label push and pop", recorder, "label-recording", 1, events_factor=5),
        Row("recorder", "shared library: not recording: marker", recorder, "marker-off", 1, events_factor=20),
    ]


def floor_rows(floors):
    rows = []
    for threads in (1, 2):
        rows.append(Row("floor", "cycle counter", floors, "cycle-counter", threads, events_factor=5))
        rows.append(Row("floor", "clock_gettime(CLOCK_MONOTONIC)", floors, "clock-gettime", threads))
        rows.append(Row("floor", "the loop itself", floors, "loop", threads, events_factor=20))
        rows.append(Row("floor", "the loop itself, an eighth", floors, "loop-of-8", threads, events_factor=20))
    return rows


def lttng_rows(lttng):
    rows = []
    for label, case in (("marker", "marker"), ("marker with two integers", "fields"), ("counter add", "counter")):
        rows += [Row("peer", f"LTTng-UST: {label}", lttng, case, threads) for threads in (1, 2)]
    rows.append(Row("peer", "LTTng-UST: not recording: marker", lttng, "marker-off", 1, events_factor=20))
    return rows


def uftrace_rows(uftrace):
    return [Row("peer", "uftrace: record of a call or return", uftrace, "call", threads) for threads in (1, 2)]


def extra_rows(name, peer):
    cases = [case for case in peer.cases() if case.strip()]
    return [Row("peer", f"{name}: {case}", peer, case, threads) for case in cases for threads in (1, 2)]


# ---- System calls. ----


def count_calls(program, case, events, folder):
    """Counts system calls by name: those of the recording thread, the only one that pins itself, and those of the others."""
    log = pathlib.Path(folder) / "strace"
    command = ["strace", "-f", "-o", log, program, case, "1", str(events), folder]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if result.returncode:
        raise Missing(f"strace fails: {result.stderr.strip()}")
    calls, recording = {}, None
    for line in log.read_text(errors="replace").splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)
        if match:
            thread, name = match.groups()
            calls.setdefault(thread, collections.Counter())[name] += 1
            recording = thread if name == "sched_setaffinity" else recording
    others = sum((counter for thread, counter in calls.items() if thread != recording), collections.Counter())
    return calls.get(recording, collections.Counter()), others


def describe_calls(calls):
    names = ", ".join(f"{name} {count}" for name, count in calls.most_common())
    return f"{calls.total()} ({names})" if names else "0"


def print_calls(program, traces):
    """Prints the additional system calls of ten million more events."""
    print("\n## System calls of 10 000 000 events\n")
    try:
        need_tools("strace")
        print("| event | of the recording thread | of other threads |\n|---|---|---|")
        for case in ("marker-recycled", "marker-growing", "fields-recycled", "counter-recycled", "label-recording"):
            counts = []
            for events in (1000000, 11000000):
                with Folder(traces) as folder:
                    counts.append(count_calls(program, case, events, folder))
            more = [many - few for few, many in zip(*counts)]
            print(f"| {case} | {describe_calls(more[0])} | {describe_calls(more[1])} |")
    except Missing as missing:
        print(f"left out: {missing}")


# ---- Running and printing. ----


class Folder:
    """A folder for the recordings of one run. It is removed after the run, so each run starts with new files."""

    def __init__(self, parent):
        self.path = parent / "run"

    def __enter__(self):
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def command_line(words):
    try:
        result = subprocess.run(words, capture_output=True, text=True, check=False)
        return result.stdout.strip().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


def raise_priority():
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    except PermissionError:
        pass


def stolen_ticks():
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(words[8]) if len(words) > 8 else 0


def print_machine(traces):
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    compiler = command_line(shlex.split(os.environ.get("CC", "cc")) + ["--version"])
    load = os.getloadavg()[0]
    print(f"- processor: {model.group(1) if model else platform.machine()}, {len(os.sched_getaffinity(0))} CPUs")
    print(f"- kernel: {platform.release()}; file system: {command_line(['stat', '-f', '-c', '%T', str(traces)])}")
    print(f"- compiler: {compiler}, {os.environ.get('CFLAGS', '-O2 -g')}")
    busy = " (busy: expect noise)" if load > 0.7 else ""
    print(f"- load before: {load:.2f}{busy}; priority {os.getpriority(os.PRIO_PROCESS, 0)}")
    if len(os.sched_getaffinity(0)) < 2:
        print("- one CPU: the rows of two threads mean little")


def least_ns(rows, case, threads):
    chosen = [row for row in rows if row.case == case and row.threads == threads and row.outcomes]
    return min((min(row.times()) for row in chosen), default=None)


def print_floor_notes(rows):
    """Prints the lower bounds of this machine. Returns how much slower it is than the machine of the targets."""
    counter = least_ns(rows, "cycle-counter", 1)
    factor = max(1.0, counter / TARGET_CYCLE_COUNTER_NS) if counter else 1.0
    print(f"- targets are for a cycle counter of {TARGET_CYCLE_COUNTER_NS} ns; those of this machine: times {factor:.2f}")
    loop, loop_of_two = least_ns(rows, "loop", 1), least_ns(rows, "loop", 2)
    if loop and loop_of_two and loop_of_two > SHARED_CORE_RATIO * loop:
        print(f"- two threads share a core: an empty loop beside another takes {loop_of_two / loop:.1f} times as long")
    return factor


def time_verdict(row, factor):
    if row.target_ns is None:
        return "–"
    target = row.target_ns * factor
    if row.median_ns() <= target:
        return f"{target:.4g} pass"
    return f"{target:.4g} MISS" + (", least passes" if min(row.times()) <= target else "")


def size_verdict(row):
    size = row.median_bytes()
    if row.target_bytes is None or size is None:
        return "–"
    return f"{row.target_bytes} {'pass' if size <= row.target_bytes else 'MISS'}"


def print_rows(rows, table, factor):
    chosen = [row for row in rows if row.table == table and row.outcomes]
    if not chosen:
        return
    has_targets = table == "recorder"
    columns = ["event", "ns: median", "least", "most", "bytes"]
    columns += ["target ns", "target for this machine", "target bytes"] if has_targets else []
    print("| " + " | ".join([*columns, "remarks"]) + " |")
    print("|" + "---|" * (len(columns) + 1))
    for row in chosen:
        size = row.median_bytes()
        cells = [row.name(), f"{row.median_ns():.2f}", f"{min(row.times()):.2f}", f"{max(row.times()):.2f}"]
        cells.append(f"{size:.1f}" if size else "–")
        if has_targets:
            cells += [time_verdict(row, 1), time_verdict(row, factor), size_verdict(row)]
        print("| " + " | ".join([*cells, row.remarks() or ""]) + " |")


def print_progress(text):
    if sys.stderr.isatty():
        print(f"\r{text:90}\r", end="", file=sys.stderr, flush=True)


def run_rounds(rows, rounds, events, traces):
    failures = {}
    for round_number in range(rounds):
        for row in rows:
            if row.name() in failures:
                continue
            print_progress(f"round {round_number + 1} of {rounds}: {row.name()}")
            try:
                with Folder(traces) as folder:
                    row.outcomes.append(row.runner.run(row.case, row.threads, events * row.events_factor, folder))
            except RuntimeError as error:
                failures[row.name()] = str(error)
    print_progress("")
    return failures


def collect_rows(build, arguments, left_out):
    library = arguments.build / "libgecko_recorder.a"
    peers = []

    def attempt(name, make_rows, make_runner):
        try:
            runner = make_runner()
        except Missing as missing:
            left_out.append(f"{name}: {missing}")
            return []
        peers.append(runner)
        return make_rows(runner)

    rows = floor_rows(Plain(compile_lap_program(build, "floors")))
    if library.exists():
        rows += recorder_rows(Recorder(build, library))
        rows += attempt(
            "shared library", shared_rows, lambda: SharedRecorder(build, arguments.build / "libgecko_recorder.so")
        )
    else:
        left_out.append(f"the recorder: there is no {library}")
    rows += attempt("LTTng-UST", lttng_rows, lambda: Lttng(build))
    rows += attempt("uftrace", uftrace_rows, lambda: Uftrace(build))
    rows += attempt("spall", lambda peer: extra_rows("spall", peer), lambda: Plain.of_sources(build, "spall", ["spall.h"]))
    rows += attempt(
        "minitrace",
        lambda peer: extra_rows("minitrace", peer),
        lambda: Plain.of_sources(build, "minitrace", ["minitrace.h"], ["minitrace.c"], ["-DMTR_ENABLED"]),
    )
    for peer in shlex.split(os.environ.get("PEERS", "")):
        name, _, program = peer.partition("=")
        rows += extra_rows(name, Plain(program))
    return [row for row in rows if arguments.only in row.name()], peers


def spaced_bytes(build, traces):
    with Folder(traces) as folder:
        run_program([build / "recorder_events", "marker-spaced", 1, 5000, folder])
        return event_bytes(folder / "trace")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("ROUNDS", "7")))
    parser.add_argument("--events", type=int, default=10000000)
    parser.add_argument("--only", default="", help="rows with this text in their names")
    arguments = parser.parse_args()
    build = arguments.build / "bench"
    traces = pathlib.Path(os.environ.get("TRACES") or build / "traces").resolve()
    for folder in (build, traces):
        folder.mkdir(parents=True, exist_ok=True)

    raise_priority()
    left_out = []
    try:
        rows, peers = collect_rows(build, arguments, left_out)
    except Missing as missing:
        print(f"recorder.py: {missing}", file=sys.stderr)
        return 1
    print_machine(traces)
    stolen = stolen_ticks()
    try:
        failures = run_rounds(rows, arguments.rounds, arguments.events, traces)
    finally:
        for peer in peers:
            if hasattr(peer, "close"):
                peer.close()
    stolen_s = (stolen_ticks() - stolen) / os.sysconf("SC_CLK_TCK")
    print(f"- {arguments.rounds} rounds of {arguments.events} events; {stolen_s:.1f} s stolen by the host")

    factor = print_floor_notes(rows)
    for table, title in (("recorder", "The recorder"), ("peer", "Peers"), ("floor", "Floors")):
        print(f"\n## {title}\n")
        print_rows(rows, table, factor)
    if (build / "recorder_events").exists() and (arguments.build / "libgecko_recorder.a").exists():
        print(f"\nA marker 100 µs after the last: {spaced_bytes(build, traces):.1f} bytes.")
        print_calls(build / "recorder_events", traces)
    for line in left_out:
        print(f"\nLeft out: {line}")
    for name, failure in failures.items():
        print(f"\nFAILED: {name}: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
