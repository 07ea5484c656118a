#!/usr/bin/env python3
"""Compares names of functions with those of perf script: check_perf_names.py GECKO_CONVERT [RECORDING...]

With recordings, prints how many samples of each have the same functions as in perf script, are at least as deep, and end
in the start function of a program or a thread. Without any, records programs that are built here, and moves their files
to all the places where they are searched for; does nothing if perf may not record here.
"""
import collections
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from perf_record import perf_record

converter = os.path.abspath(sys.argv[1])
support = pathlib.Path(__file__).resolve().parent
counts = collections.Counter()

# perf and the converter treat some rare addresses differently: see "perf.data" in docs/profile-mapping.md.
AGREEMENT_MIN = 0.99

PROGRAM = """
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline, noipa)) int compare(const void *a, const void *b) { return *(int *)a < *(int *)b; }
extern int alias(int) __attribute__((alias("work"), weak));
__attribute__((noinline, noipa)) int work(int seed) {
    static int numbers[4096];
    for (int i = 0; i < 200 * 4096; i++) numbers[i % 4096] = seed = seed * 1103515245 + 12345;
    qsort(numbers, 4096, sizeof *numbers, compare);
    return numbers[0];
}
int main(void) {
    int sum = 0;
    for (int i = 0; i < 200; i++) sum += work(i);
    return sum == 1;
}
"""


def check(what, is_good):
    counts[bool(is_good)] += 1
    if not is_good:
        print(f"perf names: FAIL {what}")


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, **options).stdout


def without_parameters(name):
    """Removes the last parentheses of a name in C++."""
    if name.endswith("@plt"):
        return without_parameters(name[: -len("@plt")]) + "@plt"
    end = re.search(r"\)( const)?$", name)
    depth, at = 0, end.start() if end else -1
    while at > 0:
        depth += (name[at] == ")") - (name[at] == "(")
        if not depth:
            return name[:at] if not name[:at].endswith("operator") else name
        at -= 1
    return name


def without_version(name):
    """Removes the version that a linker appended, as in "memcpy@@GLIBC_2.14"."""
    return re.sub(r"(?<=.)(@@?(?!plt$)[A-Za-z][\w.-]*|\.abi0)$", "", name)


def without_unknown_root(stack):
    """Removes the callers without a name at the root: the converter leaves out those that are not code."""
    return tuple(itertools.dropwhile(lambda name: name == "[unknown]", stack[:-1])) + stack[-1:]


def samples(data, *options):
    """Returns the times and stacks of the samples of each thread. A stack is a tuple of functions, without inlined ones."""
    output = data.with_suffix(".json")
    run(converter, "--quiet", data, "-o", output, *options)
    profile = json.loads(output.read_text())
    shared = profile["shared"]
    frames, stacks, names = shared["frameTable"], shared["stackTable"], shared["funcTable"]["name"]
    paths = []
    for row, offset in enumerate(stacks["prefixOffset"]):
        frame, prefix = stacks["frame"][row], paths[row - offset] if offset else ()
        name = without_parameters(shared["stringArray"][names[frames["func"][frame]]])
        is_unknown = re.fullmatch(r"(.*\+)?0x[0-9a-f]+|fun_[0-9a-f]+", name)
        own = () if frames["inlineDepth"][frame] else ("[unknown]" if is_unknown else name,)
        paths.append(prefix + own)
    threads = {}
    for thread in profile["threads"]:
        times = itertools.accumulate(thread["samples"]["timeDeltas"])
        rows = [(time, without_unknown_root(paths[stack]))
                for time, stack in zip(times, thread["samples"]["stack"]) if stack is not None]
        threads.setdefault(str(thread["tid"]).split(".")[0], []).extend(rows)
    return threads


def perf_samples(data):
    """Returns the same from perf script. A sample of which perf prints no frames has an empty stack."""
    command = ["perf", "script", "--no-inline", "--max-stack", "4096", "-F", "tid,time,ip,sym", "-i", data]
    threads = {}
    for sample in run(*command, text=True, errors="replace").split("\n\n"):
        head = re.match(r"\s*(-?\d+)\s+([0-9.]+):", sample)
        # perf appends a frame at the address -1 to a copied stack that it could not follow to its end.
        names = re.findall(r"^\t *(?!f{16} )[0-9a-f]+ (.*)$", sample, re.M)
        if head:
            stack = tuple(reversed([without_parameters(without_version(name)) for name in names]))
            threads.setdefault(head[1], []).append((float(head[2]), without_unknown_root(stack)))
    return threads


