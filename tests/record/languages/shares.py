"""Three functions that take turns, and tell how much processor time each had: shares.py MILLISECONDS

Turns differ in length and are longer than the sampler's interval. Otherwise both could keep in step.
"""
import random
import sys
import time


def work(steps):
    total = 1
    for _ in range(steps):
        total = (total * 1664525 + 1013904223) & 0xffffffff
    return total


def alpha(steps):
    return work(steps * 5) + 1


def beta(steps):
    return work(steps * 3) + 2


def gamma(steps):
    return work(steps * 2) + 3


spent_ns = dict.fromkeys((alpha, beta, gamma), 0)
while sum(spent_ns.values()) < int(sys.argv[1]) * 1000000:
    for run in spent_ns:
        steps = random.randrange(10000, 30000)
        begin_ns = time.thread_time_ns()
        run(steps)
        spent_ns[run] += time.thread_time_ns() - begin_ns
for run, ns in spent_ns.items():
    print("function", run.__name__, ns)
