#!/usr/bin/env python3
"""Everything that `gecko-convert view` serves and refuses, asked for by real HTTP clients.

usage: server.py GECKO-CONVERT TRACE PROFILE [WORD...]

TRACE is a recording of the demo, PROFILE what gecko-convert makes of it. The demo's binary and sources are where they
were when it was recorded. With words, only checks with one of them in their name run.
"""
import gzip
import http.client
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse
import zipfile

PROGRAM, TRACE, PROFILE = (os.path.abspath(path) for path in sys.argv[1:4])
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIXTURES = os.path.join(TESTS, "../fixtures")
sys.path.insert(0, os.path.join(TESTS, "support"))
from free_port import free_port  # noqa: E402

VIEWER = "https://profiler.firefox.com"
WAIT_S = 120  # for what takes milliseconds on a machine that has nothing else to do

# Shells and nohup may start this with signals ignored, which programs would inherit and respect.
for ending in signal.SIGTERM, signal.SIGHUP:
    signal.signal(ending, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

checks = []


def check(function):
    checks.append(function)
    return function


def expect(found, wanted, what=""):
    assert found == wanted, f"{what}: found {found!r}, wanted {wanted!r}"


def receive_all(connection):
    """Returns what comes until the other side closes the connection, or nothing comes for its time limit."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except OSError:
        pass
    return received


class Server:
    """A running `gecko-convert view`; `url` is the page that it prints, `base` its own address with the token."""

    def __init__(self, *arguments, trace=TRACE, no_open=True, **popen):
        command = [PROGRAM, "view", *arguments, *(["--no-open"] if no_open else []), trace]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.url).query)
        self.base = query["symbolServer"][0]
        parts = urllib.parse.urlsplit(self.base)
        self.host, self.port, self.token = parts.netloc, parts.port, parts.path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def stop(self, signal_number=signal.SIGINT):
        self.process.send_signal(signal_number)
        _, errors = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, errors

    def ask(self, method, path, body=None, headers=None, skip_host=False):
        """Returns status, headers and body; `path` is taken as it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.putrequest(method, path, skip_host=skip_host, skip_accept_encoding=True)
        for name, value in headers or []:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        if body is not None:
            connection.send(body)
        response = connection.getresponse()
        result = response.status, response.headers, response.read()
        connection.close()
        return result

    def api(self, path, request, headers=None):
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        status, _, answer = self.ask("POST", self.token + path, body, headers)
        return status, json.loads(answer)

    def raw(self, data, wait_s=WAIT_S):
        """Sends bytes as they are; returns all that comes back until the server closes, or nothing for `wait_s`."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait_s) as connection:
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            return receive_all(connection)


with open(PROFILE, "rb") as file:
    profile = json.load(file)
strings = profile["shared"]["stringArray"]
sources = [strings[name] for name in profile["shared"]["sources"]["filename"]]
demo_lib = next(i for i, lib in enumerate(profile["libs"]) if lib["name"] == "darkroom")
demo_source = next(path for path in sources if path.endswith("/fixtures/demo/picture.c"))


def demo_frames():
    """(address, function, native symbol) of physical frames of the demo's own code."""
    frames, funcs = profile["shared"]["frameTable"], profile["shared"]["funcTable"]
    for i in range(frames["length"]):
        symbol = frames["nativeSymbol"][i]
        if frames["address"][i] >= 0 and symbol is not None and not frames["inlineDepth"][i]:
            is_own = funcs["source"][frames["func"][i]] is not None  # not of the C library's start files
            if profile["shared"]["nativeSymbols"]["libIndex"][symbol] == demo_lib and is_own:
                yield frames["address"][i], strings[funcs["name"][frames["func"][i]]], symbol


def library(index=demo_lib):
    lib = profile["libs"][index]
    return {"debugName": lib["debugName"], "debugId": lib["breakpadId"], "name": lib["name"], "codeId": lib["codeId"]}


# ---- The profile. ----


@check
def test_serves_the_profile_that_converting_writes():
    with Server("--sources", "none") as server:
        status, headers, body = server.ask("GET", server.token + "/profile.json")
        expect(status, 200)
        expect(headers["Content-Encoding"], "gzip")
        expect(headers["Content-Type"], "application/json")
        with open(PROFILE, "rb") as file:
            assert gzip.decompress(body) == file.read(), "another profile than the one that converting writes"


@check
def test_serves_the_date_of_the_file():
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(os.path.join(FIXTURES, "perf-data/frame-pointers/input.data.zst"), folder)
        os.utime(path, (1600000000.5, 1600000000.5))
        with Server("--symbols", "none", trace=path, env=environment) as server:
            meta = json.loads(gzip.decompress(server.ask("GET", server.token + "/profile.json")[2]))["meta"]
            expect(meta["startTime"], 1600000000294)


def served_contents(*arguments):
    """The text of each source file that is in the profile."""
    with Server(*arguments) as server:
        shared = json.loads(gzip.decompress(server.ask("GET", server.token + "/profile.json")[2]))["shared"]
        contents = zip(shared["sources"]["filename"], shared["sources"]["content"])
        return {shared["stringArray"][name]: content for name, content in contents if content is not None}


@check
def test_embeds_sources():
    contents = served_contents()
    with open(demo_source, encoding="utf-8") as file:
        expect(contents[demo_source], file.read())
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "picture.c"), "w", encoding="utf-8") as file:
            file.write("moved")
        expect(served_contents("--source-map", f"{os.path.dirname(demo_source)}={folder}")[demo_source], "moved")
    assert 0 < sum(map(len, served_contents("--sources-max", "10K").values())) <= 10240
    for arguments in ["--sources", "none"], ["--symbols", "none"], ["--sources", "embed", "--symbols", "none"]:
        expect(served_contents(*arguments), {}, arguments)


@check
def test_prints_the_page_of_the_viewer():
    with Server() as server:
        wanted = f"{VIEWER}/from-url/{urllib.parse.quote(server.base + '/profile.json', safe='')}/?symbolServer="
        expect(server.url, wanted + urllib.parse.quote(server.base, safe=""))
        assert re.fullmatch("/[0-9a-f]{32}", server.token), server.token
    with Server() as other:
        assert other.token != server.token


@check
def test_serves_finished_profiles():
    with open(PROFILE, "rb") as file:
        content = file.read()
    with tempfile.TemporaryDirectory() as folder:
        packed = os.path.join(folder, "packed.json.gz")
        with gzip.open(packed, "wb") as file:
            file.write(content)
        for path in PROFILE, packed:
            with Server("--source-dir", os.path.dirname(demo_source), trace=path) as server:
                _, _, body = server.ask("GET", server.token + "/profile.json")
                assert gzip.decompress(body) == content, path
                status, answer = server.api("/source/v1", {**library(), "moduleOffset": "0x0", "file": demo_source})
                expect((status, "source" in answer), (200, True), answer)


