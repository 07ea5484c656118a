#!/usr/bin/env python3
"""Writes a perf script file again and again, each copy later by the length of the recording, up to a size.

usage: repeat_perf_script.py INPUT MEBIBYTES > OUTPUT

The result is what one long recording looks like: the same threads and stacks, times that ascend."""
import re
import sys

TIME = re.compile(rb"^(?=\S|  )(.*?\s)(\d+)\.(\d{6,9}):", re.M)


def main():
    text = open(sys.argv[1], "rb").read()
    limit = int(sys.argv[2]) << 20
    times = [int(m[2]) for m in TIME.finditer(text)]
    span = max(times) - min(times) + 1
    # Pieces of text between which only the seconds change.
    pieces, at = [], 0
    for m in TIME.finditer(text):
        pieces.append((text[at:m.start(2)], int(m[2])))
        at = m.end(2)
    tail = text[at:]
    written = copy = 0
    while written < limit:
        out = b"".join(piece + b"%d" % (seconds + copy * span) for piece, seconds in pieces) + tail
        sys.stdout.buffer.write(out)
        written += len(out)
        copy += 1


main()
