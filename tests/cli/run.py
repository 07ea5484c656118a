#!/usr/bin/env python3
"""Runs the cases of this folder, several at a time: run.py [--update] [CASE…]

A case is a folder with a script `run` and its expected output, byte for byte: stdout, stderr and exit (the exit code). The
script runs in a new folder that contains a copy of inputs/. Its environment has
    GECKO_CONVERT  the program (set by the caller, or build/gecko-convert)
    FIXTURES       the folder of fixtures
Times, sizes of output and the version are replaced before the comparison. Exit code 77 skips the case. --update makes the
actual output the expected one.
"""
import concurrent.futures
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).resolve().parent
ROOT = CASES.parent.parent
PROGRAM = pathlib.Path(os.environ.get("GECKO_CONVERT", ROOT / "build" / "gecko-convert")).absolute()
ENVIRONMENT = {**os.environ, "LC_ALL": "C", "FIXTURES": str(ROOT / "fixtures"), "GECKO_CONVERT": str(PROGRAM)}
SKIPPED = b"77\n"

# The version that the sources tell.
VERSION = re.search(rb'GECKO_CONVERT_VERSION "(.*)"', (ROOT / "libconvert" / "gecko_convert.h").read_bytes())[1]

# What differs from run to run in a line, and what is compared in its place.
REPLACEMENTS = [(re.compile(pattern), by) for pattern, by in (
    (rb", [0-9.]+ [kMG]?B, in [0-9]+\.[0-9]{2} s", b", SIZE, in T s"),
    (rb", wrote [1-9][0-9.]* [kMG]?B, in [0-9]+\.[0-9]{2} s", b", wrote SIZE, in T s"),
    (rb", in [0-9]+\.[0-9]{2} s$", b", in T s"),
    (rb'"milliseconds":[0-9]+', b'"milliseconds":T'),
    (rb' time="[0-9.]+"', b' time="T"'),
    (rb"\bgecko-convert " + re.escape(VERSION) + rb"\b", b"gecko-convert VERSION"),
    (rb'("output":\{[^}]*"bytes":)[1-9][0-9]*', rb"\1SIZE"),
)]


def normalised(output):
    lines = output.split(b"\n")
    for pattern, by in REPLACEMENTS:
        lines = [pattern.sub(by, line) for line in lines]
    return b"\n".join(lines)


def run(case):
    """Returns what the case wrote, by the names of the files that have the expected output."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "cwd"
        shutil.copytree(CASES / "inputs", folder)
        ended = subprocess.run(["sh", CASES / case / "run"], cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                               capture_output=True, check=False)
    code = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode
    return {"stdout": normalised(ended.stdout), "stderr": normalised(ended.stderr), "exit": b"%d\n" % code}


def differences(case, got):
    for name, output in got.items():
        path = CASES / case / name
        expected = path.read_bytes() if path.exists() else b""
        if output != expected:
            lines = (text.decode(errors="backslashreplace").splitlines() for text in (expected, output))
            yield from difflib.unified_diff(*lines, f"{case}/{name}", "got", lineterm="")


def main():
    arguments = sys.argv[1:]
    is_update = arguments[:1] == ["--update"]
    cases = arguments[is_update:] or sorted(path.parent.name for path in CASES.glob("*/run"))
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"run.py: no program at {PROGRAM}: build it, or set GECKO_CONVERT")
    counts = dict.fromkeys(("ok", "FAIL", "skip", "write"), 0)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, got in zip(cases, pool.map(run, cases)):
            verdict = "ok"
            if got["exit"] == SKIPPED:
                verdict = "skip"
            elif is_update:
                verdict = "write"
                for name, output in got.items():
                    (CASES / case / name).write_bytes(output)
            else:
                for line in differences(case, got):
                    verdict = "FAIL"
                    print(f"    {line}")
            counts[verdict] += 1
            print(f"{verdict} {case}", flush=True)
    if counts["skip"]:
        print(f"{counts['skip']} skipped")
    if not is_update:
        print(f"command line: {counts['ok']} passed, {counts['FAIL']} failed")
    return counts["FAIL"] != 0


if __name__ == "__main__":
    sys.exit(main())
