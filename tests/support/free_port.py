"""Ports of this machine for servers that tests start."""
import contextlib
import pathlib
import random
import socket


def free_port():
    """Returns a port of 127.0.0.1 that nobody listens on. Unless clients may have all ports that need no rights, the kernel
    gives it to no client either, until a server that is still to start uses it."""
    first, last = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    ports = [*range(max(1024, first // 2), first), *range(last + 1, 65536)] or [0]
    while True:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", random.choice(ports))) as server:
            return server.getsockname()[1]
