#!/usr/bin/env python3
"""Checks that no field of perf script gets into the name of a function: check_perf_fields.py GECKO_CONVERT

Records programs here, with and without callchains, and prints the recordings with fields in all combinations of two: each
two fields are there together, alone, and not at all. Whatever else perf prints, the stacks must be those of the addresses and
symbols that it prints alone. Does nothing if perf may not record here.
"""
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

from perf_record import perf_record

converter = os.path.abspath(sys.argv[1])

PROGRAM = """
#include <sys/mman.h>
__attribute__((noinline, noipa)) int dead(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 31 + i;
    return sum;
}
__attribute__((noinline, noipa)) int touch(void) {
    char *bytes = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    for (int i = 0; i < 1 << 16; i += 4096) bytes[i] = 1, sum += dead(100);
    munmap(bytes, 1 << 16);
    return sum;
}
int main(void) {
    int sum = 0;
    for (int i = 0; i < 100; i++) sum += touch() + dead(1000000);
    return sum == 1;
}
"""

# What can be recorded anywhere, for all fields but those of branches, of BPF events and of one control group.
RECORDED = ["-d", "--sample-cpu", "-W", "--phys-data", "--data-page-size", "--code-page-size", "-I",
            "--user-regs=ip,sp,bp", "-k", "mono"]
EVENTS = {"a clock": ["-e", "cpu-clock", "-F", "199"], "page faults": ["-e", "page-faults", "-c", "100"]}

ALWAYS = ["comm", "tid", "ip"]
FIELDS = ["pid", "cpu", "time", "event", "period", "sym", "dso", "symoff", "srcline", "addr", "iregs", "uregs", "brstack",
          "brstacksym", "brstackoff", "flags", "data_src", "weight", "ins_lat", "callindent", "insn", "insnlen",
          "synth", "phys_addr", "metric", "misc", "srccode", "ipc", "tod", "data_page_size", "code_page_size", "machine_pid",
          "vcpu"]
ROWS = 8


def combinations():
    """Returns the rows of a covering array of strength two: the columns are all subsets of half of the rows with the first
    row in them (Kleitman and Spencer, 1973)."""
    columns = [{0, *rest} for rest in itertools.combinations(range(1, ROWS), ROWS // 2 - 1)]
    return [usable([field for field, column in zip(FIELDS, columns) if row in column]) for row in range(ROWS)]


def usable(fields):
    """Adds the fields without which perf prints nothing or the text is no recording: an offset is one from a symbol, and
    each line has an event or a time."""
    needed = ["sym"] if "symoff" in fields else []
    needed += ["event"] if not {"time", "event"} & set(fields) else []
    return sorted({*ALWAYS, *fields, *needed})


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True).stdout


def stacks(text, folder, name):
    """Returns how often the converter finds each stack in the text. A stack is a tuple of functions, root first."""
    source, output = folder / f"{name}.txt", folder / f"{name}.json"
    source.write_bytes(text)
    run(converter, "--quiet", "--symbols=none", "--from", "perf-script", source, "-o", output)
    profile = json.loads(output.read_text())
    shared = profile["shared"]
    frames, rows, names = shared["frameTable"], shared["stackTable"], shared["funcTable"]["name"]
    paths = []
    for row, offset in enumerate(rows["prefixOffset"]):
        own = shared["stringArray"][names[frames["func"][rows["frame"][row]]]]
        paths.append((paths[row - offset] if offset else ()) + (own,))
    found = (paths[stack] for thread in profile["threads"] for stack in thread["samples"]["stack"] if stack is not None)
    return collections.Counter(found)


def without_libraries(counts):
    """Removes the libraries from names that are addresses: they depend on whether perf prints libraries."""
    plain = collections.Counter()
    for stack, count in counts.items():
        plain[tuple(re.sub(r"^.*\+(0x[0-9a-f]+)$", r"\1", name) for name in stack)] += count
    return plain


def printed_stacks(folder, data, fields):
    """Returns the stacks of what perf prints with these fields, which are named for software events alone: others lack some."""
    text = run("perf", "script", "-i", data, "-F", "sw:" + ",".join(fields))
    return without_libraries(stacks(text, folder, f"{data.stem}-{zlib.crc32(','.join(fields).encode())}"))


def stem(fields):
    """Returns the fields on which the names of functions depend."""
    return (*ALWAYS, "event", *(field for field in ("sym", "dso") if field in fields))


def check(folder, data, fields, expected):
    """Returns None if the stacks are as expected, otherwise what is wrong."""
    name = f"{data.stem}: {','.join(fields)}"
    try:
        found = printed_stacks(folder, data, fields)
    except subprocess.CalledProcessError as error:
        return f"{name}: {error.stderr.decode(errors='replace').strip()[-400:]}"
    if found == expected:
        return None
    return f"{name}: stacks differ: {list((found - expected).items())[:2]} for {list((expected - found).items())[:2]}"


def record(folder, name, options):
    data = folder / f"{name}.data"
    perf_record(data, *options, folder / "app")
    return data


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "app.c").write_text(PROGRAM)
        run("cc", "-O1", "-g", "-fno-omit-frame-pointer", folder / "app.c", "-o", folder / "app")
        recordings = {f"{event}{stack}": [*options, *RECORDED, *(["-g"] if stack else [])]
                      for event, options in EVENTS.items() for stack in ("", " with callchains")}
        try:
            data = {name: record(folder, name, options) for name, options in recordings.items()}
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"perf fields: SKIPPED: perf may not record here: {getattr(error, 'stderr', error)}")
            return 0
        jobs = [(data[name], fields) for name in data for fields in combinations()]
        jobs += [(data["a clock"], usable([field])) for field in FIELDS]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            stems = sorted({(recording, stem(fields)) for recording, fields in jobs})
            expected = dict(zip(stems, pool.map(lambda key: printed_stacks(folder, *key), stems)))
            results = list(pool.map(lambda job: check(folder, *job, expected[job[0], stem(job[1])]), jobs))
    for fault in filter(None, results):
        print(f"perf fields: FAIL {fault}")
    print(f"perf fields: {results.count(None)} passed, {len(results) - results.count(None)} failed")
    return 1 if len(results) > results.count(None) else 0


sys.exit(main())
