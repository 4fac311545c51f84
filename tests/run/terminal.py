#!/usr/bin/env python3
# terminal.py STEPS COMMAND... - run it on a terminal of its own, of 33 rows and 101 columns
#
# STEPS is a file with a step in each line:
#     expect REGEX    wait until what the terminal has shown since the last expect has this
#     type TEXT       as keys, with Python's escapes: \r is Enter, \x03 is Ctrl-C
#     size ROWS COLS  the user makes the window another size
#     kill SIGNAL     to the command
# Prints what the terminal shows, and then "keys: lines" or "keys: raw": how the terminal was left.
# Exits with the status of the command (128 + its signal), or with 99 if an expect was in vain.
# SPDX-License-Identifier: Apache-2.0
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

LIMIT_S = 120


def resize(rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def read(timeout):
    """Returns what is shown next; empty: the command has ended; None: nothing in that time."""
    if not select.select([terminal], [], [], timeout)[0]:
        return None
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def expect(pattern):
    global fresh, shown
    until = time.monotonic() + LIMIT_S
    while not (found := re.search(pattern, fresh, re.DOTALL)):
        got = read(max(0, until - time.monotonic()))
        if not got:
            leave(f"\nwaited in vain for {pattern!r}\n", 99)
        fresh += got
        shown += got
    fresh = fresh[found.end():]


def leave(text, status=None):
    sys.stdout.write(shown.decode(errors="replace").replace("\r", "") + text)
    if status is not None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        sys.exit(status)


shown = fresh = b""
gate, opener = os.pipe()
pid, terminal = pty.fork()
if pid == 0:
    os.read(gate, 1)  # the terminal has its size
    os.execvp(sys.argv[2], sys.argv[2:])
resize(33, 101)
os.write(opener, b"x")
for line in open(sys.argv[1]):
    word, _, rest = line.rstrip("\n").partition(" ")
    if word == "expect":
        expect(rest.encode())
    elif word == "type":
        os.write(terminal, codecs.decode(rest, "unicode_escape").encode("latin-1"))
    elif word == "size":
        resize(*map(int, rest.split()))
    elif word == "kill":
        os.kill(pid, getattr(signal, "SIG" + rest))
while got := read(LIMIT_S):
    shown += got
if got is None:
    leave("\nthe command did not end\n", 99)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
is_line = termios.tcgetattr(terminal)[3] & termios.ICANON
leave("keys: lines\n" if is_line else "keys: raw\n")
sys.exit(status if status >= 0 else 128 - status)
