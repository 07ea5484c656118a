#!/usr/bin/env python3
"""Reads `perf script` text independently of the converter and prints what a profile of it must contain.

usage: read_perf_script.py [--weight=samples|period] FILE

The answer is JSON: {"threads": [{"name", "pid", "tid", "samples", "weightSum", "functions": {name: [self, total]}}],
"stacks": {"comm;root;...;leaf": count}, "samples": N, "event": NAME, "lines": {kind: count}}. self is the weight of the
samples whose innermost frame is the function, total that of the samples that have it anywhere. A `;` within a name is
written `:` in "stacks". Threads without a sample are left out. Nothing here is shared with the converter: it is written
from the description of the format.
"""
import collections
import json
import re
import sys

from read_collapsed import demangled


def compile_ascii(text):
    return re.compile(text, re.ASCII)


HEADER = compile_ascii(r"#(\s|$)")
NOTICE = compile_ascii(r"\[ perf |Warning:")
TRACE_ERROR = compile_ascii(r"\s*\S.*? trace error type \d+ ")
# The text between the comm and the time, which ends at the first `: ` or at the end of the line.
IDS = r"(?P<ids>-?\d+(?:/-?\d+)?)"
CPU = r"(?:\[ *(?P<cpu>\d+)\]\s+)?"
MISC = r"(?:(?P<misc>[KUHGgMESp]{1,4})\s+)?"
TOD = r"(?:(?P<tod>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+|disabled|failed)\s+)?"
GUEST = r"(?:VM:\s*(?P<vm>\d+)\s+)?(?:VCPU:\s*-?\d+\s+)?"
TIMED = compile_ascii(rf"\s*{GUEST}(?P<comm>.*?)(?:(?<=\s)|^){IDS}\s+{CPU}{MISC}{TOD}(?P<time>\d+\.\d+):(?=\s|$)")
UNTIMED = compile_ascii(
    rf"\s*{GUEST}(?P<comm>\S.*?)\s+{IDS}\s+{CPU}{MISC}{TOD}"
    r"(?=PERF_RECORD_[A-Z]|DEFERRED CALLCHAIN|(?:\d+\s+)?[^\s\d]\S*:(?:\s|$))"
)
# With -L, the comm has eight columns, and the number of the processor has no brackets.
LATENCY = compile_ascii(r"(?P<task>[ \S]{8}  *\d+(?:/\d+ *)?) (?P<cpu>  \d| \d\d|\d{3})(?P<rest> +\d+\.\d+:)")
RECORD = compile_ascii(r"\s*PERF_RECORD_(?P<kind>[A-Z0-9_]+)(?P<text>.*)$")
DEFERRED = compile_ascii(r"\s*DEFERRED CALLCHAIN \[cookie: (?P<cookie>[0-9a-f]+)\]")
EVENT = compile_ascii(r"\s*(?:(?P<period>\d+)\s+)?(?P<event>\S+?):(?:\s+(?P<tail>.*))?$")
COMM_RECORD = compile_ascii(r"(?: exec)?: (?P<comm>.*):(?P<pid>-?\d+)/(?P<tid>-?\d+)\s*$")
TASK_RECORD = compile_ascii(r"\((?P<pid>-?\d+):(?P<tid>-?\d+)\):\(-?\d+:-?\d+\)")
MMAP_RECORD = compile_ascii(r" (?P<pid>-?\d+)/(?P<tid>-?\d+): \[")
NAMESPACES_RECORD = compile_ascii(r" (?P<pid>-?\d+)/(?P<tid>-?\d+) - nr_namespaces: ")
FRAME = compile_ascii(r"\s+(?P<address>[0-9a-f]+)(?:(?: +|\t(?!insn:))(?P<rest>\S.*))?$")
FIELD_LINE = compile_ascii(r" +(?:[0-9a-f]+ (?:N/A|\d+[BKMG])|insn: .*)$")
NAMELESS_FRAME = compile_ascii(r"\s+(?P<rest>\[unknown\](?: \(.*\))?)$")
# A frame line that has lost its indentation: the text after the address looks like a frame, or the address is long.
BARE_FRAME = compile_ascii(
    r"(?:"
    r"(?:[0-9a-f]+|\[unknown\])\s(?:.*\s)?\(.*\)"
    r"|[0-9a-f]+\s.*\+0x[0-9a-f]+"
    r"|(?=[a-f]*[0-9])[0-9a-f]{6,}(?:\s.*)?"
    r")\s*$"
)
BARE_SOURCE = compile_ascii(r"\S.*(?::\d+|\[[0-9a-f]+\])(?: \((?:inlined|discriminator \d+)\))?$")
# A frame among other fields: an address, a symbol with an offset or an unknown one, and a library.
FIELD_FRAME = compile_ascii(
    r"(?:^|(?<=\s))(?P<address>[0-9a-f]+) "
    r"(?P<rest>(?:\[unknown\]|(?![0-9a-f]{16} )[^|\s][^|]*?\+0x[0-9a-f]+) \(.+?\))(?=\s|$)"
)
# The same without a library: another field follows the symbol.
BARE_FIELD_FRAME = compile_ascii(
    r"(?:^|  )(?P<address>[0-9a-f]{6,}) (?P<rest>[^\s|].*?)(?=(?: ABI:| insn:| {10}|  *\S+/[PM]/).*$)"
)
# An address without a symbol is in 17 columns, and other numbers are in 16.
LONE_ADDRESS = compile_ascii(r"(?<=[\dA]) (?=[0-9a-f ]{16}(?: |$)) *(?P<address>[0-9a-f]+)(?= |$)")
OLD_TRACEPOINT = compile_ascii(r"\w+=\S")
OF_PROCESSOR_TRACES = {"cbr", "psb", "mwait", "pwre", "exstop", "pwrx", "ptwrite", "evt", "iflag"}
BRANCH_FLAGS = r"/(?:[PM]N?|-)/[X-]/[A-]/\d+(?:/\S*)?"
BRANCH = compile_ascii(rf"(?:^|\s+)\S+(?: \([^()]*\))?/\S+(?: \([^()]*\))?{BRANCH_FLAGS}(?=\s|$)")
REGISTERS = compile_ascii(r"\s+ABI:\d+ ")
OFFSET = compile_ascii(r"\+0x[0-9a-f]+$")
JAVASCRIPT = compile_ascii(r"(?:JS|LazyCompile|Function|Script|Eval):(?!:)[~^+*]*(?P<name>.*?)(?: [^ ]*)?$")
DOTNET_TIER = compile_ascii(
    r"(?<=.)\[(?:PreStub|PreJIT|MinOptJitted|Optimized(?:Tier1(?:OSR)?)?|QuickJitted|InstrumentedTier(?:Optimized)?)\]$"
)
PYTHON = compile_ascii(r"py::(?P<name>[^:]*)(?::.*)?$")
# What linkers append to the names of symbols in shared libraries.
VERSION = compile_ascii(r"(?<=.)@@?(?!plt$)[A-Za-z][A-Za-z0-9._-]*(?=(?:@plt)?$)")
GENERATED = compile_ascii(r"\[JIT|(?:.*/)?(?:jitted-|perf-\d+\.map$)")
PERF_MAP = compile_ascii(r"(?:.*/)?perf-\d+\.map$")
MODIFIERS = compile_ascii(r"[ukhGHpPSDIWebRX]+$")


