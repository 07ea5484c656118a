#!/usr/bin/env python3
"""Compares what the viewer shows of samply's and of our profile of the same recordings, for docs/compared.md.

usage: compared.py GECKO-CONVERT SAMPLY > compared.md

Records programs with perf, imports each recording with `samply import`, whose server looks up the symbols as it
does for the viewer, and with gecko-convert. Prints a table of threads and one of functions by self samples."""
import gzip
import json
import os
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections import Counter

PROGRAM, SAMPLY = map(os.path.abspath, sys.argv[1:3])
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compared")
ROWS = 3

# title, how to build, the command
PROGRAMS = [
    ("C++ with heavy inlining", ["g++", "-O2", "-g", "inline.cc", "-o", "OUT/inline"], ["OUT/inline"]),
    ("A thread pool with locks", ["gcc", "-O2", "-g", "pool.c", "-lpthread", "-o", "OUT/pool"], ["OUT/pool"]),
    ("Python", None, ["/usr/bin/python3", "HERE/script.py"]),
    ("Node.js", None, ["node", "--perf-basic-prof", "--interpreted-frames-native-stack", "HERE/script.mjs"]),
    ("A server with a thread for each request", None, ["/usr/bin/python3", "HERE/server.py"]),
    ("A script of 1 000 processes", None, ["sh", "HERE/script.sh"]),
    ("A pipeline", None, ["sh", "HERE/pipeline.sh"]),
    ("A build", None, ["sh", "HERE/build.sh"]),
    ("A stripped program", ["gcc", "-O2", "-s", "stripped.c", "-lm", "-o", "OUT/stripped"], ["OUT/stripped"]),
    ("Rust", ["rustc", "-g", "-O", "words.rs", "-o", "OUT/words"], ["OUT/words"]),
    ("Go", ["go", "build", "-o", "OUT/gowords", "words.go"], ["OUT/gowords"]),
    ("Java", ["javac", "-d", "OUT", "Words.java"], ["java", "-XX:+PreserveFramePointer", "-cp", "OUT", "Words"]),
    ("SQLite", ["true"], ["sqlite3", ":memory:", ".read HERE/rows.sql"]),
    ("git", ["true"], ["git", "-C", "HERE", "log", "--stat", "-n", "300"]),
    ("OpenSSL", ["true"], ["openssl", "speed", "-seconds", "1", "sha256"]),
    ("xz", ["true"], ["xz", "-T2", "-1", "-k", "-c", PROGRAM]),
    ("C++ with deep templates", ["g++", "-std=c++20", "-O2", "-g", "templates.cc", "-o", "OUT/templates"],
     ["OUT/templates"]),
    ("redis", ["true"], ["sh", "HERE/redis.sh"]),
    ("nginx", ["true"], ["sh", "HERE/nginx.sh"]),
    ("FFmpeg", ["true"], ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25:duration=3",
                          "-c:v", "libx264", "-f", "null", "-"]),
]


def run(command, folder=HERE):
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


# ---- Samples as lists of functions, from outside to inside. ----


def stacks_of(tables, samples, prefix_of, frames_of):
    """Yields (functions, weight) for each sample."""
    known = {None: ()}
    stack = tables["stackTable"]
    for i in range(stack["length"]):
        known[i] = known[prefix_of(stack, i)] + frames_of(stack["frame"][i])
    weights = samples.get("weight") or [1] * samples["length"]
    for index, weight in zip(samples["stack"], weights):
        if index is not None:
            yield known[index], weight


def read_ours(path):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    shared = profile["shared"]
    names = [shared["stringArray"][name] for name in shared["funcTable"]["name"]]

    def prefix(stack, i):
        return i - stack["prefixOffset"][i] if stack["prefixOffset"][i] else None

    def frames(frame):
        return (names[shared["frameTable"]["func"][frame]],)

    threads = [(thread, list(stacks_of(shared, thread["samples"], prefix, frames))) for thread in profile["threads"]]
    return profile, threads