@check
def test_filters_finished_profiles():
    with tempfile.TemporaryDirectory() as folder:
        wanted = os.path.join(folder, "wanted.json")
        url = f"{os.path.dirname(demo_source)}=https://github.com/owner/name/tree/main"
        for options in ["--time", "20%-60%", "--fold-recursion"], ["--source-url", url]:
            options += ["--sources", "none"]
            subprocess.run([PROGRAM, *options, PROFILE, "-q", "-o", wanted], check=True)
            with Server(*options, trace=PROFILE) as server, open(wanted, "rb") as file:
                assert gzip.decompress(server.ask("GET", server.token + "/profile.json")[2]) == file.read(), options
        archive = os.path.join(folder, "profiles.tar")
        with tarfile.open(archive, "w") as file:
            file.add(PROFILE, "one.json")
        result = run("--no-open", "--time", "20%-60%", archive)
        expect((result.returncode, result.stdout), (2, ""), result.stderr)
        assert "are shown as they are" in result.stderr, result.stderr


@check
def test_serves_several_inputs_as_one_profile():
    with tempfile.TemporaryDirectory() as folder:
        text, output = folder + "/more.txt", folder + "/converted.json"
        with open(text, "w", encoding="utf-8") as file:
            file.write("more 1/1 1.0: 1 cycles:\n\t10 leaf (/l/a.so)\n\n")
        subprocess.run([PROGRAM, "-q", text, TRACE, "-o", output], check=True)
        with Server("--sources", "none", text) as server, open(output, "rb") as file:
            _, _, body = server.ask("GET", server.token + "/profile.json")
            assert gzip.decompress(body) == file.read(), "another profile than the one that converting writes"


def compared(url):
    """The pages that a page of the viewer compares, each as its path and query."""
    assert url.startswith(f"{VIEWER}/compare/?"), url
    pages = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["profiles[]"]
    return [(urllib.parse.unquote(page.path), urllib.parse.parse_qs(page.query)) for page in map(urllib.parse.urlsplit, pages)]


def with_threads(folder, name, *threads):
    """Writes the profile with these threads: (name, process's name, processor time, number of samples)."""
    path = os.path.join(folder, name)
    made = []
    for thread_name, process_name, cpu, count in threads:
        samples = {"length": count, "stack": [None] * count, "timeDeltas": [1] * count}
        if cpu is not None:
            samples["threadCPUDelta"] = [None] * (count - 1) + [cpu]
        made.append({"name": thread_name, "processName": process_name, "pid": process_name or "1",
                     "tid": len(made) + 1, "samples": samples})
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**profile, "threads": made}, file)
    return path


def names_and_weights(text):
    """What the viewer compares: it ignores processor times, so samples without weight show where a thread did not run."""
    return [(thread["name"], sum(thread["samples"].get("weight") or [1] * thread["samples"]["length"]))
            for thread in json.loads(text)["threads"]]


@check
def test_compares_profiles():
    with tempfile.TemporaryDirectory() as folder:
        first = with_threads(folder, "a b.json", ("idle", "x", 1, 90), ("busy", "x", 50, 9), ("busy", "y", 40, 9))
        second = with_threads(folder, "second.json", ("busy", "y", 3, 9), ("other", "x", 99, 9), ("busy", "x", 2, 9))
        third = with_threads(folder, "third.json", ("p", "", None, 3), ("q", "", None, 7), ("r", "", None, 5))
        for arguments in [second, third], ["--compare", second, third]:
            with Server(*arguments, trace=first) as server:
                order = [second, third, first]
                paths, queries = zip(*compared(server.url))
                names = ["profile.json", "profile-2.json", "profile-3.json"]
                expect(list(paths), [f"/from-url/{server.base}/{name}/calltree/" for name in names])
                expect([query["profileName"] for query in queries], [[os.path.basename(path)] for path in order])
                # The busiest of all; one of that name does not exist; the same again.
                expect([query["thread"] for query in queries], [["1"], ["1"], ["1"]])
                for name, path in zip(names, order):
                    status, headers, body = server.ask("GET", f"{server.token}/{name}")
                    expect((status, headers["Content-Type"]), (200, "application/json"))
                    with open(path, "rb") as file:
                        expect(names_and_weights(gzip.decompress(body)), names_and_weights(file.read()), path)
                for name in "profile-0.json", "profile-1.json", "profile-4.json", "x/profile.json", "profiles.zip", "":
                    expect(server.ask("GET", f"{server.token}/{name}")[0], 404, name)
                _, errors = server.stop()
                assert "comparing thread 1, other, of second.json with thread 1, q, of third.json" in errors, errors
        newer = os.path.join(folder, "newer.json")
        with open(first, encoding="utf-8") as file, open(newer, "w", encoding="utf-8") as other:
            profile = json.load(file)
            json.dump({**profile, "meta": {**profile["meta"], "preprocessedProfileVersion": 1000}}, other)
        with Server(first, trace=newer) as server:
            expect([query["thread"] for _, query in compared(server.url)], [["1"], ["0"]])
            with open(newer, "rb") as file:
                expect(gzip.decompress(server.ask("GET", f"{server.token}/profile-2.json")[2]), file.read())
            _, errors = server.stop()
            assert f"{newer} is served as it is, so its tracks do not show when threads did not run: meta" in errors, errors
        with Server(first, trace=second) as server:
            # The first has two threads of that name; the process decides.
            expect([query["thread"] for _, query in compared(server.url)], [["1"], ["2"]])


