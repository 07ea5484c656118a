"""Ports of this machine for servers that tests start."""
import contextlib
import pathlib
import random
import socket


def free_port():
    """Returns a port of 127.0.0.1 that nobody listens on. The kernel gives it to no client either, until a server that is
    still to start uses it."""
    first_of_clients = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(first_of_clients // 2, first_of_clients)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
