"""Records with perf: perf_record(DATA, ARGUMENT...), as `perf record -o DATA ARGUMENT...`. Returns the output.

perf 6.1 aborts now and then when it collects build ids ("assertion failed at util/build-id.c"), above all while another
recorder asks the kernel for build ids of all processes. Then it is run again.
"""
import signal
import subprocess

ATTEMPTS = 20


def perf_record(data, *arguments, **options):
    command = ["perf", "record", "-q", "-o", str(data), *map(str, arguments)]
    for _ in range(ATTEMPTS):
        ended = subprocess.run(command, check=False, capture_output=True, **options)
        if ended.returncode != -signal.SIGABRT:
            break
    ended.check_returncode()
    return ended.stdout
