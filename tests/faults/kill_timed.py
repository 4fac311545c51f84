#!/usr/bin/env python3
# kill_timed.py TAG SPARED PID... - SIGKILL to all PIDs at once, then wait, at most 10 s, until
# no process that carries TAG lives but those in SPARED (words); print the milliseconds
# SPDX-License-Identifier: Apache-2.0
"""Kill, and measure how long the rest takes to die."""

import contextlib
import os
import signal
import sys
import time

LIMIT_S = 10


def read(path):
    try:
        with open(path, 'rb') as file:
            return file.read()
    except OSError:
        return b''


def tagged(tag):
    return {pid for pid in map(int, filter(str.isdigit, os.listdir('/proc')))
            if tag in read(f'/proc/{pid}/cmdline')
            or b'MUSTER_TEST_TAG=' + tag in read(f'/proc/{pid}/environ').split(b'\0')}


def is_alive(pid):
    return read(f'/proc/{pid}/stat').rsplit(b')', 1)[-1].split()[:1] not in ([], [b'Z'], [b'X'])


def main():
    tag, spared, victims = sys.argv[1].encode(), sys.argv[2].split(), sys.argv[3:]
    watched = tagged(tag) - {int(pid) for pid in spared} - {os.getpid()}
    began = time.monotonic()
    for victim in victims:
        with contextlib.suppress(ProcessLookupError):  # one may die with another
            os.kill(int(victim), signal.SIGKILL)
    while watched and time.monotonic() - began < LIMIT_S:
        watched = {pid for pid in watched if is_alive(pid)}
        if watched:
            time.sleep(0.001)  # between two looks
    print(int((time.monotonic() - began) * 1000))


main()