@check
def test_compares_recordings():
    with tempfile.TemporaryDirectory() as folder:
        text, output = folder + "/more.txt", folder + "/converted.json"
        with open(text, "w", encoding="utf-8") as file:
            file.write("more 1/1 1.0: 1 cycles:\n\t10 leaf (/l/a.so)\n\nmore 1/2 1.0: 1 cycles:\n\t10 leaf (/l/a.so)\n\n"
                       "more 1/2 1.1: 1 cycles:\n\t10 leaf (/l/a.so)\n\n")
        subprocess.run([PROGRAM, "-q", text, "-o", output], check=True)
        for inputs in (text, output), (output, text):
            with Server("--compare", "--sources", "none", inputs[0], trace=inputs[1]) as server:
                expect([query["thread"] for _, query in compared(server.url)], [["1"], ["1"]])
                for name in "profile.json", "profile-2.json":
                    served = gzip.decompress(server.ask("GET", f"{server.token}/{name}")[2])
                    expect(names_and_weights(served), [("more", 1), ("more", 2)], (inputs, name))
                    assert "(not running)" in json.loads(served)["shared"]["stringArray"], (inputs, name)
        clock = folder + "/clock.txt"
        with open(clock, "w", encoding="utf-8") as file:
            file.writelines(f"more 1/1 1.{i:02}: 4000000 cpu-clock:\n\t10 leaf (/l/a.so)\n\n" for i in range(0, 99, 3))
        with Server("--compare", "--weight", "period", clock, trace=text) as server:
            # The viewer multiplies weights by the ratio of the intervals, which is wrong for times and cycles.
            for name in "profile.json", "profile-2.json":
                served = json.loads(gzip.decompress(server.ask("GET", f"{server.token}/{name}")[2]))
                expect(served["meta"]["interval"], 1, name)
            _, errors = server.stop()
            assert "clock.txt is in ms and more.txt in cycles: the viewer subtracts them as if" in errors, errors
        with Server("--compare", text, trace=output) as server:
            assert " is in " not in server.stop()[1]
        with Server("--compare", TRACE, trace=PROFILE) as server:
            status, answer = server.api("/source/v1", {**library(), "moduleOffset": "0x0", "file": demo_source})
            expect((status, "source" in answer), (200, True), answer)


