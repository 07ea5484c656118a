#!/usr/bin/env python3
"""Tests `gecko-convert record` where the kernel allows recording. Elsewhere it says loudly that nothing was tested.

usage: tests/record/run.py BUILD [CASE...]

Programs must run as they do alone, what they do must be in their profiles, and shares of processor time must be right to
within LIMIT_POINTS of what the programs measure themselves.
"""
import collections
import concurrent.futures
import contextlib
import ctypes
import difflib
import errno
import gzip
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

LIMIT_POINTS = 1
# Shares of samples vary by chance: the sums of several runs must be right.
ROUND_COUNT_MAX = 10
WAIT_SECONDS = 300

build = pathlib.Path(sys.argv[1]).absolute()
program = str(build / "gecko-convert")
mix = str(build / "accuracy" / "mix")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Fault(Exception):
    pass


def check(is_good, what):
    if not is_good:
        raise Fault(what)


def record(*arguments, before=(), **options):
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": WAIT_SECONDS, **options}
    return subprocess.run([*before, program, "record", *arguments], check=False, **options)


def profile_of(path):
    return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())


def text_of(path):
    return json.dumps(profile_of(path))


def count_samples(path):
    """Returns how many samples of a profile have a stack."""
    return sum(stack is not None for thread in profile_of(path)["threads"] for stack in thread["samples"]["stack"])


def count_written(trace):
    """Returns how many samples with stacks are in what was written of a recording so far."""
    path = trace.with_suffix(".json")
    ended = subprocess.run([program, trace, "-o", path], check=False, capture_output=True, timeout=WAIT_SECONDS)
    return count_samples(path) if ended.returncode == 0 else 0


# ---- The profile. ----

# What whole stacks begin with: programs, threads, the loader, Go's goroutines and its code beside them.
OUTERMOST = {"_start", "_dl_start_user", "clone3", "__clone3", "runtime.goexit", "runtime.mcall", "runtime.clone"}


def check_shares(folder, command, function_count, pattern, of_all):
    """Checks the shares of functions that the program tells, of all samples or of those in these functions."""
    true, seen, all_count, whole_count = collections.Counter(), collections.Counter(), 0, 0
    for _ in range(ROUND_COUNT_MAX):
        ended = record("-o", "p.folded", "--frames", "none", "--off-cpu", "no", *command, cwd=folder)
        remove_maps(ended.stdout)
        check(ended.returncode == 0, ended.stderr)
        for line in ended.stdout.splitlines():
            if line.startswith("function "):
                true[line.split()[1]] += int(line.split()[2])
        for line in (folder / "p.folded").read_text().splitlines():
            stack, count = line.rsplit(" ", 1)
            frames = stack.split(";")
            all_count += int(count)
            whole_count += int(count) * (frames[0] in OUTERMOST)
            for name in {found[1] for frame in frames if (found := re.fullmatch(pattern, frame))} & set(true):
                seen[name] += int(count)
        total = all_count if of_all else sum(seen.values())
        check(total, f"no function was seen: {ended.stderr}")
        wrong = [f"{name} has {100 * seen[name] / total:.2f} % in place of {100 * true[name] / sum(true.values()):.2f} %"
                 for name in true if abs(seen[name] / total - true[name] / sum(true.values())) * 100 > LIMIT_POINTS]
        if not wrong:
            break
    check(len(true) == function_count, ended.stdout)
    check(not wrong, f"{command}: {'; '.join(wrong)}")
    check(whole_count >= 0.98 * all_count, f"{command}: only {whole_count} of {all_count} stacks are whole")


def shares_are_right(folder):
    check_shares(folder, [mix, "2000"], 5, "(.*)", True)


JAVA = ["java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer",
        "-XX:CompileCommand=quiet", *(f"-XX:CompileCommand=dontinline,Shares::{name}" for name in ("alpha", "beta", "gamma"))]
PYTHONS = [*pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")).glob("versions/3.1[3-9]*/bin/python3"),
           "python3.13", "python3"]
# For each language: what makes the program of it, if anything, what runs it, and how a function is called in the profile.
LANGUAGES = [(["rustc", "-O", "-g", "shares.rs"], ["./shares"], r"shares::(\w+)"),
             (["go", "build", "shares.go"], ["./shares"], r"main\.(\w+)"),
             (["javac", "-d", ".", "Shares.java"], [*JAVA, "Shares"], r".*\bShares\b.*\b(alpha|beta|gamma)\b.*"),
             ([], ["node", "--perf-basic-prof", "shares.js"], r"(\w+)"),
             ([], ["python", "-X", "perf_jit", "shares.py"], r"(\w+)")]


def find_tool(name):
    """Returns the path of a program; for Python, of one that tells how to unwind its code (3.13). None: there is none."""
    if name != "python":
        return shutil.which(name)
    for python in PYTHONS:
        tried = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 13))"]
        if shutil.which(python) and subprocess.run(tried, capture_output=True, check=False).returncode == 0:
            return str(python)
    return None


def remove_maps(output):
    """Removes files that programs which generate code have written beside the recording."""
    for line in output.splitlines():
        if line.startswith("pid "):
            for path in (f"/tmp/perf-{line[4:]}.map", f"/tmp/jit-{line[4:]}.dump"):
                pathlib.Path(path).unlink(missing_ok=True)


def shares_of_languages_are_right(folder):
    sources = pathlib.Path(__file__).parent / "languages"
    for make, command, pattern in LANGUAGES:
        tool, *arguments = make or command
        found = find_tool(tool)
        if not found:
            print(f"record: NOT TESTED with {tool}, which is not installed")
            continue
        with tempfile.TemporaryDirectory(dir=folder) as name:
            shutil.copytree(sources, name, dirs_exist_ok=True)
            if make:
                subprocess.run([found, *arguments], cwd=name, check=True, capture_output=True)
            run = command if make else [found, *arguments]
            check_shares(pathlib.Path(name), ["sh", "-c", 'echo "pid $$"; exec "$@"', "sh", *run, "1000"], 3, pattern, False)


def trace_is_read_by_others(folder):
    ended = record("-o", "p.json", "--trace", "p.data", "--off-cpu", "no", mix, "300", cwd=folder)
    check(ended.returncode == 0, ended.stderr)
    count = count_samples(folder / "p.json")
    check(count > 100, f"{count} samples")
    check(profile_of(folder / "p.json")["meta"]["importedFrom"] == "gecko-convert record", "the recorder is not named")
    again = subprocess.run([program, folder / "p.data", "--off-cpu", "no", "-o", folder / "again.json"],
                           capture_output=True, check=False)
    check(again.returncode == 0 and count_samples(folder / "again.json") == count, again.stderr)
    if not shutil.which("perf"):
        return
    script = subprocess.run(["perf", "script", "-i", folder / "p.data", "-F", "comm,tid,time,ip,sym", "--no-inline"],
                            capture_output=True, text=True, check=False)
    samples = re.split(r"\n\n", script.stdout.strip())
    check(len(samples) == count, f"perf script has {len(samples)} samples in place of {count}: {script.stderr}")
    whole = sum("start_thread" in sample or "main" in sample for sample in samples)
    check(whole > 0.9 * count, f"perf script finds callers for {whole} of {count} samples")


def traces_of_other_users_are_read_by_perf(folder):
    if os.geteuid() != 0 or not shutil.which("perf"):
        return
    folder.chmod(0o777)
    ended = record("--with", "kernel", "-o", "p.json", "--trace", "p.data", "--off-cpu", "no", mix, "100", before=NOBODY,
                   cwd=folder)
    if "refuses to record" in ended.stderr:
        return
    count = count_samples(folder / "p.json")
    script = subprocess.run(["perf", "script", "--force", "-i", folder / "p.data", "-F", "ip", "--no-inline"],
                            capture_output=True, text=True, check=False)
    seen = len(re.split(r"\n\n", script.stdout.strip()))
    check(seen == count, f"perf script has {seen} samples in place of {count}: {script.stderr}")


def children_and_iterations_are_recorded(folder):
    busy = "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done"
    ended = record("-o", "p.json", "--iterations", "3", "sh", "-c", f"({busy}) & sh -c '{busy}'; wait", cwd=folder)
    check(ended.returncode == 0, ended.stderr)
    pids = {thread["pid"] for thread in profile_of(folder / "p.json")["threads"] if thread["samples"]["length"]}
    check(len(pids) >= 6, f"{len(pids)} processes in place of 6 or 9: {ended.stderr}")


def processes_too_short_for_samples_are_told_of(folder):
    busy = "i=0; while [ $i -lt 8000 ]; do i=$((i + 1)); done"
    told = "ms of processor time: most processes probably ended before"
    ended = record("-o", "p.json", "-F", "10", "sh", "-c", f"for n in $(seq 100); do sh -c '{busy}'; done", cwd=folder)
    check(told in ended.stderr, ended.stderr)
    ended = record("-o", "p.json", mix, "300", cwd=folder)
    check(ended.returncode == 0 and told not in ended.stderr, ended.stderr)


