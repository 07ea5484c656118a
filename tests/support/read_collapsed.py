#!/usr/bin/env python3
"""Reads collapsed stacks independently of the converter and prints what a profile of them must contain.

usage: read_collapsed.py [--root=auto|frame|thread] [--weight-unit=UNIT] [--interval=TIME] FILE

The answer is JSON: {"threads": [{"name", "pid", "tid", "samples", "weightSum", "functions": {name: [self, total]}}]}.
Weights that are times are in milliseconds. A thread with samples that have no stack also has their
"weightWithoutStack". self is the sum of the weights of the samples whose last frame is the function,
total that of the samples that have it anywhere. Nothing here is shared with the converter: it is written from the
description of the format.
"""
import codecs
import functools
import json
import re
import subprocess
import sys
from decimal import Decimal, getcontext

getcontext().prec = 60
DIGITS_MAX = 18
LIMIT = 36
START_BYTES = 64 * 1024
MS = {"ns": Decimal("0.000001"), "us": Decimal("0.001"), "ms": 1}
AUSTIN_UNITS = {b"wall": "us", b"cpu": "us", b"full": "us", b"memory": "bytes"}
DIALECT_UNITS = {"austin-1": "us", "tracing": "ns", "torch": "us"}
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\Z", re.ASCII)
ANNOTATION = re.compile(r"(?s)(.+?)(_\[[kijw01]\]| \[inlined\])\Z")
THREAD = re.compile(r"(?s)(.+)-(\d{1,10}|\?)(?:/(\d{1,10}))?\Z", re.ASCII)

# A line or a position in the code, of a method of Java.
JAVA_PLACE = re.compile(r"([^ :]*\.[^ :]*?)(?<!\.[mc]js)(?<!\.js)(?<!\.ts)(?:@\d+|:\d+)\Z", re.ASCII)

# A semicolon that belongs to a Java name.
JAVA_TYPE = r"\[*(?:[BCDFIJSVZ]|L[^;()\s]+;)"
JAVA = re.compile(rf"\[*L[^;()]+;(?=::|\.)|\((?:{JAVA_TYPE})+\)(?:{JAVA_TYPE}(?=;|\Z|_\[))?|\(\){JAVA_TYPE}(?=;|\Z|_\[)")

# How profilers write the frames that they know a place of; the group is the name.
FRAMES = {
    "async": None,
    "austin-1": re.compile(r"(?s)(.+?) \(.*\)(?:;L\d+)?\Z"),
    "py-spy": re.compile(r"(?s)(.+?) \((?:.*:-?\d+|.*\.so[.\d]*|.*\.(?:pyx?|cc|c|cpp|cxx|h|hpp|rs|go|S)|python[.\d]*|<.*>)\)\Z"),
    "austin": re.compile(r"(?s).*[./\\<].*:(?!\d+:)([^:]+):\d+\Z"),
    "rbspy": re.compile(r"(?s)(.+?) - (?:.+:\d+|.+\.rb|\(?unknown\)?)\Z"),
    "sample": None,
    "tracing": re.compile(r"(?s)(.+):[^:]+\.rs:\d+\Z"),
    "dotnet": re.compile(r"(?s)[\w.+-]+!([^=( /].*?)(?:\+0x[0-9a-f]+)?(?:_\[[kijw01]\]| \[inlined\])?\Z", re.ASCII),
    "julia": re.compile(r"(?s)(.+?) at .*\.(?:jl|cc|c|cpp|cxx|h|hpp|rs|go|S):\d+(?: \[inlined\])?\Z"),
    "torch": re.compile(r"(?s).*?\.py\(\d+\):[_ ](.+)\Z"),
}