@check
def test_lists_the_profiles_of_an_archive():
    with open(PROFILE, "rb") as file:
        content = file.read()
    members = {"one.json": content, "sub/zwei ä.json.gz": gzip.compress(content), "notes.txt": b"no profile", "empty": b""}
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(os.path.join(folder, "profiles.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        with tarfile.open(os.path.join(folder, "profiles.tar.gz"), "w:gz") as archive:
            for name, text in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
        for name in "profiles.zip", "profiles.tar.gz":
            with Server("--source-dir", os.path.dirname(demo_source), trace=os.path.join(folder, name)) as server:
                wanted = f"{VIEWER}/from-url/{urllib.parse.quote(server.base + '/profiles.zip', safe='')}/?symbolServer="
                expect(server.url, wanted + urllib.parse.quote(server.base, safe=""))
                status, headers, body = server.ask("GET", server.token + "/profiles.zip")
                expect((status, headers["Content-Type"], headers["Content-Encoding"]), (200, "application/zip", None))
                with zipfile.ZipFile(io.BytesIO(body)) as served:
                    expect(served.testzip(), None)
                    expect(served.namelist(), ["one.json", "sub/zwei ä.json.gz"])
                    for member in served.namelist():
                        assert gzip.decompress(served.read(member)) == content, member
                expect(server.ask("GET", server.token + "/profile.json")[0], 404)
                status, answer = server.api("/source/v1", {**library(), "moduleOffset": "0x0", "file": demo_source})
                expect((status, "source" in answer), (200, True), answer)
                _, errors = server.stop()
                assert f"{name}: 2 profiles, " in errors and "left out: 1 other file\n" in errors, errors
        with tarfile.open(os.path.join(folder, "lone.tar"), "w") as archive:
            archive.add(PROFILE, "one.json")
        with Server(trace=os.path.join(folder, "lone.tar")) as server:
            assert gzip.decompress(server.ask("GET", server.token + "/profile.json")[2]) == content
        with tarfile.open(os.path.join(folder, "trace.tar"), "w") as archive:
            archive.add(TRACE, "app.trace")
        with Server("--sources", "none", trace=os.path.join(folder, "trace.tar")) as server:
            assert gzip.decompress(server.ask("GET", server.token + "/profile.json")[2]) == content
        with open(os.path.join(folder, "cut.zip"), "wb") as cut, open(os.path.join(folder, "profiles.zip"), "rb") as whole:
            cut.write(whole.read(20000))
        result = run("--no-open", os.path.join(folder, "cut.zip"))
        expect((result.returncode, result.stdout), (1, ""), result.stderr)


@check
def test_says_how_to_end_it():
    for arguments, line in ([], "serving until Ctrl-C\n"), (["--quiet"], ""), \
            (["--idle-exit", "900"], "serving until Ctrl-C, or until nobody has asked for 900 s\n"):
        with Server(*arguments) as server:
            errors = server.stop()[1]
            assert line in errors and ("Ctrl-C" in errors) == bool(line), errors


@check
def test_names_the_option_for_machines_without_network():
    alone = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        print("no network namespaces here: the advice for machines without network is not tested")
        return
    for arguments, is_wanted in ([], True), (["--quiet"], False), (["--viewer", "http://127.0.0.1:1"], False):
        command = [*alone, PROGRAM, "view", "--no-open", "--idle-exit", "1", *arguments, PROFILE]
        result = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True)
        expect("--viewer DIR serves one from here" in result.stderr, is_wanted, arguments)


@check
def test_serves_standard_input():
    with open(TRACE, "rb") as file, Server(trace="-", stdin=file) as server:
        expect(server.ask("GET", server.token + "/profile.json")[0], 200)


@check
def test_serves_on_when_the_input_is_deleted():
    with tempfile.NamedTemporaryFile() as file:
        with open(PROFILE, "rb") as original:
            file.write(original.read())
            file.flush()
        with Server(trace=file.name) as server:
            os.rename(file.name, file.name + ".gone")
            expect(server.ask("GET", server.token + "/profile.json")[0], 200)
            os.rename(file.name + ".gone", file.name)


# ---- Who may ask. ----


@check
def test_refuses_other_hosts():
    with Server() as server:
        path = server.token + "/profile.json"
        for host in "evil.example", f"evil.example:{server.port}", "localhost", "127.0.0.1", f"127.0.0.2:{server.port}":
            status, headers, body = server.ask("GET", path, headers=[("Host", host)], skip_host=True)
            expect((status, headers["Access-Control-Allow-Origin"]), (403, None), host)
            assert b"meta" not in body
        twice = f"GET {path} HTTP/1.1\r\nHost: {server.host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        assert b" 40" in server.raw(twice.encode()).split(b"\r\n")[0]
        none = f"GET {path} HTTP/1.0\r\n\r\n"
        assert b" 403 " in server.raw(none.encode()).split(b"\r\n")[0]


@check
def test_lets_the_viewer_alone_read_across_origins():
    with Server() as server:
        path = server.token + "/profile.json"
        status, headers, _ = server.ask("GET", path, headers=[("Origin", VIEWER)])
        expect((status, headers["Access-Control-Allow-Origin"], headers["Vary"]), (200, VIEWER, "Origin"))
        status, headers, _ = server.ask("GET", path)
        expect((status, headers["Access-Control-Allow-Origin"]), (200, None))
        expect(headers["Cross-Origin-Resource-Policy"], "same-origin")
        for origin in "https://evil.example", "null", VIEWER + ".evil.example", f"http://{server.host}":
            status, headers, _ = server.ask("GET", path, headers=[("Origin", origin)])
            expect((status, headers["Access-Control-Allow-Origin"]), (403, None), origin)
        status, headers, _ = server.ask("GET", path, headers=[("Origin", VIEWER), ("Origin", "https://evil.example")])
        expect((status, headers["Access-Control-Allow-Origin"]), (403, None))


@check
def test_answers_preflight_requests_of_the_viewer():
    with Server() as server:
        asked = [("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Private-Network", "true")]
        path = server.token + "/source/v1"
        status, headers, _ = server.ask("OPTIONS", path, headers=[("Origin", VIEWER), *asked])
        expect((status, headers["Access-Control-Allow-Origin"]), (204, VIEWER))
        expect(headers["Access-Control-Allow-Methods"], "GET, POST")
        expect(headers["Access-Control-Allow-Private-Network"], "true")
        expect(server.ask("OPTIONS", path, headers=[("Origin", "https://evil.example"), *asked])[0], 403)
        expect(server.ask("OPTIONS", path)[0], 405)


@check
def test_refuses_without_the_token():
    with Server() as server:
        token = server.token[1:]
        paths = ["/", "/profile.json", "//profile.json", "/" + token, "/" + token + "/", "/" + token[:-1] + "/profile.json"]
        paths += ["/" + "0" * 32 + "/profile.json", "/" + token + "0/profile.json", "/" + token.upper() + "X/profile.json"]
        paths += [f"/{token}/../{token}/profile.json", f"/{token}/profile.json/", f"/{token}//profile.json", "/%2f" + token]
        paths += [f"http://{server.host}/{token}/profile.json", "/symbolicate/v5", f"/{token}/profile%2ejson"]
        for path in paths:
            status, headers, _ = server.ask("GET", path, headers=[("Origin", VIEWER)])
            expect((status, headers["Access-Control-Allow-Origin"]), (404, None), path)


@check
def test_refuses_other_methods():
    with Server() as server:
        for method in "HEAD", "PUT", "DELETE", "PATCH", "TRACE", "POST", "PROPFIND":
            expect(server.ask(method, server.token + "/profile.json")[0], 405, method)
        for path in "/symbolicate/v5", "/source/v1", "/asm/v1":
            expect(server.ask("GET", server.token + path)[0], 405, path)
        assert b" 405 " in server.raw(f"PUT {server.token}/profile.json HTTP/1.1\r\nHost: {server.host}\r\n"
                                      "Content-Length: 4\r\nConnection: close\r\n\r\nabcd".encode())


# ---- The API. ----


@check
def test_symbolicates():
    frames = list(demo_frames())
    assert len(frames) > 20
    with Server() as server:
        lib = library()
        other = ["no-such-library.so", "0" * 33]
        stacks = [[[0, address] for address, _, _ in frames], [[1, 16]], []]
        job = {"memoryMap": [[lib["debugName"], lib["debugId"]], other], "stacks": stacks}
        status, answer = server.api("/symbolicate/v5", {"jobs": [job, {"memoryMap": [], "stacks": []}]})
        expect(status, 200)
        result = answer["results"][0]
        expect(result["found_modules"], {f"{lib['debugName']}/{lib['debugId']}": True, "/".join(other): False})
        expect([len(stack) for stack in result["stacks"]], [len(frames), 1, 0])
        assert "function" not in result["stacks"][1][0]
        symbols = profile["shared"]["nativeSymbols"]
        for number, ((address, function, symbol), found) in enumerate(zip(frames, result["stacks"][0])):
            expect(found["frame"], number)
            expect(found["module_offset"], hex(address))
            expect(found["module"], lib["debugName"])
            expect(found["function"], function, hex(address))
            expect(address - int(found["function_offset"], 16), symbols["address"][symbol])
            assert int(found["function_size"], 16) > int(found["function_offset"], 16)
            assert found["file"].startswith("/") and found["line"] > 0, found
        assert any("inlines" in found for found in result["stacks"][0]), "no inlined functions"
        expect(answer["results"][1], {"found_modules": {}, "stacks": []})


@check
def test_symbolicates_inlined_functions_from_inside_to_outside():
    frames = profile["shared"]["frameTable"]
    names = profile["shared"]["funcTable"]["name"]
    chains = {}
    for i in range(frames["length"]):
        symbol = frames["nativeSymbol"][i]
        if symbol is not None and profile["shared"]["nativeSymbols"]["libIndex"][symbol] == demo_lib:
            chains.setdefault(frames["address"][i], {})[frames["inlineDepth"][i]] = strings[names[frames["func"][i]]]
    address, chain = max(chains.items(), key=lambda item: len(item[1]))
    assert len(chain) >= 2
    with Server() as server:
        lib = library()
        job = {"memoryMap": [[lib["debugName"], lib["debugId"]]], "stacks": [[[0, address]]]}
        _, answer = server.api("/symbolicate/v5", {"jobs": [job]})
        found = answer["results"][0]["stacks"][0][0]
        wanted = [name for _, name in sorted(chain.items())]
        told = [found["function"], *(inline["function"] for inline in reversed(found["inlines"]))]
        # The profile leaves out the recorder's own functions that are inlined where the address may be.
        expect([name for name in told if not name.startswith("grec_")], wanted)


@check
def test_gives_sources_that_the_profile_names():
    with open(demo_source, encoding="utf-8") as file:
        text = file.read()
    with Server() as server:
        status, answer = server.api("/source/v1", {**library(), "moduleOffset": "0x0", "file": demo_source},
                                    [("Origin", VIEWER)])
        expect((status, answer["file"]), (200, demo_source))
        assert answer["source"] == text


@check
def test_searches_sources_elsewhere():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "picture.c"), "w", encoding="utf-8") as file:
            file.write("moved")
        arguments = ["--source-map", f"{os.path.dirname(demo_source)}={folder}"]
        request = {**library(), "moduleOffset": "0x0", "file": demo_source}
        with Server(*arguments, trace=PROFILE) as server:
            expect(server.api("/source/v1", request)[1]["source"], "moved")
        with open(PROFILE, "rb") as file:
            changed = json.load(file)
        changed["shared"]["stringArray"] = [name.replace("/fixtures/demo/picture.c", "/no/picture.c") for name in strings]
        with open(os.path.join(folder, "profile.json"), "w", encoding="utf-8") as file:
            json.dump(changed, file)
        request["file"] = demo_source.replace("/fixtures/demo/picture.c", "/no/picture.c")
        for arguments, member in ([], "error"), (["--source-dir", folder], "source"):
            with Server(*arguments, trace=os.path.join(folder, "profile.json")) as server:
                assert member in server.api("/source/v1", request)[1], arguments


