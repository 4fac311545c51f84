#!/usr/bin/env python3
# type_password.py PASSWORD COMMAND... - run it on a terminal of its own, and type the password when
# it asks. Prints what the terminal shows.
# SPDX-License-Identifier: Apache-2.0
import os
import pty
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b""
typed = False
while True:
    try:
        got = os.read(terminal, 65536)
    except OSError:
        break
    if not got:
        break
    shown += got
    if not typed and b"password (asked" in shown:
        os.write(terminal, sys.argv[1].encode() + b"\n")
        typed = True
sys.stdout.write(shown.decode().replace("\r", ""))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
