#!/usr/bin/env python3
"""Measures `gecko-convert view`: the time to the first byte, the memory for a large profile, and requests per second.

usage: view.py GECKO-CONVERT RECORDING [RUNS]

The large profile is that of the recording, with its threads repeated until it has 500 MB. Prints medians."""
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

PROGRAM, RECORDING = sys.argv[1:3]
RUNS = int(sys.argv[3]) if len(sys.argv) > 3 else 7
MB = 1e6
LARGE_BYTES = 500e6


class Server:
    def __init__(self, path):
        self.process = subprocess.Popen([PROGRAM, "view", "--no-open", "--quiet", path], stdout=subprocess.PIPE, text=True)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.process.stdout.readline().strip()).query)
        parts = urllib.parse.urlsplit(query["symbolServer"][0])
        self.host, self.token = parts.netloc, parts.path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def get(self, read_all):
        """Returns the number of bytes that were read."""
        connection = http.client.HTTPConnection(self.host)
        connection.request("GET", self.token + "/profile.json", headers={"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        count = len(response.read(None if read_all else 1))
        connection.close()
        return count

    def memory(self, name):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name + ":"))


def timed(action):
    start = time.monotonic()
    action()
    return time.monotonic() - start


def first_byte():
    with Server(RECORDING) as server:
        server.get(read_all=False)


def convert(output):
    subprocess.run([PROGRAM, "--quiet", "--sources", "embed", RECORDING, "-o", output], check=True)


def measure_first_byte(folder):
    plain, packed, served = [], [], []
    for _ in range(RUNS):  # in turn, because other work on the machine slows all of them down
        plain.append(timed(lambda: convert(os.path.join(folder, "a.json"))))
        packed.append(timed(lambda: convert(os.path.join(folder, "a.json.gz"))))
        served.append(timed(first_byte))
    print(f"{os.path.getsize(RECORDING) / MB:.0f} MB recording, profile of "
          f"{os.path.getsize(os.path.join(folder, 'a.json')) / MB:.0f} MB: converted in {statistics.median(plain):.3f} s, "
          f"converted and compressed in {statistics.median(packed):.3f} s, first byte after {statistics.median(served):.3f} s")


def write_large(small, large):
    with open(small, encoding="utf-8") as file:
        profile = json.load(file)
    threads = ",".join(map(json.dumps, profile.pop("threads")))
    with open(large, "w", encoding="utf-8") as file:
        file.write(json.dumps(profile)[:-1] + ',"threads":[' + threads)
        while file.tell() < LARGE_BYTES:
            file.write("," + threads)
        file.write("]}")


def measure_memory(folder):
    large = os.path.join(folder, "large.json")
    write_large(os.path.join(folder, "a.json"), large)
    with Server(large) as server:
        before = server.memory("VmHWM")
        cpu_before = cpu_seconds(server.process.pid)
        seconds = [timed(lambda: server.get(read_all=True)) for _ in range(3)]
        size = server.get(read_all=True)
        cpu = cpu_seconds(server.process.pid) - cpu_before
        print(f"{os.path.getsize(large) / MB:.0f} MB profile: {size / MB:.1f} MB compressed, at most {before / MB:.1f} MB of "
              f"memory before the first request and {server.memory('VmHWM') / MB:.1f} MB after four; "
              f"one request takes {statistics.median(seconds):.3f} s, four take {cpu:.2f} s of processor time")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_requests(folder):
    source = os.path.join(folder, "file.c")
    with open(source, "w", encoding="ascii") as file:
        file.write("int answer(void) { return 42; } /* a line of code */\n" * 400)
    profile = os.path.join(folder, "profile.json")
    strings, table = [source], {"filename": [0], "length": 1}
    with open(profile, "w", encoding="ascii") as file:
        json.dump({"meta": {"preprocessedProfileVersion": 70}, "libs": [], "threads": [],
                   "shared": {"stringArray": strings, "sources": table}}, file)
    body = json.dumps({"debugName": "a", "debugId": "0" * 33, "moduleOffset": "0x0", "file": source})
    with Server(profile) as server:
        connection = http.client.HTTPConnection(server.host)
        count, seconds, start = 0, 0, time.monotonic()
        while seconds < 5:
            connection.request("POST", server.token + "/source/v1", body)
            answer = connection.getresponse().read()
            assert b"return 42" in answer, answer[:200]
            count, seconds = count + 1, time.monotonic() - start
        used = cpu_seconds(server.process.pid)
        print(f"/source/v1 of {os.path.getsize(source) / 1000:.0f} kB: {count / seconds:.0f} requests per second over one "
              f"connection; the server used {1000 * used / count:.2f} ms of processor time for each")


with tempfile.TemporaryDirectory() as temporary:
    measure_first_byte(temporary)
    measure_memory(temporary)
    measure_requests(temporary)
