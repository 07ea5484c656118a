#!/usr/bin/env python3
"""feed.py FILE [FILE]: writes the files to standard output, which is a pipe. After the first file, waits until the
reader has read everything, and then long enough for a program that draws its progress twice a second to draw it."""
import fcntl
import select
import struct
import sys
import termios
import time


def is_reader_gone():
    end = select.poll()
    end.register(sys.stdout, 0)
    return bool(end.poll(0))


def is_taken():
    left = fcntl.ioctl(sys.stdout.fileno(), termios.FIONREAD, struct.pack("i", 0))
    return struct.unpack("i", left)[0] == 0


def write(path):
    with open(path, "rb") as file:
        sys.stdout.buffer.write(file.read())
    sys.stdout.flush()


write(sys.argv[1])
while not is_taken() and not is_reader_gone():
    time.sleep(0.01)
time.sleep(0.7)
for path in sys.argv[2:]:
    write(path)
