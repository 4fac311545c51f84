"""restart_rank.py DIR TIMES - a rank that says when it began, until rank 1 has died so often

Rank 1 dies of SIGKILL once all have connected to it. The others notice, as those of a training
do, and fail. DIR/began.RANK and DIR/killed get a line each time. At last all end well.
SPDX-License-Identifier: Apache-2.0
"""
import time
BEGAN = time.time()

import os
import signal
import socket
import sys

LIMIT_S = 120


def path(name):
    return os.path.join(sys.argv[1], name)


def add(name, text):
    with open(path(name), "a", encoding="ascii") as file:
        file.write(f"{text}\n")


def wait_for_rank_1():
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(path("socket"))
            return peer.recv(1)
        except ConnectionResetError:
            return b""
        except OSError:
            time.sleep(0.01)
    return b""


def main():
    rank, world, times = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(sys.argv[2])
    add(f"began.{rank}", BEGAN)
    if rank != 1:
        sys.exit(0 if wait_for_rank_1() else "the connection to rank 1 is lost")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path(f"socket.{os.getpid()}.{BEGAN}"))
    server.listen(world)
    server.settimeout(LIMIT_S)
    os.rename(server.getsockname(), path("socket"))
    peers = [server.accept()[0] for _ in range(world - 1)]
    with open(path("killed"), "a+", encoding="ascii") as file:
        file.seek(0)
        killed = len(file.readlines())
    if killed < times:
        time.sleep(0.2)
        add("killed", time.time())
        os.kill(os.getpid(), signal.SIGKILL)
    for peer in peers:
        peer.send(b".")


main()