class Symbols:
    """Asks samply's server for the functions at addresses, as the viewer does."""

    def __init__(self, path, profile):
        self.process = subprocess.Popen([SAMPLY, "load", path, "--no-open", "--port", "3900+"], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if "symbolServer=" in line:
                self.url = urllib.parse.unquote(line.strip().split("symbolServer=")[1])
                break
        self.libs = profile["libs"]

    def stop(self):
        self.process.terminate()
        self.process.communicate()

    def look_up(self, wanted):
        """Returns the functions from outside to inside for each (lib, address)."""
        wanted = sorted(wanted)
        job = {"memoryMap": [[lib["debugName"], lib["breakpadId"]] for lib in self.libs],
               "stacks": [[[lib, address] for lib, address in wanted]]}
        request = urllib.request.Request(self.url + "/symbolicate/v5", json.dumps({"jobs": [job]}).encode())
        with urllib.request.urlopen(request) as response:
            found = json.load(response)["results"][0]["stacks"][0]
        result = {}
        for key, frame in zip(wanted, found):
            inner = [inline["function"] for inline in frame.get("inlines", []) if inline.get("function")]
            if frame.get("function"):
                result[key] = (frame["function"], *reversed(inner))
        return result


def read_samplys(path):
    with gzip.open(path) as file:
        profile = json.load(file)
    places = []
    for thread in profile["threads"]:
        libs = [thread["resourceTable"]["lib"][resource] if resource >= 0 else None
                for resource in thread["funcTable"]["resource"]]
        frames = thread["frameTable"]
        places.append([(libs[func], address) if address >= 0 and libs[func] is not None else None
                       for func, address in zip(frames["func"], frames["address"])])
    symbols = Symbols(path, profile)
    found = symbols.look_up({place for thread in places for place in thread if place})
    symbols.stop()
    threads = []
    for thread, own_places in zip(profile["threads"], places):
        names = [thread["stringArray"][name] for name in thread["funcTable"]["name"]]

        def frames_of(frame, thread=thread, names=names, own_places=own_places):
            return found.get(own_places[frame]) or (names[thread["frameTable"]["func"][frame]],)

        def prefix(stack, i):
            return stack["prefix"][i]

        threads.append((thread, list(stacks_of(thread, thread["samples"], prefix, frames_of))))
    return profile, threads


# ---- Tables. ----


def cell(text):
    text = text.replace(f"file://{HERE}/", "").replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= 70 else text[:69] + "…"


def own_samples(threads):
    own, count = Counter(), 0
    for _, samples in threads:
        for functions, weight in samples:
            count += weight
            if functions:
                own[functions[-1]] += weight
    return ranked(own, count)


def ranked(counter, count):
    # Both sides have equal functions in the same order, whatever underscores and namespaces their names have.
    order = sorted(counter.items(), key=lambda item: (-item[1], item[0].rsplit("::", 1)[-1].lstrip("_")))
    return "<br>".join(f"{100 * weight / count:.1f} % {cell(name)}" for name, weight in order[:ROWS])


def activity(profile, thread, samples):
    """Returns how active the thread is, as the viewer measures it, but for samples that are idle."""
    cpu = thread["samples"].get("threadCPUDelta") if profile["meta"].get("sampleUnits") else None
    return sum(delta or 0 for delta in cpu) if cpu else len(samples)


def visible(profile, threads):
    """Returns the threads that the viewer shows at first: those in the profile, or else those that it chooses."""
    listed = profile["meta"].get("initialVisibleThreads")
    if listed is not None:
        return listed
    scores = [activity(profile, *thread) for thread in threads]
    order = sorted(range(len(threads)), key=lambda i: -scores[i])[:15]
    return [i for i in order if scores[i] >= max(scores) / 20]


def describe(profile, threads):
    """Returns the title, what is visible at first, and how many functions have samples."""
    functions = len({function for _, samples in threads for stack, _ in samples for function in stack})
    samples = sum(len(samples) for _, samples in threads)
    shown = visible(profile, threads)
    share = 100 * sum(len(threads[i][1]) for i in shown) / samples
    return [cell(profile["meta"]["product"]), f"{len(shown)} of {len(threads)}, {share:.1f} %", str(functions)]


HEADS = ["title", "visible threads, and samples in them", "functions"]


def print_tables(compared):
    """`compared` has, for each program, its title, our profile and samply's."""
    print("| program | " + " | ".join(f"{head}: samply | gecko-convert" for head in HEADS) + " |")
    print("|---" * (1 + 2 * len(HEADS)) + "|")
    for title, ours, samplys in compared:
        pairs = zip(describe(*samplys), describe(*ours))
        print(f"| {title} | " + " | ".join(f"{first} | {second}" for first, second in pairs) + " |")
    print("\nThe functions with the most samples of their own:\n\n| program | samply | gecko-convert |\n|---|---|---|")
    for title, ours, samplys in compared:
        print(f"| {title} | {own_samples(samplys[1])} | {own_samples(ours[1])} |")


PREFACE = """# Compared with samply

This page compares what the viewer shows for the same recordings, imported by [samply](https://github.com/mstange/samply) 0.13.1
and by gecko-convert: the title, the threads and the functions. samply looks up functions while it serves a profile, so its
names are the ones that its server sends to the viewer. This command wrote the page:

    bench/compared.py build/gecko-convert samply > docs/compared.md

It records the programs in `bench/compared/` with perf, so numbers vary from run to run. These are the differences:

- **Titles**: samply names the machine in the title. gecko-convert names the program, or the script that a shell runs. If the
  command starts another program (`timeout 60 app`), the title names that program. If it starts several (`sh -c`), the title
  names the one that used the most processor time.
- **Tracks**: samply keeps tracks without samples: `perf-exec`, which is perf before it starts the program, and idle threads.
  The viewer shows a thread if it ran at least a twentieth as long as the busiest thread, of gecko-convert's profiles also
  the busiest threads that have 95 % of the processor time together, unless they have less than 1 %.
- **Crowds**: samply gives each thread and process a track, and the viewer shows at most 15 of them. gecko-convert puts threads
  that follow each other or run in turns on one track, likewise processes, and shows the tracks with 95 % of the processor time.
- **Markers**: samply writes one for each mapping of a file, gecko-convert one for each child and each member of a crowd.
- **C and C++ names**: samply omits the namespace of inlined functions, shows `work` for `work(unsigned int)`, and drops one
  leading underscore.
- **Parts of functions**: gcc splits functions (`msort_with_tmp.part.0`). samply gives a part the name of the whole function.
- **Stripped functions**: if a library has only its exported symbols, as Python's does, samply gives code without a symbol the
  name of the preceding exported function. gecko-convert finds where functions start, and names them `fun_` plus their address.
- **JavaScript**: samply shows V8's name for the code, with tier and path. gecko-convert merges all tiers of a function into
  one, and shows file and line next to it.
- **Unknown callers**: if a function uses the frame pointer for something else, a frame-pointer walk ends at an address that is
  not code. gecko-convert leaves this address out. samply shows each such address as a function (`0x958980`).
- **Linkage tables**: gecko-convert names the code that jumps to a function of another library (`sin@plt`).
"""


def main():
    compared = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (title, build, command) in enumerate(PROGRAMS):
            if build:
                run([word.replace("OUT", folder) for word in build])
            data, imported, converted = (os.path.join(folder, f"{number}.{kind}") for kind in ("data", "json.gz", "json"))
            recorder = ["perf", "record", "-q", "-F", "997", "--call-graph", "dwarf,16384" if build else "fp", "-o", data]
            # Node.js writes files into its folder.
            run([*recorder, "--", *(word.replace("OUT", folder).replace("HERE", HERE) for word in command)], folder)
            run([SAMPLY, "import", data, "--save-only", "-o", imported])
            run([PROGRAM, "--quiet", data, "-o", converted])
            compared.append((title, read_ours(converted), read_samplys(imported)))
    print(PREFACE)
    print_tables(compared)


main()
