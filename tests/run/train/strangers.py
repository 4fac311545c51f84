#!/usr/bin/env python3
"""strangers.py STOP PIDFILE...: strangers at the ports of these processes, until the file STOP is there.

To each port that one of them opens several connect, say something or nothing, and stay. Prints "met
PIDFILE ADDRESS PORT" when the first have done so. Then, again and again, others come for a moment.
At the end it prints "heard N": the most bytes that a stranger has received.
SPDX-License-Identifier: Apache-2.0
"""
import os
import socket
import struct
import sys
import time

stop, files = sys.argv[1], sys.argv[2:]
MAGIC = struct.pack('=IIii', 0x6d737431, 1, 3, 0)  # greeting.c: rank 3 joins rank 0
SAID = [b'', b'\0', b'GET / HTTP/1.0\r\n\r\n' * 100, MAGIC, MAGIC + bytes(16) + bytes(16),
        struct.pack('=QQQQQQ', 48, 2, 0, 0, 0, 0) * 10,  # Gloo's: it wants to send
        struct.pack('=q', 0) * 2000]                     # later Gloo's: number 0
heard = 0


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ''


def sockets(pid):
    names = set()
    try:
        for fd in os.listdir(f'/proc/{pid}/fd'):
            names.add(os.readlink(f'/proc/{pid}/fd/{fd}'))
    except OSError:
        pass
    return {name[8:-1] for name in names if name.startswith('socket:')}


def ports(pid):
    """Addresses at which the process listens; all are IPv4."""
    own, found = sockets(pid), []
    for line in read(f'/proc/{pid}/net/tcp').splitlines()[1:]:
        word = line.split()
        if word[3] == '0A' and word[9] in own:
            address, port = word[1].split(':')
            found.append((socket.inet_ntoa(struct.pack('=I', int(address, 16))), int(port, 16)))
    return found


def connect(port, said):
    try:
        stranger = socket.create_connection(port, 5)
        stranger.setblocking(False)
        if said:
            stranger.send(said)
        return stranger
    except OSError:
        return None


def listen_to(stranger):
    global heard
    try:
        heard = max(heard, len(stranger.recv(100000)))
    except OSError:
        pass


met, staying = set(), []
while not os.path.exists(stop):
    for file in files:
        for port in ports(read(file).strip() or 'none'):
            if (file, port) in met:
                for said in SAID:
                    stranger = connect(port, said)
                    if stranger:
                        listen_to(stranger)
                        stranger.close()
                continue
            staying += [connect(port, said) for said in SAID * 8]
            met.add((file, port))
            print('met', file, *port, flush=True)
    time.sleep(0.01)
for stranger in filter(None, staying):
    listen_to(stranger)
print('heard', heard)
