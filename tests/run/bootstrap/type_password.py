#!/usr/bin/env python3
# type_password.py PASSWORD [HOST=PASSWORD...] -- COMMAND... - run it on a terminal of its own, and type
# each password when it is asked for; an empty one ends the input. Prints what the terminal shows.
# SPDX-License-Identifier: Apache-2.0
import os
import pty
import sys

words = sys.argv[1:]
command = words[words.index("--") + 1:]
answers = {b"password (asked": words[0]}
for word in words[1:words.index("--")]:
    host, password = word.split("=", 1)
    answers[b"password of %s," % host.encode()] = password
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
shown = b""
while True:
    try:
        got = os.read(terminal, 65536)
    except OSError:
        break
    if not got:
        break
    shown += got
    for question in [question for question in answers if question in shown]:
        os.write(terminal, answers.pop(question).encode() + b"\n")
sys.stdout.write(shown.decode().replace("\r", ""))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