SECONDS_END = (2**63 - 1) // 4 // 10**9  # times from here on are damage


class Script(str):
    """A function of Python."""


class Nowhere(str):
    """A caller of user code that has neither a symbol nor a library."""


class Sample:
    def __init__(self, thread, event, period):
        self.thread = thread
        self.event = event
        self.period = period
        self.closed = False  # its only frame was on the event line
        self.frames = []  # innermost first
        self.cookie = None


class Thread:
    def __init__(self, pid, tid, incarnation, process_incarnation):
        self.pid = pid
        self.tid = tid
        self.incarnation = incarnation
        self.process_incarnation = process_incarnation
        self.name = ""


def is_tracepoint(event):
    """Returns whether it is `subsystem:name`, not `cycles:pp`, `cpu/event=1/u` or the breakpoint `mem:0x1000:rw`."""
    if "/" in event or event.startswith("mem:0x") or ":" not in event:
        return False
    return not MODIFIERS.match(event.split(":")[1])


OCCURRENCES = set(
    "page-faults faults minor-faults major-faults context-switches cs cpu-migrations migrations alignment-faults"
    " emulation-faults bpf-output cgroup-switches".split()
)


def measure(event):
    """Returns what the event measures, whatever its modifiers and the kind of its processor."""
    if is_tracepoint(event):
        return event
    name = re.sub(r":[ukhGHpPSDIWebRX]+$", "", event)
    name = re.sub(r"^cpu(_core|_atom)?/(.+)/[^/]*$", r"\2", name)
    return {"cpu-clock": "clock", "task-clock": "clock", "cpu-cycles": "cycles"}.get(name, name)