def names_tell_the_command_lines_of_children(folder):
    ended = record("-o", "p.json", "sh", "-c", f"'{mix}' 501 & ('{mix}' 502; true) & wait", cwd=folder)
    check(ended.returncode == 0, ended.stderr)
    names = {thread["name"] for thread in profile_of(folder / "p.json")["threads"]}
    check({"mix 501", "mix 502"} <= names, str(names))


def what_is_recorded_is_written_soon(folder):
    """If `record` is killed, samples that it has not written yet are lost."""
    # A few samples of small stacks fill the buffer only after many minutes.
    options = ["-F", "1", "--trace", "t.perf", "-o", "p.json"]
    with subprocess.Popen(["sh", "-c", "while :; do :; done"], env={}) as running, subprocess.Popen(
            [program, "record", *options, "-p", str(running.pid)], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recording:
        try:
            deadline = time.monotonic() + 120  # twice that would be enough to fill the buffer
            first = count = 0  # the first ones may be written when the recording begins
            while not first or count == first:
                check(time.monotonic() < deadline, f"only {count} samples were written")
                time.sleep(0.5)
                first = first or count
                count = count_written(folder / "t.perf")
        finally:
            recording.kill()
            running.kill()
    check(count_written(folder / "t.perf") >= count, "the recording of a killed program is not readable")


def iterations_begin_one_after_the_other(folder):
    ended = record("-o", "p.json", "--iterations", "3", mix, "100", cwd=folder)
    check(ended.returncode == 0, ended.stderr)
    mains = [thread for thread in profile_of(folder / "p.json")["threads"] if thread["isMainThread"]]
    lives = sorted((thread["processStartupTime"], thread["processShutdownTime"]) for thread in mains)
    check(len(lives) == 3 and all(first[1] <= second[0] for first, second in zip(lives, lives[1:])), f"they ran at {lives}")


def iterations_are_alike_and_need_no_more_files(folder):
    file_count = 64 + 16 + 4 * os.cpu_count()
    busy = "ulimit -n; nice; i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done"
    ended = record("-o", "p.json", "-e", "cpu-clock,page-faults=markers", "--iterations", "20", "sh", "-c", busy, cwd=folder,
                   before=["nice", "-n", "5"], preexec_fn=limit(resource.RLIMIT_NOFILE, file_count))
    check(ended.returncode == 0, ended.stderr)
    check(ended.stdout.split() == [str(file_count), str(os.nice(0) + 5)] * 20, ended.stdout)
    profile = profile_of(folder / "p.json")
    names = profile["shared"]["stringArray"]
    seen = [(thread["samples"]["length"], [names[name] for name in thread["markers"]["name"]]) for thread in profile["threads"]
            if thread["name"] != "nice"]
    check(len(seen) == 20 and all(count > 10 and "page-faults" in markers for count, markers in seen), seen)


def iterations_before_files_run_out_are_recorded(folder):
    """Programs that run on in the background keep their files, until there are too few: for a process, or for its events."""
    held, hold = os.pipe()
    busy = "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done"
    try:
        for spare_count in range(6):
            (folder / "p.json").unlink(missing_ok=True)
            limits = limit(resource.RLIMIT_NOFILE, 24 + 10 * os.cpu_count() + spare_count)
            ended = record("-q", "-o", "p.json", "-e", "cpu-clock,page-faults,context-switches", "--iterations", "999", "sh",
                           "-c", f"exec 3<&0; cat <&3 >/dev/null 2>&1 & {busy}", cwd=folder, stdin=held, preexec_fn=limits)
            told = re.search(r"only ([1-9]) of 999 iterations were recorded: .*(ulimit -n|Too many open files)", ended.stderr)
            check(ended.returncode == 3 and told, ended)
            counts = [thread["samples"]["length"] for thread in profile_of(folder / "p.json")["threads"]]
            check(sum(count > 10 for count in counts) >= int(told[1]), f"{counts}: {ended.stderr}")
    finally:
        os.close(held)
        os.close(hold)


def iterations_before_a_program_is_gone_are_recorded(folder):
    shutil.copy(shutil.which("sh"), folder / "once")
    ended = record("-o", "p.json", "-e", "page-faults", "--iterations", "3", "./once", "-c", "rm once", cwd=folder)
    check(ended.returncode == 127 and "only 1 of 3 iterations" in ended.stderr, ended)
    check(count_samples(folder / "p.json"), "no samples")
    shutil.copy(shutil.which("sh"), folder / "once")
    ended = record("-o", "p.json", "-e", "page-faults", "--iterations", "3", "./once", "-c", "rm once; exit 5", cwd=folder)
    check(ended.returncode == 5 and "only 1 of 3 iterations" in ended.stderr, ended)


def few_files_are_enough_for_a_command(folder):
    for file_count in (20 + 2 * os.cpu_count(), 66 + 2 * os.cpu_count()):
        (folder / "p.json").unlink(missing_ok=True)
        ended = record("-o", "p.json", mix, "100", cwd=folder, preexec_fn=limit(resource.RLIMIT_NOFILE, file_count))
        check(ended.returncode == 0 and count_samples(folder / "p.json") > 10, ended)


def no_iteration_begins_after_the_duration(folder):
    """While the recording is stopped, its duration passes, and the program ends."""
    stops = "echo began; (sleep 0.5; kill -CONT $PPID) >/dev/null 2>&1 & kill -STOP $PPID"
    ended = record("-o", "p.json", "-d", "0.2", "--iterations", "9", "sh", "-c", stops, cwd=folder,
                   preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    check(ended.stdout == "began\n", ended.stdout)


def record_until(folder, is_good, what, *arguments):
    """Records for longer and longer, as a busy machine may leave little time to the programs."""
    for seconds in ("0.2", "1", "5", "30"):
        ended = record("-o", "p.json", "-d", seconds, *arguments, cwd=folder)
        check(ended.returncode in (0, 1), ended.stderr)
        if ended.returncode == 0 and is_good(folder / "p.json"):
            return
    raise Fault(what)


def names_tell_the_titles_of_forked_processes(folder):
    source = pathlib.Path(__file__).with_name("title.c")
    subprocess.run(["cc", source, "-o", folder / "title"], check=True)
    titles = {"title: walwriter", "browser --type=page"}
    record_until(folder, lambda path: titles <= {thread["name"] for thread in profile_of(path)["threads"]},
                 "a process lacks its title", "./title", "an argument that leaves room")


def running_processes_are_recorded(folder):
    with subprocess.Popen([mix, "60000"], stdout=subprocess.DEVNULL) as running:
        try:
            while len(os.listdir(f"/proc/{running.pid}/task")) < 5:
                time.sleep(0.01)
            record_until(folder, lambda path: "parse" in text_of(path) and len(profile_of(path)["threads"]) == 5,
                         "functions of the process have no names, or threads are missing", "-p", f"{running.pid},{running.pid}",
                         "-p", str(running.pid))
            thread = max(map(int, os.listdir(f"/proc/{running.pid}/task")))
            record_until(folder, lambda path: "parse" in text_of(path) and len(profile_of(path)["threads"]) == 5,
                         "a thread's number does not stand for its process", "-p", str(thread))
            if os.geteuid() == 0:
                record_until(folder, lambda path: "parse" in text_of(path), "the process is not in the recording of the machine",
                             "-a")
        finally:
            running.kill()


def files_that_are_gone_have_names(folder):
    shutil.copy(mix, folder / "gone")
    with subprocess.Popen([folder / "gone", "60000"], stdout=subprocess.DEVNULL) as running:
        try:
            (folder / "gone").unlink()
            record_until(folder, lambda path: "parse" in text_of(path), "a removed file has no names", "-p", str(running.pid))
        finally:
            running.kill()
    ended = record("-o", "p.json", "sh", "-c", f"cp '{mix}' made; ./made 300; rm made", cwd=folder)
    check(ended.returncode == 0 and "parse" in text_of(folder / "p.json"), ended.stderr)
    ended = record("-o", "p.folded", "sh", "-c", f"'{mix}' 50; cp '{mix}' copied; ./copied 300; rm copied", cwd=folder)
    check(re.search("^copied;.*;parse", (folder / "p.folded").read_text(), re.M), f"a copy has no names: {ended.stderr}")


def compile_worker(path, function, is_endless=False):
    """Makes a program without a build id that computes in this function, once or for ever."""
    source = path.with_suffix(".c")
    source.write_text(f"void {function}(void) {{ for (volatile long i = 0; i < 200000000; i++); }}\n"
                      f"int main(void) {{ do {function}(); while ({int(is_endless)}); return 0; }}\n")
    subprocess.run(["cc", "-O1", "-fno-inline", "-Wl,--build-id=none", source, "-o", path], check=True)


def code_has_no_names_of_others_at_its_path(folder):
    compile_worker(folder / "one", "work_of_one")
    compile_worker(folder / "two", "work_of_two")
    ended = record("-o", "p.json", "sh", "-c", "for from in one two; do cp $from made; ./made; rm made; done", cwd=folder)
    check(ended.returncode == 0 and "work_of_" not in text_of(folder / "p.json"), f"two programs are one: {ended.stderr}")
    compile_worker(folder / "replaced", "work_of_replaced", is_endless=True)
    with subprocess.Popen([folder / "replaced"]) as running:
        try:
            (folder / "one").rename(folder / "replaced")
            record_until(folder, lambda path: "work_of_replaced" in text_of(path), "a replaced program has no names",
                         "-p", str(running.pid))
        finally:
            running.kill()
    check("work_of_one" not in text_of(folder / "p.json"), "a program has the names of what has replaced it")


def files_that_are_gone_have_names_beside_many_others(folder):
    compile_worker(folder / "kept", "work_of_kept")
    (folder / "library.c").write_text("int number;\n")
    subprocess.run(["cc", "-shared", "-Wl,--build-id=none", "library.c", "-o", "0.so"], cwd=folder, check=True)
    for i in range(1, 600):
        shutil.copy(folder / "0.so", folder / f"{i}.so")
    while time.time() < (folder / "599.so").stat().st_ctime + 2:
        time.sleep(0.1)
    load = "import ctypes; [ctypes.CDLL(f'./{i}.so') for i in range(600)]"
    ended = record("-o", "p.json", "sh", "-c", f'python3 -c "{load}"; cp kept made; ./made; rm made', cwd=folder)
    check(ended.returncode == 0 and "work_of_kept" in text_of(folder / "p.json"), ended.stderr)


GENERATED = r"""
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signal.h>
#include <unistd.h>
#ifdef __x86_64__
static const char endless[] = "\xeb\xfe";
#else
static const char endless[] = "\x00\x00\x00\x14";
#endif
static char path[64];
static void write_map(const void *code) {
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx 10 work_of_generated\n", (unsigned long)code);
    fclose(map);
}
static void write_dump(const void *code) {
    struct {
        uint32_t magic, version, header_bytes, machine, zero, pid;
        uint64_t time_ns, flags;
        uint32_t kind, record_bytes;
        uint64_t load_time_ns;
        uint32_t load_pid, tid;
        uint64_t address, code_address, code_bytes, index;
        char name[24], code[16];
    } dump = {0x4a695444, 1, 40, EM_X86_64, 0, getpid(), 1, 0, 0, 96, 1, getpid(), getpid(), (uintptr_t)code, (uintptr_t)code,
              sizeof dump.code, 1, "dumped_work_of_generate", ""};
    snprintf(path, sizeof path, "/tmp/jit-%d.dump", getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (write(fd, &dump, sizeof dump) != sizeof dump) _exit(1);
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}
int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "map";
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (strcmp(kind, "dump") == 0 ? write_dump : write_map)(code);
    memcpy(code, endless, sizeof endless);
    __builtin___clear_cache(code, (char *)code + sizeof endless);
    puts(path);
    fflush(stdout);
    if (strcmp(kind, "fork") == 0 && fork()) pause();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (strcmp(kind, "idle") == 0) pause();
    ((void (*)(void))code)();
}
"""


def build_generated(folder):
    folder.chmod(0o755)
    (folder / "generated.c").write_text(GENERATED)
    subprocess.run(["cc", folder / "generated.c", "-o", folder / "generated"], check=True)


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def generated_code_in_containers_has_names(folder):
    """The first process has another number inside, and a folder of its own. The second is of another user."""
    if os.geteuid() != 0:
        return
    build_generated(folder)
    inside = "mount -t tmpfs none /tmp && exec ./generated"
    for before in (["unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c", inside], [*NOBODY, "./generated"]):
        with subprocess.Popen(before, cwd=folder, stdout=subprocess.PIPE, text=True) as running:
            try:
                path = running.stdout.readline().strip()
                pid = (children_of(running.pid) or [str(running.pid)])[0]
                record_until(folder, lambda path: "work_of_generated" in text_of(path), "generated code has no names", "-p", pid)
                check(f"perf-{pid}.map" in text_of(folder / "p.json"), "the map has another name")
                few = record("-p", pid, "-d", "0.2", "-o", "p.json", cwd=folder, preexec_fn=limit(resource.RLIMIT_NOFILE, 60))
                check("generated code of 1 process in containers" in few.stderr, few)
            finally:
                running.kill()
                if before[:1] != ["unshare"]:
                    pathlib.Path(path).unlink()


def generated_code_in_containers_that_are_started_has_names(folder):
    """The recording begins before the program writes its map, and is over after the map is gone."""
    if os.geteuid() != 0:
        return
    build_generated(folder)
    for seconds in ("0.3", "3", "30"):
        inside = f"mount -t tmpfs none /tmp && exec timeout {seconds} ./generated"
        ended = record("-o", "p.json", "unshare", "--pid", "--fork", "--mount", "sh", "-c", inside, cwd=folder)
        check(ended.returncode == 124, ended.stderr)
        if "work_of_generated" in text_of(folder / "p.json"):
            return
    raise Fault("generated code has no names")


def running_children_name_the_code_of_their_parents(folder):
    """The processes were forked before the recording."""
    build_generated(folder)
    inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c",
              "mount -t tmpfs none /tmp && exec ./generated fork"]
    for before in [["./generated", "fork"], *([inside] if os.geteuid() == 0 else [])]:
        with subprocess.Popen(before, cwd=folder, stdout=subprocess.PIPE, text=True) as running:
            path = ""
            try:
                path = running.stdout.readline().strip()
                pid = running.pid if before != inside else children_of(running.pid)[0]
                children = children_of(pid)
                while not children:
                    children = children_of(pid)
                record_until(folder, lambda path: "work_of_generated" in text_of(path), "generated code has no names", "-p",
                             children[0])
            finally:
                running.kill()
                if before != inside:
                    pathlib.Path(path).unlink()


def jitdumps_in_a_private_folder_have_names(folder):
    """A service with PrivateTmp has such a /tmp: another folder of the same file system."""
    if os.geteuid() != 0:
        return
    build_generated(folder)
    (folder / "private").mkdir()
    inside = "mount --bind private /tmp && exec ./generated dump"
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", inside], cwd=folder, stdout=subprocess.PIPE, text=True) as running:
        try:
            path = running.stdout.readline().strip()
            record_until(folder, lambda path: "dumped_work_of_generate" in text_of(path), "generated code has no names", "-p",
                         str(running.pid))
            check(os.listdir(folder / "private") == [os.path.basename(path)] and not os.path.exists(path), "another folder")
        finally:
            running.kill()


def maps_of_other_users_are_read_if_they_are_not_too_large(folder):
    """Nearly all of the map is a hole."""
    build_generated(folder)
    with subprocess.Popen([*(NOBODY if os.geteuid() == 0 else []), "./generated"], cwd=folder, stdout=subprocess.PIPE,
                          text=True) as running:
        path = running.stdout.readline().strip()
        try:
            os.truncate(path, 2 << 30)
            record_until(folder, count_samples, "no samples", "-p", str(running.pid))
            check("work_of_generated" not in text_of(folder / "p.json"), "a large map is read")
        finally:
            running.kill()
            pathlib.Path(path).unlink()


def maps_of_earlier_processes_name_no_code(folder):
    build_generated(folder)
    # It ends after a second of processor time, however busy the machine is.
    command = '(ulimit -t 1; exec ./generated) | while read path; do touch -d "$0" "$path"; echo "$path"; done'
    for changed, has_names in ("now", True), ("1 hour ago", False):
        ended = record("-o", "p.json", "sh", "-c", command, changed, cwd=folder)
        pathlib.Path(ended.stdout.strip()).unlink()
        check(("work_of_generated" in text_of(folder / "p.json")) == has_names, f"a map of {changed}: {ended}")


def maps_that_are_found_anyway_need_no_files(folder):
    if os.geteuid() != 0:
        return
    build_generated(folder)
    running = [subprocess.Popen(["./generated", "idle"], cwd=folder, stdout=subprocess.PIPE, text=True)
               for _ in range(20 + os.cpu_count())]
    paths = [process.stdout.readline().strip() for process in running]
    try:
        few = limit(resource.RLIMIT_NOFILE, 20 + 3 * os.cpu_count())
        ended = record("-a", "-d", "0.5", "-o", "p.json", cwd=folder, preexec_fn=few)
        check(ended.returncode == 0 and "ulimit" not in ended.stderr, ended)
    finally:
        for process, path in zip(running, paths):
            process.kill()
            process.communicate()
            pathlib.Path(path).unlink()


def processes_without_names_are_told_of(folder):
    if os.geteuid() != 0:
        return
    without = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    ended = record("-o", "p.json", "-a", "-d", "0.2", before=without, cwd=folder)
    check(ended.returncode in (0, 1) and re.search("the code of [1-9].*CAP_SYS_PTRACE", ended.stderr), ended.stderr)


def the_end_of_a_process_ends_its_recording(folder):
    with subprocess.Popen([mix, "1500"], stdout=subprocess.DEVNULL) as running:
        ended = record("-o", "p.json", "-p", str(running.pid), cwd=folder)
    check(ended.returncode == 0, ended.stderr)


def events_are_named(folder):
    ended = record("-o", "p.json", "-e", "cpu-clock:u,page-faults", mix, "300", cwd=folder)
    check(ended.returncode == 0, ended.stderr)
    check("page-faults" in text_of(folder / "p.json"), "no page fault was recorded")
    for name in ("cycles", "cycles:u", "cpu-cycles:uk", "cycles:upp", "cycles:P"):  # where it counts none, its clock does
        ended = record("-o", "p.json", "-e", name, mix, "100", cwd=folder)
        modifier = "".join(name.partition(":")[1:])
        check(ended.returncode == 0 and re.search(f"(cycles|cpu-clock){modifier}: ", ended.stderr), ended.stderr)
    ended = record("-o", "p.json", "-e", "emulation-faults", mix, "10", cwd=folder)
    check("no event that --event names happened often enough" in ended.stderr, ended.stderr)


def with_preloaded(folder, name):
    """Returns an environment in which that library of this folder is preloaded."""
    library = folder / f"{name}.so"
    source = pathlib.Path(__file__).parent / f"{name}.c"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", source, "-o", library], check=True)
    return {**os.environ, "LD_PRELOAD": str(library)}


def nothing_is_lost_while_processes_are_described(folder):
    if os.geteuid() != 0:
        return
    with contextlib.ExitStack() as stack:
        for command in [["sh", "-c", "while :; do :; done"]] * os.cpu_count() + [["sleep", "600"]] * 50:
            stack.callback(stack.enter_context(subprocess.Popen(command)).kill)
        ended = record("-o", "p.json", "-a", "-d", "0.2", cwd=folder, env=with_preloaded(folder, "slow_maps"))
    found = re.search(r"(\d+) samples?, (\d+) lost", ended.stderr)
    check(ended.returncode == 0 and int(found[2]) < int(found[1]) / 2, ended.stderr)


def losses_are_of_no_process(folder):
    command = [program, "record", "-q", "-d", "1.5", "-o", "p.json", "sh", "-c", "while :; do :; done"]
    with subprocess.Popen(command, cwd=folder) as recording:
        time.sleep(0.3)
        recording.send_signal(signal.SIGSTOP)  # the rings are full before long
        time.sleep(1)
        recording.send_signal(signal.SIGCONT)
        check(recording.wait(WAIT_SECONDS) == 0, "the recording failed")
    pids = {thread["pid"] for thread in profile_of(folder / "p.json")["threads"]}
    check(len(pids) == 1, f"processes {pids}")


def counters_of_the_processor_are_recorded(folder):
    counters = with_preloaded(folder, "counters")
    ended = record("-o", "p.json", "-e", "cycles:ppp,L1-dcache-load-misses:u,r01c2", mix, "300", cwd=folder, env=counters)
    check(ended.returncode == 0 and " of cycles:ppp and other events: " in ended.stderr, ended.stderr)
    for name in ("L1-dcache-load-misses:u", "r01c2"):
        check(name in text_of(folder / "p.json"), f"{name} was not recorded: {ended.stderr}")
    ended = record("-o", "p.json", mix, "300", cwd=folder, env={**counters, "LACKS_CYCLES": "1"})
    check(ended.returncode == 0 and " of cpu-clock: " in ended.stderr, ended.stderr)


WAITING = """
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}
__attribute__((noinline)) static double rest(void) {
    double begin_ms = now_ms();
    for (int i = 0; i < 2000; i++) usleep(100);
    return now_ms() - begin_ms;
}
int main(void) { printf("%f", rest()); }
"""


def waits_are_where_threads_wait(folder):
    if os.geteuid() != 0:
        return
    (folder / "waiting.c").write_text(WAITING)
    subprocess.run(["cc", "-g", folder / "waiting.c", "-o", folder / "waiting"], check=True)
    ended = record("-o", "p.folded", "-e", "cpu-clock", "-e", "context-switches", "./waiting", cwd=folder)
    check(ended.returncode == 0, ended.stderr)
    lines = [line.rsplit(" ", 1) for line in (folder / "p.folded").read_text().splitlines()]
    seen_ms = sum(int(weight) for stack, weight in lines if ";rest;" in stack) / 1e6
    check(abs(seen_ms - float(ended.stdout)) < 20, f"{seen_ms} ms in place of {ended.stdout}: {lines}")


def weight_s(path):
    return sum(int(line.rsplit(" ", 1)[1]) for line in path.read_text().splitlines()) / 1e9


def has_events(pid):
    """Returns whether a recording has opened events."""
    for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if "[perf_event]" in os.readlink(path):
                return True
    return False


def waits_are_as_long_as_the_recording(folder):
    ended = record("-o", "p.folded", "-d", "1", "sleep", "60", cwd=folder)
    check(ended.returncode == 0 and weight_s(folder / "p.folded") > 0.5, f"{weight_s(folder / 'p.folded')} s: {ended}")
    check(("-e cycles,context-switches" in ended.stderr) != ("kernel's own code was not" in ended.stderr), ended.stderr)
    busy = "read line; i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"
    with subprocess.Popen(["sh", "-c", busy], stdin=subprocess.PIPE) as running:
        with subprocess.Popen([program, "record", "-q", "-o", "q.folded", "-p", str(running.pid)], cwd=folder) as recording:
            while recording.poll() is None and not has_events(recording.pid):
                time.sleep(0.01)
            time.sleep(2)
            running.communicate(b"go\n", WAIT_SECONDS)
            check(recording.wait(WAIT_SECONDS) == 0 and weight_s(folder / "q.folded") > 1, f"{weight_s(folder / 'q.folded')} s")


def samples_of_waits_are_told_of(folder):
    for options, is_told in ([], True), (["--off-cpu", "no"], False):
        ended = record("-o", "p.json", *options, mix, "100", cwd=folder)
        check(ended.returncode == 0 and ("did not run become samples, too" in ended.stderr) == is_told, ended)


def options_of_converting_work(folder):
    ended = record("-o", "p.json", "-e", "cpu-clock", "-e", "page-faults=markers", "--time", "0-0.2", "--exclude-comm", "*.w1",
                   "--merge-threads", "no", "--progress", "never", mix, "400", cwd=folder)
    check(ended.returncode == 0, ended.stderr)
    check("left out" in ended.stderr, ended.stderr)
    names = profile_of(folder / "p.json")["shared"]["stringArray"]
    markers = collections.Counter(names[name] for thread in profile_of(folder / "p.json")["threads"]
                                  for name in thread["markers"]["name"])
    check(markers["page-faults"], f"markers: {markers}")
    for arguments in (["--time", "10%-20%"], ["-e", "page-faults=pictures"], ["-e", "cpu-clock,"], ["--cpu", "x"],
                      ["--event", "list"], ["--trace", "-"]):
        ended = record("-o", "no.json", *arguments, "touch", "started", cwd=folder)
        check(ended.returncode == 2 and not (folder / "started").exists(), f"{arguments}: {ended}")


def last_branches_are_asked_for(folder):
    ended = record("-o", "p.json", "--call-graph", "lbr", mix, "300", cwd=folder)
    if ended.returncode == 0:  # the processor has them
        check(count_samples(folder / "p.json") > 10, ended.stderr)
    else:
        check(ended.returncode == 2 and "--call-graph lbr" in ended.stderr and not ended.stdout, ended)


def tracepoints_have_fields(folder):
    if os.geteuid() != 0 or not os.path.exists("/sys/kernel/tracing/events/sched/sched_switch/id"):
        return
    ended = record("-o", "p.json", "-e", "cpu-clock", "-e", "sched:sched_switch", "sh", "-c", "sleep 0.1; sleep 0.1", cwd=folder)
    check(ended.returncode == 0 and "unknown format" not in ended.stderr, ended.stderr)
    profile = profile_of(folder / "p.json")
    markers = [data for thread in profile["threads"] for data in thread["markers"]["data"] if data]
    names = {data["prev_comm"] for data in markers if "prev_comm" in data}
    names |= {profile["shared"]["stringArray"][name] for name in names if isinstance(name, int)}
    check("sleep" in names, f"switches have the fields {names}")


# ---- The program. ----

def exit_codes_are_those_of_a_shell(folder):
    (folder / "file").write_text("")
    for command, code in ((["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -KILL $$"], 137), ([mix, "200"], 0),
                          (["./nothing"], 127), (["./file"], 126)):
        ended = record("-o", "p.json", *command, cwd=folder)
        check(ended.returncode == code, f"{command}: {ended.returncode}: {ended.stderr}")
    (folder / "file").write_text("#!/no/such/shell\n")
    (folder / "file").chmod(0o755)
    (folder / "program-here").symlink_to("/bin/true")
    for command, told in ((["./file"], "its interpreter is missing"), (["no-such-program"], "functions and aliases"),
                          (["program-here"], "put ./ before one of the current folder")):
        ended = record("-o", "p.json", *command, cwd=folder)
        check(ended.returncode == 127 and told in ended.stderr, ended)
    ended = record("-o", "nothing.json", "true", cwd=folder)
    # A program that ends at once may be too short for a sample.
    check(ended.returncode in (0, 1), ended.stderr)
    check((folder / "nothing.json").exists() == (ended.returncode == 0), "a profile without a recording")


def without_signals_of_libc(output):
    """Signals 32 and 33 belong to the C library, which handles them in each process that has had threads."""
    return re.sub(r"(Sig\w+:\t)(\w+)", lambda match: f"{match[1]}{int(match[2], 16) & ~(3 << 31):016x}", output)


def the_program_has_what_it_would_have_alone(folder):
    tell = "grep -E '^Sig(Blk|Ign)' /proc/self/status; ulimit -n; [ -e /proc/self/fd/0 ] || echo closed; cat"
    tell_more = "grep '^SigCgt' /proc/self/status; ls /proc/self/fd | wc -l; "  # the recorder has files and handlers
    for closing in ("", "exec 0<&-; ", "trap '' PIPE; ", "trap '' INT QUIT; ", "trap '' CHLD; ", "exec 2>&-; "):
        for forbid, command in ((None, tell_more + tell), (forbid_events, tell)):
            outputs = [without_signals_of_libc(
                subprocess.run(["sh", "-c", closing + 'exec "$@"', "sh", *before, "sh", "-c", command], input="text",
                               cwd=folder, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False,
                               preexec_fn=forbid).stdout)
                       for before in ([], [program, "record", "-q", "-o", "p.json", "--"])]
            check(outputs[0] == outputs[1], f"{closing}: {outputs}")


# Runs the cases of a program one after another, and tells how each ended.
EACH_CASE = 'for case; do echo "$case:"; "$0" "$case"; echo "$case ended with $?"; done'


def differs_when_recorded(path):
    """Returns what the cases of a program do alone and what they do when they are recorded, if that differs."""
    cases = subprocess.run([path], capture_output=True, text=True, check=True).stdout.split()
    recorded = [program, "record", "--with", "kernel", "-q", "--symbols", "none", "-o", "p.json", "--trace", "p.data", "--"]
    # Recording for longer gives more samples of the same code. Alone, nothing is sampled.
    ways = [([], "5"), (recorded, "10")]
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)  # some cases become another user
        ended = [subprocess.run([*before, "sh", "-c", EACH_CASE, path, *cases], cwd=name, stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=WAIT_SECONDS, check=False,
                                env={**os.environ, "HOST_WORK_PERCENT": percent})
                 for before, percent in ways]
        outcomes = [(one.returncode, one.stdout.decode(errors="replace").splitlines(), one.stderr) for one in ended]
        has_samples = count_samples(pathlib.Path(name, "p.json"))
    if outcomes[0] == outcomes[1] and has_samples:
        return None
    return list(difflib.unified_diff(outcomes[0][1], outcomes[1][1], lineterm="")), [one[::2] for one in outcomes]


