#!/usr/bin/env python3
"""Measures time and memory of looking up addresses, compared with `addr2line -i -f`.

    bench/symbols.py [--addresses N] [--runs N] [--keep FOLDER] [PROGRAM]

PROGRAM must have debug information and a symbol table. Without PROGRAM, the script makes one of at least 100 MB in FOLDER: a
file of C++ templates, compiled once and linked many times. GECKO_CONVERT names the measured program, CXX the compiler.

The trace is text of perf script with one sample of one frame per address. The script also prints what its conversion
costs without symbols.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

PROGRAM_BYTES_MIN = 100_000_000

UNIT = """
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
namespace unit {
template <int N> struct item {
    int key;
    double value[N % 7 + 1];
    std::string name;
    bool operator<(const item &other) const { return key < other.key; }
};
template <int N> int work(int seed) {
    std::map<int, item<N>> by_key;
    std::vector<item<N>> rows;
    std::unordered_map<std::string, std::vector<item<N>>> groups;
    std::deque<item<N>> queue;
    for (int i = 0; i < seed; i++) {
        item<N> it{i * N, {}, std::to_string(i)};
        by_key[i] = it, rows.push_back(it), groups[it.name].push_back(it), queue.push_back(it);
    }
    std::sort(rows.begin(), rows.end());
    std::stable_sort(queue.begin(), queue.end());
    int sum = 0;
    for (auto &pair : by_key) sum += pair.second.key;
    for (auto &group : groups)
        for (auto &it : group.second) sum += it.key;
    std::function<int(int)> f = [&](int x) { return x + sum + (int)rows.size(); };
    return f(N);
}
int run(int seed) { return CALLS; }
}
"""
CALL_COUNT = 10


def make_program(folder):
    """Links one unit many times. In each copy, all names but its entry become local, so that the linker does not merge
    functions and debug information."""
    compiler = os.environ.get("CXX", "c++")

    def do(*command):
        subprocess.run(command, cwd=folder, check=True)

    calls = " + ".join(f"work<{i}>(seed)" for i in range(CALL_COUNT))
    with open(f"{folder}/unit.cc", "w") as unit:
        unit.write(UNIT.replace("CALLS", calls))
    do(compiler, "-g", "-O2", "-c", "unit.cc", "-o", "unit.o")
    do("ld", "-r", "-z", "muldefs", "--force-group-allocation", "unit.o", "-o", "base.o")
    entry = "_ZN4unit3runEi"
    names, program, size, step = [], f"{folder}/program", 0, 4
    while size < PROGRAM_BYTES_MIN:
        for _ in range(step):
            names.append(f"u{len(names)}")
            do("objcopy", "-w", f"--keep-global-symbol={names[-1]}", "--redefine-sym", f"{entry}={names[-1]}", "base.o",
               f"{names[-1]}.o")
        with open(f"{folder}/main.cc", "w") as main:
            for name in names:
                main.write(f'extern "C" int {name}(int);\n')
            main.write("int main(int count, char **) { return " + " + ".join(f"{n}(count)" for n in names) + "; }\n")
        do(compiler, "-g", "-O2", "main.cc", *(f"{n}.o" for n in names), "-Wl,--build-id,-z,muldefs", "-o", "program")
        last, size = size, os.path.getsize(program)
        step = max(1, min(64, (PROGRAM_BYTES_MIN - size) // ((size - last) // step) + 1))
    return program


def choose_addresses(program, count):
    """Returns distinct addresses, spread over the functions."""
    functions = []
    for line in subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True).stdout.splitlines():
        parts = line.split()
        if len(parts) >= 4 and parts[2] in "tTwW" and int(parts[1], 16):
            functions.append((int(parts[0], 16), int(parts[1], 16)))
    total = sum(size for _, size in functions)
    if total < count * 2:
        sys.exit(f"symbols.py: {program} has {total} bytes of code, too few for {count} addresses")
    chooser, chosen = random.Random(1), set()
    while len(chosen) < count:
        start, size = chooser.choice(functions)
        chosen.add(start + chooser.randrange(size))
    return sorted(chosen)


def segments(program):
    """Returns offset, address and size of each loaded segment."""
    for line in subprocess.run(["readelf", "-lW", program], capture_output=True, text=True).stdout.splitlines():
        parts = line.split()
        if parts and parts[0] == "LOAD":
            yield int(parts[1], 16), int(parts[2], 16), int(parts[4], 16)


def write_trace(path, program, addresses):
    loads = list(segments(program))
    with open(path, "w") as trace:
        for i, address in enumerate(addresses):
            offset = next(o + address - a for o, a, size in loads if a <= address < a + size)
            trace.write(f"app 1/1 {1 + i / 1e6:.6f}: 1 cycles:\n\t{offset:x} [unknown] ({program})\n\n")


def measure(command, stdin=None):
    """Returns run time and processor time in seconds, and the peak memory in bytes."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdin=open(stdin) if stdin else None, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"symbols.py: {' '.join(command)}: {status}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?")
    parser.add_argument("--addresses", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep")
    options = parser.parse_args()
    converter = os.environ.get("GECKO_CONVERT", "build/gecko-convert")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        program = os.path.realpath(options.program or make_program(folder))
        addresses = choose_addresses(program, options.addresses)
        trace, listing = f"{temporary}/trace.txt", f"{temporary}/addresses.txt"
        write_trace(trace, program, addresses)
        with open(listing, "w") as out:
            out.writelines(f"{a:x}\n" for a in addresses)
        print(f"{os.path.getsize(program) / 1e6:.0f} MB, {len(addresses)} addresses, medians of {options.runs} runs")
        convert = [converter, "--quiet", trace, "-o", f"{temporary}/out.json"]
        commands = {
            "gecko-convert --symbols always": (convert + ["--symbols", "always"], None),
            "gecko-convert --symbols none": (convert + ["--symbols", "none"], None),
            "addr2line -i -f": (["addr2line", "-i", "-f", "-e", program], listing),
            "addr2line -i -f -C": (["addr2line", "-i", "-f", "-C", "-e", program], listing),
        }
        results = {name: [] for name in commands}
        for _ in range(options.runs):
            for name, (command, stdin) in commands.items():
                results[name].append(measure(command, stdin))
        for name, runs in results.items():
            seconds, cpu_seconds = (sorted(r[i] for r in runs)[len(runs) // 2] for i in (0, 1))
            memory = max(r[2] for r in runs) / 1e6
            print(f"{name:32} {seconds:7.2f} s, processor {cpu_seconds:.2f} s, at most {memory:.0f} MB")


if __name__ == "__main__":
    main()
