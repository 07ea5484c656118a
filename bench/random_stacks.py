#!/usr/bin/env python3
"""Writes text of perf script with random stacks, so that nearly every stack is a new one.

usage: random_stacks.py SAMPLES THREADS DEPTH LINES > OUTPUT

The frames of a stack are chosen from LINES different frame lines, of which four at a time belong to one function.
"""
import random
import sys


def main():
    sample_count, thread_count, depth, line_count = (int(argument) for argument in sys.argv[1:])
    numbers = random.Random(1)
    lines = [f"\t{4096 + i * 16:16x} f{i // 4}+0x{i % 4 * 16:x} (/usr/lib/lib{i % 50}.so)\n" for i in range(line_count)]
    for i in range(sample_count):
        tid = 7 + numbers.randrange(thread_count)
        sys.stdout.write(f"app 7/{tid} [000] {i // 1000}.{i % 1000 * 1000:06}: 250000 cpu-clock: \n")
        sys.stdout.write("".join(numbers.choices(lines, k=depth)) + "\n")


if __name__ == "__main__":
    main()