def rank_of(name, is_tracepoint):
    """Returns which of two measures makes the samples: the higher one."""
    if name in ("clock", "cycles"):
        return 3
    if is_tracepoint:
        return 0
    return 1 if name in OCCURRENCES or name.startswith("mem:0x") else 2


def split_library(text):
    """Splits `name (library)`: the library is in the last balanced brackets, after a blank."""
    if not text.endswith(")"):
        return text, None
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if depth == 0:
            break
    if depth or (at and not text[at - 1].isspace()):
        return text, None
    return text[:at].rstrip(), text[at + 1 : -1]


def clean_library(library):
    if library in (None, "", "[unknown]"):
        return None
    library = OFFSET.sub("", library)
    if library.endswith(" (deleted)"):
        library = library[: -len(" (deleted)")]
    return library


def read_frame(address, rest):
    """Returns the names of one frame line, innermost first; address is a text or None."""
    rest = (rest or "").rstrip()
    if rest.endswith(" (inlined)"):
        return [VERSION.sub("", OFFSET.sub("", rest[: -len(" (inlined)")]))]
    symbol, library = split_library(rest)
    library = clean_library(library)
    symbol = OFFSET.sub("", symbol).removesuffix(" [inlined]")
    if symbol in ("", "[unknown]"):
        if address is None:
            return ["[unknown]"]
        where = library.rsplit("/", 1)[-1] if library else "[unknown]"
        return [f"{where}+0x{address.lstrip('0') or '0'}"]
    is_generated = not library or GENERATED.match(library)
    script = JAVASCRIPT.match(symbol) if is_generated else None
    if script:
        return [script["name"] or "(anonymous)"]
    if is_generated and DOTNET_TIER.search(symbol):
        return [DOTNET_TIER.sub("", symbol)]
    script = PYTHON.match(symbol) if is_generated else None
    if script:
        return [Script(script["name"] or "(anonymous)")]
    if library and PERF_MAP.match(library):
        return symbol.split("->")[::-1]
    return [VERSION.sub("", demangled(symbol, "-p"))]