def symbol_tables(path):
    """Returns lists of the symbols of a file, and of its debug information: (address, name)."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, errors="replace").stdout
    build_id = re.search(r"Build ID: (..)(\w+)", notes)
    debug = f"/usr/lib/debug/.build-id/{build_id[1]}/{build_id[2]}.debug" if build_id else path
    for file in {path, debug}:
        table = subprocess.run(["readelf", "-sW", file], capture_output=True, text=True, errors="replace").stdout
        yield re.findall(r"^ *\d+: (\w+) +\w+ +I?FUNC +\w+ +\w+ +\d+ (\S+)", table, re.M)


def one_names(data):
    """Returns one name for all names of each function: perf chooses another symbol at an address than the converter."""
    paths = {library["path"] for library in json.loads(data.with_suffix(".json").read_text())["libs"]}
    chosen = {}
    for table in itertools.chain.from_iterable(symbol_tables(path) for path in paths if os.path.isfile(path)):
        groups = collections.defaultdict(set)
        for address, name in table:
            groups[address].add(without_version(name))
        for group in groups.values():
            same = {chosen.get(name, name) for name in group}
            chosen.update((name, min(same)) for name in group)
            chosen.update((name, min(same)) for name, one in chosen.items() if one in same)
    return chosen


def with_one_names(stacks, chosen):
    """Renames functions, and removes what the compiler appended to their parts and copies: "sort.part.0"."""
    renamed = collections.Counter()
    for stack, count in stacks.items():
        names = [re.sub(r"(?<=\w)(\.(part|constprop|isra|cold)(\.\d+)?)+$", "", name) for name in stack]
        renamed[tuple(chosen.get(name, name) for name in names)] += count
    return renamed


def stacks_of(threads):
    return collections.Counter(stack for rows in threads.values() for _, stack in rows if stack)


def convert(data, *options):
    return stacks_of(samples(data, *options))


def script_functions(data):
    """Returns the name, file and line of each function in JavaScript."""
    output = data.with_suffix(".json")
    run(converter, "--quiet", data, "-o", output)
    shared = json.loads(output.read_text())["shared"]
    strings, funcs, files = shared["stringArray"], shared["funcTable"], shared["sources"]["filename"]
    return {(strings[funcs["name"][row]], strings[files[funcs["source"][row]]], funcs["lineNumber"][row])
            for row in range(funcs["length"]) if funcs["isJS"][row]}


def functions(stacks):
    return {name for stack in stacks for name in stack}


def record(data, program, *options):
    return perf_record(data, "-e", "cpu-clock", "-F", "999", "-g", *options, *program, cwd=data.parent)


def check_agreement(folder):
    data = folder / "shell.data"
    record(data, ["sh", "-c", "ls -lR /usr/lib | sort | md5sum; i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; ./app"])
    ours, theirs = convert(data), stacks_of(perf_samples(data))
    chosen = one_names(data)
    ours, theirs = with_one_names(ours, chosen), with_one_names(theirs, chosen)
    common = sum((ours & theirs).values())
    check(f"{common} of {sum(theirs.values())} samples agree with perf: {list((theirs - ours).items())[:5]}",
          common >= AGREEMENT_MIN * sum(theirs.values()))


def has_names(stacks):
    return {"work", "compare", "main"} <= functions(stacks)


def check_places(folder):
    """The program's file is where it was recorded, then nowhere, and then in other places."""
    data, app = folder / "app.data", folder / "app"
    record(data, [app])
    check("a file at its path", has_names(convert(data)))
    run("perf", "archive", data, cwd=folder)
    moved = folder / "moved"
    moved.mkdir()
    shutil.move(app, moved / "app")
    check("perf's cache", has_names(convert(data)))
    shutil.rmtree(folder / ".debug")
    check("a file that is nowhere", not has_names(convert(data)))
    check("a folder of files", has_names(convert(data, "--debug-dir", moved)))
    root = folder / "root"
    (root / str(app.parent)[1:]).mkdir(parents=True)
    shutil.copy(moved / "app", root / str(app)[1:])
    check("a file system", has_names(convert(data, "--sysroot", root)))
    files = folder / "files"
    files.mkdir()
    run("tar", "-xf", folder / "app.data.tar.bz2", "-C", files)
    check("perf's archive", has_names(convert(data, "--debug-dir", files)))


def check_launchers(folder):
    """Launchers execute the program in their place, or start it."""
    data, shim = folder / "launched.data", folder / "shim"
    shim.write_text("#!/bin/sh\nexec ./app\n")
    shim.chmod(0o755)
    for launcher in (["env", "A=1", "./app"], ["sh", "-c", "./app; true"], ["timeout", "100", "./app"], ["./shim"]):
        record(data, launcher)
        output = data.with_suffix(".json")
        run(converter, "--quiet", data, "-o", output)
        product = json.loads(output.read_text())["meta"]["product"]
        check(f"{launcher} is called {product}", product == "app")