@check
def test_gives_sources_that_debug_information_names():
    """As for a profile whose functions the viewer has looked up."""
    address, _, _ = next(demo_frames())
    lib = library()
    with open(PROFILE, "rb") as file:
        stripped = json.load(file)
    sources_table = stripped["shared"]["sources"]
    sources_table["filename"] = [0] * sources_table["length"]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(stripped, file)
        file.flush()
        with Server(trace=file.name) as server:
            job = {"memoryMap": [[lib["debugName"], lib["debugId"]]], "stacks": [[[0, address]]]}
            found = server.api("/symbolicate/v5", {"jobs": [job]})[1]["results"][0]["stacks"][0][0]
            request = {**lib, "moduleOffset": hex(address), "file": found["file"]}
            status, answer = server.api("/source/v1", request)
            expect((status, "source" in answer), (200, True), answer)
            for wrong in {"moduleOffset": "0x0"}, {"debugId": "0" * 33}, {"file": "/etc/passwd"}:
                _, answer = server.api("/source/v1", {**request, **wrong})
                expect(answer, {"error": "the profile does not name this file"})


@check
def test_gives_sources_that_have_names_on_the_web():
    """A library built with a crate on another machine. The crate is here, in cargo's hidden folder."""
    crate = "registry/src/index.crates.io-1949cf8c6b5b557f/demo-1.0.0/src/lib.rs"
    name = "cargo:index.crates.io-1949cf8c6b5b557f:demo-1.0.0:src/lib.rs"
    with tempfile.TemporaryDirectory() as folder:
        code, lib, text = folder + "/lib.c", folder + "/lib.so", folder + "/perf.txt"
        with open(code, "w", encoding="utf-8") as file:
            file.write(f'#line 7 "/home/other/.cargo/{crate}"\nint demo(int x) {{ return x * x; }}\n')
        subprocess.run(["cc", "-g", "-shared", "-fPIC", "-O0", "-o", lib, code], check=True)
        symbols = subprocess.run(["nm", lib], capture_output=True, text=True, check=True).stdout
        address = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" demo"))
        with open(text, "w", encoding="utf-8") as file:
            file.write(f"app 1/1 1.0: 1 cycles:\n\t{address:x} demo+0x0 ({lib})\n\n")
        os.makedirs(os.path.dirname(f"{folder}/.cargo/{crate}"))
        with open(f"{folder}/.cargo/{crate}", "w", encoding="utf-8") as file:
            file.write("fn demo")
        environment = {**os.environ, "CARGO_HOME": folder + "/.cargo"}
        saved = folder + "/saved.json"
        subprocess.run([PROGRAM, "-q", text, "-o", saved], check=True, env=environment)
        for trace in text, saved:
            with Server("--sources", "none", trace=trace, env=environment) as server:
                served = json.loads(gzip.decompress(server.ask("GET", server.token + "/profile.json")[2]))
                table = served["shared"]["stringArray"]
                expect([table[source] for source in served["shared"]["sources"]["filename"]], [name])
                lib_row = served["libs"][0]
                request = {"debugName": lib_row["debugName"], "debugId": lib_row["breakpadId"], "moduleOffset": hex(address),
                           "file": name}
                _, answer = server.api("/source/v1", request)
                expect((answer.get("file"), answer.get("source")), (name, "fn demo"), answer)
        with Server(trace=text, env=environment) as server:
            served = json.loads(gzip.decompress(server.ask("GET", server.token + "/profile.json")[2]))
            expect(served["shared"]["sources"]["content"], ["fn demo"])


@check
def test_gives_away_no_secrets():
    """The trace comes from somebody else and names files as if they were source code."""
    with tempfile.TemporaryDirectory() as folder:
        files = {"shadow": "not source code by its name", ".ssh/id_rsa": "not source code by its name",
                 ".hidden/x.c": "hidden, or in a hidden folder", "link.c": "not source code by its name",
                 "zero.c": "not text", "out.c": "named by the input alone"}
        os.mkdir(os.path.join(folder, ".ssh"))
        os.mkdir(os.path.join(folder, ".hidden"))
        for name in files:
            if name != "link.c":
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write("a secret" + "\0" * (name == "zero.c"))
        os.symlink(".ssh/id_rsa", os.path.join(folder, "link.c"))
        trace = os.path.join(folder, "trace.txt")
        frames = "".join(f"\t{i + 4096:x} f{i}+0x1 (/nonexistent/app)\n  {folder}/{name}:1\n" for i, name in enumerate(files))
        with open(trace, "w", encoding="utf-8") as file:
            file.write(f"app 10/10 1.0: 250000 cycles:P: \n{frames}\n")
        of_input = "source files: 6 named by the input alone"
        of_folder = "source files: 1 embedded, 3 not source code by its name, 1 hidden, or in a hidden folder, 1 not text"
        for arguments, noted in ([], of_input), (["--sources", "none"], ""), (["--source-dir", folder], of_folder):
            with Server(*arguments, trace=trace) as server:
                text = gzip.decompress(server.ask("GET", server.token + "/profile.json")[2]).decode()
                shared = json.loads(text)["shared"]
                named = {shared["stringArray"][name] for name in shared["sources"]["filename"]}
                expect(named, {f"{folder}/{name}" for name in files})
                has_folder = "--source-dir" in arguments
                expect("a secret" in text, has_folder, arguments)
                for name, reason in files.items():
                    request = {"debugName": "app", "debugId": "0" * 33, "moduleOffset": "0x1000", "file": f"{folder}/{name}"}
                    _, answer = server.api("/source/v1", request)
                    if not has_folder:
                        reason = "named by the input alone"
                    expect("source" in answer, has_folder and name == "out.c", name)
                    assert "source" in answer or reason in answer["error"], (arguments, name, answer)
                code, errors = server.stop()
                assert code == 0 and noted in errors, errors


@check
def test_refuses_other_files():
    with Server() as server:
        for path in "/etc/passwd", demo_source + "/../picture.c", "/dev/zero", PROGRAM, "/" * 5000:
            status, answer = server.api("/source/v1", {**library(), "moduleOffset": "0x0", "file": path})
            assert status == 200 and "error" in answer and "source" not in answer, (path, answer)
        for path in "picture.c", "", demo_source + "\0", None, 5:
            _, answer = server.api("/source/v1", {**library(), "moduleOffset": "0x0", "file": path})
            assert "error" in answer, path


