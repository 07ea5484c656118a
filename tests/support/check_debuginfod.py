#!/usr/bin/env python3
"""Symbols and sources that a debuginfod server has: a real server of elfutils on this machine.

usage: check_debuginfod.py GECKO-CONVERT
"""
import gzip
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

from free_port import free_port

PROGRAM = os.path.abspath(sys.argv[1])
WAIT_S = 300  # whatever hangs
SOURCE = "/build/x/prog.c"
CODE = "int twice(int x) {\n    return x * 2;\n}\nint main(int count, char **arguments) {\n    return twice(count);\n}\n"

checks = []


def check(function):
    checks.append(function)
    return function


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


class Case:
    """A folder with a program that only the server has, and a trace of it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        root = self.folder / "root"
        (root / "build/x").mkdir(parents=True)
        (root / "usr/bin").mkdir(parents=True)
        (self.folder / "served").mkdir()
        (root / "build/x/prog.c").write_text(CODE)
        self.program = root / "usr/bin/prog"
        run("cc", "-g", "-O1", "-Wl,--build-id", f"-fdebug-prefix-map={root}/build/x=/build/x", root / "build/x/prog.c",
            "-o", self.program)
        self.build_id = re.search("Build ID: ([0-9a-f]+)", run("readelf", "-n", self.program))[1]
        self.address = re.search("([0-9a-f]+) T twice", run("nm", self.program))[1]
        run("tar", "-C", root, "-cf", self.folder / "served/prog.tar", "./build", "./usr")
        self.trace = self.folder / "trace.txt"
        self.write_trace(f"<{self.build_id}>", "/nonexistent/prog")

    def write_trace(self, build_id, path):
        self.trace.write_text(
            f"prog 1/1 0.5: PERF_RECORD_MMAP2 1/1: [0x1000(0x1000) @ 0x1000 {build_id}]: r-xp {path}\n"
            f"prog 1/1 1.0: 1 cycles:\n\t{self.address} [unknown] ({path})\n\n")

    def environment(self, port, **more):
        return {**os.environ, "DEBUGINFOD_URLS": f"http://127.0.0.1:{port}", "HOME": str(self.folder),
                "DEBUGINFOD_CACHE_PATH": str(self.folder / "cache"), "DEBUGINFOD_TIMEOUT": str(WAIT_S), **more}

    def convert(self, port, *options, **more):
        """Returns what the profile has: the names of functions, the texts of sources; and the report."""
        output, report = self.folder / "out.json", self.folder / "report.json"
        run(PROGRAM, "-q", self.trace, "-o", output, "--report", report, *options, env=self.environment(port, **more))
        shared = json.loads(output.read_text())["shared"]
        names = {shared["stringArray"][name] for name in shared["funcTable"]["name"]}
        return names, shared["sources"].get("content", []), json.loads(report.read_text())

    def forget(self):
        shutil.rmtree(self.folder / "cache", ignore_errors=True)

    def has_asked(self):
        return (self.folder / "cache").exists()


class Server:
    """A debuginfod that has read the folder `served`."""

    def __init__(self, case):
        self.port = free_port()
        self.log = open(case.folder / "log", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            ["debuginfod", "-Z", ".tar", "-d", ":memory:", "-p", str(self.port), str(case.folder / "served")],
            stdout=self.log, stderr=self.log)
        end = time.monotonic() + WAIT_S
        while self.ask(f"/buildid/{case.build_id}/debuginfo") != 200:
            assert self.process.poll() is None and time.monotonic() < end, "the server does not have the program"
            time.sleep(0.05)

    def ask(self, path):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            return response.status
        except OSError:
            return 0

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=WAIT_S)
        self.log.close()


@check
def test_names_and_sources_are_fetched(case, server):
    names, contents, report = case.convert(server.port, "--sources", "embed")
    assert "twice" in names and contents == [CODE], (names, contents)
    assert "missingNames" not in report, report


@check
def test_what_was_fetched_stays(case, server):
    case.convert(server.port, "--sources", "embed")
    names, contents, _ = case.convert(free_port(), "--sources", "embed")
    assert "twice" in names and contents == [CODE], (names, contents)


@check
def test_nobody_is_asked_if_that_is_not_wanted(case, server):
    for options in ["--debuginfod", "no"], ["--symbols", "none"], ["--debuginfod", "no", "--sources", "embed"]:
        names, contents, report = case.convert(server.port, *options)
        assert "twice" not in names and CODE not in contents, (options, names)
        assert report["missingNames"][0]["library"] == "prog", report
        assert not case.has_asked(), options
    names, *_ = case.convert(server.port, DEBUGINFOD_URLS=" ")
    assert "twice" not in names and not case.has_asked()


@check
def test_a_stripped_file_is_completed(case, server):
    """Its own build id is asked for, since the trace has none."""
    stripped = case.folder / "prog"
    run("strip", "-o", stripped, case.program)
    case.write_trace("08:01 5 0", stripped)
    names, _, _ = case.convert(server.port, "--symbols", "always")
    assert "twice" in names, names
    assert not list(case.folder.glob("cache/*/executable")), "the executable was fetched, too"


@check
def test_what_the_server_lacks_is_told(case, server):
    case.write_trace(f"<{'ab' * 20}>", "/nonexistent/prog")
    names, _, report = case.convert(server.port)
    assert "twice" not in names
    assert report["missingNames"] == [
        {"library": "prog", "share": 1, "reason": "no file with its build id; try --debug-dir"}], report


@check
def test_a_server_that_does_not_answer_costs_little_time(case, _server):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        names, _, report = case.convert(listener.getsockname()[1], DEBUGINFOD_MAXTIME="2")
    causes = [entry["cause"] for entry in report["ledger"]["values"]["entries"]]
    assert "twice" not in names
    assert "search on the servers of DEBUGINFOD_URLS that took too long: not everything was fetched" in causes, causes


@check
def test_files_of_servers_must_have_the_build_id(case, server):
    """A server, or somebody who writes into the cache, may give another file."""
    case.convert(server.port)
    (folder,) = case.folder.glob(f"cache/{case.build_id}")
    for name in "executable", "debuginfo":
        (folder / name).chmod(0o600)
        shutil.copy("/bin/sh", folder / name)
    names, _, report = case.convert(free_port())
    assert "twice" not in names
    assert "another build id" in report["missingNames"][0]["reason"], report


@check
def test_view_fetches_sources(case, server):
    for options, member in (["--debuginfod", "no"], "error"), ([], "source"):
        command = [PROGRAM, "view", "--no-open", "-q", "--sources", "none", *options, case.trace]
        if member == "error":
            command += ["--debug-dir", case.program.parent]
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                              env=case.environment(server.port)) as viewer:
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(viewer.stdout.readline().strip()).query)
            base = urllib.parse.urlsplit(query["symbolServer"][0])
            connection = http.client.HTTPConnection(base.netloc, timeout=WAIT_S)
            connection.request("GET", base.path + "/profile.json")
            profile = json.loads(gzip.decompress(connection.getresponse().read()))
            library = profile["libs"][0]
            request = {"debugName": library["debugName"], "debugId": library["breakpadId"],
                       "moduleOffset": "0x" + case.address.lstrip("0"), "file": SOURCE}
            connection.request("POST", base.path + "/source/v1", json.dumps(request))
            answer = json.loads(connection.getresponse().read())
            viewer.terminate()
            viewer.wait(timeout=WAIT_S)
        assert member in answer, (options, answer)
        assert answer.get("source", CODE) == CODE, answer


def main():
    if not shutil.which("debuginfod"):
        print("debuginfod: skipped: there is no debuginfod (apt-get install debuginfod)")
        return 0
    failed_count = 0
    for function in checks:
        with tempfile.TemporaryDirectory() as folder:
            case = Case(folder)
            server = Server(case)
            try:
                case.forget()
                function(case, server)
            except (AssertionError, subprocess.CalledProcessError) as error:
                failed_count += 1
                print(f"FAIL {function.__name__}: {error} {getattr(error, 'stderr', '')}")
            finally:
                server.stop()
    print(f"debuginfod: {len(checks) - failed_count} passed, {failed_count} failed")
    return failed_count != 0


sys.exit(main())
