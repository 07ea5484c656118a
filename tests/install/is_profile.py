#!/usr/bin/env python3
"""is_profile.py FILE [TEXT…]: the file is a processed profile with samples, and each text is a string or a counter in it."""
import gzip
import json
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


profile = read(sys.argv[1])
if not any(thread["samples"]["length"] for thread in profile["threads"]):
    sys.exit(f"{sys.argv[1]}: no thread has samples")
strings = set(profile["shared"]["stringArray"]) | {counter["name"] for counter in profile.get("counters", [])}
for text in sys.argv[2:]:
    if text not in strings:
        sys.exit(f"{sys.argv[1]}: no string is {text!r}")
