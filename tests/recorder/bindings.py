#!/usr/bin/env python3
"""Records by the library's functions alone, as a binding of another language does:

    bindings.py LIBRARY TRACE

The layouts are those of recorder/gecko_recorder.h.
"""

import ctypes
import sys
import time

GREC_SAMPLER = 4


class Options(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("limit_bytes", ctypes.c_uint64), ("chunk_bytes", ctypes.c_uint32),
                ("storage", ctypes.c_uint32), ("threads", ctypes.c_char_p), ("flags", ctypes.c_uint32),
                ("interval_us", ctypes.c_uint32), ("product", ctypes.c_char_p), ("duration_s", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32)]


class Category(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("parent", ctypes.c_void_p), ("color", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("cache", ctypes.c_uint64)]


class Label(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("category", ctypes.POINTER(Category)), ("file", ctypes.c_char_p),
                ("line", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("cache", ctypes.c_uint64)]


class Marker(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("category", ctypes.POINTER(Category)), ("type", ctypes.c_void_p),
                ("cache", ctypes.c_uint64)]


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def main():
    recorder = ctypes.CDLL(sys.argv[1])
    recorder.grec_now.restype = ctypes.c_uint64
    recorder.grec_label_push.restype = ctypes.c_uint32
    options = Options(path=sys.argv[2].encode(), flags=GREC_SAMPLER, product=b"bindings")
    if recorder.grec_start(ctypes.byref(options)) != 0 or not recorder.grec_is_recording():
        return 1
    category = Category(name=b"Python", color=5)
    label = Label(name=b"label of Python", category=ctypes.pointer(category))
    instant = Marker(name=b"instant of Python", category=ctypes.pointer(category))
    interval = Marker(name=b"interval of Python")
    start = ctypes.c_uint64(recorder.grec_now())
    pushed = recorder.grec_label_push(ctypes.byref(label), b"with a text")
    work(0.1)
    recorder.grec_instant(ctypes.byref(instant), None, ctypes.c_size_t(0))
    recorder.grec_sample()
    recorder.grec_label_pop(ctypes.c_uint32(pushed))
    recorder.grec_interval(ctypes.byref(interval), start, None, ctypes.c_size_t(0))
    recorder.grec_text_marker(b"text of Python", None, b"the text itself")
    recorder.grec_stop()
    return recorder.grec_is_recording()


if __name__ == "__main__":
    sys.exit(main())
