#!/usr/bin/env python3
"""Makes seeds from recordings of every kind that can be made here: record_seeds.py GECKO-CONVERT FOLDER

Each recording is cut until it is small, and stored as FOLDER/TARGET/NAME. What cannot be recorded here is left out.
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

converter, seeds = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
libraries = pathlib.Path(converter).parent

RECORDS_OF_A_KIND, SAMPLE_LENGTHS_MAX = 2, 3
SECTION_BYTES_MAX = 700
SAMPLE, ATTR, TRACING_DATA, AUXTRACE = 9, 64, 66, 71
TRACING_DATA_FEATURE = 1
HEADER = struct.Struct("<8s3Q2Q2Q2Q4Q")

CLOCK = ["-e", "cpu-clock", "-F", "999"]
RECORDINGS = {
    "flat": CLOCK, "frame-pointers": [*CLOCK, "-g"], "dwarf": [*CLOCK, "--call-graph", "dwarf,256"],
    "system-wide": [*CLOCK, "-a", "-g"], "namespaces": [*CLOCK, "--namespaces", "--all-cgroups"],
    "switches": [*CLOCK, "--switch-events", "-g"], "compressed": ["-z", *CLOCK, "-g"],
    "counts": ["-e", "page-faults,context-switches,cpu-clock", "-c", "10", "-g"],
    "group": ["-e", "{cpu-clock,page-faults}:S", "-g"], "build-ids": ["--buildid-mmap", *CLOCK],
    "tracepoints": ["-e", "sched:sched_switch,sched:sched_wakeup,syscalls:sys_enter_write", "-g"],
    "waits": ["-e", "cpu-clock/freq=999/", "-e", "sched:sched_switch", "--switch-events", "-g"],
    "off-cpu": ["--off-cpu", *CLOCK, "-g"], "no-times": ["--per-thread", "--no-timestamp", *CLOCK],
    "clock": ["-k", "mono", *CLOCK], "named": ["-e", "cpu-clock/name=work,period=2000000/", "-g"],
    "fields": ["-d", "--sample-cpu", "-W", "--phys-data", "--data-page-size", "--code-page-size", "-I",
               "--user-regs=ip,sp,bp", *CLOCK],
    "text-pokes": ["--kcore", *CLOCK, "-a"],
}
BUSY = ["sh", "-c", "i=0; while [ $i -lt 9000 ]; do i=$((i+1)); done; (ls /usr/bin | head -3; exec true) >/dev/null"]
TEXTS = {"default": [], "fields": ["-F", "+pid,+cpu,+period,+srcline,+symoff,+flags,+misc"],
         "long": ["-F", "+addr,+uregs,+iregs"],
         "events": ["--show-task-events", "--show-mmap-events", "--show-switch-events", "--ns"], "header": ["--header"],
         "flat": ["-F", "comm,tid,time,event,ip,sym,dso", "-G"], "addresses": ["-F", "comm,pid,tid,time,ip,dso"]}


def run(*command, **options):
    """Runs a command quietly. Returns its output, which is empty if the command fails or takes too long."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                              timeout=60, check=False, **options)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout


def store(target, name, content):
    if content:
        (seeds / target).mkdir(parents=True, exist_ok=True)
        (seeds / target / name).write_bytes(content)


def records(data):
    """Yields each record, with the data that follow the records that announce some."""
    at = 0
    while at + 8 <= len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if size < 8:
            return
        whole = size
        if kind in (TRACING_DATA, AUXTRACE):
            whole += (struct.unpack_from("<Q" if kind == AUXTRACE else "<I", data, at + 8)[0] + 7) & ~7
        yield kind, data[at:at + whole]
        at += whole


def few(data):
    """Returns the first records of each kind, in their order. Samples of several events often differ in length."""
    counts, kept = {}, []
    for kind, record in records(data):
        if kind == TRACING_DATA:
            reduced = reduce_tracing(record[12:])
            record = struct.pack("<IHHI", kind, 0, 12, len(reduced)) + reduced
        lengths = counts.setdefault(kind, {})
        key = len(record) if kind == SAMPLE else 0
        lengths[key] = lengths.get(key, 0) + 1
        if (lengths[key] <= RECORDS_OF_A_KIND and len(lengths) <= SAMPLE_LENGTHS_MAX) or kind == ATTR:
            kept.append(record)
    return b"".join(kept)


