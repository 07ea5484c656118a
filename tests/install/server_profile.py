#!/usr/bin/env python3
"""server_profile.py FORMAT PROFILE REPORT: checks the profile of examples/server, which perf and the recorder recorded
at the same time: the threads that answered requests have perf's stacks and the recorder's markers."""
import json
import sys

PROCESS_COUNT = 5  # the server, three workers, the helper
WORKER_COUNT = 3


def fail(what):
    sys.exit(f"server_profile.py: {what}")


def processed_threads(profile):
    """Yields for each thread its pid, its number of samples, the names of functions, and the names of markers."""
    shared = profile["shared"]
    strings = shared["stringArray"]
    stacks, frames, funcs = shared["stackTable"], shared["frameTable"], shared["funcTable"]
    for thread in profile["threads"]:
        functions = set()
        for stack in thread["samples"]["stack"]:
            while stack is not None:
                functions.add(strings[funcs["name"][frames["func"][stacks["frame"][stack]]]])
                offset = stacks["prefixOffset"][stack]
                stack = stack - offset if offset else None
        yield thread["pid"], thread["samples"]["length"], functions, [strings[n] for n in thread["markers"]["name"]]


def gecko_threads(profile):
    for process in [profile, *profile["processes"]]:
        for thread in process["threads"]:
            strings = thread["stringTable"]
            prefix, frame = (thread["stackTable"]["schema"][key] for key in ("prefix", "frame"))
            functions = set()
            for sample in thread["samples"]["data"]:
                stack = sample[0]
                while stack is not None:
                    row = thread["stackTable"]["data"][stack]
                    functions.add(strings[thread["frameTable"]["data"][row[frame]][0]])
                    stack = row[prefix]
            markers = [strings[row[0]] for row in thread["markers"]["data"]]
            yield thread["pid"], len(thread["samples"]["data"]), functions, markers


def main(name, profile_path, report_path):
    with open(profile_path, encoding="utf-8") as file:
        threads = list({"processed": processed_threads, "gecko": gecko_threads}[name](json.load(file)))
    with open(report_path, encoding="utf-8") as file:
        report = json.load(file)
    timelines = [item["timeline"] for item in report["inputs"]]
    if len(timelines) != 2 or not set(timelines) <= {"clock", "events"}:
        fail(f"inputs are placed by {timelines}")
    pids = {pid for pid, *_ in threads}
    if len(pids) != PROCESS_COUNT:
        fail(f"{len(pids)} processes: {pids}")
    both = {pid for pid, count, functions, markers in threads
            if count and "request" in markers and any("render_page" in function for function in functions)}
    if len(both) != WORKER_COUNT:
        fail(f"{len(both)} processes have threads with both requests and stacks")
    causes = {entry["cause"] for entry in report["ledger"]["samples"]["entries"] if entry["fate"] == "lost"}
    if not any("sample of the recorder in a thread that perf sampled" in cause for cause in causes):
        fail(f"no sample of the recorder was left out: {causes}")


main(*sys.argv[1:])