@check
def test_sources_that_cannot_be_read_are_explained():
    with open(PROFILE, "rb") as file:
        changed = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        for name, wanted in ("missing.c", "No such file"), ("folder.c", "Invalid argument"), ("pipe.c", "Invalid argument"):
            path = os.path.join(folder, name)
            if name == "folder.c":
                os.mkdir(path)
            if name == "pipe.c":
                os.mkfifo(path)
            table = changed["shared"]
            table["stringArray"].append(path)
            table["sources"]["filename"][0] = len(table["stringArray"]) - 1
            with open(os.path.join(folder, "profile.json"), "w", encoding="utf-8") as file:
                json.dump(changed, file)
            with Server(trace=os.path.join(folder, "profile.json")) as server:
                _, answer = server.api("/source/v1", {**library(), "moduleOffset": "0x0", "file": path})
                assert answer["error"].startswith(f"cannot read {path}: {wanted}"), answer


@check
def test_disassembles():
    address, function, symbol = next(demo_frames())
    start = profile["shared"]["nativeSymbols"]["address"][symbol]
    with Server() as server:
        request = {**library(), "startAddress": hex(start), "size": "0x1", "continueUntilFunctionEnd": True}
        status, answer = server.api("/asm/v1", request)
        expect((status, answer["startAddress"]), (200, hex(start)))
        if os.uname().machine == "x86_64":
            expect((answer["arch"], answer["syntax"]), ("x86_64", ["Intel"]))
        offsets = [instruction[0] for instruction in answer["instructions"]]
        assert offsets[0] == 0 and offsets == sorted(set(offsets)), offsets
        assert address - start < int(answer["size"], 16), "not the whole function"
        assert any(re.match("ret|jmp|b ", text) for _, text in answer["instructions"]), answer
        one = server.api("/asm/v1", {**request, "continueUntilFunctionEnd": False})[1]
        expect((one["size"], len(one["instructions"])), ("0x1", 1))
        for wrong in {"startAddress": "0x7fffff00"}, {"startAddress": "4096"}, {"size": "-1"}, {"size": "0x"}, \
                {"debugId": "X"}, {"debugName": 7}, {"startAddress": "0x123456789"}:
            _, answer = server.api("/asm/v1", {**request, **wrong})
            assert list(answer) == ["error"], (wrong, answer)


@check
def test_names_the_targets_of_calls():
    with Server() as server:
        texts = []
        for symbol in {symbol for _, _, symbol in demo_frames()}:
            start = profile["shared"]["nativeSymbols"]["address"][symbol]
            request = {**library(), "startAddress": hex(start), "size": "0x1", "continueUntilFunctionEnd": True}
            texts += [text for _, text in server.api("/asm/v1", request)[1]["instructions"]]
        assert any(re.search(r"^(call|bl) .* <\w+", text) for text in texts), texts[:50]


@check
def test_opens_nothing_with_symbols_none():
    with Server("--symbols", "none") as server:
        for path in "/symbolicate/v5", "/source/v1", "/asm/v1":
            _, answer = server.api(path, {**library(), "file": demo_source, "jobs": []})
            expect(answer, {"error": "with --symbols none, gecko-convert opens no file that the profile names"}, path)


@check
def test_refuses_what_is_no_request():
    with Server() as server:
        for path in "/symbolicate/v5", "/source/v1", "/asm/v1":
            for body in b"", b"{", b"\xff\xfe", b"[" * 20000, b'{"a":1}x':
                status, answer = server.api(path, body)
                assert status == 400 and "error" in answer, (path, body[:20], status, answer)
            for body in b"null", b"[]", b"{}", b'{"jobs":{}}', b'{"jobs":[[]]}', b'{"jobs":[{"memoryMap":[[]],"stacks":[]}]}', \
                    b'{"jobs":[{"memoryMap":[],"stacks":[[[0,1]]]}]}', \
                    b'{"jobs":[{"memoryMap":[["a","b"]],"stacks":[[[0,-1]]]}]}', \
                    b'{"jobs":[{"memoryMap":[["a","b"]],"stacks":[[[0,1e99]]]}]}':
                status, answer = server.api(path, body)
                expect(status, 200, body)


@check
def test_bounds_requests():
    with Server() as server:
        head = f"POST {server.token}/source/v1 HTTP/1.1\r\nHost: {server.host}\r\n"
        declared = server.raw((head + "Content-Length: 99999999999\r\n\r\n").encode())
        assert b" 413 " in declared.split(b"\r\n")[0], declared
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        endless = server.raw((head + "Transfer-Encoding: chunked\r\n\r\n").encode() + chunk * 20)
        assert b" 200 " not in endless.split(b"\r\n")[0], endless[:100]
        long = server.raw(f"GET {server.token}/profile.json HTTP/1.1\r\nHost: {server.host}\r\nX: {'x' * 70000}\r\n\r\n".encode())
        assert re.match(rb"HTTP/1.1 4|$", long), long[:100]
        long = server.raw(b"GET /" + b"x" * 70000 + b" HTTP/1.1\r\n\r\n")
        assert re.match(rb"HTTP/1.1 4|$", long), long[:100]
        expect(server.ask("GET", server.token + "/profile.json")[0], 200)


# ---- Clients that misbehave. ----


@check
def test_serves_beside_clients_that_stand_still():
    with Server() as server:
        idle = [socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) for _ in range(200)]
        for number, connection in enumerate(idle):
            if number % 2:
                connection.sendall(f"GET {server.token}/pro".encode())
        # Asks for the profile and reads nothing.
        for connection in idle[1:20:2]:
            connection.sendall(f"file.json HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
        expect(server.ask("GET", server.token + "/profile.json")[0], 200)
        for connection in idle:
            connection.close()
        expect(server.ask("GET", server.token + "/profile.json")[0], 200)
        expect(server.stop()[0], 0)


@check
def test_serves_hundreds_of_clients_at_a_time():
    with Server() as server:
        request = f"GET {server.token}/profile.json HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n\r\n".encode()
        clients = [socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) for _ in range(300)]
        answers = []
        # Beyond the limit, the server closes connections at once, so that the others are served.
        for client in clients:
            try:
                client.sendall(request)
            except OSError:
                pass
        for client in clients:
            with client:
                answers.append(receive_all(client))
        served = [answer for answer in answers if answer]
        assert len(served) >= 100, len(served)
        expect({answer.split(b"\r\n")[0] for answer in served}, {b"HTTP/1.1 200 OK"})
        expect(len({answer.split(b"\r\n\r\n", 1)[1] for answer in served}), 1)
        expect(server.ask("GET", server.token + "/profile.json")[0], 200)
        expect(server.stop()[0], 0)


def large_profile(folder):
    """A profile that does not fit into the buffers of a connection."""
    path = os.path.join(folder, "large.json")
    with open(PROFILE, encoding="utf-8") as file:
        changed = json.load(file)
    changed["padding"] = os.urandom(16 << 20).hex()
    with open(path, "w", encoding="utf-8") as file:
        json.dump(changed, file)
    return path