def programs_that_are_easily_disturbed_are_as_alone(folder):
    del folder
    paths = [str(path) for path in sorted((build / "hosts").iterdir()) if path.suffix == ""]
    check(len(paths) >= 9, paths)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [f"{path}: {outcome}" for path, outcome in zip(paths, pool.map(differs_when_recorded, paths)) if outcome]
    check(not faults, "; ".join(faults))


def what_cannot_be_written_is_told_before_the_program_runs(folder):
    (folder / "kept.data").write_text("kept")
    with socket.create_server(("127.0.0.1", 0)) as server:
        for arguments in (["-o", "no/p.json"], ["-o", "."],
                          ["-o", "p.json", "--report", "no/report.json"], ["-o", "p.json", "--format", "no"],
                          ["-o", "p.json", "--trace", "no/p.data"], ["-o", "p.json", "--trace", "/dev/full"],
                          ["--no-open", "--port", str(server.getsockname()[1])], ["--no-open", "--viewer", "no"],
                          ["-o", "p.json", "--trace", "kept.data", "-e", "no-such-event"]):
            ended = record(*arguments, "touch", "started", cwd=folder)
            check(ended.returncode in (2, 3) and not (folder / "started").exists(), f"{arguments}: {ended}")
    check((folder / "kept.data").read_text() == "kept", "the recording of an earlier run is gone")
    check(os.listdir(folder) == ["kept.data"], f"left: {os.listdir(folder)}")
    (folder / "link.json").symlink_to("no/p.json")
    (folder / "sticky").mkdir()
    (folder / "sticky" / "p.json").write_text("of root")
    for path, mode in (folder / "sticky" / "p.json", 0o666), (folder / "sticky", 0o1777), (folder, 0o777):
        path.chmod(mode)
    for output, before in (("link.json", []), ("-", ["sh", "-c", 'exec "$@" >&-', "sh"]),
                           *([("sticky/p.json", NOBODY)] if os.geteuid() == 0 else [])):
        ended = record("-o", output, "touch", "started", before=before, cwd=folder)
        check(ended.returncode == 3 and not (folder / "started").exists(), f"{output}: {ended}")
    for target in ["touch", "started"], ["-p", str(os.getpid())]:
        ended = record("-o", "p.json", *target, cwd=folder, env={**os.environ, "TMPDIR": "/nonexistent"})
        check(ended.returncode == 3 and "set TMPDIR" in ended.stderr and not (folder / "started").exists(), ended)


