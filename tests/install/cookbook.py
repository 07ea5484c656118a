#!/usr/bin/env python3
"""cookbook.py PREFIX: runs the tasks of docs/cookbook.md in one prepared folder and checks the profiles.

A code block that starts with ```sh is run. A block with a name, such as ```c told.c, becomes a file. Blocks marked "by hand"
are skipped; only few may be."""
import collections
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

prefix = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
here = os.path.join(root, "tests", "install", "cookbook")
BY_HAND_MAX = 4
ATTEMPTS_MAX = 20

# Strings that the profiles of each task must have.
TEXTS = {
    "command.profile.json.gz": "main",
    "unprivileged.profile.json.gz": "handle_request",
    "process.profile.json.gz": "handle_request",
    "service.profile.json.gz": "handle_request",
    "killed.profile.json.gz": "handle_request",
    "app.profile.json.gz": "count_primes",
    "difference.profile.json.gz": "only_after",
    "app.perf.profile.json.gz": "program",
    "both.profile.json.gz": "request",
    "programs.profile.json.gz": "request",
    "markers.profile.json.gz": "read",
    "node.profile.json.gz": "fibonacci",
    "waits.profile.json.gz": "(preempted)",
    "machine.profile.json.gz": "CPU 0",
    "memory.profile.json.gz": "handle_request",
}

counts = {True: 0, False: 0}


def check(what, is_good):
    counts[bool(is_good)] += 1
    if not is_good:
        print(f"cookbook: FAIL {what}")


Block = collections.namedtuple("Block", "language info text")


def read_tasks():
    """Returns the code blocks by the headings of their tasks."""
    with open(os.path.join(root, "docs", "cookbook.md"), encoding="utf-8") as file:
        text = file.read()
    tasks = {}
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        blocks = re.findall(r"^```(\w+) ?(.*?)\n(.*?)^```$", section, flags=re.M | re.S)
        tasks[section.split("\n")[0]] = [Block(*block) for block in blocks]
    return tasks


def prepare(folder, environment):
    for name in ("hot.js",):
        shutil.copy(os.path.join(here, name), folder)
    os.mkdir(os.path.join(folder, "bin"))
    shutil.copy(os.path.join(here, "perf"), os.path.join(folder, "bin"))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gecko-recorder"], env=environment, check=True,
                           stdout=subprocess.PIPE, text=True).stdout.split()
    app = os.path.join(root, "examples", "recorder", "app.c")
    service = os.path.join(here, "service.c")
    subprocess.run(["cc", "-g", "-O1", app, *flags, "-o", os.path.join(folder, "app")], check=True)
    subprocess.run(["cc", "-g", "-O1", service, "-o", os.path.join(folder, "service")], check=True)
    for name, function, count in (("before", "only_before", 3), ("after", "only_after", 5)):
        with open(os.path.join(folder, name + ".folded"), "w", encoding="ascii") as file:
            file.write(f"app;main;both {count}\napp;main;{function} 7\n")
    # The output of a CI job: folders, archives, a file that is not a trace.
    traces = os.path.join(folder, "traces", "deeper")
    os.makedirs(traces)
    shutil.copy(os.path.join(folder, "after.folded"), os.path.join(traces, "stacks.folded"))
    subprocess.run(["tar", "-C", folder, "-cJf", os.path.join(traces, "old.tar.xz"), "before.folded"], check=True)
    with open(os.path.join(traces, "notes.txt"), "w", encoding="ascii") as file:
        file.write("no trace\n")


def environment_of(folder):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GECKO_RECORDER")}
    environment["PATH"] = ":".join([os.path.join(folder, "bin"), os.path.join(prefix, "bin"), environment["PATH"]])
    environment["LD_LIBRARY_PATH"] = os.path.join(prefix, "lib")
    environment["PKG_CONFIG_PATH"] = os.path.join(prefix, "lib", "pkgconfig")
    environment["RECORDINGS"] = os.path.join(root, "fixtures", "recordings")
    return environment


def run_block(task, block, folder, environment):
    if block.info == "by hand":
        return
    if block.info:
        with open(os.path.join(folder, block.info), "w", encoding="utf-8") as file:
            file.write(block.text)
        return
    check(f"{task}: a block of {block.language} is for running", block.language == "sh")
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    check(f"{task}: exit code {done.returncode}:\n{block.text}{done.stdout}", done.returncode == 0)


def profiles_in(folder):
    paths = glob.glob(os.path.join(folder, "**", "*.profile.json*"), recursive=True)
    return {os.path.relpath(path, folder) for path in paths}


def read_profile(path):
    with open(path, "rb") as file:
        data = file.read()
    return json.loads(gzip.decompress(data) if path.endswith(".gz") else data)


def has_text(folder, name):
    profile = read_profile(os.path.join(folder, name))
    texts = [*profile["shared"]["stringArray"], *(thread["name"] for thread in profile["threads"])]
    return name not in TEXTS or any(TEXTS[name] in text for text in texts)


def check_profile(task, folder, name):
    profile = read_profile(os.path.join(folder, name))
    rows = sum(thread["samples"]["length"] + thread["markers"]["length"] for thread in profile["threads"])
    check(f"{task}: {name} has samples or markers", rows)
    check(f"{task}: {name} has its text", has_text(folder, name))


def run_blocks(task, blocks, folder, environment):
    """Returns the profiles that the blocks created or rewrote."""
    before = profiles_in(folder)
    for block in blocks:
        run_block(task, block, folder, environment)
    return profiles_in(folder) - before


def run_task(task, blocks, folder, environment):
    check(f"{task}: has commands", any(block.language == "sh" and not block.info for block in blocks))
    made = run_blocks(task, blocks, folder, environment)
    # Some texts are only in samples, which are few on a busy machine, so a task may run several times.
    for _ in range(ATTEMPTS_MAX):
        if all(has_text(folder, name) for name in made):
            break
        for name in made:
            os.remove(os.path.join(folder, name))
        made = run_blocks(task, blocks, folder, environment)
    for name in sorted(made):
        check_profile(task, folder, name)
    return made


tasks = read_tasks()
check("ten tasks", len(tasks) >= 10)
by_hand = sum(block.info == "by hand" for blocks in tasks.values() for block in blocks)
check(f"{by_hand} blocks by hand", by_hand <= BY_HAND_MAX)
with tempfile.TemporaryDirectory() as workspace:
    variables = environment_of(workspace)
    prepare(workspace, variables)
    profiles = set()
    for heading, its_blocks in tasks.items():
        profiles |= run_task(heading, its_blocks, workspace, variables)
    for expected in TEXTS:
        check(f"{expected} was made", expected in profiles)
print(f"cookbook: {counts[True]} passed, {counts[False]} failed")
sys.exit(1 if counts[False] else 0)