# How they write threads; with the semicolon that follows.
MARKS = {
    "async": re.compile(r"(?:\[SCHED_\w+\];)?\[(?P<name>.*?) ?tid=(?P<tid>\d+)\](?:;|\Z)"),
    "austin-1": re.compile(r"(?:Process (?P<pid>\d+);)?(?P<name>Thread [0-9a-f]{8,})(?:;|\Z)"),
    "py-spy": re.compile(r'(?:process \d+:".*?"(?:;|\Z)(?=process))*(?:process (?P<pid>\d+):".*?"(?:;|\Z))?'
                         r"(?:thread \((?:(?P<tid>\d+)|0x\w+)\)(?:: (?P<name>[^;]*))?(?:;|\Z))?"),
    "austin": re.compile(r"P(?P<pid>\d+);T(?:\d+:)?(?:(?P<tid>\d+)|(?P<name>0x\w+))(?:;|\Z)"),
    "rbspy": None,
    "sample": re.compile(r"Thread_(?P<tid>\d+)(?=[\s:;]|\Z):?\s*(?P<name>[^;]*)(?:;|\Z)"),
    "tracing": re.compile(r"(?P<name>ThreadId\((?P<tid>\d+)\)(?:-(?P<own>[^;]*))?)(?:;|\Z)"),
    "dotnet": re.compile(r"Process(?:64|32) [^;]*?\((?P<pid>\d+)\)(?: Args:[^;]*)?;(?:\(Non-Activities\);|Threads;)*"
                         r"Thread \((?P<tid>\d+)\)[^;(]*(?:\((?P<name>[^;]*)\))?(?:;|\Z)"),
    "julia": None,
    "torch": None,
}

# The module of a native function, and DTrace's offset. .NET has "List`1", C++ of Microsoft "Shape::`vtable'", and Ruby
# "in `draw'".
MODULE = re.compile(r"(?s)\A(?:(?!::)[^`])+`(?!\d(?!x))(?!.*'\Z)(.+?)(?:\+0x[0-9a-f]+)?\Z")

# How V8, Python and .NET name the code that they generate; the group is the function's name.
GENERATED = [re.compile(r"(?:JS|LazyCompile|Function|Script|Eval):(?!:)[*+^~]*(.*?)(?: [^ ]*)?\Z"),
             re.compile(r"py::([^:]*):[^:].*\Z"),
             re.compile(r"(.+)\[(?:PreStub|PreJIT|MinOptJitted|Optimized|QuickJitted|OptimizedTier1|OptimizedTier1OSR|"
                        r"InstrumentedTier|InstrumentedTierOptimized)\]\Z")]

# The module that tools of Windows write.
WINDOWS_MODULE = re.compile(r"(?s)\A[^!]+\.(?:dll|DLL|exe|EXE|sys|so)!(.+?)(?:\+0x[0-9a-f]+)?\Z")

# What ends a name of Rust.
RUST_HASH = re.compile(r"::h[0-9a-f]{16}\Z")