def what_was_recorded_until_the_disk_was_full_is_shown(folder):
    full_bytes = 128 * 1024

    def fill():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (full_bytes, full_bytes))

    busy = f"while [ $(stat -c %s t.perf) -lt {full_bytes} ]; do i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done; done"
    for duration, rest in ((str(WAIT_SECONDS), ""), ("5", "; exec sleep 999")):
        ended = record("-F", "10000", "-d", duration, "--trace", "t.perf", "-o", "-", "sh", "-c", busy + rest, cwd=folder,
                       preexec_fn=fill)
        if duration != "5" or "what came later is lost" in ended.stderr:  # on a busy machine, 5 s may not be enough
            check(ended.returncode == 3 and "cannot write the recording: File too large" in ended.stderr, ended.stderr)
        if "what came later is lost" in ended.stderr:
            check(not re.search("recorded .* samples?,", ended.stderr), f"counts what was not written: {ended.stderr}")
        (folder / "p.json").write_text(ended.stdout)
        check(count_samples(folder / "p.json") > 10, ended.stderr)


def a_recording_of_which_no_profile_can_be_made_is_kept(folder):
    for options, code in ((("-o", "/dev/full"), 3), (("-o", "p.json", "--max-memory", "1M"), 4),
                          (("-o", "p.json", "--time", "@nothing"), 2), (("-o", "p.json", "--comm", "nothing"), 1)):
        ended = record(*options, mix, "100", cwd=folder, env={**os.environ, "TMPDIR": str(folder)})
        kept = re.search(r"the recording is kept: .* gecko-convert (\S+) -o FILE", ended.stderr)
        check(ended.returncode == code and kept, f"{options}: {ended}")
        subprocess.run([program, "-q", kept[1], "-o", folder / "later.json"], check=True, timeout=WAIT_SECONDS)
        check(count_samples(folder / "later.json") > 10, ended.stderr)
        pathlib.Path(kept[1]).unlink()
    if os.geteuid() == 0:
        first_of_namespace = ["unshare", "--pid", "--fork", "--mount-proc"]
        for count in 1, 2:
            ended = record("-o", "/dev/full", mix, "100", cwd=folder, env={**os.environ, "TMPDIR": str(folder)},
                           before=first_of_namespace)
            check(len(list(folder.glob("*.data"))) == count, f"two of one pid: {ended}, {os.listdir(folder)}")
        for path in folder.glob("*.data"):
            check(path.stat().st_mode & 0o777 == 0o600, f"{path}: {path.stat()}")
            path.unlink()
    ended = record("-o", "p.json", "no-such-program", cwd=folder, env={**os.environ, "TMPDIR": str(folder)})
    check(ended.returncode == 127 and not list(folder.glob("*.data")), f"{ended}: {os.listdir(folder)}")


