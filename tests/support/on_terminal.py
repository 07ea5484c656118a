#!/usr/bin/env python3
"""on_terminal.py COMMAND…: runs the command with a terminal as its standard error, and prints what it drew there to
standard error: one line for each time that it redrew its line."""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios


def read_all(terminal):
    parts = []
    try:
        while part := os.read(terminal, 65536):
            parts.append(part)
    except OSError:  # Linux: nobody has the other end open any more
        pass
    return b"".join(parts).decode()


def main():
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(sys.argv[1:], stderr=end)
    os.close(end)
    for line in read_all(terminal).replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if line.rstrip():
            print(line.rstrip(), file=sys.stderr)
    sys.exit(process.wait())


main()
