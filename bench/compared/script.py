"""Works in the interpreter, and in its sort."""
import json
import random


def make(count):
    return [{"key": random.random(), "text": str(number)} for number in range(count)]


def group(items):
    groups = {}
    for item in items:
        groups.setdefault(len(item["text"]), []).append(item["key"])
    return {size: sum(sorted(keys)) for size, keys in groups.items()}


for _ in range(20):
    json.dumps(group(json.loads(json.dumps(make(20000)))))
