#!/usr/bin/env python3
# terminal.py STEPS COMMAND... - run it on a terminal of its own, of 33 rows and 101 columns
#
# STEPS is a file with a step in each line. TEXT may have Python's escapes: \r is Enter, \x03 is Ctrl-C
#     see TEXT        wait until the terminal has shown it since the last step of this kind
#     expect REGEX    the same for a pattern
#     type TEXT       as keys
#     size ROWS COLS  the user makes the window another size
#     kill SIGNAL     to the command
#     make FILE       which a program waits for
#     mode normal     wait until the terminal itself edits lines, and Ctrl-C is a signal
#     end STATUS      the command ends with that
# Prints what the terminal shows, and then "keys: lines" or "keys: raw": how the terminal was left.
# Exits with the status of the command (128 + its signal), or with 99 if a step was in vain; with 0 if
# there was an "end".
# SPDX-License-Identifier: Apache-2.0
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
LINES = termios.ICANON | termios.ECHO | termios.ISIG


def resize(rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def is_normal():
    return termios.tcgetattr(terminal)[3] & LINES == LINES


def read(timeout):
    """Keeps what is shown next. False: the command has ended."""
    global fresh, shown
    if not select.select([terminal], [], [], timeout)[0]:
        return True
    try:
        got = os.read(terminal, 65536)
    except OSError:
        got = b""
    fresh += got
    shown += got
    return got != b""


def wait(is_true, step):
    until = time.monotonic() + LIMIT_S
    while not is_true():
        if not read(0.05) or time.monotonic() > until:
            give_up(step)


def give_up(step):
    leave(f"\nin vain: {step}\n")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    sys.exit(99)


def expect(pattern, step):
    global fresh
    wait(lambda: re.search(pattern, fresh, re.DOTALL), step)
    fresh = fresh[re.search(pattern, fresh, re.DOTALL).end():]


def status_of_the_end():
    until = time.monotonic() + LIMIT_S
    while read(1):
        if time.monotonic() > until:
            give_up("it does not end")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status if status >= 0 else 128 - status


def leave(text):
    sys.stdout.write(shown.decode(errors="replace").replace("\r", "") + text)


shown = fresh = b""
gate, opener = os.pipe()
pid, terminal = pty.fork()
if pid == 0:
    os.read(gate, 1)  # the terminal has its size
    os.execvp(sys.argv[2], sys.argv[2:])
resize(33, 101)
os.write(opener, b"x")
wanted = None
with open(sys.argv[1], encoding="utf-8") as file:
    steps = file.read().splitlines()
for step in steps:
    word, _, rest = step.partition(" ")
    text = rest.encode().decode("unicode_escape").encode("latin-1") if word in ("see", "type") else b""
    if word == "see":
        expect(re.escape(text), step)
    elif word == "expect":
        expect(rest.encode(), step)
    elif word == "type":
        os.write(terminal, text)
    elif word == "size":
        resize(*map(int, rest.split()))
    elif word == "kill":
        os.kill(pid, getattr(signal, "SIG" + rest))
    elif word == "make":
        open(rest, "x", encoding="utf-8").close()
    elif word == "mode":
        wait(is_normal, step)
    else:
        assert word == "end", step
        wanted = int(rest)
status = status_of_the_end()
leave("keys: lines\n" if is_normal() else "keys: raw\n")
if wanted is not None:
    print("exit status", status)
    status = 0 if status == wanted else 99
sys.exit(status)