def events_are_kept_of_which_no_profile_can_be_made(folder):
    build_linked_program(folder)
    places = folder / "places"
    places.mkdir()
    for options, count in ([], 2), (["--trace", "kept.data"], 1), (["--with", "recorder"], 1):
        ended = record("-o", "/dev/full", *options, "./app", cwd=folder, env={**os.environ, "TMPDIR": str(places)})
        kept = re.search(r"the recording is kept: .* (gecko-convert .* -o) FILE", ended.stderr)
        check(ended.returncode == 3 and kept and len(list(places.iterdir())) == count, f"{ended}: {os.listdir(places)}")
        command = kept[1].replace("gecko-convert ", f"{program} -q ", 1)
        subprocess.run(["sh", "-c", f"{command} later.json"], cwd=folder, check=True, timeout=WAIT_SECONDS)
        profile = profile_of(folder / "later.json")
        check(any(counter["name"] == "Served" for counter in profile["counters"]), f"the counter is missing: {ended.stderr}")
        for path in places.iterdir():
            check(path.stat().st_mode & 0o077 == 0, f"{path}: {path.stat()}")
            path.unlink()


def a_profile_on_standard_output_is_alone_there(folder):
    for output in "-", "/dev/stdout":
        ended = record("-o", output, mix, "100", cwd=folder)
        (folder / "p.json").write_text(ended.stdout)
        check(count_samples(folder / "p.json") > 10 and "function parse" in ended.stderr, ended.stderr)


