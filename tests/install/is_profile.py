#!/usr/bin/env python3
"""is_profile.py FILE [TEXT…]: succeeds if FILE is a processed profile with samples and has the texts among its values."""
import gzip
import json
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def texts_of(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_of(item)


profile = read(sys.argv[1])
if not any(thread["samples"]["length"] for thread in profile["threads"]):
    sys.exit(f"{sys.argv[1]}: no thread has samples")
texts = set(texts_of(profile))
for text in sys.argv[2:]:
    if text not in texts:
        sys.exit(f"{sys.argv[1]}: no text is {text!r}")