def show_bytes(error):
    return "".join(f"\\x{byte:02x}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error("each", show_bytes)


def split_words(line, count):
    """Returns the last `count` words of the line, and the text before them."""
    words = []
    for _ in range(count):
        line = line.rstrip(" \t")
        at = max(line.rfind(" "), line.rfind("\t")) + 1
        words.insert(0, line[at:])
        line = line[:at]
    return line.rstrip(" \t"), words


def parse_number(word):
    """Returns a Decimal of at most 18 significant digits; None if the word is not a number."""
    if not NUMBER.match(word):
        return None
    number = Decimal(word)
    if abs(number) >= Decimal(10) ** LIMIT:
        return None
    places = min(DIGITS_MAX - 1 - number.adjusted(), DIGITS_MAX) if number else 0
    return number.quantize(Decimal(1).scaleb(-places), rounding="ROUND_HALF_UP")


def parse_line(line, columns):
    """Returns (stack, numbers), or None. austin's lines of three numbers have 3 columns; the first one counts."""
    is_spaced = columns == 3 and re.search(r"(?: \S*\d){3}\Z", line)
    stack, words = split_words(line, 3 if is_spaced else 1 if columns == 3 else columns)
    if is_spaced:
        words = words[:1]
    elif columns == 3 and words[0].count(",") == 2:
        words = words[0].split(",")[:1]
    if line.startswith("#") and (line[1:2] in ("", " ", "\t") or not NUMBER.match(words[-1])):
        return None
    numbers = [parse_number(word) for word in words]
    if None in numbers or not stack.strip("; \t"):
        return None
    return stack, numbers


def read_lines(data):
    lines = [line[:-1] if line.endswith(b"\r") else line for line in data.split(b"\n")]
    return [line.decode("utf-8", "each") for line in lines]


def printed_frame(line):
    """Returns the name of a printed frame: bcc and SystemTap may write the address before it, and the library after."""
    if re.match(r"0x[0-9a-f]+ \[\S+\+0x\w+/0x\w+\]\Z", line):
        return "[unknown]"
    line = re.sub(r"\A([0-9a-f]+) (?=0x\1)", "", line.removesuffix(" ([unknown])"))
    line = re.sub(r"(\+0x[0-9a-f]+)/0x[0-9a-f]+(?= |\Z)", r"\1", re.sub(r"\A0x[0-9a-f]+ : ", "", line))
    name = re.sub(r"\A(?:0x)?[0-9a-f]{8,16} (?=\S)", "", re.sub(r"\A--\s+--\Z", "--", line))
    return re.sub(r"(?<=.)\+(0x[0-9a-f]+|\d+)\Z", "", re.sub(r"(?<=.) (?:\[[^\[\]]*\]|\(/.*\))\Z", "", name))


def printed_blocks(text):
    """Yields the lines of each stack that bcc and DTrace print, and the count below them."""
    lines = []
    for line in text.splitlines():
        if not line.startswith((" ", "\t")) or not line.strip():
            lines = []
        elif line.strip().isdigit():
            if lines:
                yield lines, line.strip()
            lines = []
        else:
            lines.append(line.strip())


def collapse_block(lines):
    """Returns the frames, outermost first, and whether the first one is a thread."""
    thread = re.match(r"- +(?P<comm>.*) \((?P<pid>\d+)\)\Z", lines[-1])
    thread = thread or re.match(r"(?:waker|target): +(?P<comm>.*?)(?: (?P<pid>\d+))?\Z", lines[-1])
    frames = [re.sub(r"\A(?:waker|target): +", "", line) for line in lines]
    if not thread:
        return [printed_frame(frame) for frame in frames[::-1]], False
    root = thread["comm"] + (f"-{thread['pid']}" if thread["pid"] else "")
    return [root] + [printed_frame(frame) for frame in frames[-2::-1]], True


ENTRY = re.compile(r"entry_SYSCALL|do_syscall_64|asm_|el0|ret_from")


def map_thread(keys):
    """Returns the thread that the keys of a map name: their texts, and the numbers as pid and tid."""
    name, ids = [], []
    for key in filter(None, re.split(r", *", keys)):
        is_id = key.isdigit() and (not ids or len(ids) == 1 and int(key) >= int(ids[0]))
        (ids if is_id else name).append(key)
    if not name or not ids:
        return ", ".join(name or ids)
    return f"{', '.join(name)}-{'/'.join(ids)}"


def collapse_maps(text):
    """Yields the frames of each stack in maps of bpftrace, whether the first one is a thread, and its count."""
    first = None
    for name, key, value, buckets in re.findall(r"(?ms)^(@\w*)\[([^\]]*?\n.*?)\]: ?(.*?)\n((?:[\[(].*\|\n)*)", text):
        parts = [[line.strip() for line in part.splitlines()] for part in re.split(r"(?m)^,", key)]
        before = [part[0] for part in parts]
        parts = [[printed_frame(line) for line in part[1:] if line][::-1] for part in parts]
        parts = [part for part in parts if part]
        if len(parts) > 1 and ENTRY.match(parts[1][0]):
            parts.reverse()
        first = first or name
        thread = map_thread(", ".join(text.strip(", ") for text in before))
        root = ([thread] if thread else []) + ([name] if name != first else [])
        frames = root + [frame for part in parts[::-1] for frame in part]
        for count in [value] if value else re.findall(r"(\d+) *\|@", buckets):
            if count.isdigit():
                yield (frames, bool(thread)), count


def collapse_printed(data):
    """Collapses stacks that bcc, bpftrace, DTrace and SystemTap print; also returns whether they name threads."""
    text = data.decode("utf-8", "each")
    if not re.search(r"(?m)^(@\w*\[|Sampling at |Tracing |dtrace: | ?0x[0-9a-f]+ : )", text):
        return data, False
    # The indentation that SystemTap writes may be lost.
    if re.match(r"0x[0-9a-f]+ : ", text):
        text = re.sub(r"(?m)^(?=\S)", " ", text)
    # DTrace writes which probe has printed, and a blank line between the stacks of the kernel and the program.
    text = re.sub(r"(?m)^ +\d+ +\d+ +\S*:\S* *$", "", text)
    text = re.sub(r"(?m)^( +\S*`.*\n)\n(?= +\S)", r"\1", text)
    blocks = list(collapse_maps(text)) or [(collapse_block(lines), count) for lines, count in printed_blocks(text)]
    folded = "".join(f"{';'.join(frames)} {count}\n" for (frames, _), count in blocks)
    return folded.encode(), any(has_thread for (_, has_thread), _ in blocks)


def count_columns(data):
    start = data[:START_BYTES]
    if re.match(rb"# austin: (?s:.)*?\n# mode: full\n", start) or re.match(rb"(?:Process|Thread) .*(?: -?\d+){3}\n", start):
        return 3
    if len(data) > START_BYTES:
        start = start[: start.rfind(b"\n") + 1]
    two = one = 0
    for line in read_lines(start):
        if parse_line(line, 2):
            two += 1
        elif parse_line(line, 1):
            one += 1
    return 2 if two > one else 1


def split_frames(stack):
    """Splits at semicolons that are neither within a Java name nor before the line of a frame of austin 1."""
    hidden = JAVA.sub(lambda match: match.group().replace(";", "\0"), stack)
    hidden = re.sub(r"(?<=\));(?=L\d+(?:;|\Z))", "\0", hidden)
    return [frame.replace("\0", ";") for frame in hidden.split(";")]


def take_mark(dialect, stack):
    """Returns the match of a thread's mark at the start of the stack, or None."""
    match = MARKS[dialect].match(stack) if dialect and MARKS[dialect] else None
    return match if match and match.end() else None


def choose_dialect(stacks):
    """Returns the dialect of most stacks, and whether they name threads."""
    for dialect, frame in FRAMES.items():
        marked = sum(bool(take_mark(dialect, stack)) for stack in stacks)
        own = 0
        for stack in stacks:
            frames = split_frames(stack)
            shaped = sum(bool(frame and frame.match(text)) for text in frames)
            own += bool(take_mark(dialect, stack)) or (dialect != "austin-1" and shaped * 2 > len(frames))
        if own and own * 4 >= len(stacks) * 3:
            return dialect, marked and marked * 4 >= len(stacks) * 3
    return None, False


class Threads:
    def __init__(self):
        self.by_text = {}
        self.by_ids = {}
        self.uses = {}
        self.invented = 0

    def find(self, text):
        if text not in self.by_text:
            self.by_text[text] = self.make(text)
        return self.by_text[text]

    def find_marked(self, match):
        text, groups = match.group(), match.groupdict()
        pid, tid, name = groups.get("pid"), groups.get("tid"), groups.get("own") or groups.get("name")
        if not tid and "thread (" not in text and "T0x" not in text and "Thread " not in text:
            tid = pid
        if not tid:
            return self.by_text.setdefault(text.rstrip(";"), None) or self.add(text.rstrip(";"), pid or "?", None, name)
        if (pid or "?", tid) not in self.by_ids:
            self.by_ids[pid or "?", tid] = self.add(text, pid or "?", tid, name)
        thread = self.by_ids[pid or "?", tid]
        thread["name"] = name if name and thread["name"] == f"thread {tid}" else thread["name"]
        return thread

    def make(self, text):
        match = THREAD.match(text)
        name, pid, tid = match.groups() if match else (text, "?", None)
        if tid is None and pid != "?":
            tid = pid
        return self.add(text, pid, tid, name)

    def add(self, text, pid, tid, name):
        if tid is None:
            self.invented += 1
            tid = str(self.invented)
        pid, tid = pid if pid == "?" else str(int(pid)), str(int(tid))
        use = self.uses[pid, tid] = self.uses.get((pid, tid), 0) + 1
        self.by_text[text] = make_thread(name, "unknown pid" if pid == "?" else pid, tid if use == 1 else f"{tid}.{use}")
        return self.by_text[text]


def make_thread(name, pid, tid):
    return {"name": name or f"thread {tid}", "pid": pid, "tid": tid, "samples": 0, "weightSum": 0, "functions": {}}


def name_of(dialect, frame):
    frame = frame.lstrip(" \t") or frame[-1:]
    match = FRAMES[dialect].match(frame) if dialect and FRAMES[dialect] else None
    if match:
        return match.group(1)
    marked = ANNOTATION.match(frame)
    if marked and marked.group(2) not in ("_[k]", "_[w]") and not marked.group(1).endswith("]"):
        frame = JAVA_PLACE.sub(r"\1", marked.group(1)) + marked.group(2)
    plain = ANNOTATION.sub(r"\1", frame)
    for generated in GENERATED:
        match = generated.match(plain)
        if match:
            return match.group(1) or "(anonymous)"
    return demangled(WINDOWS_MODULE.sub(r"\1", MODULE.sub(r"\1", plain)))


@functools.lru_cache(None)
def demangled(name, *options):
    """Returns the name as a programmer writes it. What an old demangler leaves of Rust's names is mangled again first."""
    mangled = name
    if RUST_HASH.search(name):
        mangled = "_ZN" + "".join(f"{len(part)}{part}" for part in name.split("::")) + "E"
    if not mangled.startswith(("_Z", "_R", "__Z", "__R")):
        return name
    filtered = subprocess.run(["c++filt", *options, "--", mangled], capture_output=True, text=True, check=True).stdout
    filtered = filtered.rstrip("\n")
    return re.sub(r"\[[0-9a-f]+\]", "", RUST_HASH.sub("", name if filtered == mangled else filtered))


def add_sample(thread, dialect, frames, weight):
    thread["samples"] += 1
    thread["weightSum"] += weight
    names = [name_of(dialect, frame) for frame in frames if frame]
    if not names:
        thread["weightWithoutStack"] = thread.get("weightWithoutStack", 0) + weight
    for name in dict.fromkeys(names):
        sums = thread["functions"].setdefault(name, [0, 0])
        sums[0] += weight if name == names[-1] else 0
        sums[1] += weight


def plain_number(value):
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError(value)


def read(arguments):
    """Returns the answer as text."""
    options = [argument for argument in arguments if argument.startswith("--")]
    paths = [argument for argument in arguments if not argument.startswith("--")]
    given = dict(option[2:].split("=") for option in options)
    if len(paths) != 1 or not set(given) <= {"root", "weight-unit", "interval"}:
        sys.exit(__doc__)
    with open(paths[0], "rb") as file:
        data = file.read()
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16").encode()
    data = re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", data)
    if re.match(rb"\d{4}-\d\d-\d\dT[\d:.]+Z ", data):
        data = re.sub(rb"(?m)^\S+ ", b"", data)
    data = data.removeprefix(codecs.BOM_UTF8)
    heading = re.match(rb"Tracing .*\(us\)", data)
    data, has_comms = collapse_printed(data)
    columns = count_columns(data)
    lines = [parsed for parsed in (parse_line(line, columns) for line in read_lines(data)) if parsed]
    dialect, has_marks = choose_dialect([stack for stack, _ in lines[:100]])
    root = given.get("root", "thread" if has_comms else "auto")
    header = re.match(rb"# austin: (?s:.)*?\n# mode: (\w+)\n", data)
    own_unit = AUSTIN_UNITS[header.group(1)] if header else DIALECT_UNITS.get(dialect, "samples")
    own_unit = "us" if heading else own_unit
    unit = given.get("weight-unit") or own_unit
    is_whole = root == "frame" or (root == "auto" and not has_marks)
    threads = Threads()
    if is_whole:
        whole = threads.by_text[None] = make_thread("all stacks", "0", "0")
    for stack, numbers in lines:
        mark = None if is_whole else take_mark(dialect, stack)
        frames = split_frames(stack[mark.end():] if mark else stack)
        thread = whole if is_whole else threads.find_marked(mark) if mark else threads.find(frames.pop(0))
        weight = numbers[-1] - (numbers[0] if columns == 2 else 0)
        add_sample(thread, dialect, frames, weight * MS.get(unit, 1))
    return json.dumps({"threads": list(threads.by_text.values())}, default=plain_number, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    print(read(sys.argv[1:]))