def check_generated_code(folder):
    if os.uname().machine != "x86_64":
        return
    program, data, injected = folder / "jit_program", folder / "jit.data", folder / "injected.data"
    run("cc", "-O1", support / "jit_program.c", "-o", program)
    record(data, [program, "200"], "-k", "mono")
    expected = {"spin_one", "spin_two"}
    check("two functions at one address", expected <= functions(convert(data)))
    run("perf", "inject", "--jit", "-i", data, "-o", injected, cwd=folder)
    check("perf inject --jit", expected <= functions(convert(injected)))
    # perf finds callers of generated code by call frame information, so it must have written that into files.
    run("cc", "-O1", "-fomit-frame-pointer", support / "jit_program.c", "-o", program)
    record(data, [program, "200"], "-k", "mono", "--call-graph", "dwarf")
    run("perf", "inject", "--jit", "-i", data, "-o", injected, cwd=folder)
    ours, theirs = ({stack for stack in stacks if stack[-1] == "spin_frameless"}
                    for stacks in (convert(data), stacks_of(perf_samples(injected))))
    check(f"callers of generated code: {ours}, in perf script: {theirs}", ours and ours == theirs)
    record(data, [program, "200", "JS:*hot /app/hot.js:3:9", "JS:^hot /app/hot.js:3:9"], "-k", "mono")
    run("perf", "inject", "--jit", "-i", data, "-o", injected, cwd=folder)
    places = [script_functions(recording) for recording in (data, injected)]
    check(f"names of scripts, also after perf inject --jit: {places}", places == [{("hot", "/app/hot.js", 3)}] * 2)
    run("cc", "-O1", support / "memory_file_program.c", "-o", program)
    perf_map = pathlib.Path(record(data, [program]).decode().strip())
    found = functions(convert(data))
    check(f"a perf map of code in a memory file: {found}", "void [App] App.Service::Spin" in found)
    elsewhere = folder / "elsewhere.map"
    elsewhere.write_bytes(perf_map.read_bytes())
    os.utime(elsewhere, (0, 0))  # before the recording
    perf_map.unlink()
    found = functions(convert(data))
    check(f"no perf map: {found}", "void [App] App.Service::Spin" not in found)
    pid = perf_map.stem.removeprefix("perf-")
    found = functions(convert(data, f"--perf-map=1={program}", f"--perf-map={pid}={elsewhere}"))
    check(f"a perf map that the user names: {found}", "void [App] App.Service::Spin" in found)


START_FUNCTIONS = {"_start", "_dl_start_user", "clone", "clone3", "runtime.goexit", "runtime.mstart", "runtime.clone"}


def measure(data):
    ours, theirs = samples(data), perf_samples(data)
    pairs = [
        (own, other)
        for tid, rows in theirs.items()
        for (_, own), (_, other) in zip(sorted(ours.get(tid, [])), sorted(rows))
    ]
    printed = [(own, other) for own, other in pairs if other]
    found = [tuple(name for name in own if name != "[truncated stack]") for own, _ in printed]

    def share(count, of=None):
        of = len(printed) if of is None else of
        return f"{100 * count / max(of, 1):.2f} %"

    print(f"{data}: {len(pairs)} samples, {share(len(printed), len(pairs))} with frames in perf script; of those,")
    print(f"  the same functions: {share(sum(own == other for own, other in printed))}")
    print(f"  at least as deep: {share(sum(len(own) >= len(other) for own, (_, other) in zip(found, printed)))}")
    for who, stacks in (("here", [own for own, _ in printed]), ("in perf script", [other for _, other in printed])):
        print(f"  from a start function, {who}: {share(sum(stack[:1] and stack[0] in START_FUNCTIONS for stack in stacks))}")


def main():
    for data in sys.argv[2:]:
        measure(pathlib.Path(data))
    if sys.argv[2:]:
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary).resolve()
        os.environ["HOME"] = str(folder)
        (folder / "app.c").write_text(PROGRAM)
        run("cc", "-O1", "-g", "-fno-omit-frame-pointer", folder / "app.c", "-o", folder / "app", "-Wl,--build-id")
        try:
            record(folder / "try.data", ["true"])
        except (OSError, subprocess.CalledProcessError):
            print("perf names: not compared: perf may not record here")
            return 0
        check_agreement(folder)
        check_launchers(folder)
        check_places(folder)
        check_generated_code(folder)
    print(f"perf names: {counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


sys.exit(main())