def the_duration_ends_the_program(folder):
    record_until(folder, lambda path: count_samples(path) > 10, "no samples", "sh", "-c", "while :; do :; done")


def programs_that_run_on_are_told_of(folder):
    ended = record("-o", "p.json", "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!", cwd=folder)
    os.kill(int(ended.stdout), signal.SIGKILL)
    check("run on" in ended.stderr and "time between two samples" not in ended.stderr, ended.stderr)
    ended = record("-o", "p.json", "sh", "-c", "sleep 0.1 & wait", cwd=folder)
    check("run on" not in ended.stderr, ended.stderr)


def has_pending_interrupt(pid):
    masks = re.findall(r"(?:Sig|Shd)Pnd:\t(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return any(int(mask, 16) & 1 << signal.SIGINT - 1 for mask in masks)


def run_on_terminal(folder, arguments, wanted, typed, ignored=()):
    """Runs `record` on a terminal of its own, and types each text, or calls the function with the number of the process, when
    the terminal shows what is waited for. Returns the exit code, or minus the signal, and the output."""
    pid, terminal = pty.fork()
    if pid == 0:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        os.chdir(folder)
        os.execv(program, [program, "record", *arguments])
    output = b""
    for text, keys in zip(wanted, typed):
        while not re.search(text, output, re.DOTALL):
            output += os.read(terminal, 4096)
        output = b""
        while has_pending_interrupt(pid):  # a second one would be lost
            time.sleep(0.01)
        if callable(keys):
            keys(pid)
        else:
            os.write(terminal, keys)
    try:
        while more := os.read(terminal, 4096):
            output += more
    except OSError:  # the terminal is gone with its programs
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), output


def the_terminal_sends_signals_to_the_program(folder):
    for trap, code in (("", 130), ("trap 'echo caught; exit 5' INT; ", 5)):
        (folder / "p.json").unlink(missing_ok=True)
        command = trap + "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo ready; while :; do :; done"
        arguments = ["-o", "p.json", "sh", "-c", command]
        ended, output = run_on_terminal(folder, arguments, [b"ready"], [b"\x03"])
        check(ended == code, f"{ended}: {output}")
        check(count_samples(folder / "p.json") > 10, "no samples")


def a_second_interrupt_gives_up(folder):
    command = "trap 'echo caught' INT; echo ready; i=0; while [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done"
    code, output = run_on_terminal(folder, ["-o", "p.json", "sh", "-c", command], [b"ready", b"caught"], [b"\x03"] * 2)
    check(code == -signal.SIGINT, f"{code}: {output}")
    check(not list(folder.iterdir()), "something was written")


def progress_is_shown_of_what_runs(folder):
    code, output = run_on_terminal(folder, ["-o", "p.json", "-p", str(os.getpid())], [b"recording 1 s"], [b"\x03"])
    check(code == 0 and (folder / "p.json").exists(), f"{code}: {output}")
    code, output = run_on_terminal(folder, ["-o", "/dev/null", "--trace", "t.perf", "-p", str(os.getpid())], [b"recording 1 s"],
                                   [lambda pid: resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, 1))])
    told = rb"ends it\W*\r *\rgecko-convert( record)?: cannot write the recording"
    check(code == 3 and re.search(told, output), f"{code}: {output}")


def the_end_of_a_terminal_ends_the_program(folder):
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        command = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo ready; while :; do :; done"
        os.execv(program, [program, "record", "-o", "p.json", "sh", "-c", command])
    output = b""
    while b"ready" not in output:
        output += os.read(terminal, 4096)
    os.close(terminal)
    killer = threading.Timer(WAIT_SECONDS, os.kill, (pid, signal.SIGKILL))
    killer.start()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    killer.cancel()
    check(code == 128 + signal.SIGHUP and count_samples(folder / "p.json") > 10, code)


def signals_are_passed_on(folder):
    # QUIT does not end a recording: programs may print their stacks then.
    command = ("trap 'echo printed' QUIT; trap 'exit 7' TERM; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo; "
               "while :; do :; done")
    with subprocess.Popen([program, "record", "-o", "p.json", "sh", "-c", command], cwd=folder, text=True,
                          stdout=subprocess.PIPE) as running:
        running.stdout.readline()
        running.send_signal(signal.SIGQUIT)
        check(running.stdout.readline() == "printed\n", "SIGQUIT was not passed on")
        running.send_signal(signal.SIGTERM)
        check(running.wait(WAIT_SECONDS) == 7, running.returncode)
    check((folder / "p.json").exists(), "no profile")


def a_program_that_does_not_end_is_left(folder):
    command = "trap 'echo caught' INT; echo ready; i=0; while [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done"
    # The duration may end before the shell could ignore SIGTERM itself.
    code, output = run_on_terminal(folder, ["-d", "0.01", "-o", "p.json", "sh", "-c", command],
                                   [b"ready.*recorded|recorded.*ready", b"caught"], [b"\x03"] * 2, [signal.SIGTERM])
    check(code == -signal.SIGINT, f"{code}: {output}")
    check(not list(folder.iterdir()), "something was written")


# ---- The recorder. ----

def forbid_events(error=errno.EPERM):
    """Makes perf_event_open fail in this process and those that it starts, as containers do."""
    number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
    # If the number of the call is this one, it fails; otherwise it is allowed.
    instructions = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | error),
                    (0x06, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in instructions))
    program = struct.pack("@HP", len(instructions), ctypes.addressof(code))
    libc = ctypes.CDLL(None)
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_seccomp, filter_mode, program, 0, 0):
        raise OSError("no seccomp")


def the_recorder_takes_the_place_of_a_kernel_that_refuses(folder):
    for error in (errno.EPERM, errno.ENOSYS, errno.ENODEV):
        ended = record("-o", "p.json", mix, "300", cwd=folder, preexec_fn=lambda error=error: forbid_events(error))
        check(ended.returncode == 0, ended.stderr)
        check("the preloaded recorder samples in its place" in ended.stderr, ended.stderr)
        check("read the recording: " in ended.stderr, ended.stderr)  # its file is gone by now
        check(count_samples(folder / "p.json") > 100 and "parse" in text_of(folder / "p.json"), ended.stderr)
    ended = record("-o", "no.json", "./no-such-program", cwd=folder, preexec_fn=lambda: forbid_events(errno.EPERM))
    check(ended.returncode == 127 and "No such file" in ended.stderr and "perf_event_paranoid" not in ended.stderr, ended)
    for arguments in (["--with", "kernel", mix, "300"], ["-e", "page-faults", mix, "300"], ["-a"], ["-p", str(os.getpid())]):
        ended = record("-o", "no.json", *arguments, cwd=folder, preexec_fn=forbid_events)
        check(ended.returncode == 3 and "perf_event_paranoid" in ended.stderr and not ended.stdout, ended.stderr)
        check(not (folder / "no.json").exists(), "a profile of nothing")
    check(sorted(os.listdir(folder)) == ["p.json"], f"left: {os.listdir(folder)}")


def the_recorder_samples_if_it_is_to(folder):
    environment = {**os.environ, "TMPDIR": str(folder), "LD_PRELOAD": "", "GECKO_RECORDER_THREADS": ""}
    ended = record("--with", "recorder", "--iterations", "2", "-o", "p.json", "sh", "-c", f"{mix} 300; env", cwd=folder,
                   env=environment)
    check(ended.returncode == 0 and "parse" in text_of(folder / "p.json"), ended.stderr)
    check("LD_PRELOAD=" in ended.stdout and "libgecko_preload" in ended.stdout, ended.stdout)
    check(sorted(os.listdir(folder)) == ["p.json"], f"left: {os.listdir(folder)}")