@check
def test_serves_slow_clients_and_those_that_disconnect():
    with tempfile.TemporaryDirectory() as folder, Server(trace=large_profile(folder)) as server:
        request = f"GET {server.token}/profile.json HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n\r\n".encode()
        for is_reset in False, True:
            client = socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S)
            if is_reset:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.sendall(request)
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
            client.close()
        with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as slow:
            slow.sendall(request)
            slow.recv(100)
            # Others are served meanwhile.
            status, _, whole = server.ask("GET", server.token + "/profile.json")
            expect(status, 200)
            received = 100
            while piece := slow.recv(1 << 20):
                received += len(piece)
                time.sleep(0.001)
            assert received > len(whole), (received, len(whole))
        # Ctrl-C does not wait for a client that does not read.
        with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as stuck:
            stuck.sendall(request)
            stuck.recv(100)
            expect(server.stop()[0], 0)


@check
def test_survives_hostile_bytes():
    import random
    random.seed(19)
    with Server("--quiet") as server:
        good = f"POST {server.token}/symbolicate/v5 HTTP/1.1\r\nHost: {server.host}\r\nOrigin: {VIEWER}\r\n" \
            'Content-Length: 66\r\n\r\n{"jobs":[{"memoryMap":[["a","b"]],"stacks":[[[0,1],[0,2],[0,3]]]}]}'
        pieces = [b"\0", b"\r", b"\n", b"\r\n\r\n", b"%00", b"../", b"Host: x\r\n", b"Content-Length: -1\r\n", b"\xff" * 9,
                  b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"Range: bytes=0-1\r\n", b" ", b"HTTP/9.9"]
        for _ in range(400):
            data = bytearray(good.encode())
            for _ in range(random.randrange(1, 5)):
                at = random.randrange(len(data) + 1)
                data[at:at + random.choice([0, 0, 1, 5, 50])] = random.choice(pieces)
            # The server waits for the rest of some of these; nothing depends on how long.
            answer = server.raw(bytes(data), wait_s=0.1)
            assert not answer or answer.startswith(b"HTTP/1."), answer[:100]
            assert b"passwd" not in answer
        expect(server.process.poll(), None)
        expect(server.ask("GET", server.token + "/profile.json")[0], 200)
        expect(server.stop(), (0, ""))


# ---- The viewer's folder. ----


@check
def test_serves_a_viewer():
    with tempfile.TemporaryDirectory() as folder:
        files = {"index.html": b"<title>page</title>", "main-1.js": b"let a", "sub/a.wasm": b"\0asm", "app.css": b"p{}"}
        os.mkdir(os.path.join(folder, "sub"))
        for name, content in files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        secret = os.path.join(os.path.dirname(folder), os.path.basename(folder) + "-secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write("secret")
        os.symlink(secret, os.path.join(folder, "out"))
        os.symlink("main-1.js", os.path.join(folder, "in.js"))
        with Server("--viewer", folder) as server:
            assert server.url.startswith(f"http://{server.host}/from-url/http%3A%2F%2F127.0.0.1%3A"), server.url
            types = {"/index.html": "text/html; charset=utf-8", "/main-1.js": "text/javascript; charset=utf-8",
                     "/sub/a.wasm": "application/wasm", "/app.css": "text/css; charset=utf-8"}
            for path, wanted in types.items():
                status, headers, body = server.ask("GET", path)
                expect((status, headers["Content-Type"], body), (200, wanted, files[path[1:]]), path)
            expect(server.ask("GET", "/in.js")[2], b"let a")
            page = urllib.parse.urlsplit(server.url)
            name = os.path.basename(secret)
            for path in "/", page.path + "?" + page.query, "/compare/", "/out", f"/../{name}", f"/sub/../../{name}", \
                    f"/%2e%2e/{name}", "//etc/passwd", "/sub", "/sub/", "/" + "x" * 5000:
                status, headers, body = server.ask("GET", path)
                expect((status, body), (200, files["index.html"]), path)
            expect(server.ask("GET", server.token + "/profile.json")[0], 200)
            origin = [("Origin", f"http://{server.host}")]
            expect(server.api("/symbolicate/v5", {"jobs": []}, origin), (200, {"results": []}))
            expect(server.ask("GET", "/main-1.js", headers=[("Origin", VIEWER)])[0], 403)
            expect(server.ask("GET", "/", headers=[("Host", "evil.example")], skip_host=True)[0], 403)
            expect(server.ask("POST", "/main-1.js", b"x")[0], 405)
            os.unlink(os.path.join(folder, "index.html"))
            expect(server.ask("GET", "/")[0], 404)
        os.unlink(secret)


@check
def test_takes_the_address_of_a_viewer():
    with Server("--viewer", "http://127.0.0.1:4242/base/") as server:
        assert server.url.startswith("http://127.0.0.1:4242/base/from-url/http%3A"), server.url
        path, origin = server.token + "/profile.json", "http://127.0.0.1:4242"
        expect(server.ask("GET", path, headers=[("Origin", origin)])[1]["Access-Control-Allow-Origin"], origin)
        expect(server.ask("GET", path, headers=[("Origin", VIEWER)])[0], 403)


# ---- Starting and ending. ----


def run(*arguments, **options):
    return subprocess.run([PROGRAM, "view", *arguments], capture_output=True, text=True, timeout=WAIT_S, **options)


@check
def test_refuses_bad_command_lines():
    with tempfile.TemporaryDirectory() as folder:
        for arguments, code, message in (
                ([], 2, "no input: name a file"),
                ([TRACE, TRACE], 2, "is named twice"),
                ([TRACE, "--align", "x=1s"], 2, "no input is named 'x'"),
                (["--compare", TRACE], 2, "--compare needs several inputs"),
                (["--compare", TRACE, PROFILE, "--align", f"{TRACE}=1s"], 2, "--align is for one timeline"),
                (["--compare", PROFILE, folder + "/none"], 3, "No such file"),
                (["--port", "70000", TRACE], 2, "--port"),
                (["--viewer", folder, TRACE], 2, "is not a built viewer: it has no readable index.html"),
                (["--viewer", folder + "/none", TRACE], 3, "cannot open the viewer's folder"),
                (["--source-map", "a", TRACE], 2, "the source map 'a' is not of the form FROM=TO"),
                (["--source-url", "/a=https://example.org/a", TRACE], 2, "the source URL '/a=https://example.org/a' is not of"),
                (["--viewer", "https://", TRACE], 2, "is not an address of a viewer"),
                (["--viewer", "http://a\nb", TRACE], 2, "is not an address of a viewer"),
                ([folder + "/none"], 3, "No such file"),
                ([PROGRAM], 1, "this is a program or a library"),
                (["--max-memory", "1M", TRACE], 4, "memory")):
            result = run("--no-open", *arguments)
            expect((result.returncode, result.stdout), (code, ""), result.stderr)
            assert message in result.stderr, (arguments, result.stderr)
        for name, content in ("empty", b""), ("cut.gz", gzip.compress(b"{" * 1000)[:-20]), ("text", b"no recording\n"):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
            result = run("--no-open", os.path.join(folder, name))
            expect((result.returncode, result.stdout), (1, ""), result.stderr)
            assert name in result.stderr, result.stderr
        result = run("--no-open", folder)
        expect((result.returncode, result.stdout), (3, ""), result.stderr)
        broken = os.path.join(folder, "broken.json")
        with open(broken, "w", encoding="utf-8") as file:
            file.write('{"meta": {"version": 36}, "libs": [')
        result = run("--no-open", broken)
        expect((result.returncode, result.stdout), (1, ""), result.stderr)


@check
def test_tells_of_a_port_in_use():
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        result = run("--no-open", "--port", str(port), TRACE)
        expect((result.returncode, result.stdout), (3, ""))
        assert f"cannot listen on port {port} of 127.0.0.1" in result.stderr, result.stderr
    with Server("--port", str(port)) as server:
        expect(server.port, port)
        server.ask("GET", server.token + "/profile.json")
        expect(server.stop()[0], 0)
    with Server("--port", str(port)) as server:
        expect(server.port, port)


@check
def test_tells_of_a_missing_library():
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "libmicrohttpd.so.12")
        with open(library, "wb"):
            pass
        result = run("--no-open", TRACE, env={**os.environ, "LD_LIBRARY_PATH": folder})
        expect((result.returncode, result.stdout, result.stderr),
               (3, "", f"gecko-convert view: a library that view needs is missing: {library}: file too short\n"))