class Reader:
    def __init__(self, text):
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.lines = [LATENCY.sub(r"\g<task> [\g<cpu>]\g<rest>", line.rstrip("\r"), count=1) for line in self.lines]
        self.counts = collections.Counter()
        self.tabbed = any(line.startswith("\t") for line in self.lines)
        self.has_bare_frames = False
        self.timed = any(TIMED.match(line) for line in self.lines if line[:1] not in ("\t", "#"))
        self.pid_of_tid = {}
        self.incarnations = {}  # by tid: number of the current incarnation
        self.ended = set()  # tids that ended or were made by a FORK: their next FORK begins another incarnation
        self.threads = {}
        self.samples = []
        self.sample = None
        self.deferred = []  # (cookie, thread, frames, number of samples before it)
        self.is_kernel = False  # the last frame
        self.has_libraries = False
        self.tracepoints = {}  # by event: whether it is one
        self.stack = None  # the list to which frame lines are added
        for line in self.lines:
            self.learn_pid(line)
        for line in self.lines:
            self.read_line(line)
        self.join_deferred()
        if self.has_libraries:
            self.drop_outermost()
        self.drop_trampolines()

    def match_head(self, line):
        if line.startswith("\t"):
            return None
        head = TIMED.match(line)
        if head and int(head["time"].split(".")[0]) >= SECONDS_END:
            return None
        if head or self.timed:
            return head
        return UNTIMED.match(line)

    def learn_pid(self, line):
        head = self.match_head(line)
        if not head or HEADER.match(line):
            return
        if "/" in head["ids"]:
            pid, tid = head["ids"].split("/")
            self.pid_of_tid.setdefault(tid, pid)
        for pattern in (COMM_RECORD, TASK_RECORD, MMAP_RECORD, NAMESPACES_RECORD):
            record = RECORD.match(line, head.end())
            found = record and pattern.match(record["text"])
            if found:
                self.pid_of_tid.setdefault(found["tid"], found["pid"])

    def find_thread(self, pid, tid):
        if tid == "0":
            pid = "0"
        elif tid == "-1":
            pid = "-1"
        incarnation = self.incarnations.setdefault(tid, 1)
        if pid is None:
            known = [thread for thread in self.threads.values() if thread.tid == tid and thread.incarnation == incarnation]
            pid = known[0].pid if known else self.pid_of_tid.get(tid, "unknown pid")
        key = (pid, tid, incarnation)
        if key not in self.threads:
            self.threads[key] = Thread(pid, tid, incarnation, self.incarnations.get(pid, 1))
        return self.threads[key]

    def name_thread(self, thread, comm):
        thread.name = {"0": "swapper", "-1": "unknown"}.get(thread.tid, comm)

    def read_line(self, line):
        if not line.strip():
            self.counts["blank"] += 1
            self.stack = self.sample = None
        elif HEADER.match(line):
            self.counts["header"] += 1
        elif NOTICE.match(line):
            self.counts["notice"] += 1
        elif TRACE_ERROR.match(line):
            self.counts["trace error"] += 1
            self.stack = self.sample = None
        else:
            head = self.match_head(line)
            if head:
                self.read_record(line, head)
            else:
                self.read_detail(line)

    def read_record(self, line, head):
        self.stack = self.sample = None
        pid, _, tid = head["ids"].rpartition("/")
        if head["vm"] and pid:
            pid = f"{pid} (VM {head['vm']})"  # a guest's pids are not the host's
        comm = head["comm"].strip()
        record = RECORD.match(line, head.end())
        if record:
            self.counts["record " + record["kind"]] += 1
            self.read_task(record["kind"], record["text"], pid or None, tid, comm)
            return
        thread = self.find_thread(pid or None, tid)
        self.name_thread(thread, comm)
        deferred = DEFERRED.match(line, head.end())
        if deferred:
            self.counts["deferred callchain"] += 1
            self.stack = []
            self.deferred.append((int(deferred["cookie"], 16), thread, self.stack, len(self.samples)))
            return
        event = EVENT.match(line, head.end())
        name = event["event"] if event else ""
        tail = (event["tail"] or "") if event else line[head.end() :]
        period = int(event["period"]) if event and event["period"] else None
        self.counts["event"] += 1
        self.sample = Sample(thread, name, period)
        self.stack = self.sample.frames
        self.samples.append(self.sample)
        if not self.is_tracepoint(name, tail):
            self.read_tail(tail)

    def is_tracepoint(self, event, tail):
        """Returns whether it is a tracepoint. Hardware events with a colon in their names have frames."""
        is_one = not FIELD_FRAME.match(tail.strip()) if is_tracepoint(event) else OLD_TRACEPOINT.match(tail)
        is_one = is_one or (tail.strip() and event in OF_PROCESSOR_TRACES)
        return self.tracepoints.setdefault(event, bool(is_one))

    def read_tail(self, tail):
        """Reads what follows the event's name without -g: other fields, a frame, more fields."""
        frames = list(FIELD_FRAME.finditer(tail.split(" => ")[0])) or list(BARE_FIELD_FRAME.finditer(tail)) or list(
            LONE_ADDRESS.finditer(tail))[:1]
        if frames:
            frame = frames[-1].groupdict()
            self.counts["frame on the event line"] += 1
            self.stack.extend(read_frame(frame["address"], frame.get("rest")))
            self.sample.closed = True
            return
        tail = BRANCH.sub("", REGISTERS.split(" " + tail)[0]).strip()
        if tail.startswith("/"):
            tail = tail.partition(" ")[2]
        frame = FRAME.match(" " + tail.strip())
        if frame:
            self.counts["frame on the event line"] += 1
            self.stack.extend(read_frame(frame["address"], frame["rest"]))
            self.sample.closed = True

    def read_task(self, kind, text, pid, tid, comm):
        if kind == "COMM":
            found = COMM_RECORD.match(text)
            if found:
                self.name_thread(self.find_thread(found["pid"], found["tid"]), found["comm"])
        elif kind == "FORK":
            found = TASK_RECORD.match(text)
            if found:
                tid = found["tid"]
                if tid in self.ended:
                    self.incarnations[tid] += 1
                self.incarnations.setdefault(tid, 1)
                self.ended.add(tid)
                self.find_thread(found["pid"], tid)
        elif kind == "EXIT":
            found = TASK_RECORD.match(text)
            if found:
                self.find_thread(found["pid"], found["tid"])
                self.ended.add(found["tid"])
        elif kind.startswith("SWITCH"):
            self.name_thread(self.find_thread(pid, tid), comm)

    def read_detail(self, line):
        """Reads a line that belongs to the previous record."""
        if self.stack is None:
            self.counts["stray"] += 1
            return
        if REGISTERS.match(line) or FIELD_LINE.match(line):
            self.counts["fields"] += 1
            return
        if BRANCH.match(line):
            self.counts["branches"] += 1
            return
        if not self.tabbed and BARE_FRAME.match(line):
            self.has_bare_frames = True
            line = "\t" + line
        elif self.has_bare_frames and BARE_SOURCE.match(line):
            line = "  " + line
        frame = FRAME.match(line) or NAMELESS_FRAME.match(line)
        if frame and not (self.sample and self.sample.closed):
            address = frame.groupdict().get("address")
            if (frame["rest"] or "").startswith("(cookie)") and self.sample:
                self.counts["cookie"] += 1
                self.sample.cookie = int(address, 16)
                return
            self.counts["frame"] += 1
            self.add_frame(address, frame["rest"])
        elif line.startswith("  "):
            self.counts["srcline"] += 1
        else:
            self.counts["stray"] += 1

    def add_frame(self, address, rest):
        """Adds the names of a frame line. Callers without a symbol and a library are one function. A frame is not a caller
        if it is the first one, or the first one of a user after those of the kernel."""
        was_kernel, self.is_kernel = self.is_kernel if self.stack else False, address and int(address, 16) >= 0xFFFF << 48
        is_caller = self.stack and (self.is_kernel or not was_kernel)
        symbol, library = split_library((rest or "").rstrip())
        self.has_libraries |= clean_library(library) not in (None, "inlined")
        is_nowhere = (symbol == "[unknown]" and not clean_library(library)) or (not symbol and library == "[unknown]")
        unknown = "[unknown]" if self.is_kernel else Nowhere("[unknown]")
        self.stack.extend([unknown] if is_caller and is_nowhere else read_frame(address, rest))

    def join_deferred(self):
        for cookie, thread, frames, before in self.deferred:
            for sample in self.samples[:before]:
                if sample.cookie == cookie and sample.thread is thread:
                    sample.frames.extend(frames)
                    sample.cookie = None

    def drop_outermost(self):
        """Removes callers that are in no library at the root. A stack without other frames keeps one."""
        for sample in self.samples:
            while len(sample.frames) > 1 and isinstance(sample.frames[-1], Nowhere):
                sample.frames.pop()

    def drop_trampolines(self):
        """Removes Python's callers of trampolines."""
        for sample in self.samples:
            frames = sample.frames
            sample.frames = [
                frame
                for i, frame in enumerate(frames)
                if not (i and frame == "py_trampoline_evaluator" and isinstance(frames[i - 1], Script))
            ]

    def choose_events(self):
        """Returns the events that make the samples, all of one measure: a clock or cycles; else the one with the most
        stacks of those that are counted, of those that occur, of the tracepoints."""
        stacks = collections.Counter()
        events = {}
        for sample in self.samples:
            stacks[measure(sample.event)] += bool(sample.frames)
            events.setdefault(measure(sample.event), set()).add(sample.event)
        best = None
        for name, count in stacks.items():  # in order of first appearance
            rank = (count > 0, rank_of(name, self.tracepoints.get(name)), count, name == "clock")
            if best is None or rank > best[0]:
                best = (rank, name)
        return events[best[1]] if best else set()

    def profile(self, weigh_periods):
        events = self.choose_events()
        threads = {}
        stacks = collections.Counter()
        total = 0
        for sample in self.samples:
            is_other = sample.event not in events
            rank = rank_of(measure(sample.event), self.tracepoints.get(sample.event))
            if is_other or (rank < 2 and not sample.frames):
                self.counts["no sample: other event" if is_other else "no sample: no stack"] += 1
                continue
            weight = 1
            if weigh_periods and sample.period is not None:
                weight = sample.period
            thread = sample.thread
            entry = threads.setdefault(thread, {"samples": 0, "weightSum": 0, "functions": {}})
            entry["samples"] += 1
            entry["weightSum"] += weight
            total += 1
            functions = entry["functions"]
            for name in dict.fromkeys(sample.frames):
                functions.setdefault(name, [0, 0])[1] += weight
            if sample.frames:
                functions[sample.frames[0]][0] += weight
            path = [thread.name] + sample.frames[::-1]
            stacks[";".join(name.replace(";", ":") for name in path)] += 1

        def incarnation(number, times):
            return number if times == 1 else f"{number}.{times}"

        def pid(thread):
            return incarnation(thread.pid, thread.incarnation if thread.pid == thread.tid else thread.process_incarnation)

        return {
            "threads": [
                {
                    "name": thread.name,
                    "pid": pid(thread),
                    "tid": incarnation(thread.tid, thread.incarnation),
                    **entry,
                }
                for thread, entry in threads.items()
            ],
            "stacks": dict(stacks),
            "samples": total,
            "event": ", ".join(sorted(events)),
            "lines": dict(sorted(self.counts.items())),
        }


def read(arguments):
    """Returns the answer as text."""
    weigh_periods = "--weight=period" in arguments
    paths = [argument for argument in arguments if not argument.startswith(("--weight=", "--source-url="))]
    if len(paths) != 1:
        sys.exit(__doc__)
    with open(paths[0], "rb") as source:
        text = source.read().decode("utf-8", "each")
    return json.dumps(Reader(text).profile(weigh_periods), indent=1, ensure_ascii=False)


if __name__ == "__main__":
    print(read(sys.argv[1:]))