def build_linked_program(folder):
    source = build.parent / "examples" / "recorder" / "app.c"
    subprocess.run(["cc", "-O1", "-g", "-I", source.parent.parent.parent / "recorder", source, "-o", folder / "app",
                    "-L", build, "-lgecko_recorder", f"-Wl,-rpath,{build}"], check=True)


def events_of_the_program_are_in_the_profile(folder):
    build_linked_program(folder)
    odd = folder / "100%e [x]"  # a percent sign and brackets have meanings in patterns
    odd.mkdir()
    ended = record("-o", "p.json", "sh", "-c", "./app; cd /; $OLDPWD/app", cwd=folder,
                   env={**os.environ, "TMPDIR": odd.name})
    check(ended.returncode == 0, ended.stderr)
    odd.rmdir()
    profile = profile_of(folder / "p.json")
    check("the recording: " in text_of(folder / "p.json"), "notes lack the name of the recording")
    names = profile["shared"]["stringArray"]
    requests = sum(names[name] == "request" for thread in profile["threads"] for name in thread["markers"]["name"])
    check(requests == 16, f"{requests} requests in place of 16: {ended.stderr}")
    check(any(counter["name"] == "Served" for counter in profile["counters"]), "the counter is missing")
    check(sorted(os.listdir(folder)) == ["app", "p.json"], f"left: {os.listdir(folder)}")


def options_for_samples_spare_events_of_the_program(folder):
    build_linked_program(folder)
    for options in (["-e", "cpu-clock,page-faults=markers"], ["--off-cpu", "no"], ["--cpu", "0-1023"], ["--time", "0-"],
                    ["--per-cpu"]):
        ended = record("-o", "p.json", *options, "./app", cwd=folder)
        check(ended.returncode == 0, ended.stderr)
        profile = profile_of(folder / "p.json")
        names = profile["shared"]["stringArray"]
        requests = sum(names[name] == "request" for thread in profile["threads"] for name in thread["markers"]["name"])
        check(requests == 8, f"{options}: {requests} requests in place of 8: {ended.stderr}")
        processors = any(thread["processName"] == "Processors" for thread in profile["threads"])
        check(processors == (options == ["--per-cpu"]), f"{options}: processors: {processors}")


def a_signal_while_the_profile_is_made_leaves_nothing(folder):
    build_linked_program(folder)
    os.mkfifo(folder / "p.json")  # nobody reads it, so that making the profile takes for ever
    (folder / "places").mkdir()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        with subprocess.Popen([program, "record", "-o", "p.json", "./app"], cwd=folder, stdout=subprocess.DEVNULL, text=True,
                              stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder / "places")}) as running:
            told = running.stderr.readline()
            running.send_signal(number)
            check(running.wait(WAIT_SECONDS) == -number, f"{running.returncode}: {told}")
        check(not os.listdir(folder / "places"), f"left: {os.listdir(folder / 'places')}")
        (folder / "core").unlink(missing_ok=True)