def reduce_tracing(data):
    """Returns the description of tracepoints without the kernel's symbols, formats of ftrace and names of processes."""
    at = data.index(b"\0", 10) + 1 + 6
    for name in (b"header_page\0", b"header_event\0"):
        at += len(name)
        at += 8 + struct.unpack_from("<Q", data, at)[0]
    start = data[:at]
    for _ in range(struct.unpack_from("<I", data, at)[0]):
        at += 8 + struct.unpack_from("<Q", data, at + 4)[0]
    at += 4
    systems = at
    for _ in range(struct.unpack_from("<I", data, at)[0]):
        at = data.index(b"\0", at + 4 if at == systems else at) + 1
        for _ in range(struct.unpack_from("<I", data, at)[0]):
            at += 8 + struct.unpack_from("<Q", data, at + 4)[0]
        at += 4
    reduced = start + bytes(4) + data[systems:at] + bytes(4 + 4 + 8)
    return reduced + bytes(-len(reduced) % 8)


def cut_file(data):
    """Returns a file with the same attributes, few records, and the sections that are short."""
    header = list(HEADER.unpack_from(data))
    (records_at, records_bytes), features = header[5:7], header[9:13]
    kept = few(data[records_at:records_at + records_bytes])
    header[6] = len(kept)
    sections, position = [], records_at + records_bytes
    for bit in range(256):
        if features[bit // 64] >> bit % 64 & 1:
            at, size = struct.unpack_from("<QQ", data, position)
            position += 16
            section = data[at:at + size]
            if bit == TRACING_DATA_FEATURE:
                section = reduce_tracing(section)
            elif size > SECTION_BYTES_MAX:
                header[9 + bit // 64] &= ~(1 << bit % 64)
                continue
            sections.append(section)
    at = records_at + len(kept) + 16 * len(sections)
    table = b""
    for section in sections:
        table += struct.pack("<QQ", at, len(section))
        at += len(section)
    return HEADER.pack(*header) + data[HEADER.size:records_at] + kept + table + b"".join(sections)


def cut(data):
    if struct.unpack_from("<Q", data, 8)[0] == 16:
        return data[:16] + few(data[16:])
    return cut_file(data)


def paragraphs(text, count):
    return b"\n\n".join(text.split(b"\n\n")[:count]) + b"\n\n"


def record_perf(folder):
    for name, options in RECORDINGS.items():
        path = folder / f"{name}.data"
        run("perf", "record", "-q", "-o", str(path), *options, "--", *BUSY)
        path = path / "data" if path.is_dir() else path
        stream = run("perf", "record", "-q", "-o", "-", *options, "--", *BUSY)
        if path.exists() and path.stat().st_size:
            store("fuzz_perf_data", name, cut(path.read_bytes()))
            for fields, script in TEXTS.items():
                text = run("perf", "script", "-i", str(path), *script)
                store("fuzz_perf_script", f"{name}-{fields}", paragraphs(text, 4)[:1000])
        if stream:
            store("fuzz_perf_data", f"{name}-stream", cut(stream))
            store("fuzz_input", f"{name}-stream", cut(stream)[:3000])


def record_traces(folder):
    """Records with the recorder, and stores all that the recordings become."""
    environment = {"LD_PRELOAD": str(libraries / "libgecko_preload.so"), "GECKO_RECORDER_CHUNK": "4K",
                   "GECKO_RECORDER": "1", "GECKO_RECORDER_OUTPUT": str(folder / "preloaded.trace")}
    run(*BUSY, env={**os.environ, **environment})
    for path in folder.glob("*.trace"):
        store("fuzz_trace", path.name, path.read_bytes()[:24576])


FORMATS = {"fuzz_profile": "processed", "fuzz_saved": "gecko", "fuzz_input": "jslb", "fuzz_collapsed": "collapsed"}


def convert_all():
    """Stores the profiles of the recordings in all formats."""
    for path in sorted([*seeds.glob("fuzz_perf_data/*"), *seeds.glob("fuzz_trace/*")]):
        for target, name in FORMATS.items():
            profile = run(converter, "--quiet", "--symbols=none", "--format", name, str(path), "-o", "-")
            store(target, f"{path.name}-{name}", profile)


def main():
    with tempfile.TemporaryDirectory() as folder:
        record_perf(pathlib.Path(folder))
        record_traces(pathlib.Path(folder))
    convert_all()


main()
