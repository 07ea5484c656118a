#!/usr/bin/env python3
"""Makes a folder of mixed traces for batches: make_batch.py FOLDER COUNT [--repeat N] [--also FOLDER]

The folder contains the traces of fixtures/ under many names, in folders, plain or compressed in various ways. Every
tenth is broken in one of nine ways. --repeat N makes recordings larger by repeating each text N times; --also adds
the traces of another folder. Prints the paths of the broken files, each with the status that its report must have:
"failed" or "no-trace". The same arguments make the same folder.
"""
import argparse
import bz2
import gzip
import lzma
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
BROKEN_EVERY = 10
STRIDE = 3  # from a trace to the next, so that few traces have all formats


def tool(*command):
    return lambda data: subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


COMPRESSIONS = [
    ("", lambda data: data),
    (".gz", lambda data: gzip.compress(data, 6, mtime=0)),
    (".zst", tool("zstd", "-q", "-c")),
    (".xz", lambda data: lzma.compress(data, preset=1)),
    (".bz2", bz2.compress),
    (".lz4", tool("lz4", "-q", "-c")),
]


def good_traces(repeat, also):
    """Returns (suffix, bytes) of traces that convert."""
    traces = [(path.suffix, path.read_bytes()) for path in sorted(also.rglob("*.*"))] if also else []
    for path in sorted((ROOT / "tests/fuzz/seeds/fuzz_trace").glob("*.trace")):
        if path.stem in ("every-kind", "sampler"):
            traces.append((path.suffix, path.read_bytes()))
    for path in sorted((FIXTURES / "recordings").glob("*.xz")):
        traces.append((path.suffixes[-2], lzma.decompress(path.read_bytes()) * repeat))
    for path in sorted(FIXTURES.glob("*/*/input.*")):
        # A batch takes the members of an archive one by one, and leaves profiles out.
        if (path.parent / "processed.json").exists() and ".tar" not in path.suffixes and path.suffix != ".json":
            traces.append((path.suffix, path.read_bytes()))
    return traces


def broken_traces():
    """Returns (suffix, bytes, expected status)."""
    text = lzma.decompress((FIXTURES / "recordings/multi-event.txt.xz").read_bytes())
    native = (ROOT / "tests/fuzz/seeds/fuzz_trace/every-kind.trace").read_bytes()
    packed = gzip.compress(text, 6, mtime=0)
    zstd = bytearray(tool("zstd", "-q", "-c")(text))
    zstd[len(zstd) // 2] ^= 0xFF
    return [
        (".txt.gz", packed[: len(packed) // 2], "failed"),
        (".txt.zst", bytes(zstd), "failed"),
        (".txt.xz", lzma.compress(text, preset=1)[:-40], "failed"),
        (".txt.bz2", b"BZh91AY&SY" + bytes(200), "failed"),
        (".data", b"PERFILE2" + bytes(1000), "failed"),
        (".txt", b"", "no-trace"),
        (".txt", b"<!DOCTYPE html><html><body>404</body></html>\n", "no-trace"),
        (".trace", native[:8] + bytes(100), "failed"),
        (".folded", bytes(range(256)) * 20, "no-trace"),
    ]


def write(folder, number, suffix, data):
    place = folder / f"run-{number % 7}" / ("nightly" if number % 3 else ".")
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"trace-{number:04}{suffix}"
    path.write_bytes(data)
    return path


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("count", type=int)
    arguments.add_argument("--repeat", type=int, default=1)
    arguments.add_argument("--also", type=pathlib.Path)
    arguments = arguments.parse_args()
    good, broken = good_traces(arguments.repeat, arguments.also), broken_traces()
    packed = {}
    for number in range(arguments.count):
        if number % BROKEN_EVERY == BROKEN_EVERY - 1:
            suffix, data, fate = broken[number // BROKEN_EVERY % len(broken)]
            path = write(arguments.folder, number, suffix, data)
            print(fate, path.relative_to(arguments.folder))
            continue
        which, how = number * STRIDE % len(good), number % len(COMPRESSIONS)
        if (which, how) not in packed:
            packed[which, how] = COMPRESSIONS[how][1](good[which][1])
        write(arguments.folder, number, good[which][0] + COMPRESSIONS[how][0], packed[which, how])


if __name__ == "__main__":
    sys.exit(main())