def what_a_killed_recording_left_is_removed_by_the_next(folder):
    places = folder / "places"
    places.mkdir()
    environment = {**os.environ, "TMPDIR": str(places)}
    command = [program, "record", "-o", "p.json", "sh", "-c", "echo $GECKO_RECORDER_OUTPUT; exec cat"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as running:
        try:
            left = pathlib.Path(os.fsdecode(running.stdout.readline())).parent
            others = [places / "gecko-convert-record-mine", places / "gecko-convert-record-0123456789abcdeff"]
            for path in [left, *others]:
                path.mkdir(exist_ok=True)
                (path / "file").write_text("")
                os.utime(path, (0, 0))
            record("-o", "p.json", "true", cwd=folder, env=environment)
            check((left / "file").exists(), "the folder of a recording is gone")
            running.kill()
            running.wait(WAIT_SECONDS)
            record("-o", "p.json", "true", cwd=folder, env=environment)
            check(sorted(places.iterdir()) == sorted(others), f"left: {os.listdir(places)}")
        finally:
            running.kill()


# ---- The viewer. ----

def the_profile_is_viewed(folder):
    with subprocess.Popen([program, "record", "--no-open", mix, "300"], cwd=folder, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL) as running:
        killer = threading.Timer(WAIT_SECONDS, running.kill)
        killer.start()
        address = ""
        while "from-url" not in address:
            address = running.stdout.readline()
            check(address, "no address")
        url = urllib.request.unquote(re.search(r"from-url/([^/]*)/", address)[1])
        request = urllib.request.Request(url, headers={"Origin": "https://profiler.firefox.com", "Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request) as response:
            check(b"parse" in gzip.decompress(response.read()), "the profile lacks functions")
        running.send_signal(signal.SIGINT)
        check(running.wait(WAIT_SECONDS) == 0, running.returncode)
        killer.cancel()
    check(not list(folder.iterdir()), "a file was left")


# ---- Other users. ----

def other_users_record_their_programs(folder):
    if os.geteuid() != 0:
        return
    folder.chmod(0o777)
    level = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if level <= 2:
        ended = record("-o", "p.json", mix, "300", before=NOBODY, cwd=folder)
        check(ended.returncode == 0 and count_samples(folder / "p.json") > 100, ended.stderr)
        check(("the kernel's own code was not recorded" in ended.stderr) == (level == 2), ended.stderr)
    if level >= 1:
        ended = record("-o", "a.json", "-a", "-d", "0.1", before=NOBODY, cwd=folder)
        check(ended.returncode == 3 and not (folder / "a.json").exists(), ended.stderr)
        check("perf_event_paranoid" in ended.stderr, ended.stderr)


def programs_with_more_rights_are_told_of(folder):
    if os.geteuid() != 0:
        return
    folder.chmod(0o777)
    (folder / "busy.c").write_text("int main(void) { for (volatile long i = 0; i < 100000000; i++) {} }")
    subprocess.run(["cc", folder / "busy.c", "-o", folder / "busy"], check=True)
    for owner, mode, before in ((0, 0o4755, NOBODY), (0, 0o4711, NOBODY), (65534, 0o4755, ()), (0, 0o755, NOBODY)):
        shutil.chown(folder / "busy", owner)
        (folder / "busy").chmod(mode)
        for command, count in ((["./busy"], 1), (["sh", "-c", "./busy; ./busy"], 2)):
            ended = record("--with", "kernel", "-o", f"{mode}{owner}.json", *command, before=before, cwd=folder)
            if "refuses to record" in ended.stderr:
                return
            told = f"not read: {count} of what was executed" in ended.stderr
            check(ended.returncode in (0, 1) and told == (mode != 0o755), f"{mode:o} {owner} {command}: {ended}")


def containers_are_told_of(folder):
    if os.geteuid() != 0:
        return
    with subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"]) as running:  # processes outside that end
        try:
            for before in ([], ["unshare", "--pid", "--fork", "--mount-proc"]):
                ended = record("-o", "p.json", "-a", "-d", "0.3", before=before, cwd=folder)
                is_inside = bool(before) or os.readlink("/proc/self/ns/pid") != "pid:[4026531836]"
                check(ended.returncode in (0, 1) and ("outside of this container" in ended.stderr) == is_inside, ended.stderr)
                check("of what was executed" not in ended.stderr, ended.stderr)
        finally:
            running.kill()


def limit(name, soft, hard=None):
    return lambda: resource.setrlimit(name, (soft, soft if hard is None else hard))


def files_are_too_few_for_all_threads(folder):
    """Records a process of 41 threads with descriptors for about 4 of them, and 64 that the recording must leave free."""
    done = threading.Event()
    threads = [threading.Thread(target=done.wait, daemon=True) for _ in range(40)]
    for thread in threads:
        thread.start()
    limits = limit(resource.RLIMIT_NOFILE, 64 + 12 + 5 * os.cpu_count())
    for events in (["-e", "cpu-clock"], ["-e", "cpu-clock", "-e", "page-faults"]):
        ended = record("-o", "p.json", *events, "-p", str(os.getpid()), "-d", "0.5", cwd=folder, preexec_fn=limits)
        left = re.search(r"(\d+) of (\d+) threads were not recorded", ended.stderr)
        check(ended.returncode in (0, 1) and left and 0 < int(left[1]) < int(left[2]), ended.stderr)
    done.set()


def little_memory_or_few_files_are_told_of(folder):
    folder.chmod(0o777)
    ended = record("-o", "p.json", "-p", str(os.getpid()), "-d", "1", cwd=folder, preexec_fn=limit(resource.RLIMIT_NOFILE, 8))
    check(ended.returncode == 3 and "ulimit -n" in ended.stderr, ended)
    files_are_too_few_for_all_threads(folder)
    level = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if os.geteuid() != 0 or level > 2:
        return
    # What a user may lock without a limit of the process is for all that he records, so the first one takes it.
    lock = resource.RLIMIT_MEMLOCK
    with subprocess.Popen([*NOBODY, program, "record", "-o", "first.json", "sh", "-c", "echo begun; exec sleep 100"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=limit(lock, 0)) as first:
        try:
            first.stdout.readline()
            # Rings of 64 kB for all processors.
            limit_bytes = 80 * 1024 * os.cpu_count()
            ended = record("-o", "p.json", mix, "300", before=NOBODY, cwd=folder, preexec_fn=limit(lock, limit_bytes))
            check(ended.returncode == 0 and "little memory may be locked" in ended.stderr, ended.stderr)
            check(count_samples(folder / "p.json") > 30, ended.stderr)
            ended = record("--with", "kernel", "-o", "no.json", mix, "300", before=NOBODY, cwd=folder, preexec_fn=limit(lock, 0))
            check(ended.returncode == 3 and "ulimit -l" in ended.stderr and not (folder / "no.json").exists(), ended.stderr)
            ended = record("-o", "p.json", mix, "300", before=NOBODY, cwd=folder, preexec_fn=limit(lock, 0))
            check(ended.returncode == 0 and "the preloaded recorder samples in its place" in ended.stderr, ended.stderr)
        finally:
            first.send_signal(signal.SIGTERM)
            first.wait(WAIT_SECONDS)


def a_kernel_without_names_is_told_of(folder):
    level = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    restriction = int(pathlib.Path("/proc/sys/kernel/kptr_restrict").read_text())
    if os.geteuid() != 0:
        return
    (folder / "empty").write_text("")
    busy = ["sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); ls / > /dev/null; done"]
    ended = record("-o", "p.json", *busy, cwd=folder,
                   before=["unshare", "--mount", "sh", "-c", 'mount --bind empty /proc/kallsyms && exec "$@"', "sh"])
    check(ended.returncode == 0 and "names: their list, /proc/kallsyms, is empty" in ended.stderr, ended.stderr)
    if level <= 1 and restriction == 0:
        return
    ended = record("-o", "p.json", *busy, before=["setpriv", "--bounding-set=-syslog"], cwd=folder)
    check(ended.returncode == 0 and "the kernel's functions have no names: that needs CAP_SYSLOG" in ended.stderr, ended.stderr)


def kernels_have_names_whatever_their_list_begins_with(folder):
    lines = pathlib.Path("/proc/kallsyms").read_text().splitlines(True)
    if os.geteuid() != 0 or " _text\n" not in lines[0][16:] + lines[1][16:] + lines[2][16:] or not int(lines[0].split()[0], 16):
        return
    # Many kernels begin with variables of the first processor. Most functions are in what follows the kernel's own code here.
    (folder / "list").write_text("".join(["0000000000000000 A fixed_percpu_data\n", *lines[:50], f"{lines[50][:16]} T _etext\n",
                                         *(line for line in lines[50:] if not line.endswith(" _etext\n"))]))
    calls = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000", "status=none"]
    ended = record("-o", "p.json", *calls, cwd=folder,
                   before=["unshare", "--mount", "sh", "-c", 'mount --bind list /proc/kallsyms && exec "$@"', "sh"])
    check(ended.returncode == 0 and "have no names" not in ended.stderr, ended.stderr)
    check("do_syscall_64" in text_of(folder / "p.json"), "functions of the kernel have no names")


def missing_system_files_are_no_obstacle(folder):
    if os.geteuid() != 0:
        return
    for place, arguments, code in (("/sys", [], 0), ("/proc", ["--trace", "p.data"], 0), ("/proc", [], 3)):
        hide = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none {place} && exec "$@"', "sh"]
        ended = record("--with", "kernel", "-o", "p.json", *arguments, mix, "100", before=hide, cwd=folder)
        check(ended.returncode == code and (code == 0 or "--trace FILE" in ended.stderr and not ended.stdout), ended)


def the_kernel_has_the_same_names_at_once_and_later(folder):
    ended = record("-o", "now.folded", "--trace", "p.data", "-F", "5000", "sh", "-c",
                   "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); ls / > /dev/null; done", cwd=folder)
    check(ended.returncode == 0, ended.stderr)
    subprocess.run([program, "-q", "-o", "later.folded", "p.data"], cwd=folder, check=True)
    check((folder / "now.folded").read_text() == (folder / "later.folded").read_text(), "the kernel's functions differ")


CASES = [shares_are_right, shares_of_languages_are_right, trace_is_read_by_others, traces_of_other_users_are_read_by_perf,
         children_and_iterations_are_recorded, processes_too_short_for_samples_are_told_of,
         names_tell_the_command_lines_of_children,
         names_tell_the_titles_of_forked_processes,
         what_is_recorded_is_written_soon, iterations_begin_one_after_the_other, iterations_are_alike_and_need_no_more_files,
         iterations_before_files_run_out_are_recorded, iterations_before_a_program_is_gone_are_recorded,
         few_files_are_enough_for_a_command, no_iteration_begins_after_the_duration,
         running_processes_are_recorded,
         files_that_are_gone_have_names, code_has_no_names_of_others_at_its_path,
         files_that_are_gone_have_names_beside_many_others, generated_code_in_containers_has_names,
         running_children_name_the_code_of_their_parents,
         generated_code_in_containers_that_are_started_has_names, jitdumps_in_a_private_folder_have_names,
         maps_of_other_users_are_read_if_they_are_not_too_large, maps_of_earlier_processes_name_no_code,
         maps_that_are_found_anyway_need_no_files,
         processes_without_names_are_told_of,
         the_end_of_a_process_ends_its_recording, events_are_named, counters_of_the_processor_are_recorded,
         nothing_is_lost_while_processes_are_described, losses_are_of_no_process,
         waits_are_where_threads_wait,
         waits_are_as_long_as_the_recording,
         samples_of_waits_are_told_of, options_of_converting_work, last_branches_are_asked_for, tracepoints_have_fields,
         exit_codes_are_those_of_a_shell,
         the_program_has_what_it_would_have_alone, programs_that_are_easily_disturbed_are_as_alone,
         what_cannot_be_written_is_told_before_the_program_runs, what_was_recorded_until_the_disk_was_full_is_shown,
         a_recording_of_which_no_profile_can_be_made_is_kept, events_are_kept_of_which_no_profile_can_be_made,
         a_profile_on_standard_output_is_alone_there,
         the_duration_ends_the_program, programs_that_run_on_are_told_of,
         the_terminal_sends_signals_to_the_program, a_second_interrupt_gives_up,
         progress_is_shown_of_what_runs, the_end_of_a_terminal_ends_the_program,
         signals_are_passed_on, a_program_that_does_not_end_is_left,
         the_recorder_takes_the_place_of_a_kernel_that_refuses, the_recorder_samples_if_it_is_to,
         events_of_the_program_are_in_the_profile, options_for_samples_spare_events_of_the_program,
         a_signal_while_the_profile_is_made_leaves_nothing,
         what_a_killed_recording_left_is_removed_by_the_next, the_profile_is_viewed,
         other_users_record_their_programs, programs_with_more_rights_are_told_of,
         containers_are_told_of, little_memory_or_few_files_are_told_of,
         a_kernel_without_names_is_told_of, kernels_have_names_whatever_their_list_begins_with,
         missing_system_files_are_no_obstacle,
         the_kernel_has_the_same_names_at_once_and_later]


def main():
    # A shell that starts this in the background ignores two of them, and nohup the third, which programs would inherit.
    for ending in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP:
        signal.signal(ending, signal.SIG_DFL)
    # Another user, as whom some cases record, must be able to enter their folders.
    temporary = pathlib.Path(tempfile.gettempdir()).resolve()
    if not all(path.stat().st_mode & stat.S_IXOTH for path in [temporary, *temporary.parents]):
        os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"
    wanted = sys.argv[2:] or [case.__name__ for case in CASES]
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        ended = record("--with", "kernel", "-o", "p.json", mix, "100", cwd=name)
    if "refuses to record" in ended.stderr:
        print(f"record: NOT TESTED: {ended.stderr.strip()}")
        print(f"record: 0 passed, 0 failed, {len(wanted)} skipped")
        return 0
    for case in CASES:
        if case.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory() as name:
            try:
                case(pathlib.Path(name))
                counts["passed"] += 1
            except (Fault, OSError, ValueError, KeyError, subprocess.SubprocessError) as fault:
                counts["failed"] += 1
                print(f"record: FAIL {case.__name__}: {fault!r}")
    print(f"record: {counts['passed']} passed, {counts['failed']} failed")
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main())
