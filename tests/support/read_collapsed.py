#!/usr/bin/env python3
"""Reads collapsed stacks independently of the converter and prints what a profile of them must contain.

usage: read_collapsed.py [--root=frame|thread] FILE

The answer is JSON: {"threads": [{"name", "pid", "tid", "samples", "weightSum", "functions": {name: [self, total]}}]}.
self is the sum of the weights of the samples whose last frame is the function, total that of the samples that have
it anywhere. Nothing here is shared with the converter: it is written from the description of the format.
"""
import codecs
import json
import re
import sys
from decimal import Decimal, getcontext

getcontext().prec = 60
DIGITS_MAX = 18
LIMIT = 36
START_BYTES = 64 * 1024
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\Z", re.ASCII)
ANNOTATION = re.compile(r"(?s)(.+)_\[[kijw]\]\Z")
THREAD = re.compile(r"(?s)(.+)-(\d{1,10}|\?)(?:/(\d{1,10}))?\Z", re.ASCII)

codecs.register_error("each", lambda error: ("\ufffd" * (error.end - error.start), error.end))


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
    """Returns (stack, numbers), or None."""
    stack, words = split_words(line, columns)
    if line.startswith("#") and (line[1:2] in ("", " ", "\t") or not NUMBER.match(words[-1])):
        return None
    numbers = [parse_number(word) for word in words]
    if None in numbers or not stack.strip("; \t"):
        return None
    return stack, numbers


def read_lines(data):
    lines = [line[:-1] if line.endswith(b"\r") else line for line in data.split(b"\n")]
    return [line.decode("utf-8", "each") for line in lines]


def count_columns(data):
    start = data[:START_BYTES]
    if len(data) > START_BYTES:
        start = start[: start.rfind(b"\n") + 1]
    two = one = 0
    for line in read_lines(start):
        if parse_line(line, 2):
            two += 1
        elif parse_line(line, 1):
            one += 1
    return 2 if two > one else 1


class Threads:
    def __init__(self):
        self.by_text = {}
        self.uses = {}
        self.invented = 0

    def find(self, text):
        if text not in self.by_text:
            self.by_text[text] = self.make(text)
        return self.by_text[text]

    def make(self, text):
        match = THREAD.match(text)
        name, pid, tid = match.groups() if match else (text, "?", None)
        if tid is None and pid != "?":
            tid = pid
        if tid is None:
            self.invented += 1
            tid = str(self.invented)
        pid, tid = pid if pid == "?" else str(int(pid)), str(int(tid))
        use = self.uses[pid, tid] = self.uses.get((pid, tid), 0) + 1
        return make_thread(name, "unknown pid" if pid == "?" else pid, tid if use == 1 else f"{tid}.{use}")


def make_thread(name, pid, tid):
    return {"name": name or f"thread {tid}", "pid": pid, "tid": tid, "samples": 0, "weightSum": 0, "functions": {}}


def add_sample(thread, frames, weight):
    thread["samples"] += 1
    thread["weightSum"] += weight
    names = [ANNOTATION.sub(r"\1", frame) for frame in frames if frame]
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
    if len(paths) != 1 or not set(options) <= {"--root=frame", "--root=thread"}:
        sys.exit(__doc__)
    with open(paths[0], "rb") as file:
        data = file.read()
    columns = count_columns(data)
    threads = Threads()
    if "--root=thread" not in options:
        whole = threads.by_text[None] = make_thread("all stacks", "0", "0")
    for line in read_lines(data):
        parsed = parse_line(line, columns)
        if not parsed:
            continue
        frames, numbers = parsed[0].split(";"), parsed[1]
        thread = whole if "--root=thread" not in options else threads.find(frames.pop(0))
        add_sample(thread, frames, numbers[-1] - (numbers[0] if columns == 2 else 0))
    return json.dumps({"threads": list(threads.by_text.values())}, default=plain_number, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    print(read(sys.argv[1:]))