@check
def test_tells_when_the_address_cannot_be_printed():
    with open("/dev/full", "w", encoding="ascii") as full:
        result = subprocess.run([PROGRAM, "view", "--no-open", TRACE], stdout=full, stderr=subprocess.PIPE, text=True,
                                timeout=WAIT_S, check=False)
    expect(result.returncode, 3)
    assert "cannot write the address to standard output" in result.stderr, result.stderr


@check
def test_listens_on_loopback_alone():
    with Server() as server:
        inodes = {os.readlink(f"/proc/{server.process.pid}/fd/{name}") for name in os.listdir(f"/proc/{server.process.pid}/fd")}
        addresses = []
        for table in "tcp", "tcp6", "udp", "udp6":
            with open(f"/proc/net/{table}", encoding="utf-8") as file:
                for line in list(file)[1:]:
                    fields = line.split()
                    if f"socket:[{fields[9]}]" in inodes and fields[3] in ("0A", "07"):
                        addresses.append(fields[1].split(":")[0])
        expect(addresses, ["0100007F"])


@check
def test_ends_by_signals():
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        with Server("--quiet") as server:
            expect(server.stop(number), (0, ""), number)


@check
def test_ends_while_converting_and_leaves_nothing():
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        environment = {**os.environ, "TMPDIR": folder}
        process = subprocess.Popen([PROGRAM, "view", "--no-open", fifo], cwd=folder, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(fifo, "wb") as writer, open(TRACE, "rb") as trace:
            writer.write(trace.read(100000))
            writer.flush()
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=WAIT_S)
        expect((process.returncode, output, errors), (-signal.SIGINT, b"", b""))
        expect(os.listdir(folder), ["fifo"])


@check
def test_leaves_no_file():
    with tempfile.TemporaryDirectory() as folder:
        with Server(cwd=folder, env={**os.environ, "TMPDIR": folder}) as server:
            server.ask("GET", server.token + "/profile.json")
            expect(os.listdir(folder), [])
            expect(server.stop()[0], 0)
        expect(os.listdir(folder), [])


@check
def test_ends_by_itself_when_nobody_asks():
    with Server("--idle-exit", "1") as server:
        server.process.communicate(timeout=WAIT_S)
        expect(server.process.returncode, 0)


@check
def test_does_not_end_while_a_request_is_under_way():
    for _ in range(10):
        with Server("--idle-exit", "1") as server:
            try:
                connection = socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S)
            except ConnectionRefusedError:  # this process got no processor for a second
                continue
            with connection:
                connection.sendall(f"POST {server.token}/symbolicate/v5 HTTP/1.1\r\nHost: {server.host}\r\n"
                                   "Content-Length: 11\r\n\r\n".encode())
                time.sleep(2.5)
                connection.sendall(b'{"jobs":[]}')
                assert connection.recv(4096).startswith(b"HTTP/1.1 200"), "ended meanwhile"
            server.process.communicate(timeout=WAIT_S)
            expect(server.process.returncode, 0)
            return
    raise AssertionError("the server ended before it could be asked")


# ---- The browser. ----


@check
def test_opens_the_browser():
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "browser")
        taken = os.path.join(folder, "taken")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nprintf "%s\\n" "$@" > {taken}.new && mv {taken}.new {taken}\n')
        os.chmod(script, 0o755)
        too_long = f"{script} {'w ' * 20}:{script}"  # the first command is not cut, but left out
        for variable, words in (script, []), (f"{folder}/none:{script} --new %s x", ["--new"]), (f"{script} -a", ["-a"]), \
                (too_long, []):
            with Server(no_open=False, env={**os.environ, "BROWSER": variable}) as server:
                deadline = time.monotonic() + WAIT_S
                while not os.path.exists(taken) and time.monotonic() < deadline:
                    time.sleep(0.01)
                with open(taken, encoding="utf-8") as file:
                    expect(file.read().split(), [*words, server.url, *(["x"] if "%s" in variable else [])], variable)
                os.unlink(taken)
                expect(server.stop()[0], 0)


@check
def test_serves_without_a_browser():
    for variable, message in ("/no/such/browser", "cannot start /no/such/browser: No such file"), \
            ("false", "false could not open a browser: open the address above in one"):
        with Server("--quiet", no_open=False, env={**os.environ, "BROWSER": variable}) as server:
            line = server.process.stderr.readline()
            assert message in line, line
            expect(server.ask("GET", server.token + "/profile.json")[0], 200)
            expect(server.stop()[0], 0)


# ---- All of it. ----


def main():
    failed = 0
    words = sys.argv[4:]
    chosen = [function for function in checks if not words or any(word in function.__name__ for word in words)]
    for function in chosen:
        try:
            function()
        except Exception as error:  # whatever it is, the next check has its turn
            failed += 1
            print(f"FAIL {function.__name__}: {type(error).__name__}: {str(error)[:1500]}", flush=True)
    print(f"view: {len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
